//! The questions that the study left open (section 8.2), answered with the model that was fitted to its tables.
//!
//! Parameters stay as they were fitted; only [`Setting`] varies. What is assumed beyond them stands with each constant,
//! and in `docs/reproductions/thomas-1991-what-if.md` with what came out.
//!
//! | file | holds |
//! | --- | --- |
//! | `experiment.rs` | [`Experiment`]: a case in a setting; [`Row`]: what its runs give |
//! | `compare.rs` | from which number of clients on one model is ahead of another |
//! | `clients.rs` | several clients: does RPC overtake REXEC? |
//! | `heads.rs` | several compute heads: when is the vector processor no bottleneck any more? |
//! | `driver.rs` | the model that was not built |
//! | `today.rs` | today's machines and network |
//! | `text.rs`, `json.rs`, `html.rs` | for a terminal, a program, a browser |

mod clients;
mod compare;
mod driver;
mod experiment;
mod heads;
mod html;
mod json;
mod text;
mod today;

pub use experiment::{ELEMENTS, Estimate, Experiment, Row, Span, measure};
pub use html::{Figure, Line, Point};

use super::case::{Application, Case, Lan, Model, Transport};
use super::machines::{Machines, TODAY_MIPS};
use super::setting::{Encoding, Setting};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// One of the questions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Question {
    /// Several clients.
    Clients,
    /// Several compute heads, and application processors of the server.
    Heads,
    /// The DRIVER model beside REXEC and RPC.
    Driver,
    /// Today's machines and network.
    Today,
}

impl Question {
    /// All, in the order of the report.
    pub const ALL: [Question; 4] = [Question::Clients, Question::Heads, Question::Driver, Question::Today];

    /// As in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Question::Clients => "clients",
            Question::Heads => "heads",
            Question::Driver => "driver",
            Question::Today => "today",
        }
    }

    /// In a sentence.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Question::Clients => "With several clients, does RPC overtake REXEC?",
            Question::Heads => "With how many compute heads is the vector processor no bottleneck any more?",
            Question::Driver => "How does DRIVER, which was not built, compare?",
            Question::Today => "Which model wins on today's machines and network?",
        }
    }

    /// What is simulated to answer it.
    #[must_use]
    pub fn experiments(self) -> Vec<Experiment> {
        match self {
            Question::Clients => clients::experiments(),
            Question::Heads => heads::experiments(),
            Question::Driver => driver::experiments(),
            Question::Today => today::experiments(),
        }
    }

    fn findings(self, rows: &[Row]) -> Vec<Finding> {
        match self {
            Question::Clients => clients::findings(rows),
            Question::Heads => heads::findings(rows),
            Question::Driver => driver::findings(rows),
            Question::Today => today::findings(rows),
        }
    }
}

/// What the rows of a case say.
#[derive(Clone, PartialEq, Debug)]
pub struct Finding {
    /// Which question it answers.
    pub question: Question,
    /// Of which case, in words.
    pub case: String,
    /// The number of clients (of heads, to the question of heads) from which on it holds; none in the range: `None`.
    pub from: Option<u16>,
    /// Which model has the most throughput, where models are compared.
    pub winner: Option<&'static str>,
    /// In a sentence.
    pub text: String,
}

/// The answers.
#[derive(Clone, PartialEq, Debug)]
pub struct WhatIf {
    /// Over how many seeds the rows are means.
    pub seeds: u64,
    /// Sums up all runs: the same for the same runs, on any machine.
    pub digest: u64,
    /// What the simulations give, question by question.
    pub rows: Vec<Row>,
    /// What they say.
    pub findings: Vec<Finding>,
}

/// Answers some of the questions with so many seeds, at least one; tells whenever an experiment has ended.
///
/// The experiments run on all processors. The answers do not depend on how many these are.
#[must_use]
pub fn answer(questions: &[Question], seeds: u64, ended: &(dyn Fn() + Sync)) -> WhatIf {
    let seeds = seeds.max(1);
    let mut what_if = WhatIf { seeds, digest: 0, rows: Vec::new(), findings: Vec::new() };
    let experiments: Vec<(Question, Experiment)> = questions
        .iter()
        .flat_map(|question| question.experiments().into_iter().map(|experiment| (*question, experiment)))
        .collect();
    what_if.rows = measure_all(&experiments, seeds, ended);
    for row in &what_if.rows {
        what_if.digest = what_if.digest.rotate_left(5) ^ row.digest;
    }
    for question in questions {
        let rows: Vec<Row> = what_if.rows.iter().filter(|row| row.question == *question).cloned().collect();
        what_if.findings.extend(question.findings(&rows));
    }
    what_if
}

fn measure_all(experiments: &[(Question, Experiment)], seeds: u64, ended: &(dyn Fn() + Sync)) -> Vec<Row> {
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::with_capacity(experiments.len())));
    let work = || {
        while let Some((index, (question, experiment))) = {
            let index = next.fetch_add(1, Ordering::Relaxed);
            experiments.get(index).map(|of| (index, of))
        } {
            let row = measure(*question, experiment, seeds);
            // A thread that panicked takes the whole scope with it.
            done.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push((index, row));
            ended();
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(work);
        }
    });
    let mut rows = done.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    rows.sort_unstable_by_key(|(index, _)| *index);
    rows.into_iter().map(|(_, row)| row).collect()
}

/// The batch application on the vector processor.
const fn batch(elements: u32) -> Application {
    Application::Batch { elements, vector_processor: true }
}

/// The real-time application.
const fn realtime(words: u32) -> Application {
    Application::Realtime { words }
}

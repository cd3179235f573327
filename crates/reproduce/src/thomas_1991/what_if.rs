//! The questions that the study left open (section 8.2), answered with the model that was fitted to its tables.
//!
//! Parameters stay as they were fitted; only [`Setting`] varies, and [`Factor`], to see what rests on it. What is assumed
//! beyond them stands with each constant, and in `docs/reproductions/thomas-1991-what-if.md` with what came out.
//!
//! | file | holds |
//! | --- | --- |
//! | `experiment.rs` | [`Experiment`]: a case in a setting |
//! | `measure.rs`, `row.rs` | its runs; [`Row`]: what they give |
//! | `answer.rs` | [`answer()`]: all experiments of the questions, and those that turn out to be needed |
//! | `compare.rs` | whether one model is ahead of another, and from where on |
//! | `sensitivity.rs` | whether a finding rests on the factor that is not understood |
//! | `clients.rs` | several clients: does RPC overtake REXEC? |
//! | `heads.rs` | several compute heads: when is the vector processor no bottleneck any more? |
//! | `driver.rs` | the model that was not built |
//! | `today.rs` | today's machines and network |
//! | `text.rs`, `json.rs`, `html.rs`, `figure.rs` | for a terminal, a program, a browser |

mod answer;
mod clients;
mod compare;
mod driver;
mod experiment;
mod figure;
mod heads;
mod html;
mod json;
mod measure;
mod row;
mod sensitivity;
mod text;
mod today;

pub use answer::{Plan, answer};
pub use experiment::{Experiment, Factor, Span};
pub use figure::{Figure, Line, Point};
pub use measure::measure;
pub use row::{Bound, ELEMENTS, Estimate, Row};
pub use sensitivity::Sensitivity;

use super::case::{Application, Case, Lan, Model, Transport};
use super::machines::{Machines, TODAY_MIPS};
use super::setting::{Encoding, Setting};

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

    /// What is to be simulated yet, by what the rows show, to name a number and not a range.
    fn refinements(self, rows: &[Row]) -> Vec<Experiment> {
        match self {
            Question::Clients => clients::refinements(rows),
            Question::Heads => heads::refinements(rows),
            Question::Driver | Question::Today => Vec::new(),
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
    /// With how many bytes on the LAN for a byte of data.
    pub factor: Factor,
    /// The number of clients (of heads, to the question of heads) from which on it holds; none in the range: `None`.
    pub from: Option<u16>,
    /// Which model has the most throughput, where models are compared.
    pub winner: Option<&'static str>,
    /// In short.
    pub verdict: String,
    /// The numbers that it rests on.
    pub numbers: String,
    /// What it is with a factor of 1.0; `None` where that was not simulated, and of those with that factor.
    pub sensitivity: Option<Sensitivity>,
}

impl Finding {
    /// All that is said.
    #[must_use]
    pub fn sentence(&self) -> String {
        let Finding { verdict, numbers, .. } = self;
        match &self.sensitivity {
            Some(sensitivity) => format!("{verdict} ({numbers}); {sensitivity}"),
            None => format!("{verdict} ({numbers})"),
        }
    }
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

impl WhatIf {
    /// What is told of a question: those with the other factor stand beside those with the fitted one.
    fn told(&self, question: Question) -> impl Iterator<Item = &Finding> {
        let of = move |finding: &&Finding| finding.question == question && finding.factor == Factor::Fitted;
        self.findings.iter().filter(of)
    }
}

/// The batch application on the vector processor.
const fn batch(elements: u32) -> Application {
    Application::Batch { elements, vector_processor: true }
}

/// The real-time application.
const fn realtime(words: u32) -> Application {
    Application::Realtime { words }
}

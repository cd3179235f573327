//! Runs the experiments of the questions, and those that turn out to be needed.

use super::{Experiment, Question, Row, WhatIf, measure, sensitivity};
use quintet_simulate::in_parallel;

/// What is to be answered, and how surely.
#[derive(Clone, Copy)]
pub struct Plan<'a> {
    /// Which questions.
    pub questions: &'a [Question],
    /// Seeds of each experiment; at least one.
    pub seeds: u64,
    /// The share of the usual time for which is simulated, more than 0.
    pub share: f64,
    /// Which experiments.
    pub chosen: &'a dyn Fn(&Experiment) -> bool,
}

impl Plan<'_> {
    /// All questions, with so many seeds.
    #[must_use]
    pub const fn of_all(seeds: u64) -> Plan<'static> {
        Plan { questions: &Question::ALL, seeds, share: 1.0, chosen: &|_| true }
    }
}

/// Answers the questions. Whenever an experiment has ended, `ended` gets the number of all that are known by then: which
/// are needed to tell a crossover's place shows only when others have ended.
///
/// The experiments run on all processors. The answers do not depend on how many these are.
#[must_use]
pub fn answer(plan: &Plan<'_>, ended: &(dyn Fn(usize) + Sync)) -> WhatIf {
    let mut rows: Vec<Row> = Vec::new();
    let mut next = first(plan);
    while !next.is_empty() {
        let known = rows.len() + next.len();
        rows.extend(measure_all(&next, plan.seeds, &|| ended(known)));
        next = plan.questions.iter().flat_map(|question| with(*question, refine(*question, &rows))).collect();
    }
    let rows = in_order(rows);
    let digest = rows.iter().fold(0_u64, |digest, row| digest.rotate_left(5) ^ row.digest);
    let mut findings = Vec::new();
    for question in plan.questions {
        findings.extend(question.findings(&of(*question, &rows)));
    }
    sensitivity::compare(&mut findings);
    WhatIf { seeds: plan.seeds.max(1), digest, rows, findings }
}

/// What is simulated whatever comes out.
fn first(plan: &Plan<'_>) -> Vec<(Question, Experiment)> {
    let of = |question: &Question| {
        let experiments = question.experiments().into_iter().filter(|experiment| (plan.chosen)(experiment));
        with(*question, experiments.map(|experiment| experiment.shortened(plan.share)).collect())
    };
    plan.questions.iter().flat_map(of).collect()
}

fn with(question: Question, experiments: Vec<Experiment>) -> Vec<(Question, Experiment)> {
    experiments.into_iter().map(|experiment| (question, experiment)).collect()
}

fn of(question: Question, rows: &[Row]) -> Vec<Row> {
    rows.iter().filter(|row| row.question == question).cloned().collect()
}

fn refine(question: Question, rows: &[Row]) -> Vec<Experiment> {
    question.refinements(&of(question, rows))
}

/// Those of one line of a figure beside each other, with what was simulated later in its place.
fn in_order(rows: Vec<Row>) -> Vec<Row> {
    let line = |row: &Row| {
        let Experiment { setting, factor, .. } = row.experiment;
        let model = row.experiment.model();
        (row.question, row.experiment.label(), factor, model, setting.server_processors)
    };
    let lines: Vec<_> = rows.iter().map(line).collect();
    let place = |row: &Row| {
        let setting = row.experiment.setting;
        let number = match row.question {
            Question::Heads => (setting.clients, setting.heads),
            _ => (setting.heads, setting.clients),
        };
        (lines.iter().position(|first| *first == line(row)), number)
    };
    let mut placed: Vec<_> = rows.iter().map(place).zip(rows.iter().cloned()).collect();
    placed.sort_by_key(|(place, _)| *place);
    placed.into_iter().map(|(_, row)| row).collect()
}

fn measure_all(experiments: &[(Question, Experiment)], seeds: u64, ended: &(dyn Fn() + Sync)) -> Vec<Row> {
    in_parallel(experiments, |(question, experiment)| {
        let row = measure(*question, experiment, seeds);
        ended();
        row
    })
}

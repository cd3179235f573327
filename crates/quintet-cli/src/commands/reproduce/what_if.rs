//! `quintet reproduce --what-if`.

use super::{Arguments, show};
use crate::chart::{self, Line, Point};
use clap::ValueEnum;
use indicatif::{ProgressBar, ProgressStyle};
use quintet::Error;
use quintet_reproduce::thomas_1991::what_if::{Figure, Plan, Question, WhatIf, answer};
use std::process::ExitCode;
use std::time::Duration;

/// A question, on the command line.
#[derive(Clone, Copy, ValueEnum)]
pub(super) enum Asked {
    /// Several clients: does RPC overtake REXEC?
    Clients,
    /// Several compute heads: when is the vector processor no bottleneck any more?
    Heads,
    /// The DRIVER model beside REXEC and RPC
    Driver,
    /// Today's machines and network
    Today,
}

impl From<Asked> for Question {
    fn from(asked: Asked) -> Question {
        match asked {
            Asked::Clients => Question::Clients,
            Asked::Heads => Question::Heads,
            Asked::Driver => Question::Driver,
            Asked::Today => Question::Today,
        }
    }
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Error> {
    let what_if = simulate(arguments);
    let text = match arguments.json {
        true => what_if.objects().iter().map(|object| format!("{object}\n")).collect(),
        false => what_if.to_string(),
    };
    show(&text, arguments.html.as_deref(), || what_if.html(&draw))
}

fn simulate(arguments: &Arguments) -> WhatIf {
    let asked: Vec<Question> = arguments.question.iter().copied().map(Question::from).collect();
    let questions = Question::ALL.into_iter().filter(|question| asked.is_empty() || asked.contains(question));
    let questions: Vec<Question> = questions.collect();
    let rows: usize = questions.iter().map(|question| question.experiments().len()).sum();
    // It draws nothing where standard error is not a terminal. More rows are added when it shows which are needed.
    let bar = ProgressBar::new(rows as u64);
    let style = ProgressStyle::with_template("{bar:30} {pos} of {len} rows, {eta} left");
    bar.set_style(style.expect("the template is well-formed"));
    bar.enable_steady_tick(Duration::from_millis(500));
    let ended = |known: usize| {
        bar.set_length(known as u64);
        bar.inc(1);
    };
    let what_if = answer(&Plan { questions: &questions, ..Plan::of_all(arguments.seeds) }, &ended);
    bar.finish_and_clear();
    what_if
}

fn draw(figure: &Figure) -> String {
    let line = |line: &quintet_reproduce::thomas_1991::what_if::Line| Line {
        name: line.name.clone(),
        points: line
            .points
            .iter()
            .map(|point| Point { x: point.x, mean: point.mean, half_width: point.half_width })
            .collect(),
    };
    let lines: Vec<Line> = figure.lines.iter().map(line).collect();
    chart::draw(&figure.title, figure.across, &format!("throughput [{}]", figure.up), &lines)
}

//! `quintet reproduce --what-if`.

use super::{Arguments, write};
use crate::chart::{self, Line, Point};
use indicatif::{ProgressBar, ProgressStyle};
use quintet::Error;
use quintet_errors::Code;
use quintet_reproduce::thomas_1991::what_if::{Figure, Question, WhatIf, answer};
use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Error> {
    let what_if = simulate(arguments.seeds);
    if let Some(file) = &arguments.html {
        write(file, &what_if.html(&draw))?;
    }
    print(&what_if, arguments.json)?;
    Ok(ExitCode::SUCCESS)
}

fn simulate(seeds: u64) -> WhatIf {
    let rows: usize = Question::ALL.iter().map(|question| question.experiments().len()).sum();
    // It draws nothing where standard error is not a terminal.
    let bar = ProgressBar::new(rows as u64);
    let style = ProgressStyle::with_template("{bar:30} {pos} of {len} rows, {eta} left");
    bar.set_style(style.expect("the template is well-formed"));
    bar.enable_steady_tick(Duration::from_millis(500));
    let what_if = answer(&Question::ALL, seeds, &|| bar.inc(1));
    bar.finish_and_clear();
    what_if
}

/// # Errors
/// Standard output takes no more, because its disk is full say.
fn print(what_if: &WhatIf, json: bool) -> Result<(), Error> {
    let text = match json {
        true => what_if.objects().iter().map(|object| format!("{object}\n")).collect(),
        false => what_if.to_string(),
    };
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())
        .and_then(|()| out.flush())
        .map_err(|error| Error::new(Code::Resource, format!("the results cannot be shown: {error}")))
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

//! The answers for a browser: one page without anything else. Who draws the figures is the caller's.

use super::compare::by_label;
use super::{Question, Row, WhatIf};
use std::fmt::Write;

const HEAD: &str = "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>What if</title><style>\
    body{font-family:sans-serif;margin:2em}table{border-collapse:collapse}td,th{padding:.2em .6em;border-bottom:1px solid #ddd;\
    text-align:left}td.n{text-align:right;font-variant-numeric:tabular-nums}</style></head><body>\n";

/// A quantity against a number of things.
#[derive(Clone, PartialEq, Debug)]
pub struct Figure {
    /// What is shown.
    pub title: String,
    /// Along the axis.
    pub across: &'static str,
    /// Up the axis, with its unit.
    pub up: &'static str,
    /// A model each.
    pub lines: Vec<Line>,
}

/// A model in a figure.
#[derive(Clone, PartialEq, Debug)]
pub struct Line {
    /// Which.
    pub name: String,
    /// From left to right.
    pub points: Vec<Point>,
}

/// A row in a figure.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Point {
    /// The number of clients, or of heads.
    pub x: f64,
    /// The throughput.
    pub mean: f64,
    /// How near the true mean is; 0 if that is unknown.
    pub half_width: f64,
}

impl WhatIf {
    /// The whole page; `draw` makes a figure an SVG element.
    #[must_use]
    pub fn html(&self, draw: &dyn Fn(&Figure) -> String) -> String {
        let mut page = String::from(HEAD);
        page.push_str("<h1>thomas-1991: what if</h1>\n");
        let _ = writeln!(
            page,
            "<p>Means of {} seeds with 95% intervals, digest {:016x}.</p>",
            self.seeds, self.digest
        );
        for question in Question::ALL {
            let rows: Vec<Row> = self.rows.iter().filter(|row| row.question == question).cloned().collect();
            if !rows.is_empty() {
                self.write_section(&mut page, question, &rows, draw);
            }
        }
        page.push_str("</body></html>\n");
        page
    }

    fn write_section(
        &self,
        page: &mut String,
        question: Question,
        rows: &[Row],
        draw: &dyn Fn(&Figure) -> String,
    ) {
        let _ = writeln!(page, "<h2 id=\"{}\">{}</h2>\n<ul>", question.name(), question.text());
        for finding in self.findings.iter().filter(|finding| finding.question == question) {
            let _ = writeln!(page, "<li>{}: {}</li>", finding.case, finding.text);
        }
        page.push_str("</ul>\n");
        for (label, rows) in by_label(rows) {
            page.push_str(&draw(&figure(&label, &rows)));
            page.push_str(&table(&label, &rows));
        }
    }
}

/// A line for each model, and for each number of what is not along the axis.
fn figure(label: &str, rows: &[&Row]) -> Figure {
    let by_heads = rows.first().is_some_and(|row| row.question == Question::Heads);
    let mut lines: Vec<Line> = Vec::new();
    for row in rows {
        let setting = row.experiment.setting;
        let (x, other) = match by_heads {
            true => (setting.heads, format!("{} server applic", setting.server_processors)),
            false => (setting.clients, format!("{} heads", setting.heads)),
        };
        let name = format!("{}, {other}", row.experiment.model());
        let half_width = row.throughput.half_width.unwrap_or(0.0);
        let point = Point { x: f64::from(x), mean: row.throughput.mean, half_width };
        match lines.iter_mut().find(|line| line.name == name) {
            Some(line) => line.points.push(point),
            None => lines.push(Line { name, points: vec![point] }),
        }
    }
    let up = rows.first().map_or("", |row| row.unit());
    Figure { title: label.to_owned(), across: if by_heads { "heads" } else { "clients" }, up, lines }
}

fn table(label: &str, rows: &[&Row]) -> String {
    let (unit, each) =
        rows.first().map_or(("", ""), |row| (row.unit(), row.experiment.case.application.each()));
    let mut table = format!(
        "<table><caption>{label}</caption><tr><th>model<th>clients<th>heads<th>processors<th>{unit}<th>{each}<th>busiest</tr>\n"
    );
    for row in rows {
        let (element, share) = row.bottleneck();
        let setting = row.experiment.setting;
        let _ = writeln!(
            table,
            "<tr><td>{}<td class=\"n\">{}<td class=\"n\">{}<td class=\"n\">{}<td class=\"n\">{}<td class=\"n\">{}<td>{element} {share:.1}%</tr>",
            row.experiment.model(),
            setting.clients,
            setting.heads,
            setting.server_processors,
            row.throughput,
            row.seconds,
        );
    }
    table + "</table>\n"
}

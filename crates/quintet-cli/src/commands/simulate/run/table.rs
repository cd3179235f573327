//! The results as a table.

use super::Outcome;
use super::rows::{Row, cut_short};
use super::scale::{Scale, number};
use quintet_model::{Cell, ElementKind, Subject};
use std::collections::BTreeMap;

/// Columns beside each other fill so many characters at most; others come below.
const WIDEST: usize = 120;

pub(super) fn text(outcome: &Outcome<'_>) -> String {
    let mut text = head(outcome);
    let Some((columns, others)) = outcome.axes.split_first() else {
        return outcome.cells.iter().fold(text, |text, cell| text + &single(&outcome.table_rows(cell)));
    };
    // Cells are in the order of the axes, the last changing fastest.
    let stride: usize = others.iter().map(|axis| axis.values.len()).product();
    for place in 0..stride {
        let cells: Vec<&Cell> = outcome.cells.iter().skip(place).step_by(stride.max(1)).collect();
        let values = cells.first().map_or(&[][..], |cell| cell.values.get(1..).unwrap_or(&[]));
        let fixed = others.iter().zip(values);
        let fixed: Vec<String> = fixed.map(|(axis, value)| format!("{} = {value}", axis.parameter)).collect();
        if !fixed.is_empty() {
            text += &format!("\n{}\n", fixed.join(", "));
        }
        text += &sweep(outcome, &columns.parameter, &cells);
    }
    text
}

/// What was run.
fn head(outcome: &Outcome<'_>) -> String {
    let runs = || outcome.cells.iter().flat_map(|cell| &cell.study.runs);
    let mut text = format!(
        "{}: {} of seeds {}, means and where the true ones lie with {} % confidence",
        outcome.model.name(),
        counted(runs().count() as u64, "run"),
        runs().map(|run| run.seed).min().zip(runs().map(|run| run.seed).max()).map_or_else(
            || "none".to_owned(),
            |(first, last)| if first == last { first.to_string() } else { format!("{first} to {last}") }
        ),
        number(outcome.confidence * 100.0)
    );
    if let Some(run) = runs().max_by_key(|run| run.simulated) {
        let warm_up = run.simulated - run.measured;
        text += &format!("\nsimulated: {}, of it not measured: {warm_up}", run.simulated);
    }
    let cut: usize = outcome.cells.iter().map(cut_short).sum();
    if cut > 0 {
        text += &format!(
            "\nNOT TO THE END: {}; these results are of the part before",
            counted(cut as u64, "run")
        );
    }
    for (name, count) in blocked(outcome) {
        text += &format!(
            "\nBLOCKED: {} waited at their senders until device {name} had room (its window), and so did what these would do next",
            counted(count, "message")
        );
    }
    for broken in &outcome.broken {
        text += &format!("\nBROKEN: {broken}");
    }
    text + "\n"
}

/// Devices that had no room for messages, and for how many in all runs.
fn blocked(outcome: &Outcome<'_>) -> BTreeMap<String, u64> {
    let mut found = BTreeMap::new();
    let runs = outcome.cells.iter().flat_map(|cell| &cell.study.runs);
    for (name, device) in runs.flat_map(|run| &run.devices).filter(|(_, device)| device.blocked > 0) {
        *found.entry(name.clone()).or_default() += device.blocked;
    }
    found
}

pub(super) fn counted(count: u64, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

/// The headings of a table: a kind above its elements, an element's name in its first line.
#[derive(Default)]
struct Headings<'a> {
    kind: Option<ElementKind>,
    element: &'a str,
}

impl<'a> Headings<'a> {
    /// What stands above this line, and the name in it.
    fn next(&mut self, subject: Subject<'a>) -> (String, &'a str) {
        let mut above = String::new();
        if self.kind != Some(subject.kind) {
            *self = Headings { kind: Some(subject.kind), element: "" };
            above = format!("\n{}s\n", subject.kind.word());
        }
        let is_new = self.element != subject.element;
        self.element = subject.element;
        (above, if is_new { subject.element } else { "" })
    }
}

/// The widths of the first two columns.
fn widths<'a>(subjects: impl Iterator<Item = Subject<'a>> + Clone) -> (usize, usize) {
    let most =
        |texts: &mut dyn Iterator<Item = &'a str>| texts.map(|text| text.chars().count()).max().unwrap_or(0);
    (
        most(&mut subjects.clone().map(|subject| subject.element)),
        most(&mut subjects.map(|subject| subject.what)),
    )
}

fn single(rows: &[Row<'_>]) -> String {
    let (first, second) = widths(rows.iter().map(|row| row.subject));
    let mut headings = Headings::default();
    let width = first + second + 4;
    let mut text = format!("{:width$}{:>14} {:>12}  {:<12}{:>5}\n", "", "mean", "±", "unit", "runs");
    for row in rows {
        let (above, element) = headings.next(row.subject);
        let scale = Scale::of(row.subject.unit, row.mean);
        let (mean, half_width) = scale.show(row.mean, row.half_width);
        let (what, half_width) = (row.subject.what, half_width.unwrap_or_default());
        text += &format!(
            "{above}  {element:first$}  {what:second$}{mean:>14} {half_width:>12}  {:<12}{:>5}\n",
            scale.unit, row.runs
        );
    }
    text
}

/// A column a cell.
fn sweep(outcome: &Outcome<'_>, parameter: &str, cells: &[&Cell]) -> String {
    let columns: Vec<BTreeMap<&str, Row<'_>>> = cells
        .iter()
        .map(|cell| outcome.table_rows(cell).into_iter().map(|row| (row.quantity, row)).collect())
        .collect();
    let mut lines: Vec<Row<'_>> = columns.iter().flat_map(BTreeMap::values).copied().collect();
    lines.sort_by_key(|row| (row.subject.order(), row.quantity));
    lines.dedup_by_key(|row| row.quantity);
    let (first, second) = widths(lines.iter().map(|row| row.subject));
    let names_width = first + second + 4;
    let column = |(cell, rows): (&&Cell, &BTreeMap<&str, Row<'_>>)| {
        let value = cell.values.first().copied().unwrap_or_default();
        let shown: Vec<String> =
            lines.iter().map(|line| shown(rows.get(line.quantity), scale(line, &columns))).collect();
        (number(value), shown)
    };
    let texts: Vec<(String, Vec<String>)> = cells.iter().zip(&columns).map(column).collect();
    let cell_width = texts.iter().flat_map(|(_, texts)| texts).map(|text| text.chars().count()).max();
    let cell_width = cell_width.unwrap_or(0).max(10) + 2;
    let beside = (WIDEST.saturating_sub(names_width + 13) / cell_width).max(1);
    let mut text = String::new();
    for block in texts.chunks(beside) {
        let values: String = block.iter().map(|(value, _)| format!("{value:>cell_width$}")).collect();
        text += &format!("\n{parameter:<names_width$}  {:<11}{values}\n", "");
        let mut headings = Headings::default();
        for (place, line) in lines.iter().enumerate() {
            let (above, element) = headings.next(line.subject);
            let values: String =
                block.iter().map(|(_, texts)| format!("{:>cell_width$}", texts[place])).collect();
            let (what, unit) = (line.subject.what, scale(line, &columns).unit);
            text += &format!("{above}  {element:first$}  {what:second$}  {unit:<11}{values}\n");
        }
    }
    text
}

/// One unit for all columns.
fn scale(line: &Row<'_>, columns: &[BTreeMap<&str, Row<'_>>]) -> Scale {
    let found = columns.iter().filter_map(|rows| rows.get(line.quantity)).map(|row| row.mean.abs());
    Scale::of(line.subject.unit, found.fold(0.0, f64::max))
}

fn shown(row: Option<&Row<'_>>, scale: Scale) -> String {
    let Some(row) = row else { return "-".to_owned() };
    match scale.show(row.mean, row.half_width) {
        (mean, Some(half_width)) if half_width != "0" => format!("{mean} ± {half_width}"),
        (mean, _) => mean,
    }
}

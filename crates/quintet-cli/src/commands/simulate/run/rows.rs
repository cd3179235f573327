//! One row a quantity: what all that is shown is made from.

use super::Outcome;
use super::broken::Broken;
use quintet_model::{Cell, Model, Study, Subject};
use serde_json::{Map, Value, json};
use std::fmt::Write;

/// What runs say about a quantity, in base units.
#[derive(Clone, Copy)]
pub(super) struct Row<'a> {
    pub(super) quantity: &'a str,
    pub(super) subject: Subject<'a>,
    pub(super) mean: f64,
    /// None for a single run.
    pub(super) half_width: Option<f64>,
    /// The runs that have the quantity.
    pub(super) runs: u64,
}

/// In the order in which they are shown: processors, devices, modules, measures.
pub(super) fn rows<'a>(model: &Model, study: &'a Study, confidence: f64) -> Vec<Row<'a>> {
    let row = |quantity: &'a String| {
        let subject = model.subject(quantity)?;
        let tally = study.quantities.get(quantity)?.tally();
        let interval = study.interval(quantity, confidence)?.ok();
        let half_width = interval.map(|interval| interval.half_width);
        Some(Row { quantity, subject, mean: tally.mean()?, half_width, runs: tally.count() })
    };
    let mut rows: Vec<Row<'a>> = study.quantities.keys().filter_map(row).collect();
    rows.sort_by_key(|row| row.subject.order());
    rows
}

/// The runs of a cell that did not come to the end of the model.
pub(super) fn cut_short(cell: &Cell) -> usize {
    cell.study.runs.iter().filter(|run| super::ending::is_cut_short(&run.ended)).count()
}

pub(super) fn as_json(outcome: &Outcome<'_>) -> String {
    let mut text = String::new();
    for cell in outcome.cells {
        let names = outcome.axes.iter().map(|axis| axis.parameter.clone());
        let parameters: Map<String, Value> =
            names.zip(cell.values.iter().map(|value| json!(value))).collect();
        for row in outcome.rows(cell) {
            let object = json!({
                "quantity": row.quantity,
                "kind": row.subject.kind.word(),
                "element": row.subject.element,
                "what": row.subject.what,
                "unit": row.subject.unit,
                "mean": row.mean,
                "half_width": row.half_width,
                "confidence": outcome.confidence,
                "runs": row.runs,
                "cut_short": cut_short(cell),
                "parameters": parameters,
            });
            let _ = writeln!(text, "{object}");
        }
    }
    for broken in &outcome.broken {
        let _ = writeln!(text, "{}", statement(broken));
    }
    text
}

/// A statement of the model that runs break.
fn statement(broken: &Broken) -> Value {
    let parameters: Map<String, Value> =
        broken.parameters.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
    json!({
        "check": broken.violation.check,
        "statement": broken.violation.statement,
        "found": broken.violation.found,
        "seed": broken.seed,
        "broken_runs": broken.count,
        "runs": broken.runs,
        "parameters": parameters,
    })
}

pub(super) fn as_csv(outcome: &Outcome<'_>) -> String {
    let names = outcome.axes.iter().map(|axis| field(&axis.parameter));
    let columns = ["quantity", "unit", "mean", "half_width", "confidence", "runs"].map(str::to_owned);
    let mut text = names.chain(columns).collect::<Vec<_>>().join(",") + "\n";
    for cell in outcome.cells {
        for row in outcome.rows(cell) {
            let half_width = row.half_width.map(|half_width| half_width.to_string()).unwrap_or_default();
            let columns = [
                field(row.quantity),
                row.subject.unit.to_owned(),
                row.mean.to_string(),
                half_width,
                outcome.confidence.to_string(),
                row.runs.to_string(),
            ];
            let values = cell.values.iter().map(f64::to_string);
            text += &(values.chain(columns).collect::<Vec<_>>().join(",") + "\n");
        }
    }
    text
}

/// As RFC 4180 wants it.
fn field(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

//! A quantity against the parameter that is swept: what `chart.rs` draws.

use super::Outcome;
use super::rows::Row;
use super::scale::Scale;
use crate::chart::{Line, Point, draw};
use quintet::{Code, Error};
use quintet_model::ElementKind;

pub(super) fn no_quantity(name: &str, near: Option<String>) -> Error {
    let near = near.map(|near| format!("; did you mean {near}?")).unwrap_or_default();
    Error::new(Code::BadValue, format!("the model has no quantity {name}{near}"))
}

/// # Errors
/// A quantity that no run has.
pub(super) fn svg(outcome: &Outcome<'_>) -> Result<String, Error> {
    let rows: Vec<Vec<Row<'_>>> = outcome.cells.iter().map(|cell| outcome.rows(cell)).collect();
    let all = || rows.iter().flatten();
    let chosen = all().find(|row| row.subject.kind == ElementKind::Measure).or_else(|| all().next());
    let chosen = chosen.ok_or_else(|| no_quantity("that was measured", None))?;
    let found = || all().filter(|row| row.quantity == chosen.quantity);
    let scale = Scale::of(chosen.subject.unit, found().map(|row| row.mean.abs()).fold(0.0, f64::max));
    let lines = lines(outcome, &rows, chosen.quantity, scale);
    let parameter = outcome.axes.first().map_or("", |axis| axis.parameter.as_str());
    Ok(draw(outcome.model.name(), parameter, &format!("{} [{}]", chosen.quantity, scale.unit), &lines))
}

fn lines(outcome: &Outcome<'_>, rows: &[Vec<Row<'_>>], quantity: &str, scale: Scale) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    for (cell, rows) in outcome.cells.iter().zip(rows) {
        let Some((x, others)) = cell.values.split_first() else { continue };
        let named = outcome.axes.iter().skip(1).zip(others);
        let named: Vec<String> = named.map(|(axis, value)| format!("{} = {value}", axis.parameter)).collect();
        let name = named.join(", ");
        let points = rows.iter().filter(|row| row.quantity == quantity).map(|row| Point {
            x: *x,
            mean: scale.value(row.mean),
            half_width: scale.value(row.half_width.unwrap_or(0.0)),
        });
        match lines.iter_mut().find(|line| line.name == name) {
            Some(line) => line.points.extend(points),
            None => lines.push(Line { name, points: points.collect() }),
        }
    }
    lines.iter_mut().for_each(|line| line.points.sort_by(|a, b| a.x.total_cmp(&b.x)));
    lines
}

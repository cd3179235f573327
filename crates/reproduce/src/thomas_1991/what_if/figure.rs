//! Figures: throughputs against a number of things.

use super::compare::Group;
use super::{Question, Row};

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

/// A group's figures: one for each number of heads, unless that is along the axis. A line for each model, and for each
/// number of processors that is not along the axis. Rows in which none ended are left out, and figures without a line of
/// two points: the table says as much.
pub(super) fn figures(group: &Group<'_>) -> Vec<Figure> {
    let mut figures: Vec<Figure> = Vec::new();
    for row in &group.rows {
        let Some(throughput) = row.throughput else { continue };
        let (title, across, name, x) = place(group, row);
        let place = figures.iter().position(|figure| figure.title == title).unwrap_or_else(|| {
            figures.push(Figure { title, across, up: row.unit(), lines: Vec::new() });
            figures.len() - 1
        });
        let half_width = throughput.half_width.unwrap_or(0.0);
        let point = Point { x: f64::from(x), mean: throughput.mean, half_width };
        let lines = &mut figures[place].lines;
        match lines.iter_mut().find(|line| line.name == name) {
            Some(line) => line.points.push(point),
            None => lines.push(Line { name, points: vec![point] }),
        }
    }
    figures.retain(|figure| figure.lines.iter().any(|line| line.points.len() > 1));
    figures
}

/// The figure's title and axis, the line, and where on the axis.
fn place(group: &Group<'_>, row: &Row) -> (String, &'static str, String, u16) {
    let setting = row.experiment.setting;
    let (case, model) = (format!("{}{}", group.case, group.factor.suffix()), row.experiment.model());
    match (row.question, setting.clients == setting.heads && setting.clients > 16) {
        (Question::Heads, false) => {
            (case, "heads", format!("{model}, {} server applic", setting.server_processors), setting.heads)
        }
        (Question::Heads, true) => {
            (format!("{case}, a head a client"), "clients and heads", model, setting.heads)
        }
        _ if setting.heads > 1 => {
            (format!("{case}, {} heads", setting.heads), "clients", model, setting.clients)
        }
        _ => (case, "clients", model, setting.clients),
    }
}

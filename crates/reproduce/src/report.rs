//! All cells of a study.
//!
//! | file | holds |
//! | --- | --- |
//! | `report.rs` | [`Report`], [`Count`]: by role, of which cells, and by whom |
//! | `report/text.rs` | for a terminal |
//! | `report/html.rs` | for a browser |
//! | `report/json.rs` | for a program |

mod html;
mod json;
mod text;

use crate::cell::{Cell, Role};
use crate::sensitivity::Sensitivity;
use crate::start::{Start, spread};

/// All cells of a study, and what made ours.
#[derive(Clone, PartialEq, Debug)]
pub struct Report {
    /// The study's name.
    pub study: &'static str,
    /// Over how many seeds ours are means.
    pub seeds: u64,
    /// Sums up all runs: the same for the same runs, on any machine.
    pub digest: u64,
    /// The cells, in the order of the tables.
    pub cells: Vec<Cell>,
    /// The inferred parameters and what rests on each, if that was asked for.
    pub parameters: Vec<Sensitivity>,
    /// What fitting them anew comes to, if that was asked for.
    pub starts: Vec<Start>,
}

/// How many cells are within their tolerance.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Count {
    /// Those within.
    pub within: usize,
    /// All that count.
    pub of: usize,
}

/// Which cells count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scope {
    /// Those that are not set aside.
    Compared,
    /// All that were simulated; those set aside count as missed.
    Every,
}

/// Who says what the value of a cell is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Predictor {
    /// The simulation.
    Simulation,
    /// A copy of the fitted row.
    Naive,
}

impl Report {
    pub(crate) const fn new(study: &'static str, seeds: u64) -> Report {
        Report { study, seeds, digest: 0, cells: Vec::new(), parameters: Vec::new(), starts: Vec::new() }
    }

    /// How many of the compared cells in this role the simulation has within their tolerance.
    #[must_use]
    pub fn count(&self, role: Role) -> Count {
        self.count_of(role, Scope::Compared, Predictor::Simulation)
    }

    /// How many of the cells in this role are within their tolerance. What was not simulated never counts; of fitted cells
    /// the naive predictor says nothing, and has none.
    #[must_use]
    pub fn count_of(&self, role: Role, scope: Scope, predictor: Predictor) -> Count {
        let within = |cell: &Cell| match predictor {
            Predictor::Simulation => cell.within(),
            Predictor::Naive => cell.naive_within(),
        };
        let of = |cell: &&Cell| {
            let counts = scope == Scope::Every || cell.set_aside.is_none();
            cell.role == role && cell.ours.is_some() && counts
        };
        let cells = || self.cells.iter().filter(of);
        Count { within: cells().filter(|cell| within(cell) == Some(true)).count(), of: cells().count() }
    }

    /// The mean distance from the printed values of the compared cells in this role, in tolerances.
    #[must_use]
    pub fn mean_error(&self, role: Role) -> f64 {
        let compared = self.cells.iter().filter(|cell| cell.role == role && cell.set_aside.is_none());
        let errors: Vec<f64> = compared.filter_map(|cell| Some(cell.off(cell.ours?).abs())).collect();
        errors.iter().sum::<f64>() / errors.len().max(1) as f64
    }

    /// How many cells are set aside, and how many of them were measured on machines and not simulated.
    #[must_use]
    pub fn set_aside(&self) -> (usize, usize) {
        let aside = || self.cells.iter().filter(|cell| cell.set_aside.is_some());
        (aside().count(), aside().filter(|cell| cell.ours.is_none()).count())
    }

    /// The counts as sentences, a role a line.
    fn counts(&self) -> impl Iterator<Item = String> {
        Role::ALL.into_iter().map(|role| {
            let told = |scope, predictor| self.count_of(role, scope, predictor).to_string();
            let naive = match role {
                Role::Fitted => String::new(),
                Role::Predicted => format!(
                    "; naive, a copy of the fitted row: {}, {} of every cell",
                    told(Scope::Compared, Predictor::Naive),
                    told(Scope::Every, Predictor::Naive)
                ),
            };
            format!(
                "{}: {} cells within; {} of every cell, those set aside as missed{naive}",
                role.name(),
                told(Scope::Compared, Predictor::Simulation),
                told(Scope::Every, Predictor::Simulation)
            )
        })
    }
}

impl Report {
    /// The starts as sentences: one each, how far they are from each other, and what the one with the least sum came to.
    fn starts(&self) -> Vec<String> {
        let told = |start: &Start| {
            let [fitted, predicted] = start.within;
            format!(
                "start {}: sum of squares {:.3}; {fitted} fitted, {predicted} predicted cells within; mean error {:.3}, {:.3}",
                start.number, start.sum, start.error[0], start.error[1]
            )
        };
        let mut lines: Vec<String> = self.starts.iter().map(told).collect();
        if let Some(([fitted, predicted], least)) = spread(&self.starts) {
            lines.push(format!(
                "fitted anew from {} starts: {} to {} of {} fitted and {} to {} of {} predicted cells within; the least sum is that of start {}, which has {}",
                self.starts.len(),
                fitted[0].within,
                fitted[1].within,
                fitted[0].of,
                predicted[0].within,
                predicted[1].within,
                predicted[0].of,
                least.number,
                least.within[1]
            ));
            let told = |(name, value, unit): &_| format!("{name} {} {unit}", significant(*value));
            let values = least.values.iter().map(told).collect::<Vec<_>>().join("; ");
            lines.push(format!("start {} came to: {values}", least.number));
        }
        lines
    }
}

impl Count {
    /// In percent; 0 of none.
    #[must_use]
    pub fn percent(self) -> f64 {
        if self.of == 0 { 0.0 } else { 100.0 * self.within as f64 / self.of as f64 }
    }
}

impl core::fmt::Display for Count {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{} of {} ({:.1}%)", self.within, self.of, self.percent())
    }
}

/// The columns of the table of parameters.
const PARAMETER_COLUMNS: [&str; 7] = [
    "inferred parameter",
    "value",
    "cells",
    "within, fitted and predicted: 10% less",
    "10% more",
    "mean error, fitted and predicted: 10% less",
    "10% more",
];

/// A parameter as a row of that table.
fn parameter(found: &Sensitivity) -> [String; PARAMETER_COLUMNS.len()] {
    let Sensitivity { name, unit, value, cells, off, .. } = found;
    let within = off.map(|off| off.within.map(|count| count.within.to_string()).join(", "));
    let error = off.map(|off| off.error.map(|error| format!("{error:.3}")).join(", "));
    let [less, more] = within;
    let [less_error, more_error] = error;
    [
        (*name).to_owned(),
        format!("{} {unit}", significant(*value)),
        cells.to_string(),
        less,
        more,
        less_error,
        more_error,
    ]
}

/// Four significant digits.
fn significant(value: f64) -> String {
    let digits = (3.0 - value.abs().max(f64::MIN_POSITIVE).log10().floor()).clamp(0.0, 12.0);
    format!("{value:.*}", digits as usize)
}

/// What is said of a cell's comparison.
fn verdict(cell: &Cell) -> &'static str {
    match cell.within() {
        Some(true) => "within",
        Some(false) => "missed",
        None => "set aside",
    }
}

/// Ours, with as many digits as are printed of such values.
fn ours(cell: &Cell) -> String {
    cell.ours.map_or_else(String::new, |ours| digits(cell.published, ours))
}

/// The naive predictor's.
fn naive(cell: &Cell) -> String {
    cell.naive.map_or_else(String::new, |naive| digits(cell.published, naive))
}

/// Why it is set aside, or why it is missed.
fn reason(cell: &Cell) -> &'static str {
    cell.set_aside.or(cell.miss).unwrap_or_default()
}

/// A value beside a printed one: four digits are enough for small ones.
fn digits(published: f64, value: f64) -> String {
    if published < 0.1 { format!("{value:.4}") } else { format!("{value:.2}") }
}

/// How far ours is from the printed one, in percent of it or in points.
fn difference(cell: &Cell) -> String {
    cell.difference().map_or_else(String::new, |difference| match cell.column {
        crate::cell::Column::Time(_) => format!("{:+.1}%", 100.0 * difference),
        crate::cell::Column::Utilisation(_) | crate::cell::Column::Share(_) => {
            format!("{difference:+.2} points")
        }
    })
}

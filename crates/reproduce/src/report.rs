//! All cells of a study.
//!
//! | file | holds |
//! | --- | --- |
//! | `report.rs` | [`Report`], [`Count`] |
//! | `report/text.rs` | for a terminal |
//! | `report/html.rs` | for a browser |
//! | `report/json.rs` | for a program |

mod html;
mod json;
mod text;

use crate::cell::{Cell, Role};

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
}

/// How many cells of a role are within their tolerance.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Count {
    /// Those within.
    pub within: usize,
    /// All that are compared.
    pub of: usize,
}

impl Report {
    pub(crate) const fn new(study: &'static str, seeds: u64) -> Report {
        Report { study, seeds, digest: 0, cells: Vec::new() }
    }

    /// How many of the cells in this role are within their tolerance; none are compared that are set aside.
    #[must_use]
    pub fn count(&self, role: Role) -> Count {
        let compared = || self.cells.iter().filter(|cell| cell.role == role).filter_map(Cell::within);
        Count { within: compared().filter(|within| *within).count(), of: compared().count() }
    }
}

impl Count {
    /// In percent; 0 of none.
    #[must_use]
    pub fn percent(self) -> f64 {
        if self.of == 0 { 0.0 } else { 100.0 * self.within as f64 / self.of as f64 }
    }
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

/// A value beside a printed one: four digits are enough for small ones.
fn digits(published: f64, value: f64) -> String {
    if published < 0.1 { format!("{value:.4}") } else { format!("{value:.2}") }
}

/// How far ours is from the printed one, in percent of it or in points.
fn difference(cell: &Cell) -> String {
    cell.difference().map_or_else(String::new, |difference| match cell.column {
        crate::cell::Column::Time(_) => format!("{:+.1}%", 100.0 * difference),
        crate::cell::Column::Utilisation(_) => format!("{difference:+.2} points"),
    })
}

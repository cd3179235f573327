//! The statements of `[check]` that runs break.

use super::table::counted;
use core::fmt;
use quintet_model::{Axis, Cell, Model, Violation};
use std::collections::BTreeMap;

/// A statement that runs with the same parameters break.
pub(super) struct Broken {
    /// What the first of them shows.
    pub(super) violation: Violation,
    /// Its seed.
    pub(super) seed: u64,
    /// How many runs break it.
    pub(super) count: usize,
    /// Of how many.
    pub(super) runs: usize,
    /// The parameters that are swept, with their values.
    pub(super) parameters: Vec<(String, f64)>,
}

/// Each statement that is broken once for each cell, in the order of cells and names.
pub(super) fn broken(model: &Model, axes: &[Axis], cells: &[Cell]) -> Vec<Broken> {
    cells.iter().flat_map(|cell| of_cell(model, axes, cell)).collect()
}

fn of_cell(model: &Model, axes: &[Axis], cell: &Cell) -> impl Iterator<Item = Broken> {
    let named = axes.iter().map(|axis| axis.parameter.clone()).zip(cell.values.iter().copied());
    let parameters: Vec<(String, f64)> = named.collect();
    let swept: Vec<_> = parameters.iter().map(|(name, value)| (name.as_str(), *value)).collect();
    // What is swept may stand in statements.
    let model = model.clone().with_parameters(&swept);
    let found = model.and_then(|model| model.violations(&cell.study.runs));
    let found = found.expect("the model has run with these parameters");
    let mut by_check: BTreeMap<String, (u64, Violation, usize)> = BTreeMap::new();
    for (seed, violation) in found {
        by_check.entry(violation.check.clone()).or_insert((seed, violation, 0)).2 += 1;
    }
    let runs = cell.study.runs.len();
    by_check.into_values().map(move |(seed, violation, count)| {
        let parameters = parameters.clone();
        Broken { violation, seed, count, runs, parameters }
    })
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Broken { violation, seed, count, runs, parameters } = self;
        for (name, value) in parameters {
            write!(f, "{name} = {value}: ")?;
        }
        write!(f, "{violation} with seed {seed}; in {count} of {}", counted(*runs as u64, "run"))
    }
}

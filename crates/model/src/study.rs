//! Several runs of a model: over seeds, over values of a parameter, on all processors of the machine.

use crate::model::Model;
use crate::plan::Plan;
use crate::problem::ModelError;
use crate::result::RunResult;
use crate::run::Unwatched;
use quintet_simulate::in_parallel;
use quintet_simulate::statistics::{Interval, IntervalError, Replications};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

/// Runs of the same model with different seeds, and what they say together.
#[derive(Clone, Debug)]
pub struct Study {
    /// In the order of the seeds given.
    pub runs: Vec<RunResult>,
    /// Mean and deviation over the runs, by the names of [`RunResult::quantities`]; runs that lack one do not count for it.
    pub quantities: BTreeMap<String, Replications>,
}

impl Study {
    fn new(runs: Vec<RunResult>) -> Study {
        let mut quantities = BTreeMap::new();
        for run in &runs {
            for (name, value) in run.quantities() {
                quantities.entry(name).or_insert_with(Replications::new).add(value);
            }
        }
        Study { runs, quantities }
    }

    /// The mean of a quantity over the runs; none if no run has it.
    #[must_use]
    pub fn mean(&self, quantity: &str) -> Option<f64> {
        self.quantities.get(quantity)?.tally().mean()
    }

    /// The interval in which the true mean of a quantity lies with this confidence; none if no run has the quantity.
    ///
    /// # Errors
    /// A confidence that is not between 0 and 1; fewer than two runs.
    pub fn interval(&self, quantity: &str, confidence: f64) -> Option<Result<Interval, IntervalError>> {
        Some(self.quantities.get(quantity)?.interval(confidence))
    }
}

/// Watches runs while they are made, from another thread if need be.
pub struct Watch<'a> {
    /// Once true, no run begins any more, and those under way end without a result.
    pub stop: &'a AtomicBool,
    /// Called after each run that ended by itself, by the thread that made it.
    pub ended: &'a (dyn Fn() + Sync),
}

/// A parameter, and the values that it takes one after the other.
#[derive(Clone, PartialEq, Debug)]
pub struct Axis {
    /// Its name.
    pub parameter: String,
    /// Its values, in order.
    pub values: Vec<f64>,
}

/// What runs with the same parameters say.
#[derive(Clone, Debug)]
pub struct Cell {
    /// The parameter of each axis.
    pub values: Vec<f64>,
    /// The runs.
    pub study: Study,
}

impl Model {
    /// Runs it once for each seed. The result does not depend on how many processors there are.
    ///
    /// # Errors
    /// Everything that is wrong with the model.
    pub fn replicate(&self, seeds: &[u64]) -> Result<Study, ModelError> {
        let plan = self.plan()?;
        let jobs: Vec<_> = seeds.iter().map(|seed| (&plan, *seed)).collect();
        Ok(Study::new(run_all(&jobs, None).into_iter().flatten().collect()))
    }

    /// A study for each value of a parameter, in the order of the values.
    ///
    /// # Errors
    /// A name that is no parameter; everything that is wrong with the model for one of the values.
    pub fn sweep(
        &self,
        parameter: &str,
        values: &[f64],
        seeds: &[u64],
    ) -> Result<Vec<(f64, Study)>, ModelError> {
        let axis = Axis { parameter: parameter.to_owned(), values: values.to_vec() };
        let cells = self.grid(&[axis], seeds, None)?;
        Ok(values.iter().copied().zip(cells.into_iter().map(|cell| cell.study)).collect())
    }

    /// A study for each combination of values of several parameters, the last axis changing fastest; one study without axes.
    /// Studies lack the runs that [`Watch::stop`] ended or kept from beginning.
    ///
    /// # Errors
    /// A name that is no parameter; everything that is wrong with the model for one of the combinations.
    pub fn grid(
        &self,
        axes: &[Axis],
        seeds: &[u64],
        watch: Option<&Watch<'_>>,
    ) -> Result<Vec<Cell>, ModelError> {
        let combinations = combinations(axes);
        let plan = |values: &Vec<f64>| {
            let named: Vec<_> = axes.iter().map(|axis| axis.parameter.as_str()).zip(values.clone()).collect();
            self.clone().with_parameters(&named)?.plan()
        };
        let plans = combinations.iter().map(plan).collect::<Result<Vec<_>, _>>()?;
        let jobs: Vec<_> =
            plans.iter().flat_map(|plan| seeds.iter().map(move |seed| (plan, *seed))).collect();
        let mut runs = run_all(&jobs, watch).into_iter();
        let cell = |values| {
            let runs = runs.by_ref().take(seeds.len()).flatten().collect();
            Cell { values, study: Study::new(runs) }
        };
        Ok(combinations.into_iter().map(cell).collect())
    }
}

fn combinations(axes: &[Axis]) -> Vec<Vec<f64>> {
    axes.iter().fold(vec![Vec::new()], |before, axis| {
        let extended = |values: &Vec<f64>, value: f64| values.iter().copied().chain([value]).collect();
        before
            .iter()
            .flat_map(|values| axis.values.iter().map(move |value| extended(values, *value)))
            .collect()
    })
}

/// The results are in the order of the jobs; a job has none if it was stopped.
fn run_all(jobs: &[(&Plan, u64)], watch: Option<&Watch<'_>>) -> Vec<Option<RunResult>> {
    in_parallel(jobs, |(plan, seed)| run_one(plan, *seed, watch))
}

fn run_one(plan: &Plan, seed: u64, watch: Option<&Watch<'_>>) -> Option<RunResult> {
    let Some(watch) = watch else { return plan.run(seed, &mut Unwatched) };
    if watch.stop.load(Ordering::Relaxed) {
        return None;
    }
    let result = plan.run(seed, &mut &*watch.stop);
    result.iter().for_each(|_| (watch.ended)());
    result
}

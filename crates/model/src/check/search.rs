//! The first seed whose run breaks a statement, and the shortest run of it that does.

use super::{Checks, Violation};
use crate::model::Model;
use crate::plan::Plan;
use crate::problem::ModelError;
use crate::result::{Ended, RunResult};
use quintet_simulate::{Picos, in_parallel};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

/// Runs that are begun together. What is found does not depend on it.
const BATCH: u64 = 64;
/// Ends that are tried are multiples of a power of ten, at least so many parts of the run that broke the statement.
const PARTS: u64 = 10_000;

/// What a search over seeds found.
#[derive(Clone, PartialEq, Debug)]
pub struct Search {
    /// Runs that were made and looked at, up to the first that broke a statement.
    pub runs: u64,
    /// That one.
    pub finding: Option<Finding>,
}

/// A run that breaks a statement.
#[derive(Clone, PartialEq, Debug)]
pub struct Finding {
    /// Its seed.
    pub seed: u64,
    /// What it breaks: at least one.
    pub violations: Vec<Violation>,
    /// How far the run came.
    pub simulated: Picos,
    /// An end before that with which the same seed still breaks the first of them, and what it breaks then. None where no shorter
    /// run does that was tried, or an end would be no answer.
    pub shortest: Option<(Picos, Violation)>,
}

impl Model {
    /// Runs it with one seed after the other until a run breaks a statement, on all processors. The first such seed is found,
    /// however many there are. `stop` ends the search; runs under way are not counted then, and of a run that was found the shortest so far
    /// is given.
    ///
    /// # Errors
    /// Everything that is wrong with the model.
    pub fn search(
        &self,
        seeds: Range<u64>,
        stop: &AtomicBool,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Search, ModelError> {
        let (plan, checks) = self.planned()?;
        let mut runs = 0;
        let mut first = seeds.start;
        while first < seeds.end && !stop.load(Ordering::Relaxed) {
            let end = first.saturating_add(BATCH).min(seeds.end);
            let batch: Vec<u64> = (first..end).collect();
            for found in in_parallel(&batch, |seed| look(&plan, &checks, *seed, stop)) {
                let Some((result, violations)) = found else { return Ok(Search { runs, finding: None }) };
                runs += 1;
                if !violations.is_empty() {
                    let finding = Some(self.finding(&result, violations, stop)?);
                    return Ok(Search { runs, finding });
                }
            }
            progress(runs);
            first = end;
        }
        Ok(Search { runs, finding: None })
    }

    fn finding(
        &self,
        result: &RunResult,
        violations: Vec<Violation>,
        stop: &AtomicBool,
    ) -> Result<Finding, ModelError> {
        let shortest = match violations.first() {
            Some(broken) => self.shortest(result, broken, stop)?,
            None => None,
        };
        let RunResult { seed, simulated, .. } = *result;
        Ok(Finding { seed, violations, simulated, shortest })
    }

    fn shortest(
        &self,
        result: &RunResult,
        broken: &Violation,
        stop: &AtomicBool,
    ) -> Result<Option<(Picos, Violation)>, ModelError> {
        // Where time stands still, or events go on for ever, it is not the end that is too late.
        if matches!(result.ended, Ended::Stalled(_) | Ended::Overfull { .. }) {
            return Ok(None);
        }
        let broken = |end| self.broken_with(end, result.seed, &broken.check, stop);
        shortest_end(result.simulated, broken, || stop.load(Ordering::Relaxed))
    }

    /// How the statement is broken when the run ends there; an end within the warm-up is none. None as well if it was stopped.
    fn broken_with(
        &self,
        end: Picos,
        seed: u64,
        check: &str,
        stop: &AtomicBool,
    ) -> Result<Option<Violation>, ModelError> {
        if end <= self.plan()?.warm_up {
            return Ok(None);
        }
        let model = self.clone().with("end", format!("{} s", end.as_seconds()));
        let (plan, checks) = model.planned()?;
        let Some((_, violations)) = look(&plan, &checks, seed, stop) else { return Ok(None) };
        Ok(violations.into_iter().find(|violation| violation.check == check))
    }
}

/// The shortest end with which a run is broken that was broken when it had come to `simulated`, and what `broken` gave for it. Halves the interval
/// between an end with which it is and one with which it is not. What is said of a mean may be broken, kept and broken again; what is found is broken,
/// and a little shorter it is not, unless it is stopped before that is known. None if it is broken with no shorter end that was tried.
///
/// # Errors
/// Those of `broken`.
pub fn shortest_end<T, E>(
    simulated: Picos,
    mut broken: impl FnMut(Picos) -> Result<Option<T>, E>,
    is_stopped: impl Fn() -> bool,
) -> Result<Option<(Picos, T)>, E> {
    let grain = grain(simulated);
    let (mut kept, mut found) = (0, None);
    let mut too_long = simulated.0.div_ceil(grain);
    while too_long - kept > 1 {
        let middle = kept.midpoint(too_long);
        let end = Picos(middle * grain);
        match broken(end)? {
            Some(what) => (too_long, found) = (middle, Some((end, what))),
            None if is_stopped() => break,
            None => kept = middle,
        }
    }
    Ok(found)
}

/// None if it was stopped.
fn look(plan: &Plan, checks: &Checks, seed: u64, stop: &AtomicBool) -> Option<(RunResult, Vec<Violation>)> {
    let result = plan.run(seed, &mut &*stop)?;
    let violations = checks.violations(&result);
    Some((result, violations))
}

/// The largest power of ten of which `whole` has [`PARTS`]: ends are short numbers.
fn grain(whole: Picos) -> u64 {
    let mut grain = 1_u64;
    while whole.0 / grain / 10 >= PARTS {
        grain *= 10;
    }
    grain
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A job of 15 ms every 10 ms, so that they wait longer and longer; more events than pass between two looks.
    const LONG: &str = r#"
[model]
name = "long"
end = "200 s"
[processor.cpu.instructions]
tick = "15 ms"
[module.one]
on = "cpu"
every = "10 ms"
do = [{ execute = "tick" }]
[check]
soon = "module.one.waiting.longest <= 1 s"
"#;

    #[test]
    fn who_stops_the_search_for_a_shorter_run_gets_what_was_found() {
        let model = Model::from_str(LONG, "long.toml").unwrap_or_else(|error| panic!("{error}"));
        let (plan, checks) = model.planned().unwrap_or_else(|error| panic!("{error}"));
        let found = |is_stopped| {
            let (result, violations) = look(&plan, &checks, 0, &AtomicBool::new(false))?;
            model.finding(&result, violations, &AtomicBool::new(is_stopped)).ok()
        };
        let (whole, stopped) = (found(false).expect("it is broken"), found(true).expect("it is broken"));
        assert!(whole.shortest.is_some());
        assert_eq!(stopped, Finding { shortest: None, ..whole });
    }
}

//! Runs that did not come to their end.

use super::Outcome;
use quintet::{Code, Error};
use quintet_model::{Ended, Model, RunResult};
use quintet_simulate::Stall;

/// Whether a run's results are those of a part of it.
pub(super) fn is_cut_short(ended: &Ended) -> bool {
    matches!(ended, Ended::EventLimit | Ended::Stalled(_) | Ended::Overfull { .. })
}

/// What is to be said about the ends of the runs, if anything.
pub(super) fn error(outcome: &Outcome<'_>, interrupted: bool) -> Option<Error> {
    let runs = || outcome.cells.iter().flat_map(|cell| &cell.study.runs);
    let asked = outcome.cells.len() as u64 * outcome.seeds;
    let made = runs().count();
    if interrupted && (made as u64) < asked {
        let text = format!("{made} of {asked} runs were made; the results are of those");
        return Some(Error::new(Code::Cancelled, text));
    }
    let stalled = |run: &RunResult| match run.ended {
        Ended::Stalled(stall) => Some((run.seed, stall)),
        _ => None,
    };
    if let Some((seed, stall)) = runs().find_map(stalled) {
        let count = runs().filter_map(stalled).count();
        let text = format!(
            "{count} of {made} runs came to a stop, and their results are of the part before; seed {seed}: {}",
            in_words(outcome.model, stall)
        );
        return Some(Error::new(Code::BadValue, text));
    }
    let is_overfull = |run: &&RunResult| matches!(run.ended, Ended::Overfull { .. });
    if let Some(run) = runs().find(is_overfull) {
        let count = runs().filter(is_overfull).count();
        let text = format!(
            "{count} of {made} runs came to an end, and their results are of the part before; seed {}: {}",
            run.seed, run.ended
        );
        return Some(Error::new(Code::LimitReached, text));
    }
    let limited: Vec<&RunResult> = runs().filter(|run| run.ended == Ended::EventLimit).collect();
    let first = limited.first()?;
    let endless =
        if outcome.model.has_end() { "" } else { "; the model has no end: --end and end give it one" };
    let text = format!(
        "{} of {made} runs ended at the limit of events, and their results are of the part before; seed {} came to {} in {} \
         events; --limit and event_limit set the limit{endless}",
        limited.len(),
        first.seed,
        first.simulated,
        first.events
    );
    Some(Error::new(Code::LimitReached, text))
}

fn in_words(model: &Model, stall: Stall) -> String {
    let names = model.build(0).map(|(_, names)| names.modules).unwrap_or_default();
    let module = names.iter().find(|(_, node)| Some(**node) == stall.node).map(|(name, _)| name);
    let part = module.map(|module| format!("; module {module} is among them")).unwrap_or_default();
    format!("{}{part}", Stall { node: None, ..stall })
}

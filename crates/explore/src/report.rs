//! What a caller asks for and is told.

use crate::check::Rule;
use crate::history::{Ask, History, Outcome, What};
use crate::network::Seeded;
use crate::run::{Outcomes, run};
use std::fmt;
use std::ops::Range;

/// What to explore.
#[derive(Clone, Debug)]
pub struct Options {
    /// The seeds, one schedule each.
    pub seeds: Range<u64>,
    /// A schedule with more events than this does not come to rest. Default 1,000,000; usual are a few thousand.
    pub events_limit: u64,
    /// How many events of the history a failure shows, the last ones. Default 60.
    pub shown_events: usize,
    /// A defect to have.
    #[cfg(feature = "seeded-defects")]
    pub defect: Option<crate::Defect>,
}

/// How far the exploration is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Progress {
    /// The seed that was just explored.
    pub seed: u64,
    /// Schedules so far.
    pub schedules: u64,
    /// Events so far.
    pub events: u64,
}

/// What was explored, and what was found.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Report {
    /// Schedules, the failed one included.
    pub schedules: u64,
    /// Events that the simulated host handled.
    pub events: u64,
    /// Requests that clients sent.
    pub operations: u64,
    /// Puts that were acknowledged, those of results included.
    pub acknowledged_outs: u64,
    /// Tuples that were taken, leased ones included.
    pub takes: u64,
    /// Leases that ended without an acknowledgement. (Of schedules that came to their end.)
    pub redone_leases: u64,
    /// Clients that crashed.
    pub crashes: u64,
    /// The same for the same seeds and the same program; another when any time, address or byte differed.
    pub digest: u64,
    /// The first failure, after which the exploration ended.
    pub failure: Option<Failure>,
}

/// A promise that was broken.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    /// The seed of the schedule.
    pub seed: u64,
    /// What did not hold.
    pub rule: Rule,
    /// What happened instead.
    pub text: String,
    /// The last events of the history, one a line: number, time, who, what.
    pub history: Vec<String>,
}

impl Options {
    /// These seeds, and the defaults.
    #[must_use]
    pub fn of(seeds: Range<u64>) -> Options {
        Options {
            seeds,
            events_limit: 1_000_000,
            shown_events: 60,
            #[cfg(feature = "seeded-defects")]
            defect: None,
        }
    }

    fn seeded(&self) -> Seeded {
        Seeded {
            #[cfg(feature = "seeded-defects")]
            defect: self.defect,
        }
    }
}

/// Runs the schedules of all seeds, until one fails. `progress` is called after each.
pub fn explore(options: &Options, progress: &mut dyn FnMut(Progress)) -> Report {
    let mut report = Report::default();
    for seed in options.seeds.clone() {
        let outcomes = run(seed, options.events_limit, options.seeded());
        report.add(seed, &outcomes, options.shown_events);
        progress(Progress { seed, schedules: report.schedules, events: report.events });
        if report.failure.is_some() {
            break;
        }
    }
    report
}

/// Runs the schedule of one seed (those of the options do not matter) and shows its whole history, line by line.
pub fn replay(seed: u64, options: &Options, show: &mut dyn FnMut(&str)) -> Report {
    let outcomes = run(seed, options.events_limit, options.seeded());
    outcomes.history.last(usize::MAX).iter().for_each(|line| show(line));
    let mut report = Report::default();
    report.add(seed, &outcomes, options.shown_events);
    report
}

impl Report {
    fn add(&mut self, seed: u64, outcomes: &Outcomes, shown_events: usize) {
        self.schedules += 1;
        self.events += outcomes.events;
        self.redone_leases += outcomes.redone;
        self.digest = (self.digest.rotate_left(5) ^ outcomes.digest).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.count(&outcomes.history);
        self.failure = outcomes.violation.as_ref().map(|violation| Failure {
            seed,
            rule: violation.rule,
            text: violation.text.clone(),
            history: outcomes.history.last(shown_events),
        });
    }

    fn count(&mut self, history: &History) {
        for event in &history.events {
            match &event.what {
                What::Sent { .. } => self.operations += 1,
                What::Crashed => self.crashes += 1,
                What::Answered { request, outcome } => {
                    let What::Sent { ask, .. } = &history.events[*request].what else { continue };
                    match (ask, outcome) {
                        (Ask::Take { .. }, Outcome::Tuple(..)) => self.takes += 1,
                        (Ask::Out { .. } | Ask::Ack { .. }, Outcome::Done) => self.acknowledged_outs += 1,
                        _ => {}
                    }
                }
                _ => {}
            }
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} schedules, {} events, {} operations: {} acknowledged puts, {} takes, {} redone leases, {} crashes",
            self.schedules,
            self.events,
            self.operations,
            self.acknowledged_outs,
            self.takes,
            self.redone_leases,
            self.crashes
        )?;
        match &self.failure {
            None => writeln!(f, "no rule was broken; digest {:016x}", self.digest),
            Some(failure) => write!(f, "{failure}"),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "seed {} breaks the rule \"{}\": {}", self.seed, self.rule, self.text)?;
        self.history.iter().try_for_each(|line| writeln!(f, "{line}"))
    }
}

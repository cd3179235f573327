//! What a caller asks for and is told.

use crate::clients::Clients;
use crate::failure::{Failure, Shrunk, add_digest, count_choices, write_ending};
use crate::fault::Fault;
use crate::history::{Ask, History, Outcome, What};
use crate::network::Seeded;
use crate::run::{Outcomes, run};
use crate::shrink::Shrinker;
use quintet_simulate::{Choices, Sequence};
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
    /// Faults, their ends not counted.
    pub faults: u64,
    /// Processes that crashed or were stopped.
    pub crashes: u64,
    /// The same for the same seeds and the same program; another when any time, address or byte differed.
    pub digest: u64,
    /// The first failure, after which the exploration ended.
    pub failure: Option<Failure>,
}

/// How large a schedule is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Size {
    /// Its clients.
    pub clients: usize,
    /// What they asked for while they worked.
    pub operations: usize,
    /// Faults, their ends not counted.
    pub faults: usize,
    /// Choices, without zeros at a stream's end.
    pub choices: usize,
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
    explore_while(options, &mut |at| {
        progress(at);
        true
    })
}

/// The same until `progress` says no: by false.
pub fn explore_while(options: &Options, progress: &mut dyn FnMut(Progress) -> bool) -> Report {
    let mut report = Report::default();
    for seed in options.seeds.clone() {
        let choices = Choices::drawn(seed);
        let outcomes = run(&choices, options.events_limit, options.seeded());
        report.add(Some(seed), &choices, &outcomes, options.shown_events);
        let goes_on = progress(Progress { seed, schedules: report.schedules, events: report.events });
        if report.failure.is_some() || !goes_on {
            break;
        }
    }
    report
}

/// Runs the schedule of one seed (those of the options do not matter) and shows its whole history, line by line.
pub fn replay(seed: u64, options: &Options, show: &mut dyn FnMut(&str)) -> Report {
    play(Some(seed), &Choices::drawn(seed), options, show)
}

/// The choices of a seed's schedule.
#[must_use]
pub fn choices(seed: u64, options: &Options) -> Sequence {
    let choices = Choices::drawn(seed);
    run(&choices, options.events_limit, options.seeded());
    choices.made()
}

/// Runs the schedule of a choice sequence and shows its whole history, line by line.
pub fn replay_sequence(sequence: &Sequence, options: &Options, show: &mut dyn FnMut(&str)) -> Report {
    play(None, &Choices::replayed(sequence.clone()), options, show)
}

fn play(seed: Option<u64>, choices: &Choices, options: &Options, show: &mut dyn FnMut(&str)) -> Report {
    let outcomes = run(choices, options.events_limit, options.seeded());
    outcomes.plan.to_string().lines().for_each(&mut *show);
    outcomes.history.last(usize::MAX).iter().for_each(|line| show(line));
    let mut report = Report::default();
    report.add(seed, choices, &outcomes, options.shown_events);
    report
}

/// Searches for a smaller schedule that breaks the same rule, until none of those that are next to the smallest does, or until
/// `may_go_on`, which is told how many were tried, says no. None if the failure's choices break no rule.
pub fn shrink(
    failure: &Failure,
    options: &Options,
    may_go_on: &mut dyn FnMut(u32) -> bool,
) -> Option<Shrunk> {
    let target = Clients { events_limit: options.events_limit, seeded: options.seeded() };
    let mut shrinker = Shrinker::new(&target, failure.choices.clone(), may_go_on)?;
    shrinker.shrink();
    let Shrinker { best, outcomes, attempts, .. } = shrinker;
    let failure = Failure::of(failure.seed, best, &outcomes, usize::MAX)?;
    Some(Shrunk { failure, attempts })
}

impl Failure {
    /// What the choices made of the run; none if no rule was broken.
    fn of(seed: Option<u64>, choices: Sequence, outcomes: &Outcomes, shown_events: usize) -> Option<Failure> {
        let violation = outcomes.violation.as_ref()?;
        Some(Failure {
            seed,
            rule: violation.rule,
            text: violation.text.clone(),
            plan: outcomes.plan.to_string().lines().map(str::to_owned).collect(),
            history: outcomes.history.last(shown_events),
            size: Size {
                clients: outcomes.plan.clients.len(),
                operations: outcomes.history.operations_of_work(),
                faults: outcomes.plan.faults.iter().filter(|(_, fault)| !fault.is_end()).count(),
                choices: count_choices(&choices),
            },
            choices,
        })
    }
}

impl Report {
    fn add(&mut self, seed: Option<u64>, choices: &Choices, outcomes: &Outcomes, shown_events: usize) {
        self.schedules += 1;
        self.events += outcomes.events;
        self.redone_leases += outcomes.redone;
        self.digest = add_digest(self.digest, outcomes.digest);
        self.count(&outcomes.history);
        if outcomes.violation.is_some() {
            self.failure = Failure::of(seed, choices.made(), outcomes, shown_events);
        }
    }

    fn count(&mut self, history: &History) {
        for event in &history.events {
            match &event.what {
                What::Sent { .. } => self.operations += 1,
                What::Fault(fault) => {
                    self.faults += u64::from(!fault.is_end());
                    self.crashes += u64::from(matches!(fault, Fault::Crash { .. }));
                }
                What::Answered { request, outcome } => {
                    let What::Sent { ask, .. } = &history.events[*request].what else { continue };
                    match (ask, outcome) {
                        (Ask::Take { .. }, Outcome::Tuple(..)) => self.takes += 1,
                        (Ask::Out { .. } | Ask::Ack { .. } | Ask::Commit { .. }, Outcome::Done) => {
                            self.acknowledged_outs += 1;
                        }
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
            "{} schedules, {} events, {} operations: {} acknowledged puts, {} takes, {} redone leases, {} faults, {} crashes",
            self.schedules,
            self.events,
            self.operations,
            self.acknowledged_outs,
            self.takes,
            self.redone_leases,
            self.faults,
            self.crashes
        )?;
        write_ending(f, self.failure.as_ref(), self.digest)
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Size { clients, operations, faults, choices } = self;
        write!(f, "{clients} clients, {operations} operations, {faults} faults, {choices} choices")
    }
}

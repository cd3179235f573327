//! What a caller asks for and is told.

use super::System;
use super::run::{NO_PANIC, Outcomes, run};
use super::strike::all_at;
use crate::Progress;
use crate::failure::{add_digest, count_choices, write_ending};
use crate::plan::streams;
use crate::shrink::{Shrinker, Target};
use quintet_contract::{Address, NodeId};
use quintet_simulate::{Choices, Sequence, link_stream};
use std::fmt;
use std::ops::Range;

/// The rule of systems that do not do the same again.
const REPEATS: &str = "a run follows from its choices";

/// What to explore.
#[derive(Clone, Debug)]
pub struct Options {
    /// The seeds, one schedule each.
    pub seeds: Range<u64>,
    /// A schedule with more events than this breaks a rule of its own. Default 1,000,000.
    pub events_limit: u64,
    /// How many events of the history a failure shows, the last ones. Default 60.
    pub shown_events: usize,
}

impl Options {
    /// These seeds, and the defaults.
    #[must_use]
    pub fn of(seeds: Range<u64>) -> Options {
        Options { seeds, events_limit: 1_000_000, shown_events: 60 }
    }
}

/// What was explored, and what was found.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Report {
    /// Schedules, the failed one included.
    pub schedules: u64,
    /// Events that the simulated host handled.
    pub events: u64,
    /// Requests that callers made.
    pub requests: u64,
    /// Frames that they were answered.
    pub answers: u64,
    /// Faults, their ends not counted.
    pub faults: u64,
    /// The same for the same seeds and the same program; another when any time, address or byte differed.
    pub digest: u64,
    /// Schedules of which it is open whether they break a rule: the exploration goes on behind them.
    pub undecided: Vec<Undecided>,
    /// The first failure, after which the exploration ended.
    pub failure: Option<Failure>,
}

/// A schedule of which it is open whether it breaks a rule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Undecided {
    /// Its seed; none if its choices were given.
    pub seed: Option<u64>,
    /// Why it could not be found out.
    pub why: String,
}

/// A rule that was broken.
pub type Failure = crate::Failure<String, Size>;
/// A failure made smaller.
pub type Shrunk = crate::Shrunk<String, Size>;

/// How large a schedule is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Size {
    /// Its nodes.
    pub nodes: u16,
    /// What their callers asked.
    pub requests: u64,
    /// Faults, their ends not counted.
    pub faults: usize,
    /// Choices, without zeros at a stream's end.
    pub choices: usize,
}

/// Where a schedule comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Origin<'a> {
    /// It is that of a seed.
    Seed(u64),
    /// Its choices are given: those of a failure, or of a file.
    Choices(&'a Sequence),
}

impl Origin<'_> {
    fn choices(self) -> Choices {
        match self {
            Origin::Seed(seed) => Choices::drawn(seed),
            Origin::Choices(sequence) => Choices::replayed(sequence.clone()),
        }
    }

    fn seed(self) -> Option<u64> {
        match self {
            Origin::Seed(seed) => Some(seed),
            Origin::Choices(_) => None,
        }
    }
}

/// Runs the schedules of all seeds, until one fails.
pub fn explore<S: System>(system: &S, options: &Options) -> Report {
    explore_while(system, options, &mut |_| true)
}

/// The same until `progress`, which is called after each, says no: by false.
pub fn explore_while<S: System>(
    system: &S,
    options: &Options,
    progress: &mut dyn FnMut(Progress) -> bool,
) -> Report {
    let mut report = Report::default();
    for seed in options.seeds.clone() {
        if report.run(system, options, seed, &Choices::drawn(seed), progress).is_none() {
            break;
        }
    }
    report
}

/// The same, and each schedule again and again, with one more fault each time: after every event in turn that is not before
/// [`System::begins_after`], every node crashes, stops, stands still and is cut off, as far as it may, for a short and for a long time.
pub fn explore_steps_while<S: System>(
    system: &S,
    options: &Options,
    progress: &mut dyn FnMut(Progress) -> bool,
) -> Report {
    let mut report = Report::default();
    for seed in options.seeds.clone() {
        let mut run = |choices: Choices| report.run(system, options, seed, &choices, progress);
        let Some(Outcomes { steps, nodes, .. }) = run(Choices::drawn(seed)) else { break };
        let mut strikes = steps.flat_map(|event| all_at(event, nodes, system));
        if strikes.any(|strike| run(Choices::drawn_beside(seed, strike)).is_none()) {
            break;
        }
    }
    report
}

/// Runs one schedule (the seeds of the options do not matter) and shows its whole history, line by line.
pub fn replay<S: System>(
    system: &S,
    origin: Origin<'_>,
    options: &Options,
    show: &mut dyn FnMut(&str),
) -> Report {
    let choices = origin.choices();
    let outcomes = run(system, &choices, options.events_limit, true);
    outcomes.plan.lines().for_each(&mut *show);
    outcomes.history.iter().for_each(|line| show(line));
    let mut report = Report::default();
    report.add(origin.seed(), &outcomes);
    report.failure = Failure::of(origin.seed(), choices.made(), &outcomes, options.shown_events);
    report
}

/// Searches for a smaller schedule that breaks the same rule, until none of those that are next to the smallest does, or until
/// `may_go_on`, which is told how many were tried, says no. None if the failure's choices break no rule.
pub fn shrink<S: System>(
    system: &S,
    failure: &Failure,
    options: &Options,
    may_go_on: &mut dyn FnMut(u32) -> bool,
) -> Option<Shrunk> {
    let target = Explored { system, events_limit: options.events_limit };
    let mut shrinker = Shrinker::new(&target, failure.choices.clone(), may_go_on)?;
    shrinker.shrink();
    let Shrinker { best, outcomes, attempts, .. } = shrinker;
    let whole = Options { shown_events: usize::MAX, ..options.clone() };
    Some(Shrunk { failure: shown(system, failure.seed, &best, &outcomes, &whole), attempts })
}

/// A failure with its history, for which it is run once more: histories are not kept while it is searched.
fn shown<S: System>(
    system: &S,
    seed: Option<u64>,
    made: &Sequence,
    first: &Outcomes,
    options: &Options,
) -> Failure {
    let choices = Choices::replayed(made.clone());
    let again = run(system, &choices, options.events_limit, true);
    if (&again.broken, again.digest) == (&first.broken, first.digest)
        && let Some(failure) = Failure::of(seed, made.clone(), &again, options.shown_events)
    {
        return failure;
    }
    let said = |outcomes: &Outcomes| {
        outcomes.broken.as_ref().map_or_else(
            || "nothing was broken".to_owned(),
            |broken| format!("{}: {}", broken.rule, broken.found),
        )
    };
    Failure {
        rule: REPEATS.to_owned(),
        text: format!(
            "first {}; with the same choices again {}: a protocol or the system looks at something else, such as a clock, a HashMap's order or what an \
             earlier run left",
            said(first),
            said(&again)
        ),
        ..Failure::of_outcomes(seed, made.clone(), &again, options.shown_events)
    }
}

impl Failure {
    /// None if no rule was broken.
    fn of(seed: Option<u64>, choices: Sequence, outcomes: &Outcomes, shown_events: usize) -> Option<Failure> {
        let broken = outcomes.broken.as_ref()?;
        let (rule, text) = (broken.rule.clone(), broken.found.clone());
        Some(Failure { rule, text, ..Failure::of_outcomes(seed, choices, outcomes, shown_events) })
    }

    fn of_outcomes(
        seed: Option<u64>,
        choices: Sequence,
        outcomes: &Outcomes,
        shown_events: usize,
    ) -> Failure {
        let Outcomes { nodes, requests, faults, ref history, .. } = *outcomes;
        let size = Size { nodes, requests, faults, choices: count_choices(&choices) };
        Failure {
            seed,
            rule: String::new(),
            text: String::new(),
            plan: outcomes.plan.lines().map(str::to_owned).collect(),
            history: history[history.len().saturating_sub(shown_events)..].to_vec(),
            size,
            choices,
        }
    }
}

impl Report {
    /// Adds a schedule of this seed. None if none is to follow.
    fn run<S: System>(
        &mut self,
        system: &S,
        options: &Options,
        seed: u64,
        choices: &Choices,
        progress: &mut dyn FnMut(Progress) -> bool,
    ) -> Option<Outcomes> {
        let outcomes = run(system, choices, options.events_limit, false);
        self.add(Some(seed), &outcomes);
        if outcomes.broken.is_some() {
            self.failure = Some(shown(system, Some(seed), &choices.made(), &outcomes, options));
        }
        let goes_on = progress(Progress { seed, schedules: self.schedules, events: self.events });
        (goes_on && self.failure.is_none()).then_some(outcomes)
    }

    fn add(&mut self, seed: Option<u64>, outcomes: &Outcomes) {
        self.schedules += 1;
        self.events += outcomes.events;
        self.requests += outcomes.requests;
        self.answers += outcomes.answers;
        self.faults += outcomes.faults as u64;
        self.digest = add_digest(self.digest, outcomes.digest);
        self.undecided.extend(outcomes.open.clone().map(|why| Undecided { seed, why }));
    }
}

impl Report {
    /// How many schedules are undecided, and each; nothing where none is.
    fn write_undecided(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.undecided.is_empty() {
            writeln!(f, "of {} it is open whether they break a rule", self.undecided.len())?;
        }
        self.undecided.iter().try_for_each(|undecided| writeln!(f, "{undecided}"))
    }
}

impl fmt::Display for Undecided {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.seed {
            Some(seed) => write!(f, "seed {seed}: {}", self.why),
            None => write!(f, "this schedule: {}", self.why),
        }
    }
}

/// A system whose schedules are made smaller.
struct Explored<'a, S> {
    system: &'a S,
    events_limit: u64,
}

impl<S: System> Target for Explored<'_, S> {
    type Outcomes = Outcomes;
    type Rule = String;

    fn run(&self, choices: &Choices) -> Outcomes {
        run(self.system, choices, self.events_limit, false)
    }

    fn rule(&self, outcomes: &Outcomes) -> Option<String> {
        let broken = outcomes.broken.as_ref()?;
        // Of two panics only those of one place are the same.
        let place = broken.found.rfind('(').map_or("", |at| &broken.found[at..]);
        let is_panic = broken.rule == NO_PANIC;
        Some(if is_panic { format!("{NO_PANIC} {place}") } else { broken.rule.clone() })
    }

    fn last_member(&self, sequence: &Sequence) -> Option<u16> {
        let more = *sequence.get(&streams::WORLD)?.first()?.first()?;
        let least = *self.system.nodes().start().max(&1);
        u16::try_from(more).ok().filter(|more| *more > 0).map(|more| least + more)
    }

    fn streams_of(&self, node: u16, others: &[u16]) -> Vec<u64> {
        let own = [streams::CLIENT, streams::WANTS, streams::USES].map(|kind| kind + u64::from(node));
        let address = |node| Address { node: NodeId(node), port: self.system.port_of(NodeId(node)) };
        let links = others.iter().flat_map(|other| {
            let (here, there) = (address(node), address(*other));
            [link_stream(here, there), link_stream(there, here)]
        });
        own.into_iter().chain(links).collect()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Report { schedules, events, requests, answers, faults, .. } = self;
        writeln!(
            f,
            "{schedules} schedules, {events} events, {requests} requests, {answers} answers, {faults} faults"
        )?;
        self.write_undecided(f)?;
        write_ending(f, self.failure.as_ref(), self.digest)
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Size { nodes, requests, faults, choices } = self;
        write!(f, "{nodes} nodes, {requests} requests, {faults} faults, {choices} choices")
    }
}

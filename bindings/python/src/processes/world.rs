//! The state of a run, as far as processes have a part in it.

use super::condition::Condition;
use super::event::{Event, State};
use super::measure::Measured;
use super::process::Working;
use super::program::Mailbox;
use super::resource::Shared;
use super::slots::Slots;
use super::store::Kept;
use pyo3::prelude::*;
use quintet_contract::Address;
use quintet_simulate::{Command, Picos};
use std::collections::BTreeMap;

/// What a call of the simulation is about.
pub(super) enum Pending {
    /// A process goes on, if it has not gone on since.
    Wake(u32, u64),
    /// An event happens.
    Fire(Py<Event>),
    /// A source begins a process.
    Begin(u32),
    /// A process is interrupted: the exception.
    Interrupt(u32, u64, Py<PyAny>),
}

/// What the simulation is to be told.
pub(super) enum Outgoing {
    Call(Picos, u64),
    Order(Box<(Address, Command, u64)>),
}

/// All that a run has of processes. Empty after its end: what is left of it then does nothing.
pub(super) struct World {
    pub(super) seed: u64,
    pub(super) now: Picos,
    pub(super) parameters: BTreeMap<String, f64>,
    pub(super) pending: Slots<Pending>,
    pub(super) outgoing: Vec<Outgoing>,
    pub(super) processes: Slots<Working>,
    /// Processes that began so far.
    pub(super) begun: u64,
    /// Processes that came to their end.
    pub(super) ended: u64,
    /// Counts how often any process went on: tells one wait from every other.
    pub(super) epoch: u64,
    /// How often processes have gone on without an event at which instant.
    at_once: (Picos, u32),
    /// The process that runs.
    pub(super) current: Option<u32>,
    pub(super) conditions: Slots<Condition>,
    pub(super) resources: Vec<Shared>,
    pub(super) stores: Vec<Kept>,
    pub(super) measures: Vec<Measured>,
    /// Names that measures of the model have.
    pub(super) taken: Vec<String>,
    pub(super) mailboxes: Vec<Mailbox>,
}

impl World {
    pub(super) fn new(seed: u64, parameters: BTreeMap<String, f64>, taken: Vec<String>) -> World {
        World {
            seed,
            now: Picos::ZERO,
            parameters,
            pending: Slots::new(),
            outgoing: Vec::new(),
            processes: Slots::new(),
            begun: 0,
            ended: 0,
            epoch: 0,
            at_once: (Picos::ZERO, 0),
            current: None,
            conditions: Slots::new(),
            resources: Vec::new(),
            stores: Vec::new(),
            measures: Vec::new(),
            taken,
            mailboxes: Vec::new(),
        }
    }

    /// Schedules something so many seconds from now.
    #[inline]
    pub(super) fn schedule(&mut self, delay: Picos, pending: Pending) {
        let number = self.pending.put(pending);
        self.outgoing.push(Outgoing::Call(self.now + delay, number.into()));
    }

    /// An event has come about: it happens after all that was to happen now before.
    pub(super) fn trigger(&mut self, event: Py<Event>, state: &mut State) {
        *state = State::Triggered;
        self.schedule(Picos::ZERO, Pending::Fire(event));
    }

    /// Tells the program in a place to do something; then the event happens.
    pub(super) fn order(&mut self, at: Address, command: Command, done: Py<Event>) {
        let number = self.pending.put(Pending::Fire(done));
        self.outgoing.push(Outgoing::Order(Box::new((at, command, number.into()))));
    }

    /// A process waits from now on, for an event or a time: the number of this wait.
    #[inline]
    pub(super) fn next_wait(&mut self, place: u32, awaited: Option<Py<Event>>) -> u64 {
        self.epoch += 1;
        self.current = None;
        if let Some(working) = self.processes.get_mut(place) {
            (working.wait, working.awaited, working.since) = (self.epoch, awaited, self.now);
        }
        self.epoch
    }

    /// Whether a process may go on without an event once more: so often at one instant.
    #[inline]
    pub(super) fn goes_on_at_once(&mut self, most: u32) -> bool {
        let (at, count) = self.at_once;
        let count = if at == self.now { count + 1 } else { 1 };
        self.at_once = (self.now, count.min(most));
        count < most
    }

    /// The process that runs, and its number among all.
    pub(super) fn current_process(&mut self) -> Option<(u32, u64)> {
        let place = self.current?;
        self.processes.get_mut(place).map(|working| (place, working.number))
    }

    /// The warm-up is over.
    pub(super) fn forget(&mut self, now: Picos) {
        self.resources.iter_mut().for_each(|resource| resource.forget(now));
        self.stores.iter_mut().for_each(|store| store.forget(now));
        self.measures.iter_mut().for_each(Measured::forget);
    }
}

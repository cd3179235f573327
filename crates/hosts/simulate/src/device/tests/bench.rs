//! A host for one device: a queue of timers and requests.

use super::super::{Class, Device, DeviceStatistics, Effects, Message, Outcome, Station, Timer};
use crate::picos::Picos;
use quintet_contract::Random;
use std::collections::BTreeMap;

/// Parts of a second, in picoseconds.
pub(super) const MICRO: u64 = 1_000_000;
pub(super) const MILLI: u64 = 1_000 * MICRO;
pub(super) const SECOND: u64 = 1_000 * MILLI;

pub(super) fn asynchronous(ticket: u64, from: u16, to: u16, bytes: u64) -> Message {
    Message {
        ticket,
        from: Station(from),
        to: Station(to),
        bytes,
        class: Class::Asynchronous,
        work: Picos::ZERO,
    }
}

enum Event {
    Request(Message),
    Wake(Timer),
}

/// Runs a device. Checks that no timer is set in the past.
pub(super) struct Bench {
    pub(super) device: Box<dyn Device>,
    pub(super) now: Picos,
    /// What became of each message, and when.
    pub(super) done: BTreeMap<u64, (Picos, Outcome)>,
    pub(super) requests: BTreeMap<u64, (Picos, Message)>,
    events: BTreeMap<(Picos, u64), Event>,
    scheduled: u64,
    random: Random,
    timers: Vec<(Picos, Timer)>,
    outcomes: Vec<Outcome>,
}

impl Bench {
    pub(super) fn new(device: impl Device + 'static, seed: u64) -> Self {
        Bench::of(Box::new(device), seed)
    }

    pub(super) fn of(device: Box<dyn Device>, seed: u64) -> Self {
        Bench {
            device,
            now: Picos::ZERO,
            done: BTreeMap::new(),
            requests: BTreeMap::new(),
            events: BTreeMap::new(),
            scheduled: 0,
            random: Random::new(seed, 0),
            timers: Vec::new(),
            outcomes: Vec::new(),
        }
    }

    pub(super) fn request(&mut self, at: Picos, message: Message) {
        self.schedule(at, Event::Request(message));
    }

    fn schedule(&mut self, at: Picos, event: Event) {
        self.scheduled += 1;
        self.events.insert((at, self.scheduled), event);
    }

    /// Handles one event; the messages that ended in it.
    pub(super) fn step(&mut self) -> Option<Vec<Outcome>> {
        let ((at, _), event) = self.events.pop_first()?;
        assert!(at >= self.now, "time went back from {} to {at}", self.now);
        self.now = at;
        let mut effects =
            Effects { random: &mut self.random, timers: &mut self.timers, outcomes: &mut self.outcomes };
        match event {
            Event::Request(message) => {
                assert!(self.requests.insert(message.ticket, (at, message)).is_none(), "a ticket of its own");
                self.device.request(at, message, &mut effects);
            }
            Event::Wake(timer) => self.device.wake(at, timer, &mut effects),
        }
        for (at, timer) in core::mem::take(&mut self.timers) {
            self.schedule(at, Event::Wake(timer));
        }
        let outcomes = core::mem::take(&mut self.outcomes);
        for &outcome in &outcomes {
            assert!(self.requests.contains_key(&outcome.ticket()), "an outcome of nothing");
            let earlier = self.done.insert(outcome.ticket(), (at, outcome));
            assert!(earlier.is_none(), "{outcome:?} after {earlier:?}");
        }
        Some(outcomes)
    }

    pub(super) fn next_at(&self) -> Picos {
        self.events.first_key_value().map_or(Picos::NEVER, |((at, _), _)| *at)
    }

    /// Until nothing is pending.
    pub(super) fn drain(&mut self) {
        while self.step().is_some() {}
    }

    /// When a message was delivered.
    pub(super) fn delivered(&self, ticket: u64) -> Picos {
        match self.done.get(&ticket) {
            Some((at, Outcome::Delivered { .. })) => *at,
            other => panic!("message {ticket}: {other:?}"),
        }
    }

    pub(super) fn statistics(&self) -> DeviceStatistics {
        self.device.statistics(self.now)
    }

    /// Every station always has two messages of so many bytes for its neighbour; with a turnaround it has one, and the
    /// next so long after what became of it. Measures from `warm_up` to `end`.
    pub(super) fn saturate(
        &mut self,
        bytes: u64,
        turnaround: Picos,
        warm_up: Picos,
        end: Picos,
    ) -> DeviceStatistics {
        let stations = self.device.stations();
        let mut tickets = 0;
        let mut message = |from: u16| {
            tickets += 1;
            asynchronous(tickets, from, (from + 1) % stations, bytes)
        };
        let again = if turnaround == Picos::ZERO { stations } else { 0 };
        for from in (0..stations).chain(0..again) {
            self.request(Picos::ZERO, message(from));
        }
        let mut warm = false;
        while self.next_at() < end {
            if !warm && self.next_at() >= warm_up {
                self.device.reset_statistics(warm_up);
                warm = true;
            }
            for outcome in self.step().into_iter().flatten() {
                let from = self.requests[&outcome.ticket()].1.from;
                self.request(self.now + turnaround, message(from.0));
            }
        }
        self.device.statistics(end)
    }
}

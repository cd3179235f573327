//! Activations of a module: those that are ready, those that are under way, and those that wait for something.

use super::MessageType;
use super::frames::Asker;
use crate::picos::Picos;
use quintet_contract::Time;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// An activation that has not begun.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ready {
    pub(super) at: Picos,
    /// Who asked for what made it ready.
    pub(super) asker: Option<Asker>,
    /// The length of the message that did.
    pub(super) bytes: u64,
}

/// An activation that has begun.
#[derive(Clone, Debug)]
pub(super) struct Activation {
    /// The next instruction.
    pub(super) next: usize,
    pub(super) ready: Picos,
    pub(super) asker: Option<Asker>,
    pub(super) bytes: u64,
    /// What replies to what it asked last name. Another one for each time that it asks, so that a reply which comes too late is nobody's.
    pub(super) number: u32,
    /// When it asked last.
    pub(super) asked: Picos,
    /// Turns that are left of each repetition, the innermost last.
    pub(super) repeats: Vec<u64>,
    /// How many instructions it has executed at which instant, since others had their turn.
    pub(super) at_once: (Time, u32),
}

impl Activation {
    pub(super) fn of(ready: Ready, number: u32) -> Activation {
        let Ready { at, asker, bytes } = ready;
        let (repeats, at_once) = (Vec::new(), (Time(0), 0));
        Activation { next: 0, ready: at, asker, bytes, number, asked: at, repeats, at_once }
    }

    /// How many instructions it has executed at this instant, since others had their turn.
    pub(super) fn executed_at(&mut self, now: Time) -> u32 {
        if self.at_once.0 != now {
            self.at_once = (now, 0);
        }
        self.at_once.1
    }
}

/// What an activation waits for, besides its time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Awaits {
    Reply,
    /// Until a pool is done with it.
    Pool,
    Message(MessageType),
    /// Nothing.
    Time,
    /// Until what it did before is done.
    Work,
}

#[derive(Clone, Debug)]
struct Waiting {
    activation: Activation,
    awaits: Awaits,
    until: Option<Time>,
    /// Where it goes on if that is over.
    late: usize,
}

/// The activations of a module that have begun and wait.
#[derive(Clone, Debug, Default)]
pub(super) struct Suspended {
    waiting: BTreeMap<u32, Waiting>,
    timers: BTreeSet<(Time, u32)>,
    /// Those that may go on.
    resumed: VecDeque<Activation>,
}

impl Suspended {
    /// Has an activation wait, until a time at most, at which it goes on at instruction `late`.
    pub(super) fn add(&mut self, activation: Activation, awaits: Awaits, until: Option<Time>, late: usize) {
        let number = activation.number;
        self.timers.extend(until.map(|until| (until, number)));
        self.waiting.insert(number, Waiting { activation, awaits, until, late });
    }

    /// When the first wait is over.
    pub(super) fn next_timer(&self) -> Option<Time> {
        self.timers.first().map(|(time, _)| *time)
    }

    /// The next one that may go on.
    pub(super) fn next(&mut self) -> Option<Activation> {
        self.resumed.pop_front()
    }

    fn remove(&mut self, number: u32) -> Option<Waiting> {
        let found = self.waiting.remove(&number)?;
        if let Some(until) = found.until {
            self.timers.remove(&(until, number));
        }
        Some(found)
    }

    /// Those whose time is over go on.
    pub(super) fn expire(&mut self, now: Time) {
        while let Some((_, number)) = self.timers.first().copied().filter(|(time, _)| *time <= now) {
            let Some(Waiting { mut activation, late, .. }) = self.remove(number) else { return };
            activation.next = late;
            self.resumed.push_back(activation);
        }
    }

    /// What an activation waits for has come; of what nobody waits for any more nothing comes. `bytes`: the length of a message.
    pub(super) fn came(&mut self, number: u32, what: Awaits, bytes: Option<u64>) {
        if self.waiting.get(&number).is_some_and(|waiting| waiting.awaits == what) {
            self.go_on(number, bytes);
        }
    }

    fn go_on(&mut self, number: u32, bytes: Option<u64>) {
        let Some(Waiting { mut activation, .. }) = self.remove(number) else { return };
        activation.bytes = bytes.unwrap_or(activation.bytes);
        self.resumed.push_back(activation);
    }

    /// A message came. Whether an activation waited for it: first the one that works for the same, then, of those that work for nobody, or
    /// of all if the message belongs to nobody, the one that began first.
    pub(super) fn message(&mut self, message: MessageType, asker: Option<Asker>, bytes: u64) -> bool {
        let waits = |waiting: &Waiting| {
            waiting.awaits == Awaits::Message(message)
                && (asker.is_none()
                    || waiting.activation.asker.is_none()
                    || waiting.activation.asker == asker)
        };
        let same = |waiting: &Waiting| waits(waiting) && waiting.activation.asker == asker;
        let first = |is: &dyn Fn(&Waiting) -> bool| {
            self.waiting.iter().find(|(_, waiting)| is(waiting)).map(|(number, _)| *number)
        };
        let found = first(&same).or_else(|| first(&waits));
        if let Some(number) = found {
            self.go_on(number, Some(bytes));
        }
        found.is_some()
    }

    /// Those end that wait, or have not gone on since, and work for the same; all, if it is nobody. How many.
    pub(super) fn cancel(&mut self, asker: Option<Asker>) -> usize {
        let works_for = |activation: &Activation| asker.is_none() || activation.asker == asker;
        let before = self.resumed.len();
        self.resumed.retain(|activation| !works_for(activation));
        let is_meant = |waiting: &Waiting| waiting.awaits != Awaits::Work && works_for(&waiting.activation);
        let meant: Vec<u32> =
            self.waiting.iter().filter(|(_, waiting)| is_meant(waiting)).map(|(number, _)| *number).collect();
        let waited = meant.into_iter().filter_map(|number| self.remove(number)).count();
        waited + before - self.resumed.len()
    }
}

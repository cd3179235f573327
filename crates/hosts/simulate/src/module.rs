//! Modules: modelled programs. A module waits until its conditions hold, executes its instructions, and starts its
//! successors. It is a state machine as every protocol is, and is told besides when exactly each input came: its marks tell that on.
//!
//! The conditions are those of a queueing study's tools (NETWORK II.5, say): a time, messages, predecessors; all that are
//! named must hold. Each activation uses up what it waited for.
//!
//! An activation may wait in its midst, for a reply, a message or a time: others of its module begin and end meanwhile. What it reads
//! (variables, how many wait) is read when the work before it is done: until then the rest of it is put off (`program.rs`).

mod activation;
mod frames;
mod program;
mod spec;
mod uses;
mod waiting;

pub(crate) use frames::{mark_of, message_class, message_kind, message_of, modelled_bytes, proceeds};
pub use spec::{Instruction, MessageType, ModuleSpec, Successor, Timing};
pub use uses::Usage;
pub(crate) use uses::{Drawn, is_use, use_of};

use crate::distribution::unit;
use crate::hosted::{Backlog, Came, Hosted};
use crate::picos::{Picos, nearest};
use activation::{Activation, Awaits, Ready, Suspended};
use frames::{Asker, CANCEL, PROCEED, REPLY, SUCCEED, SYNCHRONOUS_REPLY, asker_body, asker_of};
use program::mark;
use quintet_contract::{Address, Frame, Input, Outbox, Port, Random, Time, Token};
use std::any::Any;
use std::collections::VecDeque;
use uses::USE;

/// Messages of one kind that an activation needs.
#[derive(Clone, Debug)]
struct Awaited {
    message: MessageType,
    wanted: u32,
    /// Those that came and were not used up.
    have: u32,
}

/// Messages that came before somebody waited for them, at most.
pub const MOST_EARLY: usize = 100_000;
/// A module that has more of them makes this mark, with the message's number added to it.
pub const OVERFULL: u32 = 1 << 31;

/// A message that nobody waited for when it came.
#[derive(Clone, Copy, Debug)]
struct Early {
    message: MessageType,
    asker: Option<Asker>,
    bytes: u64,
}

/// A module at work.
#[derive(Clone, Debug)]
pub struct Module {
    spec: ModuleSpec,
    /// Whether its instructions decide anything: the activations of one that does not run through.
    decides: bool,
    random: Random,
    /// The next time it runs by itself.
    next: Option<Time>,
    /// Times that came.
    times: u64,
    /// Times that came and were not used up.
    due: u64,
    messages: Vec<Awaited>,
    /// Predecessors that were done and not used up.
    done: Vec<u32>,
    /// When the input came that is being handled, or the time that it tells of.
    came: Picos,
    /// What that was: who asked for it, and its length.
    cause: (Option<Asker>, u64),
    /// Inputs that wait behind it.
    behind: usize,
    /// The module's own address.
    here: Address,
    /// The activations that have not begun, behind the one that `blocked` speaks of.
    ready: VecDeque<Ready>,
    /// Of a program that decides nothing: at which instruction the first one waits for room in a link.
    blocked: Option<usize>,
    /// The activation of a program that decides which waits for room in a link.
    held: Option<Activation>,
    suspended: Suspended,
    /// Messages that came before somebody waited for them.
    early: VecDeque<Early>,
    /// The message for which there was no room among them.
    overfull: Option<MessageType>,
    /// Activations that have begun and not ended.
    active: usize,
    /// Activations that have begun so far.
    begun: u32,
    variables: Vec<f64>,
}

impl Module {
    /// A module that has not run yet. What it draws follows from `random`.
    #[must_use]
    pub fn new(spec: ModuleSpec, random: Random) -> Module {
        let awaited = |&(message, wanted): &(MessageType, u32)| Awaited { message, wanted, have: 0 };
        Module {
            decides: spec.instructions.iter().any(Instruction::decides),
            random,
            next: None,
            times: 0,
            due: 0,
            messages: spec.messages.iter().map(awaited).collect(),
            done: vec![0; spec.predecessors as usize],
            came: Picos::ZERO,
            cause: (None, 0),
            behind: 0,
            here: Address::new(0, 0),
            ready: VecDeque::new(),
            blocked: None,
            held: None,
            suspended: Suspended::default(),
            early: VecDeque::new(),
            overfull: None,
            active: 0,
            begun: 0,
            variables: spec.variables.clone(),
            spec,
        }
    }

    /// The value of a variable, by its number.
    #[must_use]
    pub fn variable(&self, number: usize) -> Option<f64> {
        self.variables.get(number).copied()
    }

    fn start(&mut self, now: Time) {
        if let Some(timing) = &self.spec.timing {
            let first = Picos::from_seconds(timing.first.sample(&mut self.random));
            self.next = Some(Time(now.0.saturating_add(first.time().0)));
        }
    }

    #[inline]
    fn tick(&mut self, now: Time) {
        if self.decides {
            self.suspended.expire(now);
        }
        let Some(next) = self.next.filter(|next| *next <= now) else { return };
        self.came = self.came.min(Picos::reaching(next));
        (self.due, self.times) = (self.due + 1, self.times + 1);
        let timing = self.spec.timing.as_ref().filter(|timing| self.times < timing.limit);
        let every = timing.and_then(|timing| timing.every.as_ref());
        let gap = every.map(|every| Picos::from_seconds(every.sample(&mut self.random)));
        self.next = gap.map(|gap| Time(next.0.saturating_add(gap.time().0)));
    }

    #[inline]
    fn take(&mut self, frame: &Frame<'_>) {
        let number = u32::try_from(frame.token.0).unwrap_or(u32::MAX);
        match frame.kind {
            REPLY | SYNCHRONOUS_REPLY => {
                self.suspended.came(number, Awaits::Reply, Some(modelled_bytes(frame)))
            }
            USE => self.suspended.came(number, Awaits::Pool, None),
            PROCEED => self.suspended.came(number, Awaits::Work, None),
            CANCEL => self.cancel(asker_of(frame)),
            SUCCEED => {
                let Some(count) = self.done.get_mut(number as usize) else { return };
                *count += 1;
                self.cause = (asker_of(frame), 0);
            }
            kind if message_class(kind).is_some() => {
                // Only what decides looks at it.
                let bytes = if self.decides { modelled_bytes(frame) } else { 0 };
                let (message, asker) = (MessageType(number), asker_of(frame));
                self.take_message(Early { message, asker, bytes });
            }
            _ => {}
        }
    }

    fn take_message(&mut self, came: Early) {
        let Early { message, asker, bytes } = came;
        if self.decides && self.suspended.message(message, asker, bytes) {
            return;
        }
        match self.messages.iter_mut().find(|awaited| awaited.message == message) {
            Some(awaited) => {
                awaited.have += 1;
                self.cause = (asker, bytes);
            }
            None if self.spec.instructions.iter().any(|instruction| instruction.waits_for(message)) => {
                match self.early.len() < MOST_EARLY {
                    true => self.early.push_back(came),
                    false => self.overfull = Some(message),
                }
            }
            None => {}
        }
    }

    /// Those end that wait and work for the same; all, if it is nobody.
    fn cancel(&mut self, asker: Option<Asker>) {
        let is_meant = |whose: Option<Asker>| asker.is_none() || whose == asker;
        if self.ready.front().is_some_and(|first| is_meant(first.asker)) {
            self.blocked = None;
        }
        self.ready.retain(|ready| !is_meant(ready.asker));
        let held = self.held.take_if(|held| is_meant(held.asker));
        self.active -= usize::from(held.is_some()) + self.suspended.cancel(asker);
    }

    /// Whether all conditions hold; uses up what they ask for.
    fn is_activated(&mut self) -> bool {
        let spec = &self.spec;
        let timely = spec.timing.is_none() || self.due > 0;
        let told = || self.messages.iter().all(|awaited| awaited.have >= awaited.wanted);
        let preceded = || match spec.any_predecessor {
            true => self.done.is_empty() || self.done.iter().any(|count| *count > 0),
            false => self.done.iter().all(|count| *count > 0),
        };
        if !(timely && told() && preceded()) {
            return false;
        }
        self.due = self.due.saturating_sub(1);
        self.messages.iter_mut().for_each(|awaited| awaited.have -= awaited.wanted);
        let used = if spec.any_predecessor { 1 } else { usize::MAX };
        self.done.iter_mut().filter(|count| **count > 0).take(used).for_each(|count| *count -= 1);
        true
    }

    /// Whether it waits for something: a module without any condition would run without end.
    fn waits(&self) -> bool {
        self.spec.timing.is_some() || !self.messages.is_empty() || !self.done.is_empty()
    }

    /// Activations whose last condition is what has just come are ready.
    fn make_ready(&mut self) {
        let (asker, bytes) = self.cause;
        while self.waits() && self.is_activated() {
            self.ready.push_back(Ready { at: self.came, asker, bytes });
        }
    }

    #[inline]
    fn succeed(&mut self, asker: Option<Asker>, out: &mut dyn Outbox) {
        if self.spec.successors.is_empty() {
            return;
        }
        let chosen = self.choose();
        let (body, len) = asker_body(asker);
        for (index, successor) in self.spec.successors.iter().enumerate() {
            if successor.weight.is_none() || chosen == Some(index) {
                // Successors are on the same processor: a link without delay, whose window one activation cannot fill.
                let _ = out.send(successor.to, SUCCEED, Token(successor.number.into()), &body[..len]);
            }
        }
    }

    /// One of the weighted successors.
    fn choose(&mut self) -> Option<usize> {
        let weights = || self.spec.successors.iter().map(|successor| successor.weight.unwrap_or(0.0));
        let total: f64 = weights().sum();
        if total <= 0.0 {
            return None;
        }
        let mut left = unit::open(&mut self.random) * total;
        weights().position(|weight| {
            left -= weight;
            weight > 0.0 && left < 0.0
        })
    }
}

/// The nearest whole number that there is.
fn whole(value: f64) -> u32 {
    u32::try_from(nearest(value)).unwrap_or(u32::MAX)
}

impl Hosted for Module {
    fn receive(&mut self, came: Came, now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        (self.came, self.here, self.behind, self.cause) = (came.at, came.to, came.behind, (None, 0));
        match input {
            Input::Started => self.start(now),
            Input::Wake => self.tick(now),
            Input::Frame(_, frame) => self.take(&frame),
            Input::Writable(_) => {}
            Input::Peer(..) => return,
        }
        if self.decides {
            if let Some(message) = self.overfull.take() {
                let host = Address { port: Port(0), ..self.here };
                mark(host, OVERFULL | message.0, self.came, out);
            }
            self.make_ready();
            self.run_deciding(now, out);
        } else {
            self.run_through(out);
        }
    }

    fn wakes_at(&self) -> Option<Time> {
        match self.suspended.next_timer() {
            None => self.next,
            Some(timer) => Some(self.next.map_or(timer, |next| next.min(timer))),
        }
    }

    fn backlog(&self) -> Backlog {
        let of_each = self.messages.iter().map(|awaited| awaited.wanted as usize).sum();
        let waiting = self.ready.len() - usize::from(self.blocked.is_some());
        let begins = match self.spec.instructions.first() {
            Some(Instruction::Mark { number, .. }) => Some(*number),
            _ => None,
        };
        let is_blocked = self.blocked.is_some() || self.held.is_some();
        Backlog { is_blocked, messages: waiting * of_each, of_each, begins }
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }
}

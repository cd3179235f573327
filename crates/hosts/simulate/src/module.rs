//! Modules: modelled programs. A module waits until its conditions hold, executes its instructions, and starts its
//! successors. It is a state machine as every protocol is, and is told besides when exactly each input came: its marks tell that on.
//!
//! The conditions are those of a queueing study's tools (NETWORK II.5, say): a time, messages, predecessors; all that are
//! named must hold. Each activation uses up what it waited for.

mod spec;
mod waiting;

pub use spec::{Instruction, MessageType, ModuleSpec, Successor, Timing};

use crate::device::Class;
use crate::distribution::unit;
use crate::hosted::Hosted;
use crate::picos::{Picos, nearest};
use quintet_contract::{Frame, Input, Kind, Outbox, Random, SendError, Time, Token};
use quintet_wire::registry::MODELS;
use std::any::Any;
use std::collections::VecDeque;

/// A message of a modelled program. Token: its [`MessageType`]; body: its length in bytes, u64.
const MESSAGE: Kind = MODELS.kind(0);
/// The same, of the synchronous class.
const SYNCHRONOUS_MESSAGE: Kind = MODELS.kind(3);
/// A predecessor is done. Token: which one.
const SUCCEED: Kind = MODELS.kind(1);
/// To the host: here an activation is now. Token: the mark's number; body: when the activation was ready, [`Picos`], u64.
const MARK: Kind = MODELS.kind(2);
/// Bytes of headers that a frame of the product's own protocols has besides body and bulk.
const FRAME_HEADER_BYTES: u64 = quintet_contract::limits::HEADER_BYTES as u64;

/// Messages of one kind that an activation needs.
#[derive(Clone, Debug)]
struct Awaited {
    message: MessageType,
    wanted: u32,
    /// Those that came and were not used up.
    have: u32,
}

/// A module at work.
#[derive(Clone, Debug)]
pub struct Module {
    spec: ModuleSpec,
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
    /// When the activations were ready that have not begun.
    ready: VecDeque<Picos>,
    /// The activation that waits for room in a link: at which instruction, and when it was ready.
    held: Option<(usize, Picos)>,
}

impl Module {
    /// A module that has not run yet. What it draws follows from `random`.
    #[must_use]
    pub fn new(spec: ModuleSpec, random: Random) -> Module {
        let awaited = |&(message, wanted): &(MessageType, u32)| Awaited { message, wanted, have: 0 };
        let messages = spec.messages.iter().map(awaited).collect();
        let done = vec![0; spec.predecessors as usize];
        let (came, ready) = (Picos::ZERO, VecDeque::new());
        Module { spec, random, next: None, times: 0, due: 0, messages, done, came, ready, held: None }
    }

    fn start(&mut self, now: Time) {
        if let Some(timing) = &self.spec.timing {
            let first = Picos::from_seconds(timing.first.sample(&mut self.random));
            self.next = Some(Time(now.0.saturating_add(first.time().0)));
        }
    }

    fn tick(&mut self, now: Time) {
        let Some(next) = self.next.filter(|next| *next <= now) else { return };
        self.came = self.came.min(Picos::reaching(next));
        (self.due, self.times) = (self.due + 1, self.times + 1);
        let timing = self.spec.timing.as_ref().filter(|timing| self.times < timing.limit);
        let every = timing.and_then(|timing| timing.every.as_ref());
        let gap = every.map(|every| Picos::from_seconds(every.sample(&mut self.random)));
        self.next = gap.map(|gap| Time(next.0.saturating_add(gap.time().0)));
    }

    fn take(&mut self, frame: &Frame<'_>) {
        let number = u32::try_from(frame.token.0).unwrap_or(u32::MAX);
        if message_class(frame.kind).is_some() {
            if let Some(awaited) = self.messages.iter_mut().find(|awaited| awaited.message.0 == number) {
                awaited.have += 1;
            }
        } else if frame.kind == SUCCEED
            && let Some(count) = self.done.get_mut(number as usize)
        {
            *count += 1;
        }
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
        while self.waits() && self.is_activated() {
            self.ready.push_back(self.came);
        }
    }

    /// Goes on with the activation that waits for room, and begins others, as far as it goes.
    fn run(&mut self, out: &mut dyn Outbox) {
        while let Some((at, ready)) = self.held.take().or_else(|| Some((0, self.ready.pop_front()?))) {
            if let Err(at) = self.execute(at, ready, out) {
                self.held = Some((at, ready));
                return;
            }
        }
    }

    /// Executes from instruction `at` on an activation that was ready at `ready`.
    ///
    /// # Errors
    /// The instruction for whose message there is no room.
    fn execute(&mut self, at: usize, ready: Picos, out: &mut dyn Outbox) -> Result<(), usize> {
        for index in at..self.spec.instructions.len() {
            match &self.spec.instructions[index] {
                Instruction::Execute(stage, count) => {
                    out.work(*stage, whole(count.sample(&mut self.random)));
                }
                Instruction::Send { to, message, bytes, class } => {
                    let kind = message_kind(*class);
                    let bytes = u64::from(whole(bytes.sample(&mut self.random)));
                    let sent = out.send(*to, kind, Token(message.0.into()), &bytes.to_le_bytes());
                    if sent == Err(SendError::Full) {
                        return Err(index);
                    }
                }
                Instruction::Mark { at, number } => {
                    // Within a node there is always room.
                    let _ = out.send(*at, MARK, Token((*number).into()), &ready.0.to_le_bytes());
                }
            }
        }
        self.succeed(out);
        Ok(())
    }

    fn succeed(&mut self, out: &mut dyn Outbox) {
        let chosen = self.choose();
        for (index, successor) in self.spec.successors.iter().enumerate() {
            if successor.weight.is_none() || chosen == Some(index) {
                // Successors are on the same processor: a link without delay, whose window one activation cannot fill.
                let _ = out.send(successor.to, SUCCEED, Token(successor.number.into()), &[]);
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

fn message_kind(class: Class) -> Kind {
    match class {
        Class::Asynchronous => MESSAGE,
        Class::Synchronous => SYNCHRONOUS_MESSAGE,
    }
}

/// The class of a module's message; none if a frame of this kind is no such message.
pub(crate) fn message_class(kind: Kind) -> Option<Class> {
    match kind {
        MESSAGE => Some(Class::Asynchronous),
        SYNCHRONOUS_MESSAGE => Some(Class::Synchronous),
        _ => None,
    }
}

/// Which mark a module made by this frame, and when the activation was ready; none if it is no mark.
pub(crate) fn mark_of(frame: &Frame<'_>) -> Option<(u32, Picos)> {
    let ready = frame.body.as_array::<8>().filter(|_| frame.kind == MARK)?;
    let number = u32::try_from(frame.token.0).unwrap_or(u32::MAX);
    Some((number, Picos(u64::from_le_bytes(*ready))))
}

/// How many bytes a frame stands for: what a module's message says, or what it is.
pub(crate) fn modelled_bytes(frame: &Frame<'_>) -> u64 {
    if message_class(frame.kind).is_some()
        && let Some(bytes) = frame.body.as_array::<8>()
    {
        return u64::from_le_bytes(*bytes);
    }
    FRAME_HEADER_BYTES + frame.body.len() as u64 + frame.bulk.len() as u64
}

impl Hosted for Module {
    fn receive(&mut self, came: Picos, now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        self.came = came;
        match input {
            Input::Started => self.start(now),
            Input::Wake => self.tick(now),
            Input::Frame(_, frame) => self.take(&frame),
            Input::Writable(_) => {}
            Input::Peer(..) => return,
        }
        self.make_ready();
        self.run(out);
    }

    fn wakes_at(&self) -> Option<Time> {
        self.next
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }
}

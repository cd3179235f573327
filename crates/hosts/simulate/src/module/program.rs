//! Executing a module's instructions.
//!
//! What takes time is told to the host when it is come upon, and done later. An instruction that decides must not be executed before that is
//! done: the activation then asks the host to be called again, and goes on there, on the same processor and before anything else that waits
//! for it.
//!
//! Most programs decide nothing. Theirs is the short way: what one of them does is told to the host in one go.

use super::activation::{Activation, Awaits, Ready};
use super::frames::{Asker, CANCEL, MARK, PROCEED, asker_body, message_body, message_kind, reply_kind};
use super::uses::USE;
use super::{Early, Instruction, MessageType, Module, whole};
use crate::distribution::Distribution;
use crate::formula::{Facts, Formula, is_true};
use crate::picos::{Picos, nearest};
use quintet_contract::{Address, Kind, Outbox, Port, Random, SendError, Time, Token};

/// Instructions of one activation beyond which others get their turn, at the same time: so the host notices a program in which
/// time stands still.
const MOST_AT_ONCE: u32 = 100;

/// Why an activation does not go on.
enum Outcome {
    Ended,
    /// It waits, until a time at most, at which it goes on at that instruction.
    Waits(Awaits, Option<Time>, usize),
    /// There is no room for what it sends.
    Held,
    /// It goes on when what it did so far is done.
    Works,
}

/// One call of the host.
struct Turn<'a> {
    now: Time,
    out: &'a mut dyn Outbox,
    /// Whether something that takes time was told to the host in it.
    worked: bool,
}

impl Module {
    /// Of a program that decides: goes on with what waits for room or may go on, and begins what is ready, as far as it goes.
    pub(super) fn run_deciding(&mut self, now: Time, out: &mut dyn Outbox) {
        // Taken out meanwhile, so that executing it may change everything else.
        let program = std::mem::take(&mut self.spec.instructions);
        self.run_program(&program, &mut Turn { now, out, worked: false });
        self.spec.instructions = program;
    }

    /// Of a program that decides nothing: goes on with the activation that waits for room, and does those that are ready, as far as it goes.
    #[inline]
    pub(super) fn run_through(&mut self, out: &mut dyn Outbox) {
        if !self.ready.is_empty() {
            return self.run_held(out);
        }
        // One input is the last condition of one activation at most, which needs no place in the queue as a rule.
        if self.waits() && self.is_activated() {
            let (asker, bytes) = self.cause;
            let ready = Ready { at: self.came, asker, bytes };
            self.blocked = self.pass(&ready, 0, out);
            if self.blocked.is_some() {
                self.ready.push_back(ready);
            }
        }
    }

    /// The same where activations wait.
    #[inline(never)]
    fn run_held(&mut self, out: &mut dyn Outbox) {
        self.make_ready();
        while let Some(&ready) = self.ready.front() {
            let from = self.blocked.take().unwrap_or(0);
            self.blocked = self.pass(&ready, from, out);
            if self.blocked.is_some() {
                return;
            }
            self.ready.pop_front();
        }
    }

    /// Does an activation from an instruction on; which one waits for room, if one does.
    #[inline(always)]
    fn pass(&mut self, ready: &Ready, from: usize, out: &mut dyn Outbox) -> Option<usize> {
        let whose = (ready.asker, ready.at);
        for (index, instruction) in self.spec.instructions.iter().enumerate().skip(from) {
            if act(instruction, &mut self.random, whose, out) == Err(SendError::Full) {
                return Some(index);
            }
        }
        self.succeed(ready.asker, out);
        None
    }

    #[inline(never)]
    fn run_program(&mut self, program: &[Instruction], turn: &mut Turn<'_>) {
        while let Some(mut activation) = self.next_activation() {
            match self.execute(program, &mut activation, turn) {
                Outcome::Ended => self.active -= 1,
                Outcome::Waits(awaits, until, late) => self.suspended.add(activation, awaits, until, late),
                Outcome::Held => return self.held = Some(activation),
                Outcome::Works => {
                    // Within a node there is always room, and port 0 is nobody's: the host sees from whom it is.
                    let host = Address { port: Port(0), ..self.here };
                    let _ = turn.out.send(host, PROCEED, Token(activation.number.into()), &[]);
                    return self.suspended.add(activation, Awaits::Work, None, 0);
                }
            }
        }
    }

    fn next_activation(&mut self) -> Option<Activation> {
        let under_way = self.held.take().or_else(|| self.suspended.next());
        under_way.or_else(|| {
            let ready = self.ready.pop_front()?;
            self.active += 1;
            Some(Activation::of(ready, self.new_number()))
        })
    }

    /// A number that no activation which waits has.
    fn new_number(&mut self) -> u32 {
        self.begun = self.begun.wrapping_add(1);
        self.begun
    }

    fn execute(
        &mut self,
        program: &[Instruction],
        activation: &mut Activation,
        turn: &mut Turn<'_>,
    ) -> Outcome {
        while let Some(instruction) = program.get(activation.next) {
            if turn.worked && instruction.decides() {
                return Outcome::Works;
            }
            if activation.executed_at(turn.now) == MOST_AT_ONCE {
                if turn.worked {
                    return Outcome::Works;
                }
                activation.at_once.1 = 0;
                return Outcome::Waits(Awaits::Time, Some(turn.now), activation.next);
            }
            activation.at_once.1 += 1;
            if instruction.decides() {
                match self.decide(instruction, activation, turn) {
                    Decision::GoTo(next) => activation.next = next,
                    Decision::Stop(outcome) => return outcome,
                }
                continue;
            }
            turn.worked |= instruction.works();
            let whose = (activation.asker, activation.ready);
            if act(instruction, &mut self.random, whose, turn.out) == Err(SendError::Full) {
                return Outcome::Held;
            }
            activation.next += 1;
        }
        if turn.worked {
            return Outcome::Works;
        }
        self.succeed(activation.asker, turn.out);
        Outcome::Ended
    }

    /// What an instruction that decides comes to.
    fn decide(
        &mut self,
        instruction: &Instruction,
        activation: &mut Activation,
        turn: &mut Turn<'_>,
    ) -> Decision {
        let next = activation.next + 1;
        let mut go_to = next;
        match instruction {
            Instruction::Set(variable, formula) => {
                let value = self.compute(formula, activation);
                if let Some(place) = self.variables.get_mut(*variable) {
                    *place = value;
                }
            }
            Instruction::Unless(formula, otherwise) => {
                let holds = is_true(self.compute(formula, activation));
                go_to = if holds { next } else { *otherwise };
            }
            Instruction::Jump(to) => go_to = *to,
            Instruction::Repeat(count) => {
                let count = nearest(self.compute(count, activation));
                activation.repeats.push(count);
            }
            Instruction::Again(past) => match activation.repeats.last_mut() {
                Some(left) if *left > 0 => *left -= 1,
                _ => {
                    activation.repeats.pop();
                    go_to = *past;
                }
            },
            Instruction::Lap(number) => mark(self.here, *number, activation.asked, turn.out),
            Instruction::Ask { to, message, bytes, class, timeout, late } => {
                let what = (message_kind(*class), Token(message.0.into()));
                return self.ask(*to, what, bytes, (timeout.as_ref(), *late), activation, turn);
            }
            Instruction::Use { by, usage } => {
                let body = usage.draw(&mut self.random).to_body();
                if turn.out.send(*by, USE, Token(activation.number.into()), &body) == Err(SendError::Full) {
                    return Decision::Stop(Outcome::Held);
                }
                activation.next = next;
                return Decision::Stop(Outcome::Waits(Awaits::Pool, None, next));
            }
            Instruction::Wait { message, timeout, late } => {
                return self.wait(*message, (timeout.as_ref(), *late), activation, turn);
            }
            _ => {}
        }
        Decision::GoTo(go_to)
    }

    fn ask(
        &mut self,
        to: Address,
        what: (Kind, Token),
        bytes: &Distribution,
        (timeout, late): (Option<&Distribution>, usize),
        activation: &mut Activation,
        turn: &mut Turn<'_>,
    ) -> Decision {
        activation.number = self.new_number();
        let asker = Asker { at: self.here, activation: activation.number };
        turn.worked = true;
        if send(to, what, (bytes, &mut self.random), Some(asker), turn.out) == Err(SendError::Full) {
            return Decision::Stop(Outcome::Held);
        }
        (activation.asked, activation.next) = (Picos::reaching(turn.now), activation.next + 1);
        let until = self.until(timeout, turn.now);
        Decision::Stop(Outcome::Waits(Awaits::Reply, until, late))
    }

    fn wait(
        &mut self,
        message: Option<MessageType>,
        (timeout, late): (Option<&Distribution>, usize),
        activation: &mut Activation,
        turn: &Turn<'_>,
    ) -> Decision {
        let next = activation.next + 1;
        let Some(message) = message else {
            let until = self.until(timeout, turn.now);
            return Decision::Stop(Outcome::Waits(Awaits::Time, until, late));
        };
        if let Some(early) = self.take_early(message, activation) {
            activation.bytes = early.bytes;
            return Decision::GoTo(next);
        }
        activation.next = next;
        let until = self.until(timeout, turn.now);
        Decision::Stop(Outcome::Waits(Awaits::Message(message), until, late))
    }

    /// The message that came first of those for which nobody waited then and this activation may.
    fn take_early(&mut self, wanted: MessageType, activation: &Activation) -> Option<Early> {
        let is_its = |early: &Early| {
            let anyone = early.asker.is_none() || activation.asker.is_none();
            early.message == wanted && (anyone || early.asker == activation.asker)
        };
        let place = self.early.iter().position(is_its)?;
        self.early.remove(place)
    }

    fn until(&mut self, timeout: Option<&Distribution>, now: Time) -> Option<Time> {
        let length = Picos::from_seconds(timeout?.sample(&mut self.random));
        Some(Time(now.0.saturating_add(length.time().0)))
    }

    fn compute(&self, formula: &Formula, activation: &Activation) -> f64 {
        formula.value(Facts {
            variables: &self.variables,
            message_bytes: activation.bytes,
            queue: self.ready.len() + self.behind,
            active: self.active,
        })
    }
}

/// What comes after an instruction that decides.
enum Decision {
    GoTo(usize),
    Stop(Outcome),
}

/// Does what needs nothing from its module but random numbers: for whom, and of when the activation is. Always inline: it is most of what
/// a program that decides nothing does.
///
/// # Errors
/// No room for what it sends.
#[inline(always)]
fn act(
    instruction: &Instruction,
    random: &mut Random,
    (asker, ready): (Option<Asker>, Picos),
    out: &mut dyn Outbox,
) -> Result<(), SendError> {
    match instruction {
        Instruction::Execute(stage, count) => out.work(*stage, whole(count.sample(random))),
        Instruction::Send { to, message, bytes, class } => {
            let what = (message_kind(*class), Token(message.0.into()));
            return send(*to, what, (bytes, random), asker, out);
        }
        Instruction::Mark { at, number } => mark(*at, *number, ready, out),
        Instruction::Reply { bytes, class, ways } => {
            let Some(asker) = asker else { return Ok(()) };
            let to = ways.iter().find(|(whom, _)| *whom == asker.at).map_or(asker.at, |(_, by)| *by);
            return send(
                to,
                (reply_kind(*class), Token(asker.activation.into())),
                (bytes, random),
                None,
                out,
            );
        }
        Instruction::Cancel { at } => {
            let (body, len) = asker_body(asker);
            return out.send(*at, CANCEL, Token(0), &body[..len]);
        }
        _ => {}
    }
    Ok(())
}

/// Sends a message, whose length is drawn, and which belongs to what somebody asked for or to nothing.
fn send(
    to: Address,
    (kind, token): (Kind, Token),
    (bytes, random): (&Distribution, &mut Random),
    asker: Option<Asker>,
    out: &mut dyn Outbox,
) -> Result<(), SendError> {
    let bytes = u64::from(whole(bytes.sample(random)));
    match asker {
        None => out.send(to, kind, token, &bytes.to_le_bytes()),
        Some(asker) => out.send(to, kind, token, &message_body(bytes, asker)),
    }
}

pub(super) fn mark(at: Address, number: u32, ready: Picos, out: &mut dyn Outbox) {
    // Within a node there is always room.
    let _ = out.send(at, MARK, Token(number.into()), &ready.0.to_le_bytes());
}

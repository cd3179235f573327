//! A program of one's own in a module's place: what it is told it does on its processor, as a module does its instructions, and what it
//! receives it keeps until the program takes it. The program itself runs outside, between the steps of the run, and hears of both by
//! calls: see [`Simulation::command`](crate::Simulation::command).

use crate::device::Class;
use crate::hosted::{Came, Hosted};
use crate::module::{MessageType, message_class, message_kind, modelled_bytes};
use crate::picos::Picos;
use bytes::Bytes;
use quintet_contract::{
    Address, Frame, Input, Kind, Outbox, OwnedFrame, Port, SendError, Stage, Time, Token,
};
use quintet_wire::registry::MODELS;
use std::any::Any;
use std::collections::VecDeque;

/// To the host: calls the program outside. Token: the number.
const CALL: Kind = MODELS.kind(9);
/// To a program: does the next thing that it was told.
const ORDER: Kind = MODELS.kind(10);

/// Something that a program does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Command {
    /// Executes so many units of a stage, of which one cost is drawn: see [`Costs`](crate::Costs).
    Execute(Stage, u32),
    /// Sends a message to a module, as soon as there is room for it.
    Send {
        /// The module's address.
        to: Address,
        /// What it is.
        message: MessageType,
        /// Its length.
        bytes: u64,
        /// How urgent it is to a timed token ring.
        class: Class,
    },
}

/// A message that came.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Received {
    /// What it is.
    pub message: MessageType,
    /// Its length.
    pub bytes: u64,
    /// When it came; its program's processor may have been busy since.
    pub came: Picos,
}

/// A program at its address.
#[derive(Clone, Debug)]
pub struct Program {
    at: Address,
    /// What is called for each message.
    received_call: u64,
    /// What was told and not begun, with what is called then.
    commands: VecDeque<(Command, u64)>,
    /// How many of these its processor has come to.
    due: usize,
    received: VecDeque<Received>,
}

impl Program {
    /// A program that was told nothing so far. `received_call` is called for each message.
    #[must_use]
    pub fn new(at: Address, received_call: u64) -> Program {
        Program { at, received_call, commands: VecDeque::new(), due: 0, received: VecDeque::new() }
    }

    pub(crate) fn queue(&mut self, command: Command, done: u64) {
        self.commands.push_back((command, done));
    }

    pub(crate) fn take_received(&mut self) -> Option<Received> {
        self.received.pop_front()
    }

    fn take(&mut self, came: Picos, frame: &Frame<'_>, out: &mut dyn Outbox) {
        if frame.kind == ORDER {
            self.due += 1;
        } else if message_class(frame.kind).is_some() {
            let message = MessageType(u32::try_from(frame.token.0).unwrap_or(u32::MAX));
            self.received.push_back(Received { message, bytes: modelled_bytes(frame), came });
            self.call(self.received_call, out);
        }
    }

    /// Does what is due, as far as there is room for messages.
    fn proceed(&mut self, out: &mut dyn Outbox) {
        while self.due > 0
            && let Some(&(command, done)) = self.commands.front()
        {
            if perform(command, out) == Err(SendError::Full) {
                return;
            }
            self.commands.pop_front();
            self.due -= 1;
            self.call(done, out);
        }
    }

    fn call(&self, number: u64, out: &mut dyn Outbox) {
        // Not the program's own port: what it sends to itself may go through a device. Within a node there is always room.
        let here = Address { port: Port(0), ..self.at };
        let _ = out.send(here, CALL, Token(number), &[]);
    }
}

fn perform(command: Command, out: &mut dyn Outbox) -> Result<(), SendError> {
    match command {
        Command::Execute(stage, units) => {
            out.work(stage, units);
            Ok(())
        }
        Command::Send { to, message, bytes, class } => {
            out.send(to, message_kind(class), Token(message.0.into()), &bytes.to_le_bytes())
        }
    }
}

/// Tells a program to do the next thing that it was told.
pub(crate) fn order() -> OwnedFrame {
    OwnedFrame { kind: ORDER, token: Token(0), body: Bytes::new(), bulk: Bytes::new() }
}

/// What a frame to the host calls; none if it is no call.
pub(crate) fn call_of(frame: &Frame<'_>) -> Option<u64> {
    (frame.kind == CALL).then_some(frame.token.0)
}

impl Hosted for Program {
    fn receive(&mut self, came: Came, _now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        if let Input::Frame(_, frame) = &input {
            self.take(came.at, frame, out);
        }
        self.proceed(out);
    }

    fn wakes_at(&self) -> Option<Time> {
        None
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }
}

//! An echo that first makes what it was sent durable, then lets the device work on it, then answers.

use crate::{ANSWER, ASK};
use quintet_contract::{Address, Frame, Input, Outbox, Protocol, SendError, Time, Token};
use quintet_wire::registry::{DEVICE_DONE, DEVICE_LAUNCH, DISK_WRITE, DISK_WRITTEN, PORT_DEVICE, PORT_DISK};
use std::collections::BTreeMap;

/// The echo at one address.
pub struct Errand {
    at: Address,
    /// Requests under way: who asked, with which token, and what.
    open: BTreeMap<Token, (Address, Token, Vec<u8>)>,
    issued: u64,
}

impl Errand {
    /// The echo at `at`; disk and device are those of its node.
    #[must_use]
    pub fn new(at: Address) -> Self {
        Errand { at, open: BTreeMap::new(), issued: 0 }
    }

    fn step(&mut self, from: Address, frame: Frame<'_>, out: &mut dyn Outbox) -> Result<(), SendError> {
        let service = |port| Address { node: self.at.node, port };
        match frame.kind {
            ASK => {
                self.issued += 1;
                let token = Token(self.issued);
                self.open.insert(token, (from, frame.token, frame.body.to_vec()));
                out.send(service(PORT_DISK), DISK_WRITE, token, frame.body)
            }
            DISK_WRITTEN => match self.open.get(&frame.token) {
                Some((_, _, body)) => out.send(service(PORT_DEVICE), DEVICE_LAUNCH, frame.token, body),
                None => Ok(()),
            },
            DEVICE_DONE => match self.open.remove(&frame.token) {
                Some((asker, token, _)) => out.send(asker, ANSWER, token, frame.body),
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }
}

impl Protocol for Errand {
    fn handle(&mut self, _now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        if let Input::Frame(from, frame) = input {
            self.step(from, frame, out).expect("services and callers of the own node have room");
        }
    }

    fn deadline(&self) -> Option<Time> {
        None
    }
}

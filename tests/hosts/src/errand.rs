//! An echo that first makes what it was sent durable, then lets the device work on it, then answers; or
//! refuses, where there is no disk.

use crate::{ANSWER, ASK, REFUSED};
use quintet_contract::{Address, Frame, Input, Outbox, Protocol, SendError, Time, Token};
use quintet_wire::registry::{DEVICE_DONE, DEVICE_LAUNCH, DISK_DONE, DISK_WRITE, PORT_DEVICE, PORT_DISK};
use quintet_wire::send;
use quintet_wire::services::Launch;
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
                out.send(service(PORT_DISK), DISK_WRITE, token, frame.body)?;
                self.open.insert(token, (from, frame.token, frame.body.to_vec()));
                Ok(())
            }
            DISK_DONE => match self.open.get(&frame.token) {
                Some((_, _, body)) => {
                    let output_bytes = u32::try_from(body.len()).expect("a body is short");
                    let launch = Launch { units: body.len() as u64, output_bytes, input: body };
                    send(out, service(PORT_DEVICE), DEVICE_LAUNCH, frame.token, &launch)
                }
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
            match self.step(from, frame, out) {
                // A host without a disk says so at once, and so does this.
                Err(SendError::Unreachable) if frame.kind == ASK => out.send(from, REFUSED, frame.token, &[]),
                done => done,
            }
            .expect("services and callers of the own node have room");
        }
    }

    fn deadline(&self) -> Option<Time> {
        None
    }
}

//! Two nodes that find out how far apart they and their clocks are, by frames that their link stamps: what a node does between a
//! frame's arrival and its answer does not count (Mills, "Internet Time Synchronization: the Network Time Protocol", 1991).

use crate::{ANSWER, ASK, PING, PONG};
use quintet_contract::{
    Address, Frame, Input, Kind, Outbox, Protocol, SendError, Stage, Stamps, Time, Token,
};

/// What a node does before it answers.
pub const ANSWERING: Stage = Stage(0);

/// One of two nodes. An ASK is answered with the delay to the peer and back and the lead of the peer's clock, in nanoseconds.
pub struct Stamped {
    peer: Address,
    asker: Option<(Address, Token)>,
}

impl Stamped {
    /// A node that asks and answers `peer`.
    #[must_use]
    pub fn new(peer: Address) -> Self {
        Stamped { peer, asker: None }
    }

    fn step(&mut self, from: Address, frame: Frame<'_>, out: &mut dyn Outbox) -> Result<(), SendError> {
        match (frame.kind, frame.stamps) {
            (ASK, _) => {
                self.asker = Some((from, frame.token));
                self.send(PING, &[], out)
            }
            (PING, Some(Stamps { departed, arrived })) => {
                out.work(ANSWERING, 1);
                self.send(PONG, &[departed, arrived].map(|time| time.0.to_le_bytes()).concat(), out)
            }
            (PONG, Some(back)) => {
                let Some((asker, token)) = self.asker.take() else { return Ok(()) };
                let (times, _) = frame.body.as_chunks::<8>();
                let [departed, arrived] = [0, 1].map(|at| u64::from_le_bytes(times[at]).cast_signed());
                let there = arrived - departed;
                let back = back.arrived.0.cast_signed() - back.departed.0.cast_signed();
                let found = [there + back, (there - back) / 2].map(i64::to_le_bytes);
                out.send(asker, ANSWER, token, &found.concat())
            }
            _ => Ok(()),
        }
    }

    fn send(&self, kind: Kind, body: &[u8], out: &mut dyn Outbox) -> Result<(), SendError> {
        out.begin(self.peer, kind, Token(0), body.len())?.copy_from_slice(body);
        out.stamp();
        out.commit(body.len());
        Ok(())
    }
}

impl Protocol for Stamped {
    fn handle(&mut self, _now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        if let Input::Frame(from, frame) = input {
            self.step(from, frame, out).expect("a link carries one frame at a time");
        }
    }

    fn deadline(&self) -> Option<Time> {
        None
    }
}

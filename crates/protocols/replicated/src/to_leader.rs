//! The client's side: a protocol that asks one service, which whichever replica leads provides.
//!
//! ```text
//!   protocol above   asks one address, whoever is behind it
//!   ToLeader         behind it is the replica whose link came up last
//! ```
//!
//! A replica that answers [`LEADER`] leads no more, or not yet: its link is closed until the next one, and for the protocol above the service has died, as it has when
//! the link ends in whatever way. The host makes a link to the next replica then, and the service is up again. Whatever should outlive that is the protocol's
//! own to keep: one that comes back (`quintet-resume`) goes on.
//!
//! Until a replica has answered anything else, the first [`LEADER`] goes to the protocol above like any answer: whoever connects looks for the leader himself.

use crate::codec::LEADER;
use quintet_contract::{
    Address, Bytes, CELL_WORDS, Cell, Disconnect, DownCause, Frame, Input, Kind, Meter, Outbox, PeerChange,
    Protocol, Seen, SendError, Stage, Time, Token,
};

/// A protocol that asks whichever replica leads. What it promises stands at the head of this module's file.
#[derive(Debug)]
pub struct ToLeader<P> {
    /// What the protocol above takes for the service's address.
    service: Address,
    replicas: Vec<Address>,
    /// The replica that it asks, while a link leads there.
    asked: Option<Address>,
    /// Whether a replica has answered as one that leads.
    was_served: bool,
    inner: P,
}

impl<P: Protocol> ToLeader<P> {
    /// A protocol that takes `service`, where nobody is, for the address of the service that one of `replicas` provides.
    #[must_use]
    pub fn new(service: Address, replicas: Vec<Address>, inner: P) -> ToLeader<P> {
        ToLeader { service, replicas, asked: None, was_served: false, inner }
    }

    /// The protocol above.
    pub fn inner(&self) -> &P {
        &self.inner
    }

    fn give(&mut self, now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        let mut out = Asking { service: self.service, asked: self.asked, out };
        self.inner.handle(now, input, &mut out);
    }

    /// A link to a replica is there. It takes the place of the one before, which is let go if nobody has seen it end.
    fn up(&mut self, now: Time, replica: Address, change: &PeerChange, out: &mut dyn Outbox) {
        if let Some(before) = self.asked.filter(|before| *before != replica) {
            out.disconnect(before, Disconnect::UntilNextLink);
        }
        self.lose(now, out);
        self.asked = Some(replica);
        self.give(now, Input::Peer(self.service, change), out);
    }

    /// For the protocol above the service has died, however that came: another replica may provide it.
    fn lose(&mut self, now: Time, out: &mut dyn Outbox) {
        if self.asked.take().is_some() {
            self.give(now, Input::Peer(self.service, &PeerChange::Down(DownCause::Died)), out);
        }
    }

    fn frame(&mut self, now: Time, from: Address, frame: Frame<'_>, out: &mut dyn Outbox) {
        if self.asked != Some(from) {
            return;
        }
        if frame.kind == LEADER && self.was_served {
            out.disconnect(from, Disconnect::UntilNextLink);
            return self.lose(now, out);
        }
        self.was_served |= frame.kind != LEADER;
        self.give(now, Input::Frame(self.service, frame), out);
    }

    fn change(&mut self, now: Time, replica: Address, change: &PeerChange, out: &mut dyn Outbox) {
        match change {
            PeerChange::Up { .. } => self.up(now, replica, change, out),
            PeerChange::Down(_) if self.asked == Some(replica) && self.was_served => self.lose(now, out),
            // Why it was not let in is for whoever connects.
            PeerChange::Down(_) if !self.was_served => {
                self.asked = None;
                self.give(now, Input::Peer(self.service, change), out);
            }
            PeerChange::Down(_) => {}
        }
    }
}

impl<P: Protocol> Protocol for ToLeader<P> {
    fn handle(&mut self, now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        match input {
            Input::Frame(from, frame) if self.replicas.contains(&from) => self.frame(now, from, frame, out),
            Input::Peer(peer, change) if self.replicas.contains(&peer) => self.change(now, peer, change, out),
            Input::Writable(to) if self.replicas.contains(&to) => {
                if self.asked == Some(to) {
                    self.give(now, Input::Writable(self.service), out);
                }
            }
            input => self.give(now, input, out),
        }
    }

    fn deadline(&self) -> Option<Time> {
        self.inner.deadline()
    }

    fn measure(&self, meter: &mut Meter<'_>) {
        self.inner.measure(meter);
    }
}

/// The outbox of the protocol above: what goes to the service goes to the replica that is asked.
struct Asking<'a> {
    service: Address,
    asked: Option<Address>,
    out: &'a mut dyn Outbox,
}

impl Asking<'_> {
    fn place(&self, to: Address) -> Result<Address, SendError> {
        if to == self.service { self.asked.ok_or(SendError::Unreachable) } else { Ok(to) }
    }
}

impl Outbox for Asking<'_> {
    fn begin(
        &mut self,
        to: Address,
        kind: Kind,
        token: Token,
        at_most: usize,
    ) -> Result<&mut [u8], SendError> {
        let to = self.place(to)?;
        self.out.begin(to, kind, token, at_most)
    }

    fn commit(&mut self, len: usize) {
        self.out.commit(len);
    }

    fn stamp(&mut self) {
        self.out.stamp();
    }

    fn send_bulk(
        &mut self,
        to: Address,
        kind: Kind,
        token: Token,
        head: &[u8],
        bulk: Bytes,
    ) -> Result<(), SendError> {
        let to = self.place(to)?;
        self.out.send_bulk(to, kind, token, head, bulk)
    }

    fn disconnect(&mut self, peer: Address, how: Disconnect) {
        if let Ok(peer) = self.place(peer) {
            self.out.disconnect(peer, how);
        }
    }

    fn work(&mut self, stage: Stage, units: u32) {
        self.out.work(stage, units);
    }

    fn poke(&mut self, cell: &Cell, words: [u64; CELL_WORDS]) {
        self.out.poke(cell, words);
    }

    fn peek(&mut self, cell: &Cell, seen: &mut Seen) {
        self.out.peek(cell, seen);
    }
}

#[cfg(test)]
mod tests;

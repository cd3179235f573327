//! An outbox that collects.

use crate::{Address, Disconnect, Draft, Kind, Outbox, OwnedFrame, SendError, Stage, Token};
use bytes::Bytes;

/// One thing a protocol did.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Effect {
    /// Sent a frame to an address.
    Sent(Address, OwnedFrame),
    /// Had the link to a peer's node closed.
    Disconnected(Address, Disconnect),
    /// Declared work.
    Work(Stage, u32),
}

/// Collects what a protocol does, in order, and refuses nothing. Tests read it; the simulated host schedules it.
#[derive(Default, Debug)]
pub struct Effects {
    list: Vec<Effect>,
    begun: Option<Draft>,
}

impl Effects {
    /// Takes what was collected, leaving it empty.
    pub fn drain(&mut self) -> impl Iterator<Item = Effect> + '_ {
        self.list.drain(..)
    }

    /// Takes the frames, dropping everything else.
    pub fn frames(&mut self) -> Vec<(Address, OwnedFrame)> {
        self.drain()
            .filter_map(|effect| match effect {
                Effect::Sent(to, frame) => Some((to, frame)),
                Effect::Disconnected(..) | Effect::Work(..) => None,
            })
            .collect()
    }
}

impl Outbox for Effects {
    fn begin(
        &mut self,
        to: Address,
        kind: Kind,
        token: Token,
        at_most: usize,
    ) -> Result<&mut [u8], SendError> {
        Ok(self.begun.insert(Draft::new(to, kind, token, at_most)).room())
    }

    fn commit(&mut self, len: usize) {
        let (to, frame) = self.begun.take().expect("commit follows begin").commit(len);
        self.list.push(Effect::Sent(to, frame));
    }

    fn send_bulk(
        &mut self,
        to: Address,
        kind: Kind,
        token: Token,
        head: &[u8],
        bulk: Bytes,
    ) -> Result<(), SendError> {
        let frame = OwnedFrame { kind, token, body: Bytes::copy_from_slice(head), bulk };
        self.list.push(Effect::Sent(to, frame));
        Ok(())
    }

    fn disconnect(&mut self, peer: Address, how: Disconnect) {
        self.begun = None;
        self.list.push(Effect::Disconnected(peer, how));
    }

    fn work(&mut self, stage: Stage, units: u32) {
        self.list.push(Effect::Work(stage, units));
    }
}

#[cfg(test)]
#[path = "effects/tests.rs"]
mod tests;

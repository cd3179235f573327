//! What a protocol sends to in a run: it knows the links, so it refuses what a live host would refuse.

use crate::link::Direction;
use crate::schedule::Picos;
use bytes::Bytes;
use quintet_contract::limits::MAX_BODY_BYTES;
use quintet_contract::{Address, Kind, Outbox, OwnedFrame, SendError, Stage, Token};
use std::collections::BTreeMap;

/// The costs of an instance's stages, in picoseconds a unit. A stage that is not named costs nothing.
pub type Costs = BTreeMap<Stage, u64>;

pub(crate) type Links = BTreeMap<(Address, Address), Direction>;

/// A frame and when it departs.
pub(crate) type Departure = (Picos, Address, OwnedFrame);

pub(crate) struct SimulatedOutbox<'a> {
    pub(crate) from: Address,
    pub(crate) links: &'a mut Links,
    pub(crate) costs: &'a Costs,
    /// When the next frame departs: now, plus the work declared so far.
    pub(crate) departure: Picos,
    pub(crate) sent: Vec<Departure>,
    pub(crate) begun: Option<(Address, Kind, Token, Vec<u8>)>,
}

impl SimulatedOutbox<'_> {
    fn check(&mut self, to: Address, body: usize, bulk: usize) -> Result<(), SendError> {
        if body > MAX_BODY_BYTES {
            return Err(SendError::TooLong { len: body, limit: MAX_BODY_BYTES });
        }
        if to.node == self.from.node {
            return Ok(());
        }
        let link = self.links.get_mut(&(self.from, to)).ok_or(SendError::Unreachable)?;
        link.admit(bulk)
    }

    fn push(&mut self, to: Address, frame: OwnedFrame) {
        if let Some(link) = self.links.get_mut(&(self.from, to)) {
            link.in_flight += 1;
        }
        self.sent.push((self.departure, to, frame));
    }
}

impl Outbox for SimulatedOutbox<'_> {
    fn begin(&mut self, to: Address, kind: Kind, token: Token, len: usize) -> Result<&mut [u8], SendError> {
        self.check(to, len, 0)?;
        Ok(&mut self.begun.insert((to, kind, token, vec![0; len])).3)
    }

    fn commit(&mut self) {
        let (to, kind, token, body) = self.begun.take().expect("commit follows begin");
        self.push(to, OwnedFrame { kind, token, body: body.into(), bulk: Bytes::new() });
    }

    fn send_bulk(
        &mut self,
        to: Address,
        kind: Kind,
        token: Token,
        head: &[u8],
        bulk: Bytes,
    ) -> Result<(), SendError> {
        self.check(to, head.len(), bulk.len())?;
        self.push(to, OwnedFrame { kind, token, body: Bytes::copy_from_slice(head), bulk });
        Ok(())
    }

    fn work(&mut self, stage: Stage, units: u32) {
        let cost = self.costs.get(&stage).copied().unwrap_or(0);
        self.departure = Picos(self.departure.0.saturating_add(cost.saturating_mul(u64::from(units))));
    }
}

//! What a protocol sends to in a run: it knows the routes, so it refuses what a live host would refuse.

use crate::distribution::Distribution;
use crate::picos::Picos;
use crate::processor::Processor;
use crate::route::Routes;
use bytes::Bytes;
use quintet_contract::limits::MAX_BODY_BYTES;
use quintet_contract::{Address, Kind, Outbox, OwnedFrame, SendError, Stage, Token};
use std::collections::BTreeMap;

/// The costs of an instance's stages, in cycles of its processor a unit. A stage that is not named costs nothing. One
/// value is drawn for each call of [`Outbox::work`] and multiplied with its units.
pub type Costs = BTreeMap<Stage, Distribution>;

/// A piece of what a node does after one input.
#[derive(Debug)]
pub(crate) enum Step {
    /// Takes so much time of the processor.
    Work(Picos),
    Send(Address, OwnedFrame),
}

pub(crate) struct SimulatedOutbox<'a> {
    pub(crate) from: Address,
    pub(crate) routes: &'a mut Routes,
    pub(crate) costs: &'a Costs,
    pub(crate) processor: &'a mut Processor,
    /// What is to be done, in order.
    pub(crate) steps: &'a mut Vec<Step>,
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
        self.routes.get_mut(self.from, to).ok_or(SendError::Unreachable)?.admit(bulk)
    }

    fn push(&mut self, to: Address, frame: OwnedFrame) {
        if let Some(route) = self.routes.get_mut(self.from, to) {
            route.in_flight += 1;
            if route.is_device() {
                self.spend(self.processor.model.io_setup);
            }
        }
        self.steps.push(Step::Send(to, frame));
    }

    fn spend(&mut self, time: Picos) {
        match self.steps.last_mut() {
            _ if time == Picos::ZERO => {}
            Some(Step::Work(before)) => *before += time,
            _ => self.steps.push(Step::Work(time)),
        }
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
        let Some(cost) = self.costs.get(&stage) else { return };
        let cycles = cost.sample(&mut self.processor.random) * f64::from(units);
        self.spend(self.processor.time_of(cycles));
    }
}

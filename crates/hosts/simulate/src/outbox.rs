//! What a protocol sends to in a run: it knows the routes, so it refuses what a live host would refuse.

use crate::cells::Cells;
use crate::distribution::Distribution;
use crate::ids::RouteId;
use crate::module::is_use;
use crate::parcel::{Label, Parcel};
use crate::parcels::Parcels;
use crate::picos::Picos;
use crate::processor::Processor;
use crate::route::{FIRST_WAY_PORT, Routes};
use crate::service::ServiceModel;
use bytes::Bytes;
use quintet_contract::limits::MAX_BODY_BYTES;
use quintet_contract::{
    Address, CELL_WORDS, Cell, Disconnect, Frame, Kind, NodeId, Outbox, Seen, SendError, Stage, Token,
};
use std::collections::BTreeMap;

/// The costs of an instance's stages, in cycles of its processor a unit. A stage that is not named costs nothing. One
/// value is drawn for each call of [`Outbox::work`] and multiplied with its units.
pub type Costs = BTreeMap<Stage, Distribution>;

/// A piece of what a node does after one input. Two words: what is smaller is boxed, so that all are alike.
#[derive(Debug)]
pub(crate) enum Step {
    /// Takes so much time of the processor.
    Work(Picos),
    Send(Box<Parcel>),
    /// Closes the link to a node.
    Disconnect(Box<(NodeId, Disconnect)>),
    /// Writes to a cell.
    Poke(Box<(Cell, [u64; CELL_WORDS])>),
}

/// What a node's instances work in, besides their node.
pub(crate) struct Environment<'a> {
    pub(crate) now: Picos,
    pub(crate) routes: &'a mut Routes,
    pub(crate) parcels: &'a mut Parcels,
    pub(crate) cells: &'a mut Cells,
    pub(crate) services: &'a ServiceModel,
}

pub(crate) struct SimulatedOutbox<'a, 'e> {
    pub(crate) from: Address,
    pub(crate) environment: &'a mut Environment<'e>,
    /// To which node the frame before went, and by which way.
    pub(crate) last_way: &'a mut Option<(NodeId, RouteId)>,
    pub(crate) costs: &'a Costs,
    pub(crate) processor: &'a mut Processor,
    /// What is to be done, in order.
    pub(crate) steps: &'a mut Vec<Step>,
    pub(crate) begun: Option<Box<Parcel>>,
}

impl SimulatedOutbox<'_, '_> {
    /// The way to `to`, if it takes one more frame now. Within the node there may be none, and is always room.
    /// Always inline: a result of this size would be written to memory and read back at once, which takes long.
    #[inline(always)]
    fn check(&mut self, to: Address, body: usize, bulk: usize) -> Result<Label, SendError> {
        if body > MAX_BODY_BYTES {
            return Err(SendError::TooLong { len: body, limit: MAX_BODY_BYTES });
        }
        if to.port.0 >= FIRST_WAY_PORT {
            return self.check_further(to, bulk);
        }
        let (route, pair) = (self.find(to.node), (self.from.port, to.port));
        if to.node != self.from.node {
            let id = route.ok_or(SendError::Unreachable)?;
            self.environment.routes[id].admit(pair, bulk)?;
            return Ok(Label { from: self.from, to, route });
        }
        if self.environment.services.lacks(to.port) {
            return Err(SendError::Unreachable);
        }
        let route = route.filter(|id| self.environment.routes[*id].joins(pair));
        Ok(Label { from: self.from, to, route })
    }

    /// The same of a further way, which its port names.
    #[cold]
    fn check_further(&mut self, to: Address, bulk: usize) -> Result<Label, SendError> {
        let routes = &mut *self.environment.routes;
        let (id, arrives_at) = routes.find_further(self.from.node, to).ok_or(SendError::Unreachable)?;
        routes[id].admit((self.from.port, to.port), bulk)?;
        Ok(Label { from: self.from, to: arrives_at, route: Some(id) })
    }

    /// The way to a node. Its number is for ever.
    fn find(&mut self, to: NodeId) -> Option<RouteId> {
        if let Some((known, id)) = *self.last_way
            && known == to
        {
            return Some(id);
        }
        let id = self.environment.routes.find(self.from.node, to)?;
        *self.last_way = Some((to, id));
        Some(id)
    }

    fn push(&mut self, parcel: Box<Parcel>) {
        let Some(id) = parcel.label.route else { return self.steps.push(Step::Send(parcel)) };
        let route = &mut self.environment.routes[id];
        route.in_flight += 1;
        let costs = route.costs.as_ref().map(|costs| costs.sending(costs.load(&parcel.frame())));
        if route.is_device() && !is_use(parcel.kind) {
            self.spend(self.processor.model.io_setup);
        }
        let Some((before, after)) = costs else { return self.steps.push(Step::Send(parcel)) };
        self.spend(self.processor.time_of(before));
        self.steps.push(Step::Send(parcel));
        self.spend(self.processor.time_of(after));
    }

    fn spend(&mut self, time: Picos) {
        match self.steps.last_mut() {
            _ if time == Picos::ZERO => {}
            Some(Step::Work(before)) => *before += time,
            _ => self.steps.push(Step::Work(time)),
        }
    }
}

impl Outbox for SimulatedOutbox<'_, '_> {
    fn begin(
        &mut self,
        to: Address,
        kind: Kind,
        token: Token,
        at_most: usize,
    ) -> Result<&mut [u8], SendError> {
        let label = self.check(to, at_most, 0)?;
        let parcel = self.environment.parcels.with_room(label, kind, token, at_most);
        Ok(self.begun.insert(parcel).body_mut())
    }

    fn commit(&mut self, len: usize) {
        let mut parcel = self.begun.take().expect("commit follows begin");
        parcel.truncate(len);
        self.push(parcel);
    }

    fn stamp(&mut self) {
        if let Some(parcel) = &mut self.begun {
            parcel.is_stamped = parcel.label.route.is_some();
        }
    }

    /// In one step: what lies encoded needs no room before it is sent.
    fn send(&mut self, to: Address, kind: Kind, token: Token, body: &[u8]) -> Result<(), SendError> {
        let label = self.check(to, body.len(), 0)?;
        let parcel = self.environment.parcels.pack(label, kind, token, body);
        self.push(parcel);
        Ok(())
    }

    fn send_bulk(
        &mut self,
        to: Address,
        kind: Kind,
        token: Token,
        head: &[u8],
        bulk: Bytes,
    ) -> Result<(), SendError> {
        let label = self.check(to, head.len(), bulk.len())?;
        let frame = Frame { kind, token, body: head, bulk: &bulk, stamps: None };
        self.push(Parcel::of(label, frame));
        Ok(())
    }

    fn disconnect(&mut self, peer: Address, how: Disconnect) {
        self.begun = None;
        if peer.node != self.from.node {
            self.steps.push(Step::Disconnect(Box::new((peer.node, how))));
        }
    }

    fn poke(&mut self, cell: &Cell, words: [u64; CELL_WORDS]) {
        self.steps.push(Step::Poke(Box::new((cell.clone(), words))));
    }

    fn peek(&mut self, cell: &Cell, seen: &mut Seen) {
        self.environment.cells.read(self.environment.now, cell, seen);
    }

    fn work(&mut self, stage: Stage, units: u32) {
        let Some(cost) = self.costs.get(&stage) else { return };
        let cycles = cost.sample(&mut self.processor.random) * f64::from(units);
        self.spend(self.processor.time_of(cycles));
    }
}

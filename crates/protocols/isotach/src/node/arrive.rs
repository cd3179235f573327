//! Parts of other nodes' isochrons, as they arrive.

use super::{Broken, Node};
use crate::codec::Part;
use crate::defect::seeded;
use crate::isochron::Operation;
use crate::isonet::{Delivery, Variable};
use crate::logical_time::Rank;
use crate::witness::Witnessed;
use quintet_contract::{Address, Frame, Token};
use quintet_wire::registry::PORT_ISOTACH;

impl Node {
    /// A part of another node's isochron.
    pub(super) fn part(&mut self, from: Address, frame: Frame<'_>) -> Result<(), Broken> {
        let Part { rank, operations, .. } = Part::of(frame).map_err(|_| Broken)?;
        let is_node = from.port == PORT_ISOTACH && from.node != self.config.me;
        if !is_node || self.config.isonet.topology().switch_of(from.node).is_none() {
            return Err(Broken);
        }
        let is_next = self.last_part.insert(from.node, rank).is_none_or(|last| last < rank);
        let is_mine = operations.iter().all(|operation| self.is_for_me(operation));
        let is_within = self.unanswered.add(from.node);
        if !is_next || !is_mine || !is_within || frame.token != Token(rank.0) {
            return Err(Broken);
        }
        if self.config.keeps_witness {
            let (sender, operations) = (from.node, operations.to_vec());
            self.witness.push(Witnessed::Received { sender, rank, operations });
        }
        match self.told.has(from.node, rank) {
            true => self.counters.parts_at_once += 1,
            false => self.counters.parts_waited += 1,
        }
        self.arrived.push(from.node, rank, operations);
        if self.config.isonet.delivery() == Delivery::Safe {
            let manager = self.manager_of(from.node);
            self.outgoing.acknowledge(manager, self.fence.view, (from.node, rank));
            if seeded!(self.config, CreditDoubled) {
                self.outgoing.acknowledge(manager, self.fence.view, (from.node, Rank(rank.0 + 1)));
            }
            if self.arrived.len() == 1 {
                self.outgoing.close(self.fence.view);
            }
        }
        Ok(())
    }

    /// Whether this node can execute an operation: the message is for it, or it has a copy of the size.
    fn is_for_me(&self, operation: &Operation) -> bool {
        let copy = |variable: &Variable| {
            let shape = self.config.isonet.shape(*variable);
            shape.filter(|shape| shape.copies.contains(&self.config.me)).map(|shape| shape.bytes)
        };
        match operation {
            Operation::Send { to, .. } => *to == self.config.me,
            Operation::Read(variable) | Operation::Sched(variable) => copy(variable).is_some(),
            Operation::Write(variable, value) | Operation::Assign(variable, value) => {
                copy(variable) == Some(value.len())
            }
        }
    }
}

//! Isochrons of the node's own program, from their submission to their end.

use super::Node;
use crate::codec::{
    Announced, COMPLETED, Completed, Ordered, Part, ReadValue, Receivers, Refusal, read_submission,
};
use crate::defect::seeded;
use crate::isochron::{Operation, Operations, check};
use crate::isonet::Variable;
use crate::limits::{KEPT_FOR_VALUES, MAX_RANKS_APART, MAX_UNEXECUTED};
use crate::logical_time::{Place, Rank};
use crate::witness::{Reads, Witnessed};
use quintet_contract::{Address, Frame, NodeId, Time, Token};
use quintet_wire::registry::PORT_ISOTACH;
use smallvec::SmallVec;
use std::collections::BTreeSet;

/// Which of an isochron's reads one node does.
type Slots = SmallVec<[usize; 2]>;

/// What one node does of an isochron: its operations, and which of the isochron's reads its own are.
#[derive(Default, Debug)]
pub(super) struct Share {
    pub(super) operations: Operations,
    pub(super) slots: Slots,
}

/// What each node does of an isochron, by their numbers.
#[derive(Default, Debug)]
struct Shares(SmallVec<[(NodeId, Share); 2]>);

impl Shares {
    fn of(&mut self, node: NodeId) -> &mut Share {
        let at = self.0.binary_search_by_key(&node, |(node, _)| *node).unwrap_or_else(|at| {
            self.0.insert(at, (node, Share::default()));
            at
        });
        &mut self.0[at].1
    }

    /// Takes out what a node does.
    fn take(&mut self, node: NodeId) -> Option<Share> {
        let at = self.0.binary_search_by_key(&node, |(node, _)| *node).ok()?;
        Some(self.0.remove(at).1)
    }
}

/// An isochron of this node that has not completed.
#[derive(Debug)]
pub(super) struct Own {
    pub(super) token: Token,
    pub(super) began: Time,
    /// The places that were reserved before it.
    pub(super) reserved_before: BTreeSet<Variable>,
    /// What this node does itself.
    pub(super) local: Share,
    /// Which variable each read is of.
    variables: Vec<Variable>,
    /// What the reads gave.
    pub(super) values: Vec<Option<ReadValue>>,
    /// Receivers that have not answered, ascending, with the reads that they do.
    remote: SmallVec<[(NodeId, Slots); 2]>,
    /// Whom the token manager tells.
    pub(super) receivers: Receivers,
    /// Parts that have not left.
    pub(super) unsent: usize,
    pub(super) is_announced: bool,
    /// Its marker has come.
    pub(super) is_marked: bool,
    /// Where it was executed: by this node, if it has a part of it.
    pub(super) place: Option<Place>,
    pub(super) is_executed_here: bool,
}

impl Own {
    /// Whether the token manager is still to tell when this node executes its part.
    pub(super) fn awaits_marker(&self) -> bool {
        self.is_announced && !self.is_executed_here && !self.is_marked
    }

    /// One of its parts has left.
    pub(super) fn part_left(&mut self) {
        self.unsent -= 1;
    }

    /// A receiver answers. False if it was not asked, answers something else, or executed it at another time than others.
    pub(super) fn answered(
        &mut self,
        from: Address,
        place: Place,
        values: Vec<ReadValue>,
        size: impl Fn(Variable) -> Option<usize>,
    ) -> bool {
        let Some(at) = self.waits_for(from.node).filter(|_| from.port == PORT_ISOTACH) else { return false };
        let (_, slots) = self.remote.remove(at);
        let is_at_one_time = self.place.is_none_or(|known| known == place);
        let fits = |(slot, value): (&usize, &ReadValue)| match value {
            ReadValue::Value(value) => size(self.variables[*slot]) == Some(value.len()),
            ReadValue::Aborted | ReadValue::Lost => true,
            ReadValue::Unanswered => false,
        };
        let is_what_was_asked = slots.len() == values.len() && slots.iter().zip(&values).all(fits);
        if !self.is_announced || !is_at_one_time || !is_what_was_asked {
            return false;
        }
        self.place = Some(place);
        slots.into_iter().zip(values).for_each(|(slot, value)| self.values[slot] = Some(value));
        true
    }

    /// The other receivers that have not answered.
    pub(super) fn awaited(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.remote.iter().map(|(node, _)| *node)
    }

    /// Which of the receivers that have not answered a node is.
    fn waits_for(&self, node: NodeId) -> Option<usize> {
        self.remote.binary_search_by_key(&node, |(node, _)| *node).ok()
    }

    /// The first of the other receivers that have answered.
    pub(super) fn first_answered(&self, me: NodeId) -> Option<NodeId> {
        let has_answered = |node: &NodeId| *node != me && self.waits_for(*node).is_none();
        self.receivers.iter().copied().find(has_answered)
    }

    /// Whether it was executed here and waits for values that come here, and for none that others read.
    pub(super) fn awaits_values_here_alone(&self) -> bool {
        let reads_here_alone = self.remote.iter().all(|(_, slots)| slots.is_empty());
        self.is_executed_here && reads_here_alone && self.values.iter().any(Option::is_none)
    }

    /// Its view has ended: nobody answers any more.
    pub(super) fn forget_remote(&mut self) {
        self.remote.clear();
    }

    pub(super) fn is_done(&self) -> bool {
        self.is_executed_here && self.remote.is_empty() && self.values.iter().all(Option::is_some)
    }
}

impl Node {
    /// The program's isochron.
    ///
    /// # Errors
    /// This node, if what it does cannot be executed.
    pub(super) fn submit(&mut self, frame: Frame<'_>) -> Result<(), NodeId> {
        if self.holds_back(frame) {
            return Ok(());
        }
        match self.accept(frame) {
            Ok((operations, reserved)) => self.start(frame.token, operations, reserved),
            Err(refusal) => {
                self.refuse_isochron(frame.token, &refusal);
                Ok(())
            }
        }
    }

    /// The operations, and the places that are reserved after them.
    pub(super) fn accept(&self, frame: Frame<'_>) -> Result<(Operations, BTreeSet<Variable>), Refusal> {
        if let Some(ended) = &self.ended {
            return Err(ended.clone());
        }
        if !self.joins.has_state() {
            let problem = format!("node {} has not joined a view so far", self.config.me.0);
            return Err(Refusal::Misuse(problem));
        }
        if let Some(halt) = self.halt {
            return Err(Refusal::Halted(halt));
        }
        if let Some(view) = self.next() {
            return Err(Refusal::ViewChanged(view));
        }
        let (operations, view) =
            read_submission(frame).map_err(|error| Refusal::Misuse(error.to_string()))?;
        let has_messages = operations.iter().any(|operation| matches!(operation, Operation::Send { .. }));
        if has_messages && view.is_some_and(|view| self.joins.members.has_grown_since(view)) {
            // What was to go to all would go to all but who has joined.
            return Err(Refusal::ViewChanged(self.fence.view));
        }
        let reserved = check(&self.config.isonet, &operations, &self.reserved)
            .map_err(|misuse| Refusal::of_misuse(&misuse))?;
        let oldest = self.own.first().unwrap_or(self.rank);
        let kept = if reserved.len() < self.reserved.len() { 0 } else { KEPT_FOR_VALUES };
        let is_far = self.rank.0 - oldest.0 + kept as u64 >= MAX_RANKS_APART;
        if self.own.len() + kept >= MAX_UNEXECUTED || is_far || !self.outgoing.is_program_told() {
            return Err(Refusal::Busy);
        }
        Ok((operations, reserved))
    }

    pub(super) fn start(
        &mut self,
        token: Token,
        operations: Operations,
        reserved: BTreeSet<Variable>,
    ) -> Result<(), NodeId> {
        self.counters.submitted += 1;
        self.counters.operations += operations.len() as u64;
        self.rank = Rank(self.rank.0 + 1);
        let rank = self.rank;
        let reserved_before = core::mem::replace(&mut self.reserved, reserved);
        if self.config.keeps_witness {
            let (operations, after) = (operations.to_vec(), self.place);
            self.witness.push(Witnessed::Submitted { rank, operations, after });
        }
        let mut reads = Vec::new();
        let mut shares = Shares::default();
        for operation in operations {
            self.share(operation, &mut reads, &mut shares);
        }
        let receivers = shares.0.iter().map(|(node, _)| *node).collect();
        let local = shares.take(self.config.me).unwrap_or_default();
        let Shares(remote) = shares;
        let (is_local, has_local) = (remote.is_empty(), !local.operations.is_empty());
        let own = Own {
            token,
            began: self.now,
            reserved_before,
            local,
            values: vec![None; reads.len()],
            variables: reads,
            remote: remote.iter().map(|(node, share)| (*node, share.slots.clone())).collect(),
            receivers,
            unsent: remote.len(),
            is_announced: false,
            is_marked: false,
            place: None,
            is_executed_here: !has_local,
        };
        self.own.push(rank, own);
        for (node, Share { operations, .. }) in remote {
            let part = Part { view: self.fence.view, rank, operations };
            let to = Address { node, port: PORT_ISOTACH };
            self.outgoing.push_part(to, part);
        }
        match self.shared {
            _ if is_local && (self.has_passed_all() || seeded!(self.config, RunsAhead)) => {
                return self.run_ahead(rank);
            }
            Some((last, true)) if is_local => self.behind.entry(last).or_default().push(rank),
            _ => {
                self.shared = Some((rank, has_local));
                self.to_announce.push_back(rank);
            }
        }
        Ok(())
    }

    /// Gives an operation to those who do it.
    fn share(&self, operation: Operation, reads: &mut Vec<Variable>, shares: &mut Shares) {
        match operation {
            Operation::Send { to, .. } => shares.of(to).operations.push(operation),
            Operation::Read(variable) => {
                let copy = self.config.isonet.copy_for(self.config.me, variable);
                let share = shares.of(copy.expect("variables are looked up before"));
                share.slots.push(reads.len());
                share.operations.push(operation);
                reads.push(variable);
            }
            Operation::Write(variable, _) | Operation::Sched(variable) | Operation::Assign(variable, _) => {
                let shape = self.config.isonet.shape(variable).expect("variables are looked up before");
                for copy in &shape.copies {
                    shares.of(*copy).operations.push(operation.clone());
                }
            }
        }
    }

    /// Whether this node is past all its isochrons that a token manager hears of: then what is purely local has its place here and now.
    fn has_passed_all(&self) -> bool {
        self.shared.is_none_or(|(last, _)| self.passed >= Some(last))
    }

    /// Whether there is an isochron whose parts have all left and that was not announced.
    pub(super) fn has_announcement(&self) -> bool {
        let front = self.to_announce.front().and_then(|rank| self.own.get(*rank));
        front.is_some_and(|own| own.unsent == 0)
    }

    /// Announces what has left: in the order of the ranks, none before an earlier one. What is the only one under way waits for no others.
    pub(super) fn announce(&mut self) {
        while self.has_announcement() {
            let Some(rank) = self.to_announce.pop_front() else { return };
            let own = self.own.get_mut(rank).expect("what was not announced has not completed");
            own.is_announced = true;
            let announced = Announced { rank, receivers: own.receivers.clone() };
            self.outgoing.announce(self.fence.view, &announced);
            if self.own.len() == 1 {
                self.outgoing.close(self.fence.view);
            }
        }
    }

    /// Tells the program of an isochron that all its receivers have executed.
    pub(super) fn complete_if_done(&mut self, rank: Rank) {
        if !self.own.get(rank).is_some_and(Own::is_done) {
            return;
        }
        let Some(own) = self.own.take(rank) else { return };
        let place = own.place.expect("who executes it says when");
        if !own.receivers.contains(&self.config.me) {
            // No marker tells this node, and who does may be gone: what is before it in this node's order is before it in the one order.
            self.told.add(Ordered { pulse: place.stamp.pulse, sender: self.config.me, rank });
        }
        let values: Vec<ReadValue> = own.values.into_iter().flatten().collect();
        self.counters.completed += 1;
        if self.config.keeps_witness {
            let reads: Reads = own.variables.into_iter().zip(values.iter().cloned()).collect();
            self.witness.push(Witnessed::Completed { place, rank, reads });
        }
        let completed = Completed { place, rank, values };
        self.outgoing.tell(COMPLETED, own.token, &completed);
    }
}

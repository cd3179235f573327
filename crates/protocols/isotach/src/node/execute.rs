//! What a node executes, and the answers.

use super::Node;
use crate::codec::{Delivered, EXECUTED, Executed, Ordered, ReadValue};
use crate::defect::seeded;
use crate::isochron::{Operation, Operations};
use crate::logical_time::{Place, Rank, Stamp};
use crate::memory::Reader;
use crate::witness::{Performed, Witnessed};
use quintet_contract::{Address, NodeId, Token};
use quintet_wire::registry::PORT_ISOTACH;

/// A part of another node's isochron that was executed, while its reads wait.
#[derive(Debug)]
pub(super) struct Answering {
    place: Place,
    values: Vec<Option<ReadValue>>,
}

impl Node {
    /// Whether what comes next in the order is here, and the program has taken what came before.
    pub(super) fn is_next_ready(&self) -> bool {
        self.order.front().is_some_and(|next| self.is_here(next)) && self.outgoing.is_program_told()
    }

    /// Whether this node has its part of an isochron.
    pub(super) fn is_here(&self, next: &Ordered) -> bool {
        next.sender == self.config.me || self.arrived.contains(next.sender, next.rank)
    }

    /// Executes what is next in the order, as far as it is here.
    ///
    /// # Errors
    /// Who sent what cannot be executed.
    pub(super) fn execute(&mut self) -> Result<(), NodeId> {
        while self.executes() && self.is_next_ready() {
            if let Some(next) = self.order.pop_front() {
                self.run(next)?;
            }
        }
        Ok(())
    }

    /// Executes this node's part of an isochron, which is here.
    pub(super) fn run(&mut self, Ordered { pulse, sender, rank }: Ordered) -> Result<(), NodeId> {
        let stamp = Stamp { view: self.fence.view, pulse, sender, rank };
        self.place = Place { stamp, behind: 0 };
        if sender == self.config.me { self.pass(rank) } else { self.run_part(sender, rank) }
    }

    /// Executes the local part of an isochron of this node, and the purely local ones that waited for it.
    fn pass(&mut self, rank: Rank) -> Result<(), NodeId> {
        self.passed = Some(rank);
        self.run_own(rank, self.place)?;
        self.behind.remove(&rank).into_iter().flatten().try_for_each(|local| self.run_ahead(local))
    }

    /// Runs a purely local isochron behind what was executed last.
    pub(super) fn run_ahead(&mut self, rank: Rank) -> Result<(), NodeId> {
        self.place.behind += 1;
        self.counters.ran_ahead += 1;
        self.run_own(rank, self.place)
    }

    fn run_own(&mut self, rank: Rank, place: Place) -> Result<(), NodeId> {
        let me = self.config.me;
        let own = self.own.get_mut(rank).expect("markers and waiting ones are of isochrons that are there");
        if own.place.is_some_and(|known| known != place) {
            // Another receiver was told another time; or it says so, if the manager is in this process.
            let manager = self.outgoing.manager().node;
            let says_so = own.first_answered(me).filter(|_| manager == me);
            return Err(says_so.unwrap_or(manager));
        }
        let share = core::mem::take(&mut own.local);
        (own.place, own.is_executed_here) = (Some(place), true);
        self.perform(me, rank, share.operations, &share.slots)?;
        self.complete_if_done(rank);
        Ok(())
    }

    fn run_part(&mut self, sender: NodeId, rank: Rank) -> Result<(), NodeId> {
        let operations = self.arrived.take(sender, rank).expect("it was looked up before");
        let reads = operations.iter().filter(|operation| matches!(operation, Operation::Read(_))).count();
        let place = self.place;
        if reads == 0 {
            self.perform(sender, rank, operations, &[])?;
            self.answer(sender, rank, place, Vec::new());
            return Ok(());
        }
        self.answering.insert((sender, rank), Answering { place, values: vec![None; reads] });
        let slots: Vec<usize> = (0..reads).collect();
        self.perform(sender, rank, operations, &slots)?;
        self.answer_if_done(sender, rank);
        Ok(())
    }

    /// Executes operations of one isochron, one after the other. `slots` are the numbers of its reads.
    fn perform(
        &mut self,
        sender: NodeId,
        rank: Rank,
        operations: Operations,
        slots: &[usize],
    ) -> Result<(), NodeId> {
        self.counters.executed += 1;
        if self.config.keeps_witness {
            self.witness.push(Witnessed::Executed { place: self.place, sender, rank });
        }
        let mut slots = slots.iter();
        for operation in operations {
            self.note_performed(sender, &operation);
            match operation {
                Operation::Send { handler, bytes, .. } => {
                    let message = Delivered { place: self.place, sender, rank, handler, bytes: &bytes };
                    self.outgoing.deliver(message, &bytes);
                }
                Operation::Read(variable) => {
                    let slot = *slots.next().expect("reads are counted before");
                    let reader = Reader { sender, rank, slot };
                    if let Some(value) = self.memory.read(variable, reader) {
                        self.fill(reader, value);
                    } else if seeded!(self.config, ReadsBefore) {
                        self.fill(reader, ReadValue::Aborted);
                    }
                }
                Operation::Write(variable, value) => self.memory.write(variable, value),
                Operation::Sched(variable) => {
                    let is_new = self.memory.reserve(sender, variable);
                    is_new.then_some(()).ok_or(sender)?;
                }
                Operation::Assign(variable, value) => {
                    let readers = self.memory.assign(sender, variable, &value).ok_or(sender)?;
                    self.resolve(readers, &ReadValue::Value(value), (sender, rank));
                }
            }
        }
        Ok(())
    }

    /// From now on [`take_performed`](Node::take_performed) is asked after each input.
    pub fn keep_performed(&mut self) {
        self.performed.get_or_insert_default();
    }

    /// Takes what it performed since this was asked last, in the one order: empty unless it [keeps](Node::keep_performed) that.
    pub fn take_performed(&mut self) -> Vec<Performed> {
        self.performed.as_mut().map_or_else(Vec::new, core::mem::take)
    }

    fn note_performed(&mut self, sender: NodeId, operation: &Operation) {
        let Some(performed) = &mut self.performed else { return };
        let changes_something = match operation {
            Operation::Send { .. } | Operation::Write(..) => true,
            Operation::Assign(variable, _) => self.memory.is_reserved_by(sender, *variable),
            Operation::Read(_) | Operation::Sched(_) => false,
        };
        if changes_something {
            performed.push(Performed { place: self.place, sender, operation: operation.clone() });
        }
    }

    /// Gives a value to reads that waited. The isochron that is being executed is finished by who executes it.
    pub(super) fn resolve(&mut self, readers: Vec<Reader>, value: &ReadValue, current: (NodeId, Rank)) {
        for reader in readers {
            self.fill(reader, value.clone());
            if (reader.sender, reader.rank) == current {
                continue;
            }
            if reader.sender == self.config.me {
                self.complete_if_done(reader.rank);
            } else {
                self.answer_if_done(reader.sender, reader.rank);
            }
        }
    }

    fn fill(&mut self, Reader { sender, rank, slot }: Reader, value: ReadValue) {
        let values = if sender == self.config.me {
            self.own.get_mut(rank).map(|own| &mut own.values)
        } else {
            self.answering.get_mut(&(sender, rank)).map(|answering| &mut answering.values)
        };
        if let Some(slot) = values.and_then(|values| values.get_mut(slot)) {
            *slot = Some(value);
        }
    }

    /// Answers for a part once its reads have their values.
    fn answer_if_done(&mut self, sender: NodeId, rank: Rank) {
        let Some(answering) = self.answering.get(&(sender, rank)) else { return };
        if !answering.values.iter().all(Option::is_some) {
            return;
        }
        let Some(Answering { place, values }) = self.answering.remove(&(sender, rank)) else { return };
        self.answer(sender, rank, place, values.into_iter().flatten().collect());
    }

    fn answer(&mut self, sender: NodeId, rank: Rank, place: Place, values: Vec<ReadValue>) {
        self.unanswered.remove(sender);
        let Stamp { view, pulse, .. } = place.stamp;
        let executed = Executed { view, pulse, values };
        let to = Address { node: sender, port: PORT_ISOTACH };
        self.outgoing.push(to, EXECUTED, Token(rank.0), &executed);
    }
}

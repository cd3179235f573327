//! The state of a node at the beginning of a view, which it keeps for nodes that join with that view.

use crate::codec::{Copied, TransferStep};
use crate::isonet::{Isonet, Variable};
use crate::limits::{FULL_BATCH_BYTES, MAX_PROGRAM_STATE_BYTES, MAX_STATE_PIECE_BYTES};
use crate::logical_time::View;
use crate::members::Newcomers;
use quintet_contract::{Bytes, NodeId};
use quintet_wire::Encode;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

/// A program's state, as far as it has come.
#[derive(Default, Debug)]
pub(crate) struct Gathered {
    bytes: Vec<u8>,
    is_complete: bool,
}

impl Gathered {
    /// One more piece. False if it is too much, or comes behind the last.
    pub(crate) fn add(&mut self, bytes: &[u8], is_complete: bool) -> bool {
        if self.is_complete || self.bytes.len() + bytes.len() > MAX_PROGRAM_STATE_BYTES {
            return false;
        }
        self.bytes.extend_from_slice(bytes);
        self.is_complete = is_complete;
        true
    }

    pub(crate) fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// How much has come.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// What comes from a byte on, as much as a frame has, and whether it ends there. None before all of it is here, and if there is no such byte.
    pub(crate) fn piece(&self, from: usize) -> Option<(bool, &[u8])> {
        let rest = self.bytes.get(from..).filter(|_| self.is_complete)?;
        let piece = &rest[..rest.len().min(MAX_STATE_PIECE_BYTES)];
        Some((piece.len() == rest.len(), piece))
    }
}

/// What a view begins with.
#[derive(Debug)]
pub(crate) struct Snapshot {
    pub(crate) view: View,
    /// The view before it.
    before: View,
    isonet: Arc<Isonet>,
    copies: BTreeMap<Variable, Copied>,
    program: Program,
    /// Who joins with the view, and has not said that it has all.
    wanted_by: BTreeSet<NodeId>,
}

/// What the program has given.
#[derive(Debug)]
enum Program {
    Given(Gathered),
    /// Not all of it so far: who waits, from which byte on.
    Awaited(Gathered, BTreeMap<NodeId, usize>),
    /// More than there may be.
    TooLong,
}

/// What is said to whom.
pub(crate) type Saying = (NodeId, TransferStep);

impl Snapshot {
    pub(crate) fn new(
        (view, before): (View, View),
        isonet: Arc<Isonet>,
        copies: BTreeMap<Variable, Copied>,
        wanted_by: BTreeSet<NodeId>,
    ) -> Snapshot {
        let program = Program::Awaited(Gathered::default(), BTreeMap::new());
        Snapshot { view, before, isonet, copies, program, wanted_by }
    }

    /// Tells something else from now on: for a defect.
    pub(crate) fn renew(&mut self, copies: BTreeMap<Variable, Copied>) {
        self.copies = copies;
    }

    pub(crate) fn is_wanted_by(&self, node: NodeId) -> bool {
        self.wanted_by.contains(&node)
    }

    /// A node needs it no more. False if nobody does.
    pub(crate) fn is_needed_without(&mut self, node: NodeId) -> bool {
        self.wanted_by.remove(&node);
        !self.wanted_by.is_empty()
    }

    /// A later view begins. False if nobody of it needs this.
    pub(crate) fn is_needed_in(&mut self, newcomers: &Newcomers) -> bool {
        let view = self.view;
        let stays = |node: &NodeId| newcomers.get(node).is_some_and(|joined| joined.view <= view);
        self.wanted_by.retain(stays);
        !self.wanted_by.is_empty()
    }

    /// The copies that a node and this one have, behind a variable: as many as a frame has.
    pub(crate) fn variables(&self, of: NodeId, behind: Option<Variable>) -> TransferStep {
        let has_copy = |variable: &Variable| {
            self.isonet.shape(*variable).is_some_and(|shape| shape.copies.contains(&of))
        };
        let from = behind.map_or(Bound::Unbounded, Bound::Excluded);
        let mut rest = self.copies.range((from, Bound::Unbounded)).filter(|(variable, _)| has_copy(variable));
        let (mut copies, mut bytes, mut is_complete) = (Vec::new(), 0, true);
        for (_, copied) in rest.by_ref() {
            bytes += copied.encoded_len();
            if bytes > FULL_BATCH_BYTES && !copies.is_empty() {
                is_complete = false;
                break;
            }
            copies.push(copied.clone());
        }
        TransferStep::Variables { before: self.before, is_complete, copies }
    }

    /// The program's state from a byte on. Nothing is said before the program has given it.
    pub(crate) fn program(&mut self, to: NodeId, from: usize) -> Option<TransferStep> {
        match &mut self.program {
            Program::Given(given) => Some(said(given, from)),
            Program::Awaited(_, waiting) => {
                waiting.insert(to, from);
                None
            }
            Program::TooLong => Some(TransferStep::Lacks),
        }
    }

    /// The program gives a piece: what is said to those who waited for it. None if it is too much, or no more was awaited.
    pub(crate) fn give(&mut self, bytes: &[u8], is_complete: bool) -> Option<Vec<Saying>> {
        let Program::Awaited(given, waiting) = &mut self.program else { return None };
        let waiting = if !given.add(bytes, is_complete) {
            let waiting = core::mem::take(waiting);
            self.program = Program::TooLong;
            return Some(waiting.into_keys().map(|node| (node, TransferStep::Lacks)).collect());
        } else if given.is_complete() {
            core::mem::take(waiting)
        } else {
            return Some(Vec::new());
        };
        let given = core::mem::take(given);
        let saying = waiting.into_iter().map(|(node, from)| (node, said(&given, from))).collect();
        self.program = Program::Given(given);
        Some(saying)
    }

    /// Whether the program has given more than there may be.
    pub(crate) fn is_too_long(&self) -> bool {
        matches!(self.program, Program::TooLong)
    }
}

fn said(given: &Gathered, from: usize) -> TransferStep {
    given.piece(from).map_or(TransferStep::Lacks, |(is_complete, bytes)| TransferStep::Program {
        is_complete,
        bytes: Bytes::copy_from_slice(bytes),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::{CopyState, Transfer};
    use crate::isonet::Shape;
    use crate::limits::{MAX_BATCH_BYTES, MAX_NODES};
    use crate::topology::Topology;
    use quintet_contract::limits::MAX_PAYLOAD_BYTES;

    /// Three variables with copies at all nodes that there may be, each of whom has reserved a place of the second one.
    fn snapshot() -> Snapshot {
        let nodes: Vec<NodeId> = (0..).map(NodeId).take(MAX_NODES).collect();
        let shape = Shape { bytes: 1, copies: nodes.iter().copied().collect() };
        let variables: Vec<Variable> = (1..4).map(Variable).collect();
        let shapes = variables.iter().map(|variable| (*variable, shape.clone())).collect();
        let topology = Topology::lan(NodeId(0), &nodes).expect("as many as there may be");
        let isonet = Isonet::new(topology, shapes).expect("they can be shared");
        let copied = |variable: Variable| Copied {
            variable,
            held: CopyState::Aborted,
            reserved_by: if variable == Variable(2) { nodes.clone() } else { Vec::new() },
        };
        let copies = variables.iter().map(|variable| (*variable, copied(*variable))).collect();
        Snapshot::new((View(2), View(1)), Arc::new(isonet), copies, BTreeSet::new())
    }

    #[test]
    fn a_copy_that_is_longer_than_a_full_frame_goes_alone() {
        let snapshot = snapshot();
        let (mut behind, mut told) = (None, Vec::new());
        loop {
            let step = snapshot.variables(NodeId(3), behind);
            let said = Transfer { view: View(2), step };
            assert!(said.encoded_len() <= MAX_PAYLOAD_BYTES.min(MAX_BATCH_BYTES));
            let TransferStep::Variables { is_complete, copies, .. } = said.step else { panic!("{said:?}") };
            told.push(copies.iter().map(|copied| copied.variable.0).collect::<Vec<_>>());
            behind = copies.last().map(|copied| copied.variable);
            if is_complete {
                break;
            }
        }
        assert_eq!(told, [[1], [2], [3]]);
    }
}

//! The lives of nodes that are gone: what fences their earlier lives when they come back.

use quintet_contract::{Incarnation, NodeId};
use std::collections::BTreeMap;

/// What is remembered of a node. Its lives are the same at all its ports.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Lives {
    /// The latest life seen; earlier ones are fenced.
    pub(crate) latest: Option<Incarnation>,
    /// The life that was cut off for breaking the protocol; it and earlier ones are refused.
    pub(crate) cut_off: Option<Incarnation>,
}

/// Of every node that left. A node's number has 16 bits, so that there are 65,536 entries of some tens of bytes at most, whoever
/// comes and goes.
#[derive(Debug, Default)]
pub(crate) struct Departed(BTreeMap<NodeId, Lives>);

impl Lives {
    /// What two ports of one node showed of it.
    fn and(self, other: Lives) -> Lives {
        Lives { latest: self.latest.max(other.latest), cut_off: self.cut_off.max(other.cut_off) }
    }
}

impl Departed {
    /// A node left, or one port of it.
    pub(crate) fn remember(&mut self, node: NodeId, lives: Lives) {
        if lives != Lives::default() {
            let known = self.0.entry(node).or_default();
            *known = known.and(lives);
        }
    }

    /// What was known of a node when it left.
    pub(crate) fn lives(&self, node: NodeId) -> Lives {
        self.0.get(&node).copied().unwrap_or_default()
    }
}

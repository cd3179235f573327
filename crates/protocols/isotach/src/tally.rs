//! How much of each sender is kept.

use crate::limits::MAX_UNEXECUTED;
use quintet_contract::NodeId;
use std::collections::BTreeMap;

/// Counts isochrons that are kept, by their senders. None has more than a node may have that were not executed: so who floods is known by name.
#[derive(Default, Debug)]
pub(crate) struct Tally(BTreeMap<NodeId, usize>);

impl Tally {
    /// One more. False if the sender has as many as may be.
    pub(crate) fn add(&mut self, sender: NodeId) -> bool {
        let count = self.0.entry(sender).or_default();
        *count += 1;
        *count <= MAX_UNEXECUTED
    }

    /// How many the sender has.
    pub(crate) fn of(&self, sender: NodeId) -> usize {
        self.0.get(&sender).copied().unwrap_or_default()
    }

    pub(crate) fn remove(&mut self, sender: NodeId) {
        if let Some(count) = self.0.get_mut(&sender) {
            *count = count.saturating_sub(1);
        }
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

//! Whom a node waits for.

use super::Node;
use crate::waits::Wait;
use quintet_contract::NodeId;
use std::collections::BTreeMap;

impl Node {
    /// What of this node waits for each other one of the view.
    pub(crate) fn waits(&self) -> BTreeMap<NodeId, Wait> {
        let others = self.config.isonet.topology().nodes().filter(|node| *node != self.config.me);
        let mut waits: BTreeMap<NodeId, Wait> = others.map(|node| (node, Wait::default())).collect();
        let isochrons = self.own.iter().flat_map(|(_, own)| own.awaited().map(|node| (node, own.began)));
        let plain = self.plain.values().map(|sent| (sent.to, sent.began));
        for (node, began) in isochrons.chain(plain) {
            waits.get_mut(&node).into_iter().for_each(|wait| wait.add(began));
        }
        waits
    }
}

//! What is always so of a node between two inputs, looked at by itself.

use super::Node;
use crate::codec::Ordered;
use crate::logical_time::{Place, Rank, Stamp};
use crate::memory::Reader;
use quintet_contract::NodeId;

impl Node {
    /// What is not so of this node though it is always, as a sentence: a defect of this program or of its memory, and not what others sent, which is looked at as it comes. It looks at all that
    /// waits here. To be asked between two inputs.
    #[must_use]
    pub fn broken_invariant(&self) -> Option<&'static str> {
        let all = [
            (self.order_is_behind_place(), "isochrons are executed in the order of their stamps"),
            (self.parts_are_kept(), "a part that has come is executed, or waits for that or for a value"),
            (
                self.own_are_announced_in_order(),
                "an isochron is announced once, when its parts have left, behind those before it",
            ),
            (
                !self.own.iter().any(|(_, own)| own.is_done()),
                "an isochron that is executed everywhere is over",
            ),
            (
                self.readers_wait(),
                "who waits for the value of a reserved place is an isochron that is not over",
            ),
        ];
        all.into_iter().find(|(is_so, _)| !is_so).map(|(_, text)| text)
    }

    fn order_is_behind_place(&self) -> bool {
        let Place { stamp: Stamp { view, pulse, sender, rank }, .. } = self.place;
        let executed = Ordered { pulse, sender, rank };
        let is_behind = view != self.fence.view || self.order.front().is_none_or(|next| executed < *next);
        is_behind && self.order.iter().is_sorted_by(|one, next| one < next)
    }

    /// As many parts of each sender are counted as there are, but for those of who broke the protocol.
    fn parts_are_kept(&self) -> bool {
        let kept = |node: NodeId| {
            let of = |(sender, _): &(NodeId, _)| *sender == node;
            self.arrived.iter().filter(of).count() + self.answering.keys().filter(|key| of(key)).count()
        };
        let is_heard = |node: &NodeId| !self.cut_off.iter().any(|peer| peer.node == *node);
        let mut nodes = self.config.isonet.topology().nodes().filter(is_heard);
        nodes.all(|node| self.unanswered.of(node) == kept(node))
    }

    fn own_are_announced_in_order(&self) -> bool {
        let have_left = self.own.iter().all(|(_, own)| !own.is_announced || own.unsent == 0);
        let waits = |rank: &Rank| self.own.get(*rank).is_some_and(|own| !own.is_announced);
        have_left
            && self.to_announce.iter().all(waits)
            && self.to_announce.iter().is_sorted_by(|one, next| one < next)
    }

    fn readers_wait(&self) -> bool {
        let is_there = |reader: &Reader| match reader.sender == self.config.me {
            true => self.own.contains(reader.rank),
            false => self.answering.contains_key(&(reader.sender, reader.rank)),
        };
        // One that has ended executes nothing, and nobody waits for it.
        self.ended.is_some() || self.memory.readers().all(is_there)
    }
}

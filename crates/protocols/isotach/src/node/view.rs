//! The end of a view, at its cut, where the fate of all that was under way is told; and the beginning of the next one.

use super::Node;
use super::change::{Held, Left};
use super::join::first_rank;
use crate::codec::{COMPLETED, Completed, Halt, HaltCause, Ordered, ReadValue, Refusal};
use crate::isonet::Variable;
use crate::logical_time::{Place, Stamp, View};
use crate::memory::Reader;
use crate::witness::Witnessed;
use quintet_contract::{Address, NodeId, OwnedFrame};
use std::collections::BTreeSet;
use std::sync::Arc;

impl Node {
    /// Executes the rest of what the view executes.
    ///
    /// # Errors
    /// Who sent what cannot be executed.
    pub(super) fn execute_prefix(&mut self, prefix: &[Ordered]) -> Result<(), NodeId> {
        for next in prefix {
            let Ordered { pulse, sender, rank } = *next;
            let stamp = Stamp { view: self.fence.view, pulse, sender, rank };
            if sender == self.config.me {
                match self.own.get_mut(rank) {
                    // All its receivers had executed it before.
                    None => {}
                    Some(own) if own.is_executed_here => {
                        _ = own.place.get_or_insert(Place { stamp, behind: 0 })
                    }
                    Some(_) => self.run(*next)?,
                }
            } else if self.arrived.contains(sender, rank) {
                if self.place.stamp >= stamp {
                    return Err(sender);
                }
                self.run(*next)?;
            }
        }
        Ok(())
    }

    /// Begins the view: what was not executed is refused, and places reserved by who is no more are aborted.
    pub(super) fn begin(&mut self, Held { view, members, .. }: Held) -> Vec<(Address, OwnedFrame)> {
        let before = self.fence.view;
        let left = members.left_of(before, self.config.isonet.topology());
        let readers = self.memory.abort(|node| left.contains(&node));
        self.resolve(readers, &ReadValue::Aborted, (self.config.me, self.rank));
        self.settle_own(view);
        let waits = |reader: &Reader| reader.sender == self.config.me && self.own.contains(reader.rank);
        self.memory.keep_readers(waits);
        self.forget_lost_places(&left);
        self.refuse_plain(|node| !left.contains(&node), &Refusal::ViewChanged(view));
        self.config.isonet = Arc::new(self.joins.first.among(members.topology().clone()));
        self.joins.members = members;
        let nodes: BTreeSet<NodeId> = self.config.isonet.topology().nodes().collect();
        let manager = self.manager_of(self.config.me);
        self.outgoing.begin_view(manager, |node| nodes.contains(&node), &self.gone);
        (self.shared, self.passed, self.last_marker, self.halt) = (None, None, None, None);
        (self.asked, self.is_frozen, self.left) = (None, false, Left::default());
        self.told.clear();
        self.missed.clear();
        self.cut_off.clear();
        self.to_announce.clear();
        self.behind.clear();
        self.arrived.clear();
        self.last_part.clear();
        self.unanswered.clear();
        self.order.clear();
        self.answering.clear();
        self.place = Place::start_of(view);
        let early = self.fence.begin(view);
        if self.joins.outside.take().is_some() {
            // Answers to what earlier processes sent are to nothing of this one.
            (self.rank, self.plain_sent) = (first_rank(view), first_rank(view).0);
            self.miss_state();
        } else {
            self.keep_snapshot(before);
            self.tell_begun(view);
        }
        self.stop_for_who_is_gone();
        early
    }

    /// With the last copy of a variable the places of it are gone, also where a later process of a node brings one back.
    fn forget_lost_places(&mut self, left: &BTreeSet<NodeId>) {
        let first = self.joins.first.clone();
        let is_kept =
            |variable: &Variable| first.shape(*variable).is_some_and(|shape| !shape.copies.is_disjoint(left));
        self.reserved.retain(is_kept);
    }

    /// Who was heard to be gone before the view began is gone in it, too.
    fn stop_for_who_is_gone(&mut self) {
        let manager = self.outgoing.manager();
        let topology = self.config.isonet.topology();
        self.gone.retain(|peer| *peer == manager || topology.switch_of(peer.node).is_some());
        let gone: Vec<NodeId> = self.gone.iter().map(|peer| peer.node).collect();
        gone.into_iter().for_each(|node| self.stop(Halt { node, cause: HaltCause::Gone }));
    }

    /// Tells the program which of its isochrons were executed and which not. Places that those would have reserved are not, and those that they would have given a value still
    /// wait for one.
    fn settle_own(&mut self, next: View) {
        let mut has_lost = false;
        for (rank, mut own) in self.own.drain() {
            if own.awaits_values_here_alone() {
                // Who has reserved the place is left, and gives the value in a later view.
                own.forget_remote();
                self.own.push(rank, own);
                continue;
            }
            if let Some(place) = own.place {
                let values: Vec<ReadValue> =
                    own.values.into_iter().map(|value| value.unwrap_or(ReadValue::Unanswered)).collect();
                self.counters.completed += 1;
                let completed = Completed { place, rank, values };
                self.outgoing.tell(COMPLETED, own.token, &completed);
                continue;
            }
            if !has_lost {
                self.reserved = own.reserved_before;
                has_lost = true;
            }
            if self.config.keeps_witness {
                self.witness.push(Witnessed::Lost { rank });
            }
            self.counters.lost += 1;
            self.refuse(own.token, &Refusal::ViewChanged(next));
        }
    }
}

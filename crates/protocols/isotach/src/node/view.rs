//! A new view: the old one ends at its cut, and the fate of all that was under way is told.

use super::Node;
use crate::codec::{COMPLETED, Completed, INSTALLED, Install, Ordered, ReadValue, Refusal};
use crate::logical_time::{Place, Stamp};
use crate::topology::Topology;
use crate::witness::Witnessed;
use quintet_contract::{Address, Frame, NodeId, Outbox, OwnedFrame};
use quintet_wire::{Decode, encode_to_vec};
use std::sync::Arc;

impl Node {
    /// The program, which has it from the cluster's membership, begins another view. The cut is for those to agree on who are in it: that each of them has
    /// the markers up to it, and the parts, is theirs to see to. What this node can see for itself, it checks.
    pub(super) fn install(&mut self, frame: Frame<'_>) -> Vec<(Address, OwnedFrame)> {
        let installed = self.read_install(frame).and_then(|(install, topology)| {
            self.end_at(install.cut)?;
            Ok((install, topology))
        });
        match installed {
            Ok((install, topology)) => {
                let kept = self.begin(&install, topology);
                self.outgoing.tell(INSTALLED, frame.token, Vec::new());
                kept
            }
            Err(problem) => {
                self.refuse(frame.token, &Refusal::Misuse(problem));
                Vec::new()
            }
        }
    }

    fn read_install<'a>(&self, frame: Frame<'a>) -> Result<(Install<'a>, Topology), String> {
        let install = Install::decode_all(frame.body).map_err(|error| error.to_string())?;
        let topology = Topology::parse(install.topology).map_err(|error| error.to_string())?;
        let view = self.fence.view;
        if install.view <= view || install.cut.view != view {
            let (next, cut) = (install.view.0, install.cut.view.0);
            return Err(format!("view {next} does not follow view {} with a cut of view {cut}", view.0));
        }
        if topology.switch_of(self.config.me).is_none() {
            return Err(format!("node {} is at no switch of the new view", self.config.me.0));
        }
        Ok((install, topology))
    }

    /// Executes the rest of the old view, up to its cut: nothing of it, if it is not all here. What a peer should not have sent ends it in its midst; what was executed is
    /// behind this node then.
    fn end_at(&mut self, cut: Stamp) -> Result<(), String> {
        if self.place.stamp > cut {
            return Err(format!("this node has executed {}, beyond the cut, {cut}", self.place.stamp));
        }
        let stamp = |next: &Ordered| Stamp {
            view: cut.view,
            pulse: next.pulse,
            sender: next.sender,
            rank: next.rank,
        };
        let in_time = self.order.iter().filter(|next| stamp(next) <= cut);
        let missing = in_time.clone().find(|next| !self.is_here(next));
        if let Some(missing) = missing {
            return Err(format!("its part of {} is not here, and the cut is {cut}", stamp(missing)));
        }
        while let Some(next) = self.order.pop_front_if(|next| stamp(next) <= cut) {
            self.run(next).map_err(|node: NodeId| {
                format!("node {} sent what cannot be executed before the cut, {cut}", node.0)
            })?;
        }
        Ok(())
    }

    /// Begins the view: what was not executed is refused, and places reserved by who is no more are aborted.
    fn begin(&mut self, install: &Install<'_>, topology: Topology) -> Vec<(Address, OwnedFrame)> {
        let view = install.view;
        let readers = self.memory.abort(|node| topology.switch_of(node).is_some());
        self.resolve(readers, &ReadValue::Aborted, (self.config.me, self.rank));
        self.memory.forget_readers();
        self.settle_own(install);
        let left = |node| topology.switch_of(node).is_none();
        self.refuse_plain(left, &Refusal::ViewChanged(view));
        self.config.isonet = Arc::new(self.config.isonet.among(topology));
        self.outgoing.begin_view(self.manager_of(self.config.me));
        (self.shared, self.passed, self.last_marker, self.halt) = (None, None, None, None);
        self.to_announce.clear();
        self.behind.clear();
        self.arrived.clear();
        self.last_part.clear();
        self.unanswered.clear();
        self.order.clear();
        self.answering.clear();
        self.place = Place::start_of(view);
        self.fence.begin(view)
    }

    /// Tells the program which of its isochrons were executed and which not. Places that it would have reserved are not, and those that it would have given a value still wait
    /// for one.
    fn settle_own(&mut self, install: &Install<'_>) {
        let mut has_lost = false;
        for (rank, own) in core::mem::take(&mut self.own) {
            if rank <= install.executed || own.place.is_some() {
                let place = own.place.unwrap_or(Place { stamp: install.cut, behind: 0 });
                let values: Vec<ReadValue> =
                    own.values.into_iter().map(|value| value.unwrap_or(ReadValue::Aborted)).collect();
                let completed = Completed { place, rank, values };
                self.outgoing.tell(COMPLETED, own.token, encode_to_vec(&completed));
                continue;
            }
            if !has_lost {
                self.reserved = own.reserved_before;
                has_lost = true;
            }
            if self.config.keeps_witness {
                self.witness.push(Witnessed::Lost { rank });
            }
            self.refuse(own.token, &Refusal::ViewChanged(install.view));
        }
    }

    /// Takes the frames that came before their view.
    pub(super) fn take_early(&mut self, early: Vec<(Address, OwnedFrame)>, out: &mut dyn Outbox) {
        early.into_iter().for_each(|(from, frame)| self.take(from, frame.borrow(), out));
    }
}

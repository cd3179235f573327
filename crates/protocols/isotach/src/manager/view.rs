//! A new view: pulses begin anew, in its topology. What is known of the one before is told to its nodes.

use super::TokenManager;
use crate::codec::{FAREWELL, Farewell, INSTALLED, NextView, Ordered, REFUSED, Refusal, pieces};
use crate::config::ManagerConfig;
use crate::defect::seeded;
use crate::frames::EMPTY;
use crate::lane::Lane;
use crate::logical_time::View;
use crate::topology::Topology;
use quintet_contract::{Address, Frame, NodeId, Outbox, OwnedFrame, Time, Token};
use quintet_wire::Decode;
use quintet_wire::registry::PORT_ISOTACH;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

impl TokenManager {
    /// The program of this node says what the next view is.
    pub(super) fn next_view(&mut self, now: Time, from: Address, asked: Frame<'_>, out: &mut dyn Outbox) {
        match self.read_next_view(from, asked) {
            Ok(config) => {
                self.enter(now, config, out);
                self.answers.push(INSTALLED, asked.token, &EMPTY);
            }
            Err(problem) => self.answers.push(REFUSED, asked.token, &Refusal::Misuse(problem)),
        }
        self.asked_by = Some(from);
    }

    /// The node in whose process it is goes to a view in which this manager keeps the pulse of a switch.
    pub(crate) fn go_to(
        &mut self,
        now: Time,
        (view, topology): (View, Topology),
        switch: usize,
        out: &mut dyn Outbox,
    ) {
        self.enter(now, self.config_in(view, topology, switch), out);
        self.flush(out);
    }

    fn enter(&mut self, now: Time, config: ManagerConfig, out: &mut dyn Outbox) {
        let early = self.begin(config);
        early.into_iter().for_each(|(from, frame)| self.take(now, from, frame.borrow(), out));
    }

    fn read_next_view(&self, from: Address, asked: Frame<'_>) -> Result<ManagerConfig, String> {
        let next = NextView::decode_all(asked.body).map_err(|error| error.to_string())?;
        let topology = Topology::parse(next.topology).map_err(|error| error.to_string())?;
        if next.view <= self.fence.view {
            return Err(format!("view {} does not follow view {}", next.view.0, self.fence.view.0));
        }
        let here = topology.switch_kept_by(from.node);
        let switch =
            here.ok_or_else(|| format!("node {} stands for no switch of the new view", from.node.0))?;
        Ok(self.config_in(next.view, topology, switch))
    }

    fn config_in(&self, view: View, topology: Topology, switch: usize) -> ManagerConfig {
        let isonet = Arc::new(self.config.isonet.among(topology));
        let mut config = self.config.clone();
        (config.isonet, config.switch, config.view) = (isonet, switch, view);
        config
    }

    fn begin(&mut self, config: ManagerConfig) -> Vec<(Address, OwnedFrame)> {
        let last_words = self.farewells(config.view, config.isonet.topology());
        let early = self.fence.begin(config.view);
        let fence = core::mem::replace(&mut self.fence, crate::fence::Fence::new(config.view, false));
        let counters = core::mem::take(&mut self.counters).into_next_view();
        let mut gone = core::mem::take(&mut self.gone);
        let topology = config.isonet.topology();
        gone.retain(|peer| {
            topology.switch_of(peer.node).is_some() || topology.switch_kept_by(peer.node).is_some()
        });
        *self = TokenManager { fence, counters, last_words, gone, ..TokenManager::new(config) };
        self.stop_for_who_is_gone();
        early
    }

    /// What nodes that go on have not been told of the view: what has a place, here and on the way to the neighbours. It goes to the nodes of all switches. Who
    /// has executed it may be gone, with all nodes of this switch, and the manager of a receiver's switch may have left the view before it came there; somebody between
    /// them knows it. What nodes were told is for all as well: a node may have lost it with its link. If one of them is in this process, it is always told, and tells the others.
    fn farewells(&mut self, view: View, next: &Topology) -> BTreeMap<Address, Lane> {
        let known: BTreeSet<Ordered> = self.calendar.keys().copied().collect();
        let carried = self.neighbours.iter().flat_map(|neighbour| neighbour.carried());
        let known: BTreeSet<Ordered> = known.into_iter().chain(carried).collect();
        let told: BTreeSet<Ordered> = core::mem::take(&mut self.told).all().collect();
        let mut nodes = core::mem::take(&mut self.nodes);
        let is_ahead = |ordered: &Ordered| {
            nodes.get(&ordered.sender).is_some_and(|sender| sender.stable.is_ahead(ordered.rank))
        };
        // Those that their only receivers may lack: nobody has executed them.
        let ahead: BTreeSet<Ordered> = known
            .iter()
            .chain(&told)
            .chain(nodes.values().flat_map(|node| &node.markers))
            .copied()
            .filter(is_ahead)
            .collect();
        let me = self.config.isonet.topology().switches()[self.config.switch].manager;
        let is_beside = next.switch_of(me).is_some();
        let present = self.config.isonet.topology().nodes();
        let staying = present.filter(|node| next.switch_of(*node).is_some());
        let farewell = |node: NodeId| {
            let attached = nodes.remove(&node);
            let is_told = attached.is_some() || !seeded!(self.config, FarewellAtHome);
            let attached = attached.unwrap_or_default();
            let mut lane = attached.lane;
            let is_all_told = (!is_beside || node == me) && !seeded!(self.config, FarewellForgetsTold);
            let told = told.iter().filter(|_| is_all_told);
            let known: BTreeSet<Ordered> =
                known.iter().chain(told).copied().chain(attached.markers).collect();
            let mut known: Vec<Ordered> = known.difference(&ahead).copied().collect();
            if seeded!(self.config, FarewellLeftOut) || !is_told {
                known.clear();
            }
            for (is_complete, known) in pieces(&known) {
                let farewell = Farewell { view: self.config.view, is_complete, known };
                lane.push(FAREWELL, Token(0), &farewell);
            }
            (Address { node, port: PORT_ISOTACH }, lane)
        };
        let mut last_words = core::mem::take(&mut self.last_words);
        for (to, lane) in staying.map(farewell) {
            last_words.entry(to).or_default().follow(lane);
        }
        // Of views between the two this manager knows nothing: who is in one of them waits for no more.
        let begins = Farewell { view, is_complete: false, known: Vec::new() };
        for node in next.nodes() {
            let lane = last_words.entry(Address { node, port: PORT_ISOTACH }).or_default();
            lane.push(FAREWELL, Token(0), &begins);
        }
        last_words
    }
}

//! The token manager of a switch: keeps the pulse, with the managers of the neighbouring switches, and tells each of its nodes what
//! that executes when.

mod invariants;
mod metrics;
mod stability;
#[cfg(test)]
mod tests;
mod tokens;
mod view;

use crate::codec::{
    ANNOUNCE, Announced, HALTED, Halt, HaltCause, Halted, MARKERS, MARKERS_OF_A_FRAME, Markers, NEXT_VIEW,
    Ordered, RECEIVED, Receivers, TOKEN, read_announcements, read_received, read_token,
};
use crate::config::ManagerConfig;
use crate::cut::Told;
use crate::defect::seeded;
use crate::fence::{Fence, Passage};
use crate::isonet::Delivery;
use crate::lane::Lane;
use crate::logical_time::{Pulse, View};
use crate::siu::Siu;
use crate::tally::Tally;
pub(crate) use metrics::ManagerCounters;
use quintet_contract::{
    Address, Disconnect, Frame, Input, Meter, NodeId, Outbox, PeerChange, Protocol, SendError, Time,
    Token as FrameToken,
};
use quintet_wire::registry::{PORT_CALLERS, PORT_ISOTACH, PORT_TOKEN_MANAGER};
use stability::Stability;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use tokens::Neighbour;

/// The token manager of one switch.
///
/// # When a pulse ends
/// The pulse is the number of the last token sent. Token `i + 1` goes to all neighbours once token `i` has come from all of them, and only while
/// some stamp that is known here, or some token that has come, is above the pulse. With it the pulse `i + 1` ends here: all that is executed in it
/// is known, and told to the nodes that have a part of it.
#[derive(Debug)]
pub struct TokenManager {
    config: ManagerConfig,
    fence: Fence,
    /// The number of the last token sent, which is the pulse.
    clock: u64,
    /// The pulse up to which tokens go.
    wanted: u64,
    neighbours: Vec<Neighbour>,
    nodes: BTreeMap<NodeId, Attached>,
    unsent: Unsent,
    /// What nodes that were at this switch in the view before have not taken of it.
    last_words: BTreeMap<Address, Lane>,
    /// What nodes of this switch execute in pulses that have not ended, and which of them.
    calendar: BTreeMap<Ordered, Receivers>,
    scheduled: Tally,
    /// What nodes of this switch were told to execute. One that could not be reached for a while may lack it, and stay, where another one has executed it and is gone.
    told: Told,
    /// Why the nodes here execute nothing any more in this view.
    halt: Option<Halt>,
    /// Who broke the protocol in this view, and is heard no more.
    cut_off: BTreeSet<Address>,
    /// Who cannot be reached.
    gone: BTreeSet<Address>,
    /// What the program of this node was answered, and has not taken.
    answers: Lane,
    asked_by: Option<Address>,
    /// There may be a pulse to end, at the end of the burst that began then.
    woken: Option<Time>,
    counters: ManagerCounters,
}

/// For whom something waits to be sent: few of the many that there may be at a switch, and beside it.
#[derive(Default, Debug)]
struct Unsent {
    nodes: BTreeSet<NodeId>,
    /// Which of the neighbours.
    neighbours: BTreeSet<usize>,
}

/// A node at this switch.
#[derive(Default, Debug)]
struct Attached {
    stable: Stability,
    siu: Siu,
    lane: Lane,
    /// Markers for which there was no room, and whose isochrons they are of.
    markers: VecDeque<Ordered>,
    waiting: Tally,
}

impl TokenManager {
    /// The manager of a switch, in pulse 0.
    ///
    /// # Panics
    /// If the topology has no such switch.
    #[must_use]
    pub fn new(config: ManagerConfig) -> TokenManager {
        let topology = config.isonet.topology();
        let here = &topology.switches()[config.switch];
        let nodes = here.nodes.iter().map(|node| (*node, Attached::default())).collect();
        let neighbour = |switch: &usize| {
            let node = topology.switches()[*switch].manager;
            Neighbour::new(*switch, Address { node, port: PORT_TOKEN_MANAGER })
        };
        let neighbours = topology.neighbours(config.switch).iter().map(neighbour).collect();
        TokenManager {
            fence: Fence::new(config.view, seeded!(config, StaleView)),
            config,
            clock: 0,
            wanted: 0,
            neighbours,
            nodes,
            unsent: Unsent::default(),
            last_words: BTreeMap::new(),
            calendar: BTreeMap::new(),
            scheduled: Tally::default(),
            told: Told::default(),
            halt: None,
            cut_off: BTreeSet::new(),
            gone: BTreeSet::new(),
            answers: Lane::default(),
            asked_by: None,
            woken: None,
            counters: ManagerCounters::default(),
        }
    }

    /// The pulse.
    #[must_use]
    pub fn pulse(&self) -> Pulse {
        Pulse(self.clock)
    }

    /// The view.
    #[must_use]
    pub fn view(&self) -> View {
        self.config.view
    }

    /// Why the nodes of its switch execute nothing any more, if that is so.
    #[must_use]
    pub fn halt(&self) -> Option<Halt> {
        self.halt
    }

    /// What it has counted, and how many frames it has fenced.
    pub(crate) fn counted(&self) -> (&ManagerCounters, u64) {
        (&self.counters, self.fence.fenced)
    }

    /// Announcements of a node: stamped in their order.
    fn announced(&mut self, from: Address, body: &[u8]) -> Result<(), Broken> {
        let (_, announcements) = read_announcements(body).map_err(|_| Broken)?;
        if from.port != PORT_ISOTACH || !self.nodes.contains_key(&from.node) {
            return Err(Broken);
        }
        let delivery = self.config.isonet.delivery();
        let node = self.nodes.get_mut(&from.node).ok_or(Broken)?;
        announcements
            .into_iter()
            .try_for_each(|announced| node.stable.announced(from.node, announced, delivery))?;
        self.stamp_stable(from.node)
    }

    /// A node has parts of isochrons of nodes at this switch.
    fn received(&mut self, from: Address, body: &[u8]) -> Result<(), Broken> {
        let (_, received) = read_received(body).map_err(|_| Broken)?;
        let is_node =
            from.port == PORT_ISOTACH && self.config.isonet.topology().switch_of(from.node).is_some();
        let is_asked = is_node && self.config.isonet.delivery() == Delivery::Safe;
        for (sender, rank) in received {
            let node = self.nodes.get_mut(&sender).filter(|_| is_asked).ok_or(Broken)?;
            node.stable.received(from.node, rank)?;
            self.stamp_stable(sender)?;
        }
        Ok(())
    }

    /// Stamps what can be stamped, in the order in which it was announced.
    fn stamp_stable(&mut self, sender: NodeId) -> Result<(), Broken> {
        while let Some(announced) = self.next_stable(sender) {
            self.stamp(sender, announced)?;
        }
        Ok(())
    }

    fn next_stable(&mut self, sender: NodeId) -> Option<Announced> {
        let topology = self.config.isonet.topology();
        let is_here = |node| topology.switch_of(node) == Some(self.config.switch);
        let holds_back = !seeded!(self.config, StampedAhead);
        self.nodes.get_mut(&sender)?.stable.next(is_here, holds_back)
    }

    fn stamp(&mut self, sender: NodeId, Announced { rank, receivers }: Announced) -> Result<(), Broken> {
        let topology = self.config.isonet.topology();
        let mut farthest = 1;
        for receiver in &receivers {
            farthest = farthest.max(topology.distance(sender, *receiver).ok_or(Broken)?);
        }
        let node = self.nodes.get_mut(&sender).ok_or(Broken)?;
        let pulse = node.siu.stamp(Pulse(self.clock), farthest, rank).ok_or(Broken)?;
        self.counters.isochrons += 1;
        self.schedule(Ordered { pulse, sender, rank }, receivers)
    }

    /// Notes an isochron for the receivers here, and passes it on towards the others.
    ///
    /// # Errors
    /// Its sender has more under way than a node may have.
    fn schedule(&mut self, ordered: Ordered, receivers: Receivers) -> Result<(), Broken> {
        self.wanted = self.wanted.max(ordered.pulse.0);
        let topology = self.config.isonet.topology();
        let mut here = Receivers::new();
        let mut beyond: BTreeMap<usize, Receivers> = BTreeMap::new();
        for receiver in receivers {
            match topology.switch_of(receiver) {
                Some(switch) if switch == self.config.switch => here.push(receiver),
                Some(switch) => {
                    let next = topology.next(self.config.switch, switch);
                    beyond.entry(next).or_default().push(receiver);
                }
                None => unreachable!("receivers are looked up before"),
            }
        }
        if seeded!(self.config, IsochronSplit) && here.len() > 1 {
            let late = here.pop().into_iter().collect();
            let pulse = Pulse(ordered.pulse.0 + 1);
            self.wanted = self.wanted.max(pulse.0);
            self.calendar.insert(Ordered { pulse, ..ordered }, late);
        }
        let mut is_within = true;
        for (switch, receivers) in beyond {
            let at = self.neighbour_of(switch).expect("the next switch on a way is a neighbour");
            is_within &= self.neighbours[at].carry(ordered, receivers);
        }
        if !here.is_empty() {
            is_within &= self.scheduled.add(ordered.sender);
            self.calendar.insert(ordered, here);
        }
        if is_within { Ok(()) } else { Err(Broken) }
    }

    /// Ends as many pulses as can end.
    fn advance(&mut self, now: Time) {
        while self.clock < self.wanted && self.neighbours.iter().all(|one| one.received >= self.clock) {
            self.clock += 1;
            self.counters.pulse(now, self.neighbours.len());
            for (at, neighbour) in self.neighbours.iter_mut().enumerate() {
                neighbour.send_token(&self.config, self.clock);
                self.unsent.neighbours.insert(at);
            }
            self.drain();
        }
    }

    /// Tells the nodes what they execute in the pulses that have ended.
    fn drain(&mut self) {
        let mut flooding = None;
        while let Some(entry) = self.calendar.first_entry() {
            let early = u64::from(seeded!(self.config, DrainedEarly));
            if entry.key().pulse.0 > self.clock + early {
                break;
            }
            let (ordered, receivers) = entry.remove_entry();
            self.scheduled.remove(ordered.sender);
            self.told.add(ordered);
            for receiver in receivers {
                self.counters.markers += 1;
                if seeded!(self.config, MarkerLost) && self.counters.markers.is_multiple_of(7) {
                    continue;
                }
                let node = self.nodes.get_mut(&receiver).expect("receivers here are nodes of this switch");
                self.unsent.nodes.insert(receiver);
                if !node.mark(ordered) {
                    flooding = Some(ordered.sender);
                }
            }
        }
        if let Some(node) = flooding {
            self.stop(Halt { node, cause: HaltCause::Misbehaved });
        }
    }

    fn flush(&mut self, out: &mut dyn Outbox) {
        let mut lost = None;
        self.last_words.retain(|to, lane| {
            // Who takes no frame of this size learns nothing, and is none of this view for long.
            lane.flush(*to, out, |_| {}).is_ok() && !lane.is_empty()
        });
        if let Some(to) = self.asked_by {
            // Answers are a few bytes, which every way takes.
            let _ = self.answers.flush(to, out, |_| {});
        }
        self.unsent.nodes.retain(|node| {
            let Some(attached) = self.nodes.get_mut(node) else { return false };
            let to = Address { node: *node, port: PORT_ISOTACH };
            if attached.flush(self.config.view, to, &mut self.counters.marker_frames, out).is_err() {
                lost = Some(*node);
            }
            attached.has_unsent()
        });
        self.unsent.neighbours.retain(|at| {
            let Neighbour { lane, address, .. } = &mut self.neighbours[*at];
            if lane.flush(*address, out, |_| {}).is_err() {
                lost = Some(address.node);
            }
            !lane.is_empty()
        });
        if let Some(node) = lost.filter(|_| self.halt.is_none()) {
            self.stop(Halt { node, cause: HaltCause::Gone });
            // The others are told at once: nothing else may come that would have them told.
            self.flush(out);
        }
    }

    /// Has all that wait for it execute nothing any more in this view. What they have sent is put into order all the same: the more of it has its place, the
    /// more the next view finds it.
    fn stop(&mut self, halt: Halt) {
        if self.halt.is_some() {
            return;
        }
        self.halt = Some(halt);
        let halted = Halted { view: self.config.view, halt };
        let nodes = self.nodes.values_mut().map(|node| &mut node.lane);
        let neighbours = self.neighbours.iter_mut().map(|neighbour| &mut neighbour.lane);
        nodes.chain(neighbours).for_each(|lane| lane.push(HALTED, FrameToken(0), &halted));
        self.unsent.nodes.extend(self.nodes.keys());
        self.unsent.neighbours.extend(0..self.neighbours.len());
    }

    fn take(&mut self, now: Time, from: Address, frame: Frame<'_>, out: &mut dyn Outbox) {
        if frame.kind == NEXT_VIEW && from.port == PORT_CALLERS {
            return self.next_view(now, from, frame, out);
        }
        let passage = self.fence.passage(from, frame);
        let taken = match frame.kind {
            _ if passage == Passage::Flood => Err(Broken),
            _ if passage == Passage::Not || self.cut_off.contains(&from) => Ok(()),
            ANNOUNCE => self.announced(from, frame.body),
            RECEIVED => self.received(from, frame.body),
            TOKEN => read_token(frame.body).map_err(|_| Broken).and_then(|token| self.token(from, token)),
            HALTED => self.told_halted(from, frame.body),
            _ => Err(Broken),
        };
        if taken.is_err() {
            self.cut_off.insert(from);
            out.disconnect(from, Disconnect::ForGood);
            self.stop(Halt { node: from.node, cause: HaltCause::Misbehaved });
        }
        self.woken = Some(now);
    }

    fn told_halted(&mut self, from: Address, body: &[u8]) -> Result<(), Broken> {
        let halted = <Halted as quintet_wire::Decode>::decode_all(body).map_err(|_| Broken)?;
        self.neighbour_at(from).ok_or(Broken)?;
        self.stop(halted.halt);
        Ok(())
    }

    fn unblock(&mut self, at: Address) {
        if Some(at) == self.asked_by {
            self.answers.unblock();
        }
        self.last_words.get_mut(&at).into_iter().for_each(Lane::unblock);
        if at.port == PORT_ISOTACH {
            self.nodes.get_mut(&at.node).into_iter().for_each(|node| node.lane.unblock());
        }
        if let Some(at) = self.neighbour_at(at) {
            self.neighbours[at].lane.unblock();
        }
    }

    fn changed(&mut self, peer: Address, change: &PeerChange) {
        match change {
            PeerChange::Up { .. } => {
                self.gone.remove(&peer);
                self.unblock(peer);
            }
            PeerChange::Down(_) => {
                self.gone.insert(peer);
                self.stop_for_who_is_gone();
            }
        }
    }

    /// Who waits for a node of this switch, or for a manager beside it, that is gone waits no more.
    fn stop_for_who_is_gone(&mut self) {
        let is_ours = |peer: &&Address| {
            let is_node = peer.port == PORT_ISOTACH && self.nodes.contains_key(&peer.node);
            is_node || self.neighbour_at(**peer).is_some()
        };
        if let Some(peer) = self.gone.iter().find(is_ours).copied() {
            self.stop(Halt { node: peer.node, cause: HaltCause::Gone });
        }
    }
}

/// A peer broke the protocol.
#[derive(Debug)]
struct Broken;

impl Attached {
    /// One more isochron that the node executes. False if its sender has as many waiting here as may be.
    fn mark(&mut self, ordered: Ordered) -> bool {
        self.markers.push_back(ordered);
        self.waiting.add(ordered.sender)
    }

    fn has_unsent(&self) -> bool {
        !self.lane.is_empty() || !self.markers.is_empty()
    }

    /// Sends what there is room for: as many markers in a frame as there are.
    fn flush(
        &mut self,
        view: View,
        to: Address,
        marker_frames: &mut u64,
        out: &mut dyn Outbox,
    ) -> Result<(), SendError> {
        self.lane.flush(to, out, |_| {})?;
        while self.lane.is_empty() && !self.markers.is_empty() {
            let count = self.markers.len().min(MARKERS_OF_A_FRAME);
            self.lane.push(MARKERS, FrameToken(0), &Markers { view, ordered: self.markers.range(..count) });
            self.markers.drain(..count).for_each(|ordered| self.waiting.remove(ordered.sender));
            *marker_frames += 1;
            self.lane.flush(to, out, |_| {})?;
        }
        Ok(())
    }
}

impl Protocol for TokenManager {
    fn handle(&mut self, now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        match input {
            Input::Started => {}
            Input::Wake => {
                self.woken = None;
                self.advance(now);
            }
            Input::Frame(from, frame) => self.take(now, from, frame, out),
            Input::Writable(at) => self.unblock(at),
            Input::Peer(peer, change) => self.changed(peer, change),
        }
        self.flush(out);
    }

    fn deadline(&self) -> Option<Time> {
        self.woken
    }

    fn measure(&self, meter: &mut Meter<'_>) {
        self.counters.tell(self.fence.fenced, meter);
    }
}

//! Links that keep the order of frames and lose none, delay them at random, and are full at random.

use super::machine::Machine;
use super::record::{Record, There};
use quintet_contract::{
    Address, Bytes, Disconnect, DownCause, Draft, Incarnation, Input, Kind, LinkClass, LinkInfo, NodeId,
    Outbox, OwnedFrame, PeerChange, Protocol, Random, SendError, Time, Token,
};
use quintet_isotach::{Isonet, ManagerConfig, NodeConfig, TokenManager, View};
use quintet_wire::registry::{PORT_CALLERS, PORT_ISOTACH, PORT_TOKEN_MANAGER};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

pub(crate) const fn node_at(node: NodeId) -> Address {
    Address { node, port: PORT_ISOTACH }
}

pub(crate) const fn callers_of(node: NodeId) -> Address {
    Address { node, port: PORT_CALLERS }
}

pub(crate) const fn manager_at(node: NodeId) -> Address {
    Address { node, port: PORT_TOKEN_MANAGER }
}

/// The token manager in the process of node `n` is this node and `n`.
pub(crate) const MANAGERS: u16 = 1000;

/// Who says what the next view is, and where token managers are.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) enum Setting {
    /// Programs are told. Token managers have nodes of their own.
    #[default]
    Told,
    /// Nodes agree on it by themselves. Token managers have nodes of their own, [`MANAGERS`] further on.
    Agreed,
    /// The same, and each node has a token manager at its own address.
    Members,
}

/// A node that is to be woken later waits for others, and not for its turn.
const PATIENCE: Time = Time(200_000_000);

type Way = (Address, Address);

#[derive(Default)]
pub(crate) struct Net {
    pub(crate) nodes: BTreeMap<NodeId, Machine>,
    pub(crate) managers: BTreeMap<NodeId, TokenManager>,
    links: BTreeMap<Way, VecDeque<OwnedFrame>>,
    /// Ways whose sender was told that they are full.
    full: BTreeSet<Way>,
    /// What nodes told their programs.
    pub(crate) told: BTreeMap<NodeId, VecDeque<OwnedFrame>>,
    /// Who was cut off by whom.
    pub(crate) cut_off: Vec<(Address, Address)>,
    /// The first of whom something is not so that is always, and what.
    pub(crate) broken: Option<(Address, &'static str)>,
    /// One in so many frames finds its link full.
    refused_per_million: u32,
    /// Who cannot reach whom, though both are there.
    apart: BTreeSet<(NodeId, NodeId)>,
    /// Somebody has ended, and not all have heard so, nor what that one sent last.
    pub(crate) is_ending: bool,
    setting: Setting,
    defect: Option<quintet_isotach::Defect>,
    /// What they do, if it is to be written down.
    pub(crate) record: Option<Box<dyn Record>>,
}

/// What may happen next.
#[derive(Clone, Copy, Debug)]
enum Event {
    Arrives(Way),
    HasRoom(Way),
    Wakes(Address),
}

struct Sending<'a> {
    me: Address,
    net: &'a mut BTreeMap<Way, VecDeque<OwnedFrame>>,
    full: &'a mut BTreeSet<Way>,
    told: &'a mut VecDeque<OwnedFrame>,
    cut_off: &'a mut Vec<(Address, Address)>,
    random: &'a mut Random,
    refused_per_million: u32,
    apart: &'a BTreeSet<(NodeId, NodeId)>,
    draft: Option<Draft>,
}

impl Outbox for Sending<'_> {
    fn begin(
        &mut self,
        to: Address,
        kind: Kind,
        token: Token,
        at_most: usize,
    ) -> Result<&mut [u8], SendError> {
        if self.random.chance(self.refused_per_million) {
            self.full.insert((self.me, to));
            return Err(SendError::Full);
        }
        Ok(self.draft.insert(Draft::new(to, kind, token, at_most)).room())
    }

    fn commit(&mut self, len: usize) {
        let (to, frame) = self.draft.take().expect("one was begun").commit(len);
        if to.port == PORT_CALLERS {
            self.told.push_back(frame);
        } else if !self.apart.contains(&(self.me.node, to.node)) {
            self.net.entry((self.me, to)).or_default().push_back(frame);
        }
    }

    fn send_bulk(&mut self, _: Address, _: Kind, _: Token, _: &[u8], _: Bytes) -> Result<(), SendError> {
        unreachable!("isochrons have no bulk")
    }

    fn disconnect(&mut self, peer: Address, _: Disconnect) {
        self.cut_off.push((self.me, peer));
    }
}

impl Net {
    pub(crate) fn new(
        isonet: &Arc<Isonet>,
        random: &mut Random,
        defect: Option<quintet_isotach::Defect>,
        setting: Setting,
    ) -> Net {
        let refused_per_million = [0, 20_000, 300_000][usize::try_from(random.below(3)).expect("small")];
        let mut net = Net { refused_per_million, setting, defect, ..Net::default() };
        for node in isonet.topology().nodes() {
            let config = NodeConfig::new(node, callers_of(node), View(1), isonet.clone());
            net.add(config);
        }
        if setting == Setting::Members {
            return net;
        }
        for (switch, described) in isonet.topology().switches().iter().enumerate() {
            let config = ManagerConfig { defect, ..ManagerConfig::new(isonet.clone(), switch, View(1)) };
            net.managers.insert(described.manager, TokenManager::new(config));
        }
        net
    }

    /// Token managers that a view needs and that are not there are started in it, those that it does not need end.
    pub(crate) fn staff(&mut self, isonet: &Arc<Isonet>, view: View, random: &mut Random) {
        let switches = isonet.topology().switches();
        let needed: BTreeSet<NodeId> = switches.iter().map(|switch| switch.manager).collect();
        let idle: Vec<NodeId> = self.managers.keys().filter(|node| !needed.contains(node)).copied().collect();
        for node in idle {
            self.crash(node);
            self.everybody().into_iter().for_each(|at| self.tell_down(at, manager_at(node), random));
        }
        for (switch, described) in switches.iter().enumerate() {
            let config = ManagerConfig::new(isonet.clone(), switch, view);
            self.managers.entry(described.manager).or_insert_with(|| TokenManager::new(config));
        }
    }

    pub(crate) fn give(&mut self, at: Address, input: Input<'_>, random: &mut Random) {
        if let Some(record) = &mut self.record {
            record.takes(at, &input);
        }
        let told_before = self.told.get(&at.node).map_or(0, VecDeque::len);
        let mut out = Sending {
            me: at,
            net: &mut self.links,
            full: &mut self.full,
            told: self.told.entry(at.node).or_default(),
            cut_off: &mut self.cut_off,
            random,
            refused_per_million: self.refused_per_million,
            apart: &self.apart,
            draft: None,
        };
        if at.port == PORT_TOKEN_MANAGER {
            let manager = self.managers.get_mut(&at.node).into_iter();
            manager.for_each(|manager| manager.handle(Time(1), input, &mut out));
        } else if let Some(node) = self.nodes.get_mut(&at.node) {
            // Whoever is woken is woken in time, however long that is for others.
            let now = if matches!(input, Input::Wake) { node.deadline() } else { None };
            node.protocol().handle(now.unwrap_or(Time(1)), input, &mut out);
        }
        self.look_into(at);
        self.write_down(at, told_before);
    }

    fn look_into(&mut self, at: Address) {
        let broken = match at.port {
            PORT_TOKEN_MANAGER => self.managers.get(&at.node).and_then(TokenManager::broken_invariant),
            _ => self.nodes.get(&at.node).and_then(Machine::broken_invariant),
        };
        self.broken = self.broken.or(broken.map(|broken| (at, broken)));
    }

    fn write_down(&mut self, at: Address, told_before: usize) {
        let Some(record) = &mut self.record else { return };
        let told = self.told.get(&at.node).into_iter().flatten().skip(told_before);
        let (node, manager) = (self.nodes.get(&at.node), self.managers.get(&at.node));
        record.took(at, &There { node, manager, told: told.map(OwnedFrame::borrow).collect() });
    }

    /// Whether it is a token manager that the program of a node is to start beside it.
    fn is_to_start(&self, at: Address) -> bool {
        let beside = at.node.0.checked_sub(MANAGERS).map(NodeId);
        let is_needed = beside.is_some_and(|beside| self.nodes.contains_key(&beside));
        at.port == PORT_TOKEN_MANAGER && is_needed && !self.managers.contains_key(&at.node)
    }

    /// Whether a program has been told all that its node had to tell.
    pub(crate) fn is_told(&self, node: NodeId) -> bool {
        !self.full.contains(&(node_at(node), callers_of(node)))
    }

    /// One thing that may happen, happens. False if there is none.
    pub(crate) fn step(&mut self, random: &mut Random) -> bool {
        let arrivals =
            self.links.iter().filter(|((_, to), frames)| !frames.is_empty() && !self.is_to_start(*to));
        let mut events: Vec<Event> = arrivals.map(|(way, _)| Event::Arrives(*way)).collect();
        events.extend(self.full.iter().copied().map(Event::HasRoom));
        let woken = self.managers.iter().filter(|(_, manager)| manager.deadline().is_some());
        events.extend(woken.map(|(node, _)| Event::Wakes(manager_at(*node))));
        // Who waits for long hears first what is on its way.
        let is_quiet = events.is_empty() && !self.is_ending;
        let is_woken = |node: &Machine| node.deadline().is_some_and(|at| is_quiet || at < PATIENCE);
        let woken = self.nodes.iter().filter(|(_, node)| is_woken(node));
        events.extend(woken.map(|(node, _)| Event::Wakes(node_at(*node))));
        if events.is_empty() {
            return false;
        }
        let chosen = usize::try_from(random.below(events.len() as u64)).expect("few");
        match events[chosen] {
            Event::Arrives((from, to)) => {
                let frame =
                    self.links.get_mut(&(from, to)).and_then(VecDeque::pop_front).expect("one is there");
                self.give(to, Input::Frame(from, frame.borrow()), random);
            }
            Event::HasRoom((from, to)) => {
                self.full.remove(&(from, to));
                self.give(from, Input::Writable(to), random);
            }
            Event::Wakes(at) => self.give(at, Input::Wake, random),
        }
        true
    }

    pub(crate) fn is_never_full(&mut self) {
        self.refused_per_million = 0;
    }

    /// The next frame of one for another arrives. False if there is none.
    pub(crate) fn deliver(&mut self, from: Address, to: Address, random: &mut Random) -> bool {
        let Some(frame) = self.links.get_mut(&(from, to)).and_then(VecDeque::pop_front) else { return false };
        self.give(to, Input::Frame(from, frame.borrow()), random);
        true
    }

    /// What somebody has sent, and has not arrived, is lost.
    pub(crate) fn lose_from(&mut self, sender: Address) {
        self.links.retain(|(from, _), _| *from != sender);
    }

    /// What one has sent to another, and has not arrived, is lost.
    pub(crate) fn lose_between(&mut self, sender: Address, receiver: Address) {
        self.links.remove(&(sender, receiver));
    }

    /// Two nodes cannot reach each other any more, and hear of that.
    pub(crate) fn part(&mut self, one: NodeId, other: NodeId) {
        for (from, to) in [(one, other), (other, one)] {
            self.apart.insert((from, to));
            self.links.remove(&(node_at(from), node_at(to)));
            self.full.remove(&(node_at(from), node_at(to)));
        }
    }

    /// A node, or a token manager, ends: what it has sent is still under way, what is for it is lost.
    pub(crate) fn crash(&mut self, node: NodeId) {
        self.record.iter_mut().for_each(|record| record.ends(node));
        self.nodes.remove(&node);
        self.managers.remove(&node);
        self.links.retain(|(_, to), _| to.node != node);
        self.full.retain(|(from, _)| from.node != node);
    }

    /// Links that frames of a node are still under way on are held back, and given back later.
    pub(crate) fn hold_back(
        &mut self,
        from: NodeId,
        random: &mut Random,
    ) -> BTreeMap<Way, VecDeque<OwnedFrame>> {
        let mut held = BTreeMap::new();
        for (way, frames) in self.links.iter_mut().filter(|((sender, _), _)| sender.node == from) {
            let kept = usize::try_from(random.below(frames.len() as u64 + 1)).expect("few");
            held.insert(*way, frames.split_off(kept));
        }
        held
    }

    pub(crate) fn let_go(&mut self, held: BTreeMap<Way, VecDeque<OwnedFrame>>) {
        for (way, frames) in held {
            self.links.entry(way).or_default().extend(frames);
        }
    }

    /// A later process of a node begins: nothing that was on its way to or from an earlier one arrives any more.
    pub(crate) fn join(&mut self, node: NodeId, life: u64, first: &Arc<Isonet>) {
        self.links.retain(|(from, to), _| from.node != node && to.node != node);
        self.full.retain(|(from, to)| from.node != node && to.node != node);
        let config = NodeConfig::new(node, callers_of(node), View(0), first.clone());
        self.told.remove(&node);
        self.record.iter_mut().for_each(|record| record.returns(node));
        self.add(NodeConfig { joins: Some(life), ..config });
    }

    fn add(&mut self, config: NodeConfig) {
        let config = NodeConfig { keeps_witness: true, defect: self.defect, ..config };
        self.nodes.insert(config.me, Machine::new(self.setting, config));
    }

    /// All that is there: nodes, and token managers.
    pub(crate) fn everybody(&self) -> Vec<Address> {
        let managers = self.managers.keys().map(|node| manager_at(*node));
        self.nodes.keys().copied().map(node_at).chain(managers).collect()
    }

    pub(crate) fn tell_up(&mut self, at: Address, there: Address, random: &mut Random) {
        let (incarnation, link) = (Incarnation(1), LinkInfo::new(LinkClass::Machine, 1 << 16));
        self.give(at, Input::Peer(there, &PeerChange::Up { incarnation, link }), random);
    }

    pub(crate) fn tell_down(&mut self, at: Address, gone: Address, random: &mut Random) {
        self.give(at, Input::Peer(gone, &PeerChange::Down(DownCause::Died)), random);
    }
}

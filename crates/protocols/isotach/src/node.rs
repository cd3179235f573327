//! A node: takes isochrons from its program, sends their parts and announces them, and executes what it has parts of in the one order.

mod agree;
mod arrive;
mod begin;
mod change;
mod execute;
mod invariants;
mod join;
mod metrics;
mod outgoing;
mod parts;
mod plain;
mod submit;
mod transfer;
mod view;
mod waits;

use crate::agreement::Agreement;
use crate::codec::{
    AGREE, CUT, EXECUTED, Executed, FAREWELL, HALTED, Halt, HaltCause, Halted, LEAVE, MARKERS, NEXT_VIEW,
    Ordered, PART, PLAIN, PROGRAM_STATE, REFUSED, Refusal, SENT, SUBMIT, TRANSFER, read_markers,
};
use crate::config::NodeConfig;
use crate::cut::Told;
use crate::defect::seeded;
use crate::fence::{Fence, Passage};
use crate::isonet::Variable;
use crate::limits::MAX_UNEXECUTED;
use crate::logical_time::{Place, Rank, Stamp, View};
use crate::memory::Memory;
use crate::tally::Tally;
use crate::window::Window;
use crate::witness::{Performed, Witnessed};
use change::{Change, Held, Left};
use execute::Answering;
use join::Joins;
pub(crate) use metrics::NodeCounters;
use outgoing::Outgoing;
use parts::Parts;
use plain::PlainSent;
use quintet_contract::{
    Address, Bytes, Disconnect, Frame, Input, Meter, NodeId, Outbox, OwnedFrame, PeerChange, Protocol, Time,
    Token,
};
use quintet_wire::Decode;
use quintet_wire::registry::{PORT_ISOTACH, PORT_TOKEN_MANAGER};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use submit::Own;

/// A node of an isonet: the half of its switch interface unit that is at the node, and the manager of its shared memory.
///
/// Its program submits isochrons ([`SUBMIT`]) and is told what became of them; what isochrons say to its handlers comes as
/// [`DELIVERED`](crate::codec::DELIVERED) frames, in the one order.
#[derive(Debug)]
pub struct Node {
    config: NodeConfig,
    fence: Fence,
    /// Who is in the view as which process, and what those lack that have joined with it.
    joins: Joins,
    /// Why nothing is executed any more in this view.
    halt: Option<Halt>,
    /// Who is missed in this view, as the program was told.
    missed: BTreeMap<NodeId, HaltCause>,
    /// Who broke the protocol in this view, and is heard no more.
    cut_off: BTreeSet<Address>,
    /// Who cannot be reached.
    gone: BTreeSet<Address>,
    /// Who belongs to the next view, where the nodes agree on it by themselves.
    agreement: Option<Agreement>,
    /// Why this node executes nothing any more, in no view.
    ended: Option<Refusal>,
    /// The program was told that all want to end.
    has_left: bool,
    /// What the program has submitted since the view stopped: for the next one.
    held_back: VecDeque<OwnedFrame>,
    /// When the last input came.
    now: Time,
    /// The view that is to come.
    change: Option<Change>,
    /// Who has asked what this node knows, for which view.
    asked: Option<(NodeId, View)>,
    /// This node has told what it knows of the view, and takes nothing more of it.
    is_frozen: bool,
    /// What the view executes, if the view behind it begins: the last one, unless it turns out that an earlier one has begun.
    held: Vec<Held>,
    /// All who are left hold it: the next view begins.
    is_agreed: bool,
    /// What markers have told, and receivers of what this node has no part of.
    told: Told,
    left: Left,
    memory: Memory,
    /// Places that this node has reserved without giving a value.
    reserved: BTreeSet<Variable>,
    /// The rank of the isochron that was taken last.
    rank: Rank,
    /// Isochrons of this node that have not completed. Their local parts are the hit buffer.
    own: Window<Own>,
    /// The last of them that the token manager hears of, and whether its marker comes here.
    shared: Option<(Rank, bool)>,
    /// The isochron of this node whose marker came last.
    passed: Option<Rank>,
    /// Those that a token manager has not heard of, in order.
    to_announce: VecDeque<Rank>,
    /// Purely local ones, by the one behind which they run.
    behind: BTreeMap<Rank, Vec<Rank>>,
    /// Parts of others that were not executed.
    arrived: Parts,
    /// Parts of each sender that were not answered.
    unanswered: Tally,
    /// The part that came last of each sender.
    last_part: BTreeMap<NodeId, Rank>,
    /// What to execute next, in this order.
    order: VecDeque<Ordered>,
    /// The last of it.
    last_marker: Option<Ordered>,
    /// Parts that were executed and have reads that wait for the values of reserved places.
    answering: BTreeMap<(NodeId, Rank), Answering>,
    /// Where this node is in the order.
    place: Place,
    outgoing: Outgoing,
    /// Plain messages that have not arrived.
    plain: BTreeMap<Token, PlainSent>,
    plain_sent: u64,
    counters: NodeCounters,
    witness: Vec<Witnessed>,
    /// What was performed since this was asked last; none: nobody asks.
    performed: Option<Vec<Performed>>,
}

/// A peer broke the protocol.
#[derive(Debug)]
struct Broken;

impl Node {
    /// A node at the beginning of its view; or, if it [joins](NodeConfig::joins), in none.
    ///
    /// # Panics
    /// If the topology does not have the node.
    #[must_use]
    pub fn new(config: NodeConfig) -> Node {
        let topology = config.isonet.topology();
        let switch = topology.switch_of(config.me).expect("a node is at a switch");
        let manager = Address { node: topology.switches()[switch].manager, port: PORT_TOKEN_MANAGER };
        let outgoing = Outgoing::new(config.callers, manager);
        Node {
            fence: Fence::new(config.view, seeded!(config, StaleView)),
            joins: Joins::new(config.isonet.clone(), config.joins.is_some()),
            halt: None,
            missed: BTreeMap::new(),
            cut_off: BTreeSet::new(),
            gone: BTreeSet::new(),
            agreement: config.managers_from.map(|from| {
                let mut agreement = Agreement::new(config.me, from, config.view, topology.clone());
                agreement.one_decides = seeded!(config, OneDecides);
                match config.joins {
                    Some(life) => agreement.joins_as(life),
                    None => agreement,
                }
            }),
            ended: None,
            has_left: false,
            held_back: VecDeque::new(),
            now: Time::ZERO,
            change: None,
            asked: None,
            is_frozen: false,
            held: Vec::new(),
            is_agreed: false,
            told: Told::default(),
            left: Left::default(),
            memory: Memory::new(&config.isonet, config.me),
            reserved: BTreeSet::new(),
            rank: Rank(0),
            own: Window::default(),
            shared: None,
            passed: None,
            to_announce: VecDeque::new(),
            behind: BTreeMap::new(),
            arrived: Parts::default(),
            unanswered: Tally::default(),
            last_part: BTreeMap::new(),
            order: VecDeque::new(),
            last_marker: None,
            answering: BTreeMap::new(),
            place: Place::start_of(config.view),
            outgoing,
            plain: BTreeMap::new(),
            plain_sent: 0,
            counters: NodeCounters::default(),
            witness: Vec::new(),
            performed: None,
            config,
        }
    }

    /// The view.
    #[must_use]
    pub fn view(&self) -> View {
        self.fence.view
    }

    /// Where the node is in the order.
    #[must_use]
    pub fn place(&self) -> Place {
        self.place
    }

    /// Why nothing is executed any more, if that is so.
    #[must_use]
    pub fn halt(&self) -> Option<Halt> {
        self.halt
    }

    /// The value of a variable in this node's copy: none if it has none, or its place is reserved.
    #[must_use]
    pub fn value(&self, variable: Variable) -> Option<&Bytes> {
        self.memory.peek(variable)
    }

    /// Isochrons of this node that have not completed.
    #[must_use]
    pub fn unexecuted(&self) -> usize {
        self.own.len()
    }

    /// What it did since that was taken last: empty unless it keeps a witness.
    #[must_use]
    pub fn witness(&self) -> &[Witnessed] {
        &self.witness
    }

    /// Takes what it executed since this was asked last: empty unless it keeps a witness.
    pub fn take_witness(&mut self) -> Vec<Witnessed> {
        core::mem::take(&mut self.witness)
    }

    /// The token manager of a node's switch.
    ///
    /// # Panics
    /// If the topology does not have the node.
    fn manager_of(&self, node: NodeId) -> Address {
        let topology = self.config.isonet.topology();
        let switch = topology.switch_of(node).expect("nodes are looked up before");
        Address { node: topology.switches()[switch].manager, port: PORT_TOKEN_MANAGER }
    }

    /// Pulses that have ended, with what this node executes in them.
    fn markers(&mut self, from: Address, body: &[u8]) -> Result<(), Broken> {
        let (_, markers) = read_markers(body).map_err(|_| Broken)?;
        if from != self.outgoing.manager() {
            return Err(Broken);
        }
        let most = MAX_UNEXECUTED * self.config.isonet.topology().node_count();
        for ordered in markers {
            let is_next = self.last_marker.is_none_or(|last| last < ordered);
            let is_known = match ordered.sender {
                me if me == self.config.me => self.own.get(ordered.rank).is_some_and(Own::awaits_marker),
                other => self.config.isonet.topology().switch_of(other).is_some(),
            };
            if !is_next || !is_known || self.order.len() >= most {
                return Err(Broken);
            }
            if ordered.sender == self.config.me
                && let Some(own) = self.own.get_mut(ordered.rank)
            {
                own.is_marked = true;
            }
            self.last_marker = Some(ordered);
            self.told.add(ordered);
            self.order.push_back(ordered);
        }
        Ok(())
    }

    /// A receiver has executed its part of an isochron of this node.
    fn executed(&mut self, from: Address, frame: Frame<'_>) -> Result<(), Broken> {
        let Executed { view, pulse, values } = Executed::decode_all(frame.body).map_err(|_| Broken)?;
        let (rank, isonet) = (Rank(frame.token.0), &self.config.isonet);
        let own = self.own.get_mut(rank).ok_or(Broken)?;
        let place = Place { stamp: Stamp { view, pulse, sender: self.config.me, rank }, behind: 0 };
        if !own.answered(from, place, values, |variable| isonet.shape(variable).map(|shape| shape.bytes)) {
            return Err(Broken);
        }
        self.complete_if_done(rank);
        Ok(())
    }

    /// Executes nothing any more in this view, and tells the program why, of each node for which that is so. What the others of the view still say is taken: some of them may have
    /// executed it. What becomes of isochrons that have not completed the next view decides.
    fn stop(&mut self, halt: Halt) {
        if self.missed.get(&halt.node).is_some_and(|known| *known >= halt.cause) {
            return;
        }
        self.missed.insert(halt.node, halt.cause);
        self.halt.get_or_insert(halt);
        let halted = Halted { view: self.fence.view, halt };
        self.outgoing.tell(HALTED, Token(0), &halted);
    }

    fn refuse(&mut self, token: Token, refusal: &Refusal) {
        self.outgoing.tell(REFUSED, token, refusal);
    }

    fn take(&mut self, from: Address, frame: Frame<'_>, out: &mut dyn Outbox) {
        if from == self.config.callers {
            return self.call(frame, out);
        }
        if frame.kind == AGREE {
            if self.agree(from, frame).is_err() {
                self.cut_off(from, out);
            }
            return;
        }
        if frame.kind == TRANSFER {
            if !self.cut_off.contains(&from) && self.transfer(from, frame).is_err() {
                self.cut_off(from, out);
            }
            return;
        }
        if self.ended.is_some() {
            return;
        }
        if self.says_begun(from, frame) {
            self.is_agreed = true;
            self.begin_agreed(out);
        }
        if self.joins.outside.is_some() {
            if !self.cut_off.contains(&from) && self.take_outside(from, frame).is_err() {
                self.cut_off(from, out);
            }
            return;
        }
        if self.says_left(from, frame) {
            // It may tell of the view that begins here next: it is kept for that.
            self.lose_manager(from);
        }
        let passage = self.fence.passage(from, frame);
        let taken = match frame.kind {
            _ if passage == Passage::Flood => Err(Broken),
            _ if self.cut_off.contains(&from) => Ok(()),
            CUT if passage == Passage::Not => {
                self.cut_elsewhere(from, frame.body);
                Ok(())
            }
            _ if passage == Passage::Not => Ok(()),
            CUT => self.cut(from, frame.body),
            PLAIN => self.plain_came(from, frame),
            SENT => self.plain_arrived(from, frame),
            _ if self.is_frozen => Ok(()),
            FAREWELL => self.farewell(from, frame.body),
            PART => self.part(from, frame),
            EXECUTED => self.executed(from, frame),
            MARKERS => self.markers(from, frame.body),
            HALTED => self.told_halted(from, frame.body),
            _ => Err(Broken),
        };
        if taken.is_err() {
            self.cut_off(from, out);
        }
    }

    fn call(&mut self, frame: Frame<'_>, out: &mut dyn Outbox) {
        match frame.kind {
            SUBMIT => {
                if let Err(node) = self.submit(frame) {
                    self.cut_off(Address { node, port: PORT_ISOTACH }, out);
                }
            }
            PLAIN => self.send_plain(frame),
            NEXT_VIEW => self.next_view(frame),
            LEAVE => self.leave(frame),
            PROGRAM_STATE => self.program_state(frame),
            other => {
                self.refuse(frame.token, &Refusal::Misuse(format!("a node is not asked by kind {}", other.0)))
            }
        }
    }

    fn told_halted(&mut self, from: Address, body: &[u8]) -> Result<(), Broken> {
        let halted = Halted::decode_all(body).map_err(|_| Broken)?;
        if from != self.outgoing.manager() {
            return Err(Broken);
        }
        self.stop(halted.halt);
        self.accuse(halted.halt.node);
        Ok(())
    }

    fn cut_off(&mut self, peer: Address, out: &mut dyn Outbox) {
        self.cut_off.insert(peer);
        out.disconnect(peer, Disconnect::ForGood);
        self.stop(Halt { node: peer.node, cause: HaltCause::Misbehaved });
        self.lose(peer);
        if peer.port == PORT_ISOTACH {
            self.give_up_source(peer.node);
        }
    }

    fn changed(&mut self, peer: Address, change: &PeerChange) {
        match change {
            PeerChange::Up { .. } => self.find(peer),
            PeerChange::Down(_) => self.lose(peer),
        }
        let is_node =
            peer.port == PORT_ISOTACH && self.config.isonet.topology().switch_of(peer.node).is_some();
        let is_outside = self.joins.outside.is_some();
        match change {
            PeerChange::Up { .. } => {
                self.gone.remove(&peer);
                self.outgoing.unblock(peer);
            }
            // Who of them is in the view that this node comes to be in, that will say.
            PeerChange::Down(_) if is_outside => _ = self.gone.insert(peer),
            PeerChange::Down(_) if is_node || peer == self.outgoing.manager() => {
                let halt = Halt { node: peer.node, cause: HaltCause::Gone };
                self.gone.insert(peer);
                self.lose_manager(peer);
                self.refuse_plain(|to| to == peer.node, &Refusal::Halted(halt));
                self.stop(halt);
                self.give_up_source(peer.node);
            }
            PeerChange::Down(_) => self.lose_manager(peer),
        }
    }

    /// Executes what can be, and sends what there is room for.
    fn progress(&mut self, out: &mut dyn Outbox) {
        loop {
            if let Err(node) = self.execute() {
                self.cut_off(Address { node, port: PORT_ISOTACH }, out);
            }
            self.submit_held_back(out);
            self.announce();
            let Node { outgoing, own, .. } = self;
            let part_left = |rank| own.get_mut(rank).into_iter().for_each(Own::part_left);
            if let Err(node) = outgoing.flush(out, part_left) {
                self.stop(Halt { node, cause: HaltCause::Gone });
                self.lose(Address { node, port: PORT_ISOTACH });
            }
            if !self.can_go_on() {
                return;
            }
        }
    }

    /// Whether the view goes on.
    fn executes(&self) -> bool {
        let has_state =
            self.joins.has_state() || self.joins.outside.is_none() && seeded!(self.config, StateNotAwaited);
        self.halt.is_none() && self.change.is_none() && self.ended.is_none() && has_state
    }

    /// Whether another turn would do anything: something to announce, or to execute now that the program has been told what there was.
    fn can_go_on(&self) -> bool {
        self.has_announcement() || self.executes() && self.is_next_ready() || self.has_held_back()
    }
}

impl Protocol for Node {
    fn handle(&mut self, now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        self.now = now;
        match input {
            Input::Started => {}
            Input::Wake => {
                self.wake();
                self.outgoing.close(self.fence.view);
            }
            Input::Frame(from, frame) => self.take(from, frame, out),
            Input::Writable(at) => self.outgoing.unblock(at),
            Input::Peer(peer, change) => self.changed(peer, change),
        }
        loop {
            self.follow_agreement();
            self.begin_agreed(out);
            self.progress(out);
            if !self.has_agreement_news() {
                break;
            }
        }
        self.outgoing.close_at_the_end_of_burst(now);
    }

    fn deadline(&self) -> Option<Time> {
        let agreement = self.agreement.as_ref().and_then(Agreement::deadline);
        agreement.into_iter().chain(self.outgoing.deadline()).min()
    }

    fn measure(&self, meter: &mut Meter<'_>) {
        self.counters.tell(self.fence.fenced, meter);
    }
}

#[cfg(test)]
mod tests;

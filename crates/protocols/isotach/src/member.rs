//! A member of an isonet with one switch whose pulse one of the members keeps: a node, and the token manager of its process, at the node's address.
//!
//! ```text
//!   program ── SUBMIT ──> Node ── PART, ANNOUNCE, RECEIVED ──> Member
//!                          │ ↑
//!                TokenManager ── MARKERS, FAREWELL, HALTED ──> Member
//! ```
//!
//! With one switch the kind of a frame says whom it is for and who of two at one address has sent it. What the two here say to each other they say within one
//! input: no frame leaves the process, nobody is woken, and what follows for others leaves in the burst that it follows from.

use crate::codec::{ANNOUNCE, FAREWELL, HALTED, MARKERS, RECEIVED};
use crate::config::{ManagerConfig, NodeConfig};
use crate::counters::Counters;
use crate::defect::seeded;
use crate::frames::Frames;
use crate::logical_time::View;
use crate::manager::TokenManager;
use crate::node::Node;
use crate::topology::Topology;
use crate::waits::Wait;
use quintet_contract::{
    Address, Bytes, Disconnect, Frame, Input, Kind, Meter, NodeId, Outbox, PeerChange, Protocol, SendError,
    Stage, Time, Token,
};
use quintet_wire::Decode;
use quintet_wire::registry::{LINK_NEWS, PORT_ISOTACH, PORT_LINKS, PORT_TOKEN_MANAGER};
use quintet_wire::services::LinkNews;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A node, and the token manager in its process, which keeps the pulse in views whose topology names the node as a switch's manager.
///
/// Others see one peer. For the node the token manager of member `n` is at the port of token managers of node `n`, wherever it is.
#[derive(Debug)]
pub struct Member {
    me: NodeId,
    node: Node,
    manager: TokenManager,
    inside: Inside,
    /// The body of the one that is taken.
    taken: Vec<u8>,
    #[cfg(feature = "seeded-defects")]
    defect: Option<crate::Defect>,
}

/// What the two of one member have told each other, and have not taken.
#[derive(Default, Debug)]
struct Inside {
    for_node: Frames,
    for_manager: Frames,
}

const fn node_at(node: NodeId) -> Address {
    Address { node, port: PORT_ISOTACH }
}

const fn manager_at(node: NodeId) -> Address {
    Address { node, port: PORT_TOKEN_MANAGER }
}

const fn links_of(node: NodeId) -> Address {
    Address { node, port: PORT_LINKS }
}

/// The host has found where it dials another member. That its system refuses a connection shows that its process has ended: what is kept of it for a later link is given up, and
/// it is missed at once. One that lives behind a firewall that answers so is left behind, as after a cut that was too long.
fn take_link_news(frame: Frame<'_>, out: &mut dyn Outbox) {
    let news = LinkNews::decode_all(frame.body).ok().filter(|_| frame.kind == LINK_NEWS);
    if let Some(LinkNews { node, is_refused: true }) = news {
        out.disconnect(node_at(node), Disconnect::UntilNextLink);
    }
}

/// Whether frames of this kind are for token managers.
const fn is_for_manager(kind: Kind) -> bool {
    matches!(kind, ANNOUNCE | RECEIVED)
}

/// Whether a node has frames of this kind from token managers.
const fn is_of_manager(kind: Kind) -> bool {
    matches!(kind, MARKERS | FAREWELL | HALTED)
}

impl Member {
    /// A member at the beginning of its view. Its token manager keeps the pulse from then on, or is in view 0, which is over everywhere, until a view begins for which it does.
    ///
    /// # Panics
    /// The topology does not have the node, or nodes agree on views ([`NodeConfig::managers_from`]) and token managers are others than they.
    #[must_use]
    pub fn new(config: NodeConfig) -> Member {
        assert!(
            config.managers_from.is_none_or(|from| from == NodeId(0)),
            "the token manager of a member is the member"
        );
        Member {
            me: config.me,
            manager: TokenManager::new(first_of_manager(&config)),
            #[cfg(feature = "seeded-defects")]
            defect: config.defect,
            node: Node::new(config),
            inside: Inside::default(),
            taken: Vec::new(),
        }
    }

    /// The node.
    #[must_use]
    pub fn node(&self) -> &Node {
        &self.node
    }

    /// The node, to be asked for what it did.
    pub fn node_mut(&mut self) -> &mut Node {
        &mut self.node
    }

    /// The token manager of this process: it keeps the pulse of its view, if that is not 0.
    #[must_use]
    pub fn manager(&self) -> &TokenManager {
        &self.manager
    }

    /// What it has counted.
    #[must_use]
    pub fn counters(&self) -> Counters {
        Counters::of(self.node.counted(), self.manager.counted())
    }

    /// What waits for each other node of the view.
    #[must_use]
    pub fn waits(&self) -> BTreeMap<NodeId, Wait> {
        let mut waits = self.node.waits();
        for node in self.manager.missing() {
            waits.get_mut(&node).into_iter().for_each(|wait| wait.unreceived += 1);
        }
        waits
    }

    /// What is not so of this member though it is always: of its node, or of the token manager of its process.
    #[must_use]
    pub fn broken_invariant(&self) -> Option<&'static str> {
        self.node.broken_invariant().or_else(|| self.manager.broken_invariant())
    }

    /// An input for the node, from outside or from the token manager here.
    fn give_node(&mut self, now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        let mut out = Outside { me: self.me, inside: &mut self.inside, out, draft: None };
        self.node.handle(now, input, &mut out);
    }

    fn give_manager(&mut self, now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        let mut out = Outside { me: self.me, inside: &mut self.inside, out, draft: None };
        self.manager.handle(now, input, &mut out);
    }

    fn take(&mut self, now: Time, from: Address, frame: Frame<'_>, out: &mut dyn Outbox) {
        match frame.kind {
            _ if from == links_of(self.me) && seeded!(self, RefusalForgotten) => {}
            _ if from == links_of(self.me) => take_link_news(frame, out),
            _ if from.port != PORT_ISOTACH => self.give_node(now, Input::Frame(from, frame), out),
            kind if is_for_manager(kind) => self.give_manager(now, Input::Frame(from, frame), out),
            kind if is_of_manager(kind) => {
                self.give_node(now, Input::Frame(manager_at(from.node), frame), out);
            }
            _ => self.give_node(now, Input::Frame(from, frame), out),
        }
    }

    /// Whoever of the two wanted to be woken by now is: the node first, so that the pulse that ends has what it says.
    fn wake(&mut self, now: Time, out: &mut dyn Outbox) {
        if self.node.deadline().is_some_and(|at| at <= now) {
            self.give_node(now, Input::Wake, out);
            self.settle(now, out);
        }
        if self.manager.deadline().is_some_and(|at| at <= now) {
            self.give_manager(now, Input::Wake, out);
        }
    }

    /// There may be room: for markers first, as parts that came before wait for them.
    fn room(&mut self, now: Time, at: Address, out: &mut dyn Outbox) {
        if at.port == PORT_ISOTACH {
            self.give_manager(now, Input::Writable(at), out);
            self.give_node(now, Input::Writable(manager_at(at.node)), out);
        }
        self.give_node(now, Input::Writable(at), out);
    }

    /// A peer is a node and a token manager: both come and go with it.
    fn changed(&mut self, now: Time, peer: Address, change: &PeerChange, out: &mut dyn Outbox) {
        self.give_manager(now, Input::Peer(peer, change), out);
        self.give_node(now, Input::Peer(peer, change), out);
        self.give_node(now, Input::Peer(manager_at(peer.node), change), out);
    }

    /// Has the two take what they have told each other, until there is nothing more; and the token manager begin the view that the node goes to, if that is one of
    /// its own.
    fn settle(&mut self, now: Time, out: &mut dyn Outbox) {
        loop {
            if !seeded!(self, PulseNotKept) {
                self.follow_view(now, out);
            }
            let mut body = core::mem::take(&mut self.taken);
            let has_more = self.settle_one(now, &mut body, out);
            self.taken = body;
            if !has_more {
                return;
            }
        }
    }

    /// Has one of the two take one frame, whose body is read from a buffer of this one's. False if there is none.
    fn settle_one(&mut self, now: Time, body: &mut Vec<u8>, out: &mut dyn Outbox) -> bool {
        if let Some((kind, token)) = self.inside.for_manager.take_front(body) {
            self.give_manager(now, Input::Frame(node_at(self.me), Frame::new(kind, token, body)), out);
        } else if let Some((kind, token)) = self.inside.for_node.take_front(body) {
            let is_lost = kind == FAREWELL && seeded!(self, FarewellLostInside);
            if !is_lost {
                self.give_node(now, Input::Frame(manager_at(self.me), Frame::new(kind, token, body)), out);
            }
        } else {
            return false;
        }
        true
    }

    fn follow_view(&mut self, now: Time, out: &mut dyn Outbox) {
        let (view, topology) = self.node.newest_view();
        if view <= self.manager.view() {
            return;
        }
        let Some(switch) = topology.switch_kept_by(self.me) else { return };
        let next = (view, topology.clone());
        let mut out = Outside { me: self.me, inside: &mut self.inside, out, draft: None };
        self.manager.go_to(now, next, switch, &mut out);
    }
}

/// How a member's token manager begins. In view 0 it keeps what comes for the views that it may be in, and has no nodes that it could miss.
fn first_of_manager(config: &NodeConfig) -> ManagerConfig {
    let kept = config.isonet.topology().switch_kept_by(config.me);
    let manager = match kept.filter(|_| config.joins.is_none()) {
        Some(switch) => ManagerConfig::new(Arc::clone(&config.isonet), switch, config.view),
        None => {
            let alone = Topology::lan(config.me, &[config.me]).expect("it has a node");
            ManagerConfig::new(Arc::new(config.isonet.among(alone)), 0, View(0))
        }
    };
    #[cfg(feature = "seeded-defects")]
    let manager = ManagerConfig { defect: config.defect, ..manager };
    manager
}

/// Where frames of the two go: to each other, or out, to the one address of another member.
struct Outside<'a> {
    me: NodeId,
    inside: &'a mut Inside,
    out: &'a mut dyn Outbox,
    /// One for the other of the two, which is being written.
    draft: Option<(Address, Kind, Token)>,
}

/// The address that others have.
fn outside(at: Address) -> Address {
    if at.port == PORT_TOKEN_MANAGER { node_at(at.node) } else { at }
}

impl Outside<'_> {
    fn is_inside(&self, to: Address) -> bool {
        to == node_at(self.me) || to == manager_at(self.me)
    }
}

impl Inside {
    fn frames_for(&mut self, to: Address) -> &mut Frames {
        if to.port == PORT_TOKEN_MANAGER { &mut self.for_manager } else { &mut self.for_node }
    }
}

impl Outbox for Outside<'_> {
    fn begin(
        &mut self,
        to: Address,
        kind: Kind,
        token: Token,
        at_most: usize,
    ) -> Result<&mut [u8], SendError> {
        if self.is_inside(to) {
            self.draft = Some((to, kind, token));
            return Ok(self.inside.frames_for(to).begin(at_most));
        }
        self.out.begin(outside(to), kind, token, at_most)
    }

    fn commit(&mut self, len: usize) {
        match self.draft.take() {
            Some((to, kind, token)) => self.inside.frames_for(to).commit(kind, token, len),
            None => self.out.commit(len),
        }
    }

    fn send_bulk(
        &mut self,
        to: Address,
        kind: Kind,
        token: Token,
        body: &[u8],
        bulk: Bytes,
    ) -> Result<(), SendError> {
        self.out.send_bulk(outside(to), kind, token, body, bulk)
    }

    fn disconnect(&mut self, peer: Address, how: Disconnect) {
        if !self.is_inside(peer) {
            self.out.disconnect(outside(peer), how);
        }
    }

    fn work(&mut self, stage: Stage, units: u32) {
        self.out.work(stage, units);
    }
}

impl Protocol for Member {
    fn handle(&mut self, now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        match input {
            Input::Started => {
                self.give_manager(now, Input::Started, out);
                self.give_node(now, Input::Started, out);
            }
            Input::Wake => self.wake(now, out),
            Input::Frame(from, frame) => self.take(now, from, frame, out),
            Input::Writable(at) => self.room(now, at, out),
            Input::Peer(peer, change) => self.changed(now, peer, change, out),
        }
        self.settle(now, out);
    }

    fn deadline(&self) -> Option<Time> {
        [self.node.deadline(), self.manager.deadline()].into_iter().flatten().min()
    }

    fn measure(&self, meter: &mut Meter<'_>) {
        self.node.measure(meter);
        self.manager.measure(meter);
    }
}

#[cfg(test)]
mod tests;

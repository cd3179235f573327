//! What runs on the nodes: the product's own protocols, each on a node of its own.

use super::{Isochrons, world};
use crate::system::Birth;
use quintet_contract::{Address, DownCause, Frame, Input, Kind, NodeId, Outbox, PeerChange, Protocol, Time};
use quintet_isotach::{
    Isonet, ManagerConfig, Member, Node as IsotachNode, NodeConfig, TokenManager, View, Witnessed,
};
use quintet_messaging::Messages;
use quintet_stack::Stack;
use quintet_wire::registry::{PORT_CALLERS, PORT_ISOTACH, PORT_TOKEN_MANAGER, USER};
use std::sync::Arc;

/// From the membership to a host: a node (u16) is taken to be gone.
pub(super) const GONE: Kind = USER.kind(0);

/// A node, a token manager, or both with all that is below them in a live process.
pub struct Node(Runs);

enum Runs {
    Node(Box<IsotachNode>),
    Manager(Box<TokenManager>),
    Member(Box<Stack<Member>>),
    /// A token manager that crashed does not come back: another one stands in for it.
    Nothing,
}

pub(super) fn address(node: NodeId) -> Address {
    Address { node, port: if world::is_manager(node) { PORT_TOKEN_MANAGER } else { PORT_ISOTACH } }
}

impl Isochrons {
    pub(super) fn make(&self, birth: &Birth) -> Node {
        let isonet = world::first(birth.seed, birth.nodes, self.delivery);
        Node(match birth.life {
            1 if world::is_manager(birth.node) => self.manager(birth.node, isonet),
            _ if world::is_manager(birth.node) => Runs::Nothing,
            life => {
                let config = self.of_node(birth.node, isonet);
                // What crashed is no node of any view, until it joins one.
                let config = match life {
                    1 => config,
                    _ => NodeConfig { view: View(0), joins: Some(life), ..config },
                };
                Runs::Node(Box::new(IsotachNode::new(config)))
            }
        })
    }

    #[cfg_attr(not(feature = "seeded-defects"), expect(clippy::unused_self, reason = "there is no defect"))]
    fn of_node(&self, node: NodeId, isonet: Arc<Isonet>) -> NodeConfig {
        let callers = Address { node, port: PORT_CALLERS };
        let config = NodeConfig::new(node, callers, View(1), isonet);
        NodeConfig {
            keeps_witness: true,
            #[cfg(feature = "seeded-defects")]
            defect: self.defect.map(super::Defect::kind),
            ..config
        }
    }

    /// One that stands for no switch of the first view is in view 0, which is over everywhere: so it keeps what comes for the views that it may be in, and says that it
    /// was in none before.
    #[cfg_attr(not(feature = "seeded-defects"), expect(clippy::unused_self, reason = "there is no defect"))]
    fn manager(&self, node: NodeId, isonet: Arc<Isonet>) -> Runs {
        let switch = isonet.topology().switches().iter().position(|switch| switch.manager == node);
        let view = if switch.is_some() { View(1) } else { View(0) };
        let config = ManagerConfig::new(isonet, switch.unwrap_or(0), view);
        #[cfg(feature = "seeded-defects")]
        let config = ManagerConfig { defect: self.defect.map(super::Defect::kind), ..config };
        Runs::Manager(Box::new(TokenManager::new(config)))
    }
}

fn member_of(stack: &Stack<Member>) -> Option<&Member> {
    stack.inner().get(PORT_ISOTACH).map(Messages::inner)
}

impl Node {
    /// What it did, if it is a node.
    pub(super) fn witness(&self) -> &[Witnessed] {
        self.isotach().map_or(&[], IsotachNode::witness)
    }

    pub(super) fn of_member(stack: Stack<Member>) -> Node {
        Node(Runs::Member(Box::new(stack)))
    }

    pub(super) fn isotach(&self) -> Option<&IsotachNode> {
        match &self.0 {
            Runs::Node(node) => Some(node),
            Runs::Member(stack) => member_of(stack).map(Member::node),
            Runs::Manager(_) | Runs::Nothing => None,
        }
    }

    pub(super) fn token_manager(&self) -> Option<&TokenManager> {
        match &self.0 {
            Runs::Manager(manager) => Some(manager),
            Runs::Member(stack) => member_of(stack).map(Member::manager),
            Runs::Node(_) | Runs::Nothing => None,
        }
    }

    fn protocol_mut(&mut self) -> Option<&mut dyn Protocol> {
        match &mut self.0 {
            Runs::Node(node) => Some(&mut **node),
            Runs::Manager(manager) => Some(&mut **manager),
            Runs::Member(stack) => Some(&mut **stack),
            Runs::Nothing => None,
        }
    }
}

impl Protocol for Node {
    fn handle(&mut self, now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        if let Input::Frame(from, frame) = input
            && from.port == PORT_CALLERS
            && frame.kind == GONE
        {
            let node = u16::from_le_bytes(*frame.body.first_chunk().expect("two bytes say who"));
            let down = PeerChange::Down(DownCause::Died);
            let input = Input::Peer(address(NodeId(node)), &down);
            return self.protocol_mut().into_iter().for_each(|runs| runs.handle(now, input, out));
        }
        if let Some(runs) = self.protocol_mut() {
            runs.handle(now, input, out);
        }
    }

    fn deadline(&self) -> Option<Time> {
        match &self.0 {
            Runs::Node(node) => node.deadline(),
            Runs::Manager(manager) => manager.deadline(),
            Runs::Member(stack) => stack.deadline(),
            Runs::Nothing => None,
        }
    }

    fn is_resumed_by(&self, from: Address, frame: Frame<'_>) -> bool {
        if let Runs::Member(stack) = &self.0 { stack.is_resumed_by(from, frame) } else { false }
    }
}

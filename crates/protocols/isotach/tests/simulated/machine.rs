//! What stands at a node's address: the node alone, or with the token manager of its process.

use super::found::Found;
use super::net::{MANAGERS, Setting};
use core::ops::{Deref, DerefMut};
use quintet_contract::{NodeId, Protocol};
use quintet_isotach::{Member, Node, NodeConfig, View};

/// A node, or a member.
pub(crate) enum Machine {
    Node(Box<Node>),
    Member(Box<Member>),
}

impl Machine {
    pub(crate) fn new(setting: Setting, config: NodeConfig) -> Machine {
        let node = |managers_from| Node::new(NodeConfig { managers_from, ..config.clone() });
        match setting {
            Setting::Told => Machine::Node(Box::new(node(None))),
            Setting::Agreed => Machine::Node(Box::new(node(Some(NodeId(MANAGERS))))),
            Setting::Members => {
                let managers_from = Some(NodeId(0));
                Machine::Member(Box::new(Member::new(NodeConfig { managers_from, ..config })))
            }
        }
    }

    pub(crate) fn protocol(&mut self) -> &mut dyn Protocol {
        match self {
            Machine::Node(node) => &mut **node,
            Machine::Member(member) => &mut **member,
        }
    }

    pub(crate) fn deadline(&self) -> Option<quintet_contract::Time> {
        match self {
            Machine::Node(node) => node.deadline(),
            Machine::Member(member) => member.deadline(),
        }
    }

    /// Each isochron of a member that was taken was executed, lost, or is under way; as far as members count.
    pub(crate) fn check_counts(&self, me: NodeId) -> Result<(), Found> {
        let Machine::Member(member) = self else { return Ok(()) };
        let counters = member.counters();
        let known = counters.executed + counters.lost + self.unexecuted() as u64;
        match counters.begun == known && counters.local <= counters.begun {
            true => Ok(()),
            false => Err(Found::Other(format!("node {} has counted {counters:?}", me.0))),
        }
    }

    pub(crate) fn broken_invariant(&self) -> Option<&'static str> {
        match self {
            Machine::Node(node) => node.broken_invariant(),
            Machine::Member(member) => member.broken_invariant(),
        }
    }

    /// The view and the pulse of the token manager of a member.
    pub(crate) fn keeps(&self) -> Option<(View, u64)> {
        match self {
            Machine::Node(_) => None,
            Machine::Member(member) => Some((member.manager().view(), member.manager().pulse().0)),
        }
    }

    /// The last view whose pulse it has kept.
    pub(crate) fn kept_view(&self) -> Option<View> {
        match self {
            Machine::Node(_) => None,
            Machine::Member(member) => Some(member.manager().view()).filter(|view| *view > View(0)),
        }
    }
}

impl Deref for Machine {
    type Target = Node;

    fn deref(&self) -> &Node {
        match self {
            Machine::Node(node) => node,
            Machine::Member(member) => member.node(),
        }
    }
}

impl DerefMut for Machine {
    fn deref_mut(&mut self) -> &mut Node {
        match self {
            Machine::Node(node) => node,
            Machine::Member(member) => member.node_mut(),
        }
    }
}

//! What is between a node, or a token manager, and its links: nothing, or sessions that send again what is lost.

use super::{Machines, Watched, Wires};
use quintet_contract::{Address, Incarnation, NodeId, Port, Protocol};
use quintet_isotach::{Node, TokenManager};
use quintet_session::{PeerConfig, Placed, Ports, Reliability, SessionConfig, Sessions};
use quintet_simulate::Simulation;
use quintet_wire::registry::{ISOTACH, PORT_ISOTACH, PORT_SESSION, PORT_TOKEN_MANAGER};
use std::collections::{BTreeMap, BTreeSet};

use super::super::program::PORT;

/// The one cluster that there is.
const CLUSTER: u128 = 1;

/// What is there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Layers {
    /// Nothing: links lose nothing.
    Links,
    /// A session with each peer, as live members have; its frames are kept until they are acknowledged, and sent again.
    Sessions,
}

/// Whom each node of a network asks.
pub(super) type Asked = BTreeMap<NodeId, Vec<Address>>;

impl Layers {
    pub(super) const fn of(machines: Machines) -> Layers {
        match machines {
            Machines::Today(Wires { loss_per_million: Some(_), .. }) => Layers::Sessions,
            _ => Layers::Links,
        }
    }

    /// Whom each node asks, of those that have links.
    pub(super) fn asked(links: &BTreeSet<(NodeId, NodeId)>, is_manager: impl Fn(NodeId) -> bool) -> Asked {
        let mut asked = Asked::new();
        for (one, other) in links {
            for (from, to) in [(*one, *other), (*other, *one)] {
                asked.entry(from).or_default().push(Address { node: to, port: port(is_manager(to)) });
            }
        }
        asked
    }

    /// Where a host's program finds its node.
    pub(super) const fn node(self, host: NodeId) -> Address {
        match self {
            Layers::Links => Address { node: host, port: PORT_ISOTACH },
            Layers::Sessions => Address { node: host, port: PORT_SESSION },
        }
    }

    /// The ports that a link joins.
    pub(super) fn joined(self, managers: [bool; 2]) -> Vec<(Port, Port)> {
        match (self, managers) {
            (Layers::Sessions, _) => vec![(PORT_SESSION, PORT_SESSION)],
            (Layers::Links, [false, false]) => vec![(PORT_ISOTACH, PORT_ISOTACH), (PORT, PORT)],
            (Layers::Links, [one, other]) => vec![(port(one), port(other))],
        }
    }

    pub(super) fn add_node(self, run: &mut Simulation, host: NodeId, node: Node, asked: &Asked) {
        let at = Address { node: host, port: PORT_ISOTACH };
        match self {
            Layers::Links => run.add(at, Watched::new(at, node)),
            Layers::Sessions => add_session(run, at, node, asked),
        }
    }

    pub(super) fn add_manager(self, run: &mut Simulation, at: NodeId, manager: TokenManager, asked: &Asked) {
        let at = Address { node: at, port: PORT_TOKEN_MANAGER };
        match self {
            Layers::Links => run.add(at, manager),
            Layers::Sessions => add_session(run, at, manager, asked),
        }
    }

    /// The token manager at a node.
    pub(super) fn manager(self, run: &Simulation, at: NodeId) -> Option<&TokenManager> {
        match self {
            Layers::Links => run.get(Address { node: at, port: PORT_TOKEN_MANAGER }),
            Layers::Sessions => {
                let sessions: &Sessions<Ports<TokenManager>> =
                    run.get(Address { node: at, port: PORT_SESSION })?;
                sessions.inner().get(PORT_TOKEN_MANAGER)
            }
        }
    }
}

/// Adds what is at an address with its sessions.
fn add_session<P: Protocol + 'static>(run: &mut Simulation, at: Address, protocol: P, asked: &Asked) {
    let me = Address { node: at.node, port: PORT_SESSION };
    let asks = asked.get(&at.node).cloned().unwrap_or_default();
    let placed = Placed { port: at.port, kinds: ISOTACH, asks, services: &[], protocol };
    let peers = PeerConfig { initiate: true, reliability: Reliability::LOSSY };
    let config = SessionConfig::new(me, CLUSTER, Incarnation(1), u64::from(at.node.0));
    let config = SessionConfig { others: Some(peers), ..config };
    run.add(me, Sessions::new(config, Ports::new(me, vec![placed])));
}

/// Where a node is at its process, or a token manager.
const fn port(is_manager: bool) -> Port {
    if is_manager { PORT_TOKEN_MANAGER } else { PORT_ISOTACH }
}

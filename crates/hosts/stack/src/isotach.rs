//! Isochrons as services: a node of an isonet, and the token manager of a switch. Both speak the kinds of logical time.

use crate::config::StackConfig;
use crate::service::Service;
use crate::stacks::{Stack, node};
use quintet_contract::{Address, Kind, NodeId, Protocol};
use quintet_isotach::limits::{MAX_NODES, MAX_SWITCHES, MAX_TOPOLOGY_BYTES};
use quintet_isotach::{
    Delivery, Isonet, ManagerConfig, Node, NodeConfig, Shape, TokenManager, Topology, Variable, View, codec,
};
use quintet_messaging::Class;
use quintet_session::Placed;
use quintet_wire::registry::{ISOTACH, PORT_CALLERS, PORT_ISOTACH, PORT_TOKEN_MANAGER};
use quintet_wire::{DecodeError, Reader, Sink};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A node of an isonet, behind sessions and messaging, under this name in recordings.
pub const ISOTACH_NODE: &str = "isotach/node";
/// The token manager of a switch, likewise.
pub const TOKEN_MANAGER: &str = "token-manager/switch";

/// The row of an isonet's nodes.
pub(crate) const NODE: Service = Service {
    name: "isotach",
    port: PORT_ISOTACH,
    kinds: ISOTACH,
    class,
    make: make_node,
    encode: encode_node,
    decode: decode_node,
};

/// The row of token managers.
pub(crate) const MANAGER: Service = Service {
    name: "token-manager",
    port: PORT_TOKEN_MANAGER,
    kinds: ISOTACH,
    class,
    make: make_manager,
    encode: encode_manager,
    decode: decode_manager,
};

/// A node of an isonet, as it begins.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IsotachConfig {
    /// The node.
    pub me: NodeId,
    /// The view that it begins in.
    pub view: View,
    /// What all nodes know.
    pub isonet: Arc<Isonet>,
    /// Whether the nodes agree by themselves on the next view, when one of them ends. Each of them can then have a token manager beside it
    /// ([`token_manager_beside`]).
    pub agrees: bool,
    /// Whether it keeps what it executed, for a checker.
    pub keeps_witness: bool,
}

/// The token manager of a switch, as it begins.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TokenManagerConfig {
    /// Which of the topology's switches.
    pub switch: usize,
    /// The view that it begins in.
    pub view: View,
    /// What all nodes know.
    pub isonet: Arc<Isonet>,
}

/// The node of a switch's token manager: above those of the isonet's members, as the instances of one node send each other nothing.
///
/// # Panics
/// There are no more switches than [`MAX_SWITCHES`].
#[must_use]
pub const fn token_manager_node(switch: usize) -> NodeId {
    assert!(switch < MAX_SWITCHES, "an isonet has MAX_SWITCHES at most");
    NodeId((MAX_NODES + switch) as u16)
}

/// The node of the token manager in the process of a node of an isonet, where each node can have one.
///
/// # Panics
/// There are no more nodes than [`MAX_NODES`].
#[must_use]
pub const fn token_manager_beside(node: NodeId) -> NodeId {
    assert!((node.0 as usize) < MAX_NODES, "an isonet has MAX_NODES at most");
    NodeId(MAX_NODES as u16 + node.0)
}

/// The configuration's node of an isonet at its port, which asks all other nodes and the manager of its switch; or the managers that nodes can have beside them.
///
/// # Panics
/// The configuration has none, or its topology has not the node.
#[must_use]
pub fn isotach_node(config: &StackConfig) -> Placed<Node> {
    let isotach = config.isotach.as_ref().expect("the node is one of an isonet");
    let topology = isotach.isonet.topology();
    let switch = topology.switch_of(isotach.me).expect("a node is at a switch");
    let managers: Vec<NodeId> = match isotach.agrees {
        true => topology.nodes().map(token_manager_beside).collect(),
        false => vec![topology.switches()[switch].manager],
    };
    let managers = managers.into_iter().map(|node| Address { node, port: PORT_TOKEN_MANAGER });
    let others = topology.nodes().filter(|node| *node != isotach.me);
    let asks = others.map(|node| Address { node, port: PORT_ISOTACH }).chain(managers).collect();
    Placed { port: PORT_ISOTACH, kinds: ISOTACH, asks, services: &[], protocol: Node::new(isotach.config()) }
}

/// The configuration's token manager at its port, which asks the nodes of the isonet and the managers beside it.
///
/// # Panics
/// The configuration has none, or its topology has not the switch.
#[must_use]
pub fn token_manager(config: &StackConfig) -> Placed<TokenManager> {
    let manager = config.token_manager.as_ref().expect("the node stands for a switch");
    let topology = manager.isonet.topology();
    let nodes = topology.nodes().map(|node| Address { node, port: PORT_ISOTACH });
    let beside = topology
        .neighbours(manager.switch)
        .iter()
        .map(|switch| Address { node: topology.switches()[*switch].manager, port: PORT_TOKEN_MANAGER });
    let asks = nodes.chain(beside).collect();
    let protocol = TokenManager::new(manager.config());
    Placed { port: PORT_TOKEN_MANAGER, kinds: ISOTACH, asks, services: &[], protocol }
}

/// The stack of a node of an isonet.
///
/// # Panics
/// As [`isotach_node`].
#[must_use]
pub fn member_of_isonet(config: &StackConfig) -> Stack<Node> {
    let placed = isotach_node(config);
    node(config.isotach.as_ref().expect("it is one").me, config, vec![placed])
}

/// The stack of a token manager.
///
/// # Panics
/// As [`token_manager`].
#[must_use]
pub fn switch_of_isonet(config: &StackConfig) -> Stack<TokenManager> {
    let placed = token_manager(config);
    let TokenManagerConfig { isonet, switch, .. } = config.token_manager.as_ref().expect("it is one");
    node(isonet.topology().switches()[*switch].manager, config, vec![placed])
}

impl IsotachConfig {
    fn config(&self) -> NodeConfig {
        let callers = Address { node: self.me, port: PORT_CALLERS };
        let config = NodeConfig::new(self.me, callers, self.view, Arc::clone(&self.isonet));
        let managers_from = self.agrees.then_some(token_manager_beside(NodeId(0)));
        NodeConfig { keeps_witness: self.keeps_witness, managers_from, ..config }
    }
}

impl TokenManagerConfig {
    fn config(&self) -> ManagerConfig {
        ManagerConfig::new(Arc::clone(&self.isonet), self.switch, self.view)
    }
}

/// What nodes and managers say to each other on their way to an order is neither request nor answer: nobody waits for it alone.
fn class(kind: Kind) -> Class {
    match kind {
        kind if codec::is_request(kind) => Class::Request,
        kind if codec::is_answer(kind) => Class::Answer,
        _ => Class::OneWay,
    }
}

/// An isonet of one node without variables, where a configuration has none.
fn alone() -> Arc<Isonet> {
    let topology = Topology::lan(token_manager_node(0), &[NodeId(0)]).expect("it has a node");
    Arc::new(Isonet::new(topology, BTreeMap::new()).expect("it has no variable"))
}

fn make_node(config: &StackConfig) -> Box<dyn Protocol> {
    let alone = || IsotachConfig {
        me: NodeId(0),
        view: View(0),
        isonet: alone(),
        agrees: false,
        keeps_witness: false,
    };
    Box::new(Node::new(config.isotach.clone().unwrap_or_else(alone).config()))
}

fn make_manager(config: &StackConfig) -> Box<dyn Protocol> {
    let alone = || TokenManagerConfig { switch: 0, view: View(0), isonet: alone() };
    Box::new(TokenManager::new(config.token_manager.clone().unwrap_or_else(alone).config()))
}

/// Nothing where there is no node. Else node u16, view u32, whether nodes agree on views u8, whether it keeps a witness u8, and the isonet.
fn encode_node(config: &StackConfig, to: &mut Vec<u8>) {
    let Some(isotach) = &config.isotach else { return };
    to.u16(isotach.me.0);
    to.u32(isotach.view.0);
    to.u8(u8::from(isotach.agrees));
    to.u8(u8::from(isotach.keeps_witness));
    encode_isonet(&isotach.isonet, to);
}

fn decode_node(config: &mut StackConfig, reader: &mut Reader<'_>) -> Result<(), DecodeError> {
    config.isotach = None;
    if reader.left() == 0 {
        return Ok(());
    }
    let (me, view) = (NodeId(reader.u16()?), View(reader.u32()?));
    let agrees = reader.flag("whether nodes agree on views")?;
    let keeps_witness = reader.flag("whether a witness is kept")?;
    let isonet = decode_isonet(reader)?;
    if isonet.topology().switch_of(me).is_none() {
        return Err(reader.invalid("node of an isonet", me.0, 2));
    }
    config.isotach = Some(IsotachConfig { me, view, isonet, agrees, keeps_witness });
    Ok(())
}

/// Nothing where there is no manager. Else switch u8, view u32, and the isonet.
fn encode_manager(config: &StackConfig, to: &mut Vec<u8>) {
    let Some(manager) = &config.token_manager else { return };
    to.u8(u8::try_from(manager.switch).expect("there are MAX_SWITCHES at most"));
    to.u32(manager.view.0);
    encode_isonet(&manager.isonet, to);
}

fn decode_manager(config: &mut StackConfig, reader: &mut Reader<'_>) -> Result<(), DecodeError> {
    config.token_manager = None;
    if reader.left() == 0 {
        return Ok(());
    }
    let (switch, view) = (usize::from(reader.u8()?), View(reader.u32()?));
    let isonet = decode_isonet(reader)?;
    if switch >= isonet.topology().switches().len() {
        return Err(reader.invalid("switch of a token manager", switch as u64, 1));
    }
    config.token_manager = Some(TokenManagerConfig { switch, view, isonet });
    Ok(())
}

/// Delivery u8 (0: safe), the topology as text, n u16 and n of: variable u32, bytes u16, copies u16 and as many nodes u16, ascending.
fn encode_isonet(isonet: &Isonet, to: &mut Vec<u8>) {
    to.u8(u8::from(isonet.delivery() == Delivery::Agreed));
    to.counted(isonet.topology().to_text().as_bytes());
    let count = |number: usize| u16::try_from(number).expect("a part is no longer than it may be");
    to.u16(count(isonet.variables().count()));
    for (Variable(number), shape) in isonet.variables() {
        to.u32(number);
        to.u16(count(shape.bytes));
        to.u16(count(shape.copies.len()));
        shape.copies.iter().for_each(|node| to.u16(node.0));
    }
}

fn decode_isonet(reader: &mut Reader<'_>) -> Result<Arc<Isonet>, DecodeError> {
    let delivery = if reader.flag("delivery of an isonet")? { Delivery::Agreed } else { Delivery::Safe };
    let text = reader.text("length of a topology", MAX_TOPOLOGY_BYTES)?;
    let topology = Topology::parse(text).map_err(|_| reader.invalid("topology", 0u64, text.len()))?;
    let mut variables = BTreeMap::new();
    for _ in 0..reader.u16()? {
        let (variable, bytes) = (Variable(reader.u32()?), usize::from(reader.u16()?));
        let copies = (0..reader.u16()?).map(|_| reader.u16().map(NodeId));
        let copies: BTreeSet<NodeId> = copies.collect::<Result<_, _>>()?;
        if variables.insert(variable, Shape { bytes, copies }).is_some() {
            return Err(reader.invalid("variable that comes twice", variable.0, 0));
        }
    }
    let isonet = Isonet::new(topology, variables).map_err(|_| reader.invalid("variables", 0u64, 0))?;
    Ok(Arc::new(isonet.with_delivery(delivery)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use quintet_contract::Incarnation;

    fn isonet() -> Arc<Isonet> {
        let text = "switch a at 1024: 0 1\nswitch b at 1025: 2\nwire a b\n";
        let topology = Topology::parse(text).expect("it is a tree");
        let shape =
            |bytes, copies: &[u16]| Shape { bytes, copies: copies.iter().copied().map(NodeId).collect() };
        let variables = [(Variable(3), shape(8, &[0, 2])), (Variable(9), shape(4096, &[1]))];
        let isonet = Isonet::new(topology, variables.into()).expect("it is shared");
        Arc::new(isonet.with_delivery(Delivery::Agreed))
    }

    fn server() -> StackConfig {
        StackConfig::of_server(7, Incarnation(2), 42)
    }

    fn member() -> StackConfig {
        let isotach = IsotachConfig {
            me: NodeId(2),
            view: View(5),
            isonet: isonet(),
            agrees: false,
            keeps_witness: true,
        };
        StackConfig { isotach: Some(isotach), ..server() }
    }

    fn manager() -> StackConfig {
        let manager = TokenManagerConfig { switch: 1, view: View(5), isonet: isonet() };
        StackConfig { token_manager: Some(manager), ..server() }
    }

    #[test]
    fn a_node_and_a_manager_come_back_from_a_recording() {
        for config in [member(), manager(), server()] {
            assert_eq!(StackConfig::from_bytes(&config.to_bytes()), Ok(config));
        }
    }

    #[test]
    fn a_node_or_a_switch_that_the_topology_has_not_is_refused() {
        let (mut member, mut manager) = (member(), manager());
        member.isotach.as_mut().expect("it is one").me = NodeId(3);
        manager.token_manager.as_mut().expect("it is one").switch = 2;
        for config in [member, manager] {
            let error = StackConfig::from_bytes(&config.to_bytes()).expect_err("there is none");
            assert!(matches!(error, crate::StackError::Damaged(DecodeError::Invalid { .. })), "{error}");
        }
    }

    #[test]
    fn each_asks_those_that_it_speaks_to() {
        let at = |port, nodes: &[u16]| -> Vec<Address> {
            nodes.iter().map(|node| Address { node: NodeId(*node), port }).collect()
        };
        let node = [at(PORT_ISOTACH, &[0, 1]), at(PORT_TOKEN_MANAGER, &[1025])].concat();
        assert_eq!(isotach_node(&member()).asks, node);
        let mut agrees = member();
        agrees.isotach.as_mut().expect("it is one").agrees = true;
        let nodes = [at(PORT_ISOTACH, &[0, 1]), at(PORT_TOKEN_MANAGER, &[1024, 1025, 1026])].concat();
        assert_eq!(isotach_node(&agrees).asks, nodes);
        let switch = [at(PORT_ISOTACH, &[0, 1, 2]), at(PORT_TOKEN_MANAGER, &[1024])].concat();
        assert_eq!(token_manager(&manager()).asks, switch);
    }

    #[test]
    fn requests_and_answers_are_told_from_what_nobody_waits_for() {
        assert_eq!((class(codec::PART), class(codec::EXECUTED)), (Class::Request, Class::Answer));
        for kind in [codec::ANNOUNCE, codec::RECEIVED, codec::MARKERS, codec::TOKEN, codec::HALTED] {
            assert_eq!(class(kind), Class::OneWay);
        }
    }
}

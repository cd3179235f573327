//! The stacks.

use crate::config::StackConfig;
use crate::error::StackError;
use crate::isotach::{self, ISOTACH_MEMBER};
use crate::service::{self, class};
use crate::space::{SERVICE, SpaceRequests};
use quintet_broker::Broker;
use quintet_contract::{Address, NodeId, Port, Protocol};
use quintet_durable::Logged;
use quintet_kernel::{Kernel, KernelConfig};
use quintet_launch::Launcher;
use quintet_membership::Membership;
use quintet_messaging::relay::{self, Relay};
use quintet_messaging::{Class, Messages};
use quintet_replicated::{MAX_REPLICAS, Replicated, ToLeader};
use quintet_resume::{Resumed, ResumedConfig, Resuming};
use quintet_session::{Placed, Ports, Role, SessionConfig, Sessions};
use quintet_tuple_space::{KeptSpaces, Manager, Policy, Router, RouterConfig, Spaces, codec};
use quintet_wire::registry::{
    BROKER as BROKER_KINDS, LAUNCH, MEMBERSHIP, PORT_BROKER, PORT_CALLERS, PORT_DISK, PORT_LAUNCH,
    PORT_LINKS, PORT_MEMBERSHIP, PORT_PROCESS, PORT_SESSION, PORT_SPACE, PORT_USER,
};

/// The node of a space's process.
pub const SPACE_NODE: NodeId = NodeId(0);
/// Where the space is.
pub const SPACE: Address = Address { node: SPACE_NODE, port: PORT_SPACE };
/// Where the broker is: beside the space.
pub const BROKER: Address = Address { node: SPACE_NODE, port: PORT_BROKER };
/// The sessions of a space's process: what its links join with those of others.
pub const SERVER: Address = sessions_of(SPACE_NODE);
/// The port of a client's relay.
pub const PORT_RELAY: Port = PORT_SPACE;

/// The space in its clients' own process, under this name in recordings.
pub const EMBEDDED: &str = "space/embedded";
/// The broker in its clients' own process.
pub const EMBEDDED_BROKER: &str = "broker/embedded";
/// The space, with the broker, behind sessions and messaging.
pub const SERVED: &str = "space/served";
/// A client's side: relays behind sessions and messaging.
pub const CLIENT: &str = "space/client";

/// A node's instances, each under its own messages, on one session with each peer.
pub type Stack<P> = Sessions<Ports<Messages<P>>>;

/// The sessions of a node: what a host adds, and what links join.
#[must_use]
pub const fn sessions_of(node: NodeId) -> Address {
    Address { node, port: PORT_SESSION }
}

/// A node with these instances. It says HELLO to the nodes that they ask, and takes the sessions of all others.
///
/// # Panics
/// If there is no instance, two are at one port or use one service of the host, or together they ask too many addresses
/// ([`MAX_ASKED`](quintet_session::MAX_ASKED)).
#[must_use]
pub fn node<P: Protocol>(node: NodeId, config: &StackConfig, instances: Vec<Placed<P>>) -> Stack<P> {
    let under_messages = |placed: Placed<P>| {
        let messaging = config.messaging(Address { node, port: placed.port });
        placed.map(|protocol| Messages::new(messaging, protocol))
    };
    without_messages(node, config, instances.into_iter().map(under_messages).collect())
}

/// The same with nothing between the instances and the node's ports. No program is made so: the explorer is, now and then, as
/// messages would hide from it what the space does about a refused answer.
///
/// # Panics
/// As [`node`].
#[must_use]
pub fn without_messages<P: Protocol>(
    node: NodeId,
    config: &StackConfig,
    instances: Vec<Placed<P>>,
) -> Sessions<Ports<P>> {
    let me = sessions_of(node);
    let asked = instances.iter().flat_map(|placed| &placed.asks).map(|address| address.node).collect();
    Sessions::new(config.sessions(me, &asked), Ports::new(me, instances))
}

/// The space at its port, and the named ones beside it.
#[must_use]
pub fn space(config: &StackConfig) -> Placed<Spaces> {
    let protocol = Spaces::new(config.space, config.spaces);
    Placed { port: PORT_SPACE, kinds: SERVICE.kinds, asks: Vec::new(), services: &[], protocol }
}

/// The first of the nodes that managers have; clients have lower ones.
pub const FIRST_MANAGER_NODE: NodeId = NodeId(u16::MAX - codec::MAX_MANAGERS as u16 + 1);

/// The node of a manager of a space that has several: the first is where a space with one manager is. Clients take other numbers.
///
/// # Panics
/// There are no more managers than [`MAX_MANAGERS`](codec::MAX_MANAGERS).
#[must_use]
pub const fn manager_node(manager: u8) -> NodeId {
    assert!((manager as usize) < codec::MAX_MANAGERS, "a space has MAX_MANAGERS at most");
    if manager == 0 { SPACE_NODE } else { NodeId(u16::MAX - manager as u16 + 1) }
}

/// Where so many managers are.
///
/// # Panics
/// As [`manager_node`].
#[must_use]
pub fn managers(number: u8) -> Vec<Address> {
    (0..number).map(|manager| Address { node: manager_node(manager), port: PORT_SPACE }).collect()
}

/// One manager of several at its port.
///
/// # Panics
/// The configuration does not say which.
#[must_use]
pub fn manager(config: &StackConfig) -> Placed<Manager> {
    let managers = config.managers.as_ref().expect("the space has several managers");
    let me = managers.managers[usize::from(managers.me)];
    let asks = managers.managers.iter().copied().filter(|manager| *manager != me).collect();
    let protocol = Manager::new(config.space, config.spaces, managers);
    Placed { port: PORT_SPACE, kinds: SERVICE.kinds, asks, services: &[], protocol }
}

/// The stack of one manager of several, and at the first of the broker beside it.
///
/// # Panics
/// As [`manager`].
#[must_use]
pub fn served_manager(config: &StackConfig) -> Stack<Box<dyn Protocol + Send>> {
    let managers = config.managers.as_ref().expect("the space has several managers");
    let mut instances = vec![boxed(manager(config))];
    if managers.me == 0 {
        instances.push(boxed(broker(config)));
    }
    node(manager_node(managers.me), config, instances)
}

/// The stack of a client of a space with so many managers, and of the broker beside the first.
///
/// # Panics
/// As [`manager_node`].
#[must_use]
pub fn client_of_managers(at: NodeId, number: u8, config: &StackConfig) -> Stack<Box<dyn Protocol + Send>> {
    let callers = Address { node: at, port: PORT_CALLERS };
    let asks = managers(number);
    let router = Router::new(RouterConfig { callers, managers: asks.clone(), loss: relay::loss });
    let router = Placed { port: PORT_RELAY, kinds: SERVICE.kinds, asks, services: &[], protocol: router };
    node(at, config, vec![boxed(router), boxed(to_broker(callers))])
}

fn to_broker(callers: Address) -> Placed<Relay> {
    let protocol = Relay::new(callers, BROKER, class);
    Placed { port: PORT_BROKER, kinds: BROKER_KINDS, asks: vec![BROKER], services: &[], protocol }
}

/// Spaces whose clients come back: what a log or replicas keep.
pub type ResumedSpaces = Resumed<Spaces, SpaceRequests>;

/// A client of a space that comes back to it, where that outlives its server.
pub type ResumingRelay = Resuming<Relay, SpaceRequests>;

/// The same with a log of its inputs, and with clients that come back.
///
/// # Panics
/// The configuration has none.
#[must_use]
pub fn logged_space(config: &StackConfig) -> Placed<Logged<ResumedSpaces>> {
    let log = config.log.expect("the space keeps a log");
    let protocol = Logged::new(log, kept_spaces(config, Policy::Logged), resumed_spaces);
    Placed { port: PORT_SPACE, kinds: SERVICE.kinds, asks: Vec::new(), services: &[PORT_DISK], protocol }
}

/// The same, kept together with other replicas.
///
/// # Panics
/// The configuration has no replication.
#[must_use]
pub fn replicated_space(config: &StackConfig) -> Placed<Replicated<ResumedSpaces>> {
    let replication = config.replication.clone().expect("the space is replicated");
    let others = replication.replicas.iter().filter(|node| **node != replication.me.node);
    let asks = others.map(|node| Address { node: *node, port: PORT_SPACE }).collect();
    let is_request = |kind| class(kind) == Class::Request;
    let copies = u8::try_from(replication.replicas.len()).expect("there are MAX_REPLICAS at most");
    let kept = kept_spaces(config, Policy::Replicated(copies));
    let protocol = Replicated::new(replication, is_request, kept, resumed_spaces);
    Placed { port: PORT_SPACE, kinds: SERVICE.kinds, asks, services: &[PORT_DISK], protocol }
}

/// With what spaces are made that outlive their server, and their clients' accounts.
fn kept_spaces(config: &StackConfig, policy: Policy) -> ResumedConfig<KeptSpaces> {
    let StackConfig { space, spaces, is_restricted, .. } = *config;
    let inner = KeptSpaces { space, spaces, policy, is_restricted };
    ResumedConfig { limits: config.resume, inner }
}

fn resumed_spaces(config: &ResumedConfig<KeptSpaces>) -> ResumedSpaces {
    Resumed::new(config.limits, Spaces::kept(&config.inner))
}

/// The broker at its port.
fn broker(config: &StackConfig) -> Placed<Broker> {
    let protocol = Broker::new(config.broker);
    Placed { port: PORT_BROKER, kinds: BROKER_KINDS, asks: Vec::new(), services: &[], protocol }
}

/// The member of the cluster that the node is, which speaks to the members on these nodes, and to later ones once those have spoken. Both of two nodes say
/// HELLO, whoever has made the link.
///
/// # Panics
/// The configuration has none.
#[must_use]
pub fn member(config: &StackConfig, others: &[NodeId]) -> Placed<Membership> {
    let config = config.membership.clone().expect("the node is a member");
    let asks = others.iter().map(|node| Address { node: *node, port: PORT_MEMBERSHIP }).collect();
    Placed {
        port: PORT_MEMBERSHIP,
        kinds: MEMBERSHIP,
        asks,
        services: &[PORT_DISK, PORT_LINKS],
        protocol: Membership::new(config),
    }
}

/// The launcher of the node, which starts processes of its host for those who ask.
///
/// # Panics
/// The configuration has none.
#[must_use]
pub fn launcher(config: &StackConfig) -> Placed<Launcher> {
    let config = config.launcher.clone().expect("the node has a launcher");
    let protocol = Launcher::new(config);
    Placed { port: PORT_LAUNCH, kinds: LAUNCH, asks: Vec::new(), services: &[PORT_PROCESS], protocol }
}

/// Another protocol that asks the space, at a port of its own.
#[must_use]
pub fn asking_space<P>(port: Port, protocol: P) -> Placed<P> {
    Placed { port, kinds: SERVICE.kinds, asks: vec![SPACE], services: &[], protocol }
}

/// The stack of a space that serves other processes, and of the broker beside it.
#[must_use]
pub fn served(config: &StackConfig) -> Stack<Box<dyn Protocol + Send>> {
    let (at, space) = match (&config.replication, config.log.is_some()) {
        (Some(replication), _) => (replication.me.node, boxed(replicated_space(config))),
        (None, true) => (SPACE_NODE, boxed(logged_space(config))),
        (None, false) => (SPACE_NODE, boxed(space(config))),
    };
    node(at, config, vec![space, boxed(broker(config))])
}

fn boxed<P: Protocol + Send + 'static>(placed: Placed<P>) -> Placed<Box<dyn Protocol + Send>> {
    placed.map(|protocol| Box::new(protocol) as Box<dyn Protocol + Send>)
}

/// The stack of a client of a space and of the broker beside it, whose callers are at its node's port for them.
#[must_use]
pub fn client(at: NodeId, config: &StackConfig) -> Stack<ResumingRelay> {
    let (to_space, to_broker) = relays(at, config);
    node(at, config, vec![to_space, to_broker])
}

/// The same, of a space that so many replicas keep together, and of the brokers beside them: it asks whichever of them it was linked to last.
///
/// # Panics
/// There are no more replicas than [`MAX_REPLICAS`].
#[must_use]
pub fn client_of_replicas(replicas: u8, at: NodeId, config: &StackConfig) -> Stack<ToLeader<ResumingRelay>> {
    let (to_space, to_broker) = relays(at, config);
    let led = |placed: Placed<ResumingRelay>, service: Address| {
        let asks: Vec<Address> =
            replica_nodes(replicas).map(|replica| Address { node: replica, ..service }).collect();
        let Placed { port, kinds, services, protocol, .. } = placed;
        Placed { port, kinds, services, protocol: ToLeader::new(service, asks.clone(), protocol), asks }
    };
    node(at, config, vec![led(to_space, SPACE), led(to_broker, BROKER)])
}

/// The nodes of so many replicas.
///
/// # Panics
/// There are no more of them than [`MAX_REPLICAS`].
pub fn replica_nodes(replicas: u8) -> impl Iterator<Item = NodeId> {
    assert!(usize::from(replicas) <= MAX_REPLICAS, "a space has MAX_REPLICAS at most");
    (1..=u16::from(replicas)).map(NodeId)
}

/// What asks the space, and what asks the broker.
fn relays(at: NodeId, config: &StackConfig) -> (Placed<ResumingRelay>, Placed<ResumingRelay>) {
    let callers = Address { node: at, port: PORT_CALLERS };
    let relay = |to, id| Resuming::new(id, callers, to, Relay::new(callers, to, class));
    let to_broker = Placed {
        port: PORT_BROKER,
        kinds: BROKER_KINDS,
        asks: vec![BROKER],
        services: &[],
        // It ends with its process.
        protocol: relay(BROKER, None),
    };
    (asking_space(PORT_RELAY, relay(SPACE, config.client)), to_broker)
}

/// A client of several services of one node, whose callers are at its node's port for them. Its relays are at ports where no service is: what comes from
/// a service's own port is one of its kind, another member say.
///
/// # Panics
/// If there is no service at one of the ports.
#[must_use]
pub fn client_of(server: NodeId, services: &[Port], at: NodeId, config: &StackConfig) -> Stack<Relay> {
    let callers = Address { node: at, port: PORT_CALLERS };
    let relay = |port: &Port| {
        let (service, there) =
            (service::at(*port).expect("a service is there"), Address { node: server, port: *port });
        let protocol = Relay::new(callers, there, class);
        let at = Port(PORT_USER.0 + port.0);
        Placed { port: at, kinds: service.kinds, asks: vec![there], services: &[], protocol }
    };
    node(at, config, services.iter().map(relay).collect())
}

/// The kernel of a machine: what its clients ask goes on to the server that the configuration names, over one session. Silence is watched for of the
/// server only: a client may stand still.
#[must_use]
pub fn kernel(kernel: KernelConfig, config: &StackConfig) -> Sessions<Kernel> {
    let asked = [kernel.server.node].into_iter().collect();
    let sessions = config.sessions(kernel.me, &asked);
    let sessions = SessionConfig { role: Role::KERNEL, watches_asked_only: true, ..sessions };
    Sessions::new(sessions, Kernel::new(kernel))
}

/// Makes what a recording names, for a replay.
///
/// # Errors
/// [`StackError`]: there is no such stack, or its configuration is of another version, for a service that this program does not
/// have, or damaged.
pub fn make(name: &str, at: Address, config: &[u8]) -> Result<Box<dyn Protocol>, StackError> {
    let unknown = || StackError::UnknownStack(name.to_owned());
    let (service, layers) = name.split_once('/').ok_or_else(unknown)?;
    let service = service::named(service).ok_or_else(unknown)?;
    match (name, layers) {
        (_, "embedded") => Ok((service.make)(&StackConfig::from_bytes(config)?)),
        (SERVED, _) => Ok(Box::new(served(&StackConfig::from_bytes(config)?))),
        (CLIENT, _) => Ok(Box::new(client(at.node, &StackConfig::from_bytes(config)?))),
        (ISOTACH_MEMBER, _) => {
            let config = StackConfig::from_bytes(config)?;
            config.isotach.as_ref().ok_or_else(unknown)?;
            Ok(Box::new(isotach::member_of_isonet(&config)))
        }
        _ => Err(unknown()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quintet_contract::Incarnation;

    #[test]
    fn every_recorded_name_is_made_again_and_no_other() {
        let config = StackConfig::of_server(7, Incarnation(1), 42).to_bytes();
        for name in [EMBEDDED, EMBEDDED_BROKER, SERVED, CLIENT] {
            assert!(make(name, SPACE, &config).is_ok(), "{name}");
        }
        for name in ["", "space", "space/", "space/other", "arrays/embedded", "arrays/served", "/embedded"] {
            let error = make(name, SPACE, &config).err();
            assert_eq!(error, Some(StackError::UnknownStack(name.to_owned())));
        }
    }
}

//! The stacks.

use crate::config::StackConfig;
use crate::error::StackError;
use crate::service::{self, class};
use crate::space::SERVICE;
use quintet_broker::Broker;
use quintet_contract::{Address, NodeId, Port, Protocol};
use quintet_durable::Logged;
use quintet_launch::Launcher;
use quintet_membership::Membership;
use quintet_messaging::{Messages, relay::Relay};
use quintet_session::{Placed, Ports, Sessions};
use quintet_tuple_space::{Space, Spaces};
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

/// The same with a log of its inputs.
///
/// # Panics
/// The configuration has none.
#[must_use]
pub fn logged_space(config: &StackConfig) -> Placed<Logged<Space>> {
    let log = config.log.expect("the space keeps a log");
    let protocol = Logged::new(log, config.space, |space| Space::new(*space));
    Placed { port: PORT_SPACE, kinds: SERVICE.kinds, asks: Vec::new(), services: &[PORT_DISK], protocol }
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
    let space = if config.log.is_some() { boxed(logged_space(config)) } else { boxed(space(config)) };
    node(SPACE_NODE, config, vec![space, boxed(broker(config))])
}

fn boxed<P: Protocol + Send + 'static>(placed: Placed<P>) -> Placed<Box<dyn Protocol + Send>> {
    placed.map(|protocol| Box::new(protocol) as Box<dyn Protocol + Send>)
}

/// The stack of a client of a space and of the broker beside it, whose callers are at its node's port for them.
#[must_use]
pub fn client(at: NodeId, config: &StackConfig) -> Stack<Relay> {
    let callers = Address { node: at, port: PORT_CALLERS };
    let to_broker = Placed {
        port: PORT_BROKER,
        kinds: BROKER_KINDS,
        asks: vec![BROKER],
        services: &[],
        protocol: Relay::new(callers, BROKER, class),
    };
    node(at, config, vec![asking_space(PORT_RELAY, Relay::new(callers, SPACE, class)), to_broker])
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

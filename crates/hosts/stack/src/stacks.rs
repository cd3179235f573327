//! The stacks.

use crate::config::StackConfig;
use crate::error::StackError;
use crate::service::{self, class};
use quintet_contract::{Address, NodeId, Port, Protocol};
use quintet_messaging::{Messages, relay::Relay};
use quintet_session::Sessions;
use quintet_tuple_space::Space;
use quintet_wire::registry::{PORT_CALLERS, PORT_SPACE};

/// The node of a space's process.
pub const SPACE_NODE: NodeId = NodeId(0);
/// Where the space is.
pub const SPACE: Address = Address { node: SPACE_NODE, port: PORT_SPACE };
/// The port of a client's relay.
pub const PORT_RELAY: Port = PORT_SPACE;

/// The space in its clients' own process, under this name in recordings.
pub const EMBEDDED: &str = "space/embedded";
/// The space behind sessions and messaging.
pub const SERVED: &str = "space/served";
/// A client's side: a relay behind sessions and messaging.
pub const CLIENT: &str = "space/client";

/// The stack of a space that serves other processes.
#[must_use]
pub fn served(config: &StackConfig) -> Sessions<Messages<Space>> {
    let messages = Messages::new(config.messaging(SPACE), Space::new(config.space));
    Sessions::new(config.server_sessions(SPACE), messages)
}

/// The stack of a client at `me`, whose callers are at its node's port for them.
#[must_use]
pub fn client(me: Address, config: &StackConfig) -> Sessions<Messages<Relay>> {
    let callers = Address { node: me.node, port: PORT_CALLERS };
    client_of(me, config, Relay::new(callers, SPACE, class))
}

/// The same with another protocol on top, which asks the space itself.
#[must_use]
pub fn client_of<P: Protocol>(me: Address, config: &StackConfig, top: P) -> Sessions<Messages<P>> {
    Sessions::new(config.client_sessions(me, SPACE), Messages::new(config.messaging(me), top))
}

/// The space on its sessions alone, so that it meets full links itself. No program is made so: the explorer is, now and then, as
/// messages would hide from it what the space does about a refused answer.
#[must_use]
pub fn served_without_messages(config: &StackConfig) -> Sessions<Space> {
    Sessions::new(config.server_sessions(SPACE), Space::new(config.space))
}

/// The other side of [`served_without_messages`].
#[must_use]
pub fn client_without_messages<P: Protocol>(me: Address, config: &StackConfig, top: P) -> Sessions<P> {
    Sessions::new(config.client_sessions(me, SPACE), top)
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
        (CLIENT, _) => Ok(Box::new(client(at, &StackConfig::from_bytes(config)?))),
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
        for name in [EMBEDDED, SERVED, CLIENT] {
            assert!(make(name, SPACE, &config).is_ok(), "{name}");
        }
        for name in ["", "space", "space/", "space/other", "arrays/embedded", "arrays/served", "/embedded"] {
            let error = make(name, SPACE, &config).err();
            assert_eq!(error, Some(StackError::UnknownStack(name.to_owned())));
        }
    }
}

//! Which protocols stand on which. The live host, the simulator and the replay all make them here.

use quintet_contract::{Address, Incarnation, Kind, NodeId, Port, Protocol, Span};
use quintet_messaging::{Class, Messages, MessagingConfig, Window, relay::Relay};
use quintet_session::{PeerConfig, Reliability, SessionConfig, Sessions};
use quintet_tuple_space::{Space, SpaceConfig, codec};
use quintet_wire::registry::{PORT_CALLERS, PORT_SPACE};
use quintet_wire::{Decode, DecodeError, Encode, Reader, Sink, encode_to_vec};

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

/// A server unheard for this long is pinged by its clients.
const KEEP_ALIVE: Span = Span::from_millis(250);
/// A ping unanswered for this long ends the session, so that a client learns of a frozen server within a second.
const SILENCE_LIMIT: Span = Span::from_millis(700);

/// What a stack is made with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StackConfig {
    /// The cluster; both sides must name the same.
    pub cluster: u128,
    /// This life of the node.
    pub incarnation: Incarnation,
    /// Keys what is random.
    pub seed: u64,
    /// The space's limits. A client's are not used.
    pub space: SpaceConfig,
    /// What a peer may have under way to this side.
    pub window: Window,
}

/// Whether a kind of the tuple space is a request, an answer or urgent. Leases are renewed and requests cancelled ahead of what waits:
/// a lease would end behind large data, and a request that waits holds the room that its end would free. What undoes a take
/// goes with them: each of them may say that later takes are not undone any more.
#[must_use]
pub fn class(kind: Kind) -> Class {
    match kind {
        codec::CANCEL | codec::RETURN | codec::RENEW => Class::Urgent,
        kind if (codec::OUT..codec::DONE).contains(&kind) => Class::Request,
        _ => Class::Answer,
    }
}

/// The stack of a space that serves other processes.
#[must_use]
pub fn served(config: &StackConfig) -> Sessions<Messages<Space>> {
    let session = SessionConfig::new(SPACE, config.cluster, config.incarnation, config.seed);
    let messaging = MessagingConfig::new(SPACE, class).with_window(config.window);
    let messages = Messages::new(messaging, Space::new(config.space));
    Sessions::new(session, messages)
}

/// The stack of a client at `me`.
#[must_use]
pub fn client(me: Address, config: &StackConfig) -> Sessions<Messages<Relay>> {
    let mut session = SessionConfig::new(me, config.cluster, config.incarnation, config.seed);
    session.others = None;
    session.peers.insert(SPACE, PeerConfig { initiate: true, reliability: Reliability::Link });
    session.keep_alive = KEEP_ALIVE;
    session.silence_limit = SILENCE_LIMIT;
    let callers = Address { node: me.node, port: PORT_CALLERS };
    let relay = Relay::new(callers, SPACE, class);
    let messaging = MessagingConfig::new(me, class).with_window(config.window);
    Sessions::new(session, Messages::new(messaging, relay))
}

/// Makes what a recording names, for a replay.
///
/// # Errors
/// There is no such stack, or its configuration is damaged: in words.
pub fn make(name: &str, at: Address, config: &[u8]) -> Result<Box<dyn Protocol>, String> {
    let config = StackConfig::decode_all(config).map_err(|error| format!("its configuration: {error}"))?;
    Ok(match name {
        EMBEDDED => Box::new(Space::new(config.space)),
        SERVED => Box::new(served(&config)),
        CLIENT => Box::new(client(at, &config)),
        _ => return Err("this program has no stack of this name".to_owned()),
    })
}

impl StackConfig {
    /// As a recording keeps it.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        encode_to_vec(self)
    }
}

impl Encode for StackConfig {
    fn encode(&self, sink: &mut impl Sink) {
        let space = &self.space;
        sink.bytes(&self.cluster.to_le_bytes());
        sink.u64(self.incarnation.0);
        sink.u64(self.seed);
        sink.u64(space.max_bytes);
        sink.u64(space.max_tuples);
        sink.u32(space.max_attempts);
        sink.u64(space.max_waiting as u64);
        sink.u64(space.max_waiting_bytes);
        sink.u64(space.max_unsettled as u64);
        sink.u64(space.index_step as u64);
        sink.u64(space.seed);
        sink.u32(self.window.slots);
        sink.u32(self.window.bytes);
    }
}

impl<'a> Decode<'a> for StackConfig {
    #[expect(clippy::field_reassign_with_default, reason = "a space built for tests has one field more")]
    fn decode(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let cluster = u128::from_le_bytes(reader.array()?);
        let (incarnation, seed) = (Incarnation(reader.u64()?), reader.u64()?);
        let count = |reader: &mut Reader<'a>| Ok(usize::try_from(reader.u64()?).unwrap_or(usize::MAX));
        let mut space = SpaceConfig::default();
        space.max_bytes = reader.u64()?;
        space.max_tuples = reader.u64()?;
        space.max_attempts = reader.u32()?;
        space.max_waiting = count(reader)?;
        space.max_waiting_bytes = reader.u64()?;
        space.max_unsettled = count(reader)?;
        space.index_step = count(reader)?;
        space.seed = reader.u64()?;
        let window = Window { slots: reader.u32()?, bytes: reader.u32()? };
        Ok(StackConfig { cluster, incarnation, seed, space, window })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_comes_back_from_a_recording() {
        let space = SpaceConfig {
            max_bytes: 1,
            max_attempts: 2,
            max_unsettled: 3,
            index_step: 8,
            seed: 4,
            ..SpaceConfig::default()
        };
        let window = Window { slots: 9, bytes: 10 };
        let config = StackConfig { cluster: 5 << 100, incarnation: Incarnation(6), seed: 7, space, window };
        assert_eq!(StackConfig::decode_all(&config.to_bytes()), Ok(config));
    }

    #[test]
    fn every_kind_of_the_space_has_its_class() {
        for kind in
            [codec::OUT, codec::TAKE, codec::READ, codec::ACK, codec::RELEASE, codec::COUNT, codec::STATUS]
        {
            assert_eq!(class(kind), Class::Request);
        }
        for kind in [codec::DONE, codec::TUPLE, codec::NO_MATCH, codec::COUNTED, codec::STATE, codec::ERROR] {
            assert_eq!(class(kind), Class::Answer);
        }
        for kind in [codec::CANCEL, codec::RETURN, codec::RENEW] {
            assert_eq!(class(kind), Class::Urgent);
        }
    }
}

//! An entry point for fuzzers and corpus tests: bytes in, no panic out.

use super::{Placed, Ports};
use crate::codec::{HELLO, PREFIX_BYTES, Prefix};
use crate::fuzzing::hello;
use crate::sequence::Sequence;
use crate::{Reliability, SessionConfig, Sessions};
use quintet_contract::{
    Address, Bytes, Disconnect, DownCause, Effects, Frame, Incarnation, Input, Kind, LinkClass, LinkInfo,
    Outbox, PeerChange, Port, Protocol, SendError, Time, Token,
};
use quintet_wire::registry::{PORT_SESSION, SESSION, TUPLE_SPACE, USER};
use quintet_wire::{Reader, encode_to_vec};
use std::collections::BTreeSet;

const ME: Address = Address::new(1, PORT_SESSION.0);
const PEERS: [Address; 2] = [Address::new(2, PORT_SESSION.0), Address::new(3, PORT_SESSION.0)];
/// Bytes of a step's body at most.
const STEP_BYTES: usize = 512;

/// Sends back what it gets, and checks who is told of whom.
#[derive(Default)]
struct Mirror {
    up: BTreeSet<u32>,
}

impl Protocol for Mirror {
    fn handle(&mut self, _now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        match input {
            Input::Frame(from, frame) => {
                assert!(
                    from.node == ME.node || self.up.contains(&from.to_bits()),
                    "a frame of who is not up"
                );
                // Where there is no room there is nothing to mirror.
                let _ = out.send(from, frame.kind, frame.token, frame.body);
            }
            Input::Peer(peer, PeerChange::Up { .. }) => {
                assert!(self.up.insert(peer.to_bits()), "{peer} is up twice");
            }
            Input::Peer(peer, PeerChange::Down(cause)) => {
                let was_up = self.up.remove(&peer.to_bits());
                assert!(was_up || matches!(cause, DownCause::Refused(_)), "{peer} is down and was not up");
            }
            Input::Writable(peer) => drop(out.send(peer, USER.kind(0), Token(0), b"again")),
            Input::Started | Input::Wake => {}
        }
    }

    fn deadline(&self) -> Option<Time> {
        None
    }
}

/// A link that is full now and then.
struct Link {
    is_full: bool,
    effects: Effects,
}

impl Outbox for Link {
    fn begin(
        &mut self,
        to: Address,
        kind: Kind,
        token: Token,
        at_most: usize,
    ) -> Result<&mut [u8], SendError> {
        if self.is_full { Err(SendError::Full) } else { self.effects.begin(to, kind, token, at_most) }
    }

    fn commit(&mut self, len: usize) {
        self.effects.commit(len);
    }

    fn send_bulk(
        &mut self,
        to: Address,
        kind: Kind,
        token: Token,
        head: &[u8],
        bulk: Bytes,
    ) -> Result<(), SendError> {
        if self.is_full { Err(SendError::Full) } else { self.effects.send_bulk(to, kind, token, head, bulk) }
    }

    fn disconnect(&mut self, peer: Address, how: Disconnect) {
        self.effects.disconnect(peer, how);
    }
}

/// Drives a fresh node with two instances and two peers with what the bytes say: each step is an action (u8), a kind (u8), a length
/// (u16, little-endian) and a body. Bit 3 of the action chooses the peer, bit 4 says that its link is full.
///
/// # Panics
/// If the layer does, or tells an instance of frames and ends of who is not up: a defect.
pub fn drive_ports(bytes: &[u8]) {
    let mut reader = Reader::new(bytes);
    let mut node = Sessions::new(SessionConfig::new(ME, 7, Incarnation(1), 1), Ports::new(ME, instances()));
    let mut link = Link { is_full: false, effects: Effects::default() };
    node.handle(Time::ZERO, Input::Started, &mut link);
    while let (Ok(action), Ok(kind), Ok(len)) = (reader.u8(), reader.u8(), reader.u16()) {
        let len = usize::from(len).min(STEP_BYTES).min(reader.left());
        let Ok(body) = reader.bytes(len) else { return };
        let peer = PEERS[usize::from(action >> 3 & 1)];
        link.is_full = action & 16 != 0;
        let token = Token(u64::from(action));
        let numbered = numbered(&node, peer, body);
        let input = match action % 8 {
            0 => Input::Wake,
            1 => Input::Writable(peer),
            2 => {
                node.handle(Time::ZERO, Input::Peer(peer, &UP), &mut link);
                let body = encode_to_vec(&hello(peer.node, Reliability::Link));
                node.handle(Time::ZERO, Input::Frame(peer, Frame::new(HELLO, token, &body)), &mut link);
                continue;
            }
            3 => Input::Peer(peer, &PeerChange::Down(DownCause::Died)),
            // The layer's own kinds are a defect of whoever sends them within the node.
            4 | 5 if !super::PORTS.contains(Kind(kind)) && !SESSION.contains(Kind(kind)) => {
                Input::Frame(Address { port: Port(1), ..ME }, Frame::new(Kind(kind), token, body))
            }
            _ => Input::Frame(peer, Frame::new(Kind(kind), token, &numbered)),
        };
        node.handle(Time::ZERO, input, &mut link);
        link.effects.frames();
    }
}

const UP: PeerChange =
    PeerChange::Up { incarnation: Incarnation(1), link: LinkInfo::new(LinkClass::Machine, 100) };

fn instances() -> Vec<Placed<Mirror>> {
    let placed = |port, kinds, asks| Placed {
        port: Port(port),
        kinds,
        asks,
        services: &[],
        protocol: Mirror::default(),
    };
    let asks = vec![Address::new(2, 16), Address::new(2, 17)];
    vec![placed(16, TUPLE_SPACE, asks), placed(1024, USER, Vec::new())]
}

/// The body with the numbers that the session expects in front, so that the fuzzer need not guess them.
fn numbered(node: &Sessions<Ports<Mirror>>, peer: Address, body: &[u8]) -> Vec<u8> {
    let sequence = node.stream(peer).map_or(Sequence(0), |stream| stream.expected);
    let mut room = vec![0; PREFIX_BYTES];
    Prefix { sequence, acknowledged: Sequence(0), fence: None }.write(&mut room);
    room.extend_from_slice(body);
    room
}

//! Entry points for fuzzers and corpus tests: bytes in, no panic out.

use crate::codec::{Fence, HELLO, Hello, PREFIX_BYTES, Prefix};
use crate::{PeerConfig, Reliability, SessionConfig, Sessions};
use quintet_contract::{
    Address, Effects, Frame, Incarnation, Input, Kind, LinkClass, LinkInfo, Outbox, PeerChange, Protocol,
    Span, Time, Token,
};
use quintet_wire::{Reader, encode_to_vec};

const ME: Address = Address::new(1, 16);
const PEER: Address = Address::new(2, 16);

/// Frames of a step at most, so that a step's length fits two bytes and some are cut short.
const STEP_BYTES: usize = 512;

/// A protocol that sends back what it gets.
struct Mirror;

impl Protocol for Mirror {
    fn handle(&mut self, _now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        if let Input::Frame(from, frame) = input {
            // The link below refuses nothing; a window may, and then there is nothing to mirror.
            let _ = out.send(from, frame.kind, frame.token, frame.body);
        }
    }

    fn deadline(&self) -> Option<Time> {
        None
    }
}

/// Drives a fresh `Sessions` with what the bytes say: the first byte chooses the settings, and each step after it is an action
/// (u8), a kind (u8), a length (u16, little-endian) and a body.
///
/// # Panics
/// If the sessions do, which is a defect.
pub fn drive(bytes: &[u8]) {
    let mut reader = Reader::new(bytes);
    let Ok(choice) = reader.u8() else { return };
    let retransmits = choice & 1 != 0;
    let mut sessions = Sessions::new(settings(retransmits, choice & 2 != 0), Mirror);
    let (mut out, mut now) = (Effects::default(), Time::ZERO);
    let up = PeerChange::Up { incarnation: Incarnation(1), link: LinkInfo::new(LinkClass::Machine, 1024) };
    sessions.handle(now, Input::Started, &mut out);
    sessions.handle(now, Input::Peer(PEER, up), &mut out);
    if choice & 4 != 0 {
        let body = encode_to_vec(&hello(retransmits));
        sessions.handle(now, Input::Frame(PEER, Frame::new(HELLO, Token(0), &body)), &mut out);
    }
    while let (Ok(action), Ok(kind), Ok(len)) = (reader.u8(), reader.u8(), reader.u16()) {
        let len = usize::from(len).min(STEP_BYTES).min(reader.left());
        let Ok(body) = reader.bytes(len) else { return };
        now += Span::from_micros(u64::from(action) * 100);
        let kind = Kind(kind);
        let numbered = number(&sessions, body);
        let input = match action % 8 {
            0 => Input::Wake,
            1 => Input::Writable(PEER),
            2 => Input::Peer(PEER, up),
            3 => Input::Peer(PEER, PeerChange::Down(quintet_contract::DownCause::Died)),
            4 | 5 => Input::Frame(PEER, Frame::new(kind, Token(u64::from(action)), &numbered)),
            _ => Input::Frame(PEER, Frame::new(kind, Token(u64::from(action)), body)),
        };
        sessions.handle(now, input, &mut out);
        out.frames();
    }
}

fn settings(retransmits: bool, initiate: bool) -> SessionConfig {
    let (window_frames, window_bytes) = (4, 2048);
    let initial_timeout = Span::from_millis(5);
    let reliability = match retransmits {
        true => Reliability::Retransmit { initial_timeout, window_frames, window_bytes },
        false => Reliability::Link,
    };
    let mut config = SessionConfig::new(ME, 7, Incarnation(1), 1);
    config.others = Some(PeerConfig { initiate, reliability });
    config.keep_alive = Span::from_millis(20);
    config.silence_limit = Span::from_millis(100);
    config.resume_window = Span::from_millis(50);
    config
}

fn hello(retransmits: bool) -> Hello {
    Hello {
        versions: crate::Versions::default(),
        attempt: crate::codec::Attempt { number: 1, nonce: 1 },
        cluster: 7,
        node: PEER.node,
        role: crate::Role(0),
        retransmits,
        incarnation: Incarnation(1),
        features: crate::Features(0),
        resume: 0,
        received: crate::sequence::Sequence(0),
        window: 4,
    }
}

/// The body with the numbers that the session expects in front, so that the fuzzer need not guess them; the body's first bytes
/// shift the numbers.
fn number(sessions: &Sessions<Mirror>, body: &[u8]) -> Vec<u8> {
    let Some(stream) = sessions.stream(PEER) else { return body.to_vec() };
    let shift = |at: usize| usize::from(body.get(at).copied().unwrap_or(0) & 7);
    let mut room = vec![0; stream.prefix_bytes()];
    let stamp = crate::stamp::Stamp(u32::from(body.first().copied().unwrap_or(0)) << 7);
    let fence = Fence { session: stream.id, departed: stamp, echo: stamp };
    let fence = (room.len() > PREFIX_BYTES).then_some(fence);
    let acknowledged = crate::sequence::Sequence(stream.next.0.wrapping_sub(1)).plus(shift(1) / 4);
    Prefix { sequence: stream.expected.plus(shift(0) / 2), acknowledged, fence }.write(&mut room);
    room.extend_from_slice(body);
    room
}

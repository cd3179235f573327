//! Entry points for fuzzers and corpus tests: bytes in, no panic out.

pub use crate::ports::fuzzing::drive_ports;

use crate::codec::{Attempt, Fence, HELLO, Hello, PREFIX_BYTES, Prefix, WELCOME, Welcome};
use crate::sequence::Sequence;
use crate::{PeerConfig, Reliability, SessionConfig, Sessions};
use quintet_contract::{
    Address, Effects, Frame, Incarnation, Input, Kind, LinkClass, LinkInfo, NodeId, Outbox, PeerChange,
    Protocol, Span, Time, Token,
};
use quintet_wire::{Decode, Reader, encode_to_vec};

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
    let reliability = reliability(choice);
    let mut sessions = Sessions::new(settings(reliability, choice & 2 != 0), Mirror);
    let (mut out, mut now) = (Effects::default(), Time::ZERO);
    let up = PeerChange::Up { incarnation: Incarnation(1), link: LinkInfo::new(LinkClass::Machine, 1024) };
    sessions.handle(now, Input::Started, &mut out);
    sessions.handle(now, Input::Peer(PEER, &up), &mut out);
    let mut asked = asked(&mut out);
    if choice & 4 != 0 {
        let body = encode_to_vec(&hello(PEER.node, reliability));
        sessions.handle(now, Input::Frame(PEER, Frame::new(HELLO, Token(0), &body)), &mut out);
    }
    while let (Ok(action), Ok(kind), Ok(len)) = (reader.u8(), reader.u8(), reader.u16()) {
        let len = usize::from(len).min(STEP_BYTES).min(reader.left());
        let Ok(body) = reader.bytes(len) else { return };
        now += Span::from_micros(u64::from(action) * 100);
        let kind = Kind(kind);
        let named = match kind {
            HELLO => resuming_hello(&sessions, reliability, body),
            WELCOME => welcome(&sessions, asked.as_ref(), body),
            _ => number(&sessions, body),
        };
        let input = match action % 8 {
            0 => Input::Wake,
            1 => Input::Writable(PEER),
            2 => Input::Peer(PEER, &up),
            3 => Input::Peer(PEER, &PeerChange::Down(quintet_contract::DownCause::Died)),
            4 | 5 => Input::Frame(PEER, Frame::new(kind, Token(u64::from(action)), &named)),
            _ => Input::Frame(PEER, Frame::new(kind, Token(u64::from(action)), body)),
        };
        sessions.handle(now, input, &mut out);
        asked = self::asked(&mut out).or(asked);
    }
}

fn reliability(choice: u8) -> Reliability {
    let (window_frames, window_bytes) = (4, 2048);
    match choice & 9 {
        0 => Reliability::Link,
        8 => Reliability::Retain { window_frames, window_bytes },
        _ => Reliability::Retransmit { initial_timeout: Span::from_millis(5), window_frames, window_bytes },
    }
}

fn settings(reliability: Reliability, initiate: bool) -> SessionConfig {
    let mut config = SessionConfig::new(ME, 7, Incarnation(1), 1);
    config.others = Some(PeerConfig { initiate, reliability });
    config.keep_alive = Span::from_millis(20);
    config.silence_limit = Span::from_millis(100);
    config.resume_window = Span::from_millis(50);
    config
}

pub(crate) fn hello(node: NodeId, reliability: Reliability) -> Hello {
    Hello {
        versions: crate::Versions::default(),
        attempt: Attempt { number: 1, nonce: 1 },
        cluster: 7,
        node,
        role: crate::Role(0),
        reliability: reliability.number(),
        incarnation: Incarnation(1),
        features: crate::Features(0),
        resume: 0,
        received: Sequence(0),
        window: reliability.window(),
    }
}

/// The try of the last HELLO that went.
fn asked(out: &mut Effects) -> Option<Attempt> {
    let hellos = out.frames().into_iter().filter(|(_, frame)| frame.kind == HELLO);
    hellos.last().and_then(|(_, frame)| Hello::decode_all(&frame.body).ok()).map(|hello| hello.attempt)
}

/// How far the body's first bytes shift the numbers.
fn shift(body: &[u8], at: usize) -> usize {
    usize::from(body.get(at).copied().unwrap_or(0) & 7)
}

/// What the peer has not yet acknowledged, or a little more.
fn acknowledged(sessions: &Sessions<Mirror>, body: &[u8]) -> Sequence {
    let next = sessions.stream(PEER).map_or(Sequence(0), |stream| stream.next);
    Sequence(next.0.wrapping_sub(1)).plus(shift(body, 1) / 4)
}

/// A later HELLO that names the session there is; the body's first bytes choose the try, the life and the numbers.
fn resuming_hello(sessions: &Sessions<Mirror>, reliability: Reliability, body: &[u8]) -> Vec<u8> {
    let attempt = Attempt { number: 1 + u32::from(body.first().copied().unwrap_or(1)), nonce: 1 };
    let incarnation = Incarnation(1 + u64::from(shift(body, 2) == 7));
    let resume = sessions.session(PEER).unwrap_or(0);
    let received = acknowledged(sessions, body);
    encode_to_vec(&Hello { attempt, incarnation, resume, received, ..hello(PEER.node, reliability) })
}

/// A WELCOME that answers the HELLO under way.
fn welcome(sessions: &Sessions<Mirror>, asked: Option<&Attempt>, body: &[u8]) -> Vec<u8> {
    let settings = reliability(8);
    encode_to_vec(&Welcome {
        version: crate::Versions::default().newest,
        role: crate::Role(0),
        resumed: shift(body, 0) < 4,
        attempt: asked.copied().unwrap_or_default(),
        session: sessions.session(PEER).unwrap_or(1),
        incarnation: Incarnation(1 + u64::from(shift(body, 2) == 7)),
        features: crate::Features(0),
        received: acknowledged(sessions, body),
        window: settings.window(),
    })
}

/// The body with the numbers that the session expects in front, so that the fuzzer need not guess them; the body's first bytes
/// shift the numbers.
fn number(sessions: &Sessions<Mirror>, body: &[u8]) -> Vec<u8> {
    let Some(stream) = sessions.stream(PEER) else { return body.to_vec() };
    let mut room = vec![0; stream.prefix_bytes()];
    let stamp = crate::stamp::Stamp(u32::from(body.first().copied().unwrap_or(0)) << 7);
    let fence = Fence { session: stream.id, departed: stamp, echo: stamp };
    let fence = (room.len() > PREFIX_BYTES).then_some(fence);
    let acknowledged = acknowledged(sessions, body);
    Prefix { sequence: stream.expected.plus(shift(body, 0) / 2), acknowledged, fence }.write(&mut room);
    room.extend_from_slice(body);
    room
}

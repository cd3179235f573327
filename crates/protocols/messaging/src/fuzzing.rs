//! Entry points for fuzzers and corpus tests: bytes in, no panic out.

use crate::codec::{OPEN, PREFIX_BYTES};
use crate::{Class, Messages, MessagingConfig};
use quintet_contract::{
    Address, Bytes, DownCause, Effects, Frame, Incarnation, Input, Kind, LinkClass, LinkInfo, Outbox,
    PeerChange, Protocol, Time, Token,
};
use quintet_wire::registry::USER;
use quintet_wire::{Reader, encode_to_vec};

const ME: Address = Address::new(1, 16);
const PEER: Address = Address::new(2, 16);
/// Bytes of a step's body at most.
const STEP_BYTES: usize = 512;

/// Answers requests; makes one of every other message.
struct Mirror;

fn class(kind: Kind) -> Class {
    match kind.0 % 3 {
        _ if kind == USER.kind(3) => Class::Urgent,
        0 => Class::Request,
        1 => Class::Answer,
        _ => Class::OneWay,
    }
}

impl Protocol for Mirror {
    fn handle(&mut self, _now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        if let Input::Frame(from, frame) = input {
            let kind = match class(frame.kind) {
                Class::Request => USER.kind(1),
                Class::Answer | Class::OneWay | Class::Urgent => USER.kind(0),
            };
            // Without credit there is nothing to mirror.
            let _ = out.send_bulk(from, kind, frame.token, frame.body, frame.bulk.clone());
        }
    }

    fn deadline(&self) -> Option<Time> {
        None
    }
}

/// Drives a fresh `Messages` with what the bytes say: each step is an action (u8), a kind (u8), a length (u16, little-endian) and
/// a body.
///
/// # Panics
/// If the layer does, which is a defect.
pub fn drive(bytes: &[u8]) {
    let mut reader = Reader::new(bytes);
    let mut config = MessagingConfig::new(ME, class);
    (config.window_slots, config.window_bytes, config.requests) = (4, 1024, 3);
    (config.max_bulk_bytes, config.bulk_budget_bytes, config.window_fragments) = (600, 1000, 2);
    let open = encode_to_vec(&config.limits());
    let mut messages = Messages::new(config, Mirror);
    let mut out = Effects::default();
    let up = PeerChange::Up { incarnation: Incarnation(1), link: LinkInfo::new(LinkClass::Machine, 100) };
    messages.handle(Time::ZERO, Input::Started, &mut out);
    messages.handle(Time::ZERO, Input::Peer(PEER, &up), &mut out);
    while let (Ok(action), Ok(kind), Ok(len)) = (reader.u8(), reader.u8(), reader.u16()) {
        let len = usize::from(len).min(STEP_BYTES).min(reader.left());
        let Ok(body) = reader.bytes(len) else { return };
        let token = Token(u64::from(action));
        let frame = Frame::new(Kind(kind), token, body);
        let bulk = Bytes::copy_from_slice(body);
        let numbered = [&[0; PREFIX_BYTES], body].concat();
        let input = match action % 8 {
            0 => Input::Wake,
            1 => Input::Writable(PEER),
            2 => Input::Peer(PEER, &up),
            3 if action > 128 => Input::Peer(PEER, &PeerChange::Down(DownCause::Died)),
            3 => Input::Frame(PEER, Frame::new(OPEN, token, &open)),
            4 => Input::Frame(PEER, Frame { bulk: &bulk, body: &[], ..frame }),
            5 => Input::Frame(PEER, Frame::new(Kind(kind), token, &numbered)),
            _ => Input::Frame(PEER, frame),
        };
        messages.handle(Time::ZERO, input, &mut out);
        out.frames();
    }
}

//! Frames that no honest peer sends, given to the layer directly.

use crate::network::talker::{ANSWER, ONE_WAY, REQUEST, Talker};
use crate::{A, B, messages};
use proptest::prelude::*;
use quintet_contract::{
    Bytes, Disconnect, DownCause, Effect, Effects, Incarnation, Input, Kind, LinkClass, LinkInfo, OwnedFrame,
    PeerChange, Protocol, Time, Token,
};
use quintet_errors::Code;
use quintet_messaging::{ANNOUNCE, CREDIT, FRAGMENT, GRANT, Messages, OPEN, PACK, PROCEED, REFUSED, fuzzing};

const UP: PeerChange =
    PeerChange::Up { incarnation: Incarnation(1), link: LinkInfo::new(LinkClass::Machine, 64_000) };

fn raw(kind: Kind, body: Vec<u8>) -> OwnedFrame {
    OwnedFrame { kind, token: Token(5), body: body.into(), bulk: Bytes::new() }
}

/// What the peer takes: 8 frames, 10,000 bytes, 2 requests, bulk and budget of 100,000 bytes, 4 fragments.
fn open() -> OwnedFrame {
    let mut body = Vec::new();
    for field in [8u32, 10_000, 2, 100_000] {
        body.extend(field.to_le_bytes());
    }
    body.extend(100_000u64.to_le_bytes());
    body.extend(4u32.to_le_bytes());
    raw(OPEN, body)
}

fn credit(slots: u32, bytes: u32) -> OwnedFrame {
    raw(CREDIT, [slots.to_le_bytes(), bytes.to_le_bytes()].concat())
}

/// A message with nothing to return; `flags` 1 for an answer.
fn text(kind: Kind, flags: u8, bytes: usize) -> OwnedFrame {
    let mut body = vec![0; 8 + bytes];
    body[2] = flags;
    raw(kind, body)
}

fn announce(total: u32) -> OwnedFrame {
    let mut body = vec![0; 8];
    body.extend(total.to_le_bytes());
    body.extend([ONE_WAY.0, 0, 0, 0]);
    raw(ANNOUNCE, body)
}

/// A message of a pack; `len` is what it says of its length.
fn item(kind: Kind, flags: u8, len: u16, bytes: usize) -> Vec<u8> {
    [&[kind.0, flags][..], &len.to_le_bytes(), &[0; 8], &vec![0; bytes]].concat()
}

fn with_bulk(frame: OwnedFrame) -> OwnedFrame {
    OwnedFrame { bulk: Bytes::from_static(b"large"), ..frame }
}

/// Several messages in one frame, with nothing to return.
fn pack(items: &[Vec<u8>]) -> OwnedFrame {
    raw(PACK, [vec![0; 8], items.concat()].concat())
}

/// This side takes 4 frames, 1000 bytes, 2 requests, bulk and budget of 1000 bytes, 2 fragments.
fn layer() -> Messages<Talker> {
    let mut layer = messages(A, |config| {
        (config.window_slots, config.window_bytes, config.requests) = (4, 1000, 2);
        (config.max_bulk_bytes, config.bulk_budget_bytes, config.window_fragments) = (1000, 1000, 2);
    });
    layer.handle(Time::ZERO, Input::Peer(B, &UP), &mut Effects::default());
    layer
}

/// Gives the layer frames; what it did.
fn effects(layer: &mut Messages<Talker>, frames: &[OwnedFrame]) -> Vec<Effect> {
    let mut out = Effects::default();
    frames.iter().for_each(|frame| layer.handle(Time::ZERO, Input::Frame(B, frame.borrow()), &mut out));
    out.drain().collect()
}

/// Gives the layer frames; what it sent.
fn feed(layer: &mut Messages<Talker>, frames: &[OwnedFrame]) -> Vec<OwnedFrame> {
    let sent = effects(layer, frames).into_iter().filter_map(|effect| match effect {
        Effect::Sent(_, frame) => Some(frame),
        Effect::Disconnected(..) | Effect::Work(..) => None,
    });
    sent.collect()
}

/// The code with which the peer is cut off after `frames`, if it is.
fn verdict(frames: &[OwnedFrame]) -> Option<Code> {
    let mut layer = layer();
    let done = effects(&mut layer, frames);
    let refusals: Vec<_> = done
        .iter()
        .filter_map(|effect| match effect {
            Effect::Sent(_, frame) => Some(frame).filter(|frame| frame.kind == REFUSED),
            Effect::Disconnected(..) | Effect::Work(..) => None,
        })
        .collect();
    let closed = done.iter().position(|effect| *effect == Effect::Disconnected(B, Disconnect::ForGood));
    assert_eq!(closed, (!refusals.is_empty()).then(|| done.len() - 1), "the link is closed last");
    assert_eq!(layer.counters().cut as usize, refusals.len(), "told once, and why");
    let changes = layer.inner().changes_of(B);
    let down = changes.contains(&PeerChange::Down(DownCause::Misbehaved));
    assert!(changes.is_empty() || down != refusals.is_empty(), "{changes:?}");
    let body = &refusals.first()?.body;
    Code::from_number(u16::from_le_bytes([body[0], body[1]]))
}

#[test]
fn every_break_of_the_protocol_cuts_the_peer_off() {
    let mut garbled = open();
    garbled.body = garbled.body.slice(1..);
    let flags = text(ONE_WAY, 2, 0);
    let cases = [
        ("a message before the opening", vec![text(ONE_WAY, 0, 1)]),
        ("two openings", vec![open(), open()]),
        ("a garbled opening", vec![garbled]),
        (
            "more frames than credit",
            vec![
                open(),
                announce(9),
                text(ONE_WAY, 0, 0),
                text(ONE_WAY, 0, 0),
                text(ONE_WAY, 0, 0),
                text(ONE_WAY, 0, 0),
            ],
        ),
        ("more bytes than credit", vec![open(), text(ONE_WAY, 0, 1001)]),
        ("credit that was never spent", vec![open(), credit(1, 0)]),
        ("an answer to nothing", vec![open(), text(ANSWER, 1, 0)]),
        ("a request in an answer's room", vec![open(), text(REQUEST, 1, 0)]),
        ("unknown flags", vec![open(), flags]),
        ("a truncated message", vec![open(), raw(ONE_WAY, vec![0; 7])]),
        ("a truncated announcement", vec![open(), raw(ANNOUNCE, vec![0; 15])]),
        ("a grant for nothing", vec![open(), raw(GRANT, vec![])]),
        ("a fragment of nothing", vec![open(), raw(FRAGMENT, vec![1])]),
        ("an empty fragment", vec![open(), announce(9), raw(FRAGMENT, vec![])]),
        ("a fragment too long", vec![open(), announce(9), raw(FRAGMENT, vec![0; 10])]),
        ("more room for fragments than there is", vec![open(), raw(PROCEED, vec![1, 0, 0, 0])]),
        ("an unknown control frame", vec![open(), raw(Kind(0x1f), vec![])]),
        ("a pack before the opening", vec![pack(&[item(ONE_WAY, 0, 0, 0)])]),
        ("a pack of nothing", vec![open(), pack(&[])]),
        ("a pack that is an answer", vec![open(), text(PACK, 1, 12)]),
        ("a pack with half a message", vec![open(), pack(&[item(ONE_WAY, 0, 0, 0), vec![ONE_WAY.0; 11]])]),
        ("a message longer than its pack", vec![open(), pack(&[item(ONE_WAY, 0, 6, 5)])]),
        ("a message of the greatest length", vec![open(), pack(&[item(ONE_WAY, 0, u16::MAX, 5)])]),
        ("a pack in a pack", vec![open(), pack(&[item(PACK, 0, 20, 20)])]),
        ("a frame of the session's in a pack", vec![open(), pack(&[item(Kind(0x01), 0, 0, 0)])]),
        ("unknown flags in a pack", vec![open(), pack(&[item(ONE_WAY, 2, 0, 0)])]),
        ("an answer to nothing in a pack", vec![open(), pack(&[item(ANSWER, 1, 0, 0)])]),
        ("more messages in a pack than credit", vec![open(), pack(&vec![item(ONE_WAY, 0, 0, 0); 5])]),
        ("a pack with large data", vec![open(), with_bulk(pack(&[item(ONE_WAY, 0, 0, 0)]))]),
        ("a frame of the session's", vec![open(), raw(Kind(0x01), vec![])]),
    ];
    for (what, frames) in cases {
        assert_eq!(verdict(&frames), Some(Code::Malformed), "{what}");
    }
    assert_eq!(verdict(&[open(), text(ONE_WAY, 0, 500), text(REQUEST, 0, 500)]), None);
    assert_eq!(verdict(&[open(), pack(&[item(ONE_WAY, 0, 500, 500), item(REQUEST, 0, 0, 0)])]), None);
}

#[test]
fn a_liar_who_announces_much_gets_no_memory() {
    assert_eq!(verdict(&[open(), announce(1001)]), Some(Code::TooLarge));
    assert_eq!(verdict(&[open(), announce(u32::MAX)]), Some(Code::TooLarge));
    let mut layer = layer();
    let sent = feed(&mut layer, &[open(), announce(1000), announce(1000), announce(1000)]);
    assert_eq!(sent.iter().filter(|frame| frame.kind == GRANT).count(), 1, "the budget is for one");
    assert_eq!(layer.credit(B).map(|credit| credit.reserved_bytes), Some(1000));
    let down = PeerChange::Down(DownCause::Died);
    layer.handle(Time::ZERO, Input::Peer(B, &down), &mut Effects::default());
    assert_eq!(layer.credit(B), None, "and it goes with the peer");
}

#[test]
fn nothing_is_kept_of_peers_that_are_down() {
    let mut layer = layer();
    for code in [Code::TooLarge, Code::Malformed] {
        feed(&mut layer, &[open(), raw(REFUSED, vec![code as u8, 0])]);
        assert_eq!((layer.refusal(B), layer.stalls().count()), (Some(code), 1));
        layer.handle(Time::ZERO, Input::Peer(B, &PeerChange::Down(DownCause::Died)), &mut Effects::default());
        assert_eq!((layer.refusal(B), layer.stalls().count()), (None, 0));
        layer.handle(Time::ZERO, Input::Peer(B, &UP), &mut Effects::default());
    }
}

#[test]
fn after_the_cut_nothing_is_taken_and_nothing_goes() {
    let mut layer = layer();
    feed(&mut layer, &[open(), open()]);
    assert_eq!(feed(&mut layer, &[text(REQUEST, 0, 1), open(), credit(1, 1)]), []);
    assert_eq!(layer.inner().from(B), []);
    assert_eq!(layer.inner().changes_of(B).len(), 2, "up and down");
}

#[test]
fn a_refusal_by_the_peer_ends_the_channel() {
    let mut layer = layer();
    let done = effects(&mut layer, &[open(), raw(REFUSED, vec![Code::TooLarge as u8, 0])]);
    assert_eq!(done.last(), Some(&Effect::Disconnected(B, Disconnect::ForGood)));
    assert_eq!(layer.inner().changes_of(B).last(), Some(&PeerChange::Down(DownCause::Misbehaved)));
    assert_eq!(layer.refusal(B), Some(Code::TooLarge));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    #[test]
    fn no_bytes_make_it_panic(steps in prop::collection::vec((any::<u8>(), prop_oneof![0x0eu8..0x19, 0xf0u8..0xf4], prop::collection::vec(any::<u8>(), 0..60)), 0..30)) {
        let mut bytes = Vec::new();
        for (action, kind, body) in steps {
            bytes.extend([action, kind, body.len() as u8, 0]);
            bytes.extend(body);
        }
        fuzzing::drive(&bytes);
    }
}

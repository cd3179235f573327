//! Frames that no honest peer sends.

use crate::network::talker::{ONE_WAY, Talker};
use crate::network::{Conditions, Network};
use crate::{A, B, config, node, retransmit, say, talker, word};
use proptest::prelude::*;
use quintet_contract::{Bytes, DownCause, Kind, OwnedFrame, PeerChange, Span, Token};
use quintet_session::{ACKNOWLEDGE, PING, Reliability, Sessions, fuzzing};

fn pair(reliability: Reliability) -> Network<Sessions<Talker>> {
    let mut network = Network::new(3, Conditions::reliable());
    [A, B].into_iter().for_each(|at| network.add(at, node(config(at, reliability))));
    network.link(A, B);
    network.run(Span::from_secs(1));
    network
}

fn raw(kind: Kind, body: &[u8]) -> OwnedFrame {
    OwnedFrame { kind, token: Token(5), body: Bytes::copy_from_slice(body), bulk: Bytes::new() }
}

/// The prefix of the sequence, the acknowledgement and the session, with stamps of nothing.
fn prefix(sequence: u32, acknowledged: u32, session: Option<u64>) -> Vec<u8> {
    let mut body = [sequence.to_le_bytes(), acknowledged.to_le_bytes()].concat();
    body.extend(session.iter().flat_map(|session| [session.to_le_bytes(), [0; 8]].concat()));
    body
}

/// What B thinks of A after `frames`.
fn verdict(reliability: Reliability, frames: &[OwnedFrame]) -> Option<DownCause> {
    let mut network = pair(reliability);
    for frame in frames {
        network.inject(A, B, frame);
    }
    match talker(&mut network, B).changes_of(A).get(1..) {
        Some([PeerChange::Down(cause)]) => Some(*cause),
        Some([]) => None,
        other => panic!("down once, not {other:?}"),
    }
}

#[test]
fn on_a_reliable_link_gaps_repetitions_and_garbage_cut_the_peer_off() {
    let data = |sequence, acknowledged| raw(ONE_WAY, &prefix(sequence, acknowledged, None));
    let cases = [
        ("a gap", vec![data(1, 0)]),
        ("a repetition", vec![data(0, 0), data(0, 0)]),
        ("an acknowledgement of nothing", vec![data(0, 1)]),
        ("a truncated prefix", vec![raw(ONE_WAY, &[0; 7])]),
        ("an unknown control frame", vec![raw(Kind(0x0f), &[])]),
        ("a truncated ping", vec![raw(PING, &[1])]),
        ("more after the cut", vec![data(1, 0), data(0, 0), data(1, 0)]),
    ];
    for (what, frames) in cases {
        assert_eq!(verdict(Reliability::Link, &frames), Some(DownCause::Misbehaved), "{what}");
    }
    assert_eq!(verdict(Reliability::Link, &[data(0, 0), data(1, 0)]), None);
}

#[test]
fn on_a_lossy_link_what_does_not_name_the_session_is_ignored() {
    let mut network = pair(retransmit(8, 64_000));
    let garbage = [
        raw(ONE_WAY, &[0; 15]),
        raw(ONE_WAY, &prefix(0, 9, Some(1))),
        raw(Kind(0x0f), &[1, 2, 3]),
        raw(ACKNOWLEDGE, &[0; 11]),
        raw(PING, &[]),
    ];
    for frame in &garbage {
        network.inject(A, B, frame);
    }
    assert_eq!(network.nodes[&B].counters().fenced, 5);
    say(&mut network, A, B, word(1));
    network.run(Span::from_secs(1));
    assert_eq!(talker(&mut network, B).from(A), [word(1)]);
    assert_eq!(talker(&mut network, B).changes.len(), 1);
}

#[test]
fn replayed_frames_are_counted_and_dropped() {
    let mut network = pair(retransmit(8, 64_000));
    (0..20).for_each(|token| say(&mut network, A, B, word(token)));
    network.run(Span::from_secs(1));
    let (received, trace) = (network.nodes[&B].counters().received, network.trace.clone());
    for (from, to, frame) in trace.iter().filter(|(_, to, frame)| *to == B && frame.kind == ONE_WAY) {
        network.inject(*from, *to, frame);
    }
    let counters = network.nodes[&B].counters();
    assert_eq!((counters.received, counters.duplicates), (received, 20));
}

#[test]
fn an_impossible_acknowledgement_in_the_sessions_own_name_cuts_the_peer_off() {
    let mut network = pair(retransmit(8, 64_000));
    say(&mut network, A, B, word(1));
    let (.., frame) = network.trace.last().expect("the word");
    let session = u64::from_le_bytes(frame.body[8..16].try_into().expect("eight bytes"));
    network.inject(A, B, &raw(ONE_WAY, &prefix(0, 1, Some(session))));
    assert_eq!(talker(&mut network, B).changes_of(A).last(), Some(&PeerChange::Down(DownCause::Misbehaved)));
    network.run(Span::from_secs(5));
    assert_eq!(talker(&mut network, A).changes_of(B).last(), Some(&PeerChange::Down(DownCause::Closed)));
}

#[test]
fn far_future_frames_are_not_kept() {
    let mut network = pair(retransmit(8, 1000));
    say(&mut network, A, B, word(1));
    let (.., frame) = network.trace.last().expect("the word");
    let session = u64::from_le_bytes(frame.body[8..16].try_into().expect("eight bytes"));
    for sequence in 1..1000 {
        let mut body = prefix(sequence, 0, Some(session));
        body.resize(400, 0);
        network.inject(A, B, &raw(ONE_WAY, &body));
    }
    assert_eq!(network.nodes[&B].counters().reordered, 2, "376 bytes each, 1000 at most");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    #[test]
    fn no_bytes_make_it_panic(choice: u8, steps in prop::collection::vec((any::<u8>(), 0u8..20, prop::collection::vec(any::<u8>(), 0..80)), 0..30)) {
        let mut bytes = vec![choice];
        for (action, kind, body) in steps {
            bytes.extend([action, kind, body.len() as u8, 0]);
            bytes.extend(body);
        }
        fuzzing::drive(&bytes);
    }
}

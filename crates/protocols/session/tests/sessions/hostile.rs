//! Frames that no honest peer sends.

use crate::network::talker::{ONE_WAY, Talker};
use crate::network::{Conditions, Network};
use crate::{A, B, config, every_reliability, node, prompt, retain, retransmit, say, talker, word};
use proptest::prelude::*;
use quintet_contract::{
    Bytes, Disconnect, DownCause, Effect, Effects, Incarnation, Input, Kind, LinkClass, LinkInfo, OwnedFrame,
    PeerChange, Protocol, Span, Time, Token,
};
use quintet_session::{ACKNOWLEDGE, GOODBYE, HELLO, PING, RefusalCode, Reliability, Sessions, fuzzing};

const UP: PeerChange =
    PeerChange::Up { incarnation: Incarnation(1), link: LinkInfo::new(LinkClass::Machine, 64_000) };

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
    for reliability in [Reliability::Link, retain(8, 64_000)] {
        for (what, frames) in &cases {
            assert_eq!(verdict(reliability, frames), Some(DownCause::Misbehaved), "{what}");
        }
        assert_eq!(verdict(reliability, &[data(0, 0), data(1, 0)]), None);
    }
}

/// What B does with `frames` over a link that is there, and no session.
fn without_session(reliability: Reliability, frames: &[OwnedFrame]) -> Vec<Effect> {
    let mut node = node(config(B, reliability));
    let mut out = Effects::default();
    node.handle(Time::ZERO, Input::Peer(A, &UP), &mut out);
    frames.iter().for_each(|frame| node.handle(Time::ZERO, Input::Frame(A, frame.borrow()), &mut out));
    out.drain().collect()
}

#[test]
fn garbage_without_a_session_closes_a_reliable_link_and_no_other() {
    for garbage in [raw(Kind(0x0f), &[]), raw(PING, &[1]), raw(HELLO, &[1, 2, 3])] {
        for reliability in [Reliability::Link, retain(8, 64_000)] {
            let done = without_session(reliability, std::slice::from_ref(&garbage));
            assert_eq!(done.last(), Some(&Effect::Disconnected(A, Disconnect::ForGood)), "{garbage:?}");
        }
        let done = without_session(retransmit(8, 64_000), &[garbage]);
        assert!(!done.contains(&Effect::Disconnected(A, Disconnect::ForGood)), "{done:?}");
    }
    // A frame of the session that this side has just ended.
    assert_eq!(without_session(Reliability::Link, &[raw(ONE_WAY, &prefix(3, 1, None))]), []);
}

#[test]
fn who_is_cut_off_is_told_first_and_hears_of_it_once() {
    for reliability in every_reliability() {
        let mut network = pair(reliability);
        say(&mut network, A, B, word(1));
        let (.., frame) = network.trace.last().expect("the word");
        let session = matches!(reliability, Reliability::Retransmit { .. })
            .then(|| u64::from_le_bytes(frame.body[8..16].try_into().expect("eight bytes")));
        network.inject(A, B, &raw(ONE_WAY, &prefix(0, 9, session)));
        let (.., last) = network.trace.last().expect("the last word");
        assert_eq!(last.kind, GOODBYE);
        network.run(Span::from_secs(5));
        let downs = |network: &mut Network<Sessions<Talker>>, at, peer| {
            let changes = talker(network, at).changes_of(peer).into_iter();
            changes.filter(|change| matches!(change, PeerChange::Down(_))).collect::<Vec<_>>()
        };
        assert_eq!(downs(&mut network, A, B), [PeerChange::Down(DownCause::Closed)]);
        assert_eq!(downs(&mut network, B, A), [PeerChange::Down(DownCause::Misbehaved)]);
    }
}

#[test]
fn the_life_that_was_cut_off_is_refused_on_a_new_link_and_the_next_is_served() {
    for reliability in every_reliability() {
        let mut network = pair(reliability);
        talker(&mut network, B).cutting.insert(A);
        prompt(&mut network, B);
        network.run(Span::from_secs(1));
        let came_and_went = [UP, PeerChange::Down(DownCause::Misbehaved)];
        assert_eq!(talker(&mut network, B).changes_of(A), came_and_went, "the protocol above cut it");
        network.link(A, B);
        network.run(Span::from_secs(1));
        assert_eq!(network.nodes[&A].refusal(B).map(|refusal| refusal.code), Some(RefusalCode::Malformed));
        assert_eq!(talker(&mut network, B).changes_of(A), came_and_went);
        network.cut(A, B, DownCause::Died);
        let mut next = config(A, reliability);
        next.incarnation = Incarnation(2);
        network.add(A, node(next));
        network.link(A, B);
        network.run(Span::from_secs(1));
        say(&mut network, A, B, word(2));
        network.run(Span::from_secs(1));
        assert_eq!(talker(&mut network, B).from(A), [word(2)]);
    }
}

#[test]
fn the_life_that_an_initiator_cut_off_is_not_let_in_again_and_the_next_is() {
    for reliability in every_reliability() {
        let mut network = pair(reliability);
        talker(&mut network, A).cutting.insert(B);
        prompt(&mut network, A);
        network.run(Span::from_secs(1));
        network.link(A, B);
        network.run(Span::from_secs(1));
        let came_and_went = [UP, PeerChange::Down(DownCause::Misbehaved)];
        assert_eq!(talker(&mut network, A).changes_of(B), came_and_went);
        let last = PeerChange::Down(DownCause::Closed);
        assert_eq!(talker(&mut network, B).changes_of(A).last(), Some(&last), "the link was closed again");
        assert_eq!(network.nodes[&A].counters().refused, 1);
        let mut next = config(B, reliability);
        next.incarnation = Incarnation(2);
        network.add(B, node(next));
        network.link(A, B);
        network.run(Span::from_secs(1));
        say(&mut network, B, A, word(2));
        network.run(Span::from_secs(1));
        assert_eq!(talker(&mut network, A).from(B), [word(2)]);
    }
}

#[test]
fn a_life_that_was_let_go_comes_back_over_the_next_link_with_another_session() {
    for (reliability, at) in every_reliability().into_iter().flat_map(|kind| [(kind, A), (kind, B)]) {
        let mut network = pair(reliability);
        let peer = if at == A { B } else { A };
        for round in 1..=3 {
            talker(&mut network, at).letting_go.insert(peer);
            prompt(&mut network, at);
            network.run(Span::from_millis(1));
            let died = PeerChange::Down(DownCause::Died);
            assert_eq!(talker(&mut network, at).changes_of(peer).last(), Some(&died), "{reliability:?}");
            network.link(A, B);
            network.run(Span::from_secs(1));
            say(&mut network, A, B, word(round));
            network.run(Span::from_secs(1));
            assert_eq!(talker(&mut network, B).from(A).last(), Some(&word(round)));
            let came_and_went: Vec<_> = [UP, died].into_iter().cycle().take(1 + 2 * round as usize).collect();
            for (at, peer) in [(A, B), (B, A)] {
                assert_eq!(talker(&mut network, at).changes_of(peer), came_and_went, "no farewell to {peer}");
            }
        }
    }
}

#[test]
fn a_session_that_waits_for_its_link_ends_when_its_peer_is_let_go() {
    let mut network = pair(retain(8, 64_000));
    network.cut(A, B, DownCause::Died);
    talker(&mut network, A).letting_go.insert(B);
    prompt(&mut network, A);
    network.run(Span::from_millis(1));
    assert_eq!(talker(&mut network, A).changes_of(B), [UP, PeerChange::Down(DownCause::Died)]);
    network.link(A, B);
    network.run(Span::from_secs(1));
    assert_eq!(talker(&mut network, B).changes_of(A), [UP, PeerChange::Down(DownCause::Died), UP]);
    assert_eq!(network.nodes[&A].counters().resumed, 0);
}

#[test]
fn a_session_that_waits_for_its_link_can_be_cut_too() {
    let mut network = pair(retransmit(8, 64_000));
    network.cut(A, B, DownCause::Died);
    assert_eq!(talker(&mut network, B).changes_of(A), [UP], "it may be resumed");
    talker(&mut network, B).cutting.insert(A);
    prompt(&mut network, B);
    network.run(Span::from_millis(1));
    network.link(A, B);
    network.run(Span::from_secs(5));
    let came_and_went = [UP, PeerChange::Down(DownCause::Misbehaved)];
    assert_eq!(talker(&mut network, B).changes_of(A), came_and_went);
    assert_eq!(network.nodes[&A].refusal(B).map(|refusal| refusal.code), Some(RefusalCode::Malformed));
}

#[test]
fn a_session_whose_link_was_closed_for_garbage_is_not_kept() {
    let mut network = pair(retransmit(8, 64_000));
    network.input(B, Input::Peer(A, &PeerChange::Down(DownCause::Misbehaved)));
    assert_eq!(talker(&mut network, B).changes_of(A).last(), Some(&PeerChange::Down(DownCause::Misbehaved)));
    assert_eq!(network.nodes[&B].peer(A), None);
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

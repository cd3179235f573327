//! What nobody answers: HELLOs of a side that is alone, and frames of sessions that are not known.

use crate::network::talker::ONE_WAY;
use crate::network::{Conditions, Network};
use crate::{A, B, config, node, retain, say, talker, word};
use quintet_contract::{
    DownCause, Effects, Frame, Incarnation, Input, LinkClass, LinkInfo, PeerChange, Protocol, Span, Time,
    Token,
};
use quintet_errors::Code;
use quintet_session::{HELLO, PING, Reliability, WELCOME};

const LIMIT: Span = Span::from_millis(700);

#[test]
fn a_peer_that_never_answers_hello_is_given_up_when_it_was_silent_for_too_long() {
    for reliability in [Reliability::Link, retain(8, 64_000)] {
        let mut network = Network::new(1, Conditions::reliable());
        for at in [A, B] {
            let mut config = config(at, reliability);
            config.silence_limit = LIMIT;
            network.add(at, node(config));
        }
        network.swallow.insert(HELLO);
        network.link(A, B);
        network.run(Span(LIMIT.0 - 1));
        assert_eq!(talker(&mut network, A).changes_of(B), []);
        network.run(Span(1));
        let silent = PeerChange::Down(DownCause::Refused(Code::PeerSilent as u16));
        assert_eq!(talker(&mut network, A).changes_of(B), [silent]);
    }
}

/// A link that is broken in the direction of the side that says HELLO: the other hears it, and goes on with the session.
#[test]
fn a_session_to_be_resumed_outlives_a_link_over_which_nobody_answers() {
    let mut network = Network::new(1, Conditions::reliable());
    for at in [A, B] {
        let mut config = config(at, retain(8, 64_000));
        config.silence_limit = if at == A { LIMIT } else { Span::ZERO };
        network.add(at, node(config));
    }
    network.link(A, B);
    network.run(Span::from_millis(1));
    network.cut(A, B, DownCause::Died);
    network.swallow.insert(WELCOME);
    network.link(A, B);
    network.run(Span(LIMIT.0 + 1_000_000));
    say(&mut network, A, B, word(1));
    network.swallow.clear();
    network.link(A, B);
    network.run(Span::from_millis(1));
    assert_eq!(talker(&mut network, B).from(A), [word(1)]);
    for (at, peer) in [(A, B), (B, A)] {
        assert_eq!(
            talker(&mut network, at).changes_of(peer).len(),
            1,
            "{at} saw its peer come up, and no more"
        );
    }
}

#[test]
fn without_a_limit_of_silence_an_answer_is_waited_for_without_end() {
    let mut node = node(config(A, Reliability::Link));
    let link = LinkInfo::new(LinkClass::Machine, 64_000);
    let up = PeerChange::Up { incarnation: Incarnation(1), link };
    node.handle(Time::ZERO, Input::Peer(B, &up), &mut Effects::default());
    assert_eq!(node.deadline(), None);
}

/// The bytes would name a session where frames may be lost. Here they are those of a session that this side has just ended.
#[test]
fn a_frame_of_an_ended_session_is_not_answered_where_nothing_is_lost() {
    for reliability in [Reliability::Link, retain(8, 64_000)] {
        let (mut node, mut out) = (node(config(B, reliability)), Effects::default());
        let link = LinkInfo::new(LinkClass::Machine, 64_000);
        let up = PeerChange::Up { incarnation: Incarnation(1), link };
        node.handle(Time::ZERO, Input::Peer(A, &up), &mut out);
        let frame = Frame::new(ONE_WAY, Token(1), &[7; 64]);
        node.handle(Time::ZERO, Input::Frame(A, frame), &mut out);
        assert_eq!(out.drain().count(), 0);
        assert_eq!(node.counters().fenced, 1);
    }
}

#[test]
fn who_names_a_session_that_is_not_known_is_counted() {
    let (mut node, mut out) = (node(config(B, Reliability::Link)), Effects::default());
    let link = LinkInfo::new(LinkClass::Machine, 64_000);
    let up = PeerChange::Up { incarnation: Incarnation(1), link };
    node.handle(Time::ZERO, Input::Peer(A, &up), &mut out);
    for count in 1..=3 {
        let session = 7u64.to_le_bytes();
        node.handle(Time::ZERO, Input::Frame(A, Frame::new(PING, Token(0), &session)), &mut out);
        assert_eq!(node.counters().fenced, count);
    }
}

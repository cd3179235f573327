//! What is kept for the next link, and when it is acknowledged.

use crate::network::talker::{ONE_WAY, REQUEST};
use crate::resume::{UP, count, pair, with_keep_alive};
use crate::{A, B, prompt, retain, say, talker, word};
use quintet_contract::{DownCause, OwnedFrame, Protocol, Span};
use quintet_session::{ACKNOWLEDGE, Sessions};

#[test]
fn who_only_sends_is_acknowledged_once_for_half_a_window_and_nobody_is_woken() {
    for (frames, bytes) in [(16, 100_000), (1000, 8 * (4 + 8) * 2)] {
        let mut network = pair(retain(frames, bytes), |_| {});
        network.trace.clear();
        (0..800).for_each(|token| talker(&mut network, A).say(B, word(token)));
        prompt(&mut network, A);
        network.run(Span::from_secs(1));
        assert_eq!(network.nodes[&B].inner().from(A).len(), 800);
        assert_eq!(count(&network, ACKNOWLEDGE), 100, "after eight frames each");
        assert_eq!(network.trace.len(), 900, "and nothing else");
        assert_eq!([A, B].map(|at| network.nodes[&at].deadline()), [None, None]);
    }
}

#[test]
fn acknowledgements_ride_on_answers() {
    let mut network = pair(retain(16, 100_000), |_| {});
    network.trace.clear();
    for token in 0..100 {
        say(&mut network, A, B, OwnedFrame { kind: REQUEST, ..word(token) });
        network.run(Span::from_millis(1));
    }
    assert_eq!((network.trace.len(), count(&network, ACKNOWLEDGE)), (200, 0));
}

#[test]
fn a_ping_and_its_answer_acknowledge_what_has_come() {
    let mut network = pair(retain(100, 100_000), |config| {
        if config.me == A {
            with_keep_alive(config);
        }
    });
    say(&mut network, A, B, word(1));
    say(&mut network, B, A, word(2));
    network.run(Span::from_millis(2));
    assert!(!network.nodes[&A].is_idle(), "there was nothing to ride on");
    assert!(!network.nodes[&A].is_idle_with(B) && network.nodes[&A].is_idle_with(A), "with nobody else");
    network.run(Span::from_millis(20));
    assert!(network.nodes[&A].is_idle_with(B));
    assert!(network.nodes.values().all(Sessions::is_idle));
    network.trace.clear();
    network.run(Span::from_millis(100));
    assert_eq!(count(&network, ACKNOWLEDGE), 0, "what was said is not said again");
}

#[test]
fn while_a_link_is_away_frames_are_kept_up_to_the_window() {
    let mut network = pair(retain(4, 100_000), |_| {});
    network.cut(A, B, DownCause::Died);
    (0..10).for_each(|token| talker(&mut network, A).say(B, word(token)));
    prompt(&mut network, A);
    assert_eq!(talker(&mut network, A).queues[&B].len(), 6, "four are kept");
    network.run(Span::from_secs(1));
    network.link(A, B);
    network.run(Span::from_secs(1));
    assert!(talker(&mut network, A).has_said_all(), "it was told that there is room");
    assert_eq!(talker(&mut network, B).from(A).len(), 10);
    assert_eq!(talker(&mut network, A).changes_of(B), [UP], "it saw nothing of the cut");
}

#[test]
fn what_the_handshake_has_acknowledged_is_not_acknowledged_again() {
    let mut network = pair(retain(16, 100_000), |_| {});
    network.trace.clear();
    (0..7).for_each(|token| say(&mut network, A, B, word(token)));
    network.run(Span::from_millis(1));
    network.cut(A, B, DownCause::Died);
    network.link(A, B);
    network.run(Span::from_millis(1));
    assert!(network.nodes[&A].is_idle(), "WELCOME says what has come");
    (0..7).for_each(|token| say(&mut network, A, B, word(token)));
    network.run(Span::from_millis(1));
    assert_eq!((count(&network, ONE_WAY), count(&network, ACKNOWLEDGE)), (14, 0), "seven are no half of it");
}

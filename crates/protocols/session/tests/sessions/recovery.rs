//! How long a session needs after a cut, and how much it sends for nothing.

use crate::network::talker::Talker;
use crate::network::{Conditions, Network};
use crate::{A, B, config, node, prompt, retransmit, talker, word};
use quintet_contract::{Bytes, OwnedFrame, Span};
use quintet_session::Sessions;

/// Frames that wait for the cut to heal.
const BACKLOG: u64 = 100;
/// The most that a frame and its answer take in [`Conditions::lossy`], with half a millisecond in which an acknowledgement waits for
/// company.
const ROUND_TRIP: Span = Span::from_micros(1500);
/// The longest timeout: what a healed link may stay unnoticed for.
const LONGEST: Span = Span::from_secs(4);

fn pair(seed: u64, conditions: Conditions) -> Network<Sessions<Talker>> {
    let mut network = Network::new(seed, conditions);
    [A, B].into_iter().for_each(|at| network.add(at, node(config(at, retransmit(256, 1_000_000)))));
    network.link(A, B);
    assert!(network.run_until(Span::from_secs(60), |network| network.nodes[&A].peer(B).is_some()));
    network
}

fn backlog(network: &mut Network<Sessions<Talker>>, count: u64) {
    (0..count).for_each(|token| talker(network, A).say(B, word(token)));
    prompt(network, A);
}

fn arrived(network: &Network<Sessions<Talker>>) -> u64 {
    network.nodes[&B].inner().from(A).len() as u64
}

/// How long the backlog takes after a minute without a link, from the second frame that arrives: by then the sender has heard of the
/// first.
fn recovery(seed: u64, loss: u32) -> Span {
    let mut network = pair(seed, Conditions::lossy(loss));
    backlog(&mut network, 10);
    assert!(network.run_until(Span::from_secs(60), |network| network.nodes[&A].is_idle()));
    network.part(A, B);
    backlog(&mut network, BACKLOG);
    network.run(Span::from_secs(60));
    network.heal(A, B);
    // One probe in six is lost, and so is one answer; the next probe comes after the longest timeout.
    assert!(network.run_until(Span(LONGEST.0 * 10), |network| arrived(network) > 11), "seed {seed}");
    let first = network.now;
    assert!(network.run_until(Span::from_secs(600), |network| arrived(network) == 10 + BACKLOG));
    network.now.since(first)
}

#[test]
fn a_backlog_is_through_within_two_round_trips_a_frame_after_a_sign_of_life() {
    // One in a thousand is not: a frame that is lost several times in a row waits for a timeout that doubles.
    let slow = |seed: &u64| recovery(*seed, 160_000) >= Span(2 * BACKLOG * ROUND_TRIP.0);
    let slow: Vec<u64> = (0..300).filter(slow).collect();
    assert!(slow.len() <= 3, "{slow:?}");
}

#[test]
fn without_loss_a_backlog_needs_as_many_round_trips_as_its_length_has_doublings() {
    for seed in 0..100 {
        let took = recovery(seed, 0);
        assert!(took < Span(8 * ROUND_TRIP.0), "seed {seed}: {took}");
    }
}

/// Delays of exactly half a round trip each way, nothing lost.
fn steady(round_trip: Span) -> Conditions {
    let half = Span(round_trip.0 / 2);
    Conditions { delay: (half, half), ordered: true, ..Conditions::lossy(0) }
}

#[test]
fn a_round_trip_ten_times_the_estimate_costs_a_handful_of_frames_and_is_learnt() {
    for frames in [1, 2, 30, 200] {
        // The handshake is no sample: the first timeout is the three milliseconds of the settings.
        let mut network = pair(1, steady(Span::from_millis(30)));
        for batch in 0..20 {
            backlog(&mut network, frames);
            assert!(
                network.run_until(Span::from_secs(9), |network| network.nodes[&A].is_idle()),
                "batch {batch}"
            );
        }
        assert_eq!(arrived(&network), 20 * frames);
        let again = network.nodes[&A].counters().retransmitted;
        assert!((1..=4).contains(&again), "{again} of {frames}: it doubles from 3 ms to 30 and knows then");
    }
}

#[test]
fn a_round_trip_that_grows_tenfold_is_learnt_too() {
    let mut network = pair(1, steady(Span::from_millis(5)));
    let batches = |network: &mut Network<Sessions<Talker>>| {
        let before = network.nodes[&A].counters().retransmitted;
        for _ in 0..50 {
            backlog(network, 20);
            assert!(network.run_until(Span::from_secs(9), |network| network.nodes[&A].is_idle()));
        }
        network.nodes[&A].counters().retransmitted - before
    };
    batches(&mut network);
    assert_eq!(batches(&mut network), 0, "the round trip is known");
    network.conditions = steady(Span::from_millis(50));
    let again = batches(&mut network);
    assert!((1..=8).contains(&again), "{again} of a thousand");
}

/// Speech the other way carries acknowledgements as well, and would carry old stamps with them.
#[test]
fn a_minute_of_silence_is_not_taken_for_a_round_trip() {
    for seed in 0..100 {
        let mut network = pair(seed, Conditions::lossy(0));
        backlog(&mut network, 3);
        network.run(Span::from_micros(seed * 10));
        network.part(A, B);
        network.run(Span::from_secs(60));
        let frame = OwnedFrame { body: Bytes::from_static(b"back"), ..word(9) };
        crate::say(&mut network, B, A, frame);
        network.heal(A, B);
        assert!(
            network.run_until(Span(LONGEST.0 * 4), |network| network.nodes.values().all(Sessions::is_idle))
        );
        network.part(A, B);
        let sent = network.trace.len();
        backlog(&mut network, 1);
        network.run(Span::from_millis(100));
        let again = network.trace[sent..].iter().filter(|(from, ..)| *from == A).count();
        assert!(again >= 5, "seed {seed}: {again} transmissions in a tenth of a second");
    }
}

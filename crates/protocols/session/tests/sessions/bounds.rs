//! What is kept of frames is bounded, and what a layer need not touch it passes on.

use crate::network::talker::Talker;
use crate::network::{Conditions, Network};
use crate::{A, B, config, node, prompt, retain, retransmit, talker, through};
use quintet_contract::{Bytes, OwnedFrame, Span, Token};
use quintet_session::{Reliability, Sessions};

/// How many of `frames` are taken while nothing is acknowledged.
fn taken(reliability: Reliability, frames: &[OwnedFrame]) -> usize {
    let mut network: Network<Sessions<Talker>> = Network::new(1, Conditions::reliable());
    [A, B].into_iter().for_each(|at| network.add(at, node(config(at, reliability))));
    network.link(A, B);
    network.run(Span::from_secs(1));
    network.part(A, B);
    frames.iter().for_each(|frame| talker(&mut network, A).say(B, frame.clone()));
    prompt(&mut network, A);
    talker(&mut network, A).said[&B].len()
}

#[test]
fn frames_wait_where_the_bytes_of_those_kept_and_their_own_pass_the_window() {
    let frame = |body: usize, bulk: usize| OwnedFrame {
        kind: crate::ONE_WAY,
        // One with no more room than it fills.
        token: Token(0),
        body: vec![1; body].into(),
        bulk: Bytes::from(vec![2; bulk]),
    };
    for reliability in [retain(100, 1000), retransmit(100, 1000)] {
        assert_eq!(taken(reliability, &vec![frame(400, 0); 9]), 2, "{reliability:?}");
        assert_eq!(taken(reliability, &vec![frame(200, 200); 9]), 2, "{reliability:?}");
        assert_eq!(taken(reliability, &vec![frame(0, 400); 9]), 2, "{reliability:?}");
    }
}

#[test]
fn bytes_are_kept_until_they_are_acknowledged_and_held_until_what_they_wait_for_has_come() {
    let mut network: Network<Sessions<Talker>> = Network::new(1, Conditions::reliable());
    let reliability = retransmit(8, 64_000);
    [A, B].into_iter().for_each(|at| network.add(at, node(config(at, reliability))));
    network.link(A, B);
    network.run(Span::from_secs(1));
    let kept = |network: &Network<Sessions<Talker>>| {
        [(A, B), (B, A)].map(|(at, peer)| network.nodes[&at].kept_bytes(peer))
    };
    assert_eq!(kept(&network), [0, 0]);
    network.part(A, B);
    [1, 2].into_iter().for_each(|token| talker(&mut network, A).say(B, crate::word(token)));
    prompt(&mut network, A);
    let (.., second) = network.trace.last().expect("the second word").clone();
    network.inject(A, B, &second);
    assert_eq!(kept(&network), [2 * second.body.len() as u64, 4], "two frames, and a word that came early");
    network.heal(A, B);
    network.run(Span::from_secs(1));
    assert_eq!(kept(&network), [0, 0]);
}

#[test]
fn work_and_cells_and_frames_to_the_own_node_pass_untouched() {
    through::check(|doer| Sessions::new(config(A, Reliability::Link), doer), |sessions| sessions.inner());
}

//! Two sides that both say HELLO, as those of nodes that dial each other.

use crate::network::Conditions;
use crate::resume::{DIED, Talking, UP, other, pair_with};
use crate::{A, B, retain, say, talker, word};
use quintet_contract::{Address, DownCause, Input, OwnedFrame, Protocol, Random, Span};
use quintet_session::{HELLO, PeerConfig, SessionConfig, WELCOME};

/// Both say HELLO over every link.
fn both_initiate(config: &mut SessionConfig) {
    config.peers.clear();
    config.others = Some(PeerConfig { initiate: true, reliability: retain(4, 100_000) });
}

#[test]
fn both_may_say_hello_over_every_link() {
    for seed in 0..300 {
        let mut random = Random::new(seed, 1);
        let mut network = pair_with(seed, Conditions::reliable(), retain(4, 100_000), both_initiate);
        network.run(Span::from_millis(1));
        for token in 0..5 {
            say(&mut network, A, B, word(token));
            say(&mut network, B, A, word(token));
            network.run(Span::from_micros(random.below(100)));
            network.cut(A, B, DownCause::Died);
            network.run(Span::from_micros(random.below(100)));
            network.link(A, B);
        }
        network.run(Span::from_secs(1));
        let words: Vec<_> = (0..5).map(word).collect();
        for at in [A, B] {
            assert_eq!(network.nodes[&at].inner().from(other(at)), words, "seed {seed}: {at}");
            assert_eq!(network.nodes[&at].inner().changes, [(other(at), UP)], "seed {seed}: {at}");
        }
    }
}

#[test]
fn of_two_hellos_that_cross_that_of_the_lower_address_is_answered() {
    let mut network = pair_with(1, Conditions::reliable(), retain(4, 100_000), both_initiate);
    network.run(Span::from_millis(1));
    let welcome =
        |(from, _, frame): &(Address, Address, OwnedFrame)| (frame.kind == WELCOME).then_some(*from);
    let answered: Vec<Address> = network.trace.iter().filter_map(welcome).collect();
    assert_eq!(answered, [A.max(B)]);
}

/// The last HELLO that a node said.
fn last_hello(network: &Talking, of: Address) -> OwnedFrame {
    let of_it = |(from, _, frame): &&(Address, Address, OwnedFrame)| *from == of && frame.kind == HELLO;
    network.trace.iter().rev().find(of_it).expect("it says one over every link").2.clone()
}

/// Each counts its own tries. Who is ahead, and whose HELLO made the session, is of no account.
#[test]
fn a_side_that_has_tried_less_often_resumes_at_once() {
    for (ahead, tries) in [(A, 1), (A, 20), (B, 1), (B, 20)] {
        let mut network = pair_with(3, Conditions::reliable(), retain(4, 100_000), both_initiate);
        network.part(A, B);
        network.lose_in_flight(A, B);
        (0..tries).for_each(|_| network.half_link(ahead, other(ahead)));
        network.link(A, B);
        network.run(Span::from_millis(1));
        for (token, dialling) in [A, B, B, A, A, B].into_iter().enumerate() {
            let peer = other(dialling);
            // Only one side sees the cut, and says HELLO over the next link.
            network.lose_in_flight(A, B);
            network.input(dialling, Input::Peer(peer, &DIED));
            say(&mut network, peer, dialling, word(token as u64));
            network.lose_in_flight(A, B);
            network.half_link(dialling, peer);
            let hello = last_hello(&network, dialling);
            let what = format!("{ahead} ahead by {tries}, link {token} of {dialling}");
            assert!(network.nodes[&peer].is_resumed_by(dialling, hello.borrow()), "{what}");
            network.run(Span::from_millis(1));
            assert_eq!(talker(&mut network, dialling).from(peer).last(), Some(&word(token as u64)), "{what}");
            assert!(!network.nodes[&peer].is_resumed_by(dialling, hello.borrow()), "{what}: it has come");
        }
        for at in [A, B] {
            assert_eq!(talker(&mut network, at).from(other(at)).len(), 3);
            assert_eq!(talker(&mut network, at).changes_of(other(at)), [UP]);
        }
    }
}

/// The larger address's HELLO goes under where both say one, and does not come back to life on a link that was made before.
#[test]
fn a_hello_that_gave_way_to_the_peer_s_resumes_nothing_later() {
    let mut network = pair_with(3, Conditions::reliable(), retain(4, 100_000), both_initiate);
    network.run(Span::from_millis(1));
    network.cut(A, B, DownCause::Died);
    network.half_link(B, A);
    let earlier = last_hello(&network, B);
    network.input(B, Input::Peer(A, &DIED));
    network.link(A, B);
    network.run(Span::from_millis(1));
    let given_way = last_hello(&network, B);
    assert_ne!(given_way, earlier);
    for hello in [earlier, given_way] {
        assert!(!network.nodes[&A].is_resumed_by(B, hello.borrow()));
    }
}

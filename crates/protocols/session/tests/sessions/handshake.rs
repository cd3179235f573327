//! Who may talk to whom, since when, and until when.

use crate::network::talker::Talker;
use crate::network::{Conditions, Network};
use crate::{A, B, config, every_reliability, node, retransmit, say, talker, word};
use quintet_contract::{
    Address, DownCause, Effects, Incarnation, Input, LinkClass, LinkInfo, OwnedFrame, PeerChange, Protocol,
    Span, Time,
};
use quintet_session::{
    CHALLENGE, Features, HELLO, PeerConfig, PeerInfo, REFUSED, RefusalCode, Reliability, Role, SessionConfig,
    Sessions, Versions, WELCOME,
};

const UP: PeerChange =
    PeerChange::Up { incarnation: Incarnation(1), link: LinkInfo::new(LinkClass::Machine, 64_000) };

/// Two nodes whose settings were changed, with a link between them.
fn pair(
    reliability: Reliability,
    conditions: Conditions,
    change: impl Fn(&mut SessionConfig),
) -> Network<Sessions<Talker>> {
    let mut network = Network::new(3, conditions);
    for at in [A, B] {
        let mut config = config(at, reliability);
        change(&mut config);
        network.add(at, node(config));
    }
    network.link(A, B);
    network
}

fn lossy(change: impl Fn(&mut SessionConfig)) -> Network<Sessions<Talker>> {
    pair(retransmit(8, 64_000), Conditions::lossy(0), change)
}

fn refusal(code: RefusalCode) -> PeerChange {
    PeerChange::Down(DownCause::Refused(code.error() as u16))
}

fn refused_with(network: &mut Network<Sessions<Talker>>) -> RefusalCode {
    network.run(Span::from_secs(10));
    let code = network.nodes[&A].refusal(B).expect("the initiator was refused").code;
    assert_eq!(talker(network, A).changes_of(B), [refusal(code)], "it learns why, and sees no peer");
    assert_eq!(talker(network, B).changes_of(A), [], "who refuses must not see the peer");
    code
}

#[test]
fn both_learn_what_the_other_is() {
    let mut network = lossy(|config| {
        config.role = Role(config.me.node.0 as u8);
        config.features = Features(if config.me == A { 0b0110 } else { 0b1100 });
        config.versions = Versions { oldest: 1, newest: if config.me == A { 5 } else { 3 } };
    });
    network.run(Span::from_secs(1));
    let info = |role| PeerInfo {
        incarnation: Incarnation(1),
        identity: None,
        role: Role(role),
        features: Features(0b0100),
        version: 3,
    };
    assert_eq!(network.nodes[&A].peer(B), Some(info(2)));
    assert_eq!(network.nodes[&B].peer(A), Some(info(1)));
    let number = network.nodes[&A].session(B);
    assert!(number.is_some());
    assert_eq!(network.nodes[&B].session(A), number);
}

#[test]
fn another_cluster_is_refused() {
    for reliability in every_reliability() {
        let mut network = pair(reliability, Conditions::reliable(), |config| {
            config.cluster = u128::from(config.me.node.0);
        });
        assert_eq!(refused_with(&mut network), RefusalCode::WrongCluster);
        assert_eq!(network.nodes[&B].counters().refused, 1, "the initiator does not insist");
        // Where frames are lost the word that it was refused may be, and the link stays.
        let stays = matches!(reliability, Reliability::Retransmit { .. });
        assert_eq!(network.is_linked(A, B), stays, "{reliability:?}");
    }
}

#[test]
fn another_version_is_refused() {
    let mut network = lossy(|config| {
        let version = config.me.node.0;
        config.versions = Versions { oldest: version, newest: version };
    });
    assert_eq!(refused_with(&mut network), RefusalCode::VersionMismatch);
}

#[test]
fn sides_that_leave_different_things_to_the_link_refuse_each_other() {
    for mine in every_reliability() {
        for theirs in every_reliability().into_iter().filter(|theirs| *theirs != mine) {
            let mut network = Network::new(1, Conditions::reliable());
            network.add(A, node(config(A, mine)));
            network.add(B, node(config(B, theirs)));
            network.link(A, B);
            assert_eq!(refused_with(&mut network), RefusalCode::VersionMismatch);
        }
    }
}

#[test]
fn a_node_that_speaks_for_another_is_refused() {
    let mut network = lossy(|_| {});
    network.run(Span::from_secs(1));
    let hello = hello_of(config(A, retransmit(8, 64_000)));
    network.add(crate::C, node(config(crate::C, retransmit(8, 64_000))));
    network.half_link(crate::C, B);
    network.inject(B, crate::C, &hello);
    assert_eq!(network.nodes[&crate::C].counters().refused, 1);
    assert_eq!(network.nodes[&crate::C].peer(B), None);
}

/// The HELLO that a node with these settings says to B.
fn hello_of(config: SessionConfig) -> OwnedFrame {
    let mut out = Effects::default();
    node(config).handle(Time::ZERO, Input::Peer(B, &UP), &mut out);
    let (_, hello) = out.frames().remove(0);
    assert_eq!(hello.kind, HELLO);
    hello
}

#[test]
fn an_older_or_equal_incarnation_is_refused_while_a_session_lives() {
    for (incarnation, reliability) in every_reliability().into_iter().flat_map(|one| [(1, one), (0, one)]) {
        let mut network = pair(reliability, Conditions::reliable(), |_| {});
        network.run(Span::from_secs(1));
        let mut other = config(A, reliability);
        other.incarnation = Incarnation(incarnation);
        other.seed = 12345;
        let hello = hello_of(other);
        network.inject(A, B, &hello);
        assert_eq!(network.nodes[&B].counters().refused, 1);
        let (_, _, refused) = network.trace.last().expect("an answer");
        assert_eq!((refused.kind, refused.body[0]), (REFUSED, RefusalCode::DuplicateNode as u8));
        say(&mut network, A, B, word(1));
        network.run(Span::from_secs(1));
        assert_eq!(talker(&mut network, B).from(A), [word(1)], "the session goes on");
        assert_eq!(talker(&mut network, B).changes.len(), 1);
    }
}

#[test]
fn a_newer_incarnation_replaces_the_old_life_and_fences_its_frames() {
    let mut network = lossy(|_| {});
    network.run(Span::from_secs(1));
    say(&mut network, A, B, word(1));
    network.run(Span::from_secs(1));
    let old: Vec<_> = network.trace.iter().filter(|(from, ..)| *from == A).cloned().collect();
    let mut second = config(A, retransmit(8, 64_000));
    second.incarnation = Incarnation(2);
    network.add(A, node(second));
    network.half_link(A, B);
    network.run(Span::from_secs(1));
    let up = PeerChange::Up { incarnation: Incarnation(2), link: LinkInfo::new(LinkClass::Machine, 64_000) };
    assert_eq!(talker(&mut network, B).changes_of(A), [UP, PeerChange::Down(DownCause::Died), up]);
    let before = network.nodes[&B].counters();
    for (from, to, frame) in &old {
        network.inject(*from, *to, frame);
    }
    network.run(Span::from_secs(1));
    let after = network.nodes[&B].counters();
    assert_eq!(
        (after.received, after.refused),
        (before.received, before.refused + 1),
        "its HELLO is refused"
    );
    assert!(after.fenced > before.fenced);
    say(&mut network, A, B, word(2));
    network.run(Span::from_secs(1));
    assert_eq!(talker(&mut network, B).from(A), [word(1), word(2)]);
    assert_eq!(talker(&mut network, B).changes_of(A).len(), 3, "the new life is undisturbed");
}

#[test]
fn an_initiator_that_lost_the_session_is_let_in_after_a_challenge() {
    let mut network = lossy(|_| {});
    network.run(Span::from_secs(1));
    // A goes through a clean close of its link that B does not see.
    network.input(A, Input::Peer(B, &PeerChange::Down(DownCause::Closed)));
    network.half_link(A, B);
    network.run(Span::from_secs(10));
    assert!(network.trace.iter().any(|(_, _, frame)| frame.kind == CHALLENGE));
    assert_eq!(talker(&mut network, A).changes_of(B), [UP, PeerChange::Down(DownCause::Closed), UP]);
    assert_eq!(talker(&mut network, B).changes_of(A), [UP, PeerChange::Down(DownCause::Died), UP]);
    assert_eq!(network.nodes[&A].refusal(B), None, "the refusal is past");
}

#[test]
fn a_repeated_hello_changes_nothing() {
    let mut network = lossy(|_| {});
    network.run(Span::from_secs(1));
    let hello =
        network.trace.iter().find(|(_, _, frame)| frame.kind == HELLO).cloned().expect("one was said");
    network.inject(A, B, &hello.2);
    let welcomes = network.trace.iter().filter(|(_, _, frame)| frame.kind == WELCOME).count();
    assert_eq!(welcomes, 2, "the first may have been lost");
    network.run(Span::from_secs(1));
    assert_eq!(talker(&mut network, A).changes_of(B), [UP]);
    assert_eq!(talker(&mut network, B).changes_of(A), [UP]);
}

#[test]
fn two_initiators_agree() {
    for reliability in every_reliability() {
        for seed in 0..50 {
            let mut network = Network::new(seed, Conditions::reliable());
            for at in [A, B] {
                let mut config = config(at, reliability);
                config.peers.clear();
                config.others = Some(PeerConfig { initiate: true, reliability });
                network.add(at, node(config));
            }
            network.link(A, B);
            network.run(Span::from_secs(1));
            say(&mut network, A, B, word(1));
            say(&mut network, B, A, word(2));
            network.run(Span::from_secs(1));
            assert_eq!(talker(&mut network, A).from(B), [word(2)], "seed {seed}");
            assert_eq!(talker(&mut network, B).from(A), [word(1)], "seed {seed}");
            assert_eq!(talker(&mut network, B).changes.len(), 1, "seed {seed}");
        }
    }
}

fn with_keep_alive(config: &mut SessionConfig) {
    config.keep_alive = Span::from_millis(100);
    config.silence_limit = Span::from_millis(500);
}

#[test]
fn pings_keep_an_idle_session_alive() {
    for reliability in every_reliability() {
        let mut network = pair(reliability, Conditions::reliable(), with_keep_alive);
        network.run(Span::from_secs(5));
        for at in [A, B] {
            assert_eq!(talker(&mut network, at).changes, [(if at == A { B } else { A }, UP)]);
        }
    }
}

#[test]
fn a_silent_peer_is_down_once_and_over_a_lossy_link_hello_is_said_on() {
    let mut network = pair(retransmit(8, 64_000), Conditions::reliable(), with_keep_alive);
    network.run(Span::from_secs(5));
    network.part(A, B);
    network.run(Span::from_secs(20));
    let silent = PeerChange::Down(DownCause::Silent);
    assert_eq!(talker(&mut network, A).changes_of(B), [UP, silent]);
    assert_eq!(talker(&mut network, B).changes_of(A), [UP, silent]);
    network.heal(A, B);
    network.run(Span::from_secs(20));
    assert_eq!(talker(&mut network, A).changes_of(B), [UP, silent, UP]);
}

#[test]
fn a_peer_that_stood_still_on_a_reliable_link_learns_of_its_end_and_comes_back_over_another() {
    let mut network = pair(Reliability::Link, Conditions::reliable(), |config| {
        if config.me == A {
            with_keep_alive(config);
        }
    });
    network.run(Span::from_secs(1));
    // B stands still for three seconds: nothing is lost, and all comes late.
    let delay = std::mem::replace(&mut network.conditions.delay, (Span::from_secs(3), Span::from_secs(3)));
    network.run(Span::from_secs(10));
    let (silent, closed) = (PeerChange::Down(DownCause::Silent), PeerChange::Down(DownCause::Closed));
    assert_eq!(talker(&mut network, A).changes_of(B), [UP, silent], "told once, and nothing else");
    assert_eq!(talker(&mut network, B).changes_of(A), [UP, closed], "it keeps no session that is over");
    network.conditions.delay = delay;
    network.link(A, B);
    network.run(Span::from_secs(1));
    assert_eq!(talker(&mut network, A).changes_of(B), [UP, silent, UP]);
    assert_eq!(talker(&mut network, B).changes_of(A), [UP, closed, UP]);
    say(&mut network, B, A, word(1));
    network.run(Span::from_secs(1));
    assert_eq!(talker(&mut network, A).from(B), [word(1)]);
}

#[test]
fn goodbye_is_heard_once() {
    for reliability in every_reliability() {
        let mut network = pair(reliability, Conditions::reliable(), |_| {});
        network.run(Span::from_secs(1));
        let mut out = Effects::default();
        let now = network.now;
        network.nodes.get_mut(&B).expect("it exists").close(now, &mut out);
        for (to, frame) in out.frames() {
            network.inject(B, to, &frame);
        }
        network.run(Span::from_secs(20));
        let closed = PeerChange::Down(DownCause::Closed);
        assert_eq!(talker(&mut network, A).changes_of(B), [UP, closed]);
        assert_eq!(talker(&mut network, B).changes_of(A), [UP, closed]);
    }
}

#[test]
fn a_goodbye_that_was_lost_is_made_up_for_when_the_peer_speaks() {
    let mut network = lossy(|_| {});
    network.run(Span::from_secs(1));
    let now = network.now;
    network.nodes.get_mut(&B).expect("it exists").close(now, &mut Effects::default());
    say(&mut network, A, B, word(1));
    network.run(Span::from_secs(1));
    let died = PeerChange::Down(DownCause::Died);
    assert_eq!(talker(&mut network, A).changes_of(B), [UP, died, refusal(RefusalCode::Closed)]);
    assert_eq!(network.nodes[&A].refusal(B).map(|refusal| refusal.code), Some(RefusalCode::Closed));
}

#[test]
fn addresses_without_settings_or_link_are_left_alone() {
    let stranger = Address::new(9, 16);
    let mut network = lossy(|_| {});
    network.half_link(A, stranger);
    network.inject(stranger, A, &word(1));
    assert_eq!(talker(&mut network, A).from(stranger), []);
    assert_eq!(network.nodes[&A].peer(stranger), None);
}

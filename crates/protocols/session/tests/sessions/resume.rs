//! Links that lose nothing and are cut: what survives, and what does not.

use crate::network::talker::{ANSWER, ONE_WAY, REQUEST, Talker};
use crate::network::{Conditions, Network};
use crate::{A, B, config, node, prompt, retain, say, talker, word};
use quintet_contract::{
    Address, Bytes, DownCause, Effects, Incarnation, Input, LinkClass, LinkInfo, OwnedFrame, PeerChange,
    Protocol, Random, Span, Token,
};
use quintet_session::{GOODBYE, HELLO, PING, REFUSED, Reliability, SessionConfig, Sessions, WELCOME};

pub(crate) type Talking = Network<Sessions<Talker>>;

pub(crate) const UP: PeerChange = came(1, 64_000);
/// What is told of a life over a link that takes so much bulk.
const fn came(life: u64, max_bulk_bytes: usize) -> PeerChange {
    PeerChange::Up { incarnation: Incarnation(life), link: LinkInfo::new(LinkClass::Machine, max_bulk_bytes) }
}

pub(crate) const DIED: PeerChange = PeerChange::Down(DownCause::Died);

pub(crate) fn pair_with(
    seed: u64,
    conditions: Conditions,
    reliability: Reliability,
    change: impl Fn(&mut SessionConfig),
) -> Talking {
    let mut network = Network::new(seed, conditions);
    for at in [A, B] {
        let mut config = config(at, reliability);
        change(&mut config);
        network.add(at, node(config));
    }
    network.link(A, B);
    network
}

/// A pair that has met.
pub(crate) fn pair(reliability: Reliability, change: impl Fn(&mut SessionConfig)) -> Talking {
    let mut network = pair_with(3, Conditions::reliable(), reliability, change);
    network.run(Span::from_millis(1));
    network
}

pub(crate) fn with_keep_alive(config: &mut SessionConfig) {
    config.keep_alive = Span::from_millis(10);
    config.silence_limit = Span::from_millis(50);
}

pub(crate) fn other(at: Address) -> Address {
    if at == A { B } else { A }
}

/// Cuts the link and makes another one. Who learns of the cut, and when, is drawn.
fn cut_and_join(network: &mut Talking, random: &mut Random) {
    let seeing = if random.chance(500_000) { A } else { B };
    let pause = Span::from_micros(random.below(300));
    let (cut, died) = (DownCause::Died, Input::Peer(other(seeing), &DIED));
    match random.below(4) {
        0 => {
            network.cut(A, B, cut);
            network.run(pause);
            network.link(A, B);
        }
        1 => {
            // The other one learns of the new link while its old one lives.
            network.lose_in_flight(A, B);
            network.input(seeing, died);
            network.run(pause);
            network.link(A, B);
        }
        2 => {
            // The host puts the new link in the place of the old one, on both sides.
            network.lose_in_flight(A, B);
            network.link(A, B);
        }
        _ => {
            // The listener learns of it by HELLO only.
            network.lose_in_flight(A, B);
            network.input(A, Input::Peer(B, &DIED));
            network.run(pause);
            network.heal(A, B);
            network.half_link(A, B);
        }
    }
}

fn frame(random: &mut Random, token: u64) -> OwnedFrame {
    let bytes = |random: &mut Random, bound| {
        (0..random.below(bound)).map(|_| random.bits() as u8).collect::<Vec<_>>()
    };
    let bulk = if random.chance(200_000) { bytes(random, 300) } else { vec![] };
    OwnedFrame { kind: ONE_WAY, token: Token(token), body: bytes(random, 60).into(), bulk: bulk.into() }
}

fn one_schedule(seed: u64) -> u64 {
    let mut random = Random::new(seed, 1);
    let full = [0, 200_000, 600_000][seed as usize % 3];
    let window = retain(1 + random.below(12) as u32, [300, 350, 600, 100_000][random.below(4) as usize]);
    let conditions = Conditions { full, ..Conditions::reliable() };
    let mut network = pair_with(seed, conditions, window, with_keep_alive);
    assert!(network.run_until(Span::from_secs(60), |network| network.nodes[&A].peer(B).is_some()));
    let speeches =
        [A, B].map(|from| (from, (0..60).map(|token| frame(&mut random, token)).collect::<Vec<_>>()));
    for (from, frames) in &speeches {
        frames.iter().for_each(|frame| talker(&mut network, *from).say(other(*from), frame.clone()));
        prompt(&mut network, *from);
    }
    for _ in 0..1 + random.below(9) {
        let span = [60, 400, 3000][random.below(3) as usize];
        network.run(Span::from_micros(random.below(span)));
        cut_and_join(&mut network, &mut random);
    }
    let heard = |network: &Talking, from| network.nodes[&other(from)].inner().from(from).len();
    let all = |network: &Talking| [A, B].into_iter().all(|from| heard(network, from) >= 60);
    assert!(network.run_until(Span::from_secs(60), all), "seed {seed}: frames are missing");
    let idle = |network: &Talking| network.nodes.values().all(Sessions::is_idle);
    assert!(network.run_until(Span::from_secs(60), idle), "seed {seed}: acknowledged frames are kept");
    for (from, frames) in &speeches {
        let to = &network.nodes[&other(*from)];
        assert_eq!(to.inner().from(*from), frames, "seed {seed}: from {from}");
        let limit = if let Reliability::Retain { window_bytes, .. } = window { window_bytes } else { 0 };
        let up = came(1, limit.min(64_000));
        assert_eq!(to.inner().changes_of(*from), [up], "seed {seed}: from {from}");
    }
    network.nodes[&B].counters().resumed
}

#[test]
fn every_frame_arrives_once_in_order_over_links_that_are_cut() {
    let resumed: u64 = (0..2000).map(one_schedule).sum();
    assert!(resumed > 5000, "{resumed} sessions went on over another link");
}

#[test]
fn a_link_that_is_cut_while_the_sides_meet_is_of_no_account() {
    for seed in 0..500 {
        let mut random = Random::new(seed, 1);
        let mut network = pair_with(seed, Conditions::reliable(), retain(8, 100_000), |_| {});
        for _ in 0..1 + seed % 5 {
            network.run(Span::from_micros(random.below(120)));
            cut_and_join(&mut network, &mut random);
        }
        network.run(Span::from_secs(1));
        (0..20).for_each(|token| say(&mut network, A, B, word(token)));
        (0..20).for_each(|token| say(&mut network, B, A, word(token)));
        network.run(Span::from_secs(1));
        for at in [A, B] {
            assert_eq!(network.nodes[&at].inner().from(other(at)).len(), 20, "seed {seed}: {at}");
        }
        // A session of which only the listener learned is over when the initiator asks for another.
        let changes = network.nodes[&B].inner().changes_of(A);
        let ups = changes.iter().filter(|change| **change == UP).count();
        assert!(changes.len() == 2 * ups - 1 && ups <= 2 + seed as usize % 5, "seed {seed}: {changes:?}");
        assert_eq!(network.nodes[&A].inner().changes_of(B), [UP], "seed {seed}");
        assert_eq!(network.nodes[&A].session(B), network.nodes[&B].session(A), "seed {seed}");
    }
}

#[test]
fn a_request_and_its_answer_each_arrive_once_though_the_link_was_cut_between() {
    for seed in 0..200 {
        let mut network = pair(retain(64, 64_000), |_| {});
        for token in 0..20 {
            let body = vec![token as u8].into();
            let request = OwnedFrame { kind: REQUEST, token: Token(token), body, bulk: Bytes::new() };
            talker(&mut network, A).say(B, request);
        }
        prompt(&mut network, A);
        network.run(Span(seed * 500));
        network.cut(A, B, DownCause::Died);
        network.link(A, B);
        network.run(Span::from_secs(1));
        let answers: Vec<_> = network.nodes[&A].inner().from(B).iter().map(|a| (a.kind, a.token.0)).collect();
        assert_eq!(answers, (0..20).map(|token| (ANSWER, token)).collect::<Vec<_>>(), "seed {seed}");
        assert_eq!(network.nodes[&B].inner().from(A).len(), 20, "seed {seed}: a request ran twice");
    }
}

pub(crate) fn count(network: &Talking, kind: quintet_contract::Kind) -> usize {
    network.trace.iter().filter(|(_, _, frame)| frame.kind == kind).count()
}

#[test]
fn after_the_window_the_session_is_over_and_the_next_link_begins_another() {
    let mut network = pair(retain(4, 100_000), |_| {});
    network.cut(A, B, DownCause::Died);
    say(&mut network, A, B, word(1));
    network.run(Span::from_millis(1999));
    assert_eq!(talker(&mut network, A).changes_of(B), [UP]);
    network.run(Span::from_millis(2));
    network.link(A, B);
    network.run(Span::from_secs(1));
    assert_eq!(talker(&mut network, A).changes_of(B), [UP, DIED, UP]);
    assert_eq!(talker(&mut network, B).changes_of(A), [UP, DIED, UP]);
    assert_eq!(talker(&mut network, B).from(A), [], "nothing of the old one comes");
    say(&mut network, A, B, word(2));
    network.run(Span::from_secs(1));
    assert_eq!(talker(&mut network, B).from(A), [word(2)]);
}

/// The HELLO that asks to resume is under way when the window ends on this side, on that side, or on both.
#[test]
fn a_window_that_ends_in_the_middle_of_the_handshake_begins_another_session() {
    for (mine, theirs) in [(10, 1000), (1000, 10), (10, 10)] {
        let mut network = pair(retain(4, 100_000), |config| {
            config.resume_window = Span::from_millis(if config.me == A { mine } else { theirs });
        });
        network.cut(A, B, DownCause::Died);
        network.conditions.delay = (Span::from_millis(20), Span::from_millis(20));
        network.link(A, B);
        network.run(Span::from_secs(1));
        assert_eq!(talker(&mut network, A).changes_of(B), [UP, DIED, UP], "{mine} and {theirs} ms");
        // The listener may have begun one for the HELLO that asked to resume, and another for the next.
        let changes = talker(&mut network, B).changes_of(A);
        let told = [&[UP, DIED, UP][..], &[UP, DIED, UP, DIED, UP]];
        assert!(told.contains(&&changes[..]), "{mine} and {theirs} ms: {changes:?}");
        say(&mut network, A, B, word(2));
        say(&mut network, B, A, word(3));
        network.run(Span::from_secs(1));
        assert_eq!(talker(&mut network, B).from(A), [word(2)]);
        assert_eq!(talker(&mut network, A).from(B), [word(3)]);
    }
}

#[test]
fn a_link_that_was_closed_in_order_is_not_resumed_nor_one_after_a_goodbye() {
    let closed = PeerChange::Down(DownCause::Closed);
    let mut network = pair(retain(4, 100_000), |_| {});
    network.cut(A, B, DownCause::Closed);
    network.link(A, B);
    network.run(Span::from_millis(1));
    assert_eq!(talker(&mut network, A).changes_of(B), [UP, closed, UP], "another session");
    let mut out = Effects::default();
    let now = network.now;
    network.nodes.get_mut(&B).expect("it exists").close(now, &mut out);
    out.frames().iter().for_each(|(to, frame)| network.inject(B, *to, frame));
    assert_eq!(talker(&mut network, A).changes_of(B), [UP, closed, UP, closed]);
    assert_eq!(network.nodes[&A].session(B), None);
}

#[test]
fn without_a_window_a_cut_is_the_end() {
    let mut network = pair(retain(4, 100_000), |config| config.resume_window = Span::ZERO);
    network.cut(A, B, DownCause::Died);
    assert_eq!(talker(&mut network, A).changes_of(B), [UP, DIED]);
    assert_eq!(talker(&mut network, B).changes_of(A), [UP, DIED]);
}

/// The HELLO that a node with these settings says over a second link, as the one that knows the session of `network`.
fn resuming_hello(network: &mut Talking) -> OwnedFrame {
    network.trace.clear();
    network.cut(A, B, DownCause::Died);
    network.half_link(A, B);
    let hello = network.trace.iter().find(|(_, _, frame)| frame.kind == HELLO);
    hello.expect("it asks to resume").2.clone()
}

/// Bytes of a HELLO at which its incarnation stands: two versions, an attempt, a cluster, a node, a role, a reliability.
const INCARNATION_AT: usize = 4 + 12 + 16 + 2 + 1 + 1;

#[test]
fn a_session_is_not_resumed_by_another_life() {
    for (life, answer) in [(1, WELCOME), (0, REFUSED), (2, WELCOME)] {
        let mut network = pair(retain(4, 100_000), |_| {});
        say(&mut network, B, A, word(1));
        let hello = resuming_hello(&mut network);
        let mut body = hello.body.to_vec();
        body[INCARNATION_AT..INCARNATION_AT + 8].copy_from_slice(&u64::to_le_bytes(life));
        network.trace.clear();
        network.half_link(B, A);
        network.inject(A, B, &OwnedFrame { body: body.into(), ..hello });
        assert_eq!(network.trace[0].2.kind, answer, "life {life}");
        let words = network.trace.iter().filter(|(_, _, frame)| frame.kind == ONE_WAY).count();
        assert_eq!(words, usize::from(life == 1), "what was kept for one life is not given to another");
        let up = came(life, 64_000);
        let told = if life == 2 { vec![UP, DIED, up] } else { vec![UP] };
        assert_eq!(talker(&mut network, B).changes_of(A), told, "life {life}");
    }
}

/// A WELCOME's: a version, a role, whether the session is resumed, an attempt, a session.
const WELCOME_INCARNATION_AT: usize = 2 + 1 + 1 + 12 + 8;

#[test]
fn another_life_cannot_welcome_to_the_session_of_an_earlier_one() {
    let mut network = pair(retain(4, 100_000), |_| {});
    say(&mut network, A, B, word(1));
    let hello = resuming_hello(&mut network);
    network.half_link(B, A);
    network.inject(A, B, &hello);
    let welcome = network.trace.iter().find(|(_, _, frame)| frame.kind == WELCOME).expect("one").2.clone();
    let mut body = welcome.body.to_vec();
    body[WELCOME_INCARNATION_AT..WELCOME_INCARNATION_AT + 8].copy_from_slice(&u64::to_le_bytes(2));
    network.trace.clear();
    network.inject(B, A, &OwnedFrame { body: body.into(), ..welcome });
    assert_eq!(network.trace, [], "what was kept for one life is not given to another");
    let up = came(2, 64_000);
    assert_eq!(talker(&mut network, A).changes_of(B), [UP, DIED, up]);
}

#[test]
fn nothing_passes_the_welcome_that_the_link_had_no_room_for() {
    let mut network = pair(retain(4, 100_000), |_| {});
    let hello = resuming_hello(&mut network);
    network.half_link(B, A);
    network.conditions.full = 1_000_000;
    network.inject(A, B, &hello);
    assert_eq!(count(&network, WELCOME), 0);
    network.conditions.full = 0;
    network.trace.clear();
    // There is room before the host has said so.
    say(&mut network, B, A, word(1));
    let kinds: Vec<_> = network.trace.iter().map(|(_, _, frame)| frame.kind).collect();
    assert_eq!(kinds, [WELCOME, ONE_WAY]);
}

#[test]
fn before_the_peer_has_said_hello_over_the_new_link_nothing_goes_to_it() {
    let mut network = pair(retain(4, 100_000), |_| {});
    say(&mut network, B, A, word(1));
    let session = network.nodes[&B].session(A).expect("they have met");
    network.cut(A, B, DownCause::Died);
    network.trace.clear();
    network.half_link(B, A);
    let body = session.to_le_bytes().to_vec().into();
    network.inject(A, B, &OwnedFrame { kind: PING, token: Token(0), body, bulk: Bytes::new() });
    say(&mut network, B, A, word(2));
    assert_eq!(network.trace, [], "the ping was an earlier link's");
}

#[test]
fn the_next_life_of_a_listener_knows_no_session_of_its_last() {
    let mut network = pair(retain(4, 100_000), |_| {});
    say(&mut network, A, B, word(1));
    network.cut(A, B, DownCause::Died);
    say(&mut network, A, B, word(2));
    let mut second = config(B, retain(4, 100_000));
    second.incarnation = Incarnation(2);
    network.add(B, node(second));
    network.link(A, B);
    network.run(Span::from_secs(1));
    let up = came(2, 64_000);
    assert_eq!(talker(&mut network, A).changes_of(B), [UP, DIED, up]);
    assert_eq!(talker(&mut network, B).from(A), [], "what was kept was for another life");
}

#[test]
fn a_link_of_smaller_limits_begins_another_session() {
    let mut network = pair(retain(4, 100_000), |_| {});
    network.cut(A, B, DownCause::Died);
    network.conditions.max_bulk_bytes = 10;
    network.link(A, B);
    network.run(Span::from_secs(1));
    let up = came(1, 10);
    assert_eq!(talker(&mut network, A).changes_of(B), [UP, DIED, up]);
    assert_eq!(talker(&mut network, B).changes_of(A), [UP, DIED, up]);
}

#[test]
fn a_link_that_is_broken_without_a_sign_is_closed_and_the_session_goes_on_over_the_next() {
    let mut network = pair(retain(100, 100_000), with_keep_alive);
    // Nothing passes from now on, and nobody is told.
    network.conditions.loss = 1_000_000;
    say(&mut network, A, B, word(1));
    network.run(Span::from_millis(500));
    assert_eq!(count(&network, GOODBYE), 0, "the session is not over");
    for at in [A, B] {
        assert_eq!(talker(&mut network, at).changes, [(other(at), UP)], "nothing is told yet");
        assert_eq!(network.nodes[&at].deadline().map(|at| at > network.now), Some(true));
    }
    network.conditions.loss = 0;
    network.link(A, B);
    network.run(Span::from_millis(500));
    assert_eq!(talker(&mut network, B).from(A), [word(1)]);
    assert_eq!(talker(&mut network, B).changes_of(A), [UP]);
}

#[test]
fn where_a_silent_peer_is_not_waited_for_its_session_ends_with_the_silence_and_another_may_begin() {
    let mut network = pair(retain(100, 100_000), |config| {
        with_keep_alive(config);
        config.resumes_silent = false;
    });
    network.conditions.loss = 1_000_000;
    say(&mut network, A, B, word(1));
    network.run(Span::from_millis(500));
    let silent = PeerChange::Down(DownCause::Silent);
    for at in [A, B] {
        assert_eq!(
            talker(&mut network, at).changes_of(other(at)),
            [UP, silent],
            "long before the window ends"
        );
    }
    network.conditions.loss = 0;
    network.link(A, B);
    network.run(Span::from_millis(500));
    assert_eq!(talker(&mut network, B).changes_of(A), [UP, silent, UP]);
    assert_eq!(talker(&mut network, B).from(A), [], "what was kept was of the session that is over");
    // What is cut is kept as ever.
    network.cut(A, B, DownCause::Died);
    network.link(A, B);
    network.run(Span::from_millis(500));
    assert_eq!(talker(&mut network, B).changes_of(A), [UP, silent, UP]);
}

#[test]
fn a_peer_that_does_not_answer_over_any_link_is_silent_once_the_window_has_passed() {
    let mut network = pair(retain(100, 100_000), with_keep_alive);
    network.part(A, B);
    network.lose_in_flight(A, B);
    for _ in 0..30 {
        // Each link is made and carries nothing.
        network.run(Span::from_millis(100));
        network.half_link(A, B);
    }
    let changes = talker(&mut network, A).changes_of(B);
    assert_eq!(changes[..2], [UP, PeerChange::Down(DownCause::Silent)]);
    network.link(A, B);
    network.run(Span::from_secs(1));
    assert_eq!(talker(&mut network, A).changes_of(B).last(), Some(&UP));
}

/// What a host asks before it lets a new link take the place of one that lives.
#[test]
fn only_a_later_hello_of_the_session_that_lives_resumes_it() {
    let mut network = pair(retain(8, 10_000), |_| {});
    let hellos = |network: &Talking| -> Vec<OwnedFrame> {
        network
            .trace
            .iter()
            .filter(|(.., frame)| frame.kind == HELLO)
            .map(|(.., frame)| frame.clone())
            .collect()
    };
    network.input(A, Input::Peer(B, &DIED));
    network.half_link(A, B);
    let [first, again] = &hellos(&network)[..] else { panic!("one for each link") };
    let resumes = |frame: &OwnedFrame| network.nodes[&B].is_resumed_by(A, frame.borrow());
    assert!(resumes(again) && !resumes(first));
    assert!(!network.nodes[&B].is_resumed_by(Address::new(9, 16), again.borrow()), "another node's");
    // The versions, the attempt's number, the cluster, the node, the reliability, the incarnation, the session.
    for changed in [2, 4, 16, 32, 35, 36, 52] {
        let mut body = again.body.to_vec();
        body[changed] = body[changed].wrapping_sub(1);
        let other = OwnedFrame { body: body.into(), ..again.clone() };
        assert!(!resumes(&other), "byte {changed}");
    }
    assert!(!resumes(&OwnedFrame { kind: PING, ..again.clone() }));
    assert!(!resumes(&OwnedFrame { body: Bytes::new(), ..again.clone() }));
    let mut trusting = pair(Reliability::Link, |_| {});
    trusting.input(A, Input::Peer(B, &DIED));
    trusting.half_link(A, B);
    let again = hellos(&trusting).pop().expect("it was said");
    assert!(!trusting.nodes[&B].is_resumed_by(A, again.borrow()), "nothing was kept");
}

//! Sessions over links that may be cut: processes that stop and go on, links that break without a sign.

use super::at;
use quintet_contract::{
    Address, Bytes, DownCause, Incarnation, Input, Kind, NodeId, Outbox, OwnedFrame, PeerChange, Protocol,
    Random, SendError, Span, Time, Token,
};
use quintet_session::{PeerConfig, Reliability, SessionConfig, Sessions};
use quintet_simulate::{LinkModel, Restart, Simulation};
use quintet_wire::registry::{PORT_CALLERS, USER};
use std::collections::VecDeque;

const WORD: Kind = USER.kind(0);
const SERVER: u16 = 1;
const CLIENT: u16 = 2;
/// Words of each side.
const WORDS: u64 = 60;

/// Says a word to its peer for each that a caller gives it, when there is room, and notes what it hears.
struct Member {
    peer: Address,
    unsaid: VecDeque<u64>,
    heard: Vec<u64>,
    changes: Vec<PeerChange>,
}

impl Member {
    fn say(&mut self, out: &mut dyn Outbox) {
        while let Some(word) = self.unsaid.front() {
            // Longer and longer ones: some of them exceed the window alone.
            match out.send(self.peer, WORD, Token(*word), &vec![7; 10 * *word as usize]) {
                Ok(()) => self.unsaid.pop_front(),
                Err(SendError::Full | SendError::Unreachable) => return,
                Err(error @ SendError::TooLong { .. }) => panic!("{error}"),
            };
        }
    }
}

impl Protocol for Member {
    fn handle(&mut self, _now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        match input {
            Input::Frame(from, frame) if from.port == PORT_CALLERS => self.unsaid.push_back(frame.token.0),
            Input::Frame(_, frame) => self.heard.push(frame.token.0),
            Input::Peer(_, change) => self.changes.push(*change),
            Input::Started | Input::Wake | Input::Writable(_) => {}
        }
        self.say(out);
    }

    fn deadline(&self) -> Option<Time> {
        None
    }
}

fn other(node: u16) -> u16 {
    SERVER + CLIENT - node
}

fn member(node: u16, life: u64, reliability: Reliability) -> Sessions<Member> {
    let mut config = SessionConfig::new(at(node), 7, Incarnation(life), 5);
    (config.keep_alive, config.silence_limit) = (Span::from_millis(10), Span::from_millis(40));
    config.resume_window = Span::from_millis(500);
    config.others = Some(PeerConfig { initiate: node == CLIENT, reliability });
    let peer = at(other(node));
    Sessions::new(config, Member { peer, unsaid: VecDeque::new(), heard: vec![], changes: vec![] })
}

fn wire() -> LinkModel {
    LinkModel { may_be_cut: true, window_frames: 3, ..LinkModel::default() }
}

fn pair(seed: u64, reliability: Reliability) -> Simulation {
    let mut run = Simulation::new(seed);
    for node in [SERVER, CLIENT] {
        run.add(at(node), member(node, 1, reliability));
    }
    run.connect(at(SERVER), at(CLIENT), wire());
    run.run_for(Span::from_millis(1));
    run
}

fn sessions(run: &Simulation, node: u16) -> &Sessions<Member> {
    run.get::<Sessions<Member>>(at(node)).expect("it was added")
}

fn say(run: &mut Simulation, node: u16, word: u64) {
    let (body, bulk) = (Bytes::new(), Bytes::new());
    run.inject(at(node), OwnedFrame { kind: WORD, token: Token(word), body, bulk });
}

/// Both said so many words, and heard each of the other's once, in order, without learning of anything.
fn check(run: &Simulation, words: u64, what: &str) {
    for node in [SERVER, CLIENT] {
        let member = sessions(run, node).inner();
        assert_eq!(member.heard, (0..words).collect::<Vec<_>>(), "{what}: node {node}");
        assert!(matches!(member.changes[..], [PeerChange::Up { .. }]), "{what}: {:?}", member.changes);
    }
}

#[test]
fn processes_that_stop_and_go_on_lose_nothing_and_repeat_nothing() {
    let small = Reliability::Retain { window_frames: 5, window_bytes: 900 };
    let mut resumed = 0;
    for seed in 0..300 {
        let reliability = if seed % 2 == 0 { small } else { Reliability::ByLink };
        let (mut run, mut random) = (pair(seed, reliability), Random::new(seed, 1));
        for word in 0..WORDS {
            [SERVER, CLIENT].into_iter().for_each(|node| say(&mut run, node, word));
            run.run_for(Span::from_micros(random.below(100)));
            if random.chance(100_000) {
                let stopped = if random.chance(500_000) { SERVER } else { CLIENT };
                let lasting = random.below(2000);
                run.crash(NodeId(stopped), Span::from_micros(random.below(lasting + 1)));
                run.run_for(Span::from_micros(lasting));
                run.restart(NodeId(stopped), Restart::WithMemory);
            }
        }
        run.run_for(Span::from_millis(200));
        check(&run, WORDS, &format!("seed {seed}"));
        assert!(sessions(&run, SERVER).is_idle() && sessions(&run, CLIENT).is_idle(), "seed {seed}");
        resumed += sessions(&run, SERVER).counters().resumed;
    }
    assert!(resumed > 500, "{resumed} sessions went on over another link");
}

#[test]
fn a_link_that_breaks_without_a_sign_is_given_up_and_the_next_one_goes_on() {
    for seed in 0..100 {
        let (mut run, mut random) = (pair(seed, Reliability::ByLink), Random::new(seed, 1));
        (0..20).for_each(|word| say(&mut run, CLIENT, word));
        (0..20).for_each(|word| say(&mut run, SERVER, word));
        run.run_for(Span::from_micros(random.below(400)));
        let ends = [(NodeId(SERVER), NodeId(CLIENT)), (NodeId(CLIENT), NodeId(SERVER))];
        ends.into_iter().for_each(|(from, to)| run.set_cut(from, to, true));
        run.run_for(Span::from_millis(100));
        ends.into_iter().for_each(|(from, to)| run.set_cut(from, to, false));
        run.connect(at(SERVER), at(CLIENT), wire());
        run.run_for(Span::from_millis(100));
        check(&run, 20, &format!("seed {seed}"));
        assert_eq!(sessions(&run, CLIENT).counters().resumed, 1, "seed {seed}");
    }
}

/// A link is cut in one direction or both, in the middle of what is said; each side is told at once, later, or by the new link only.
#[test]
fn a_new_link_in_the_place_of_one_that_was_cut_carries_nothing_of_it() {
    for seed in 0..300 {
        let (mut run, mut random) = (pair(seed, Reliability::ByLink), Random::new(seed, 1));
        let ends = [(NodeId(SERVER), NodeId(CLIENT)), (NodeId(CLIENT), NodeId(SERVER))];
        for word in 0..WORDS {
            let is_cut = random.chance(100_000);
            for (from, to) in ends {
                run.set_cut(from, to, is_cut && random.chance(500_000));
            }
            [SERVER, CLIENT].into_iter().for_each(|node| say(&mut run, node, word));
            run.run_for(Span::from_micros(random.below(100)));
            for (here, there) in ends {
                if is_cut && random.chance(300_000) {
                    run.tell_cut(here, there);
                    run.run_for(Span::from_micros(random.below(100)));
                }
            }
            if is_cut {
                run.connect_again(NodeId(SERVER), NodeId(CLIENT), wire());
            }
        }
        run.run_for(Span::from_millis(200));
        check(&run, WORDS, &format!("seed {seed}"));
    }
}

#[test]
fn nobody_learns_over_a_cut_link_that_the_other_side_has_closed_it() {
    let mut run = pair(1, Reliability::ByLink);
    run.set_cut(NodeId(SERVER), NodeId(CLIENT), true);
    run.run_for(Span::from_millis(30));
    run.set_cut(NodeId(CLIENT), NodeId(SERVER), true);
    run.run_for(Span::from_millis(30));
    assert!(
        run.is_closed(NodeId(CLIENT), NodeId(SERVER)),
        "the client has heard nothing for too long, the server not yet"
    );
    run.connect_again(NodeId(SERVER), NodeId(CLIENT), wire());
    [SERVER, CLIENT].into_iter().for_each(|node| say(&mut run, node, 0));
    run.run_for(Span::from_millis(20));
    check(&run, 1, "one word each");
}

#[test]
fn the_next_life_of_a_client_is_not_given_what_was_kept_for_its_last() {
    let mut run = pair(1, Reliability::ByLink);
    run.crash(NodeId(CLIENT), Span::from_micros(100));
    run.run_for(Span::from_millis(1));
    say(&mut run, SERVER, 1);
    run.run_for(Span::from_millis(1));
    let next = Box::new(member(CLIENT, 2, Reliability::ByLink));
    run.restart(NodeId(CLIENT), Restart::Fresh(vec![(at(CLIENT).port, next)]));
    run.run_for(Span::from_millis(20));
    say(&mut run, SERVER, 2);
    run.run_for(Span::from_millis(20));
    assert_eq!(sessions(&run, CLIENT).inner().heard, [2]);
    let changes = &sessions(&run, SERVER).inner().changes;
    let [PeerChange::Up { .. }, PeerChange::Down(DownCause::Died), PeerChange::Up { incarnation, .. }] =
        changes[..]
    else {
        panic!("{changes:?}");
    };
    assert_eq!(incarnation, Incarnation(2));
}

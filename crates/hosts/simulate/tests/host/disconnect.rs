//! A protocol has the link to a peer closed.

use super::{WORK, at};
use quintet_contract::{
    Address, Bytes, Disconnect, DownCause, Input, Kind, NodeId, Outbox, OwnedFrame, PeerChange, Protocol,
    Span, Time, Token,
};
use quintet_simulate::{Costs, Distribution, LinkModel, Restart, Simulation};
use quintet_wire::registry::{PORT_CALLERS, USER};

/// Answered with another.
const WORD: Kind = USER.kind(0);
/// Has whoever hears it close the link, with a last word.
const GARBAGE: Kind = USER.kind(1);

const HOSTILE: u16 = 1;
const GUARD: u16 = 2;
const HONEST: u16 = 3;

/// What a node saw of its peers, in order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Seen {
    Up,
    Down(DownCause),
    Word(u64),
    Answer(u64),
}

/// Answers words, sends what the test gives it, and cuts who sends garbage.
#[derive(Default)]
struct Guard {
    seen: Vec<(Address, Seen)>,
    peers: Vec<Address>,
}

impl Guard {
    fn saw(&self, peer: Address) -> Vec<Seen> {
        self.seen.iter().filter(|(from, _)| *from == peer).map(|(_, seen)| *seen).collect()
    }
}

impl Protocol for Guard {
    fn handle(&mut self, _now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        match input {
            Input::Frame(from, frame) if from.port == PORT_CALLERS => {
                for peer in self.peers.clone() {
                    // Who has no link with a peer any more does not reach it.
                    let _ = out.send(peer, frame.kind, frame.token, &[0]);
                }
            }
            Input::Frame(from, frame) if frame.kind == GARBAGE => {
                self.seen.push((from, Seen::Word(frame.token.0)));
                out.work(WORK, 1);
                let _ = out.send(from, WORD, Token(99), &[1]);
                out.disconnect(from, Disconnect::ForGood);
            }
            Input::Frame(from, frame) if frame.body == [0] => {
                self.seen.push((from, Seen::Word(frame.token.0)));
                let _ = out.send(from, WORD, frame.token, &[1]);
            }
            Input::Frame(from, frame) => self.seen.push((from, Seen::Answer(frame.token.0))),
            Input::Peer(peer, PeerChange::Up { .. }) => {
                self.peers.push(peer);
                self.seen.push((peer, Seen::Up));
            }
            Input::Peer(peer, PeerChange::Down(cause)) => {
                self.peers.retain(|up| *up != peer);
                self.seen.push((peer, Seen::Down(*cause)));
            }
            Input::Started | Input::Wake | Input::Writable(_) => {}
        }
    }

    fn deadline(&self) -> Option<Time> {
        None
    }
}

fn network() -> Simulation {
    let mut run = Simulation::new(1);
    for node in [HOSTILE, GUARD, HONEST] {
        run.add(at(node), Guard::default());
    }
    for peer in [HOSTILE, HONEST] {
        run.connect(at(peer), at(GUARD), LinkModel::default());
    }
    run.run_for(Span::from_millis(1));
    run
}

fn say(run: &mut Simulation, node: u16, kind: Kind, token: u64) {
    let frame = OwnedFrame { kind, token: Token(token), body: Bytes::new(), bulk: Bytes::new() };
    run.inject(at(node), frame);
}

fn saw(run: &Simulation, node: u16, peer: u16) -> Vec<Seen> {
    run.get::<Guard>(at(node)).expect("it was added").saw(at(peer))
}

#[test]
fn both_are_told_once_and_others_go_on() {
    let mut run = network();
    say(&mut run, HOSTILE, WORD, 1);
    say(&mut run, HOSTILE, GARBAGE, 2);
    // Under way when the link is closed.
    (3..100).for_each(|token| say(&mut run, HOSTILE, GARBAGE, token));
    say(&mut run, HONEST, WORD, 1);
    run.run_for(Span::from_millis(1));
    say(&mut run, HOSTILE, GARBAGE, 100);
    say(&mut run, HONEST, WORD, 2);
    say(&mut run, GUARD, WORD, 7);
    run.run_for(Span::from_millis(1));
    let misbehaved = Seen::Down(DownCause::Misbehaved);
    assert_eq!(saw(&run, GUARD, HOSTILE), [Seen::Up, Seen::Word(1), Seen::Word(2), misbehaved]);
    let closed = Seen::Down(DownCause::Closed);
    assert_eq!(saw(&run, HOSTILE, GUARD), [Seen::Up, Seen::Answer(1), Seen::Answer(99), closed]);
    // The guard sent its word before it heard the second one.
    let answers = [Seen::Up, Seen::Answer(1), Seen::Word(7), Seen::Answer(2)];
    assert_eq!(saw(&run, HONEST, GUARD), answers);
}

#[test]
fn what_waits_for_a_busy_node_is_dropped_with_the_link_and_the_rest_is_not() {
    let mut run = network();
    // Longer than all takes to arrive.
    run.set_costs(at(GUARD), Costs::from([(WORK, Distribution::Constant(1e9))]));
    (1..10).for_each(|token| say(&mut run, HOSTILE, GARBAGE, token));
    run.run_for(Span::from_micros(120));
    say(&mut run, HONEST, WORD, 1);
    run.run_for(Span::from_millis(10));
    let misbehaved = Seen::Down(DownCause::Misbehaved);
    assert_eq!(saw(&run, GUARD, HOSTILE), [Seen::Up, Seen::Word(1), misbehaved]);
    assert_eq!(saw(&run, HONEST, GUARD), [Seen::Up, Seen::Answer(1)]);
}

#[test]
fn every_pair_of_addresses_of_the_two_nodes_is_cut() {
    let mut run = network();
    let (other, its_peer) = (Address::new(GUARD, 5), Address::new(HOSTILE, 6));
    run.add(other, Guard::default());
    run.add(its_peer, Guard::default());
    run.attach(
        NodeId(HOSTILE),
        NodeId(GUARD),
        &[(at(HOSTILE).port, at(GUARD).port), (its_peer.port, other.port)],
        LinkModel::default(),
    );
    run.run_for(Span::from_millis(1));
    say(&mut run, HOSTILE, GARBAGE, 1);
    run.run_for(Span::from_millis(1));
    let seen = |run: &Simulation, node, peer| run.get::<Guard>(node).map(|guard| guard.saw(peer));
    let cut = Some(vec![Seen::Up, Seen::Down(DownCause::Misbehaved)]);
    assert_eq!(seen(&run, other, its_peer), cut);
    assert_eq!(seen(&run, its_peer, other), Some(vec![Seen::Up, Seen::Down(DownCause::Closed)]));
}

#[test]
fn a_new_life_is_served_and_nothing_of_the_last_one_is_shown() {
    let mut run = network();
    (1..50).for_each(|token| say(&mut run, HOSTILE, GARBAGE, token));
    assert!(run.run_until(Span::from_millis(1), |run| saw(run, GUARD, HOSTILE).len() == 3));
    // The rest of the garbage is still under way.
    run.crash(NodeId(HOSTILE), Span::ZERO);
    let port = at(HOSTILE).port;
    run.restart(NodeId(HOSTILE), Restart::Fresh(vec![(port, Box::new(Guard::default()))]));
    run.run_for(Span::from_millis(1));
    say(&mut run, HOSTILE, WORD, 60);
    run.run_for(Span::from_millis(1));
    let misbehaved = Seen::Down(DownCause::Misbehaved);
    let served = [Seen::Up, Seen::Word(1), misbehaved, Seen::Up, Seen::Word(60)];
    assert_eq!(saw(&run, GUARD, HOSTILE), served);
    assert_eq!(saw(&run, HOSTILE, GUARD), [Seen::Up, Seen::Answer(60)]);
}

#[test]
fn a_link_that_is_made_anew_is_a_new_link() {
    let mut run = network();
    say(&mut run, HOSTILE, GARBAGE, 1);
    assert!(run.run_until(Span::from_millis(1), |run| saw(run, GUARD, HOSTILE).len() == 3));
    // The last word is still under way, and with it the news.
    run.connect(at(HOSTILE), at(GUARD), LinkModel::default());
    run.run_for(Span::from_millis(1));
    say(&mut run, HOSTILE, WORD, 2);
    run.run_for(Span::from_millis(1));
    let closed = Seen::Down(DownCause::Closed);
    assert_eq!(saw(&run, HOSTILE, GUARD), [Seen::Up, closed, Seen::Up, Seen::Answer(2)]);
}

#[test]
fn who_restarts_with_memory_learns_once_that_its_link_was_closed() {
    let mut run = network();
    say(&mut run, HOSTILE, GARBAGE, 1);
    assert!(run.run_until(Span::from_millis(1), |run| saw(run, GUARD, HOSTILE).len() == 3));
    run.crash(NodeId(HOSTILE), Span::ZERO);
    run.run_for(Span::from_millis(1));
    run.restart(NodeId(HOSTILE), Restart::WithMemory);
    run.run_for(Span::from_millis(1));
    let died = Seen::Down(DownCause::Died);
    assert_eq!(saw(&run, HOSTILE, GUARD), [Seen::Up, died, Seen::Up]);
    let misbehaved = Seen::Down(DownCause::Misbehaved);
    assert_eq!(saw(&run, GUARD, HOSTILE), [Seen::Up, Seen::Word(1), misbehaved, Seen::Up]);
}

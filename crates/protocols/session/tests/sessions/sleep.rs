//! Sides that stand still, alone or together: stopped processes, a suspended machine.

use crate::network::talker::Talker;
use crate::network::{Conditions, Network};
use crate::{A, B, config, every_reliability, node, word};
use quintet_contract::{
    Address, DownCause, Incarnation, Input, LinkClass, LinkInfo, Outbox, OwnedFrame, PeerChange, Protocol,
    Span, Time,
};
use quintet_session::{Reliability, SessionConfig, Sessions};

const UP: PeerChange =
    PeerChange::Up { incarnation: Incarnation(1), link: LinkInfo::new(LinkClass::Machine, 64_000) };
const KEEP_ALIVE: Span = Span::from_millis(250);
const LIMIT: Span = Span::from_millis(700);
const NIGHT: Span = Span::from_secs(20);

/// A node that can stand still. What comes meanwhile lies in its link, and is seen before time is said to have run out.
struct Sleeper {
    sessions: Sessions<Talker>,
    asleep: bool,
    came: Vec<Came>,
}

enum Came {
    Frame(Address, OwnedFrame),
    Writable(Address),
    Peer(Address, PeerChange),
}

impl Protocol for Sleeper {
    fn handle(&mut self, now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        if self.asleep {
            self.came.push(match input {
                Input::Frame(from, frame) => Came::Frame(from, frame.to_owned()),
                Input::Writable(about) => Came::Writable(about),
                Input::Peer(about, change) => Came::Peer(about, *change),
                Input::Started | Input::Wake => panic!("it asks for no wake"),
            });
            return;
        }
        for came in self.came.drain(..) {
            let input = match &came {
                Came::Frame(from, frame) => Input::Frame(*from, frame.borrow()),
                Came::Writable(about) => Input::Writable(*about),
                Came::Peer(about, change) => Input::Peer(*about, change),
            };
            self.sessions.handle(now, input, out);
        }
        self.sessions.handle(now, input, out);
    }

    fn deadline(&self) -> Option<Time> {
        if self.asleep { None } else { self.sessions.deadline() }
    }
}

fn stop(network: &mut Network<Sleeper>, at: Address) {
    network.nodes.get_mut(&at).expect("it exists").asleep = true;
}

/// Lets a node go on: it sees what came, then the time.
fn go_on(network: &mut Network<Sleeper>, at: Address) {
    network.nodes.get_mut(&at).expect("it exists").asleep = false;
    network.input(at, Input::Wake);
}

/// A pair that has met, after which `after` has passed. `pings`: who pings.
fn pair(reliability: Reliability, pings: &[Address], after: Span) -> Network<Sleeper> {
    let mut network = Network::new(7, Conditions::reliable());
    for at in [A, B] {
        let mut config: SessionConfig = config(at, reliability);
        if pings.contains(&at) {
            (config.keep_alive, config.silence_limit) = (KEEP_ALIVE, LIMIT);
        }
        network.add(at, Sleeper { sessions: node(config), asleep: false, came: vec![] });
    }
    network.link(A, B);
    network.run(after);
    network
}

fn changes(network: &Network<Sleeper>, at: Address) -> Vec<PeerChange> {
    let changes = network.nodes[&at].sessions.inner().changes.iter();
    changes.map(|(_, change)| *change).collect()
}

/// Says a word from A to B.
fn say(network: &mut Network<Sleeper>) {
    network.nodes.get_mut(&A).expect("it exists").sessions.inner_mut().say(B, word(1));
    network.inject(Address::new(A.node.0, 1), A, &word(0));
}

#[test]
fn two_sides_that_slept_together_lose_nothing_whichever_wakes_first() {
    // Nobody is stopped at the same moment as another: a ping may be under way that the other does not answer any more.
    for (gap, begins) in [0, 1, 100, 300].into_iter().flat_map(|gap| (0..13).map(move |n| (gap, n * 20))) {
        let (gap, begins) = (Span::from_millis(gap), Span::from_millis(1000 + begins));
        for reliability in every_reliability() {
            for pings in [&[A][..], &[B], &[A, B]] {
                for (first, second) in [(A, B), (B, A)] {
                    let mut network = pair(reliability, pings, begins);
                    stop(&mut network, second);
                    network.run(gap);
                    stop(&mut network, first);
                    network.run(NIGHT);
                    go_on(&mut network, first);
                    network.run(Span::from_millis(300));
                    go_on(&mut network, second);
                    network.run(Span::from_millis(5));
                    say(&mut network);
                    network.run(Span::from_secs(2));
                    for at in [A, B] {
                        let told = changes(&network, at);
                        assert_eq!(
                            told,
                            [UP],
                            "{reliability:?}, {pings:?} ping, {first} first, {gap} {begins}"
                        );
                    }
                    assert_eq!(network.nodes[&B].sessions.inner().from(A), [word(1)]);
                }
            }
        }
    }
}

/// Also where the sleep is so short that it is not noticed as one.
#[test]
fn a_short_sleep_together_is_survived_however_long_it_is() {
    for (length, begins) in (0..40).flat_map(|length| (0..25).map(move |begins| (length, begins))) {
        let mut network = pair(Reliability::Link, &[A], Span::from_millis(1000 + begins * 10));
        stop(&mut network, B);
        network.run(Span::from_millis(10));
        stop(&mut network, A);
        network.run(Span::from_millis(length * 50));
        go_on(&mut network, A);
        network.run(Span::from_millis(200));
        go_on(&mut network, B);
        network.run(Span::from_secs(2));
        assert_eq!(changes(&network, A), [UP], "{length} {begins}");
    }
}

#[test]
fn who_stands_still_alone_for_longer_than_the_limit_is_silent() {
    for reliability in every_reliability() {
        let mut network = pair(reliability, &[A], Span::from_secs(1));
        stop(&mut network, B);
        network.run(Span(KEEP_ALIVE.0 + LIMIT.0 + 1_000_000));
        let silent = PeerChange::Down(DownCause::Silent);
        if matches!(reliability, Reliability::Retain { .. }) {
            assert_eq!(changes(&network, A), [UP], "it may come back over another link");
            network.run(Span::from_secs(2));
        }
        assert_eq!(changes(&network, A), [UP, silent], "{reliability:?}");
    }
}

#[test]
fn who_slept_alone_hears_first_what_came_meanwhile() {
    for reliability in every_reliability() {
        for begins in (0..270).map(Span::from_millis) {
            let mut network = pair(reliability, &[A], Span(1_000_000_000 + begins.0));
            stop(&mut network, A);
            network.run(NIGHT);
            go_on(&mut network, A);
            network.run(Span::from_secs(2));
            assert_eq!(changes(&network, A), [UP], "{reliability:?} {begins}");
        }
    }
}

#[test]
fn a_hello_that_was_not_answered_in_ones_sleep_is_waited_for_again() {
    let mut network = Network::new(7, Conditions::reliable());
    for at in [A, B] {
        let mut config = config(at, Reliability::Link);
        (config.keep_alive, config.silence_limit) = (KEEP_ALIVE, LIMIT);
        network.add(at, Sleeper { sessions: node(config), asleep: false, came: vec![] });
    }
    stop(&mut network, B);
    network.link(A, B);
    stop(&mut network, A);
    network.run(NIGHT);
    go_on(&mut network, A);
    network.run(Span::from_millis(300));
    go_on(&mut network, B);
    network.run(Span::from_secs(2));
    assert_eq!(changes(&network, A), [UP]);
}

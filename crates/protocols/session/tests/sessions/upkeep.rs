//! What a node does for peers that say nothing, and keeps of peers that are gone.

use super::{A, B, config, network::Conditions, network::Network, network::talker::Talker, node, retransmit};
use quintet_contract::{
    Address, DownCause, Effects, Frame, Incarnation, Input, LinkClass, LinkInfo, Outbox, OwnedFrame,
    PeerChange, Protocol, Span, Time,
};
use quintet_session::{HELLO, PING, PeerConfig, REFUSED, Reliability, SessionConfig, Sessions, WELCOME};

const KEEP_ALIVE: Span = Span::from_millis(250);
const UP: PeerChange =
    PeerChange::Up { incarnation: Incarnation(0), link: LinkInfo::new(LinkClass::Machine, 1024) };
const DOWN: PeerChange = PeerChange::Down(DownCause::Died);

/// Counts how often it is woken.
struct Sleeper {
    sessions: Sessions<Talker>,
    wakes: usize,
}

impl Protocol for Sleeper {
    fn handle(&mut self, now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        self.wakes += usize::from(input == Input::Wake);
        self.sessions.handle(now, input, out);
    }

    fn deadline(&self) -> Option<Time> {
        self.sessions.deadline()
    }
}

#[test]
fn an_idle_node_is_woken_for_keep_alive_only() {
    for (reliability, conditions) in [
        (Reliability::Link, Conditions::reliable()),
        (retransmit(32, 100_000), Conditions { ordered: true, ..Conditions::lossy(0) }),
    ] {
        let mut network = Network::new(1, conditions);
        for (at, pings) in [(A, true), (B, false)] {
            let mut config = config(at, reliability);
            (config.keep_alive, config.silence_limit) =
                if pings { (KEEP_ALIVE, Span::from_millis(700)) } else { (Span::ZERO, Span::ZERO) };
            network.add(at, Sleeper { sessions: node(config), wakes: 0 });
        }
        network.link(A, B);
        network.run(Span::from_secs(1));
        let wakes = |network: &Network<Sleeper>| [A, B].map(|at| network.nodes[&at].wakes);
        let before = wakes(&network);
        network.trace.clear();
        network.run(Span::from_secs(10));
        let after = wakes(&network);
        let pings = network.trace.iter().filter(|(_, _, frame)| frame.kind == PING).count();
        assert!((39..=40).contains(&pings), "{pings} pings");
        assert_eq!(after, [before[0] + pings, before[1]], "each wake says a ping");
    }
}

#[test]
fn when_a_peer_was_heard_last_is_told_as_long_as_there_is_a_link() {
    let mut network = Network::new(1, Conditions::reliable());
    for at in [A, B] {
        let mut config = config(at, Reliability::Link);
        (config.keep_alive, config.silence_limit) = (KEEP_ALIVE, Span::from_secs(5));
        network.add(at, node(config));
    }
    let unheard = |network: &Network<Sessions<Talker>>| {
        network.nodes[&A].heard(B).map(|heard| network.now.since(heard))
    };
    assert_eq!(unheard(&network), None);
    network.link(A, B);
    network.run(Span::from_secs(2));
    assert!(unheard(&network).is_some_and(|unheard| unheard <= Span::from_millis(300)));
    network.part(A, B);
    network.run(Span::from_secs(2));
    assert!(unheard(&network).is_some_and(|unheard| unheard >= Span::from_secs(2)));
    network.run(Span::from_secs(4));
    assert_eq!(unheard(&network), None, "it is gone");
}

/// A server at B, and the HELLO that node `n` in its `incarnation` says to it.
fn server() -> Sessions<Talker> {
    let mut sessions = node(SessionConfig::new(B, 7, Incarnation(1), 99));
    sessions.handle(Time::ZERO, Input::Started, &mut Effects::default());
    sessions
}

fn hello(from: Address, incarnation: u64) -> OwnedFrame {
    let mut config = SessionConfig::new(from, 7, Incarnation(incarnation), 99);
    config.peers.insert(B, PeerConfig { initiate: true, reliability: Reliability::Link });
    let mut out = Effects::default();
    node(config).handle(Time::ZERO, Input::Peer(B, &UP), &mut out);
    let hello = out.frames().remove(0).1;
    assert_eq!(hello.kind, HELLO);
    hello
}

/// A client comes and goes. What its HELLO was answered with.
fn visit(server: &mut Sessions<Talker>, from: Address, incarnation: u64) -> OwnedFrame {
    let mut out = Effects::default();
    let hello = hello(from, incarnation);
    let frame = Frame::new(hello.kind, hello.token, &hello.body);
    for input in [Input::Peer(from, &UP), Input::Frame(from, frame), Input::Peer(from, &DOWN)] {
        server.handle(Time(1), input, &mut out);
    }
    out.frames().remove(0).1
}

#[test]
fn an_earlier_life_of_a_peer_that_left_is_refused_however_many_left_since() {
    let mut server = server();
    assert_eq!(visit(&mut server, A, 5).kind, WELCOME);
    (0..2000).for_each(|n| drop(visit(&mut server, Address::new(100 + n, 16), 1)));
    assert_eq!(visit(&mut server, A, 4).kind, REFUSED);
    assert_eq!(visit(&mut server, Address::new(A.node.0, 17), 4).kind, REFUSED, "nor at another port");
    assert_eq!(visit(&mut server, A, 6).kind, WELCOME);
}

#[test]
fn of_peers_that_left_nothing_is_kept_but_their_lives() {
    let mut server = server();
    for n in 0..1000 {
        assert_eq!(visit(&mut server, Address::new(100 + n, 16), 1).kind, WELCOME);
    }
    assert_eq!(server.known_peers(), 0);
}

#[test]
fn a_session_kept_for_its_peer_is_not_forgotten() {
    let mut config = config(B, retransmit(32, 100_000));
    config.others = Some(PeerConfig { initiate: false, reliability: Reliability::Link });
    let mut network = Network::new(1, Conditions { ordered: true, ..Conditions::lossy(0) });
    network.add(A, node(super::config(A, retransmit(32, 100_000))));
    network.add(B, node(config));
    network.link(A, B);
    network.run(Span::from_millis(100));
    network.cut(A, B, DownCause::Died);
    for n in 0..500 {
        let other = Address::new(100 + n, 16);
        network.input(B, Input::Peer(other, &UP));
        network.input(B, Input::Peer(other, &DOWN));
    }
    assert!(network.nodes[&B].peer(A).is_some(), "kept for its resume window");
    network.run(Span::from_secs(3));
    assert!(network.nodes[&B].peer(A).is_none());
    assert_eq!(network.nodes[&B].known_peers(), 0);
}

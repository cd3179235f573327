//! Several services of a node over one session: credit and order are a pair of ports.

use crate::network::talker::{ANSWER, ONE_WAY, REQUEST, Talker};
use crate::network::{Conditions, Network};
use crate::{LOSSY, class, message};
use quintet_contract::{Address, Bytes, DownCause, Incarnation, OwnedFrame, PeerChange, Port, Random, Span};
use quintet_errors::Code;
use quintet_messaging::{Messages, MessagingConfig};
use quintet_session::{PeerConfig, Placed, Ports, Reliability, SessionConfig, Sessions};
use quintet_wire::registry::{KindRange, PORT_SESSION, USER};

const A: Address = Address::new(1, PORT_SESSION.0);
const B: Address = Address::new(2, PORT_SESSION.0);
const FIRST: Port = Port(16);
const SECOND: Port = Port(17);

type Node = Sessions<Ports<Messages<Talker>>>;

const SMALL: (u32, u32) = (4, 4000);

/// A kind that only the instance at this port has: by it the instance is prompted within its node.
fn prompt_kind(port: Port) -> KindRange {
    let kind = USER.first + 8 + u8::try_from(port.0 - 16).expect("a few ports");
    KindRange { owner: "prompts", first: kind, last: kind }
}

fn other(node: Address) -> Address {
    if node == A { B } else { A }
}

/// A talker at each of these ports, which asks its like on the other node.
fn node(me: Address, ports: &[Port], reliability: Reliability, (slots, bytes): (u32, u32)) -> Node {
    let mut config = SessionConfig::new(me, 7, Incarnation(1), 99);
    config.resume_window = Span::from_secs(5);
    config.peers.insert(other(me), PeerConfig { initiate: me < other(me), reliability });
    let placed = |port: &Port| {
        let at = Address { node: me.node, port: *port };
        let mut messaging = MessagingConfig::new(at, class);
        (messaging.window_slots, messaging.window_bytes) = (slots, bytes);
        messaging.window_fragments = 1;
        let asks = vec![Address { node: other(me).node, port: *port }];
        Placed {
            port: *port,
            kinds: prompt_kind(*port),
            asks,
            services: &[],
            protocol: Messages::new(messaging, Talker::new(at)),
        }
    };
    Sessions::new(config, Ports::new(me, ports.iter().map(placed).collect()))
}

fn pair(seed: u64, conditions: Conditions, reliability: Reliability, window: (u32, u32)) -> Network<Node> {
    let mut network = Network::new(seed, conditions);
    [A, B].into_iter().for_each(|at| network.add(at, node(at, &[FIRST, SECOND], reliability, window)));
    network.link(A, B);
    network
}

fn talker(network: &mut Network<Node>, node: Address, port: Port) -> &mut Talker {
    let node = network.nodes.get_mut(&node).expect("it exists");
    node.inner_mut().get_mut(port).expect("it is there").inner_mut()
}

fn heard(network: &Network<Node>, node: Address, port: Port) -> &[OwnedFrame] {
    let there = Address { node: other(node).node, port };
    network.nodes[&node].inner().get(port).expect("it is there").inner().from(there)
}

/// Has the talker at a port say something to its like.
fn say(network: &mut Network<Node>, node: Address, port: Port, frames: &[OwnedFrame]) {
    let to = Address { node: other(node).node, port };
    frames.iter().for_each(|frame| talker(network, node, port).say(to, frame.clone()));
    let prompt = OwnedFrame { kind: prompt_kind(port).kind(0), ..message(ONE_WAY, 0, b"", Bytes::new()) };
    network.inject(Address::new(node.node.0, 1), node, &prompt);
}

#[test]
fn a_service_whose_window_is_full_keeps_no_other_from_going_on() {
    let mut network = pair(1, Conditions::reliable(), Reliability::Link, SMALL);
    network.run(Span::from_secs(1));
    // Large data, a fragment at a time; what comes behind it waits at the receiver until its window is full.
    let large = message(ONE_WAY, 0, b"large", vec![7; 60_000_000].into());
    let behind: Vec<_> = (1..10).map(|token| message(ONE_WAY, token, &[1; 100], Bytes::new())).collect();
    say(&mut network, A, FIRST, &[large]);
    say(&mut network, A, FIRST, &behind);
    let asked: Vec<_> = (1..50).map(|token| message(REQUEST, token, &[2; 100], Bytes::new())).collect();
    say(&mut network, A, SECOND, &asked);
    let answered = |network: &Network<Node>| {
        heard(network, A, SECOND).iter().filter(|frame| frame.kind == ANSWER).count() == asked.len()
    };
    assert!(network.run_until(Span::from_secs(5), answered), "the second service stands still");
    assert!(heard(&network, B, FIRST).is_empty(), "the first is busy with its large data");
    assert!(!talker(&mut network, A, FIRST).has_said_all(), "and has no credit");
    let arrived = |network: &Network<Node>| heard(network, B, FIRST).len() == 10;
    assert!(network.run_until(Span::from_secs(60), arrived), "and goes on in its turn");
    let tokens = heard(&network, B, FIRST).iter().map(|frame| frame.token.0);
    assert!(tokens.eq(0..10));
}

#[test]
fn each_pair_of_ports_has_its_own_order_over_bad_links_and_cuts() {
    for seed in 0..200 {
        let mut random = Random::new(seed, 7);
        let (conditions, reliability) = match seed % 3 {
            0 => (Conditions { full: 200_000, ..Conditions::lossy(50_000) }, LOSSY),
            1 => (Conditions { full: 200_000, ..Conditions::reliable() }, Reliability::RETAINED),
            _ => (Conditions { full: 400_000, ..Conditions::reliable() }, Reliability::Link),
        };
        let mut network = pair(seed, conditions, reliability, SMALL);
        let mut said = Vec::new();
        for (node, port) in [(A, FIRST), (A, SECOND), (B, FIRST), (B, SECOND)] {
            let frames: Vec<_> = (0..30)
                .map(|token| {
                    let body = vec![port.0 as u8; random.below(600) as usize];
                    let kind = if random.chance(500_000) { REQUEST } else { ONE_WAY };
                    message(kind, token, &body, Bytes::new())
                })
                .collect();
            say(&mut network, node, port, &frames);
            said.push((node, port, frames));
        }
        if reliability != Reliability::Link {
            for _ in 0..5 {
                network.run(Span(random.below(2_000_000)));
                network.cut(A, B, DownCause::Died);
                network.run(Span::from_micros(100));
                network.link(A, B);
            }
        }
        let arrived = |network: &Network<Node>| {
            said.iter().all(|(node, port, frames)| {
                let heard = heard(network, other(*node), *port).iter();
                heard.filter(|frame| frame.kind != ANSWER).count() == frames.len()
            })
        };
        assert!(network.run_until(Span::from_secs(300), arrived), "seed {seed}");
        network.run(Span::from_secs(30));
        for (node, port, frames) in &said {
            let heard = heard(&network, other(*node), *port).iter().filter(|frame| frame.kind != ANSWER);
            assert!(heard.eq(frames), "seed {seed}: from {node} at port {}", port.0);
            let changes = talker(&mut network, *node, *port).changes.clone();
            assert!(matches!(changes[..], [(_, PeerChange::Up { .. })]), "seed {seed}: {changes:?}");
        }
    }
}

#[test]
fn who_asks_a_service_that_is_not_there_learns_it_and_others_go_on() {
    let mut network = Network::new(4, Conditions::reliable());
    network.add(A, node(A, &[FIRST, SECOND], Reliability::Link, SMALL));
    network.add(B, node(B, &[FIRST], Reliability::Link, SMALL));
    network.link(A, B);
    network.run(Span::from_secs(1));
    let changes = talker(&mut network, A, SECOND).changes.clone();
    let there = Address { node: B.node, port: SECOND };
    let absent = PeerChange::Down(DownCause::Refused(Code::Unreachable as u16));
    assert_eq!(changes, [(there, absent)]);
    say(&mut network, A, FIRST, &[message(REQUEST, 1, b"still there?", Bytes::new())]);
    network.run(Span::from_secs(1));
    assert_eq!(heard(&network, A, FIRST).len(), 1);
}

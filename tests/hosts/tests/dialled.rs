//! One session of two live nodes that dial each other, over links that are cut.

mod running;

use quintet_contract::{
    Address, Frame, Incarnation, Input, Kind, NodeId, Outbox, PeerChange, Protocol, SendError, Span, Time,
    Token,
};
use quintet_link::{LinkAddress, listen};
use quintet_runtime::{Instance, Node, Redial, Services};
use quintet_session::Placed;
use quintet_stack::{Liveness, StackConfig, node};
use quintet_testbed::{Told, Wire};
use quintet_tests_hosts::{ANSWER, ASK};
use quintet_wire::registry::{PORT_SESSION, PORT_USER, USER};
use running::{LIMIT, Running};

const A: NodeId = NodeId(1);
const B: NodeId = NodeId(2);
/// One of the words that the two tell each other.
const WORD: Kind = USER.kind(7);
/// Words before, during and after each disturbance: more than are under way at a time.
const ROUND: u64 = 1_000;

/// Tells its peer numbered words, and checks those that it is told.
struct Speaker {
    peer: Address,
    next: u64,
    /// It says no more than it was asked to.
    goal: u64,
    /// Words that came in order.
    heard: u64,
    /// Words that did not.
    strays: u64,
    /// How often the peer came, and went.
    changes: [u64; 2],
    /// Who wants to know when so many words have come.
    asked: Vec<(Address, u64)>,
}

impl Speaker {
    fn new(peer: Address) -> Speaker {
        Speaker { peer, next: 0, goal: 0, heard: 0, strays: 0, changes: [0; 2], asked: Vec::new() }
    }

    /// Says what it may, as far as there is room. Some words are long and go in fragments.
    fn speak(&mut self, out: &mut dyn Outbox) {
        while self.changes[0] > self.changes[1] && self.next < self.goal {
            let token = Token(self.next);
            let said = if self.next.is_multiple_of(500) {
                out.send_bulk(self.peer, WORD, token, &[], vec![7; 300_000].into())
            } else {
                out.send(self.peer, WORD, token, &[7; 100])
            };
            match said {
                Ok(()) => self.next += 1,
                Err(SendError::Full) => return,
                Err(error) => panic!("{error}"),
            }
        }
    }

    fn hear(&mut self, frame: Frame<'_>) {
        let is_next = frame.token.0 == self.heard;
        *(if is_next { &mut self.heard } else { &mut self.strays }) += 1;
    }

    /// Tells those who asked for as many words as have come.
    fn answer(&mut self, out: &mut dyn Outbox) {
        let (heard, body) = (self.heard, [self.strays, self.changes[0], self.changes[1]].map(|n| n as u8));
        self.asked.retain(|(asker, wanted)| {
            let is_there = heard >= *wanted;
            if is_there {
                out.send(*asker, ANSWER, Token(*wanted), &body).expect("callers have room for answers");
            }
            !is_there
        });
    }
}

impl Protocol for Speaker {
    fn handle(&mut self, _now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        match input {
            Input::Frame(from, frame) if frame.kind == ASK => {
                self.goal = self.goal.max(frame.token.0);
                self.asked.push((from, frame.token.0));
            }
            Input::Frame(_, frame) if frame.kind == WORD => self.hear(frame),
            Input::Peer(_, PeerChange::Up { .. }) => self.changes[0] += 1,
            Input::Peer(_, PeerChange::Down(_)) => self.changes[1] += 1,
            _ => {}
        }
        self.answer(out);
        self.speak(out);
    }

    fn deadline(&self) -> Option<Time> {
        None
    }
}

/// Two nodes, and the wires by which they dial each other: what A dials, what B dials.
struct Pair {
    nodes: [Running; 2],
    wires: [Wire; 2],
    /// How many each has told the other.
    words: u64,
}

/// Nobody is given up, nor taken for silent, in the time of a test.
const PATIENT: Liveness =
    Liveness { keep_alive: Span::ZERO, silence_limit: Span::ZERO, resume_window: Span::from_secs(60) };

/// A node at a port of its own, which dials nobody so far.
fn speaker(of: NodeId, other: NodeId) -> (Node, LinkAddress) {
    let peer = Address { node: other, port: PORT_USER };
    let config = StackConfig::of_client(7, Incarnation(1), u64::from(of.0)).with_liveness(PATIENT);
    let protocol = Speaker::new(peer);
    let instance = Placed { port: PORT_USER, kinds: USER, asks: vec![peer], services: &[], protocol };
    let mut host = Node::new(of, Services::none()).expect("an event descriptor is there");
    let listener = listen(&LinkAddress::Tcp { host: "127.0.0.1".into(), port: 0 }).expect("there is a port");
    let address = listener.address();
    host.listen(listener, PORT_SESSION).expect("it is watched");
    host.add(PORT_SESSION, Instance::new(node(of, &config, vec![instance])));
    (host, address)
}

fn wire_to(address: &LinkAddress) -> Wire {
    let LinkAddress::Tcp { host, port } = address else { panic!("{address} is no TCP") };
    Wire::to(format!("{host}:{port}").parse().expect("an address")).expect("there is a port")
}

impl Pair {
    /// Both dial, over wires of which B's lets nobody through so far if it is `dead`.
    fn start(dead: bool) -> Pair {
        let ((mut a, at_a), (mut b, at_b)) = (speaker(A, B), speaker(B, A));
        let wires = [wire_to(&at_b), wire_to(&at_a)];
        wires[1].set_dead(dead);
        for ((host, other), wire) in [(&mut a, B), (&mut b, A)].into_iter().zip(&wires) {
            let address = LinkAddress::Tcp { host: "127.0.0.1".into(), port: wire.address().port() };
            let redial = Redial { address, window: LIMIT, seed: 1 };
            host.dial(other, &[(PORT_SESSION, PORT_SESSION)], redial);
        }
        Pair { nodes: [a, b].map(Running::start), wires, words: 0 }
    }

    fn ask(&self, words: u64) {
        self.nodes.iter().for_each(|node| node.ask(PORT_SESSION, ASK, words, (b"", b"")));
    }

    /// All that was said before came once and in order, and nobody went.
    fn check(&self, words: u64) {
        for node in &self.nodes {
            let answer = node.answer();
            assert_eq!(
                (answer.token, &answer.body[..]),
                (Token(words), &[0, 1, 0][..]),
                "strays, ups, downs"
            );
        }
    }

    /// Has both tell each other words, does something to their links in the middle of that, and has them go on.
    fn round(&mut self, disturb: impl FnOnce(&[Wire; 2])) {
        let [middle, end, beyond] = [ROUND / 2, ROUND, 2 * ROUND].map(|words| self.words + words);
        self.words = beyond;
        self.ask(middle);
        self.ask(end);
        self.check(middle);
        disturb(&self.wires);
        self.ask(beyond);
        self.check(end);
        self.check(beyond);
    }
}

#[test]
fn a_session_goes_on_over_whichever_link_is_made_next() {
    const CUTS: usize = 8;
    let mut pair = Pair::start(false);
    for _ in 0..CUTS {
        pair.round(|wires| wires.iter().for_each(Wire::cut));
    }
    let links: usize = pair.wires.iter().map(Wire::connections).sum();
    assert!(links > CUTS, "{links} links");
}

/// Bytes that each side says before its first frame.
const PREAMBLE: usize = 16;

/// Who has said HELLO more often counts higher. The other one is not turned away for it.
#[test]
fn who_has_tried_less_often_takes_the_place_of_a_link_whose_end_the_other_has_not_seen() {
    let mut pair = Pair::start(true);
    pair.round(|_| {});
    pair.round(|[to_b, _]| {
        to_b.set_most(PREAMBLE);
        for _ in 0..5 {
            to_b.lose(Told::Dialer);
            // The HELLO of the next link, which nobody hears.
            let (links, lost) = (to_b.connections(), to_b.lost_bytes());
            while to_b.connections() == links || to_b.lost_bytes() == lost {
                std::thread::yield_now();
            }
        }
        to_b.set_most(usize::MAX);
        to_b.lose(Told::Dialer);
    });
    pair.round(|[to_b, to_a]| {
        to_a.set_dead(false);
        to_b.set_dead(true);
        to_b.lose(Told::Listener);
    });
    assert_eq!(pair.wires[1].connections(), 1, "the first that came took the other's place");
}

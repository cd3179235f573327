//! Two nodes that dial each other, turn by turn, in any order of turns.

mod pauses;
mod refused;
mod several;

use super::*;
use crate::event::Event;
use crate::inlets::Inlets;
use crate::instance::Instance;
use crate::mailbox::Mailbox;
use crate::services::RunningServices;
use quintet_clock::LiveClock;
use quintet_contract::{Address, Disconnect, Input, Kind, Outbox, PeerChange, Protocol, Random, Token};
use quintet_link::{Route, listen};
use quintet_testbed::TempDir;
use std::sync::{Arc, Mutex};

const PORT: Port = Port(5);
const WORD: Kind = Kind(0xf0);
const WINDOW: Duration = Duration::from_secs(5);
/// Turns in which what is under way between two nodes of one process comes to its end, many times over.
const TURNS: u64 = 100_000;

/// What a greeter saw.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Seen {
    Up(NodeId),
    Down(NodeId),
    Word(NodeId),
}

/// Says a word to everybody who comes, and again when it is woken; has the link cut to whom there is room for.
struct Greeter {
    seen: Arc<Mutex<Vec<Seen>>>,
    here: Vec<Address>,
}

impl Protocol for Greeter {
    fn handle(&mut self, _now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        let seen = match input {
            Input::Peer(peer, PeerChange::Up { .. }) => {
                self.here.push(peer);
                let _ = out.send(peer, WORD, Token(0), b"word");
                Seen::Up(peer.node)
            }
            Input::Peer(peer, PeerChange::Down(_)) => {
                self.here.retain(|there| *there != peer);
                Seen::Down(peer.node)
            }
            Input::Frame(from, _) => Seen::Word(from.node),
            Input::Wake => {
                for peer in &self.here {
                    let _ = out.send(*peer, WORD, Token(0), b"again");
                }
                return;
            }
            Input::Writable(peer) => return out.disconnect(peer, Disconnect::UntilNextLink),
            Input::Started => return,
        };
        self.seen.lock().expect("no other panicked").push(seen);
    }

    fn deadline(&self) -> Option<Time> {
        None
    }
}

struct Side {
    engine: Engine,
    inlets: Inlets,
    seen: Arc<Mutex<Vec<Seen>>>,
    told: Arc<Mutex<Vec<Event>>>,
    address: LinkAddress,
}

impl Side {
    fn new(node: u16, at: &LinkAddress) -> Side {
        let mailbox = Mailbox::new().expect("an event descriptor is there");
        let mut inlets = Inlets::with_mailbox(LiveClock::start(), mailbox).expect("an epoll descriptor");
        let listener = listen(at).expect("nobody else listens there");
        let address = listener.address();
        inlets.listen(listener, PORT).expect("it is watched");
        let mut engine = Engine::new(NodeId(node), None, RunningServices::default());
        let seen = Arc::<Mutex<Vec<Seen>>>::default();
        let greeter = Greeter { seen: Arc::clone(&seen), here: Vec::new() };
        engine.add(Time(0), PORT, Instance::new(greeter));
        let told = Arc::<Mutex<Vec<Event>>>::default();
        let sink = Arc::clone(&told);
        engine.set_events(Arc::new(move |event| sink.lock().expect("no other panicked").push(event.clone())));
        Side { engine, inlets, seen, told, address }
    }

    fn id(&self) -> NodeId {
        self.engine.id()
    }

    fn told(&self) -> Vec<Event> {
        self.told.lock().expect("no other panicked").clone()
    }

    fn dial(&mut self, other: &Side, now: Time) {
        let redial = Redial { address: other.address.clone(), window: WINDOW, seed: 1 };
        self.inlets.dial(Dialling::begin(other.id(), vec![(PORT, PORT)], redial, now));
    }

    fn turn(&mut self, now: Time) {
        self.inlets.attend();
        self.engine.turn(&mut self.inlets, now);
    }

    fn words(&self, from: NodeId) -> usize {
        self.seen.lock().expect("no other panicked").iter().filter(|seen| **seen == Seen::Word(from)).count()
    }
}

/// Takes turns of both in an order that is drawn, until something holds of them.
fn until(sides: &mut [Side; 2], random: &mut Random, now: Time, holds: impl Fn(&[Side; 2]) -> bool) {
    for _ in 0..TURNS {
        if holds(sides) {
            return;
        }
        sides[random.below(2) as usize].turn(now);
    }
    panic!("node 1 saw {:?}, node 2 {:?}", sides[0].seen, sides[1].seen);
}

/// Whether a word has come from each to the other since so many had.
fn have_heard(sides: &[Side; 2], before: [usize; 2]) -> bool {
    let [one, two] = sides;
    one.words(two.id()) > before[0] && two.words(one.id()) > before[1]
}

/// Both nodes know one link, and it is the same.
fn check_joined_once(sides: &mut [Side; 2], random: &mut Random, now: Time) {
    // What waited for the end of another link has gone by then.
    let later = now + Span::from_secs(10);
    until(sides, random, later, |sides| sides.iter().all(|side| side.inlets.links() == 1));
    let before = [sides[0].words(sides[1].id()), sides[1].words(sides[0].id())];
    sides.iter_mut().for_each(|side| side.engine.give(later, PORT, Input::Wake));
    until(sides, random, later, |sides| have_heard(sides, before));
    for side in sides {
        assert_eq!(side.inlets.links(), 1);
        assert!(!side.told().iter().any(|event| matches!(event, Event::NotReached { .. })));
    }
}

fn addresses(dir: &TempDir, round: u64) -> Vec<[LinkAddress; 2]> {
    let path = |name: &str, node| dir.join(format!("{name}-{round}-{node}"));
    let tcp = || LinkAddress::Tcp { host: "127.0.0.1".into(), port: 0 };
    vec![
        [LinkAddress::Unix(path("unix", 1)), LinkAddress::Unix(path("unix", 2))],
        [tcp(), tcp()],
        [LinkAddress::SharedMemory(path("shm", 1)), LinkAddress::SharedMemory(path("shm", 2))],
    ]
}

#[test]
fn nodes_that_dial_each_other_at_once_end_with_one_link() {
    let dir = TempDir::new().expect("a temporary directory");
    for round in 0..100 {
        for [first, second] in addresses(&dir, round) {
            let (mut random, now) = (Random::new(round, 3), Time::ZERO);
            let mut sides = [Side::new(1, &first), Side::new(2, &second)];
            let [one, two] = &mut sides;
            one.dial(two, now);
            two.dial(one, now);
            until(&mut sides, &mut random, now, |sides| have_heard(sides, [0, 0]));
            check_joined_once(&mut sides, &mut random, now);
        }
    }
}

#[test]
fn of_two_links_made_at_once_the_one_that_the_lower_node_dialled_stays() {
    let dir = TempDir::new().expect("a temporary directory");
    for [first, second] in addresses(&dir, 0) {
        let now = Time::ZERO;
        let mut sides = [Side::new(1, &first), Side::new(2, &second)];
        let [one, two] = &mut sides;
        one.dial(two, now);
        two.dial(one, now);
        // Each has made its own before it looks at what comes.
        for _ in 0..TURNS {
            for side in [&mut *one, &mut *two] {
                side.inlets.attend();
                side.inlets.admit(&mut side.engine, now);
            }
            if one.engine.is_linked(NodeId(2)) && two.engine.is_linked(NodeId(1)) {
                break;
            }
        }
        until(&mut sides, &mut Random::new(1, 1), now, |sides| have_heard(sides, [0, 0]));
        check_joined_once(&mut sides, &mut Random::new(2, 2), now);
        let seen = |side: &Side| side.seen.lock().expect("no other panicked").clone();
        let (one, two) = (seen(&sides[0]), seen(&sides[1]));
        assert!(!one.contains(&Seen::Down(NodeId(2))), "{one:?}");
        assert!(
            two.starts_with(&[Seen::Up(NodeId(1)), Seen::Down(NodeId(1)), Seen::Up(NodeId(1))]),
            "{two:?}"
        );
    }
}

#[test]
fn each_peer_is_dialled_again_by_its_own_window() {
    let dir = TempDir::new().expect("a temporary directory");
    let at = |node: u16| LinkAddress::Unix(dir.join(format!("node-{node}")));
    let (mut random, now) = (Random::new(5, 5), Time::ZERO);
    let mut sides = [Side::new(1, &at(1)), Side::new(2, &at(2))];
    let [one, two] = &mut sides;
    one.dial(two, now);
    let nobody = Redial { address: at(3), window: Duration::from_secs(1), seed: 1 };
    one.inlets.dial(Dialling::begin(NodeId(3), vec![(PORT, PORT)], nobody, now));
    until(&mut sides, &mut random, now, |sides| have_heard(sides, [0, 0]));
    let (later, before) = (now + Span::from_secs(3), [sides[0].words(NodeId(2)), sides[1].words(NodeId(1))]);
    let one = Address { node: NodeId(1), port: PORT };
    sides[1].engine.give(later, PORT, Input::Writable(one));
    until(&mut sides, &mut random, later, |sides| have_heard(sides, before));
    assert_eq!(sides[0].told(), [Event::NotReached { peer: NodeId(3) }]);
    assert_eq!(sides[0].inlets.deadline(), None, "nothing is dialled any more");
}

#[test]
fn a_link_over_which_the_peer_has_spoken_gives_way_to_nobody() {
    let dir = TempDir::new().expect("a temporary directory");
    let at = |node: u16| LinkAddress::Unix(dir.join(format!("node-{node}")));
    let (mut random, now) = (Random::new(5, 5), Time::ZERO);
    let mut sides = [Side::new(1, &at(1)), Side::new(2, &at(2))];
    let [one, two] = &mut sides;
    two.dial(one, now);
    until(&mut sides, &mut random, now, |sides| have_heard(sides, [0, 0]));
    // A stranger that says it is node 1.
    let mut dialer = dial(&sides[1].address).expect("somebody listens");
    let mut stranger = loop {
        if let Some(end) = dialer.finish().expect("it is taken") {
            break end;
        }
        sides[1].turn(now);
    };
    let at = |node| Address { node: NodeId(node), port: PORT };
    let route = Route { from: at(1), to: at(2), kind: WORD, token: Token(1) };
    stranger.sender.begin(route, 0).expect("there is room");
    stranger.sender.commit(0);
    stranger.sender.flush().expect("the link is good");
    // What it said lies in the socket by now.
    (0..100).for_each(|_| sides[1].turn(now));
    assert_eq!(sides[1].inlets.links(), 2, "it waits for the end of the other");
    check_joined_once(&mut sides, &mut random, now);
    let seen = sides[1].seen.lock().expect("no other panicked").clone();
    assert!(!seen.contains(&Seen::Down(NodeId(1))), "{seen:?}");
}

/// Turns of one side while another answers, until something comes of it.
fn turns<T>(side: &mut Side, now: Time, mut answered: impl FnMut() -> Option<T>) -> T {
    for _ in 0..TURNS {
        side.turn(now);
        if let Some(answer) = answered() {
            return answer;
        }
    }
    panic!("nothing has come: {:?}", side.told());
}

#[test]
fn a_link_that_is_closed_in_order_before_anything_came_over_it_is_dialled_again() {
    let dir = TempDir::new().expect("a temporary directory");
    for [own, other] in addresses(&dir, 0) {
        let mut one = Side::new(1, &own);
        let mut peer = listen(&other).expect("nobody else listens there");
        let redial = Redial { address: peer.address(), window: WINDOW, seed: 1 };
        one.inlets.dial(Dialling::begin(NodeId(2), vec![(PORT, PORT)], redial, Time::ZERO));
        let end = turns(&mut one, Time::ZERO, || peer.accept().expect("it is well"));
        while !one.engine.is_linked(NodeId(2)) {
            one.turn(Time::ZERO);
        }
        drop(end);
        while one.engine.is_linked(NodeId(2)) {
            one.turn(Time::ZERO);
        }
        let soon = one.inlets.deadline().expect("it is tried again");
        assert!(soon <= Time::ZERO + LONGEST_PAUSE, "{soon:?}");
        turns(&mut one, soon, || peer.accept().expect("it is well"));
    }
}

#[test]
fn a_try_that_nobody_answers_gives_way_to_another() {
    let dir = TempDir::new().expect("a temporary directory");
    let mut one = Side::new(1, &LinkAddress::Unix(dir.join("one")));
    let silent = std::net::TcpListener::bind("127.0.0.1:0").expect("a port is free");
    silent.set_nonblocking(true).expect("it is ours");
    let port = silent.local_addr().expect("it is bound").port();
    let address = LinkAddress::Tcp { host: "127.0.0.1".into(), port };
    let redial = Redial { address, window: Duration::from_secs(60), seed: 1 };
    one.inlets.dial(Dialling::begin(NodeId(2), vec![(PORT, PORT)], redial, Time::ZERO));
    let mut now = Time::ZERO;
    let mut taken = Vec::new();
    for _ in 0..3 {
        taken.push(turns(&mut one, now, || silent.accept().ok()));
        let limit = one.inlets.deadline().expect("the try has an end");
        assert_eq!(limit, now + LONGEST_TRY);
        one.turn(limit);
        now = one.inlets.deadline().expect("there is another one");
        assert!(now <= limit + LONGEST_PAUSE && !one.engine.is_linked(NodeId(2)));
    }
    assert!(one.told().is_empty());
    one.turn(Time::ZERO + Span::from_secs(60));
    assert_eq!(one.told(), [Event::NotReached { peer: NodeId(2) }], "the window is over");
}

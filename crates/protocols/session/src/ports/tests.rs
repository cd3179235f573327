//! Who is told what, and what is kept, one input at a time.

#[path = "tests/kernels.rs"]
mod kernels;
#[path = "tests/tokens.rs"]
mod tokens;

use super::*;
use crate::codec::{Attempt, HELLO, PREFIX_BYTES, Prefix, REFUSED as SESSION_REFUSED, Refused};
use crate::fuzzing::hello;
use crate::sequence::Sequence;
use crate::{PeerConfig, RefusalCode, Reliability, SessionConfig, Sessions};
use quintet_contract::{
    Bytes, Effect, Effects, Incarnation, LinkClass, LinkInfo, OwnedFrame, SendError, Span, Token,
};
use quintet_wire::encode_to_vec;
use quintet_wire::registry::{
    DISK_SYNC, MEASURE, PORT_CALLERS, PORT_DEVICE, PORT_DISK, PORT_PROCESS, PORT_SESSION, SERVICE_REFUSED,
    USER, VOTE,
};

const ME: Address = Address::new(1, PORT_SESSION.0);
const PEER: Address = Address::new(2, PORT_SESSION.0);
const OTHER: Address = Address::new(3, PORT_SESSION.0);
const WORD: Kind = USER.kind(0);
const LINK: LinkInfo = LinkInfo::new(LinkClass::Machine, 100);

/// What an instance was told.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Told {
    Started,
    Wake,
    Frame(Address, Vec<u8>),
    Writable(Address),
    Up(Address, usize),
    Down(Address, DownCause),
}

/// Writes down what it is told; sends what it is to at the next input.
#[derive(Default, Debug)]
struct Listener {
    told: Vec<Told>,
    says: Vec<(Address, Kind)>,
    /// Goes with what it says.
    bulk: Bytes,
    /// Bytes that it says, if not a word.
    body: usize,
    said: Vec<Result<(), SendError>>,
    deadline: Option<Time>,
    /// Whose link it has closed at the next input.
    cuts: Option<Address>,
}

impl Protocol for Listener {
    fn handle(&mut self, _now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        self.told.push(match input {
            Input::Started => Told::Started,
            Input::Wake => Told::Wake,
            Input::Frame(from, frame) => Told::Frame(from, frame.body.to_vec()),
            Input::Writable(to) => Told::Writable(to),
            Input::Peer(peer, PeerChange::Up { link, .. }) => Told::Up(peer, link.max_body_bytes),
            Input::Peer(peer, PeerChange::Down(cause)) => Told::Down(peer, *cause),
        });
        if let Some(peer) = self.cuts.take() {
            out.disconnect(peer, Disconnect::ForGood);
        }
        for (to, kind) in self.says.drain(..) {
            let (long, bulk) = (vec![0; self.body], self.bulk.clone());
            let body = if long.is_empty() { &b"said"[..] } else { &long };
            self.said.push(match bulk.is_empty() {
                true => out.send(to, kind, Token(1), body),
                false => out.send_bulk(to, kind, Token(1), body, bulk),
            });
        }
    }

    fn deadline(&self) -> Option<Time> {
        self.deadline
    }
}

/// Takes so many frames, then is full.
struct Narrow {
    room: usize,
    effects: Effects,
}

impl Outbox for Narrow {
    fn begin(
        &mut self,
        to: Address,
        kind: Kind,
        token: Token,
        at_most: usize,
    ) -> Result<&mut [u8], SendError> {
        if at_most > 1000 {
            return Err(SendError::TooLong { len: at_most, limit: 1000 });
        }
        self.room = self.room.checked_sub(1).ok_or(SendError::Full)?;
        self.effects.begin(to, kind, token, at_most)
    }

    fn commit(&mut self, len: usize) {
        self.effects.commit(len);
    }

    fn send_bulk(
        &mut self,
        to: Address,
        kind: Kind,
        token: Token,
        head: &[u8],
        bulk: Bytes,
    ) -> Result<(), SendError> {
        self.effects.send_bulk(to, kind, token, head, bulk)
    }

    fn disconnect(&mut self, peer: Address, how: Disconnect) {
        self.effects.disconnect(peer, how);
    }
}

/// A node on links that lose nothing, and what it sent.
struct Bench {
    node: Sessions<Ports<Listener>>,
    link: Narrow,
}

impl Bench {
    /// Instances at 16, which asks 2:16 and 3:16, at 20, which asks 2:20, and at 1024, which asks nobody.
    fn new() -> Bench {
        let placed = |port: u16, kinds, asks: &[Address]| Placed {
            port: Port(port),
            kinds,
            asks: asks.to_vec(),
            services: match port {
                20 => &[PORT_DISK],
                1024 => &[PORT_PROCESS, PORT_DEVICE],
                _ => &[],
            },
            protocol: Listener::default(),
        };
        let first = placed(16, MEASURE, &[Address::new(2, 16), Address::new(3, 16)]);
        let instances = vec![placed(1024, USER, &[]), first, placed(20, VOTE, &[Address::new(2, 20)])];
        let mut config = SessionConfig::new(ME, 7, Incarnation(1), 1);
        config.peers.insert(OTHER, PeerConfig { initiate: true, reliability: Reliability::Link });
        let node = Sessions::new(config, Ports::new(ME, instances));
        Bench { node, link: Narrow { room: 1000, effects: Effects::default() } }
    }

    fn give(&mut self, input: Input<'_>) -> &mut Bench {
        self.node.handle(Time(5), input, &mut self.link);
        self
    }

    /// A link to a node is there.
    fn linked(&mut self, at: Address) -> &mut Bench {
        self.linked_over(at, LINK)
    }

    fn linked_over(&mut self, at: Address, link: LinkInfo) -> &mut Bench {
        self.give(Input::Peer(at, &PeerChange::Up { incarnation: Incarnation(1), link }))
    }

    /// The peer's session begins.
    fn up(&mut self) -> &mut Bench {
        self.up_over(LINK)
    }

    fn up_over(&mut self, link: LinkInfo) -> &mut Bench {
        let hello = encode_to_vec(&hello(PEER.node, Reliability::Link));
        self.linked_over(PEER, link).give(Input::Frame(PEER, Frame::new(HELLO, Token(0), &hello)));
        self.sent();
        self
    }

    fn down(&mut self, at: Address, cause: DownCause) -> &mut Bench {
        self.give(Input::Peer(at, &PeerChange::Down(cause)))
    }

    /// A frame from port to port.
    fn frame(&mut self, kind: Kind, from: u16, to: u16, body: &[u8]) -> &mut Bench {
        self.raw(kind, &[&from.to_le_bytes(), &to.to_le_bytes(), body].concat())
    }

    /// The next frame of the session.
    fn raw(&mut self, kind: Kind, body: &[u8]) -> &mut Bench {
        let sequence = self.node.stream(PEER).map_or(Sequence(0), |stream| stream.expected);
        let mut numbered = vec![0; PREFIX_BYTES];
        Prefix { sequence, acknowledged: Sequence(0), fence: None }.write(&mut numbered);
        numbered.extend_from_slice(body);
        self.give(Input::Frame(PEER, Frame::new(kind, Token(1), &numbered)))
    }

    fn listener(&mut self, port: u16) -> &mut Listener {
        self.node.inner_mut().get_mut(Port(port)).expect("it is there")
    }

    fn told(&mut self, port: u16) -> Vec<Told> {
        core::mem::take(&mut self.listener(port).told)
    }

    /// What was sent since this was asked last, without the session's numbers.
    fn sent(&mut self) -> Vec<(Address, OwnedFrame)> {
        let mut sent = self.link.effects.frames();
        for (_, frame) in sent.iter_mut().filter(|(to, _)| to.node != ME.node) {
            frame.body = frame.body.slice(PREFIX_BYTES.min(frame.body.len())..);
        }
        sent
    }
}

const REFUSED: DownCause = DownCause::Refused(Code::Unreachable as u16);
const BODY: usize = LINK.max_body_bytes - PREFIX_BYTES - PORTS_PREFIX_BYTES;

fn at(node: u16, port: u16) -> Address {
    Address::new(node, port)
}

#[test]
fn instances_learn_of_whom_they_ask_and_of_others_by_their_first_frame() {
    let mut bench = Bench::new();
    bench.give(Input::Started).up();
    assert_eq!(bench.told(16), [Told::Started, Told::Up(at(2, 16), BODY)]);
    assert_eq!(bench.told(20), [Told::Started, Told::Up(at(2, 20), BODY)]);
    assert_eq!(bench.told(1024), [Told::Started]);
    bench
        .frame(WORD, 16, 16, b"a")
        .frame(WORD, 7, 16, b"b")
        .frame(WORD, 7, 16, b"c")
        .frame(WORD, 7, 1024, b"d");
    let word = |from, body: &[u8]| Told::Frame(from, body.to_vec());
    assert_eq!(
        bench.told(16),
        [word(at(2, 16), b"a"), Told::Up(at(2, 7), BODY), word(at(2, 7), b"b"), word(at(2, 7), b"c")]
    );
    assert_eq!(bench.told(1024), [Told::Up(at(2, 7), BODY), word(at(2, 7), b"d")]);
    bench.down(PEER, DownCause::Died);
    assert_eq!(bench.told(16), [16, 7].map(|port| Told::Down(at(2, port), DownCause::Died)));
    assert_eq!(bench.told(20), [Told::Down(at(2, 20), DownCause::Died)]);
    assert_eq!(bench.told(1024), [Told::Down(at(2, 7), DownCause::Died)]);
    // Of another node nothing has been said, and a frame of one that is down is nobody's.
    bench.frame(WORD, 7, 16, b"late");
    assert_eq!((bench.told(16), bench.told(20)), (vec![], vec![]));
}

#[test]
fn a_session_that_is_refused_is_told_to_those_who_ask_that_node() {
    let mut bench = Bench::new();
    let (code, attempt) = (RefusalCode::WrongCluster, Attempt::default());
    let refused = encode_to_vec(&Refused { code, attempt, text: "another cluster" });
    bench.linked(OTHER).give(Input::Frame(OTHER, Frame::new(SESSION_REFUSED, Token(0), &refused)));
    let cause = DownCause::Refused(Code::WrongCluster as u16);
    assert_eq!(bench.told(16), [Told::Down(at(3, 16), cause)]);
    assert_eq!((bench.told(20), bench.told(1024)), (vec![], vec![]));
}

#[test]
fn each_frame_says_whose_it_is() {
    let mut bench = Bench::new();
    bench.up();
    for (port, to) in [(20, 16), (1024, 70)] {
        bench.listener(port).says.push((at(2, to), WORD));
        bench.give(Input::Started);
        let expected = [&port.to_le_bytes(), &to.to_le_bytes(), &b"said"[..]].concat();
        let sent = bench.sent();
        assert_eq!(sent.len(), 1);
        assert_eq!((sent[0].0, &sent[0].1.body[..]), (PEER, &expected[..]));
    }
    // What goes within the node does not, also right after one that went to another.
    bench.listener(16).says.extend([(at(2, 9), WORD), (at(1, 1), WORD)]);
    bench.listener(16).bulk = Bytes::from_static(b"bulk");
    bench.give(Input::Started);
    let sent = bench.sent();
    assert_eq!(
        (sent[0].0, &sent[0].1.body[..], &sent[0].1.bulk[..]),
        (PEER, &b"\x10\0\x09\0said"[..], &b"bulk"[..])
    );
    assert_eq!((sent[1].0, &sent[1].1.body[..]), (at(1, 1), &b"said"[..]));
}

#[test]
fn how_long_a_frame_may_be_is_said_without_what_stands_in_front() {
    for large in [0, 101] {
        let mut bench = Bench::new();
        bench.up();
        bench.listener(16).says.push((at(2, 9), WORD));
        bench.listener(16).bulk = vec![0; large].into();
        bench.listener(16).body = 2000;
        bench.give(Input::Started);
        let prefix = PREFIX_BYTES + PORTS_PREFIX_BYTES;
        let (len, limit) = if large == 0 { (2000, 1000 - prefix) } else { (101, 100) };
        assert_eq!(bench.listener(16).said, [Err(SendError::TooLong { len, limit })]);
    }
}

#[test]
fn a_port_where_nothing_is_is_refused_and_nobody_is_cut_off() {
    let mut bench = Bench::new();
    bench.up().frame(WORD, 7, 17, b"is anybody there?");
    let sent = bench.sent();
    assert_eq!(sent.len(), 1);
    assert_eq!((sent[0].0, sent[0].1.kind, &sent[0].1.body[..]), (PEER, ABSENT, &[17, 0, 7, 0][..]));
    // The other side of it. A refusal of who was not told is nothing, and is not answered.
    bench.told(16);
    bench.frame(ABSENT, 16, 16, b"").frame(ABSENT, 16, 16, b"").frame(ABSENT, 99, 77, b"");
    assert_eq!(bench.told(16), [Told::Down(at(2, 16), REFUSED)]);
    bench.down(PEER, DownCause::Closed);
    assert_eq!(bench.told(16), [], "it was told");
    assert_eq!(bench.told(20), [Told::Up(at(2, 20), BODY), Told::Down(at(2, 20), DownCause::Closed)]);
    assert_eq!(bench.link.effects.drain().count(), 0);
}

#[test]
fn a_peer_that_names_every_port_costs_nothing() {
    let mut bench = Bench::new();
    bench.up();
    bench.link.room = 7;
    for port in 0..=u16::MAX {
        bench.frame(WORD, port, 9, b"to nobody").frame(WORD, port, 1024, b"as everybody");
    }
    let node = bench.node.inner().nodes.get(PEER).expect("nobody is cut off");
    assert_eq!(node.known().count(), node::MAX_PAIRS);
    assert_eq!(bench.sent().len(), 7);
    bench.link.room = 1000;
    bench.give(Input::Writable(PEER));
    assert_eq!(bench.sent().len(), node::MAX_PAIRS, "as many answers as a peer may want are kept");
    // Two are those that instances ask.
    assert_eq!(bench.told(1024).len(), 2 * (node::MAX_PAIRS - 2));
    bench.frame(WORD, 0, 1024, b"known");
    assert_eq!(bench.told(1024), [Told::Frame(at(2, 0), b"known".to_vec())]);
}

#[test]
fn who_found_no_room_is_told_of_it_in_turn_and_once() {
    let mut bench = Bench::new();
    bench.up();
    bench.link.room = 0;
    for port in [1024, 16, 20, 16] {
        bench.listener(port).says.push((at(2, 16), WORD));
        bench.give(Input::Started);
        assert_eq!(bench.listener(port).said.pop(), Some(Err(SendError::Full)));
    }
    for port in [16, 20, 1024] {
        bench.told(port);
    }
    // The first tries again, and finds no room again.
    bench.listener(1024).says.push((at(2, 16), WORD));
    bench.give(Input::Writable(PEER));
    for port in [1024, 16, 20] {
        assert_eq!(bench.told(port), [Told::Writable(at(2, 16))]);
    }
    bench.give(Input::Writable(PEER));
    assert_eq!((bench.told(1024), bench.told(16)), (vec![Told::Writable(at(2, 16))], vec![]));
    bench.give(Input::Writable(PEER)).give(Input::Writable(OTHER));
    assert_eq!(bench.told(1024), []);
}

#[test]
fn who_waits_for_a_port_where_nothing_is_waits_no_longer() {
    let mut bench = Bench::new();
    bench.up();
    bench.link.room = 0;
    for to in [16, 70] {
        bench.listener(16).says.push((at(2, to), WORD));
        bench.give(Input::Started);
    }
    bench.told(16);
    bench.frame(ABSENT, 16, 16, b"").give(Input::Writable(PEER));
    assert_eq!(bench.told(16), [Told::Down(at(2, 16), REFUSED), Told::Writable(at(2, 70))]);
}

#[test]
fn room_is_told_in_the_order_of_the_refusals() {
    let mut bench = Bench::new();
    bench.up();
    bench.link.room = 0;
    for (port, to) in [(1024, 16), (16, 20), (20, 16)] {
        bench.listener(port).says.push((at(2, to), WORD));
        bench.give(Input::Started);
    }
    // Each says one word when it is told; there is room for two.
    for (port, to) in [(1024, 16), (16, 20), (20, 16)] {
        bench.listener(port).says.push((at(2, to), WORD));
    }
    bench.link.room = 2;
    bench.give(Input::Writable(PEER));
    let sent: Vec<_> = bench.sent().iter().map(|(_, frame)| frame.body[..4].to_vec()).collect();
    assert_eq!(sent, [[0, 4, 16, 0], [16, 0, 20, 0]]);
}

#[test]
fn what_no_honest_peer_sends_cuts_it_off() {
    for (kind, body) in [(WORD, &[1, 0, 2][..]), (ABSENT, &[1, 0, 2, 0, 0]), (PORTS.kind(1), &[1, 0, 2, 0])] {
        let mut bench = Bench::new();
        bench.up().raw(kind, body);
        let effects = bench.link.effects.drain();
        let cuts = effects.filter(|effect| *effect == Effect::Disconnected(PEER, Disconnect::ForGood));
        assert_eq!(cuts.count(), 1);
    }
}

#[test]
fn within_the_node_kinds_say_whom_a_frame_is_for() {
    let mut bench = Bench::new();
    let callers = Address { port: PORT_CALLERS, ..ME };
    for (kind, port) in [(VOTE.kind(1), 20), (WORD, 1024), (MEASURE.kind(0), 16), (DISK_SYNC, 16)] {
        bench.give(Input::Frame(callers, Frame::new(kind, Token(1), b"asks")));
        assert_eq!(bench.told(port), [Told::Frame(callers, b"asks".to_vec())]);
    }
    bench.listener(20).says.push((callers, WORD));
    bench.give(Input::Started);
    assert_eq!(bench.sent().iter().map(|(to, _)| *to).collect::<Vec<_>>(), [callers]);
}

#[test]
fn a_service_of_the_host_is_asked_by_its_user_alone_and_answers_it() {
    let mut bench = Bench::new();
    for (service, user) in [(PORT_DISK, 20), (PORT_DEVICE, 1024), (PORT_PROCESS, 1024)] {
        let service = Address { port: service, ..ME };
        for port in [16, 20, 1024] {
            bench.listener(port).says.push((service, WORD));
            bench.give(Input::Started);
            let expected = if port == user { Ok(()) } else { Err(SendError::Unreachable) };
            assert_eq!(bench.listener(port).said.pop(), Some(expected), "{port} to {service}");
        }
        assert_eq!(bench.sent().iter().map(|(to, _)| *to).collect::<Vec<_>>(), [service]);
        [16, 20, 1024].into_iter().for_each(|port| drop(bench.told(port)));
        for kind in [DISK_SYNC, SERVICE_REFUSED] {
            bench.give(Input::Frame(service, Frame::new(kind, Token(1), b"answers")));
            assert_eq!(bench.told(user), [Told::Frame(service, b"answers".to_vec())]);
        }
        assert_eq!([16, 20, 1024].map(|port| bench.told(port).len()), [0; 3]);
    }
}

fn listening(port: u16, asks: Vec<Address>, services: &'static [Port]) -> Placed<Listener> {
    Placed { port: Port(port), kinds: USER, asks, services, protocol: Listener::default() }
}

#[test]
fn four_addresses_of_each_of_128_nodes_may_be_asked_and_no_more() {
    let asks = |nodes: u16| (0..nodes).map(|at| Address::new(2 + at / 4, 16 + at % 4)).collect::<Vec<_>>();
    let _ = Ports::new(ME, vec![listening(16, asks(512), &[])]);
    let one_too_many = || Ports::new(ME, vec![listening(16, asks(513), &[])]);
    assert!(std::panic::catch_unwind(one_too_many).is_err());
}

#[test]
#[should_panic(expected = "32 addresses of a node at most: 33 of 2")]
fn of_one_node_no_more_are_asked_than_pairs_are_kept() {
    let asks = (16..49).map(|port| Address::new(2, port)).collect();
    let _ = Ports::new(ME, vec![listening(16, asks, &[])]);
}

#[test]
#[should_panic(expected = "two use port 2")]
fn two_instances_that_use_one_service_are_a_mistake() {
    let _ = Ports::new(ME, [16, 17].map(|port| listening(port, Vec::new(), &[PORT_DISK])).into());
}

#[test]
#[should_panic(expected = "port 16 is no service")]
fn a_service_that_is_none_is_a_mistake() {
    let _ = Ports::new(ME, vec![listening(16, Vec::new(), &[Port(16)])]);
}

#[test]
fn the_first_deadline_counts_and_who_is_due_is_woken() {
    let mut bench = Bench::new();
    assert_eq!(bench.node.deadline(), None);
    for (port, after) in [(16, 9), (20, 5), (1024, 0)] {
        bench.listener(port).deadline = Some(Time::ZERO + Span(after));
    }
    assert_eq!(bench.node.deadline(), Some(Time::ZERO));
    bench.give(Input::Wake);
    assert_eq!(
        (bench.told(16), bench.told(20), bench.told(1024)),
        (vec![], vec![Told::Wake], vec![Told::Wake])
    );
}

#[test]
fn a_link_that_an_instance_has_closed_is_the_nodes() {
    let mut bench = Bench::new();
    bench.up();
    bench.listener(20).cuts = Some(at(2, 20));
    bench.give(Input::Started);
    let effects = bench.link.effects.drain();
    let cuts = effects.filter(|effect| *effect == Effect::Disconnected(PEER, Disconnect::ForGood));
    assert_eq!(cuts.count(), 1);
}

#[test]
#[should_panic(expected = "one instance a port")]
fn two_instances_at_one_port_are_a_mistake() {
    let _ = Ports::new(ME, [16, 16].map(|port| listening(port, Vec::new(), &[])).into());
}

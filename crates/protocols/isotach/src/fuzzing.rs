//! What the fuzz targets run, so that tests can run the same on a kept corpus. Not for programs.

use crate::codec::{
    self, Agree, AgreeStep, Ballot, COMPLETED, CUT, Completed, Cut, CutStep, DELIVERED, Delivered, Executed,
    Farewell, Halted, INSTALLED, MARKERS, NEXT_VIEW, NextView, Ordered, PART, PLAIN, Part, Plain, REFUSED,
    Refusal, SENT, SUBMIT, TOKEN,
};
use crate::{
    Isonet, ManagerConfig, Member, Node, NodeConfig, Operation, Pulse, Rank, ReadValue, Shape, Stamp,
    TokenManager, Topology, Variable, View,
};
use quintet_contract::{
    Address, Bytes, DownCause, Effect, Effects, Frame, Input, Kind, NodeId, PeerChange, Protocol, Time, Token,
};
use quintet_wire::registry::{PORT_CALLERS, PORT_ISOTACH, PORT_TOKEN_MANAGER};
use quintet_wire::{Decode, Encode, Reader, encode_to_vec};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Reads any bytes as a body of each kind. What can be read is the same after it was written and read again.
///
/// # Panics
/// If it is not: a defect of the codec.
pub fn decode(bytes: &[u8]) {
    again::<Part>(bytes);
    again::<Executed>(bytes);
    again::<Completed>(bytes);
    again::<Refusal>(bytes);
    again::<Halted>(bytes);
    again::<Plain<'_>>(bytes);
    again::<Delivered<'_>>(bytes);
    again::<NextView<'_>>(bytes);
    again::<Cut>(bytes);
    again::<Farewell>(bytes);
    again::<Agree>(bytes);
    let _ = codec::read_operations(&mut Reader::new(bytes));
    let _ = codec::read_announcements(bytes);
    let _ = codec::read_received(bytes);
    let _ = codec::read_markers(bytes);
    let _ = codec::read_token(bytes);
    if let Ok(text) = core::str::from_utf8(bytes)
        && let Ok(topology) = Topology::parse(text)
    {
        assert_eq!(Topology::parse(&topology.to_text()), Ok(topology));
    }
}

fn again<'a, T: Decode<'a> + Encode>(bytes: &'a [u8]) {
    if let Ok(message) = T::decode_all(bytes) {
        assert_eq!(encode_to_vec(&message), bytes, "one message has one encoding");
    }
}

const ME: NodeId = NodeId(0);
const CALLERS: Address = Address { node: ME, port: PORT_CALLERS };
const NODE: Address = Address { node: ME, port: PORT_ISOTACH };
const MANAGER: Address = Address { node: ME, port: PORT_TOKEN_MANAGER };

/// A node and the manager of its switch, both at node 0, between which frames pass at once, or a member; nodes 1 and 2, and the manager of another switch
/// at node 2, say what the bytes say.
struct Driven {
    here: Here,
    asked: BTreeSet<Token>,
    token: u64,
}

enum Here {
    Apart(Box<(Node, TokenManager)>),
    Member(Box<Member>),
}

impl Here {
    fn node(&self) -> &Node {
        match self {
            Here::Apart(both) => &both.0,
            Here::Member(member) => member.node(),
        }
    }

    fn manager(&self) -> &TokenManager {
        match self {
            Here::Apart(both) => &both.1,
            Here::Member(member) => member.manager(),
        }
    }

    /// Who has an address.
    fn at(&mut self, at: Address) -> &mut dyn Protocol {
        match self {
            Here::Apart(both) => {
                let (node, manager) = &mut **both;
                if at == NODE { node } else { manager }
            }
            Here::Member(member) => &mut **member,
        }
    }
}

/// Gives a node and its token manager what the bytes say. Each step is what happens u8 and a number u8; raw frames have a kind u8, a length u8 and a body.
///
/// # Panics
/// If one of them does, answers what was not asked or twice, or tells of a place before the last: a defect.
pub fn drive(bytes: &[u8]) {
    let mut reader = Reader::new(bytes);
    // Half of the inputs are for nodes that agree on views by themselves, and half of those for members.
    let mut driven = Driven::new(bytes.last().copied().unwrap_or_default());
    while let Ok([what, number]) = reader.array() {
        let peer = NodeId(1 + u16::from(number % 2));
        let of = |port| Address { node: peer, port };
        match what % 15 {
            0 => driven.submit(number),
            1 => driven.raw(&mut reader, of(PORT_ISOTACH), NODE),
            2 => driven.raw(&mut reader, of(PORT_ISOTACH), MANAGER),
            3 => driven.raw(&mut reader, Address { node: NodeId(2), port: PORT_TOKEN_MANAGER }, MANAGER),
            4 => driven.raw(&mut reader, CALLERS, NODE),
            5 => driven.part(peer, number),
            6 => driven.announce(number),
            7 => driven.token(number),
            8 => driven.executed(peer, number),
            9 => driven.down(of(PORT_ISOTACH)),
            10 => driven.next_view(number),
            13 => driven.cut(peer, number),
            14 => driven.agree(peer, number),
            12 => driven.raw(&mut reader, MANAGER, NODE),
            _ => driven.give(MANAGER, Input::Wake),
        }
    }
}

fn isonet() -> Arc<Isonet> {
    let topology = Topology::parse("switch a at 0: 0 1\nswitch b at 2: 2\nwire a b\n").expect("it is a tree");
    let shape = |copies: &[u16]| Shape { bytes: 2, copies: copies.iter().copied().map(NodeId).collect() };
    let variables =
        [(Variable(0), shape(&[0, 1, 2])), (Variable(1), shape(&[0])), (Variable(2), shape(&[2]))];
    Arc::new(Isonet::new(topology, variables.into()).expect("they can be shared"))
}

impl Driven {
    fn new(setting: u8) -> Driven {
        let config = NodeConfig::new(ME, CALLERS, View(1), isonet());
        let manager = TokenManager::new(ManagerConfig::new(isonet(), 0, View(1)));
        let here = match setting {
            0..128 => Here::Apart(Box::new((Node::new(config), manager))),
            128..192 => {
                let node = Node::new(NodeConfig { managers_from: Some(NodeId(100)), ..config });
                Here::Apart(Box::new((node, manager)))
            }
            192.. => Here::Member(Box::new(Member::new(NodeConfig { managers_from: Some(ME), ..config }))),
        };
        Driven { here, asked: BTreeSet::new(), token: 0 }
    }

    /// Gives an input, and what follows from it between the two.
    fn give(&mut self, at: Address, input: Input<'_>) {
        let mut out = Effects::default();
        let order = |here: &Here| (here.node().view(), here.node().place());
        let before = order(&self.here);
        self.here.at(at).handle(Time(1), input, &mut out);
        assert!(before <= order(&self.here), "the order never goes back");
        for effect in out.drain().collect::<Vec<_>>() {
            let Effect::Sent(to, frame) = effect else { continue };
            match to {
                CALLERS => self.told(frame.borrow()),
                NODE | MANAGER => self.give(to, Input::Frame(at, frame.borrow())),
                _ => {}
            }
        }
    }

    fn told(&mut self, frame: Frame<'_>) {
        if matches!(frame.kind, COMPLETED | REFUSED | SENT | INSTALLED) {
            let is_of_leave = frame.kind == REFUSED && frame.token == Token(0);
            assert!(
                is_of_leave || self.asked.remove(&frame.token),
                "what was asked is answered once, and nothing else is"
            );
        } else if frame.kind == DELIVERED {
            Delivered::decode_all(frame.body).expect("what is told can be read");
        }
    }

    fn ask(&mut self, to: Address, kind: Kind, body: &[u8]) {
        self.token += 1;
        self.asked.insert(Token(self.token));
        self.give(to, Input::Frame(CALLERS, Frame::new(kind, Token(self.token), body)));
    }

    fn submit(&mut self, number: u8) {
        let (variable, value) = (Variable(u32::from(number / 8 % 3)), Bytes::from(vec![number; 2]));
        let to = NodeId(u16::from(number / 8 % 3));
        let operation = match number % 5 {
            0 => Operation::Send { to, handler: 1, bytes: value },
            1 => Operation::Read(variable),
            2 => Operation::Write(variable, value),
            3 => Operation::Sched(variable),
            _ => Operation::Assign(variable, value),
        };
        let body = [&1u16.to_le_bytes()[..], &encode_to_vec(&operation)].concat();
        self.ask(NODE, SUBMIT, &body);
    }

    fn raw(&mut self, reader: &mut Reader<'_>, from: Address, to: Address) {
        let (Ok(kind), Ok(len)) = (reader.u8(), reader.u8()) else { return };
        let body = reader.bytes(usize::from(len).min(reader.left())).expect("as many as there are");
        let kind = Kind(SUBMIT.0 + kind % 23);
        if from == CALLERS {
            // Whoever asks to leave is told when all do, and not answered.
            return if kind == codec::LEAVE {
                self.give(to, Input::Frame(from, Frame::new(kind, Token(0), body)))
            } else {
                self.ask(to, kind, body)
            };
        }
        self.give(to, Input::Frame(from, Frame::new(kind, Token(u64::from(len)), body)));
    }

    /// A part of a node's next isochron but few, and the marker for it.
    fn part(&mut self, from: NodeId, number: u8) {
        let rank = Rank(u64::from(number));
        let operations =
            vec![Operation::Read(Variable(0)), Operation::Write(Variable(0), Bytes::from(vec![number; 2]))];
        let body = encode_to_vec(&Part { view: self.here.node().view(), rank, operations });
        let from = Address { node: from, port: PORT_ISOTACH };
        self.give(NODE, Input::Frame(from, Frame::new(PART, Token(rank.0), &body)));
    }

    /// Node 1 announces an isochron for node 0.
    fn announce(&mut self, number: u8) {
        let view = self.here.manager().view().0.to_le_bytes();
        let body = [&view[..], &u64::from(number).to_le_bytes(), &[1, 0, 0, 0]].concat();
        let from = Address { node: NodeId(1), port: PORT_ISOTACH };
        self.give(MANAGER, Input::Frame(from, Frame::new(codec::ANNOUNCE, Token(0), &body)));
        let received = [&view[..], &[1, 0], &u64::from(number).to_le_bytes()].concat();
        self.give(MANAGER, Input::Frame(NODE, Frame::new(codec::RECEIVED, Token(0), &received)));
    }

    /// The other switch's next token, or one that is not.
    fn token(&mut self, number: u8) {
        let (view, next) = (
            self.here.manager().view().0.to_le_bytes(),
            self.here.manager().pulse().0 + u64::from(number % 4 / 3),
        );
        let body = [&view[..], &next.to_le_bytes(), &[1]].concat();
        let from = Address { node: NodeId(2), port: PORT_TOKEN_MANAGER };
        self.give(MANAGER, Input::Frame(from, Frame::new(TOKEN, Token(0), &body)));
        self.give(MANAGER, Input::Wake);
    }

    fn executed(&mut self, from: NodeId, number: u8) {
        let (rank, view) = (u64::from(number / 4), self.here.node().view());
        let values = (0..number % 2).map(|byte| ReadValue::Value(Bytes::from(vec![byte; 2]))).collect();
        let body = encode_to_vec(&Executed { view, pulse: Pulse(u64::from(number / 8)), values });
        let from = Address { node: from, port: PORT_ISOTACH };
        self.give(NODE, Input::Frame(from, Frame::new(codec::EXECUTED, Token(rank), &body)));
    }

    fn down(&mut self, peer: Address) {
        let change = PeerChange::Down(DownCause::Died);
        self.give(NODE, Input::Peer(peer, &change));
        self.give(MANAGER, Input::Peer(peer, &change));
    }

    /// The next view, with all or without node 1, at the node, the manager or both.
    fn next_view(&mut self, number: u8) {
        let topology = ["switch a at 0: 0 1\nswitch b at 2: 2\nwire a b\n", "switch a at 0: 0 2\n"]
            [usize::from(number % 2)];
        let view = View(self.here.node().view().0 + 1 + u32::from(number / 64));
        let body = encode_to_vec(&NextView { view, topology });
        if number & 2 == 0 {
            self.ask(NODE, NEXT_VIEW, &body);
        }
        if number & 4 == 0 {
            self.ask(MANAGER, NEXT_VIEW, &body);
        }
    }

    /// A step of the agreement on the next view, said by another node.
    fn agree(&mut self, from: NodeId, number: u8) {
        let ballot = Ballot { round: u32::from(number / 64), node: from.0 };
        let topology =
            Topology::parse("switch a at 0: 0\nswitch b at 2: 2\nwire a b\n").expect("it is a tree");
        let step = match number % 9 {
            0 => AgreeStep::Suspects(vec![NodeId(u16::from(number / 9 % 4))]),
            1 => AgreeStep::Prepare(ballot),
            2 => AgreeStep::Promise { ballot: Ballot { round: ballot.round, node: 0 }, accepted: None },
            3 => AgreeStep::Accept(ballot, topology),
            4 => AgreeStep::Accepted(Ballot { round: ballot.round, node: 0 }),
            5 => AgreeStep::Refused(ballot),
            6 => AgreeStep::Leaves,
            7 => AgreeStep::AllLeave,
            _ => AgreeStep::Agreed(topology),
        };
        let base = View(self.here.node().view().0 + u32::from(number / 9 % 2));
        let body = encode_to_vec(&Agree { base, step });
        let from = Address { node: from, port: PORT_ISOTACH };
        self.give(NODE, Input::Frame(from, Frame::new(codec::AGREE, Token(0), &body)));
    }

    /// A step of the cut, said by another node: the number says which, for which view, and how far it is known.
    fn cut(&mut self, from: NodeId, number: u8) {
        let next = View(self.here.node().view().0 + 1 + u32::from(number / 128));
        let known = |pulse: u8| Ordered {
            pulse: Pulse(pulse.into()),
            sender: from,
            rank: Rank(u64::from(number / 8)),
        };
        let is_complete = number & 1 == 0;
        let step = match number / 2 % 5 {
            0 => CutStep::Report { is_complete, known: Vec::new() },
            1 => CutStep::Report { is_complete, known: vec![known(number / 16)] },
            2 => CutStep::Prefix { is_complete, order: vec![known(9)] },
            3 => CutStep::Held,
            _ if is_complete => CutStep::Gather,
            _ => CutStep::Begun,
        };
        let body = encode_to_vec(&Cut { view: self.here.node().view(), next, step });
        let from = Address { node: from, port: PORT_ISOTACH };
        self.give(NODE, Input::Frame(from, Frame::new(CUT, Token(0), &body)));
    }
}

/// Inputs of [`drive`] that reach far: for the stored corpus.
#[must_use]
pub fn seeds() -> Vec<(&'static str, Vec<u8>)> {
    let (submit, part, announce, token, executed, down, next_view, wake) = (0, 5, 6, 7, 8, 9, 10, 11);
    let cut = 13;
    let local = [[submit, 8], [submit, 9], [submit, 10], [submit, 11], [submit, 9], [submit, 12]];
    let remote = [[submit, 1], [wake, 0], [part, 1], [announce, 1], [wake, 0], [token, 3], [token, 3]];
    let answered = [[submit, 16], [token, 3], [token, 3], [token, 3], [executed, 5], [submit, 9]];
    let dies =
        [[part, 0], [part, 1], [announce, 0], [wake, 0], [token, 3], [down, 0], [next_view, 1], [submit, 8]];
    let changes = [
        [part, 1],
        [next_view, 1],
        [part, 2],
        [cut, 1],
        [cut, 0],
        [cut, 7],
        [cut, 6],
        [submit, 8],
        [next_view, 0],
    ];
    let agree = 14;
    let agrees = [[submit, 8], [down, 1], [agree, 70], [agree, 72], [submit, 9], [agree, 131], [agree, 216]];
    let member = [[submit, 8], [submit, 9], [part, 1], [announce, 1], [wake, 0], [down, 1], [agree, 216]];
    let raw = [
        1,
        0,
        PART.0 - SUBMIT.0,
        3,
        1,
        2,
        3,
        2,
        0,
        MARKERS.0 - SUBMIT.0,
        0,
        4,
        0,
        PLAIN.0 - SUBMIT.0,
        8,
        1,
        0,
        7,
        0,
        0,
        0,
        9,
        9,
    ];
    vec![
        ("local", local.concat()),
        ("remote", remote.concat()),
        ("answered", answered.concat()),
        ("dies", dies.concat()),
        ("changes", changes.concat()),
        ("raw", raw.to_vec()),
        ("agrees", agrees.concat()),
        ("member", member.concat()),
    ]
}

/// Inputs of [`decode`]: a body of each kind, and a topology.
#[must_use]
pub fn bodies() -> Vec<(&'static str, Vec<u8>)> {
    let value = || Bytes::from_static(b"so");
    let operations = vec![
        Operation::Send { to: NodeId(1), handler: 7, bytes: value() },
        Operation::Read(Variable(1)),
        Operation::Write(Variable(1), value()),
        Operation::Sched(Variable(2)),
        Operation::Assign(Variable(2), value()),
    ];
    let stamp = Stamp { view: View(1), pulse: Pulse(7), sender: NodeId(2), rank: Rank(9) };
    let place = crate::Place { stamp, behind: 1 };
    let (rank, values) = (Rank(9), vec![ReadValue::Value(value()), ReadValue::Aborted]);
    let halt = crate::Halt { node: NodeId(3), cause: crate::HaltCause::Misbehaved };
    let cut = |step| encode_to_vec(&Cut { view: View(1), next: View(2), step });
    let known = vec![Ordered { pulse: Pulse(7), sender: NodeId(2), rank }];
    let topology = "switch a at 0: 0 1 # two\nswitch b at 2: 2\nwire a b\n";
    let marker = [&7u64.to_le_bytes()[..], &2u16.to_le_bytes(), &9u64.to_le_bytes()].concat();
    let receivers = [2, 0, 0, 0, 1, 0];
    let agree = |step| encode_to_vec(&Agree { base: View(1), step });
    let (ballot, left) = (Ballot { round: 3, node: 1 }, Topology::parse(topology).expect("it is a tree"));
    let view = 1u32.to_le_bytes();
    vec![
        ("part", encode_to_vec(&Part { view: View(1), rank, operations })),
        ("executed", encode_to_vec(&Executed { view: View(1), pulse: Pulse(7), values: values.clone() })),
        ("completed", encode_to_vec(&Completed { place, rank, values })),
        ("misuse", encode_to_vec(&Refusal::Misuse("no such node".to_owned()))),
        ("halted", encode_to_vec(&Halted { view: View(1), halt })),
        ("plain", encode_to_vec(&Plain { node: NodeId(1), handler: 7, bytes: b"at once" })),
        (
            "delivered",
            encode_to_vec(&Delivered { place, sender: NodeId(2), rank, handler: 7, bytes: b"in order" }),
        ),
        ("next view", encode_to_vec(&NextView { view: View(2), topology })),
        ("gather", cut(CutStep::Gather)),
        ("report", cut(CutStep::Report { is_complete: true, known: known.clone() })),
        ("prefix", cut(CutStep::Prefix { is_complete: false, order: known.clone() })),
        ("held", cut(CutStep::Held)),
        ("farewell", encode_to_vec(&Farewell { view: View(1), is_complete: true, known })),
        ("minority", encode_to_vec(&Refusal::Minority { view: View(2), left: 1, of: 3 })),
        ("announcements", [&view[..], &9u64.to_le_bytes(), &receivers].concat()),
        ("received", [&view[..], &2u16.to_le_bytes(), &9u64.to_le_bytes()].concat()),
        ("markers", [&view[..], &marker].concat()),
        ("token", [&view[..], &7u64.to_le_bytes(), &[1], &marker, &receivers].concat()),
        ("topology", topology.as_bytes().to_vec()),
        ("suspects", agree(AgreeStep::Suspects(vec![NodeId(1), NodeId(2)]))),
        ("promise", agree(AgreeStep::Promise { ballot, accepted: Some((ballot, left.clone())) })),
        ("accept", agree(AgreeStep::Accept(ballot, left.clone()))),
        ("agreed", agree(AgreeStep::Agreed(left))),
        ("all leave", agree(AgreeStep::AllLeave)),
        ("lacks part", encode_to_vec(&Refusal::LacksPart { sender: NodeId(2), rank })),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each body is read by the decoder that it is for: else the corpus would show nothing.
    #[test]
    fn every_stored_body_can_be_read() {
        let bodies = bodies();
        let body = |name| &bodies.iter().find(|(known, _)| *known == name).expect("it is there").1[..];
        assert_eq!(Part::decode_all(body("part")).map(|part| part.operations.len()), Ok(5));
        assert!(
            Executed::decode_all(body("executed")).is_ok()
                && Completed::decode_all(body("completed")).is_ok()
        );
        assert!(Refusal::decode_all(body("misuse")).is_ok() && Halted::decode_all(body("halted")).is_ok());
        assert!(Plain::decode_all(body("plain")).is_ok() && Delivered::decode_all(body("delivered")).is_ok());
        assert!(
            NextView::decode_all(body("next view")).is_ok() && Farewell::decode_all(body("farewell")).is_ok()
        );
        assert!(
            ["gather", "report", "prefix", "held"].iter().all(|name| Cut::decode_all(body(name)).is_ok())
        );
        assert!(["minority", "lacks part"].iter().all(|name| Refusal::decode_all(body(name)).is_ok()));
        let agreed = ["suspects", "promise", "accept", "agreed", "all leave"];
        assert!(agreed.iter().all(|name| Agree::decode_all(body(name)).is_ok()));
        assert_eq!(codec::read_announcements(body("announcements")).map(|(_, list)| list.len()), Ok(1));
        assert_eq!(codec::read_received(body("received")).map(|(_, list)| list.len()), Ok(1));
        assert_eq!(codec::read_markers(body("markers")).map(|(_, list)| list.len()), Ok(1));
        assert_eq!(codec::read_token(body("token")).map(|token| token.entries.len()), Ok(1));
        bodies.iter().for_each(|(_, bytes)| decode(bytes));
        seeds().iter().for_each(|(_, bytes)| drive(bytes));
    }
}

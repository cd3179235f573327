//! What the fuzz targets run, so that tests can run the same on a kept corpus. Not for programs.

mod inputs;

pub use inputs::{bodies, seeds};

use crate::codec::{
    self, Agree, AgreeStep, Ballot, COMPLETED, CUT, Completed, Copied, CopyState, Cut, CutStep, DELIVERED,
    Delivered, Executed, Farewell, Halted, INSTALLED, NEXT_VIEW, NextMembers, NextView, Ordered, PART, Part,
    Plain, ProgramState, REFUSED, Refusal, SENT, SUBMIT, TOKEN, Transfer, TransferStep,
};
use crate::limits::SHORT_MESSAGE_BYTES;
use crate::{
    Isonet, Joined, ManagerConfig, Member, Members, Newcomers, Node, NodeConfig, Operation, Pulse, Rank,
    ReadValue, Shape, Testimony, TokenManager, Topology, Variable, View,
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
    part_again(bytes);
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
    again::<NextMembers<'_>>(bytes);
    again::<Transfer>(bytes);
    again::<ProgramState<'_>>(bytes);
    let _ = codec::read_announcements(bytes);
    let _ = codec::read_received(bytes);
    let _ = codec::read_markers(bytes);
    let _ = codec::read_token(bytes);
    if let Ok(testimony) = Testimony::from_bytes(bytes) {
        assert_eq!(Testimony::from_bytes(&testimony.to_bytes()), Ok(testimony));
    }
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

/// A part, with bulk and without.
fn part_again(bytes: &[u8]) {
    for bulk in [Bytes::new(), Bytes::from_static(&[7; SHORT_MESSAGE_BYTES + 1])] {
        let read = |body: &[u8], bulk: &Bytes| Part::of(Frame { bulk, ..Frame::new(PART, Token(1), body) });
        if let Ok(part) = read(bytes, &bulk) {
            assert_eq!(read(&encode_to_vec(&part), &part.bulk()).as_ref(), Ok(&part));
        }
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
    // Half of the inputs are for nodes that agree on views by themselves, half of those for members, and some of both join a view.
    let mut driven = Driven::new(bytes.last().copied().unwrap_or_default());
    while let Ok([what, number]) = reader.array() {
        let peer = NodeId(1 + u16::from(number % 2));
        match what {
            240..=247 => driven.transfer(peer, number),
            248..=255 => driven.joins(peer, number),
            what => driven.step(what % 15, number, &mut reader),
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
        let joins = (setting >= 224).then_some(1);
        let view = if joins.is_some() { View(0) } else { View(1) };
        let config = NodeConfig { joins, ..NodeConfig::new(ME, CALLERS, view, isonet()) };
        let manager = TokenManager::new(ManagerConfig::new(isonet(), 0, View(1)));
        let here = match setting {
            0..128 => Here::Apart(Box::new((Node::new(config), manager))),
            128..192 | 224..240 => {
                let node = Node::new(NodeConfig { managers_from: Some(NodeId(100)), ..config });
                Here::Apart(Box::new((node, manager)))
            }
            192..224 | 240.. => {
                Here::Member(Box::new(Member::new(NodeConfig { managers_from: Some(ME), ..config })))
            }
        };
        Driven { here, asked: BTreeSet::new(), token: 0 }
    }

    fn step(&mut self, what: u8, number: u8, reader: &mut Reader<'_>) {
        let peer = NodeId(1 + u16::from(number % 2));
        let of = |port| Address { node: peer, port };
        match what {
            0 => self.submit(number),
            1 => self.raw(reader, of(PORT_ISOTACH), NODE),
            2 => self.raw(reader, of(PORT_ISOTACH), MANAGER),
            3 => self.raw(reader, Address { node: NodeId(2), port: PORT_TOKEN_MANAGER }, MANAGER),
            4 => self.raw(reader, CALLERS, NODE),
            5 => self.part(peer, number),
            6 => self.announce(number),
            7 => self.token(number),
            8 => self.executed(peer, number),
            9 => self.down(of(PORT_ISOTACH)),
            10 => self.next_view(number),
            13 => self.cut(peer, number),
            14 => self.agree(peer, number),
            12 => self.raw(reader, MANAGER, NODE),
            _ => self.give(MANAGER, Input::Wake),
        }
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
            Delivered::of(frame).expect("what is told can be read");
        }
    }

    fn ask(&mut self, to: Address, kind: Kind, body: &[u8]) {
        let token = self.next_asked();
        self.give(to, Input::Frame(CALLERS, Frame::new(kind, token, body)));
    }

    /// The token of a request, which is to be answered.
    fn next_asked(&mut self) -> Token {
        self.token += 1;
        self.asked.insert(Token(self.token));
        Token(self.token)
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
        let bulk = if kind < 128 { Bytes::new() } else { Bytes::from_static(&[7; SHORT_MESSAGE_BYTES + 1]) };
        let kind = Kind(SUBMIT.0 + kind % 26);
        let token = match from == CALLERS {
            // Whoever asks to leave is told when all do, and not answered.
            true if kind == codec::LEAVE => Token(0),
            true => self.next_asked(),
            false => Token(u64::from(len)),
        };
        self.give(to, Input::Frame(from, Frame { bulk: &bulk, ..Frame::new(kind, token, body) }));
    }

    /// A part of a node's next isochron but few, and the marker for it.
    fn part(&mut self, from: NodeId, number: u8) {
        let rank = Rank(u64::from(number));
        let operations =
            vec![Operation::Read(Variable(0)), Operation::Write(Variable(0), Bytes::from(vec![number; 2]))];
        let body =
            encode_to_vec(&Part { view: self.here.node().view(), rank, operations: operations.into() });
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

    /// A step of the transfer of state, said by another node.
    fn transfer(&mut self, from: NodeId, number: u8) {
        let held = match number / 16 % 4 {
            0 => CopyState::Value(Bytes::from(vec![number; 2])),
            1 => CopyState::Reserved(from),
            2 => CopyState::Aborted,
            _ => CopyState::Lost,
        };
        let reserved_by = if number & 64 == 0 { vec![from] } else { Vec::new() };
        let copied = Copied { variable: Variable(u32::from(number / 64)), held, reserved_by };
        let is_complete = number & 8 == 0;
        let step = match number / 2 % 7 {
            0 => TransferStep::WantsVariables((number & 64 == 0).then_some(Variable(0))),
            1 => TransferStep::WantsProgram(u32::from(number / 32)),
            2 => TransferStep::Variables { before: View(1), is_complete, copies: vec![copied] },
            3 => TransferStep::Variables { before: View(1), is_complete: true, copies: Vec::new() },
            4 => TransferStep::Program { is_complete, bytes: Bytes::from(vec![number; 9]) },
            5 => TransferStep::Lacks,
            _ => TransferStep::HasAll,
        };
        let view = View(self.here.node().view().0 + u32::from(number / 128));
        let body = encode_to_vec(&Transfer { view, step });
        let from = Address { node: from, port: PORT_ISOTACH };
        self.give(NODE, Input::Frame(from, Frame::new(codec::TRANSFER, Token(0), &body)));
    }

    /// A view that a later process of node 0 or 1 joins with: asked for, agreed on, or told; or a piece of the program's state for the present one.
    fn joins(&mut self, from: NodeId, number: u8) {
        let view = View(self.here.node().view().0 + 1);
        let topology = "switch a at 0: 0 1\nswitch b at 2: 2\nwire a b\n";
        let joined = Joined { view, life: 1 + u64::from(number / 64) };
        let newcomers: Newcomers = [(NodeId(u16::from(number / 8 % 2)), joined)].into();
        let sender = Address { node: from, port: PORT_ISOTACH };
        let step = match number / 2 % 4 {
            0 => AgreeStep::Asks(joined.life),
            1 => AgreeStep::Joins([(NodeId(1), joined.life)].into()),
            2 => {
                let next = NextView { view, topology };
                return self.ask(NODE, NEXT_VIEW, &encode_to_vec(&NextMembers { next, newcomers }));
            }
            _ if number & 16 == 0 => {
                let topology = Topology::parse(topology).expect("it is a tree");
                AgreeStep::Agreed(Members::new(topology, newcomers).expect("both are at a switch"))
            }
            _ => {
                let (view, is_complete) = (self.here.node().view(), number & 32 == 0);
                let state = ProgramState { view, is_complete, bytes: &[number; 5] };
                return self.ask(NODE, codec::PROGRAM_STATE, &encode_to_vec(&state));
            }
        };
        let base = if matches!(step, AgreeStep::Agreed(_)) { view } else { self.here.node().view() };
        let body = encode_to_vec(&Agree { base, step });
        self.give(NODE, Input::Frame(sender, Frame::new(codec::AGREE, Token(0), &body)));
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
        let members = Members::first(topology);
        let step = match number % 9 {
            0 => AgreeStep::Suspects(vec![NodeId(u16::from(number / 9 % 4))]),
            1 => AgreeStep::Prepare(ballot),
            2 => AgreeStep::Promise { ballot: Ballot { round: ballot.round, node: 0 }, accepted: None },
            3 => AgreeStep::Accept(ballot, members),
            4 => AgreeStep::Accepted(Ballot { round: ballot.round, node: 0 }),
            5 => AgreeStep::Refused(ballot),
            6 => AgreeStep::Leaves,
            7 => AgreeStep::AllLeave,
            _ => AgreeStep::Agreed(members),
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

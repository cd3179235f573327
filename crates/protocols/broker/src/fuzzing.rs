//! What the fuzz targets run, so that tests can run the same on a kept corpus. Not for programs.

use crate::codec::{self, ANSWER, Answer, CANCEL, Handled, Place, Request};
use crate::limits::CALL_BYTES;
use crate::{Broker, BrokerConfig, HandlerLimits};
use bytes::Bytes;
use quintet_contract::{
    Address, DownCause, Effects, Frame, Input, Kind, OwnedFrame, PeerChange, Protocol, Span, Time, Token,
};
use quintet_wire::Reader;
use std::collections::{BTreeMap, BTreeSet};

/// Reads any bytes as a request of each kind and as an answer. The first byte is how long the body is; what follows it is the bulk. What can be
/// read is the same after it was written and read again.
///
/// # Panics
/// If it is not: a defect of the codec.
pub fn decode(bytes: &[u8]) {
    let Some((len, rest)) = bytes.split_first() else { return };
    let (body, bulk) = rest.split_at(usize::from(*len).min(rest.len()));
    let bulk = Bytes::copy_from_slice(bulk);
    let (to, token) = (Address::new(1, 1), Token(1));
    let sent = |send: &dyn Fn(&mut Effects)| {
        let mut out = Effects::default();
        send(&mut out);
        out.frames().remove(0).1
    };
    for kind in (codec::REGISTER.0..=ANSWER.0).map(Kind) {
        if let Ok(request) = Request::decode(kind, body, &bulk) {
            let frame = sent(&|out| request.send(out, to, token).expect("there is room"));
            assert_eq!(Request::decode(frame.kind, &frame.body, &frame.bulk), Ok(request));
        }
        if let Ok(answer) = Answer::decode(kind, body, &bulk) {
            let frame = sent(&|out| answer.send(out, to, token).expect("there is room"));
            assert_eq!(Answer::decode(frame.kind, &frame.body, &frame.bulk), Ok(answer));
        }
    }
}

/// Gives a small broker what the bytes say, from four peers: each step is three bytes, what happens, to whom, and a number; a raw request has a
/// length u8 and a body besides. In the end all peers go.
///
/// # Panics
/// If the broker does, contradicts itself, answers what was not asked or twice, hands out a call twice, or keeps something of who is gone: a
/// defect.
pub fn drive(bytes: &[u8]) {
    let mut reader = Reader::new(bytes);
    let mut driven = Driven::new();
    while let Ok([what, who, number]) = reader.array() {
        let peer = Address::new(u16::from(who % 4) + 1, 1025);
        let name = ["a", "b"][usize::from(who / 4 % 2)];
        let rank = [None, Some(0), Some(1)][usize::from(number % 3)];
        let place = Place::new(name, rank).expect("it is a name");
        match what % 16 {
            0 => driven.pass(Span(u64::from(number))),
            1 => driven.down(peer),
            2 => driven.give(Input::Writable(peer)),
            3 => {
                let (Ok(kind), Ok(len)) = (reader.u8(), reader.u8()) else { break };
                let body = reader.bytes(usize::from(len).min(reader.left())).expect("as many as there are");
                driven.ask_raw(peer, Kind(codec::REGISTER.0 + kind % 8), body);
            }
            4 => driven.cancel(peer, number),
            5 => driven.ask(peer, &Request::Register { place, limits: LIMITS }),
            6 => driven.ask(peer, &Request::Await { place, wait: wait(number) }),
            7 => driven.ask(peer, &Request::Leave { handler: number.into() }),
            8 | 9 => driven.reply(peer, number),
            10..=12 => driven
                .ask(peer, &Request::Next { handler: driven.handler_of(peer, number), wait: wait(number) }),
            _ => {
                let payload = Bytes::from(vec![number; usize::from(number % 11)]);
                let is_one_way = number.is_multiple_of(5);
                driven.ask(peer, &Request::Call { place, wait: wait(number), is_one_way, payload });
            }
        }
        driven.broker.verify();
    }
    (1..=4).for_each(|node| driven.down(Address::new(node, 1025)));
    driven.broker.verify();
    assert_eq!(driven.broker.size(), (0, 0), "what is nobody's is kept");
    assert_eq!(driven.broker.deadline(), None);
}

const LIMITS: HandlerLimits = HandlerLimits { max_request_bytes: 8, at_once: 2, waiting: 3 };

fn wait(number: u8) -> Option<Span> {
    number.is_multiple_of(2).then(|| Span(number.into()))
}

/// A broker whose answers are looked at.
struct Driven {
    broker: Broker,
    now: Time,
    /// Requests that are not answered.
    open: BTreeSet<(Address, Token)>,
    /// Handlers that were registered, by who has them, as far as was seen.
    handlers: BTreeMap<Address, Vec<u64>>,
    /// Calls that were handed out and not answered, by who has them.
    given: BTreeMap<Address, Vec<u64>>,
    /// Calls that were handed out and not given back since.
    begun: BTreeSet<u64>,
    next: u64,
}

impl Driven {
    fn new() -> Driven {
        let broker = Broker::new(BrokerConfig { max_bytes: 8 * (CALL_BYTES + 3) });
        Driven {
            broker,
            now: Time::ZERO,
            open: BTreeSet::new(),
            handlers: BTreeMap::new(),
            given: BTreeMap::new(),
            begun: BTreeSet::new(),
            next: 1,
        }
    }

    fn give(&mut self, input: Input<'_>) {
        let mut effects = Effects::default();
        self.broker.handle(self.now, input, &mut effects);
        for (to, frame) in effects.frames() {
            self.look(to, &frame);
        }
    }

    fn look(&mut self, to: Address, frame: &OwnedFrame) {
        assert!(self.open.remove(&(to, frame.token)), "{to} is answered what it has not asked, or twice");
        match Answer::decode(frame.kind, &frame.body, &frame.bulk).expect("it can be read") {
            Answer::Registered { handler } => self.handlers.entry(to).or_default().push(handler),
            Answer::Delivered { call, .. } => {
                assert!(self.begun.insert(call), "call {call} is handed out twice");
                self.given.entry(to).or_default().push(call);
            }
            Answer::Done | Answer::Replied(_) | Answer::Error(_) => {}
        }
    }

    fn pass(&mut self, span: Span) {
        self.now += span;
        if self.broker.deadline().is_some_and(|at| at <= self.now) {
            self.give(Input::Wake);
            assert!(self.broker.deadline().is_none_or(|at| at > self.now), "what was due is done");
        }
    }

    fn down(&mut self, peer: Address) {
        self.open.retain(|(who, _)| *who != peer);
        self.handlers.remove(&peer);
        self.given.remove(&peer);
        self.give(Input::Peer(peer, &PeerChange::Down(DownCause::Died)));
    }

    fn handler_of(&self, peer: Address, number: u8) -> u64 {
        let handlers = self.handlers.get(&peer).filter(|handlers| !handlers.is_empty());
        handlers.map_or(number.into(), |handlers| handlers[usize::from(number) % handlers.len()])
    }

    fn ask(&mut self, from: Address, request: &Request) {
        let mut out = Effects::default();
        request.send(&mut out, from, Token(0)).expect("there is room");
        let (_, frame) = out.frames().remove(0);
        self.ask_frame(from, frame.kind, &frame.body);
    }

    fn ask_raw(&mut self, from: Address, kind: Kind, body: &[u8]) {
        if kind == ANSWER || kind != CANCEL {
            self.ask_frame(from, kind, body);
        }
    }

    fn ask_frame(&mut self, from: Address, kind: Kind, body: &[u8]) {
        let token = Token(self.next);
        self.next += 1;
        self.open.insert((from, token));
        self.give(Input::Frame(from, Frame::new(kind, token, body)));
    }

    fn cancel(&mut self, from: Address, number: u8) {
        let of_peer: Vec<Token> =
            self.open.iter().filter(|(who, _)| *who == from).map(|(_, token)| *token).collect();
        let token = of_peer.get(usize::from(number) % of_peer.len().max(1)).copied();
        self.give(Input::Frame(from, Frame::new(CANCEL, token.unwrap_or(Token(0)), b"")));
        assert!(
            !token.is_some_and(|token| self.open.contains(&(from, token))),
            "what was cancelled is answered"
        );
    }

    fn reply(&mut self, from: Address, number: u8) {
        let given = self.given.entry(from).or_default();
        let call =
            if given.is_empty() { number.into() } else { given.remove(usize::from(number) % given.len()) };
        let handled = match number % 3 {
            0 => Handled::Replied(Bytes::from_static(b"so")),
            1 => Handled::Failed("no".to_owned()),
            _ => Handled::GivenBack,
        };
        if handled == Handled::GivenBack {
            self.begun.remove(&call);
        }
        self.ask(from, &Request::Reply { call, handled });
    }
}

/// Inputs of [`drive`] that reach far: for the stored corpus.
#[must_use]
pub fn seeds() -> Vec<(&'static str, Vec<u8>)> {
    let (register, next, call, reply, down, pass) = (5, 10, 13, 8, 1, 0);
    let answered = [[register, 0, 0], [next, 0, 1], [call, 1, 1], [reply, 0, 0], [next, 0, 1]];
    let given_back =
        [[register, 0, 0], [register, 1, 1], [next, 0, 1], [call, 2, 1], [reply, 0, 2], [next, 1, 1]];
    let dies = [[register, 0, 0], [next, 0, 1], [call, 1, 1], [call, 2, 1], [down, 0, 0], [pass, 0, 255]];
    let late = [
        [register, 0, 0],
        [call, 1, 2],
        [call, 1, 5],
        [call, 2, 4],
        [call, 3, 6],
        [pass, 0, 5],
        [next, 0, 3],
    ];
    vec![
        ("answered", answered.concat()),
        ("given_back", given_back.concat()),
        ("dies", dies.concat()),
        ("late", late.concat()),
    ]
}

/// Inputs of [`decode`]: a body of each kind.
#[must_use]
pub fn bodies() -> Vec<(&'static str, Vec<u8>)> {
    let place = || Place::new("store", Some(3)).expect("it is a name");
    let payload = Bytes::from_static(b"key");
    let named = [
        ("register", Request::Register { place: place(), limits: HandlerLimits::default() }),
        ("await", Request::Await { place: place(), wait: Some(Span::from_millis(5)) }),
        ("call", Request::Call { place: place(), wait: None, is_one_way: false, payload: payload.clone() }),
        ("next", Request::Next { handler: 7, wait: None }),
        ("reply", Request::Reply { call: 7, handled: Handled::Replied(payload) }),
        ("failed", Request::Reply { call: 7, handled: Handled::Failed("no such key".to_owned()) }),
        ("leave", Request::Leave { handler: 7 }),
    ];
    let body = |request: &Request| {
        let mut out = Effects::default();
        request.send(&mut out, Address::new(1, 1), Token(1)).expect("there is room");
        let (_, frame) = out.frames().remove(0);
        [&[u8::try_from(frame.body.len()).expect("a short body")][..], &frame.body, &frame.bulk].concat()
    };
    named.iter().map(|(name, request)| (*name, body(request))).collect()
}

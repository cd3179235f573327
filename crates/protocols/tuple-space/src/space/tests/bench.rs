//! A manager on a bench: senders are small numbers, links can be full or gone, time is turned by hand.

use crate::space::stages;
use crate::{Answer, Refusal, Request, Space, SpaceConfig, Template, Tuple, Wait};
use bytes::Bytes;
use quintet_contract::{
    Address, Disconnect, DownCause, Effects, Frame, Input, Kind, Outbox, OwnedFrame, PeerChange, Protocol,
    SendError, Snapshot, Span, Stage, Time, Token,
};
use quintet_errors::Code;
use std::collections::BTreeSet;

const MANAGER: Address = Address::new(0, 16);

/// An answer: to which sender, under which token.
pub(super) type Sent = (u16, u64, Answer);

pub(super) struct Bench {
    pub(super) space: Space,
    pub(super) now: Time,
    pub(super) link: Link,
    /// Whether the manager is checked after every input.
    pub(super) verifies: bool,
    /// Whether the manager becomes bytes and comes back, with another seed, before every input.
    pub(super) moves: bool,
    /// What it was given, if that is to be kept.
    pub(super) history: Option<Vec<(Time, Given)>>,
    config: SpaceConfig,
}

/// An input that was given.
#[derive(Clone, Debug)]
pub(super) enum Given {
    Frame(Address, OwnedFrame),
    Peer(Address, PeerChange),
    Writable(Address),
    Wake,
    Started,
}

impl Given {
    fn of(input: Input<'_>) -> Given {
        match input {
            Input::Frame(from, frame) => Given::Frame(from, frame.to_owned()),
            Input::Peer(peer, change) => Given::Peer(peer, *change),
            Input::Writable(to) => Given::Writable(to),
            Input::Wake => Given::Wake,
            Input::Started => Given::Started,
        }
    }

    pub(super) fn input(&self) -> Input<'_> {
        match self {
            Given::Frame(from, frame) => Input::Frame(*from, frame.borrow()),
            Given::Peer(peer, change) => Input::Peer(*peer, change),
            Given::Writable(to) => Input::Writable(*to),
            Given::Wake => Input::Wake,
            Given::Started => Input::Started,
        }
    }
}

/// An outbox some of whose addresses refuse.
#[derive(Default)]
pub(super) struct Link {
    effects: Effects,
    pub(super) full: BTreeSet<u16>,
    pub(super) gone: BTreeSet<u16>,
    pub(super) too_long: BTreeSet<u16>,
    /// The units of matching that the last input took.
    pub(super) matching: u32,
}

impl Link {
    fn check(&self, to: Address, len: usize) -> Result<(), SendError> {
        let sender = to.node.0;
        match () {
            () if self.gone.contains(&sender) => Err(SendError::Unreachable),
            () if self.full.contains(&sender) => Err(SendError::Full),
            () if self.too_long.contains(&sender) && len > 30 => Err(SendError::TooLong { len, limit: 30 }),
            () => Ok(()),
        }
    }
}

impl Outbox for Link {
    fn begin(
        &mut self,
        to: Address,
        kind: Kind,
        token: Token,
        at_most: usize,
    ) -> Result<&mut [u8], SendError> {
        // The refusal itself is an error of some length: only tuples are too long.
        self.check(
            to,
            if matches!(kind, crate::codec::TUPLE | crate::codec::SELECTED) { at_most } else { 0 },
        )?;
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
        self.check(to, head.len() + bulk.len())?;
        self.effects.send_bulk(to, kind, token, head, bulk)
    }

    fn disconnect(&mut self, peer: Address, how: Disconnect) {
        self.effects.disconnect(peer, how);
    }

    fn work(&mut self, stage: Stage, units: u32) {
        self.matching += if stage == stages::MATCH { units } else { 0 };
    }
}

impl Bench {
    pub(super) fn new(config: SpaceConfig) -> Bench {
        let mut bench = Bench {
            space: Space::new(config),
            now: Time::ZERO,
            link: Link::default(),
            verifies: true,
            moves: false,
            history: None,
            config,
        };
        assert_eq!(bench.give(Input::Started), []);
        bench
    }

    /// Hands an input to the manager; the answers in their order.
    pub(super) fn give(&mut self, input: Input<'_>) -> Vec<Sent> {
        self.link.matching = 0;
        if self.moves {
            self.move_space();
        }
        if let Some(history) = &mut self.history {
            history.push((self.now, Given::of(input)));
        }
        self.space.handle(self.now, input, &mut self.link);
        if self.verifies {
            self.space.verify();
        }
        let answers = self.link.effects.frames().into_iter();
        // What is told beside the answers has its own test.
        let answers = answers.filter(|(_, frame)| frame.kind != crate::codec::NOT_GRANTED);
        answers.map(|(to, frame)| (to.node.0, frame.token.0, read(&frame))).collect()
    }

    fn move_space(&mut self) {
        let mut bytes = Vec::new();
        self.space.save(&mut bytes);
        self.config.seed += 1;
        self.space = Space::restore(&self.config, &bytes).expect("its own bytes");
        if self.verifies {
            self.space.verify();
        }
        let mut again = Vec::new();
        self.space.save(&mut again);
        assert!(bytes == again, "what was moved has other bytes");
    }

    /// Sends a request with nothing settled.
    pub(super) fn ask(&mut self, from: u16, token: u64, request: Request<'_>) -> Vec<Sent> {
        self.ask_settled(from, token, 0, request)
    }

    pub(super) fn ask_settled(
        &mut self,
        from: u16,
        token: u64,
        settled: u64,
        request: Request<'_>,
    ) -> Vec<Sent> {
        let mut requests = Effects::default();
        request.send(&mut requests, MANAGER, Token(token), Token(settled)).expect("the request fits");
        let (_, frame) = requests.frames().pop().expect("one frame");
        self.give(Input::Frame(sender(from), frame.borrow()))
    }

    /// Sends any bytes.
    pub(super) fn ask_raw(&mut self, from: u16, token: u64, kind: Kind, body: &[u8]) -> Vec<Sent> {
        self.give(Input::Frame(sender(from), Frame::new(kind, Token(token), body)))
    }

    /// Puts a tuple, as sender 100, and expects nobody else to be answered.
    pub(super) fn put(&mut self, tuple: &Tuple) {
        let sent = self.out(100, 1, tuple);
        assert_eq!(sent, [(100, 1, Answer::Done)]);
    }

    /// Puts a tuple without waiting for room.
    pub(super) fn out(&mut self, from: u16, token: u64, tuple: &Tuple) -> Vec<Sent> {
        let tuples = core::slice::from_ref(tuple);
        self.ask(from, token, Request::Out { deadline: Some(Span::ZERO), tuples, expiries: &[] })
    }

    pub(super) fn take(&mut self, from: u16, token: u64, wait: Wait, template: &Template) -> Vec<Sent> {
        self.ask(from, token, Request::Take { wait, lease: None, template })
    }

    pub(super) fn read(&mut self, from: u16, token: u64, wait: Wait, template: &Template) -> Vec<Sent> {
        self.ask(from, token, Request::Read { wait, template })
    }

    pub(super) fn lease(&mut self, from: u16, token: u64, ttl: Span, template: &Template) -> Vec<Sent> {
        self.ask(from, token, Request::Take { wait: Wait::AtOnce, lease: Some(ttl), template })
    }

    pub(super) fn count(&mut self, template: &Template) -> u64 {
        match self.ask(101, 1, Request::Count { template }).as_slice() {
            [(101, 1, Answer::Count(number))] => *number,
            other => panic!("not a count: {other:?}"),
        }
    }

    pub(super) fn status(&mut self) -> crate::State {
        match self.ask(101, 1, Request::Status).pop() {
            Some((101, 1, Answer::State(state))) => *state,
            other => panic!("not a state: {other:?}"),
        }
    }

    /// Lets time pass, waking the manager at each of its deadlines and at the end.
    pub(super) fn pass(&mut self, span: Span) -> Vec<Sent> {
        let end = self.now + span;
        let mut sent = Vec::new();
        while let Some(due) = self.space.deadline().filter(|due| *due <= end) {
            self.now = self.now.max(due);
            sent.extend(self.give(Input::Wake));
        }
        self.now = end;
        sent
    }

    pub(super) fn writable(&mut self, to: u16) -> Vec<Sent> {
        self.link.full.remove(&to);
        self.give(Input::Writable(sender(to)))
    }

    pub(super) fn down(&mut self, address: u16) -> Vec<Sent> {
        self.give(Input::Peer(sender(address), &PeerChange::Down(DownCause::Died)))
    }
}

pub(super) fn sender(number: u16) -> Address {
    Address::new(number, 1)
}

fn read(frame: &OwnedFrame) -> Answer {
    Answer::decode(frame.kind, &frame.body, &frame.bulk).expect("the manager's answers can be read")
}

/// A plain tuple.
pub(super) fn plain(tuple: Tuple) -> Answer {
    Answer::Tuple(tuple, None)
}

/// The code and text of the only answer, an error to that sender.
pub(super) fn error(sent: &[Sent], to: u16, token: u64) -> (Code, String) {
    match sent {
        [(sender, number, Answer::Error(Refusal { code, text }))] if (*sender, *number) == (to, token) => {
            (*code, text.clone())
        }
        other => panic!("not one error to {to}: {other:?}"),
    }
}

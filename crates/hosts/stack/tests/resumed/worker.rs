//! A client with several requests under way, which never learns that its server ended: it writes down what it was told.

use quintet_contract::{
    Address, Frame, Input, Outbox, PeerChange, Protocol, Random, SendError, Span, Time, Token,
};
use quintet_errors::Code;
use quintet_stack::SPACE;
use quintet_tuple_space::{Answer, LeaseId, Request, RequestError, Value, Wait, template, tuple};
use std::collections::BTreeMap;

/// Requests under way at one time.
const AT_ONCE: usize = 4;

/// What was asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Asked {
    Put(i64),
    Read,
    Take,
    /// A take that may be cancelled while it waits, or undone when its answer is there.
    Unsure,
    Lease,
    Finish(i64),
    Status,
}

/// What became of an item, as far as this client knows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Told {
    Begun(i64),
    Put(i64),
    Taken(i64),
    Returned(i64),
    Finished(i64),
}

pub(crate) struct Worker {
    random: Random,
    is_up: bool,
    /// Why it cannot go on.
    pub(crate) lost: Option<String>,
    /// It takes by leases, for which it waits, and in no other way: what it has had for good is in none of its questions when it ends.
    leases_only: bool,
    next_token: u64,
    next_item: i64,
    /// Operations to be begun.
    left: u32,
    open: BTreeMap<Token, Asked>,
    lease: Option<(LeaseId, i64)>,
    due: Option<Time>,
    pub(crate) told: Vec<Told>,
    /// Sent, and not answered any more by anybody: the ends of waits, and returns.
    unsent: Vec<(Token, bool)>,
}

impl Worker {
    pub(crate) fn new(me: u16, seed: u64, operations: u32) -> Worker {
        Worker {
            random: Random::new(seed, u64::from(me)),
            is_up: false,
            lost: None,
            leases_only: false,
            next_token: 1,
            next_item: i64::from(me) * 1_000_000,
            left: operations,
            open: BTreeMap::new(),
            lease: None,
            due: None,
            told: Vec::new(),
            unsent: Vec::new(),
        }
    }

    /// The same, which may end at any moment and leaves nothing in doubt then.
    #[allow(dead_code, reason = "one of two tests that share this file has such")]
    pub(crate) fn leasing_only(self) -> Worker {
        Worker { leases_only: true, ..self }
    }

    pub(crate) fn is_done(&self) -> bool {
        self.left == 0 && self.open.is_empty() && self.lease.is_none() && self.unsent.is_empty()
    }

    /// The oldest request without an answer, or the next.
    fn settled(&self) -> Token {
        self.open.first_key_value().map_or(Token(self.next_token), |(token, _)| *token)
    }

    fn begin(&mut self, now: Time, out: &mut dyn Outbox) {
        self.tell_unsent(out);
        if !self.is_up || self.open.len() >= AT_ONCE {
            return;
        }
        let asked = match (self.lease, self.left, self.random.below(12)) {
            (Some((_, item)), ..) if !self.open.values().any(|asked| matches!(asked, Asked::Finish(_))) => {
                Asked::Finish(item)
            }
            (_, 0, _) => return,
            (None, _, 0) if !self.open.values().any(|asked| *asked == Asked::Lease) => Asked::Lease,
            (_, _, 0..6) => Asked::Put(self.next_item + 1),
            (_, _, 6) => Asked::Read,
            (_, _, 7) => Asked::Status,
            (_, _, 8..10) => Asked::Take,
            _ => Asked::Unsure,
        };
        let is_plain = matches!(asked, Asked::Take | Asked::Unsure);
        let asked = match is_plain && self.leases_only {
            true if self.lease.is_some() || self.open.values().any(|asked| *asked == Asked::Lease) => return,
            true => Asked::Lease,
            false => asked,
        };
        if self.ask(asked, out) {
            self.left = self.left.saturating_sub(1);
            self.due = Some(now + Span::from_micros(1 + self.random.below(300)));
        }
    }

    /// Whether the link took it.
    fn ask(&mut self, asked: Asked, out: &mut dyn Outbox) -> bool {
        let items = template!["item", ?i64];
        let waits = asked == Asked::Unsure || self.leases_only && asked == Asked::Lease;
        let wait = if waits { Wait::For(Span::from_millis(3)) } else { Wait::AtOnce };
        let held = self.lease.map_or(LeaseId(0), |(lease, _)| lease);
        let put = match asked {
            Asked::Finish(item) => [tuple!["done", item]],
            Asked::Put(item) => [tuple!["item", item]],
            _ => [tuple!["item", 0i64]],
        };
        let lease = (asked == Asked::Lease).then(|| Span::from_secs(1_000));
        let request = match asked {
            Asked::Put(_) => Request::Out { deadline: None, tuples: &put, expiries: &[] },
            Asked::Read => Request::Read { wait, template: &items },
            Asked::Take | Asked::Unsure | Asked::Lease => Request::Take { wait, lease, template: &items },
            Asked::Finish(_) => Request::Ack { lease: held, deadline: None, tuples: &put, expiries: &[] },
            Asked::Status => Request::Status,
        };
        let token = Token(self.next_token);
        match request.send(out, SPACE, token, self.settled()) {
            Ok(()) => {}
            Err(RequestError::Link(SendError::Full | SendError::Unreachable)) => return false,
            Err(error) => panic!("a link of these runs takes everything: {error:?}"),
        }
        self.next_token += 1;
        self.open.insert(token, asked);
        if let Asked::Put(item) = asked {
            self.next_item = item;
            self.told.push(Told::Begun(item));
        }
        true
    }

    /// Ends a wait now and then.
    fn change_its_mind(&mut self, out: &mut dyn Outbox) {
        let unsure = self.open.iter().find(|(_, asked)| **asked == Asked::Unsure).map(|(token, _)| *token);
        if let Some(token) = unsure
            && self.random.below(3) == 0
        {
            self.unsent.push((token, false));
            self.tell_unsent(out);
        }
    }

    fn tell_unsent(&mut self, out: &mut dyn Outbox) {
        let settled = self.settled();
        self.unsent.retain(|(token, returns)| {
            let request = if *returns { Request::Return } else { Request::Cancel };
            request.send(out, SPACE, *token, settled.min(*token)).is_err()
        });
    }

    fn hear(&mut self, frame: Frame<'_>) {
        let Some(asked) = self.open.remove(&frame.token) else {
            self.lost = Some(format!("an answer to token {}, which nobody waits for", frame.token.0));
            return;
        };
        let answer = Answer::decode(frame.kind, frame.body, frame.bulk).expect("the space's bytes are good");
        match (asked, answer) {
            (Asked::Put(item), Answer::Done) => self.told.push(Told::Put(item)),
            (Asked::Take, Answer::Tuple(tuple, None)) => self.told.push(Told::Taken(item(&tuple))),
            (Asked::Unsure, Answer::Tuple(tuple, None)) => {
                self.told.push(Told::Taken(item(&tuple)));
                if self.random.below(2) == 0 {
                    self.told.push(Told::Returned(item(&tuple)));
                    self.unsent.push((frame.token, true));
                }
            }
            (Asked::Lease, Answer::Tuple(tuple, Some(attempt))) => {
                self.lease = Some((attempt.lease, item(&tuple)));
            }
            (Asked::Finish(item), Answer::Done) => {
                self.told.push(Told::Finished(item));
                self.lease = None;
            }
            (Asked::Read, Answer::Tuple(_, None)) | (Asked::Status, Answer::State(_)) => {}
            (Asked::Read | Asked::Take | Asked::Lease, Answer::NoMatch) => {}
            (Asked::Unsure | Asked::Lease, Answer::Error(refusal))
                if matches!(refusal.code, Code::Cancelled | Code::TimedOut) => {}
            (asked, answer) => self.lost = Some(format!("{asked:?} was answered {answer:?}")),
        }
    }
}

fn item(tuple: &quintet_tuple_space::Tuple) -> i64 {
    match tuple.values().get(1) {
        Some(Value::I64(item)) => *item,
        other => panic!("an item is a number: {other:?}"),
    }
}

impl Protocol for Worker {
    fn handle(&mut self, now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        match input {
            Input::Frame(Address { node, .. }, frame) if node == SPACE.node => {
                self.hear(frame);
                self.due.get_or_insert(now + Span::from_micros(1 + self.random.below(300)));
            }
            Input::Peer(_, PeerChange::Up { .. }) => self.is_up = true,
            Input::Peer(_, PeerChange::Down(cause)) => {
                self.lost = Some(format!("it was told that its server is down: {cause:?}"));
            }
            Input::Wake if self.due.is_some_and(|due| due <= now) => {
                self.due = Some(now + Span::from_micros(1 + self.random.below(300)));
                if self.is_done() {
                    self.due = None;
                }
                self.change_its_mind(out);
            }
            _ => {}
        }
        // What undoes a take goes before a request that could settle it.
        self.begin(now, out);
    }

    fn deadline(&self) -> Option<Time> {
        self.due
    }
}

//! What a client has sent and may have to send again, and which answers it has that the server does not know of.

use crate::MAX_RECEIVED;
use crate::requests::Requests;
use quintet_contract::{Frame, OwnedFrame, Time, Token};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// So many answers, or bytes of them, the server keeps in vain before it is told.
const MANY: usize = 64;
const MANY_BYTES: usize = 256 * 1024;

/// Frames that went to the service, numbered in the order in which they went.
#[derive(Debug, Default)]
pub(super) struct Retained {
    sent: BTreeMap<u64, Sent>,
    /// The requests among them that are not answered.
    open: BTreeMap<Token, u64>,
    /// Those among them that nobody answers.
    told: VecDeque<u64>,
    next: u64,
    /// Requests that are answered, and not settled by a later request.
    received: BTreeSet<Token>,
    received_bytes: usize,
    /// The server is being told of those, behind what was sent before this number.
    saying: Option<u64>,
}

#[derive(Debug)]
struct Sent {
    frame: OwnedFrame,
    at: Time,
}

impl Retained {
    /// A frame went at that time.
    pub(super) fn sent<R: Requests>(&mut self, frame: &Frame<'_>, at: Time) {
        if let Some(settled) = R::settled(frame) {
            self.settle(settled);
        }
        let number = self.next;
        if R::is_answered(frame.kind) {
            self.open.insert(frame.token, number);
        } else if R::is_repeated(frame.kind) {
            return;
        } else {
            self.told.push_back(number);
        }
        self.next += 1;
        self.sent.insert(number, Sent { frame: frame.to_owned(), at });
    }

    /// By this request the server knows of all answers below.
    fn settle(&mut self, settled: Token) {
        if self.received.first().is_some_and(|first| *first < settled) {
            self.received = self.received.split_off(&settled);
            self.received_bytes = 0;
        }
    }

    /// An answer came: when its request was sent. None if it answers nothing.
    pub(super) fn answered(&mut self, answer: &Frame<'_>) -> Option<Time> {
        let number = self.open.remove(&answer.token)?;
        let request = self.sent.remove(&number)?;
        self.arrived_before(number);
        self.received.insert(answer.token);
        self.received_bytes += answer.body.len() + answer.bulk.len();
        Some(request.at)
    }

    /// Something is answered that was sent with that number: what was sent before it has arrived before it, or passed it.
    fn arrived_before(&mut self, number: u64) {
        while let Some(told) = self.told.pop_front_if(|told| *told < number) {
            self.sent.remove(&told);
        }
    }

    /// Whether nothing is to be sent again.
    pub(super) fn is_empty(&self) -> bool {
        self.sent.is_empty()
    }

    /// The first frame from that number on.
    pub(super) fn from(&self, number: u64) -> Option<(u64, &OwnedFrame)> {
        self.sent.range(number..).next().map(|(number, sent)| (*number, &sent.frame))
    }

    /// Which answers the server is to be told of, if it is time: there are many, or no answer is to come that says that all has arrived.
    pub(super) fn to_be_noted(&self) -> Option<Vec<Token>> {
        let are_many = self.received.len() >= MANY || self.received_bytes >= MANY_BYTES;
        let is_last = self.open.is_empty() && !self.told.is_empty();
        ((are_many || is_last) && self.saying.is_none())
            .then(|| self.received.iter().take(MAX_RECEIVED).copied().collect())
    }

    /// It is being told.
    pub(super) fn said(&mut self) {
        for _ in 0..MAX_RECEIVED {
            self.received.pop_first();
        }
        (self.received_bytes, self.saying) = (0, Some(self.next));
    }

    /// It knows.
    pub(super) fn noted(&mut self) {
        if let Some(number) = self.saying.take() {
            self.arrived_before(number);
        }
    }

    /// What it was told may not have arrived: it keeps those answers until later ones are settled.
    pub(super) fn link_ended(&mut self) {
        self.saying = None;
    }
}

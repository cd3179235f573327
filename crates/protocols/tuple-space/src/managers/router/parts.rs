//! What several managers do at one instant: each is asked of its part, the highest first, and the lowest brings them together.
//!
//! A part that waits for room holds nobody up who asks for something else: behind each there is a fence, and nothing goes before that is answered, as behind
//! any put. Rooms are found from the highest manager to the lowest, so that no two such requests wait for each other's.

use super::target::{Target, of_witness, without_manager};
use super::{Asked, Control, Item, Open, Router, forward};
use crate::codec::{
    AskedPart, CANCEL, DONE, ERROR, LeaseId, MOVED, PREPARE, PREPARED, PartBody, PreparedAt, PreparedBody,
    Put, PutTuple, TooLarge, Wait, Witness, give_up_body,
};
use crate::managers::Placement;
use crate::space::seeded;
use quintet_contract::{Frame, Outbox, OwnedFrame, SendError, Span, Time, Token};
use quintet_errors::Code;
use quintet_wire::Decode;
use std::collections::BTreeMap;

/// A request of which several managers have parts.
#[derive(Debug)]
pub(super) struct Several {
    /// Parts that were not asked so far, the lowest manager's first.
    left: Vec<(u8, AskedPart)>,
    /// Who was asked last.
    asked: u8,
    /// Parts that are prepared.
    prepared: Vec<PreparedAt>,
    /// For how long it may wait: for room each part may, for a tuple the one that brings them together.
    wait: Wait,
    /// It is a select or a replacement: whichever manager has the match answers it.
    seeks: bool,
    /// Its caller wants what it takes to return.
    undo: Option<OwnedFrame>,
}

/// What one manager has of a request.
#[derive(Default)]
struct Share<'a> {
    leases: Vec<LeaseId>,
    witnesses: Vec<Witness>,
    tuples: Vec<PutTuple<'a>>,
}

impl Several {
    /// Of these parts, the lowest manager's first.
    pub(super) fn new(left: Vec<(u8, AskedPart)>, wait: Wait) -> Several {
        let asked = left.last().map_or(0, |(manager, _)| *manager);
        let seeks = left.iter().any(|(_, part)| matches!(part, AskedPart::Seek(_)));
        Several { left, asked, prepared: Vec::new(), wait, seeks, undo: None }
    }

    /// Who was asked last.
    pub(super) fn asked(&self) -> u8 {
        self.asked
    }

    /// Whether this manager may answer now.
    pub(super) fn is_asked(&self, manager: u8) -> bool {
        self.asked == manager || self.seeks && self.prepared.iter().any(|part| part.manager == manager)
    }

    /// What it takes is to return.
    pub(super) fn undo(&mut self, frame: OwnedFrame) {
        self.undo = Some(frame);
    }
}

impl Router {
    /// A request of which several managers have parts: of these leases and of what was read, and of what is put.
    pub(super) fn of_several(
        &self,
        placement: &Placement,
        (leases, witnesses): (&[LeaseId], &[Witness]),
        put: &Put<'_>,
    ) -> Target {
        let mut shares: BTreeMap<u8, Share<'_>> = BTreeMap::new();
        for lease in leases {
            shares.entry(self.of_lease(*lease)).or_default().leases.push(*lease);
        }
        for witness in witnesses {
            shares.entry(of_witness(witness)).or_default().witnesses.push(without_manager(witness));
        }
        for tuple in put.tuples.iter() {
            shares.entry(placement.of_tuple(&tuple.tuple)).or_default().tuples.push(tuple);
        }
        let part = |(manager, share): (u8, Share<'_>)| {
            let part = PartBody::new(&share.leases, &share.witnesses, &share.tuples)?;
            Ok((manager, AskedPart::Part(part)))
        };
        let left: Result<Vec<_>, TooLarge> = shares.into_iter().map(part).collect();
        match left {
            Ok(left) => {
                let wait = if put.deadline.0 == u64::MAX { Wait::Forever } else { Wait::For(put.deadline) };
                Target::Several(Several::new(left, wait))
            }
            Err(error) => Target::Refused(Code::TooLarge, error.to_string()),
        }
    }

    /// Asks for the first part of the first of the queue.
    pub(super) fn begin_parts(&mut self, now: Time, several: Several, out: &mut dyn Outbox) {
        let Some(mut item) = self.queue.pop_front() else { return };
        self.counts.of_several += 1;
        item.since = item.since.or(Some(now));
        let token = item.frame.token;
        self.open.insert(token, Open { item, asked: Asked::Several(several), is_cancelled: false });
        self.ask_part(now, token, out);
    }

    /// Asks for the next part. The last one is told the others, and brings them together.
    fn ask_part(&mut self, now: Time, token: Token, out: &mut dyn Outbox) {
        let Some(Open { item, asked: Asked::Several(several), .. }) = self.open.get_mut(&token) else {
            return;
        };
        let Some((manager, part)) = several.left.pop() else { return };
        several.asked = manager;
        let is_last = several.left.is_empty();
        several.prepared.sort_unstable();
        let others: &[PreparedAt] = if is_last { &several.prepared } else { &[] };
        let wait = if several.seeks && !is_last { Wait::Forever } else { left_of(several.wait, item, now) };
        let (body, bulk) = part.to_parts(&item.frame.body[..8], others, wait);
        let frame = OwnedFrame { kind: PREPARE, token, body: body.into(), bulk };
        match self.send_part(manager, frame, out) {
            Ok(()) => {}
            Err(SendError::TooLong { .. }) => {
                return self.refuse_too_long(token, out);
            }
            Err(_) => {
                let text = self.gone(manager);
                return self.refuse_parts(token, Code::Unreachable, &text, out);
            }
        }
        if !seeded!(self, PartsNotFenced) {
            self.fence(manager, out);
        }
    }

    /// Sends a part, behind what waits for the link.
    fn send_part(&mut self, manager: u8, frame: OwnedFrame, out: &mut dyn Outbox) -> Result<(), SendError> {
        let at = self.at(manager);
        at.sent += 1;
        if at.outgoing.is_empty() {
            match forward(frame.borrow(), at.address, out) {
                Err(SendError::Full) => {}
                sent => return sent,
            }
        }
        self.at(manager).outgoing.push_back(frame);
        Ok(())
    }

    /// What the manager answers that was asked last.
    pub(super) fn answer_of_part(&mut self, now: Time, manager: u8, frame: Frame<'_>, out: &mut dyn Outbox) {
        let token = frame.token;
        let Some(Open { asked: Asked::Several(several), is_cancelled, .. }) = self.open.get_mut(&token)
        else {
            return;
        };
        if let (PREPARED, Ok(PreparedBody(number))) = (frame.kind, PreparedBody::decode_all(frame.body)) {
            if several.asked != manager {
                return;
            }
            several.prepared.push(PreparedAt { manager, number });
            return match *is_cancelled {
                true => self.refuse_parts(token, Code::Cancelled, "at the sender's request", out),
                false => self.ask_part(now, token, out),
            };
        }
        let (asked, seeks, undo) = (several.asked, several.seeks, several.undo.take());
        // Of a select or a replacement only who comes to nothing leaves parts behind: its own is over.
        several.prepared.retain(|part| !seeks || part.manager != manager);
        let gives_up = if seeks { matches!(frame.kind, ERROR | MOVED) } else { frame.kind != DONE };
        if seeks && gives_up && asked != manager {
            let body = vec![0; size_of::<u64>()].into();
            self.tell(asked, OwnedFrame { kind: CANCEL, token, body, bulk: bytes::Bytes::new() }, out);
        }
        let Some(open) = self.take_parts(token, gives_up, out) else { return };
        if frame.kind == MOVED {
            let others = (asked != manager).then_some(asked);
            self.comes_back(open, core::iter::once(manager).chain(others), out);
        } else {
            self.deliver(&open, manager, frame, out);
            undo.into_iter().for_each(|undo| self.undo(undo.borrow(), out));
        }
    }

    /// Answers with an error. Nothing has happened.
    fn refuse_parts(&mut self, token: Token, code: Code, text: &str, out: &mut dyn Outbox) {
        if self.take_parts(token, true, out).is_some() {
            self.refuse(token, code, text, out);
        }
    }

    /// Ends such a request. `gives_up`: what is prepared of it comes to nothing.
    pub(super) fn take_parts(&mut self, token: Token, gives_up: bool, out: &mut dyn Outbox) -> Option<Open> {
        let open = self.open.remove(&token)?;
        if let Asked::Several(several) = &open.asked
            && gives_up
            && !seeded!(self, PartNotGivenUp)
        {
            for PreparedAt { manager, number } in &several.prepared {
                self.control(*manager, PREPARE, give_up_body(*number), Control::GiveUp(*manager), out);
            }
        }
        Some(open)
    }
}

/// For how long a request may still wait.
fn left_of(wait: Wait, item: &Item, now: Time) -> Wait {
    match (wait, item.since) {
        (Wait::For(span), Some(since)) => Wait::For(Span(span.0.saturating_sub(now.since(since).0))),
        _ => wait,
    }
}

//! Answers.

use super::sender::Reply;
use super::stores::Place;
use super::waiter::{Operation, Requester};
use super::{Space, seeded};
use crate::codec::{self, Attempt, Change, LeaseId, Refusal, SELECTED, TUPLE, TupleFront, Witness};
use bytes::Bytes;
use quintet_contract::{Address, Kind, Outbox, SendError, Time, Token};
use quintet_errors::Code;
use quintet_wire::{Encode, Sink, encode_to_vec, send};

/// Room for so many answers that wait for a link is kept once they went.
const KEPT_REPLIES: usize = 16;

/// A body without bytes.
struct Empty;

impl Encode for Empty {
    fn encode(&self, _: &mut impl Sink) {}
}

impl Space {
    /// Answers with a kind that says everything.
    pub(crate) fn reply(&mut self, to: Address, kind: Kind, token: Token, out: &mut dyn Outbox) {
        self.reply_with(to, kind, token, &Empty, out);
    }

    /// Answers that a request failed.
    pub(crate) fn refuse(
        &mut self,
        to: Address,
        token: Token,
        code: Code,
        text: impl Into<String>,
        out: &mut dyn Outbox,
    ) {
        self.reply_with(to, codec::ERROR, token, &Refusal::new(code, text), out);
    }

    /// Answers. Where the link has no room, the answer waits for it; a sender with `max_waiting` answers waiting asks
    /// without regard to the room it has for answers, and gets no more of them.
    pub(crate) fn reply_with(
        &mut self,
        to: Address,
        kind: Kind,
        token: Token,
        body: &impl Encode,
        out: &mut dyn Outbox,
    ) {
        if send(out, to, kind, token, body) == Err(SendError::Full) {
            let limit = self.config.max_waiting;
            let replies = &mut self.senders.get_or_add(to).replies;
            if replies.len() < limit {
                replies.push_back(Reply { kind, token, body: encode_to_vec(body), bulk: Bytes::new() });
            }
        }
    }

    /// Sends the answers that waited for the link to `to`; whether it took all of them.
    pub(super) fn flush_replies(&mut self, to: Address, out: &mut dyn Outbox) -> bool {
        let Some(sender) = self.senders.get_mut(to) else { return true };
        while let Some(reply) = sender.replies.front() {
            let sent = match &reply.bulk {
                bulk if bulk.is_empty() => out.send(to, reply.kind, reply.token, &reply.body),
                bulk => out.send_bulk(to, reply.kind, reply.token, &reply.body, bulk.clone()),
            };
            if sent == Err(SendError::Full) {
                return false;
            }
            sender.replies.pop_front();
        }
        sender.replies.shrink_to(KEPT_REPLIES);
        true
    }

    /// Gives the tuple at `place` to the link, and only if that took it changes what the space holds. `which`: of a select, which of its
    /// templates matches.
    ///
    /// # Errors
    /// Why the link did not take it; nothing was changed.
    pub(super) fn deliver(
        &mut self,
        now: Time,
        place: Place,
        requester: &Requester,
        which: Option<u8>,
        out: &mut dyn Outbox,
    ) -> Result<(), SendError> {
        if seeded!(self.config, LostBetweenRemovalAndReply) && !requester.operation.leaves() {
            self.hide(place);
        }
        let mut scratch = core::mem::take(&mut self.scratch);
        let (kind, body) = self.tuple_body(place, requester, which);
        let sent = match self.stores.entry(place).bulk() {
            bulk if bulk.is_empty() => send(out, requester.address, kind, requester.token, &body),
            bulk => {
                scratch.clear();
                body.encode(&mut scratch);
                out.send_bulk(requester.address, kind, requester.token, &scratch, bulk)
            }
        };
        self.scratch = scratch;
        sent?;
        self.note_given(now, place, requester);
        Ok(())
    }

    /// The same where all that is still to be done is to tell: where the link has no room, the answer waits for it.
    pub(super) fn deliver_later(
        &mut self,
        now: Time,
        place: Place,
        requester: &Requester,
        which: Option<u8>,
    ) {
        let (kind, body) = self.tuple_body(place, requester, which);
        let (body, bulk) = (encode_to_vec(&body), self.stores.entry(place).bulk());
        let reply = Reply { kind, token: requester.token, body, bulk };
        self.senders.get_or_add(requester.address).replies.push_back(reply);
        self.note_given(now, place, requester);
    }

    /// The answer that gives a tuple, without its bulk.
    fn tuple_body(&self, place: Place, requester: &Requester, which: Option<u8>) -> (Kind, TupleBody<'_>) {
        let entry = self.stores.entry(place);
        let attempt = Attempt { lease: LeaseId(self.next_order), attempt: entry.failed + 1 };
        let front = match requester.operation {
            Operation::Take | Operation::Read | Operation::Count | Operation::Replace => TupleFront::Plain,
            Operation::Lease(_) | Operation::Hold { .. } => TupleFront::Leased(attempt),
            Operation::Witness => TupleFront::Witnessed(Witness { age: entry.order, place: place.number() }),
        };
        let kind = if which.is_some() { SELECTED } else { TUPLE };
        (kind, TupleBody { which, front, head: entry.head() })
    }

    /// A tuple was given to who asked for it.
    fn note_given(&mut self, now: Time, place: Place, requester: &Requester) {
        self.stores[place.store].note_delivery(now, place.entry, requester.operation.leaves());
        match requester.operation {
            Operation::Read | Operation::Witness | Operation::Count => {}
            Operation::Take => self.hold_until_settled(now, place, requester),
            Operation::Replace => self.remove_replaced(now, place),
            Operation::Lease(ttl) => self.hold_under_lease(now, place, requester.address, ttl, None),
            Operation::Hold { ttl, limit } => {
                self.hold_under_lease(now, place, requester.address, ttl, Some(limit));
            }
        }
    }

    /// Hides a tuple that a plain take was given, until that is settled.
    pub(super) fn hold_until_settled(&mut self, now: Time, place: Place, requester: &Requester) {
        self.hide(place);
        self.note(now, Change::Taken, place);
        self.stores[place.store].leave(place.entry);
        let entry = self.stores.entry(place);
        let bytes = entry.bytes();
        self.room.free(bytes, entry.account());
        self.room.add_unsettled(bytes);
        self.senders.get_or_add(requester.address).hold(requester.token, place);
        self.settle_surplus(requester);
    }

    /// Settles the oldest takes of a sender that has too many, or when all take too much memory.
    fn settle_surplus(&mut self, requester: &Requester) {
        while let Some(sender) = self.senders.get_mut(requester.address) {
            let too_many = sender.unsettled.len() > self.config.max_unsettled;
            if !too_many && self.room.unsettled().bytes <= self.config.max_bytes {
                return;
            }
            let Some(settled) = sender.settle_oldest_but(requester.token) else { return };
            let token = settled.token;
            self.remove_unsettled(settled);
            // What was taken together is settled together.
            while let Some(more) = self.senders.get_mut(requester.address).and_then(|s| s.undo(token)) {
                self.remove_unsettled(more);
            }
        }
    }
}

/// A [`TUPLE`] answer, or a [`SELECTED`] one, without its bulk.
struct TupleBody<'a> {
    which: Option<u8>,
    front: TupleFront,
    head: &'a [u8],
}

impl Encode for TupleBody<'_> {
    fn encode(&self, sink: &mut impl Sink) {
        if let Some(which) = self.which {
            sink.u8(which);
        }
        self.front.encode(sink);
        sink.bytes(self.head);
    }
}

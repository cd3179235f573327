//! What goes to a peer without being asked for: the opening, what the link had no room for, grants, credit, fragments.

use crate::budget::Budget;
use crate::channel::{Channel, Encoded};
use crate::codec::{CREDIT, GRANT, Grant, OPEN, PROCEED, Proceed};
use crate::counters::Counters;
use quintet_contract::{Outbox, SendError, Token};
use quintet_wire::send;

impl Channel {
    /// Sends what can go. What the link has no room for goes when it has: all of it follows from the books.
    pub(crate) fn settle(&mut self, out: &mut dyn Outbox, counters: &mut Counters, budget: &mut Budget) {
        self.more = false;
        self.incoming.reserve(self.address, budget);
        // The link says when there is room, or that it is gone.
        let _ = self.try_settle(out, counters);
    }

    /// Whether something may go in another `handle`.
    pub(crate) fn has_more(&self) -> bool {
        self.more
            || !self.pack.is_empty()
            || self.incoming.awaits_grant().is_some()
            || self.incoming.awaits_room()
    }

    fn try_settle(&mut self, out: &mut dyn Outbox, counters: &mut Counters) -> Result<(), SendError> {
        if !self.open_sent {
            send(out, self.address, OPEN, Token(0), &self.own)?;
            self.open_sent = true;
        }
        if self.pack.is_refused {
            self.send_pack(out)?;
            self.eased = true;
        }
        self.send_backlog(out)?;
        while self.incoming.can_grant() {
            send(out, self.address, GRANT, Token(0), &Grant)?;
            self.incoming.granted();
        }
        // What gathers goes in this burst, and returns credit as well.
        if self.ledger.is_due() && self.pack.is_empty() {
            let owed = self.ledger.owed;
            send(out, self.address, CREDIT, Token(0), &owed)?;
            self.ledger.returned(owed);
            counters.credits_alone += 1;
        }
        if let Some(fragments) = self.incoming.due_fragments() {
            send(out, self.address, PROCEED, Token(0), &Proceed(fragments))?;
            self.incoming.proceeded(fragments);
        }
        self.send_fragments(out, counters)
    }

    fn send_backlog(&mut self, out: &mut dyn Outbox) -> Result<(), SendError> {
        while let Some(answer) = self.backlog.front() {
            answer.send(self.address, out)?;
            self.eased = true;
            if let Some(Encoded { token, announced: Some(bulk), .. }) = self.backlog.pop_front() {
                self.outgoing.announced(token, bulk);
            }
        }
        Ok(())
    }

    fn send_fragments(&mut self, out: &mut dyn Outbox, counters: &mut Counters) -> Result<(), SendError> {
        let before = self.outgoing.bytes();
        let sent = self.outgoing.send_some(self.address, self.link.max_bulk_bytes, out);
        self.eased |= self.outgoing.bytes() < before;
        counters.fragments_sent += sent.unwrap_or_else(|(count, _)| count);
        sent.map_err(|(_, error)| error)?;
        self.more = self.outgoing.is_ready();
        Ok(())
    }
}

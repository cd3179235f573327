//! An outbox that passes everything on and notes it: for who records, and for who traces.

use bytes::Bytes;
use quintet_contract::{
    Address, CELL_WORDS, Cell, Disconnect, Draft, Kind, Outbox, OwnedFrame, Seen, SendError, Stage, Token,
};

/// What a protocol did.
pub(crate) enum OwnedCall {
    Sent(Address, OwnedFrame),
    Refused { to: Address, kind: Kind, token: Token, error: SendError },
    Poked([u64; CELL_WORDS]),
    Peeked([u64; CELL_WORDS]),
    Disconnected(Address, Disconnect),
    Stamped,
}

/// Passes everything on and notes it.
pub(crate) struct WatchingOutbox<'a> {
    out: &'a mut dyn Outbox,
    begun: Option<Draft>,
    /// Whether the frame begun is to be stamped.
    stamped: bool,
    calls: Vec<OwnedCall>,
}

impl<'a> WatchingOutbox<'a> {
    pub(crate) fn new(out: &'a mut dyn Outbox) -> Self {
        WatchingOutbox { out, begun: None, stamped: false, calls: Vec::new() }
    }

    /// What was done, in order.
    pub(crate) fn calls(self) -> Vec<OwnedCall> {
        self.calls
    }
}

impl Outbox for WatchingOutbox<'_> {
    fn begin(
        &mut self,
        to: Address,
        kind: Kind,
        token: Token,
        at_most: usize,
    ) -> Result<&mut [u8], SendError> {
        self.stamped = false;
        match self.out.begin(to, kind, token, at_most) {
            Ok(_) => Ok(self.begun.insert(Draft::new(to, kind, token, at_most)).room()),
            Err(error) => {
                self.calls.push(OwnedCall::Refused { to, kind, token, error });
                Err(error)
            }
        }
    }

    fn commit(&mut self, len: usize) {
        let mut draft = self.begun.take().expect("commit follows begin");
        let at_most = draft.room().len();
        let (to, frame) = draft.commit(len);
        // The room was given in `begin` and is given again: nothing was sent in between.
        let room = self.out.begin(to, frame.kind, frame.token, at_most).expect("the room found a moment ago");
        room[..len].copy_from_slice(&frame.body);
        if std::mem::take(&mut self.stamped) {
            self.out.stamp();
            self.calls.push(OwnedCall::Stamped);
        }
        self.out.commit(len);
        self.calls.push(OwnedCall::Sent(to, frame));
    }

    fn stamp(&mut self) {
        self.stamped = true;
    }

    fn send_bulk(
        &mut self,
        to: Address,
        kind: Kind,
        token: Token,
        head: &[u8],
        bulk: Bytes,
    ) -> Result<(), SendError> {
        match self.out.send_bulk(to, kind, token, head, bulk.clone()) {
            Ok(()) => {
                let frame = OwnedFrame { kind, token, body: Bytes::copy_from_slice(head), bulk };
                self.calls.push(OwnedCall::Sent(to, frame));
            }
            Err(error) => {
                self.calls.push(OwnedCall::Refused { to, kind, token, error });
                return Err(error);
            }
        }
        Ok(())
    }

    fn disconnect(&mut self, peer: Address, how: Disconnect) {
        self.begun = None;
        self.out.disconnect(peer, how);
        self.calls.push(OwnedCall::Disconnected(peer, how));
    }

    fn work(&mut self, stage: Stage, units: u32) {
        self.out.work(stage, units);
    }

    fn poke(&mut self, cell: &Cell, words: [u64; CELL_WORDS]) {
        self.out.poke(cell, words);
        self.calls.push(OwnedCall::Poked(words));
    }

    fn peek(&mut self, cell: &Cell, seen: &mut Seen) {
        self.out.peek(cell, seen);
        self.calls.push(OwnedCall::Peeked(seen.words));
    }
}

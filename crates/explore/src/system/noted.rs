//! An outbox that writes down what is sent.

use super::history::{History, What};
use quintet_contract::{
    Address, Bytes, CELL_WORDS, Cell, Disconnect, Kind, NodeId, Outbox, Seen, SendError, Stage, Token,
};

/// An outbox, and whose.
pub(super) struct Noted<'a> {
    pub(super) out: &'a mut dyn Outbox,
    pub(super) node: NodeId,
    pub(super) history: &'a History,
    /// The frame that was begun last.
    pub(super) begun: Option<(Address, Kind, Token)>,
}

impl Noted<'_> {
    fn note(&self, (to, kind, token): (Address, Kind, Token), bytes: usize) {
        // What goes to the own node is seen where it arrives.
        if to.node != self.node {
            self.history.note(Some(self.node), || What::Sent { to, kind, token, bytes });
        }
    }
}

impl Outbox for Noted<'_> {
    fn begin(
        &mut self,
        to: Address,
        kind: Kind,
        token: Token,
        at_most: usize,
    ) -> Result<&mut [u8], SendError> {
        self.begun = Some((to, kind, token));
        let found = self.out.begin(to, kind, token, at_most);
        if let Err(error) = &found {
            let error = *error;
            self.history.note(Some(self.node), || What::Refused { to, error });
        }
        found
    }

    fn commit(&mut self, len: usize) {
        if let Some(begun) = self.begun.take() {
            self.note(begun, len);
        }
        self.out.commit(len);
    }

    fn stamp(&mut self) {
        self.out.stamp();
    }

    fn send_bulk(
        &mut self,
        to: Address,
        kind: Kind,
        token: Token,
        head: &[u8],
        bulk: Bytes,
    ) -> Result<(), SendError> {
        let bytes = head.len() + bulk.len();
        self.out.send_bulk(to, kind, token, head, bulk)?;
        self.note((to, kind, token), bytes);
        Ok(())
    }

    fn disconnect(&mut self, peer: Address, how: Disconnect) {
        self.history.note(Some(self.node), || What::Closes(peer));
        self.out.disconnect(peer, how);
    }

    fn work(&mut self, stage: Stage, units: u32) {
        self.out.work(stage, units);
    }

    fn poke(&mut self, cell: &Cell, words: [u64; CELL_WORDS]) {
        self.out.poke(cell, words);
    }

    fn peek(&mut self, cell: &Cell, seen: &mut Seen) {
        self.out.peek(cell, seen);
    }
}

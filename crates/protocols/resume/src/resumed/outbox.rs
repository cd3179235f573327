//! The service's outbox: what it sends to a client is kept, and goes where the client is.

use super::clients::Clients;
use quintet_contract::limits::MAX_PAYLOAD_BYTES;
use quintet_contract::{
    Address, Bytes, CELL_WORDS, Cell, Disconnect, Draft, Kind, Outbox, OwnedFrame, Seen, SendError, Stage,
    Token,
};

/// Lives for one `handle`.
pub(super) struct Keeping<'a> {
    clients: &'a mut Clients,
    out: &'a mut dyn Outbox,
    begun: Option<Draft>,
}

impl<'a> Keeping<'a> {
    pub(super) fn new(clients: &'a mut Clients, out: &'a mut dyn Outbox) -> Keeping<'a> {
        Keeping { clients, out, begun: None }
    }

    /// Whether what is so long goes to a client. None: it is for somebody else.
    fn admit(&mut self, to: Address, body: usize, bulk: usize) -> Option<Result<(), SendError>> {
        let link = self.clients.at_place(to)?.link;
        let limits = [(body, link.max_body_bytes.min(MAX_PAYLOAD_BYTES)), (bulk, link.max_bulk_bytes)];
        let above = limits.into_iter().find(|(len, limit)| len > limit);
        Some(above.map_or(Ok(()), |(len, limit)| Err(SendError::TooLong { len, limit })))
    }

    fn answer(&mut self, to: Address, answer: &OwnedFrame) {
        let Some(client) = self.clients.at_place(to) else { return };
        if client.answer(answer)
            && let Some(at) = client.at
        {
            pass(at, answer, self.out);
        }
    }
}

/// Sends an answer. Where it cannot go its client asks for it again, over another link.
pub(super) fn pass(to: Address, answer: &OwnedFrame, out: &mut dyn Outbox) {
    let OwnedFrame { kind, token, body, bulk } = answer;
    let _ = match bulk.is_empty() {
        true => out.send(to, *kind, *token, body),
        false => out.send_bulk(to, *kind, *token, body, bulk.clone()),
    };
}

impl Outbox for Keeping<'_> {
    fn begin(
        &mut self,
        to: Address,
        kind: Kind,
        token: Token,
        at_most: usize,
    ) -> Result<&mut [u8], SendError> {
        self.begun = None;
        match self.admit(to, at_most, 0) {
            None => self.out.begin(to, kind, token, at_most),
            Some(admitted) => {
                admitted?;
                Ok(self.begun.insert(Draft::new(to, kind, token, at_most)).room())
            }
        }
    }

    fn commit(&mut self, len: usize) {
        match self.begun.take() {
            None => self.out.commit(len),
            Some(draft) => {
                let (to, answer) = draft.commit(len);
                self.answer(to, &answer);
            }
        }
    }

    fn stamp(&mut self) {
        if self.begun.is_none() {
            self.out.stamp();
        }
    }

    fn send_bulk(
        &mut self,
        to: Address,
        kind: Kind,
        token: Token,
        head: &[u8],
        bulk: Bytes,
    ) -> Result<(), SendError> {
        let Some(admitted) = self.admit(to, head.len(), bulk.len()) else {
            return self.out.send_bulk(to, kind, token, head, bulk);
        };
        admitted?;
        self.answer(to, &OwnedFrame { kind, token, body: Bytes::copy_from_slice(head), bulk });
        Ok(())
    }

    fn disconnect(&mut self, peer: Address, how: Disconnect) {
        self.begun = None;
        match self.clients.at_place(peer) {
            None => self.out.disconnect(peer, how),
            Some(client) => client.at.into_iter().for_each(|at| self.out.disconnect(at, how)),
        }
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

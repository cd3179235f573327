//! How long the operations of a node's callers take: from when an instance is given the request until it gives the answer.

use crate::histograms::Histograms;
use crate::traced::KindNames;
use bytes::Bytes;
use quintet_clock::monotonic;
use quintet_contract::{
    Address, CELL_WORDS, Cell, Disconnect, Input, Kind, Outbox, Seen, SendError, Stage, Token,
};
use quintet_wire::registry::PORT_CALLERS;
use std::collections::HashMap;

pub(crate) struct Timed {
    histograms: Histograms,
    names: KindNames,
    /// Since when each is under way, and of which kind it is.
    open: HashMap<Token, (Kind, u64)>,
    /// Those that were answered just now. Kept for its room.
    answered: Vec<Token>,
}

impl Timed {
    pub(crate) fn new(histograms: Histograms, names: KindNames) -> Timed {
        Timed { histograms, names, open: HashMap::new(), answered: Vec::new() }
    }

    /// Lets the instance handle an input.
    pub(crate) fn handle(
        &mut self,
        input: Input<'_>,
        out: &mut dyn Outbox,
        handle: impl FnOnce(&mut dyn Outbox),
    ) {
        match input {
            Input::Frame(from, frame)
                if from.port == PORT_CALLERS && (self.names.is_answered)(frame.kind) =>
            {
                self.open.insert(frame.token, (frame.kind, monotonic()));
            }
            _ => {}
        }
        handle(&mut Answers { out, answered: &mut self.answered, begun: None });
        if self.answered.is_empty() {
            return;
        }
        let now = monotonic();
        for token in self.answered.drain(..) {
            if let Some((kind, since)) = self.open.remove(&token) {
                self.histograms.add((self.names.name)(kind), now.saturating_sub(since));
            }
        }
    }
}

/// Passes everything on, and notes which requests of callers were answered.
struct Answers<'a> {
    out: &'a mut dyn Outbox,
    answered: &'a mut Vec<Token>,
    /// Whose answer was begun.
    begun: Option<Token>,
}

impl Outbox for Answers<'_> {
    fn begin(
        &mut self,
        to: Address,
        kind: Kind,
        token: Token,
        at_most: usize,
    ) -> Result<&mut [u8], SendError> {
        self.begun = (to.port == PORT_CALLERS).then_some(token);
        self.out.begin(to, kind, token, at_most)
    }

    fn commit(&mut self, len: usize) {
        self.out.commit(len);
        self.answered.extend(self.begun.take());
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
        self.out.send_bulk(to, kind, token, head, bulk)?;
        self.answered.extend((to.port == PORT_CALLERS).then_some(token));
        Ok(())
    }

    fn disconnect(&mut self, peer: Address, how: Disconnect) {
        self.begun = None;
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

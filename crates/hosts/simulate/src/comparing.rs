//! An outbox that compares what a protocol does with what was recorded.

use bytes::Bytes;
use quintet_contract::{Address, CELL_WORDS, Cell, Disconnect, Kind, Outbox, Seen, SendError, Token};
use quintet_wire::journal::{BulkId, Call};
use std::collections::{BTreeMap, VecDeque};

/// Compares each call with the recorded one and gives the recorded answer.
pub(crate) struct ComparingOutbox<'a> {
    bulks: &'a BTreeMap<BulkId, Bytes>,
    expected: VecDeque<Call<'a>>,
    begun: Option<(Address, Kind, Token, Vec<u8>)>,
    difference: Option<(String, String)>,
    /// Frames compared.
    pub(crate) frames: u64,
    /// Their bytes.
    pub(crate) bytes: u64,
}

impl<'a> ComparingOutbox<'a> {
    pub(crate) fn new(bulks: &'a BTreeMap<BulkId, Bytes>, calls: Vec<Call<'a>>) -> Self {
        ComparingOutbox { bulks, expected: calls.into(), begun: None, difference: None, frames: 0, bytes: 0 }
    }

    /// The first difference, if there is one.
    pub(crate) fn finish(&mut self) -> Option<(String, String)> {
        if self.difference.is_none() {
            self.difference =
                self.expected.pop_front().map(|call| (format!("{call:?}"), "nothing more".to_owned()));
        }
        self.difference.take()
    }

    /// The refusal that was recorded for this frame, if it was refused.
    fn refusal(&mut self, to: Address, kind: Kind, token: Token) -> Option<SendError> {
        match self.expected.front() {
            Some(Call::Refused(a, k, t, error)) if (*a, *k, *t) == (to, kind, token) => {
                let error = *error;
                self.expected.pop_front();
                Some(error)
            }
            _ => None,
        }
    }

    fn sent(&mut self, to: Address, kind: Kind, token: Token, body: &[u8], bulk: &Bytes) {
        if self.difference.is_some() {
            return;
        }
        let recorded = self.expected.pop_front();
        let same = matches!(&recorded, Some(Call::Sent(a, m)) if *a == to
            && (m.kind, m.token, m.body) == (kind, token, body)
            && self.bulks.get(&m.bulk).map_or(bulk.is_empty(), |recorded| recorded == bulk));
        if same {
            self.frames += 1;
            self.bytes += (body.len() + bulk.len()) as u64;
        } else {
            let replayed = format!(
                "{to} kind {} token {} body {body:02x?} and {} bytes of bulk",
                kind.0,
                token.0,
                bulk.len()
            );
            self.differ(recorded, || replayed);
        }
    }

    /// Keeps the first difference.
    fn differ(&mut self, recorded: Option<Call<'_>>, replayed: impl FnOnce() -> String) {
        if self.difference.is_none() {
            let recorded = recorded.map_or("nothing more".to_owned(), |call| format!("{call:02x?}"));
            self.difference = Some((recorded, replayed()));
        }
    }
}

impl Outbox for ComparingOutbox<'_> {
    fn begin(
        &mut self,
        to: Address,
        kind: Kind,
        token: Token,
        at_most: usize,
    ) -> Result<&mut [u8], SendError> {
        if let Some(error) = self.refusal(to, kind, token) {
            return Err(error);
        }
        Ok(&mut self.begun.insert((to, kind, token, vec![0; at_most])).3)
    }

    fn commit(&mut self, len: usize) {
        let (to, kind, token, body) = self.begun.take().expect("commit follows begin");
        self.sent(to, kind, token, &body[..len], &Bytes::new());
    }

    fn stamp(&mut self) {
        match self.expected.pop_front() {
            Some(Call::Stamped) => {}
            other => self.differ(other, || "a stamp was asked for".to_owned()),
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
        if let Some(error) = self.refusal(to, kind, token) {
            return Err(error);
        }
        self.sent(to, kind, token, head, &bulk);
        Ok(())
    }

    fn disconnect(&mut self, peer: Address, how: Disconnect) {
        self.begun = None;
        if self.difference.is_some() {
            return;
        }
        let recorded = self.expected.pop_front();
        if recorded != Some(Call::Disconnected(peer, how)) {
            self.differ(recorded, || format!("{peer} disconnected: {how:?}"));
        }
    }

    fn poke(&mut self, _cell: &Cell, words: [u64; CELL_WORDS]) {
        match self.expected.pop_front() {
            Some(Call::Poked(recorded)) if recorded == words => {}
            other => self.differ(other, || format!("{words:?} were written to a cell")),
        }
    }

    fn peek(&mut self, _cell: &Cell, seen: &mut Seen) {
        match self.expected.pop_front() {
            Some(Call::Peeked(recorded)) => seen.words = recorded,
            other => self.differ(other, || "a cell was read".to_owned()),
        }
    }
}

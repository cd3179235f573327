//! Questions about the space itself.

use super::{Space, stages};
use crate::codec::{COUNTED, STATE, SignatureState, State, View};
use quintet_contract::{Address, Outbox, Token};
use quintet_wire::{Encode, Sink};

struct Number(usize);

impl Encode for Number {
    fn encode(&self, sink: &mut impl Sink) {
        sink.u64(self.0 as u64);
    }
}

/// Bytes of the signatures in a report: the rest of the rows is left out.
const MAX_SIGNATURES_BYTES: usize = 32 * 1024;

impl Space {
    /// Answers how many tuples match. While the index for that is not ready, it compares all: O(tuples of that signature).
    pub(super) fn count(&mut self, from: Address, token: Token, template: &View<'_>, out: &mut dyn Outbox) {
        let (matching, compared) = self.stores.count(template, self.config.index_step.max(1), &self.key);
        out.work(stages::MATCH, compared + 1);
        self.reply_with(from, COUNTED, token, &Number(matching), out);
    }

    /// Answers how the space is. O(signatures).
    pub(super) fn status(&mut self, from: Address, token: Token, out: &mut dyn Outbox) {
        let state = self.state();
        self.reply_with(from, STATE, token, &state, out);
    }

    fn state(&self) -> State {
        State {
            tuples: self.stores.iter().map(|store| store.shown() as u64).sum(),
            bytes: self.room.held().bytes,
            hidden: self.stores.iter().map(|store| store.hidden() as u64).sum(),
            waiters: self.waiters.len() as u64,
            leases: self.leases.len() as u64,
            parked: self.room.parked() as u64,
            redone: self.redone,
            dead_letters: self.dead_letters,
            signatures: self.stores.len() as u64,
            rows: self.rows(),
        }
    }

    fn rows(&self) -> Vec<SignatureState> {
        let mut bytes = 0;
        let fitting = self.stores.iter().take(State::MAX_ROWS).take_while(|store| {
            bytes += store.signature().0.len();
            bytes <= MAX_SIGNATURES_BYTES
        });
        fitting
            .map(|store| SignatureState {
                signature: store.signature().clone(),
                tuples: store.shown() as u64,
                hidden: store.hidden() as u64,
                waiters: store.waiters() as u64,
            })
            .collect()
    }
}

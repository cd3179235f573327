//! Questions about the space itself.

use super::Space;
use crate::codec::{COUNTED, STATE, SignatureState, State};
use quintet_contract::{Address, Outbox, Token};
use quintet_wire::{Encode, Sink};

struct Number(u64);

impl Encode for Number {
    fn encode(&self, sink: &mut impl Sink) {
        sink.u64(self.0);
    }
}

/// Bytes of the signatures in a report: the rest of the rows is left out.
const MAX_SIGNATURES_BYTES: usize = 32 * 1024;

impl Space {
    /// Answers how many tuples match.
    pub(super) fn reply_count(&mut self, to: Address, token: Token, matching: u64, out: &mut dyn Outbox) {
        self.reply_with(to, COUNTED, token, &Number(matching), out);
    }

    /// Answers how the space is.
    pub(super) fn status(&mut self, from: Address, token: Token, out: &mut dyn Outbox) {
        let state = self.state();
        self.reply_with(from, STATE, token, &state, out);
    }

    fn state(&self) -> State {
        State { rows: self.rows(), ..self.counts() }
    }

    /// The same without a row for each signature.
    pub(crate) fn counts(&self) -> State {
        let (held, leases) = (self.room.held(), self.leases.len() as u64);
        State {
            // Those that count and are not leased; and those that are leased, or were taken.
            tuples: held.tuples.saturating_sub(leases),
            bytes: held.bytes,
            index_bytes: self.room.index_bytes(),
            hidden: leases + self.room.unsettled().tuples,
            // A select at several managers is one that waits.
            waiters: self.waiters.len() as u64 - self.sought_for_others(),
            leases,
            parked: self.room.parked() as u64,
            redone: self.redone,
            dead_letters: self.dead_letters,
            signatures: self.stores.len() as u64,
            rows: Vec::new(),
            moved_keys: 0,
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

//! The answers of all managers to one request, as one.

use crate::codec::{Answer, COUNTED, DONE, ERROR, MOVED, STATE, SignatureState, State};
use quintet_contract::{Frame, Kind};
use quintet_wire::{Sink, encode_to_vec};
use std::collections::{BTreeMap, BTreeSet};

/// What is being summed up.
#[derive(Debug)]
pub(super) struct Merge {
    /// Who has not answered.
    left: BTreeSet<u8>,
    sum: Sum,
    /// Those that do not have it.
    moved: Vec<u8>,
    /// The first error, as it came.
    error: Option<Vec<u8>>,
}

/// A sum so far.
#[derive(Debug)]
pub(super) enum Sum {
    Done,
    Count(u64),
    State(Box<State>),
}

/// An answer to a caller.
pub(super) struct Merged {
    pub(super) kind: Kind,
    pub(super) body: Vec<u8>,
}

impl Merge {
    /// Of the answers of these managers.
    pub(super) fn new(managers: impl Iterator<Item = u8>, sum: Sum) -> Merge {
        Merge { left: managers.collect(), sum, moved: Vec::new(), error: None }
    }

    /// Adds an answer; whether it was the last.
    pub(super) fn add(&mut self, manager: u8, frame: &Frame<'_>) -> bool {
        if !self.left.remove(&manager) {
            return false;
        }
        match (Answer::decode(frame.kind, frame.body, frame.bulk), &mut self.sum) {
            _ if frame.kind == MOVED => self.moved.push(manager),
            (Ok(Answer::Count(count)), Sum::Count(sum)) => *sum = sum.saturating_add(count),
            (Ok(Answer::State(state)), Sum::State(sum)) => add_state(sum, &state),
            (Ok(Answer::Done), Sum::Done) => {}
            _ if frame.kind == ERROR => drop(self.error.get_or_insert_with(|| frame.body.to_vec())),
            // What is no answer to the question is passed on as nothing can be.
            _ => drop(self.error.get_or_insert_with(Vec::new)),
        }
        self.left.is_empty()
    }

    /// The answer; or the managers that do not have it.
    pub(super) fn finish(self) -> Result<Merged, Vec<u8>> {
        if let Some(body) = self.error {
            return Ok(Merged { kind: ERROR, body });
        }
        if !self.moved.is_empty() {
            return Err(self.moved);
        }
        Ok(match self.sum {
            Sum::Done => Merged { kind: DONE, body: Vec::new() },
            Sum::Count(count) => {
                let mut body = Vec::new();
                body.u64(count);
                Merged { kind: COUNTED, body }
            }
            Sum::State(state) => Merged { kind: STATE, body: encode_to_vec(&*state) },
        })
    }
}

/// Adds what another manager has.
fn add_state(sum: &mut State, state: &State) {
    let are_all = sum.rows.len() as u64 == sum.signatures && state.rows.len() as u64 == state.signatures;
    let pairs = [
        (&mut sum.tuples, state.tuples),
        (&mut sum.bytes, state.bytes),
        (&mut sum.index_bytes, state.index_bytes),
        (&mut sum.hidden, state.hidden),
        (&mut sum.waiters, state.waiters),
        (&mut sum.leases, state.leases),
        (&mut sum.parked, state.parked),
        (&mut sum.redone, state.redone),
        (&mut sum.dead_letters, state.dead_letters),
        (&mut sum.signatures, state.signatures),
    ];
    pairs.into_iter().for_each(|(sum, more)| *sum = sum.saturating_add(more));
    let mut rows: BTreeMap<_, SignatureState> =
        sum.rows.drain(..).map(|row| (row.signature.clone(), row)).collect();
    for row in &state.rows {
        match rows.get_mut(&row.signature) {
            Some(sum) => {
                sum.tuples = sum.tuples.saturating_add(row.tuples);
                sum.hidden = sum.hidden.saturating_add(row.hidden);
                sum.waiters = sum.waiters.saturating_add(row.waiters);
            }
            None => drop(rows.insert(row.signature.clone(), row.clone())),
        }
    }
    // One that is spread is known at several.
    if are_all {
        sum.signatures = rows.len() as u64;
    }
    sum.rows = rows.into_values().take(State::MAX_ROWS).collect();
}

//! What a member has performed, until somebody reads it: so many, and no more.

use quintet::isotach::{Operation, Performed};
use quintet::{Code, Error};
use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Kept for who reads. Nobody waits for a reader: what comes when there is no room is lost, and the reader is told so.
pub(crate) struct Events {
    state: Mutex<State>,
    changed: Condvar,
    max_events: usize,
    max_bytes: usize,
}

#[derive(Default)]
struct State {
    events: VecDeque<Performed>,
    bytes: usize,
    /// How many were lost behind them.
    lost: u64,
    has_ended: bool,
    told: Vec<Box<dyn FnOnce() + Send>>,
}

/// What a reader gets.
pub(crate) enum Next {
    Event(Performed),
    Lost(Error),
    /// There is nothing more.
    End,
}

impl Events {
    pub(crate) fn holding(max_events: usize, max_bytes: usize) -> Events {
        Events { state: Mutex::default(), changed: Condvar::new(), max_events, max_bytes }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        let told = {
            let mut state = self.state();
            change(&mut state);
            if state.is_quiet() { Vec::new() } else { std::mem::take(&mut state.told) }
        };
        self.changed.notify_all();
        told.into_iter().for_each(|callback| callback());
    }

    /// Something was performed. Once one is lost all are, until the reader has heard of it: so it knows between which.
    pub(crate) fn put(&self, performed: &Performed) {
        let bytes = bytes_of(performed);
        self.change(|state| {
            let has_room = state.events.len() < self.max_events && state.bytes + bytes <= self.max_bytes;
            if has_room && state.lost == 0 {
                state.bytes += bytes;
                state.events.push_back(performed.clone());
            } else {
                state.lost += 1;
            }
        });
    }

    /// Nothing more comes.
    pub(crate) fn end(&self) {
        self.change(|state| state.has_ended = true);
    }

    /// Calls back once [`next`](Events::next) gives something at once.
    pub(crate) fn notify(&self, callback: Box<dyn FnOnce() + Send>) {
        self.change(|state| state.told.push(callback));
    }

    /// The next, if there is one within `limit`.
    pub(crate) fn next(&self, limit: Duration) -> Option<Next> {
        let waited = self.changed.wait_timeout_while(self.state(), limit, |state| state.is_quiet());
        let mut state = waited.unwrap_or_else(PoisonError::into_inner).0;
        if let Some(performed) = state.events.pop_front() {
            state.bytes -= bytes_of(&performed);
            return Some(Next::Event(performed));
        }
        let lost = std::mem::take(&mut state.lost);
        if lost > 0 {
            let text = format!(
                "{lost} events were lost here: they came faster than they were read, with {} of {} bytes kept; read faster, or keep more (max_events, max_event_bytes)",
                self.max_events, self.max_bytes
            );
            return Some(Next::Lost(Error::new(Code::LimitReached, text)));
        }
        state.has_ended.then_some(Next::End)
    }
}

impl State {
    fn is_quiet(&self) -> bool {
        self.events.is_empty() && self.lost == 0 && !self.has_ended
    }
}

/// What one takes of the room.
fn bytes_of(performed: &Performed) -> usize {
    let bytes = match &performed.operation {
        Operation::Send { bytes, .. } | Operation::Write(_, bytes) | Operation::Assign(_, bytes) => {
            bytes.len()
        }
        Operation::Read(_) | Operation::Sched(_) => 0,
    };
    size_of::<Performed>() + bytes
}

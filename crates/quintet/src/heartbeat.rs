//! Keeps leases alive while the program computes: one sleeping thread a process, started by its first remote lease.

use crate::pending::tell;
use quintet_runtime::Calls;
use quintet_tuple_space::Request;
use std::sync::Arc;
use std::sync::{Condvar, Mutex, PoisonError, Weak};
use std::thread;
use std::time::Duration;

/// Renewals in the time a lease lives: one may be lost to a long pause and the next still comes in time.
const RENEWALS: u32 = 3;

/// The heartbeat of one connection.
pub(crate) struct Heartbeat {
    calls: Weak<Calls>,
    lease: Option<Duration>,
    state: Arc<(Mutex<State>, Condvar)>,
}

#[derive(Default)]
struct State {
    started: bool,
    ended: bool,
    leases: u64,
}

impl Heartbeat {
    /// For leases that live for `lease` unless renewed. None: they need no heartbeat.
    pub(crate) fn new(calls: Weak<Calls>, lease: Option<Duration>) -> Self {
        Heartbeat { calls, lease, state: Arc::default() }
    }

    /// A lease was taken.
    pub(crate) fn begin(&self) {
        let Some(lease) = self.lease else { return };
        let mut state = self.state.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.leases += 1;
        if !state.started {
            state.started = true;
            let (calls, state) = (Weak::clone(&self.calls), Arc::clone(&self.state));
            thread::spawn(move || beat(&calls, &state, lease / RENEWALS));
        }
    }

    /// A lease has ended.
    pub(crate) fn end(&self) {
        if self.lease.is_some() {
            self.state.0.lock().unwrap_or_else(PoisonError::into_inner).leases -= 1;
        }
    }
}

fn beat(calls: &Weak<Calls>, state: &(Mutex<State>, Condvar), period: Duration) {
    let (state, ended) = state;
    let mut held = state.lock().unwrap_or_else(PoisonError::into_inner);
    loop {
        let waited = ended.wait_timeout(held, period).unwrap_or_else(PoisonError::into_inner);
        if waited.0.ended {
            return;
        }
        let leases = waited.0.leases;
        drop(waited);
        if leases > 0 {
            let Some(calls) = calls.upgrade() else { return };
            tell(&calls, None, &Request::Renew);
            calls.progress(Duration::ZERO);
        }
        held = state.lock().unwrap_or_else(PoisonError::into_inner);
    }
}

impl Drop for Heartbeat {
    fn drop(&mut self) {
        self.state.0.lock().unwrap_or_else(PoisonError::into_inner).ended = true;
        self.state.1.notify_all();
    }
}

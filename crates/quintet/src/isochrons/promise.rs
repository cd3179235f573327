//! What comes once, for who waits for it or is called back.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// What is done once it has come.
type Callback = Box<dyn FnOnce() + Send>;

/// Where it comes.
pub(super) struct Promise<T> {
    state: Mutex<State<T>>,
    changed: Condvar,
}

struct State<T> {
    step: Step<T>,
    told: Vec<Callback>,
}

enum Step<T> {
    Awaited,
    Here(T),
    /// Somebody has it.
    Given,
    /// Nobody wants it.
    Unwanted,
}

impl<T> Promise<T> {
    pub(super) fn awaited() -> Promise<T> {
        let state = State { step: Step::Awaited, told: Vec::new() };
        Promise { state: Mutex::new(state), changed: Condvar::new() }
    }

    fn state(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// It has come. Gives it back if nobody wants it.
    pub(super) fn come(&self, what: T) -> Option<T> {
        let mut state = self.state();
        if matches!(state.step, Step::Unwanted) {
            return Some(what);
        }
        state.step = Step::Here(what);
        let told = core::mem::take(&mut state.told);
        drop(state);
        self.changed.notify_all();
        told.into_iter().for_each(|callback| callback());
        None
    }

    /// It, if it comes within `limit`; given once.
    pub(super) fn wait(&self, limit: Duration) -> Option<T> {
        let is_awaited = |state: &mut State<T>| matches!(state.step, Step::Awaited);
        let waited = self.changed.wait_timeout_while(self.state(), limit, is_awaited);
        waited.unwrap_or_else(PoisonError::into_inner).0.take()
    }

    /// Nobody wants it any more. What is here is given back.
    pub(super) fn renounce(&self) -> Option<T> {
        let mut state = self.state();
        let here = state.take();
        if here.is_none() && matches!(state.step, Step::Awaited) {
            state.step = Step::Unwanted;
        }
        here
    }

    /// Whether nobody wants it any more.
    pub(super) fn is_unwanted(&self) -> bool {
        matches!(self.state().step, Step::Unwanted)
    }

    /// Whether [`wait`](Promise::wait) would say at once.
    pub(super) fn is_here(&self) -> bool {
        !matches!(self.state().step, Step::Awaited)
    }

    /// Calls back once it is here: now, or on the thread that brings it.
    pub(super) fn notify(&self, callback: Callback) {
        let mut state = self.state();
        if matches!(state.step, Step::Awaited) {
            state.told.push(callback);
        } else {
            drop(state);
            callback();
        }
    }
}

impl<T> State<T> {
    fn take(&mut self) -> Option<T> {
        match core::mem::replace(&mut self.step, Step::Given) {
            Step::Here(what) => Some(what),
            other => {
                self.step = other;
                None
            }
        }
    }
}

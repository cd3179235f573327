//! What a member of an isonet has begun and waits for: the same for isochrons, updates and plain messages.

use crate::connection::{limit, wait_with_signals};
use crate::error::raise;
use crate::fork::Maker;
use crate::isonet::Program;
use crate::pending::calling;
use pyo3::prelude::*;
use quintet::{Code, Error, Executed, PendingIsochron, PendingPlain, PendingUpdate, Place};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// What the library gives of it.
pub(crate) trait Begun: Send + 'static {
    /// What it comes to.
    type Done: Clone + Send;
    /// What is so once a wait for it was too short.
    const GOES_ON: &str;

    fn wait(&mut self, limit: Duration) -> Option<Result<Self::Done, Error>>;

    fn notify(&self, callback: Box<dyn FnOnce() + Send>);
}

impl Begun for PendingIsochron {
    type Done = Executed;
    const GOES_ON: &str = "the isochron goes on, and may be executed yet";

    fn wait(&mut self, limit: Duration) -> Option<Result<Executed, Error>> {
        PendingIsochron::wait(self, limit)
    }

    fn notify(&self, callback: Box<dyn FnOnce() + Send>) {
        PendingIsochron::notify(self, callback);
    }
}

impl Begun for PendingPlain {
    type Done = ();
    const GOES_ON: &str = "the message goes on, and may arrive yet";

    fn wait(&mut self, limit: Duration) -> Option<Result<(), Error>> {
        PendingPlain::wait(self, limit)
    }

    fn notify(&self, callback: Box<dyn FnOnce() + Send>) {
        PendingPlain::notify(self, callback);
    }
}

impl Begun for PendingUpdate {
    type Done = Place;
    const GOES_ON: &str = "the update goes on, and happens if this member does";

    fn wait(&mut self, limit: Duration) -> Option<Result<Place, Error>> {
        PendingUpdate::wait(self, limit)
    }

    fn notify(&self, callback: Box<dyn FnOnce() + Send>) {
        PendingUpdate::notify(self, callback);
    }
}

/// It, until it is done, and then what it came to, which may be asked for again. Dropped, it goes on.
pub(crate) struct UnderWay<B: Begun> {
    program: Arc<Program>,
    process: Maker,
    state: Mutex<State<B>>,
}

enum State<B: Begun> {
    UnderWay(B),
    Done(Result<B::Done, Error>),
    /// It is dropped.
    Over,
}

impl<B: Begun> UnderWay<B> {
    pub(crate) fn new(program: &Arc<Program>, process: Maker, begun: B) -> UnderWay<B> {
        UnderWay { program: Arc::clone(program), process, state: Mutex::new(State::UnderWay(begun)) }
    }

    fn state(&self) -> MutexGuard<'_, State<B>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn look(&self, slice: Duration) -> Option<Result<B::Done, Error>> {
        let mut state = self.state();
        if let State::UnderWay(begun) = &mut *state {
            let done = begun.wait(slice)?;
            *state = State::Done(done);
        }
        match &*state {
            State::Done(done) => Some(done.clone()),
            State::UnderWay(_) | State::Over => None,
        }
    }

    /// What it has come to, waited for for so many seconds at most.
    pub(crate) fn result(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<B::Done> {
        wait(py, (&self.program, self.process), timeout, B::GOES_ON, |slice| self.look(slice))
    }

    /// Whether `result` would say at once.
    pub(crate) fn done(&self, py: Python<'_>) -> bool {
        self.process.check().is_err() || py.detach(|| self.look(Duration::ZERO)).is_some()
    }

    /// Calls back once `done`: now, or on the thread that brings the answer. It must hand over and return.
    pub(crate) fn notify(&self, py: Python<'_>, callback: Py<PyAny>) {
        let call = Box::new(calling(callback));
        py.detach(|| match &*self.state() {
            State::UnderWay(begun) if self.process.check().is_ok() => begun.notify(call),
            _ => call(),
        });
    }
}

impl<B: Begun> Drop for UnderWay<B> {
    fn drop(&mut self) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        let state = std::mem::replace(state, State::Over);
        Python::attach(|py| self.process.let_go(py, state));
    }
}

/// Waits for what a member has asked for, for so many seconds at most; `goes_on` says what is so where that is not enough.
///
/// # Errors
/// What it fails with; `TimedOut`; a signal's exception; `Closed` in a child of the process that asked.
pub(crate) fn wait<T: Send>(
    py: Python<'_>,
    (program, process): (&Program, Maker),
    timeout: Option<f64>,
    goes_on: &str,
    look: impl Fn(Duration) -> Option<Result<T, Error>> + Sync,
) -> PyResult<T> {
    let limit = limit(timeout)?;
    let seen = wait_with_signals(py, limit, |slice| match process.check() {
        Err(error) => Some(Err(error)),
        Ok(()) => py.detach(|| look(slice)),
    })?;
    let timed_out = || raise(Error::new(Code::TimedOut, format!("{goes_on}{}", program.held_up_by())));
    seen.ok_or_else(timed_out)?.map_err(|error| program.raise(error))
}

//! An operation under way.

use crate::collecting::from_collected;
use crate::connection::{Connection, limit};
use crate::error::raise;
use crate::lease::Lease;
use crate::listing::from_page;
use crate::outcome::{leased, selected};
use crate::status::from_state;
use crate::value::from_tuple;
use crate::watching::from_events;
use pyo3::prelude::*;
use quintet::{Error, Outcome};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// An operation under way. Dropped before it is done, it is cancelled, and a tuple on its way goes back to its place.
#[pyclass(frozen, module = "quintet")]
pub(crate) struct Pending {
    connection: Arc<Connection>,
    /// Whose operation it is, if it is a group's.
    group: Option<Arc<quintet::Group>>,
    state: Mutex<State>,
}

enum State {
    UnderWay(quintet::Pending),
    Acknowledging(quintet::Acknowledgement),
    Done(PyResult<Py<PyAny>>),
}

#[pymethods]
impl Pending {
    /// The outcome: a tuple, a Lease, which template of a select matched and one of these, a count, a Status, a page of a listing or of a collection, or None for what was put and where nothing matches. It may be
    /// asked for again.
    ///
    /// Raises the operation's error; TimedOut after `timeout` seconds, and then the operation goes on.
    #[pyo3(signature = (timeout = None))]
    fn result(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<Py<PyAny>> {
        let seen = self.connection.wait(py, limit(timeout)?, |slice| self.look(py, slice))?;
        self.collect(py, seen)
    }

    /// Whether `result` would give the outcome at once.
    fn done(&self, py: Python<'_>) -> bool {
        self.look(py, Duration::ZERO).is_some()
    }

    /// Asks for the operation's end. It still ends exactly once: with Cancelled, or as it would have.
    fn cancel(&self, py: Python<'_>) {
        if self.connection.check_maker().is_err() {
            return;
        }
        py.detach(|| {
            if let Some(pending) = self.state().under_way() {
                pending.cancel();
            }
        });
    }

    /// Calls `callback` once `result` would give the outcome: now, or on the thread that brings it, which may be one that waits
    /// for the result. It must hand over and return.
    fn notify(&self, py: Python<'_>, callback: Py<PyAny>) {
        let call = calling(callback);
        py.detach(|| {
            if self.connection.check_maker().is_err() {
                return call();
            }
            let state = self.state();
            if let Some(pending) = state.under_way() {
                pending.notify(Box::new(call));
                return;
            }
            drop(state);
            call();
        });
    }

    fn __repr__(&self, py: Python<'_>) -> &'static str {
        if self.done(py) { "<quintet.Pending done>" } else { "<quintet.Pending under way>" }
    }
}

/// What a look at an operation has shown.
enum Seen {
    /// It stays with the operation.
    Outcome(Result<Outcome, Error>),
    /// It was collected before.
    Done(PyResult<Py<PyAny>>),
}

impl State {
    /// The outcome, once it was collected.
    fn done(&self) -> Option<PyResult<Py<PyAny>>> {
        let State::Done(done) = self else { return None };
        Some(Python::attach(|py| copy(py, done)))
    }

    fn under_way(&self) -> Option<&quintet::Pending> {
        match self {
            State::UnderWay(pending) => Some(pending),
            State::Acknowledging(under_way) => Some(under_way.pending()),
            State::Done(_) => None,
        }
    }
}

impl Pending {
    pub(crate) fn new(connection: Arc<Connection>, pending: quintet::Pending) -> Self {
        Pending { connection, group: None, state: Mutex::new(State::UnderWay(pending)) }
    }

    pub(crate) fn of_group(
        connection: Arc<Connection>,
        group: Arc<quintet::Group>,
        pending: quintet::Pending,
    ) -> Self {
        Pending { connection, group: Some(group), state: Mutex::new(State::UnderWay(pending)) }
    }

    pub(crate) fn acknowledging(connection: Arc<Connection>, under_way: quintet::Acknowledgement) -> Self {
        Pending { connection, group: None, state: Mutex::new(State::Acknowledging(under_way)) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is seen of the outcome within `limit`. It stays: dropped, the operation is still undone.
    fn look(&self, py: Python<'_>, limit: Duration) -> Option<Seen> {
        if let Err(error) = self.connection.check_maker() {
            return Some(Seen::Done(Err(raise(error))));
        }
        // Both locks are never waited for together: the state's is taken without the interpreter.
        py.detach(|| {
            let mut state = self.state();
            match &mut *state {
                State::UnderWay(pending) => pending.peek(limit).map(Seen::Outcome),
                State::Acknowledging(under_way) => {
                    let outcome = under_way.wait(limit)?.map(|()| Outcome::Done);
                    // What was under way may have to call on the space once more, without the interpreter.
                    let done = Python::attach(|py| self.converted(py, outcome));
                    drop(std::mem::replace(&mut *state, State::Done(done)));
                    state.done().map(Seen::Done)
                }
                State::Done(_) => state.done().map(Seen::Done),
            }
        })
    }

    /// Makes what was seen the program's own, unless a signal's exception comes before that.
    fn collect(&self, py: Python<'_>, seen: Seen) -> PyResult<Py<PyAny>> {
        let outcome = match seen {
            Seen::Done(done) => return done,
            Seen::Outcome(outcome) => outcome,
        };
        // A lease goes back whenever it is dropped, and is made once it is kept; a group's goes back with the group.
        let is_lease = matches!(outcome, Ok(Outcome::Tuple(_, Some(_)) | Outcome::Selected(_, _, Some(_))))
            || self.group.is_some();
        let early = if is_lease { None } else { Some(self.converted(py, outcome.clone())) };
        py.check_signals()?;
        py.detach(|| {
            let mut state = self.state();
            if let State::UnderWay(pending) = &mut *state {
                pending.keep();
                let made = early.unwrap_or_else(|| Python::attach(|py| self.converted(py, outcome)));
                drop(std::mem::replace(&mut *state, State::Done(made)));
            }
            state.done().expect("what was seen under way is done now")
        })
    }

    fn converted(&self, py: Python<'_>, outcome: Result<Outcome, Error>) -> PyResult<Py<PyAny>> {
        let outcome = outcome.map_err(raise)?;
        if let Some(group) = &self.group {
            return match py.detach(|| group.accept(outcome)).map_err(raise)? {
                Some(tuple) => Ok(from_tuple(py, tuple)?.into_any().unbind()),
                None => Ok(py.None()),
            };
        }
        match outcome {
            Outcome::Tuple(tuple, None) | Outcome::Witnessed(tuple, _) => {
                Ok(from_tuple(py, tuple)?.into_any().unbind())
            }
            leased @ Outcome::Tuple(_, Some(_)) => {
                Ok(Py::new(py, Lease::new(py, Arc::clone(&self.connection), leased)?)?.into_any())
            }
            plain @ Outcome::Selected(_, _, None) => Ok(selected(py, plain)?.into_any().unbind()),
            outcome @ Outcome::Selected(_, _, Some(_)) => {
                Ok(leased(py, &self.connection, outcome)?.into_any().unbind())
            }
            Outcome::Count(count) => Ok(count.into_pyobject(py)?.into_any().unbind()),
            Outcome::State(state) => Ok(from_state(py, &state)?.unbind()),
            Outcome::Done | Outcome::NoMatch => Ok(py.None()),
            Outcome::Page(page) => Ok(from_page(py, page)?.unbind()),
            Outcome::Collected(page) => Ok(from_collected(py, page)?.into_any().unbind()),
            Outcome::Events(events) => Ok(from_events(py, events)?.unbind()),
            // Nothing that is begun here asks for it.
            Outcome::Spaces(_) => Ok(py.None()),
        }
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        let state = std::mem::replace(
            self.state.get_mut().unwrap_or_else(PoisonError::into_inner),
            State::Done(Err(pyo3::exceptions::PyRuntimeError::new_err(()))),
        );
        let group = self.group.take();
        Python::attach(|py| self.connection.let_go(py, (state, group)));
    }
}

/// What calls back once, on whichever thread.
pub(crate) fn calling(callback: Py<PyAny>) -> impl FnOnce() + Send {
    move || {
        // Without an interpreter there is nobody left to tell.
        Python::try_attach(|py| {
            if let Err(error) = callback.call0(py) {
                error.write_unraisable(py, Some(callback.bind(py)));
            }
        });
    }
}

/// What something came to, once more.
pub(crate) fn copy(py: Python<'_>, done: &PyResult<Py<PyAny>>) -> PyResult<Py<PyAny>> {
    match done {
        Ok(outcome) => Ok(outcome.clone_ref(py)),
        Err(error) => Err(error.clone_ref(py)),
    }
}

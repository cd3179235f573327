//! Variables that get new values computed from what they have, with nobody in between: reserved, waited for, given values.

use crate::error::raise;
use crate::fork::Maker;
use crate::isochron::values_of;
use crate::isonet::{Program, place_of};
use crate::pending::calling;
use crate::under_way::{UnderWay, wait};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use quintet::{Bytes, Code, Error};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Variables that are reserved, or to be. Dropped, they keep what they have.
#[pyclass(frozen, module = "quintet._native")]
pub(crate) struct Reserving {
    program: Arc<Program>,
    process: Maker,
    state: Mutex<State>,
}

enum State {
    Reserving(quintet::Reserving),
    Reserved(quintet::Reserved),
    /// They are given back, or have values.
    Over,
}

/// Variables that get new values. Dropped, it goes on.
#[pyclass(frozen, module = "quintet._native")]
pub(crate) struct PendingUpdate(UnderWay<quintet::PendingUpdate>);

impl Reserving {
    pub(crate) fn of(program: &Arc<Program>, process: Maker, reserving: quintet::Reserving) -> Reserving {
        Reserving { program: Arc::clone(program), process, state: Mutex::new(State::Reserving(reserving)) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What it has come to, which goes elsewhere. What is dropped of it is, without the lock.
    fn take(&self) -> State {
        std::mem::replace(&mut *self.state(), State::Over)
    }

    /// Whether they are reserved, if that is known within `slice`.
    fn look(&self, slice: Duration) -> Option<Result<(), Error>> {
        let mut state = self.state();
        let State::Reserving(reserving) = &mut *state else { return Some(Ok(())) };
        let reserved = reserving.wait(slice)?;
        Some(reserved.map(|reserved| *state = State::Reserved(reserved)))
    }
}

#[pymethods]
impl Reserving {
    /// What the variables have, once they are reserved: bytes each, or the name of the error and its text.
    #[pyo3(signature = (timeout = None))]
    fn result<'py>(&self, py: Python<'py>, timeout: Option<f64>) -> PyResult<Bound<'py, PyList>> {
        let who = (&*self.program, self.process);
        wait(py, who, timeout, "others have the variables so far, or have not answered", |slice| {
            self.look(slice)
        })?;
        let values = py.detach(|| match &*self.state() {
            State::Reserved(reserved) => Some(reserved.values().to_vec()),
            _ => None,
        });
        values_of(py, &values.ok_or_else(|| raise(over()))?)
    }

    /// Whether `result` would say at once.
    fn done(&self, py: Python<'_>) -> bool {
        let is_done = || match &*self.state() {
            State::Reserving(reserving) => reserving.is_done(),
            State::Reserved(_) | State::Over => true,
        };
        self.process.check().is_err() || py.detach(is_done)
    }

    /// Calls back once `done`: now, or on the thread that brings it about. It must hand over and return.
    fn notify(&self, py: Python<'_>, callback: Py<PyAny>) {
        let call = Box::new(calling(callback));
        py.detach(|| match &*self.state() {
            State::Reserving(reserving) if self.process.check().is_ok() => reserving.notify(call),
            _ => call(),
        });
    }

    /// Gives them values, as many as there are variables.
    fn assign(&self, py: Python<'_>, values: Vec<Vec<u8>>) -> PyResult<PendingUpdate> {
        self.process.check().map_err(raise)?;
        let values = values.into_iter().map(Bytes::from).collect();
        let assign = || match self.take() {
            State::Reserved(reserved) => reserved.assign(values),
            _ => Err(over()),
        };
        let update = py.detach(assign).map_err(|error| self.program.raise(error))?;
        Ok(PendingUpdate(UnderWay::new(&self.program, self.process, update)))
    }

    /// They keep what they have, unless they were given values.
    fn give_back(&self, py: Python<'_>) {
        // In a child another thread of its parent may have had the lock, for good.
        if self.process.is_this_process() {
            py.detach(|| drop(self.take()));
        }
    }
}

impl Drop for Reserving {
    fn drop(&mut self) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        let state = std::mem::replace(state, State::Over);
        Python::attach(|py| self.process.let_go(py, state));
    }
}

#[pymethods]
impl PendingUpdate {
    /// Where the values were given. It may be asked for again.
    #[pyo3(signature = (timeout = None))]
    fn result<'py>(&self, py: Python<'py>, timeout: Option<f64>) -> PyResult<Bound<'py, PyTuple>> {
        place_of(py, self.0.result(py, timeout)?)
    }

    fn done(&self, py: Python<'_>) -> bool {
        self.0.done(py)
    }

    fn notify(&self, py: Python<'_>, callback: Py<PyAny>) {
        self.0.notify(py, callback);
    }
}

fn over() -> Error {
    Error::new(Code::BadValue, "these variables are not reserved: they were given back, or have values")
}

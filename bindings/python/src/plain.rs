//! Plain messages under way.

use crate::connection::{limit, wait_with_signals};
use crate::error::raise;
use crate::fork::Maker;
use crate::isonet::Program;
use crate::pending::calling;
use pyo3::prelude::*;
use quintet::{Code, Error};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A plain message under way. Dropped, it goes on.
#[pyclass(frozen, module = "quintet._native")]
pub(crate) struct PendingPlain {
    program: Arc<Program>,
    process: Maker,
    state: Mutex<State>,
}

enum State {
    UnderWay(quintet::PendingPlain),
    Done(Result<(), Error>),
}

impl PendingPlain {
    pub(crate) fn of(program: &Arc<Program>, process: Maker, begun: quintet::PendingPlain) -> PendingPlain {
        PendingPlain { program: Arc::clone(program), process, state: Mutex::new(State::UnderWay(begun)) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn look(&self, slice: Duration) -> Option<Result<(), Error>> {
        let mut state = self.state();
        if let State::UnderWay(begun) = &mut *state {
            let arrived = begun.wait(slice)?;
            *state = State::Done(arrived);
        }
        match &*state {
            State::Done(arrived) => Some(arrived.clone()),
            State::UnderWay(_) => None,
        }
    }
}

#[pymethods]
impl PendingPlain {
    /// Waits until it has arrived. It may be asked again.
    #[pyo3(signature = (timeout = None))]
    fn result(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<()> {
        let limit = limit(timeout)?;
        let seen = wait_with_signals(py, limit, |slice| {
            if let Err(error) = self.process.check() {
                return Some(Err(error));
            }
            py.detach(|| self.look(slice))
        })?;
        let goes_on = || {
            let text = format!("the message goes on, and may arrive yet{}", self.program.held_up_by());
            raise(Error::new(Code::TimedOut, text))
        };
        seen.ok_or_else(goes_on)?.map_err(|error| self.program.raise(error))
    }

    /// Whether `result` would say at once.
    fn done(&self, py: Python<'_>) -> bool {
        self.process.check().is_err() || py.detach(|| self.look(Duration::ZERO)).is_some()
    }

    /// Calls back once `done`: now, or on the thread that brings the answer. It must hand over and return.
    fn notify(&self, py: Python<'_>, callback: Py<PyAny>) {
        let call = Box::new(calling(callback));
        py.detach(|| match &*self.state() {
            State::UnderWay(begun) if self.process.check().is_ok() => begun.notify(call),
            _ => call(),
        });
    }
}

impl Drop for PendingPlain {
    fn drop(&mut self) {
        let over = State::Done(Ok(()));
        let state = std::mem::replace(self.state.get_mut().unwrap_or_else(PoisonError::into_inner), over);
        Python::attach(|py| self.process.let_go(py, state));
    }
}

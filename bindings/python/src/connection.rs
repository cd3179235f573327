//! What a lab, its space and everything under way share; how the outcome is waited for.

use crate::error::raise;
use pyo3::prelude::*;
use quintet::{Code, Error, Outcome, Pending};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long a wait does not look for signals.
pub(crate) const SLICE: Duration = Duration::from_millis(50);

/// A connection that can be closed while others use it.
pub(crate) struct Connection {
    lab: Mutex<Option<quintet::Lab>>,
    /// Made when an event loop first asks for it.
    watch: Mutex<Option<quintet::Watch>>,
}

impl Connection {
    pub(crate) fn new(lab: quintet::Lab) -> Self {
        Connection { lab: Mutex::new(Some(lab)), watch: Mutex::new(None) }
    }

    fn lab(&self) -> MutexGuard<'_, Option<quintet::Lab>> {
        self.lab.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends it: waits end with `Closed`. What is under way keeps the link until it has ended.
    pub(crate) fn close(&self) {
        let lab = self.lab().take();
        let watch = self.watch.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop((lab, watch));
    }

    /// The descriptor for an event loop.
    ///
    /// # Errors
    /// `Closed`; `Resource` if the system refuses a descriptor.
    pub(crate) fn watch(&self) -> Result<quintet::Watch, Error> {
        let lab = self.lab();
        let Some(lab) = lab.as_ref() else { return Err(closed()) };
        let mut watch = self.watch.lock().unwrap_or_else(PoisonError::into_inner);
        if watch.is_none() {
            *watch = Some(lab.watch()?);
        }
        watch.clone().ok_or_else(closed)
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.lab().is_none()
    }

    /// # Errors
    /// `Closed`.
    pub(crate) fn space(&self) -> Result<quintet::Space, Error> {
        self.lab().as_ref().map(quintet::Lab::space).ok_or_else(closed)
    }

    /// Begins an operation and waits for its outcome. A signal's exception ends the wait and cancels the operation.
    ///
    /// # Errors
    /// The operation's; `Closed`; the exception of a signal's handler.
    pub(crate) fn run(
        &self,
        py: Python<'_>,
        begin: impl FnOnce(&quintet::Space) -> Result<Pending, Error> + Send,
    ) -> PyResult<Outcome> {
        let mut pending = py.detach(|| begin(&self.space()?)).map_err(raise)?;
        loop {
            if let Some(outcome) = py.detach(|| pending.wait(SLICE)) {
                return outcome.map_err(raise);
            }
            if let Err(end) = self.look_about(py) {
                py.detach(|| drop(pending));
                return Err(end);
            }
        }
    }

    /// Asks what is answered at once.
    ///
    /// # Errors
    /// The operation's; `Closed`.
    pub(crate) fn ask<T: Send>(
        &self,
        py: Python<'_>,
        question: impl FnOnce(&quintet::Space) -> Result<T, Error> + Send,
    ) -> PyResult<T> {
        py.detach(|| question(&self.space()?)).map_err(raise)
    }

    /// Between two slices of a wait.
    ///
    /// # Errors
    /// A signal's exception; `Closed`.
    pub(crate) fn look_about(&self, py: Python<'_>) -> PyResult<()> {
        py.check_signals()?;
        if self.is_closed() { Err(raise(closed())) } else { Ok(()) }
    }
}

fn closed() -> Error {
    Error::new(Code::Closed, "this lab was closed by the program")
}

/// A timeout in seconds, from Python; none: without end.
///
/// # Errors
/// `BadValue` for one that is negative or not a number.
pub(crate) fn limit(timeout: Option<f64>) -> PyResult<Option<Duration>> {
    let Some(seconds) = timeout else { return Ok(None) };
    if seconds.is_nan() || seconds < 0.0 {
        return Err(raise(Error::new(Code::BadValue, format!("a timeout of {seconds} seconds"))));
    }
    // One too long to be expressed is without end.
    Ok(Duration::try_from_secs_f64(seconds).ok())
}

/// Until when a wait of this length lasts; none: without end.
pub(crate) fn end_of(limit: Option<Duration>) -> Option<Instant> {
    limit.and_then(|limit| Instant::now().checked_add(limit))
}

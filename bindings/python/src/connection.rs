//! What a lab, its space and everything under way share; how the outcome is waited for.

use crate::error::raise;
use crate::fork::Maker;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use quintet::{Begin, Code, Error, Outcome, Pending};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// How long a wait does not look for signals: below what a person notices, and seldom enough to cost nothing.
pub(crate) const SLICE: Duration = Duration::from_millis(20);

/// A connection that can be closed while others use it.
pub(crate) struct Connection {
    maker: Maker,
    lab: Mutex<Option<quintet::Lab>>,
    /// Made when an event loop first asks for it.
    watch: Mutex<Option<quintet::Watch>>,
    /// Of a named space: the connection over which it is asked, the space, and whether that connection is its own.
    named: Option<(Arc<Connection>, quintet::Space, bool)>,
}

impl Connection {
    pub(crate) fn new(lab: quintet::Lab) -> Self {
        let (lab, watch) = (Mutex::new(Some(lab)), Mutex::new(None));
        Connection { maker: Maker::this_process(), lab, watch, named: None }
    }

    /// The same connection, whose questions go to a named space; or the space's own, where it has one.
    pub(crate) fn to_space(this: &Arc<Connection>, space: quintet::Space) -> Connection {
        let shares = this.lab().is_ok_and(|lab| lab.as_ref().is_none_or(|lab| lab.is_same(space.lab())));
        let over =
            if shares { Arc::clone(this.over()) } else { Arc::new(Connection::new(space.lab().clone())) };
        let (lab, watch) = (Mutex::new(None), Mutex::new(None));
        Connection { maker: Maker::this_process(), lab, watch, named: Some((over, space, !shares)) }
    }

    /// The connection of a named space, if that has one of its own.
    pub(crate) fn own(&self) -> Option<Arc<Connection>> {
        self.named.as_ref().filter(|(_, _, is_own)| *is_own).map(|(over, ..)| Arc::clone(over))
    }

    /// Where what is of the whole connection is kept.
    fn over(self: &Arc<Connection>) -> &Arc<Connection> {
        self.named.as_ref().map_or(self, |(over, ..)| over)
    }

    /// Where it is in memory: that of the whole connection.
    pub(crate) fn address(self: &Arc<Connection>) -> usize {
        Arc::as_ptr(self.over()).addr()
    }

    /// What the space is called; none: it is the one without a name.
    pub(crate) fn name(&self) -> Option<&str> {
        self.named.as_ref().and_then(|(_, space, _)| space.name())
    }

    /// # Errors
    /// `Closed`: the parent of this process made it.
    fn lab(&self) -> Result<MutexGuard<'_, Option<quintet::Lab>>, Error> {
        self.check_maker()?;
        let of = self.named.as_ref().map_or(self, |(over, ..)| over);
        Ok(of.lab.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether this process may use it.
    ///
    /// # Errors
    /// `Closed`: the parent of this process made it.
    pub(crate) fn check_maker(&self) -> Result<(), Error> {
        if self.maker.is_this_process() {
            return Ok(());
        }
        Err(Error::new(Code::Closed, "this lab was made in another process; connect again"))
    }

    /// Drops what may have to call on the space once more, without the interpreter; in a forked child it is left as it is.
    pub(crate) fn let_go<T: Send>(&self, py: Python<'_>, value: T) {
        self.maker.let_go(py, value);
    }

    /// Ends it at once: what is under way ends with `Closed`, and leases return.
    pub(crate) fn close(&self) {
        let lab = match self.lab() {
            Ok(mut lab) => lab.take(),
            Err(_) => return,
        };
        lab.iter().for_each(quintet::Lab::close);
        let watch = self.watch.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop((lab, watch));
    }

    /// The descriptor for an event loop.
    ///
    /// # Errors
    /// `Closed`; `Resource` if the system refuses a descriptor.
    pub(crate) fn watch(&self) -> Result<quintet::Watch, Error> {
        let lab = self.lab()?;
        let Some(lab) = lab.as_ref() else { return Err(closed()) };
        let of = self.named.as_ref().map_or(self, |(over, ..)| over);
        let mut watch = of.watch.lock().unwrap_or_else(PoisonError::into_inner);
        if watch.is_none() {
            *watch = Some(lab.watch()?);
        }
        watch.clone().ok_or_else(closed)
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.lab().map_or(true, |lab| lab.is_none())
    }

    /// # Errors
    /// `Closed`.
    pub(crate) fn space(&self) -> Result<quintet::Space, Error> {
        let lab = self.lab()?;
        let lab = lab.as_ref().ok_or_else(closed)?;
        Ok(self.named.as_ref().map_or_else(|| lab.space(), |(_, space, _)| space.clone()))
    }

    /// Asks about the spaces as a whole.
    ///
    /// # Errors
    /// Those of the question; `Closed`.
    pub(crate) fn ask_lab<T: Send>(
        &self,
        py: Python<'_>,
        question: impl FnOnce(&quintet::Lab) -> Result<T, Error> + Send,
    ) -> PyResult<T> {
        let ask = || {
            // Not under the lock: whoever closes meanwhile ends the question.
            let lab = self.lab()?.clone();
            question(&lab.ok_or_else(closed)?)
        };
        py.detach(ask).map_err(raise)
    }

    /// # Errors
    /// `Closed`.
    pub(crate) fn messaging(&self) -> Result<quintet::Messaging, Error> {
        self.lab()?.as_ref().map(quintet::Lab::messaging).ok_or_else(closed)
    }

    /// Begins an operation that may wait so long, waits for its outcome and makes of it what Python gets. A signal's exception, whenever it comes
    /// before that is done, cancels the operation: a tuple that has come already goes back.
    ///
    /// # Errors
    /// The operation's; `Closed`; the exception of a signal's handler; those of `make`.
    pub(crate) fn run<'py, T>(
        &self,
        py: Python<'py>,
        limit: Option<Duration>,
        begin: impl FnOnce(Begin<'_>) -> Result<Pending, Error> + Send,
        make: impl FnOnce(Python<'py>, Outcome) -> PyResult<T>,
    ) -> PyResult<T> {
        let pending = self.ask(py, |space| begin(space.begin().within(limit)))?;
        let made = self.outcome(py, &pending).and_then(|outcome| make(py, outcome));
        // The last look: what a signal's handler raises after it finds the outcome in the program's hands.
        let made = made.and_then(|made| py.check_signals().map(|()| made));
        match made {
            Ok(_) => pending.keep(),
            Err(_) => self.let_go(py, pending),
        }
        made
    }

    /// Waits for the outcome, which stays.
    fn outcome(&self, py: Python<'_>, pending: &Pending) -> PyResult<Outcome> {
        self.wait(py, None, |slice| py.detach(|| pending.peek(slice)))?.map_err(raise)
    }

    /// Waits until `look`, which is given how long it may take, finds something, `limit` at most, and looks for signals meanwhile.
    ///
    /// # Errors
    /// `TimedOut`: nothing was found within the limit, and what is waited for goes on; a signal's exception; `Closed`.
    pub(crate) fn wait<T>(
        &self,
        py: Python<'_>,
        limit: Option<Duration>,
        mut look: impl FnMut(Duration) -> Option<T>,
    ) -> PyResult<T> {
        let end = end_of(limit);
        loop {
            let left = end.map_or(SLICE, |end| end.saturating_duration_since(Instant::now()).min(SLICE));
            if let Some(found) = look(left) {
                return Ok(found);
            }
            if end.is_some_and(|end| Instant::now() >= end) {
                return Err(raise(Error::new(Code::TimedOut, "the operation goes on")));
            }
            self.look_about(py)?;
        }
    }

    /// Asks what needs no answer of the space.
    ///
    /// # Errors
    /// Those of the question; `Closed`.
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
    fn look_about(&self, py: Python<'_>) -> PyResult<()> {
        py.check_signals()?;
        self.check_maker().map_err(raise)?;
        if self.is_closed() { Err(raise(closed())) } else { Ok(()) }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        let lab = self.lab.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        let watch = self.watch.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        let named = self.named.take();
        if !self.maker.is_this_process() {
            std::mem::forget((lab, watch, named));
        }
    }
}

/// Works in a thread of its own, and looks for signals meanwhile. If a signal's exception ends the wait, the thread goes
/// on, and what it makes is dropped there.
///
/// # Errors
/// Those of `work`; a signal's exception; `Resource` if there is no thread.
pub(crate) fn in_a_thread<T: Send + 'static>(
    py: Python<'_>,
    name: &str,
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> PyResult<T> {
    let (send, mut receive) = channel();
    let work = move || {
        // Perhaps nobody waits for it any more.
        let _ = send.send(work());
    };
    let started = thread::Builder::new().name(name.to_owned()).spawn(work);
    started.map_err(|error| raise(Error::new(Code::Resource, format!("no thread for {name}: {error}"))))?;
    loop {
        let waiting = &mut receive;
        match py.detach(move || waiting.recv_timeout(SLICE)) {
            Ok(made) => return made.map_err(raise),
            Err(RecvTimeoutError::Timeout) => py.check_signals()?,
            Err(RecvTimeoutError::Disconnected) => {
                return Err(PyRuntimeError::new_err(format!("{name} ended without a result: a defect")));
            }
        }
    }
}

/// Waits until `look`, which is given how long it may take, finds something, `limit` at most, and looks for signals meanwhile. None: nothing was found in time.
///
/// # Errors
/// A signal's exception.
pub(crate) fn wait_with_signals<T>(
    py: Python<'_>,
    limit: Option<Duration>,
    mut look: impl FnMut(Duration) -> Option<T>,
) -> PyResult<Option<T>> {
    let end = end_of(limit);
    loop {
        let left = end.map_or(SLICE, |end| end.saturating_duration_since(Instant::now()).min(SLICE));
        if let Some(found) = look(left) {
            return Ok(Some(found));
        }
        if end.is_some_and(|end| Instant::now() >= end) {
            return Ok(None);
        }
        py.check_signals()?;
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

/// In how long what is put expires, from seconds; none: not at all.
///
/// # Errors
/// `BadValue` for what is no span.
pub(crate) fn expiry(expires_in: Option<f64>) -> PyResult<Option<Duration>> {
    let Some(seconds) = expires_in else { return Ok(None) };
    if seconds.is_nan() || seconds < 0.0 {
        let text = format!("expires_in is {seconds} seconds, and no tuple expires before it was put");
        return Err(raise(Error::new(Code::BadValue, text)));
    }
    // One too long to be expressed is without end.
    Ok(Duration::try_from_secs_f64(seconds).ok())
}

/// Until when a wait of this length lasts; none: without end.
fn end_of(limit: Option<Duration>) -> Option<Instant> {
    limit.and_then(|limit| Instant::now().checked_add(limit))
}

//! Calls of handlers in other processes, and handlers of this process's own.

use crate::connection::{Connection, limit};
use crate::error::raise;
use crate::pending::{calling, copy};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};
use quintet::{Bytes, Code, Error, HandlerLimits, PendingHandler, PendingReply};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Calls between the processes that use one space, by the names of handlers. Made by `Lab.messaging`.
#[pyclass(frozen, module = "quintet")]
pub(crate) struct Messaging {
    connection: Arc<Connection>,
}

/// The handlers of a name, as who calls them sees them. Made by `Messaging.to`.
#[pyclass(frozen, module = "quintet")]
pub(crate) struct Recipient {
    connection: Arc<Connection>,
    recipient: quintet::Recipient,
}

/// Handles calls of a name. Made by `Messaging.handle`; a context manager that leaves at the end. Any threads may use it at once.
#[pyclass(frozen, module = "quintet")]
pub(crate) struct Handler {
    connection: Arc<Connection>,
    /// None while it is dropped only.
    handler: Option<quintet::Handler>,
    name: String,
}

/// A call that a handler was given. Dropped without a reply it fails, and its caller is told.
#[pyclass(frozen, module = "quintet")]
pub(crate) struct Call {
    connection: Arc<Connection>,
    /// None once it has ended.
    call: Mutex<Option<quintet::Call>>,
    payload: Py<PyBytes>,
    end: Option<Instant>,
    is_one_way: bool,
}

/// A call, or a wait for a handler or for the next call, under way. Dropped before it is done, it is cancelled.
#[pyclass(frozen, module = "quintet")]
pub(crate) struct PendingMessage {
    connection: Arc<Connection>,
    state: Mutex<State>,
}

enum State {
    Reply(PendingReply),
    Handler(PendingHandler),
    Call(quintet::PendingCall),
    Done(PyResult<Py<PyAny>>),
}

/// What came of something under way.
enum Outcome {
    Reply(Bytes),
    There,
    Call(quintet::Call),
}

#[pymethods]
impl Messaging {
    /// Handles calls of a name from now on: text of 1 to 128 bytes. Several processes may handle one name, with the same limits; each call goes to one
    /// of them. `rank`: as which worker, else as the one that the job says this process is. Nothing is handled until a thread is in `serve` or `next`.
    /// `max_request_bytes`: of the longest request, 64 MiB at most; `at_once`: calls that this handler may have at once; `waiting`: calls that may wait for
    /// the handlers of the name, 65536 at most.
    ///
    /// Raises BadValue for what is no name, or limits that cannot be, or are others than those of another handler of the name; Busy for more than 256
    /// handlers of one process; Closed or its kin.
    #[pyo3(signature = (name, *, rank = None, max_request_bytes = None, at_once = None, waiting = None))]
    fn handle(
        &self,
        py: Python<'_>,
        name: &str,
        rank: Option<u32>,
        max_request_bytes: Option<u32>,
        at_once: Option<u32>,
        waiting: Option<u32>,
    ) -> PyResult<Handler> {
        let plain = HandlerLimits::default();
        let limits = HandlerLimits {
            max_request_bytes: max_request_bytes.unwrap_or(plain.max_request_bytes),
            at_once: at_once.unwrap_or(plain.at_once),
            waiting: waiting.unwrap_or(plain.waiting),
        };
        let made = py.detach(|| {
            let messaging = self.connection.messaging()?;
            match rank {
                Some(_) => messaging.handle_at(name, rank, limits),
                None => messaging.handle(name, limits),
            }
        });
        let handler = Some(made.map_err(raise)?);
        Ok(Handler { connection: Arc::clone(&self.connection), handler, name: name.to_owned() })
    }

    /// The handlers of a name; with a rank those of that worker alone.
    ///
    /// Raises Closed.
    #[pyo3(signature = (name, *, rank = None))]
    fn to(&self, name: &str, rank: Option<u32>) -> PyResult<Recipient> {
        let recipient = self.connection.messaging().map_err(raise)?.to(name);
        let recipient = rank.map_or(recipient.clone(), |rank| recipient.rank(rank));
        Ok(Recipient { connection: Arc::clone(&self.connection), recipient })
    }

    fn __repr__(&self) -> &'static str {
        "<quintet.Messaging>"
    }
}

impl Messaging {
    pub(crate) fn new(connection: Arc<Connection>) -> Self {
        Messaging { connection }
    }
}

#[pymethods]
impl Recipient {
    /// Calls, and waits for the reply, `timeout` seconds at most. If the process that handles it ends, the call does.
    ///
    /// Raises NoHandler, Busy: it had no effect. TooLarge. TaskFailed: the handler failed, in its words. PeerDied: the process that handled it has ended, and
    /// may have done something before. TimedOut, whose text says whether a handler had begun. BadValue for what is no name.
    #[pyo3(signature = (request, timeout = None))]
    fn call(&self, py: Python<'_>, request: &Bound<'_, PyAny>, timeout: Option<f64>) -> PyResult<Py<PyAny>> {
        let pending = self.begin_call(py, request, timeout)?;
        pending.wait(py, None)
    }

    /// Begins `call`.
    ///
    /// Raises TooLarge, BadValue; Closed or its kin.
    #[pyo3(signature = (request, timeout = None))]
    fn begin_call(
        &self,
        py: Python<'_>,
        request: &Bound<'_, PyAny>,
        timeout: Option<f64>,
    ) -> PyResult<PendingMessage> {
        let (request, limit) = (payload(request)?, limit(timeout)?);
        self.begin(py, |to| to.begin_call(request, limit).map(State::Reply))
    }

    /// Calls one-way: the call is accepted when this returns, and handled later, also if this process has ended by then.
    ///
    /// Raises as `call`, but for what a handler may do.
    fn send(&self, py: Python<'_>, request: &Bound<'_, PyAny>) -> PyResult<()> {
        let request = payload(request)?;
        self.connection.check_maker().map_err(raise)?;
        py.detach(|| self.recipient.send(request)).map_err(raise)
    }

    /// Waits until there is a handler, `timeout` seconds at most.
    ///
    /// Raises TimedOut; BadValue for what is no name.
    #[pyo3(signature = (timeout = None))]
    fn wait_for_handler(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<()> {
        self.begin_wait(py, timeout)?.wait(py, None).map(drop)
    }

    /// Begins `wait_for_handler`.
    ///
    /// Raises BadValue; Closed or its kin.
    #[pyo3(signature = (timeout = None))]
    fn begin_wait(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<PendingMessage> {
        let limit = limit(timeout)?;
        self.begin(py, |to| to.begin_wait(limit).map(State::Handler))
    }
}

impl Recipient {
    fn begin(
        &self,
        py: Python<'_>,
        begin: impl FnOnce(&quintet::Recipient) -> Result<State, Error> + Send,
    ) -> PyResult<PendingMessage> {
        PendingMessage::begin(&self.connection, py, || begin(&self.recipient))
    }
}

#[pymethods]
impl Handler {
    /// Handles calls on this thread, one after the other, until the handler leaves or the lab is closed. What `function(call)` returns, bytes or None, is
    /// the reply; an exception fails the call, whose caller gets its text. One that is no Exception, ctrl-C say, goes on from here.
    ///
    /// Raises PeerDied, PeerSilent.
    fn serve<'py>(this: &Bound<'py, Self>, function: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        this.py().import("quintet.handling")?.call_method1("serve", (this, function))
    }

    /// The next call, waiting for one, `timeout` seconds at most.
    ///
    /// Raises TimedOut; Cancelled once the handler has left; Closed or its kin.
    #[pyo3(signature = (timeout = None))]
    fn next(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<Py<PyAny>> {
        self.begin_next(py, timeout)?.wait(py, None)
    }

    /// Begins `next`.
    ///
    /// Raises Cancelled once the handler has left; Closed or its kin.
    #[pyo3(signature = (timeout = None))]
    fn begin_next(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<PendingMessage> {
        let limit = limit(timeout)?;
        let handler = self.handler.as_ref();
        PendingMessage::begin(&self.connection, py, || {
            handler.ok_or_else(left)?.begin_next(limit).map(State::Call)
        })
    }

    /// Takes no more calls: `serve` and `next` end, and calls that were not begun go to other handlers of the name or fail. Those that were given may still be
    /// replied to. A second call does nothing.
    ///
    /// Raises PeerDied or its kin.
    fn leave(&self, py: Python<'_>) -> PyResult<()> {
        self.connection.check_maker().map_err(raise)?;
        let handler = self.handler.as_ref();
        py.detach(|| handler.map_or(Ok(()), quintet::Handler::leave)).map_err(raise)
    }

    /// Whether it takes no more calls.
    #[getter]
    fn has_left(&self) -> bool {
        self.connection.is_closed() || self.handler.as_ref().is_none_or(quintet::Handler::has_left)
    }

    fn __enter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyTuple>) -> PyResult<()> {
        // With the lab it has left already.
        if self.has_left() { Ok(()) } else { self.leave(py) }
    }

    fn __repr__(&self) -> String {
        format!("<quintet.Handler {:?}{}>", self.name, if self.has_left() { ", has left" } else { "" })
    }
}

impl Drop for Handler {
    fn drop(&mut self) {
        let handler = self.handler.take();
        Python::attach(|py| self.connection.let_go(py, handler));
    }
}

#[pymethods]
impl Call {
    /// What its caller has sent.
    #[getter]
    fn payload(&self, py: Python<'_>) -> Py<PyBytes> {
        self.payload.clone_ref(py)
    }

    /// Whether nobody waits for a reply: what is replied is dropped.
    #[getter]
    fn is_one_way(&self) -> bool {
        self.is_one_way
    }

    /// How many seconds its caller still waits; None: without end.
    #[getter]
    fn remaining(&self) -> Option<f64> {
        self.end.map(|end| end.saturating_duration_since(Instant::now()).as_secs_f64())
    }

    /// Whether it was replied to, or failed.
    #[getter]
    fn has_ended(&self) -> bool {
        self.held().is_none()
    }

    /// Replies with bytes.
    ///
    /// Raises TooLarge: then the call has failed, and its caller is told why. BadValue if it has ended before, or for what is no bytes, and then the
    /// call goes on. PeerDied or its kin.
    #[pyo3(signature = (reply = None))]
    fn reply(&self, py: Python<'_>, reply: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let reply = reply.map_or(Ok(Bytes::new()), payload)?;
        let call = self.take()?;
        py.detach(|| call.reply(reply)).map_err(raise)
    }

    /// Fails: its caller gets TaskFailed with the text, 1 KiB of it at most.
    ///
    /// Raises BadValue if it has ended before; PeerDied or its kin.
    fn fail(&self, py: Python<'_>, text: String) -> PyResult<()> {
        let call = self.take()?;
        py.detach(|| call.fail(text)).map_err(raise)
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        let bytes = self.payload.bind(py).as_bytes().len();
        let ended = if self.held().is_none() { ", ended" } else { "" };
        format!("<quintet.Call of {bytes} bytes{ended}>")
    }
}

impl Call {
    fn new(py: Python<'_>, connection: Arc<Connection>, call: quintet::Call) -> Call {
        let payload = PyBytes::new(py, call.payload()).unbind();
        let (end, is_one_way) = (call.end(), call.is_one_way());
        Call { connection, call: Mutex::new(Some(call)), payload, end, is_one_way }
    }

    fn held(&self) -> MutexGuard<'_, Option<quintet::Call>> {
        self.call.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self) -> PyResult<quintet::Call> {
        self.connection.check_maker().map_err(raise)?;
        let ended =
            || raise(Error::new(Code::BadValue, "this call has ended: it was replied to, or has failed"));
        self.held().take().ok_or_else(ended)
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        if let Some(call) = self.held().take() {
            Python::attach(|py| self.connection.let_go(py, call));
        }
    }
}

#[pymethods]
impl PendingMessage {
    /// The outcome: the reply, a Call, or None for a handler that is there. It may be asked for again.
    ///
    /// Raises what it failed with; TimedOut after `timeout` seconds, and then it goes on.
    #[pyo3(signature = (timeout = None))]
    fn result(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<Py<PyAny>> {
        self.wait(py, limit(timeout)?)
    }

    /// Whether `result` would give the outcome at once.
    fn done(&self, py: Python<'_>) -> bool {
        self.look(py, Duration::ZERO).is_some()
    }

    /// Asks for its end. It still ends exactly once: with Cancelled, or as it would have.
    fn cancel(&self, py: Python<'_>) {
        if self.connection.check_maker().is_ok() {
            py.detach(|| match &*self.state() {
                State::Reply(pending) => pending.cancel(),
                State::Handler(pending) => pending.cancel(),
                State::Call(pending) => pending.cancel(),
                State::Done(_) => {}
            });
        }
    }

    /// Calls `callback` once `result` would give the outcome: now, or on the thread that brings it. It must hand over and return.
    fn notify(&self, py: Python<'_>, callback: Py<PyAny>) {
        let call = calling(callback);
        py.detach(|| {
            if self.connection.check_maker().is_err() {
                return call();
            }
            let state = self.state();
            match &*state {
                State::Reply(pending) => pending.notify(Box::new(call)),
                State::Handler(pending) => pending.notify(Box::new(call)),
                State::Call(pending) => pending.notify(Box::new(call)),
                State::Done(_) => {
                    drop(state);
                    call();
                }
            }
        });
    }

    fn __repr__(&self, py: Python<'_>) -> &'static str {
        if self.done(py) { "<quintet.PendingMessage done>" } else { "<quintet.PendingMessage under way>" }
    }
}

impl PendingMessage {
    fn begin(
        connection: &Arc<Connection>,
        py: Python<'_>,
        begin: impl FnOnce() -> Result<State, Error> + Send,
    ) -> PyResult<PendingMessage> {
        connection.check_maker().map_err(raise)?;
        let state = py.detach(begin).map_err(raise)?;
        Ok(PendingMessage { connection: Arc::clone(connection), state: Mutex::new(state) })
    }

    /// Waits for the outcome, and looks for signals meanwhile.
    fn wait(&self, py: Python<'_>, limit: Option<Duration>) -> PyResult<Py<PyAny>> {
        self.connection.wait(py, limit, |slice| self.look(py, slice))?
    }

    /// The outcome, if it comes within `limit`. It stays.
    fn look(&self, py: Python<'_>, limit: Duration) -> Option<PyResult<Py<PyAny>>> {
        if let Err(error) = self.connection.check_maker() {
            return Some(Err(raise(error)));
        }
        // Both locks are never waited for together: the state's is taken without the interpreter.
        py.detach(|| {
            let mut state = self.state();
            let outcome = match &mut *state {
                State::Reply(pending) => pending.wait(limit)?.map(Outcome::Reply),
                State::Handler(pending) => pending.wait(limit)?.map(|()| Outcome::There),
                State::Call(pending) => pending.wait(limit)?.map(Outcome::Call),
                State::Done(done) => return Some(Python::attach(|py| copy(py, done))),
            };
            let done = Python::attach(|py| self.converted(py, outcome));
            let copied = Python::attach(|py| copy(py, &done));
            drop(std::mem::replace(&mut *state, State::Done(done)));
            Some(copied)
        })
    }

    fn converted(&self, py: Python<'_>, outcome: Result<Outcome, Error>) -> PyResult<Py<PyAny>> {
        match outcome.map_err(raise)? {
            Outcome::Reply(reply) => Ok(PyBytes::new(py, &reply).into_any().unbind()),
            Outcome::There => Ok(py.None()),
            Outcome::Call(call) => {
                Ok(Py::new(py, Call::new(py, Arc::clone(&self.connection), call))?.into_any())
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for PendingMessage {
    fn drop(&mut self) {
        let none = State::Done(Err(pyo3::exceptions::PyRuntimeError::new_err(())));
        let state = std::mem::replace(self.state.get_mut().unwrap_or_else(PoisonError::into_inner), none);
        Python::attach(|py| self.connection.let_go(py, state));
    }
}

/// What is sent: any object that gives its bytes.
fn payload(object: &Bound<'_, PyAny>) -> PyResult<Bytes> {
    if let Ok(bytes) = object.cast::<PyBytes>() {
        return Ok(Bytes::copy_from_slice(bytes.as_bytes()));
    }
    let is_text_or_number = object.hasattr("encode")? || object.hasattr("__index__")?;
    let copy = if is_text_or_number { None } else { object.py().get_type::<PyBytes>().call1((object,)).ok() };
    let Some(copy) = copy else {
        let class = object.get_type().name()?;
        let text = format!("a request and a reply are bytes, and no {class}: pickle it, or encode it");
        return Err(raise(Error::new(Code::BadValue, text)));
    };
    Ok(Bytes::copy_from_slice(copy.cast::<PyBytes>()?.as_bytes()))
}

fn left() -> Error {
    Error::new(Code::Cancelled, "the handler has left")
}

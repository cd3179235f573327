//! A member of an isonet: how it joins, what its handlers are given, how it ends.

use crate::connection::{Connection, in_a_thread, limit, wait_with_signals};
use crate::error::raise;
use crate::fork::Maker;
use crate::isochron::{Isochrons, waits_in_a_handler};
use crate::isonet_events::{Events, Next};
use crate::lab::address_to_serve;
use crate::pending::calling;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};
use quintet::isotach::Operation;
use quintet::{Code, Delivery, Error, IsochronMaker, Place, Received, Variable};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// What a program says of the isonet that it joins.
#[derive(FromPyObject)]
pub(crate) struct Wanted {
    name: String,
    member: Option<(u16, u16)>,
    /// Number, bytes, and who has copies.
    variables: Vec<(u32, usize, Option<Vec<u16>>)>,
    /// Number, name and function.
    handlers: Vec<(u32, String, Option<Py<PyAny>>)>,
    agreed: bool,
    listen_at: Option<Py<PyAny>>,
    limit: Option<f64>,
    silence: Option<f64>,
    max_events: usize,
    max_event_bytes: usize,
    rejoinable: bool,
    rejoin: bool,
    /// What gives the program's state, and what takes it.
    state: Option<(Py<PyAny>, Py<PyAny>)>,
}

/// What the handlers and the handles of a member share.
#[derive(Default)]
pub(crate) struct Program {
    /// The handler that runs, and since when.
    running: Mutex<Option<(String, Instant)>>,
    /// What a handler has raised.
    raised: Mutex<Option<PyErr>>,
}

/// A member of an isonet. Made by `Lab._join_isonet`.
#[pyclass(frozen, module = "quintet._native")]
pub(crate) struct Isonet {
    process: Maker,
    /// None once it has ended.
    isonet: Mutex<Option<quintet::Isonet>>,
    maker: IsochronMaker,
    program: Arc<Program>,
    events: Arc<Events>,
    member: u16,
    members: u16,
}

/// Joins, in a thread of its own.
pub(crate) fn join(py: Python<'_>, connection: &Arc<Connection>, wanted: Wanted) -> PyResult<Isonet> {
    let (program, events) =
        (Arc::new(Program::default()), Arc::new(Events::holding(wanted.max_events, wanted.max_event_bytes)));
    let listen_at = wanted.listen_at.map(|place| address_to_serve(place.bind(py))).transpose()?;
    let lab = connection.ask_lab(py, |lab| Ok(lab.clone()))?;
    let mut builder = lab.isochrons(&wanted.name);
    if let Some((me, of)) = wanted.member {
        builder = builder.member(me, of);
    }
    for (variable, bytes, copies) in wanted.variables {
        builder = match copies {
            Some(copies) => builder.variable_at(Variable(variable), bytes, &copies),
            None => builder.variable(Variable(variable), bytes),
        };
    }
    for (number, name, function) in wanted.handlers {
        let program = Arc::clone(&program);
        builder = match function {
            Some(function) => {
                builder.handler(number, move |received| program.handle(&name, &function, received))
            }
            None => builder.handler(number, |_| {}),
        };
    }
    if wanted.agreed {
        builder = builder.delivery(Delivery::Agreed);
    }
    if let Some(address) = listen_at {
        builder = builder.listen_at(address);
    }
    if let Some(limit) = limit(wanted.limit)? {
        builder = builder.limit(limit);
    }
    if let Some(silence) = limit(wanted.silence)? {
        builder = builder.silence_limit(silence);
    }
    if wanted.max_events > 0 {
        let events = Arc::clone(&events);
        builder = builder.observe(move |performed| events.put(performed));
    }
    if wanted.rejoinable {
        builder = builder.rejoinable();
    }
    if let Some((give, take)) = wanted.state {
        let [giving, taking] = [(); 2].map(|()| Arc::clone(&program));
        builder =
            builder.state(move || giving.give_state(&give), move |bytes| taking.take_state(&take, bytes));
    }
    let join = if wanted.rejoin { quintet::IsonetBuilder::rejoin } else { quintet::IsonetBuilder::join };
    let joined = in_a_thread(py, "quintet-join", move || Ok(join(builder)))?;
    // A handler may have raised before this member had heard that all are there.
    let isonet = joined.map_err(|error| program.raise(error))?;
    let (maker, member, members) = (isonet.maker(), isonet.member(), isonet.members());
    let ended = Arc::clone(&events);
    py.detach(|| maker.notify_end(Box::new(move || ended.end())));
    let (process, isonet) = (Maker::this_process(), Mutex::new(Some(isonet)));
    Ok(Isonet { process, isonet, maker, program, events, member, members })
}

impl Program {
    /// Has a handler take a message. What it raises ends this member: it is not where the others are.
    fn handle(self: &Arc<Self>, name: &str, function: &Py<PyAny>, received: &Received<'_>) {
        *self.locked_running() = Some((name.to_owned(), Instant::now()));
        let called = Python::try_attach(|py| {
            call(py, self, function, received).map_err(|raised| {
                let text =
                    format!("handler {name} of this member raised {raised}: this member has left its isonet");
                *self.raised.lock().unwrap_or_else(PoisonError::into_inner) = Some(raised);
                Error::new(Code::TaskFailed, text)
            })
        });
        *self.locked_running() = None;
        match called {
            Some(Ok(())) => {}
            Some(Err(why)) => received.leave(why),
            None => received.leave(Error::new(Code::Closed, "this program has ended")),
        }
    }

    fn give_state(&self, give: &Py<PyAny>) -> Result<Vec<u8>, Error> {
        self.about_state("give its state", |py| give.call0(py)?.extract(py))
    }

    fn take_state(&self, take: &Py<PyAny>, bytes: &[u8]) -> Result<(), Error> {
        self.about_state("take a state", |py| take.call1(py, (PyBytes::new(py, bytes),)).map(drop))
    }

    /// Has the program do something about its state. What it raises ends this member: it is not where the others are.
    fn about_state<T>(&self, what: &str, does: impl FnOnce(Python<'_>) -> PyResult<T>) -> Result<T, Error> {
        let done = Python::try_attach(|py| {
            does(py).map_err(|raised| {
                let text = format!(
                    "the program of this member was to {what}, and raised {raised}: it has left its isonet"
                );
                *self.raised.lock().unwrap_or_else(PoisonError::into_inner) = Some(raised);
                Error::new(Code::TaskFailed, text)
            })
        });
        done.unwrap_or_else(|| Err(Error::new(Code::Closed, "this program has ended")))
    }

    fn locked_running(&self) -> MutexGuard<'_, Option<(String, Instant)>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The handler that runs, and for how many seconds.
    pub(crate) fn running(&self) -> Option<(String, f64)> {
        self.locked_running().as_ref().map(|(name, since)| (name.clone(), since.elapsed().as_secs_f64()))
    }

    /// An error; if a handler's exception is behind it, that is its cause.
    pub(crate) fn raise(&self, error: Error) -> PyErr {
        let is_of_handler = error.code() == Code::TaskFailed;
        let made = raise(error);
        if is_of_handler {
            Python::attach(|py| {
                let raised = self.raised.lock().unwrap_or_else(PoisonError::into_inner);
                made.set_cause(py, raised.as_ref().map(|raised| raised.clone_ref(py)));
            });
        }
        made
    }
}

fn call(
    py: Python<'_>,
    program: &Arc<Program>,
    function: &Py<PyAny>,
    received: &Received<'_>,
) -> PyResult<()> {
    let isochrons =
        Isochrons { maker: received.maker(), program: Arc::clone(program), process: Maker::this_process() };
    let place = place_of(py, received.place)?;
    function.call1(py, (received.sender, place, PyBytes::new(py, received.bytes), isochrons)).map(drop)
}

#[pymethods]
impl Isonet {
    #[getter]
    fn member(&self) -> u16 {
        self.member
    }

    #[getter]
    fn members(&self) -> u16 {
        self.members
    }

    /// The present view: its number, and the members that are left.
    #[getter]
    fn view(&self) -> PyResult<(u32, Vec<u16>)> {
        self.process.check().map_err(raise)?;
        let Some(isonet) = self.locked_isonet().clone() else {
            return Err(raise(Error::new(Code::Closed, "this isonet was closed")));
        };
        let present = isonet.view();
        Ok((present.view.0, present.members))
    }

    /// What makes isochrons of it.
    #[getter]
    fn isochrons(&self) -> Isochrons {
        Isochrons { maker: self.maker.clone(), program: Arc::clone(&self.program), process: self.process }
    }

    /// What this member has performed next: place, sender, whether it is a message, number and bytes; None if there is none within `wait` seconds.
    ///
    /// Raises LimitReached for those that nobody has read in time; the error by which the isonet has ended, behind the last.
    #[pyo3(signature = (wait = None))]
    fn event<'py>(&self, py: Python<'py>, wait: Option<f64>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        let limit = limit(wait)?;
        self.process.check().map_err(raise)?;
        let performed = match wait_with_signals(py, limit, |slice| py.detach(|| self.events.next(slice)))? {
            None => return Ok(None),
            Some(Next::Event(performed)) => performed,
            Some(Next::Lost(error)) => return Err(raise(error)),
            Some(Next::End) => {
                let end =
                    self.maker.end().unwrap_or_else(|| Error::new(Code::Closed, "this isonet has ended"));
                return Err(self.program.raise(end));
            }
        };
        let (is_message, number, bytes) = match performed.operation {
            Operation::Send { handler, bytes, .. } => (true, handler, bytes),
            Operation::Write(variable, bytes) | Operation::Assign(variable, bytes) => {
                (false, variable.0, bytes)
            }
            // Neither changes anything.
            Operation::Read(_) | Operation::Sched(_) => return Ok(None),
        };
        let place = place_of(py, performed.place)?;
        let event = (place, performed.sender.0, is_message, number, PyBytes::new(py, &bytes));
        Ok(Some(event.into_pyobject(py)?))
    }

    /// Calls back once `event` would say something at once. It must hand over and return.
    fn notify_event(&self, py: Python<'_>, callback: Py<PyAny>) {
        let call = calling(callback);
        match self.process.is_this_process() {
            true => py.detach(|| self.events.notify(Box::new(call))),
            false => call(),
        }
    }

    /// Waits until all close, and ends.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.process.check().map_err(raise)?;
        if self.maker.is_handling() {
            return Err(raise(waits_in_a_handler()));
        }
        let Some(isonet) = self.locked_isonet().clone() else { return Ok(()) };
        let closed = in_a_thread(py, "quintet-close", move || Ok(isonet.close()))?;
        self.leave(py);
        closed.map_err(|error| self.program.raise(error))
    }

    /// Ends at once: the others are told that it is gone.
    fn leave(&self, py: Python<'_>) {
        let isonet = self.locked_isonet().take();
        self.process.let_go(py, isonet);
    }

    /// Whether it has ended.
    #[getter]
    fn closed(&self) -> bool {
        self.process.check().is_err() || self.maker.end().is_some()
    }
}

impl Isonet {
    fn locked_isonet(&self) -> MutexGuard<'_, Option<quintet::Isonet>> {
        self.isonet.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Isonet {
    fn drop(&mut self) {
        Python::attach(|py| self.leave(py));
    }
}

/// View, pulse, sender, rank, and how many purely local ones behind that.
pub(crate) fn place_of(py: Python<'_>, place: Place) -> PyResult<Bound<'_, PyTuple>> {
    let Place { stamp, behind } = place;
    (stamp.view.0, stamp.pulse.0, stamp.sender.0, stamp.rank.0, behind).into_pyobject(py)
}

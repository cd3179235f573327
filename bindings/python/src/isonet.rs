//! A member of an isonet: how it joins, what its handlers are given, how it ends.

use crate::connection::{Connection, in_a_thread, limit, wait_with_signals};
use crate::error::raise;
use crate::fork::Maker;
use crate::isochron::{Isochrons, waits_in_a_handler};
use crate::isonet_counters::{from_counters, from_peer};
use crate::isonet_events::{Events, Next};
use crate::lab::address_to_serve;
use crate::pending::calling;
use crate::witness::Witness;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};
use quintet::isotach::{Counters, Isonet as Shared, Operation, Testimony, View, Witnessed};
use quintet::{
    Code, Delivery, Error, IsochronMaker, LossCause, Lost, NodeId, Place, PlainReceived, PresentView,
    Received, Variable,
};
use std::collections::BTreeMap;
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
    /// The same of plain ones, which all have a function.
    plain_handlers: Vec<(u32, String, Py<PyAny>)>,
    /// Is called with the parts of each view that begins.
    on_view: Option<Py<PyAny>>,
    keep_witness: bool,
    check_invariants: bool,
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
    kept: Mutex<Kept>,
    member: u16,
    members: u16,
}

/// What is kept of a member once it has ended, for a witness also before.
#[derive(Default)]
struct Kept {
    witnessed: Vec<Witnessed>,
    views: BTreeMap<View, Arc<Shared>>,
    /// Of one that was closed.
    counters: Option<Counters>,
}

impl Kept {
    fn keep(&mut self, isonet: &quintet::Isonet) {
        self.witnessed.extend(isonet.take_witness());
        self.views = isonet.views();
    }
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
    for (number, name, function) in wanted.plain_handlers {
        let program = Arc::clone(&program);
        builder =
            builder.plain_handler(number, move |received| program.handle_plain(&name, &function, received));
    }
    if let Some(function) = wanted.on_view {
        builder = builder.on_view(move |view| tell_view(&function, view));
    }
    if wanted.keep_witness {
        builder = builder.keep_witness();
    }
    if wanted.check_invariants {
        builder = builder.check_invariants();
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
    Ok(Isonet { process, isonet, maker, program, events, kept: Mutex::default(), member, members })
}

impl Program {
    /// Has a handler take a message. What it raises ends this member: it is not where the others are.
    fn handle(self: &Arc<Self>, name: &str, function: &Py<PyAny>, received: &Received<'_>) {
        let handled = self.run(name, |py| call(py, self, function, received));
        handled.unwrap_or_else(|why| received.leave(why));
    }

    /// Has a plain handler take a plain message, likewise.
    fn handle_plain(self: &Arc<Self>, name: &str, function: &Py<PyAny>, received: &PlainReceived<'_>) {
        let handled = self.run(name, |py| {
            let isochrons = isochrons_of(self, received.maker());
            function.call1(py, (received.sender, PyBytes::new(py, received.bytes), isochrons)).map(drop)
        });
        handled.unwrap_or_else(|why| received.leave(why));
    }

    /// Runs a handler.
    ///
    /// # Errors
    /// It has raised something, or the interpreter has ended.
    fn run(&self, name: &str, handle: impl FnOnce(Python<'_>) -> PyResult<()>) -> Result<(), Error> {
        *self.locked_running() = Some((name.to_owned(), Instant::now()));
        let called = Python::try_attach(|py| {
            handle(py).map_err(|raised| {
                let text =
                    format!("handler {name} of this member raised {raised}: this member has left its isonet");
                *self.raised.lock().unwrap_or_else(PoisonError::into_inner) = Some(raised);
                Error::new(Code::TaskFailed, text)
            })
        });
        *self.locked_running() = None;
        called.unwrap_or_else(|| Err(Error::new(Code::Closed, "this program has ended")))
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

    /// Which handler runs, and for how long: for the text of a wait that took too long. "" if none does.
    pub(crate) fn held_up_by(&self) -> String {
        let running = self.locked_running();
        running.as_ref().map_or(String::new(), |(name, since)| {
            let seconds = since.elapsed().as_secs_f64();
            format!("; handler {name} of this member has been running for {seconds:.1} s, and nothing is executed here meanwhile")
        })
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
    let isochrons = isochrons_of(program, received.maker());
    let place = place_of(py, received.place)?;
    function.call1(py, (received.sender, place, PyBytes::new(py, received.bytes), isochrons)).map(drop)
}

/// What a handler is given to begin isochrons with.
fn isochrons_of(program: &Arc<Program>, maker: IsochronMaker) -> Isochrons {
    Isochrons { maker, program: Arc::clone(program), process: Maker::this_process() }
}

/// A view's number, members, who was lost with it and for what, and who has come back.
type ViewParts = (u32, Vec<u16>, Vec<(u16, &'static str)>, Vec<u16>);

fn parts(view: PresentView) -> ViewParts {
    let lost = |lost: &Lost| {
        let cause = match lost.cause {
            LossCause::Gone => "gone",
            LossCause::Misbehaved => "misbehaved",
            _ => "missed elsewhere",
        };
        (lost.member, cause)
    };
    (view.view.0, view.members, view.lost.iter().map(lost).collect(), view.back)
}

/// Tells the program of a view that begins. What its function raises is told as what a destructor raises is.
fn tell_view(function: &Py<PyAny>, view: &PresentView) {
    Python::try_attach(|py| {
        if let Err(error) = function.call1(py, parts(view.clone())) {
            error.write_unraisable(py, Some(function.bind(py)));
        }
    });
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

    /// The present view.
    #[getter]
    fn view(&self) -> PyResult<ViewParts> {
        self.process.check().map_err(raise)?;
        let Some(isonet) = self.locked_isonet().clone() else {
            return Err(raise(Error::new(Code::Closed, "this isonet was closed")));
        };
        Ok(parts(isonet.view()))
    }

    /// What it has done since this was asked last, if it keeps a witness. All there is once it is closed.
    fn take_witness(&self, py: Python<'_>) -> PyResult<Witness> {
        self.process.check().map_err(raise)?;
        let member = self.member;
        Ok(py.detach(|| {
            let mut kept = self.locked_kept();
            self.locked_isonet().iter().for_each(|isonet| kept.keep(isonet));
            let (node, said) = (NodeId(member), std::mem::take(&mut kept.witnessed));
            Witness(Testimony { node, views: kept.views.clone(), said })
        }))
    }

    /// What it has counted since it has joined, also once it is closed.
    fn counters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.process.check().map_err(raise)?;
        let isonet = self.locked_isonet().clone();
        let counters = match isonet {
            Some(isonet) => py.detach(|| isonet.counters()),
            None => self.locked_kept().counters.clone().ok_or_else(|| {
                Error::new(
                    Code::Closed,
                    "this member has left its isonet, and was not asked what it had counted",
                )
            }),
        };
        from_counters(py, &counters.map_err(raise)?)
    }

    /// How each other member of the view keeps up: whom it waits for first.
    fn peers<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        self.process.check().map_err(raise)?;
        let isonet = self.locked_isonet().clone();
        let peers = isonet.map_or(Ok(Vec::new()), |isonet| py.detach(|| isonet.peers()));
        peers.map_err(raise)?.iter().map(|peer| from_peer(py, peer)).collect()
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
        let closing = isonet.clone();
        let closed = in_a_thread(py, "quintet-close", move || Ok(closing.close()))?;
        self.locked_kept().counters = py.detach(|| isonet.counters().ok());
        drop(isonet);
        self.leave(py);
        closed.map_err(|error| self.program.raise(error))
    }

    /// Ends at once: the others are told that it is gone.
    fn leave(&self, py: Python<'_>) {
        let isonet = self.locked_isonet().take();
        if self.process.is_this_process() {
            isonet.iter().for_each(|isonet| self.locked_kept().keep(isonet));
        }
        self.process.let_go(py, isonet);
    }

    /// Whether it has ended.
    #[getter]
    fn closed(&self) -> bool {
        self.process.check().is_err() || self.maker.end().is_some()
    }
}

impl Isonet {
    fn locked_kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

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

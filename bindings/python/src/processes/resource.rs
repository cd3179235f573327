//! Resources: so many places, which processes request and release.

use super::event::{Event, Outcome, State, Subject};
use super::process::interrupt;
use super::run::Run;
use super::world::{Pending, World};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use quintet_simulate::Picos;
use quintet_simulate::statistics::{Level, Tally};
use std::collections::VecDeque;

/// The state of a resource.
pub(super) struct Shared {
    pub(super) name: String,
    pub(super) capacity: u64,
    preemptive: bool,
    /// Requests that are granted.
    used: u64,
    /// Who holds a place, in a preemptive one only.
    holders: Vec<Holder>,
    /// Requests that wait: by priority, and those of one priority in the order in which they came.
    queue: VecDeque<Queued>,
    pub(super) in_use: Level,
    pub(super) queued: Level,
    pub(super) waited: Tally,
}

struct Queued {
    priority: f64,
    came: Picos,
    process: Option<(u32, u64)>,
    request: Py<Event>,
}

struct Holder {
    priority: f64,
    since: Picos,
    process: Option<(u32, u64)>,
    request: Py<Event>,
}

impl Shared {
    pub(super) fn new(name: String, capacity: u64, preemptive: bool, now: Picos) -> Shared {
        Shared {
            name,
            capacity,
            preemptive,
            used: 0,
            holders: Vec::new(),
            queue: VecDeque::new(),
            in_use: Level::new(now, 0.0),
            queued: Level::new(now, 0.0),
            waited: Tally::new(),
        }
    }

    /// Whether it is what was asked for; without a capacity any is.
    pub(super) fn is_like(&self, capacity: Option<u64>, preemptive: bool) -> bool {
        capacity.is_none_or(|capacity| capacity == self.capacity) && (self.preemptive || !preemptive)
    }

    pub(super) fn forget(&mut self, now: Picos) {
        self.in_use.reset(now);
        self.queued.reset(now);
        self.waited.reset();
    }

    fn set_used(&mut self, used: u64, now: Picos) {
        self.used = used;
        self.in_use.set(now, used as f64);
    }

    fn enter(&mut self, queued: Queued, now: Picos) {
        let behind = self.queue.iter().rev().take_while(|other| other.priority > queued.priority).count();
        self.queue.insert(self.queue.len() - behind, queued);
        self.queued.set(now, self.queue.len() as f64);
    }

    fn hold(&mut self, queued: Queued, now: Picos) {
        self.waited.add((now - queued.came).as_seconds());
        if self.preemptive {
            let Queued { priority, process, request, .. } = queued;
            self.holders.push(Holder { priority, since: now, process, request });
        }
    }

    /// The holder that a request of this priority takes the place of: of the worst priority, and of these who has it for the least time.
    fn preempted(&mut self, priority: f64) -> Option<Holder> {
        let worse = |other: &Holder, worst: &Holder| other.priority >= worst.priority;
        let places = 0..self.holders.len();
        let worst =
            places.reduce(
                |worst, other| if worse(&self.holders[other], &self.holders[worst]) { other } else { worst },
            )?;
        (self.preemptive && self.holders[worst].priority > priority).then(|| self.holders.remove(worst))
    }
}

/// So many places, which processes request and release.
#[pyclass(frozen, module = "quintet.simulate")]
pub(crate) struct Resource {
    pub(super) run: Py<Run>,
    pub(super) index: u32,
}

/// A request for a place of a resource. It happens when the place is there, and gives itself to who waits for it. The end of a `with` block
/// releases the place, or withdraws the request.
#[pyclass(extends = Event, module = "quintet.simulate")]
pub(crate) struct Request;

#[pymethods]
impl Resource {
    /// Its name.
    #[getter]
    fn name(&self, py: Python<'_>) -> String {
        self.read(py, |shared| shared.name.clone()).unwrap_or_default()
    }

    /// How many places it has.
    #[getter]
    fn capacity(&self, py: Python<'_>) -> u64 {
        self.read(py, |shared| shared.capacity).unwrap_or_default()
    }

    /// How many places are held.
    #[getter]
    fn count(&self, py: Python<'_>) -> u64 {
        self.read(py, |shared| shared.used).unwrap_or_default()
    }

    /// How many requests wait.
    #[getter]
    fn waiting(&self, py: Python<'_>) -> usize {
        self.read(py, |shared| shared.queue.len()).unwrap_or_default()
    }

    /// Requests a place. Requests of a smaller `priority` go first, those of the same in the order in which they were made. In a
    /// preemptive resource a request takes the place of one with a larger priority, whose process is interrupted, unless `preempt` is
    /// false.
    ///
    /// Raises ValueError for a priority that is no number.
    #[pyo3(signature = (priority = 0.0, preempt = true))]
    fn request<'py>(&self, py: Python<'py>, priority: f64, preempt: bool) -> PyResult<Bound<'py, Request>> {
        if priority.is_nan() {
            return Err(PyValueError::new_err("the priority is no number"));
        }
        let subject = Subject::Resource(self.index);
        let base = Event::new(self.run.clone_ref(py), subject, State::Waiting, Outcome::Itself);
        let request = Bound::new(py, PyClassInitializer::from(base).add_subclass(Request))?;
        if let Some(loser) = self.place(py, &request, priority, preempt) {
            self.evict(py, &loser)?;
        }
        Ok(request)
    }

    /// Gives the place of a request back, or withdraws the request if it still waits. Nothing happens if that was done before.
    fn release(&self, py: Python<'_>, request: Bound<'_, Request>) -> PyResult<()> {
        release(self.run.bind(py), request.as_super());
        Ok(())
    }
}

impl Resource {
    fn read<T>(&self, py: Python<'_>, what: impl FnOnce(&Shared) -> T) -> Option<T> {
        self.run.bind(py).borrow().world.resources.get(self.index as usize).map(what)
    }

    /// Gives a request a place, or has it wait for one. Who lost the place to it, if somebody did.
    fn place(
        &self,
        py: Python<'_>,
        request: &Bound<'_, Request>,
        priority: f64,
        preempt: bool,
    ) -> Option<Holder> {
        let world = &mut self.run.bind(py).borrow_mut().world;
        let (now, process) = (world.now, world.current_process());
        let shared = world.resources.get_mut(self.index as usize)?;
        let event = request.as_super();
        let queued = Queued { priority, came: now, process, request: event.clone().unbind() };
        let is_free = shared.used < shared.capacity;
        let loser = (preempt && !is_free).then(|| shared.preempted(priority)).flatten();
        if !is_free && loser.is_none() {
            shared.enter(queued, now);
            return None;
        }
        event.borrow_mut().state = State::Done;
        if is_free {
            shared.set_used(shared.used + 1, now);
        }
        shared.hold(queued, now);
        loser
    }

    /// Interrupts the process that lost its place to the one that runs.
    fn evict(&self, py: Python<'_>, loser: &Holder) -> PyResult<()> {
        loser.request.bind(py).borrow_mut().state = State::Cancelled;
        let Some((place, number)) = loser.process else { return Ok(()) };
        let (by, name) = {
            let world = &mut self.run.bind(py).borrow_mut().world;
            let current = world.current.and_then(|current| world.processes.get_mut(current));
            let by = current.and_then(|working| Some(working.end.as_ref()?.clone_ref(py)));
            (by, world.resources.get(self.index as usize).map_or(String::new(), |shared| shared.name.clone()))
        };
        let class = py.import("quintet.simulate.processes")?.getattr("Preempted")?;
        let cause = class.call1((by, loser.since.as_seconds(), name))?.unbind();
        let exception = interrupt(py, Some(cause))?;
        self.run
            .bind(py)
            .borrow_mut()
            .world
            .schedule(Picos::ZERO, Pending::Interrupt(place, number, exception));
        Ok(())
    }
}

/// Gives a place back, or withdraws the request for one.
fn release(run: &Bound<'_, Run>, request: &Bound<'_, Event>) {
    let world = &mut run.borrow_mut().world;
    let (now, mut event) = (world.now, request.borrow_mut());
    let Subject::Resource(index) = event.subject else { return };
    let Some(shared) = world.resources.get_mut(index as usize) else { return };
    let was = std::mem::replace(&mut event.state, State::Cancelled);
    if was == State::Waiting {
        shared.queue.retain(|queued| !queued.request.is(request));
        shared.queued.set(now, shared.queue.len() as f64);
    }
    if !matches!(was, State::Triggered | State::Done) {
        return;
    }
    drop(event);
    if shared.preemptive {
        shared.holders.retain(|holder| !holder.request.is(request));
    }
    grant(run.py(), world, index as usize);
}

/// A place became free: the first request that waits has it.
fn grant(py: Python<'_>, world: &mut World, index: usize) {
    let now = world.now;
    let shared = &mut world.resources[index];
    let Some(next) = shared.queue.pop_front() else { return shared.set_used(shared.used - 1, now) };
    shared.queued.set(now, shared.queue.len() as f64);
    let event = next.request.clone_ref(py);
    shared.hold(next, now);
    let granted = event.clone_ref(py);
    world.trigger(event, &mut granted.bind(py).borrow_mut().state);
}

#[pymethods]
impl Request {
    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(slf: Bound<'_, Self>, _exception: Bound<'_, pyo3::types::PyTuple>) {
        Request::release(slf);
    }

    /// Gives its place back, or withdraws it if it still waits. Nothing happens if that was done before.
    fn release(slf: Bound<'_, Self>) {
        let event = slf.as_super();
        let run = event.borrow().run.clone_ref(slf.py());
        release(run.bind(slf.py()), event);
    }

    /// The same as `release`.
    fn cancel(slf: Bound<'_, Self>) {
        Request::release(slf);
    }
}

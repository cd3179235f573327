//! Resumes generators when their events come.

use super::condition;
use super::event::{Event, Outcome, State, Waiter};
use super::process::{leave, name};
use super::program::{Mailbox, receive};
use super::random::{Stream, named};
use super::row::{ProcessesRow, row};
use super::run::{Run, delay};
use super::source::{Described, Source};
use super::world::{Outgoing, Pending, World};
use crate::error::raise as raise_error;
use crate::simulate::{Row, SimulatedModel, raise};
use pyo3::exceptions::{PyException, PyStopIteration};
use pyo3::prelude::*;
use pyo3::types::{PyFloat, PyInt};
use quintet::{Code, Error};
use quintet_model::{Driver, Place};
use quintet_simulate::{Picos, Simulation};

/// How often processes go on without an event at one instant. From then on each time is an event of the simulation, which finds out who
/// lets no time pass.
const MOST_AT_ONCE: u32 = 100_000;

/// How a process goes on.
enum Resumption<'py> {
    Next,
    Send(Bound<'py, PyAny>),
    Throw(Bound<'py, PyAny>),
}

/// What became of a process that went on.
enum Step<'py> {
    Yielded(Bound<'py, PyAny>),
    Ended(Outcome),
    Failed(PyErr),
}

struct Resumer<'py> {
    run: Bound<'py, Run>,
    sources: Vec<Source>,
    /// What ended the run.
    failure: Option<PyErr>,
    /// At the end: what processes did.
    row: Option<ProcessesRow>,
}

/// Runs a model once, with processes.
///
/// Raises BadValue for a model that cannot run, TaskFailed with its cause if a process failed, and whatever else a process or a signal's
/// handler raised.
#[pyfunction]
pub(crate) fn run_driven(
    py: Python<'_>,
    model: PyRef<'_, SimulatedModel>,
    seed: u64,
    timings: &str,
    sources: Vec<Described>,
) -> PyResult<(Row, ProcessesRow)> {
    let has_file = model.has_file;
    let wrong = |error| raise(error, has_file);
    let timings = model.model.timings(timings).map_err(wrong)?;
    let taken = model.model.measure_names().map(str::to_owned).collect();
    let world = World::new(seed, model.model.parameter_values(), taken);
    let stream = PyClassInitializer::from(Stream { random: named(seed, "") });
    let run = Bound::new(py, stream.add_subclass(Run { world }))?;
    let timing = |name: &str| timings.get(name).cloned().flatten();
    let sources: PyResult<Vec<_>> = sources
        .iter()
        .zip(0..)
        .map(|(described, number)| Source::new(&run, (described, number), timing(&described.0)))
        .collect();
    let mut resumer = Some(Resumer { run: run.clone(), sources: sources?, failure: None, row: None });
    let driven = model.model.run_driven(seed, |places| {
        let resumer = resumer.take().expect("a run has one driver");
        resumer.place(places);
        resumer
    });
    let empty = World::new(seed, Default::default(), Vec::new());
    // Generators that have not ended are closed when nothing of the run is borrowed: they may release what they hold.
    let world = std::mem::replace(&mut run.borrow_mut().world, empty);
    let World { processes, measures, .. } = world;
    drop(processes);
    let (result, driver) = driven.map_err(wrong)?;
    if let Some(failure) = driver.failure {
        return Err(failure);
    }
    let mut result = result.expect("only a failure ends a run before its end");
    result.measures.extend(measures.into_iter().map(|measured| measured.into_result()));
    let row = driver.row.expect("a run that ended has one");
    Ok((Row::from(result), row))
}

impl<'py> Resumer<'py> {
    fn py(&self) -> Python<'py> {
        self.run.py()
    }

    fn place(&self, places: Vec<Place>) {
        let world = &mut self.run.borrow_mut().world;
        let seed = world.seed;
        let mailbox = |place: Place| {
            let random = named(seed, &format!("program {}", place.name));
            Mailbox::new(place, random)
        };
        world.mailboxes = places.into_iter().map(mailbox).collect();
    }

    /// Has the simulation call for what was scheduled, in that order.
    fn hand_over(&self, simulation: &mut Simulation) {
        let mut outgoing = std::mem::take(&mut self.run.borrow_mut().world.outgoing);
        for item in outgoing.drain(..) {
            match item {
                Outgoing::Call(at, number) => simulation.call_at(at, number),
                Outgoing::Order(order) => simulation.command(order.0, order.1, order.2),
            }
        }
        // Its room is kept.
        self.run.borrow_mut().world.outgoing = outgoing;
    }

    /// Does something of the run at this time. Whether the run goes on.
    fn act(&mut self, simulation: &mut Simulation, what: impl FnOnce(&mut Self) -> PyResult<()>) -> bool {
        self.run.borrow_mut().world.now = simulation.clock();
        let done = what(self);
        self.hand_over(simulation);
        self.failure = done.err();
        self.failure.is_none()
    }

    fn come(&mut self, number: u64) -> PyResult<()> {
        let place = u32::try_from(number).expect("numbers are those of slots");
        let pending = self.run.borrow_mut().world.pending.take(place);
        match pending {
            None => Ok(()),
            Some(Pending::Wake(place, wait)) => {
                if self.is_in(place, wait) {
                    self.resume(place, Resumption::Next)
                } else {
                    Ok(())
                }
            }
            Some(Pending::Fire(event)) => self.fire(event.into_bound(self.py())),
            Some(Pending::Begin(source)) => self.begin(source),
            Some(Pending::Interrupt(place, number, exception)) => self.interrupt(place, number, exception),
        }
    }

    /// Whether a process is in the wait of this number.
    fn is_in(&self, place: u32, wait: u64) -> bool {
        let world = &mut self.run.borrow_mut().world;
        world.processes.get_mut(place).is_some_and(|working| working.wait == wait)
    }

    /// A source begins a process, which runs at once.
    fn begin(&mut self, number: u32) -> PyResult<()> {
        let py = self.py();
        let source = &mut self.sources[number as usize];
        if let Some(gap) = source.gap() {
            self.run.borrow_mut().world.schedule(gap, Pending::Begin(number));
        }
        let generator = source.make(py)?.unbind();
        let place = self.run.borrow_mut().world.work(generator);
        self.resume(place, Resumption::Next)
    }

    fn interrupt(&mut self, place: u32, number: u64, exception: Py<PyAny>) -> PyResult<()> {
        let py = self.py();
        {
            let world = &mut self.run.borrow_mut().world;
            let working = world.processes.get_mut(place).filter(|working| working.number == number);
            let Some(working) = working else { return Ok(()) };
            leave(py, place, working);
        }
        self.resume(place, Resumption::Throw(exception.into_bound(py)))
    }

    /// An event happens: who waited goes on.
    fn fire(&mut self, event: Bound<'py, Event>) -> PyResult<()> {
        let (first, others) = {
            let mut inner = event.borrow_mut();
            if inner.state == State::Cancelled {
                return Ok(());
            }
            inner.happen()
        };
        let Some(first) = first else { return unheard(&event) };
        for waiter in std::iter::once(first).chain(others) {
            match waiter {
                Waiter::Process(place, wait) if self.is_in(place, wait) => {
                    self.resume(place, resumption(&event))?;
                }
                Waiter::Process(..) => {}
                Waiter::Condition(place, number) => condition::notify(&self.run, place, number, &event)?,
            }
        }
        Ok(())
    }

    /// A process goes on until it waits.
    fn resume(&mut self, place: u32, how: Resumption<'py>) -> PyResult<()> {
        let mut how = how;
        loop {
            match self.step(place, how) {
                Step::Yielded(found) => match self.wait(place, &found)? {
                    None => return Ok(()),
                    Some(next) => how = next,
                },
                Step::Ended(outcome) => return self.end(place, outcome),
                Step::Failed(error) => return self.fail(place, error),
            }
        }
    }

    fn step(&self, place: u32, how: Resumption<'py>) -> Step<'py> {
        let py = self.py();
        let (generator, has_end) = {
            let world = &mut self.run.borrow_mut().world;
            world.current = Some(place);
            let working = world.processes.get_mut(place).expect("it goes on, so that it has not ended");
            working.awaited = None;
            (working.generator.clone_ref(py).into_bound(py), working.end.is_some())
        };
        let stepped = match how {
            // What a generator returns is lost on this way, which is the quickest.
            Resumption::Next if !has_end => match generator.into_iter().next() {
                None => return Step::Ended(Outcome::Nothing),
                Some(stepped) => stepped,
            },
            Resumption::Next => self.send(place, &generator, py.None().into_bound(py)),
            Resumption::Send(value) => self.send(place, &generator, value),
            Resumption::Throw(exception) => generator.call_method1("throw", (exception,)),
        };
        match stepped {
            Ok(found) => Step::Yielded(found),
            Err(error) if error.is_instance_of::<PyStopIteration>(py) => {
                let value = error.value(py).getattr("value");
                Step::Ended(value.map_or(Outcome::Nothing, |value| Outcome::Value(value.unbind())))
            }
            Err(error) => Step::Failed(error),
        }
    }

    fn send(
        &self,
        place: u32,
        generator: &Bound<'py, PyAny>,
        value: Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = self.py();
        let known = {
            let world = &mut self.run.borrow_mut().world;
            world.processes.get_mut(place).and_then(|working| Some(working.send.as_ref()?.clone_ref(py)))
        };
        let send = match known {
            Some(send) => send.into_bound(py),
            None => {
                let send = generator.getattr("send")?;
                let world = &mut self.run.borrow_mut().world;
                if let Some(working) = world.processes.get_mut(place) {
                    working.send = Some(send.clone().unbind());
                }
                send
            }
        };
        send.call1((value,))
    }

    /// Has a process wait for what it yielded; how it goes on if that has happened already.
    fn wait(&self, place: u32, found: &Bound<'py, PyAny>) -> PyResult<Option<Resumption<'py>>> {
        let py = self.py();
        if let Ok(event) = found.cast::<Event>() {
            return Ok(self.wait_for(place, event));
        }
        let seconds = match found.cast_exact::<PyFloat>() {
            Ok(seconds) => Some(seconds.value()),
            Err(_) if found.is_instance_of::<PyFloat>() || found.is_exact_instance_of::<PyInt>() => {
                found.extract().ok()
            }
            Err(_) => None,
        };
        match seconds.map(delay) {
            Some(Ok(delay)) => {
                let world = &mut self.run.borrow_mut().world;
                let wait = world.next_wait(place, None);
                world.schedule(delay, Pending::Wake(place, wait));
                Ok(None)
            }
            Some(Err(error)) => Ok(Some(Resumption::Throw(error.into_value(py).into_bound(py).into_any()))),
            None => {
                let text = format!(
                    "a process yielded {}, which is no event and no number of seconds",
                    found.repr()?
                );
                let error = raise_error(Error::new(Code::BadValue, text));
                Ok(Some(Resumption::Throw(error.into_value(py).into_bound(py).into_any())))
            }
        }
    }

    fn wait_for(&self, place: u32, event: &Bound<'py, Event>) -> Option<Resumption<'py>> {
        let py = self.py();
        let mut inner = event.borrow_mut();
        if !inner.run.is(&self.run) {
            let error = raise_error(Error::new(Code::BadValue, "a process yielded an event of another run"));
            return Some(Resumption::Throw(error.into_value(py).into_bound(py).into_any()));
        }
        let is_done = inner.state == State::Done;
        let world = &mut self.run.borrow_mut().world;
        if is_done && world.goes_on_at_once(MOST_AT_ONCE) {
            drop(inner);
            return Some(resumption(event));
        }
        let wait = world.next_wait(place, Some(event.clone().unbind()));
        inner.wait(Waiter::Process(place, wait));
        if is_done {
            world.schedule(Picos::ZERO, Pending::Fire(event.clone().unbind()));
        }
        None
    }

    fn end(&self, place: u32, outcome: Outcome) -> PyResult<()> {
        let ended = {
            let world = &mut self.run.borrow_mut().world;
            world.current = None;
            world.ended += 1;
            world.processes.take(place)
        };
        if let Some(end) = ended.and_then(|ended| ended.end) {
            self.finish(end.bind(self.py()), outcome);
        }
        Ok(())
    }

    /// The end of a process: an event that has happened, or happens now for who waits for it.
    fn finish(&self, end: &Bound<'py, Event>, outcome: Outcome) {
        let mut inner = end.borrow_mut();
        if inner.is_awaited() {
            drop(inner);
            return super::event::trigger(end, &mut self.run.borrow_mut().world, outcome);
        }
        (inner.state, inner.outcome) = (State::Done, outcome);
    }

    /// A process failed: that is raised where its end is waited for, or ends the run.
    fn fail(&self, place: u32, error: PyErr) -> PyResult<()> {
        let py = self.py();
        let (ended, now) = {
            let world = &mut self.run.borrow_mut().world;
            world.current = None;
            (world.processes.take(place), world.now)
        };
        let Some(ended) = ended.filter(|_| error.is_instance_of::<PyException>(py)) else {
            return Err(error);
        };
        if let Some(end) = ended.end.as_ref().map(|end| end.bind(py)).filter(|end| end.borrow().is_awaited())
        {
            self.finish(end, Outcome::Failure(error.into_value(py).into_any()));
            return Ok(());
        }
        let name = name(ended.generator.bind(py), ended.number);
        let failed = raise_error(Error::new(Code::TaskFailed, format!("process {name} at {now}: {error}")));
        failed.set_cause(py, Some(error));
        Err(failed)
    }
}

/// How who waits for an event that has happened goes on.
fn resumption<'py>(event: &Bound<'py, Event>) -> Resumption<'py> {
    let py = event.py();
    match &event.borrow().outcome {
        Outcome::Nothing => Resumption::Next,
        Outcome::Itself => Resumption::Send(event.clone().into_any()),
        Outcome::Value(value) => Resumption::Send(value.bind(py).clone()),
        Outcome::Failure(exception) => Resumption::Throw(exception.bind(py).clone()),
    }
}

/// An event happened for which nobody waits: what failed ends the run.
fn unheard(event: &Bound<'_, Event>) -> PyResult<()> {
    match &event.borrow().outcome {
        Outcome::Failure(exception) => Err(PyErr::from_value(exception.bind(event.py()).clone())),
        _ => Ok(()),
    }
}

impl Driver for Resumer<'_> {
    fn begin(&mut self, run: &mut Simulation) {
        for (source, number) in self.sources.iter_mut().zip(0..) {
            let (at, count) = source.first();
            let world = &mut self.run.borrow_mut().world;
            (0..count).for_each(|_| world.schedule(at, Pending::Begin(number)));
        }
        self.hand_over(run);
    }

    fn call(&mut self, number: u64, run: &mut Simulation) -> bool {
        self.act(run, |resumer| resumer.come(number))
    }

    fn received(&mut self, place: usize, run: &mut Simulation) -> bool {
        let address = self.run.borrow().world.mailboxes[place].place.address;
        let received = run.take_received(address);
        self.act(run, |resumer| received.map_or(Ok(()), |received| receive(&resumer.run, place, received)))
    }

    fn warm(&mut self, run: &Simulation) {
        self.run.borrow_mut().world.forget(run.clock());
    }

    fn ended(&mut self, run: &Simulation) {
        self.row = Some(row(&self.run, run.clock(), run.next_at().is_none()));
    }

    fn look(&mut self) -> bool {
        // Other threads have their turn, whatever the events were.
        self.py().detach(|| ());
        self.failure = self.py().check_signals().err();
        self.failure.is_none()
    }
}

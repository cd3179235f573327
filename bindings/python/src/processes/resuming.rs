//! How a generator goes on: what it is given, and what becomes of what it yields.

use super::condition;
use super::driver::Resumer;
use super::event::{Event, Outcome, State, Waiter, trigger};
use super::process::{leave, name};
use super::run::{bad_value, delay};
use super::world::Pending;
use crate::error::raise;
use pyo3::exceptions::{PyException, PyStopIteration};
use pyo3::prelude::*;
use pyo3::types::{PyFloat, PyInt};
use quintet::{Code, Error};
use quintet_simulate::Picos;

/// How often processes go on without an event at one instant. From then on each time is an event of the simulation, which finds out who
/// lets no time pass.
const MOST_AT_ONCE: u32 = 100_000;

/// How a process goes on.
pub(super) enum Resumption<'py> {
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

impl<'py> Resumer<'py> {
    pub(super) fn interrupt(&mut self, place: u32, number: u64, exception: Py<PyAny>) -> PyResult<()> {
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
    pub(super) fn fire(&mut self, event: Bound<'py, Event>) -> PyResult<()> {
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
    pub(super) fn resume(&mut self, place: u32, how: Resumption<'py>) -> PyResult<()> {
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
            Some(Err(error)) => Ok(Some(thrown(py, error))),
            None => {
                let text = format!(
                    "a process yielded {}, which is no event and no number of seconds",
                    found.repr()?
                );
                Ok(Some(thrown(py, bad_value(text))))
            }
        }
    }

    fn wait_for(&self, place: u32, event: &Bound<'py, Event>) -> Option<Resumption<'py>> {
        let py = self.py();
        let mut inner = event.borrow_mut();
        if !inner.run.is(&self.run) {
            return Some(thrown(py, bad_value("a process yielded an event of another run".to_owned())));
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
            return trigger(end, &mut self.run.borrow_mut().world, outcome);
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
        let failed = raise(Error::new(Code::TaskFailed, format!("process {name} at {now}: {error}")));
        failed.set_cause(py, Some(error));
        Err(failed)
    }
}

/// How who yielded what cannot be waited for goes on.
fn thrown(py: Python<'_>, error: PyErr) -> Resumption<'_> {
    Resumption::Throw(error.into_value(py).into_bound(py).into_any())
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

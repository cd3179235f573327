//! What is waited for.

use super::condition::{Many, condition};
use super::run::Run;
use super::world::World;
use pyo3::exceptions::{PyBaseException, PyRuntimeError};
use pyo3::prelude::*;

/// How far an event is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum State {
    /// It has not come about.
    Waiting,
    /// It will happen, at a time that is known.
    Triggered,
    /// It has happened.
    Done,
    /// It was withdrawn, and does not happen any more.
    Cancelled,
}

/// Who goes on when an event happens.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Waiter {
    /// A process, in the wait of this number.
    Process(u32, u64),
    /// A condition.
    Condition(u32, u64),
}

/// What an event gives to who waits for it.
pub(super) enum Outcome {
    /// None.
    Nothing,
    /// The event itself.
    Itself,
    Value(Py<PyAny>),
    /// An exception, which is raised there.
    Failure(Py<PyAny>),
}

impl Outcome {
    pub(super) fn clone_ref(&self, py: Python<'_>) -> Outcome {
        match self {
            Outcome::Nothing => Outcome::Nothing,
            Outcome::Itself => Outcome::Itself,
            Outcome::Value(value) => Outcome::Value(value.clone_ref(py)),
            Outcome::Failure(exception) => Outcome::Failure(exception.clone_ref(py)),
        }
    }
}

/// What an event is about: for who asks what a process waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Subject {
    Plain,
    Timeout,
    /// The end of a process, by its number among all.
    Process(u64),
    Condition,
    Resource(u32),
    Get(u32),
    Put(u32),
    /// A message, or the end of what a program was told.
    Program(u32),
}

/// Something that happens once, or not at all. A process waits for it by yielding it.
#[pyclass(subclass, module = "quintet.simulate")]
pub(crate) struct Event {
    pub(super) run: Py<Run>,
    pub(super) state: State,
    pub(super) subject: Subject,
    pub(super) outcome: Outcome,
    /// Most events have one waiter.
    first: Option<Waiter>,
    others: Vec<Waiter>,
}

impl Event {
    #[inline]
    pub(super) fn new(run: Py<Run>, subject: Subject, state: State, outcome: Outcome) -> Event {
        Event { run, state, subject, outcome, first: None, others: Vec::new() }
    }

    #[inline]
    pub(super) fn wait(&mut self, waiter: Waiter) {
        match self.first {
            None => self.first = Some(waiter),
            Some(_) => self.others.push(waiter),
        }
    }

    /// That one does not wait any more.
    pub(super) fn forget(&mut self, waiter: Waiter) {
        if self.first == Some(waiter) {
            self.first = (!self.others.is_empty()).then(|| self.others.remove(0));
        } else {
            self.others.retain(|other| *other != waiter);
        }
    }

    pub(super) fn is_awaited(&self) -> bool {
        self.first.is_some()
    }

    /// It happens now: who waited, in order.
    #[inline]
    pub(super) fn happen(&mut self) -> (Option<Waiter>, Vec<Waiter>) {
        self.state = State::Done;
        (self.first.take(), std::mem::take(&mut self.others))
    }
}

/// Lets an event come about with an outcome.
pub(super) fn trigger(event: &Bound<'_, Event>, world: &mut World, outcome: Outcome) {
    let mut inner = event.borrow_mut();
    inner.outcome = outcome;
    world.trigger(event.clone().unbind(), &mut inner.state);
}

/// An event that has not come about.
pub(super) fn waiting<'py>(run: &Bound<'py, Run>, subject: Subject) -> PyResult<Bound<'py, Event>> {
    Bound::new(run.py(), Event::new(run.clone().unbind(), subject, State::Waiting, Outcome::Nothing))
}

#[pymethods]
impl Event {
    /// Whether it has happened, or will at a time that is known.
    #[getter]
    fn triggered(&self) -> bool {
        matches!(self.state, State::Triggered | State::Done)
    }

    /// Whether it has happened.
    #[getter]
    fn processed(&self) -> bool {
        self.state == State::Done
    }

    /// Whether it came about without an exception.
    #[getter]
    fn ok(&self) -> bool {
        self.triggered() && !matches!(self.outcome, Outcome::Failure(_))
    }

    /// What it gives to who waits for it; for one that failed the exception.
    ///
    /// Raises RuntimeError before it has come about.
    #[getter]
    fn value(slf: Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        let inner = slf.borrow();
        if !inner.triggered() {
            return Err(PyRuntimeError::new_err("the event has not come about"));
        }
        Ok(match &inner.outcome {
            Outcome::Nothing => slf.py().None(),
            Outcome::Itself => slf.clone().into_any().unbind(),
            Outcome::Value(value) | Outcome::Failure(value) => value.clone_ref(slf.py()),
        })
    }

    /// Lets it happen now, after all that was to happen now before. Who waits for it is given `value`. Returns the event.
    ///
    /// Raises RuntimeError if it came about before, or is one that comes about by itself.
    #[pyo3(signature = (value = None))]
    fn succeed<'py>(slf: Bound<'py, Self>, value: Option<Py<PyAny>>) -> PyResult<Bound<'py, Self>> {
        come_about(&slf, value.map_or(Outcome::Nothing, Outcome::Value))?;
        Ok(slf)
    }

    /// The same with an exception, which is raised where it is waited for; if nobody waits for it then, it ends the run. Returns the event.
    ///
    /// Raises RuntimeError as `succeed`, and TypeError for what is no exception.
    fn fail<'py>(
        slf: Bound<'py, Self>,
        exception: Bound<'py, PyBaseException>,
    ) -> PyResult<Bound<'py, Self>> {
        come_about(&slf, Outcome::Failure(exception.into_any().unbind()))?;
        Ok(slf)
    }

    /// Withdraws it, if it has not come about: a `get` takes nothing then, a `put` puts nothing. Whoever waits for it waits for ever.
    fn cancel(slf: Bound<'_, Self>) {
        let (subject, run) = {
            let mut inner = slf.borrow_mut();
            if inner.state != State::Waiting {
                return;
            }
            inner.state = State::Cancelled;
            (inner.subject, inner.run.clone_ref(slf.py()))
        };
        let world = &mut run.bind(slf.py()).borrow_mut().world;
        match subject {
            Subject::Get(index) | Subject::Put(index) => {
                world.stores.get_mut(index as usize).into_iter().for_each(|kept| kept.withdraw(&slf));
            }
            Subject::Program(index) => {
                let mailbox = world.mailboxes.get_mut(index as usize);
                mailbox.into_iter().for_each(|mailbox| mailbox.withdraw(&slf));
            }
            Subject::Plain
            | Subject::Timeout
            | Subject::Process(_)
            | Subject::Condition
            | Subject::Resource(_) => {}
        }
    }

    fn __or__<'py>(slf: Bound<'py, Self>, other: Bound<'py, Event>) -> PyResult<Bound<'py, Event>> {
        let run = slf.borrow().run.clone_ref(slf.py()).into_bound(slf.py());
        condition(&run, vec![slf, other], Many::Any)
    }

    fn __and__<'py>(slf: Bound<'py, Self>, other: Bound<'py, Event>) -> PyResult<Bound<'py, Event>> {
        let run = slf.borrow().run.clone_ref(slf.py()).into_bound(slf.py());
        condition(&run, vec![slf, other], Many::All)
    }
}

fn come_about(event: &Bound<'_, Event>, outcome: Outcome) -> PyResult<()> {
    let run = {
        let inner = event.borrow();
        if inner.state != State::Waiting {
            return Err(PyRuntimeError::new_err("the event has come about before, or was cancelled"));
        }
        if inner.subject != Subject::Plain {
            return Err(PyRuntimeError::new_err("this event comes about by itself"));
        }
        inner.run.clone_ref(event.py())
    };
    trigger(event, &mut run.bind(event.py()).borrow_mut().world, outcome);
    Ok(())
}

//! Generators at work.

use super::event::{Event, Outcome, State, Subject, Waiter};
use super::run::Run;
use super::world::{Pending, World};
use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::PyIterator;
use quintet_simulate::Picos;

/// A process that has not come to its end.
pub(super) struct Working {
    pub(super) generator: Py<PyIterator>,
    /// The generator's `send`, once it was needed.
    pub(super) send: Option<Py<PyAny>>,
    /// The event of its end, if the program has it.
    pub(super) end: Option<Py<Event>>,
    /// Its number among all of the run, from 1 on.
    pub(super) number: u64,
    /// The wait that it is in.
    pub(super) wait: u64,
    /// What it waits for; none while it waits for a time.
    pub(super) awaited: Option<Py<Event>>,
    /// Since when.
    pub(super) since: Picos,
}

/// A process: a generator at work. It is the event of its own end as well, whose value is what the generator returns.
#[pyclass(extends = Event, module = "quintet.simulate")]
pub(crate) struct Process {
    pub(super) place: u32,
    pub(super) number: u64,
}

/// Begins a process: it first runs when what was to happen now before has happened.
pub(super) fn begin<'py>(
    run: &Bound<'py, Run>,
    generator: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, Process>> {
    let generator = generator_of(generator)?;
    let base = Event::new(run.clone().unbind(), Subject::Process(0), State::Waiting, Outcome::Nothing);
    let made = PyClassInitializer::from(base).add_subclass(Process { place: 0, number: 0 });
    let process = Bound::new(run.py(), made)?;
    let world = &mut run.borrow_mut().world;
    let place = world.work(generator.unbind());
    let working = world.processes.get_mut(place).expect("it was put there");
    working.end = Some(process.as_super().clone().unbind());
    let (number, wait) = (working.number, working.wait);
    let mut inner = process.borrow_mut();
    (inner.place, inner.number) = (place, number);
    inner.as_super().subject = Subject::Process(number);
    world.schedule(Picos::ZERO, Pending::Wake(place, wait));
    drop(inner);
    Ok(process)
}

/// What a process can be made of: a generator.
pub(super) fn generator_of<'py>(found: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyIterator>> {
    if let Ok(generator) = found.cast::<PyIterator>()
        && found.hasattr("throw")?
    {
        return Ok(generator.clone());
    }
    let name = found.get_type().qualname()?;
    Err(PyTypeError::new_err(format!(
        "a process is a generator, which a call of a function with yield makes; found {name}"
    )))
}

impl World {
    /// A process that has not run yet.
    pub(super) fn work(&mut self, generator: Py<PyIterator>) -> u32 {
        self.begun += 1;
        self.epoch += 1;
        let (number, wait, since) = (self.begun, self.epoch, self.now);
        self.processes.put(Working { generator, send: None, end: None, number, wait, awaited: None, since })
    }
}

#[pymethods]
impl Process {
    /// Its name: that of its function, and its number among all processes of the run.
    #[getter]
    fn name(slf: Bound<'_, Self>) -> PyResult<String> {
        let (place, number) = { (slf.borrow().place, slf.borrow().number) };
        let run = slf.as_super().borrow().run.clone_ref(slf.py()).into_bound(slf.py());
        let generator = {
            let mut run = run.borrow_mut();
            let working = run.world.processes.get_mut(place).filter(|working| working.number == number);
            working.map(|working| working.generator.clone_ref(slf.py()))
        };
        Ok(generator
            .map_or_else(|| format!("process-{number}"), |generator| name(generator.bind(slf.py()), number)))
    }

    /// Whether it has not come to its end.
    #[getter]
    fn is_alive(slf: PyRef<'_, Self>) -> bool {
        slf.as_super().state == State::Waiting
    }

    /// Raises Interrupt with `cause` in the process where it waits, after all that was to happen now before. What it waited for goes on
    /// without it.
    ///
    /// Raises RuntimeError for a process that has ended, or that interrupts itself.
    #[pyo3(signature = (cause = None))]
    fn interrupt(slf: Bound<'_, Self>, cause: Option<Py<PyAny>>) -> PyResult<()> {
        let py = slf.py();
        let (place, number) = { (slf.borrow().place, slf.borrow().number) };
        let run = {
            let event = slf.as_super().borrow();
            if event.state != State::Waiting {
                return Err(PyRuntimeError::new_err("the process has ended"));
            }
            event.run.clone_ref(py).into_bound(py)
        };
        let exception = interrupt(py, cause)?;
        let world = &mut run.borrow_mut().world;
        if world.current == Some(place) {
            return Err(PyRuntimeError::new_err("a process cannot interrupt itself"));
        }
        world.schedule(Picos::ZERO, Pending::Interrupt(place, number, exception));
        Ok(())
    }
}

/// The exception of an interruption.
pub(super) fn interrupt(py: Python<'_>, cause: Option<Py<PyAny>>) -> PyResult<Py<PyAny>> {
    Ok(py.import("quintet.simulate.processes")?.getattr("Interrupt")?.call1((cause,))?.unbind())
}

/// The name of a process: for a person.
pub(super) fn name(generator: &Bound<'_, PyIterator>, number: u64) -> String {
    let function = generator.getattr("__name__").and_then(|name| name.extract::<String>());
    format!("{}-{number}", function.unwrap_or_else(|_| "process".to_owned()))
}

/// Takes a process out of what it waits for: it goes on for another reason.
pub(super) fn leave(py: Python<'_>, process: u32, working: &mut Working) {
    let waiter = Waiter::Process(process, working.wait);
    if let Some(event) = working.awaited.take() {
        event.bind(py).borrow_mut().forget(waiter);
    }
}

//! What a process is given.

use super::condition::{Many, condition};
use super::event::{Event, Outcome, State, Subject, waiting};
use super::measure::{Measure, Measured};
use super::process::{Process, begin};
use super::program::{Program, find};
use super::random::{Stream, named};
use super::resource::{Resource, Shared};
use super::store::{Kept, Store};
use super::world::{Pending, World};
use crate::error::raise;
use pyo3::prelude::*;
use quintet::{Code, Error};
use quintet_simulate::Picos;
use std::collections::BTreeMap;

/// One run of a model, as its processes see it, and a stream of random values as well. Times are in seconds.
#[pyclass(extends = Stream, module = "quintet.simulate")]
pub(crate) struct Run {
    pub(super) world: World,
}

pub(super) fn bad_value(text: String) -> PyErr {
    raise(Error::new(Code::BadValue, text))
}

/// A time to wait for.
///
/// # Errors
/// BadValue for one that is negative or no number.
#[inline]
pub(super) fn delay(seconds: f64) -> PyResult<Picos> {
    if seconds >= 0.0 {
        Ok(Picos::from_seconds(seconds))
    } else {
        Err(bad_value(format!("a process cannot wait {seconds} s")))
    }
}

#[pymethods]
impl Run {
    /// The simulated time, in seconds.
    #[getter]
    fn now(&self) -> f64 {
        self.world.now.as_seconds()
    }

    /// The run's seed.
    #[getter]
    fn seed(&self) -> u64 {
        self.world.seed
    }

    /// The values of the model's parameters, by name: a dict of its own for each call.
    #[getter]
    fn parameters(&self) -> BTreeMap<String, f64> {
        self.world.parameters.clone()
    }

    /// An event that happens in so many seconds; its value is `value`. To yield a number waits as long, and costs less.
    ///
    /// Raises BadValue for a time below 0.
    #[pyo3(signature = (seconds, value = None))]
    fn timeout<'py>(
        slf: Bound<'py, Self>,
        seconds: f64,
        value: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, Event>> {
        let delay = delay(seconds)?;
        let outcome = value.map_or(Outcome::Nothing, Outcome::Value);
        let event = Event::new(slf.clone().unbind(), Subject::Timeout, State::Triggered, outcome);
        let event = Bound::new(slf.py(), event)?;
        slf.borrow_mut().world.schedule(delay, Pending::Fire(event.clone().unbind()));
        Ok(event)
    }

    /// An event that happens when its `succeed` or `fail` is called.
    fn event<'py>(slf: Bound<'py, Self>) -> PyResult<Bound<'py, Event>> {
        waiting(&slf, Subject::Plain)
    }

    /// Begins a process: `generator` first runs when what was to happen now before has happened. The process is the event of its end, too.
    ///
    /// Raises TypeError for what is no generator.
    fn process<'py>(slf: Bound<'py, Self>, generator: Bound<'py, PyAny>) -> PyResult<Bound<'py, Process>> {
        begin(&slf, &generator)
    }

    /// An event that happens when one of several has. Its value: a dict of those that have, with their values.
    fn any_of<'py>(slf: Bound<'py, Self>, events: Vec<Bound<'py, Event>>) -> PyResult<Bound<'py, Event>> {
        condition(&slf, events, Many::Any)
    }

    /// The same when all have.
    fn all_of<'py>(slf: Bound<'py, Self>, events: Vec<Bound<'py, Event>>) -> PyResult<Bound<'py, Event>> {
        condition(&slf, events, Many::All)
    }

    /// The resource of this name, which the first call makes: so many places that processes request, by default one. In a preemptive one
    /// a request takes the place of one with a larger priority.
    ///
    /// Raises BadValue for a capacity of 0, and for one that it has not.
    #[pyo3(signature = (name, capacity = None, *, preemptive = false))]
    fn resource(
        slf: Bound<'_, Self>,
        name: &str,
        capacity: Option<u64>,
        preemptive: bool,
    ) -> PyResult<Resource> {
        if capacity == Some(0) {
            return Err(bad_value(format!("resource {name} has no place")));
        }
        let world = &mut slf.borrow_mut().world;
        let found = world.resources.iter().position(|known| known.name == name);
        let index = found.unwrap_or_else(|| {
            world.resources.push(Shared::new(name.to_owned(), capacity.unwrap_or(1), preemptive, world.now));
            world.resources.len() - 1
        });
        if !world.resources[index].is_like(capacity, preemptive) {
            return Err(bad_value(format!("resource {name} was made with other places before")));
        }
        Ok(Resource { run: slf.clone().unbind(), index: numbered(index) })
    }

    /// The store of this name, which the first call makes: it has room for so many items, by default without a limit.
    ///
    /// Raises BadValue for a capacity of 0, and for one that it has not.
    #[pyo3(signature = (name, capacity = None))]
    fn store(slf: Bound<'_, Self>, name: &str, capacity: Option<u64>) -> PyResult<Store> {
        if capacity == Some(0) {
            return Err(bad_value(format!("store {name} has no room")));
        }
        let world = &mut slf.borrow_mut().world;
        let found = world.stores.iter().position(|known| known.name == name);
        let index = found.unwrap_or_else(|| {
            world.stores.push(Kept::new(name.to_owned(), capacity, world.now));
            world.stores.len() - 1
        });
        if capacity.is_some() && world.stores[index].capacity != capacity {
            return Err(bad_value(format!("store {name} was made with other room before")));
        }
        Ok(Store { run: slf.clone().unbind(), index: numbered(index) })
    }

    /// The measure of this name, which is made by the first call: processes record its values.
    ///
    /// Raises BadValue for a name that a measure of the model has.
    fn measure(slf: Bound<'_, Self>, name: &str) -> PyResult<Measure> {
        let world = &mut slf.borrow_mut().world;
        if world.taken.iter().any(|taken| taken == name) {
            return Err(bad_value(format!("measure {name} is one of the model")));
        }
        let found = world.measures.iter().position(|known| known.name == name);
        let index = found.unwrap_or_else(|| {
            world.measures.push(Measured::new(name.to_owned()));
            world.measures.len() - 1
        });
        Ok(Measure { run: slf.clone().unbind(), index: numbered(index) })
    }

    /// A stream of random values by itself, which follows from the seed and this name. Each call gives it from its beginning.
    fn stream(&self, name: &str) -> Stream {
        Stream { random: named(self.world.seed, name) }
    }

    /// The place of a module of the model that processes were put in by `Model.process`.
    ///
    /// Raises ValueError for another module.
    fn program(slf: Bound<'_, Self>, module: &str) -> PyResult<Program> {
        find(&slf, module)
    }
}

fn numbered(index: usize) -> u32 {
    u32::try_from(index).expect("memory ends before 2^32 of them")
}

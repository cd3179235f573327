//! Stores: things that processes put and get.

use super::event::{Event, Outcome, State, Subject, trigger, waiting};
use super::run::Run;
use super::world::World;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use quintet_simulate::Picos;
use quintet_simulate::statistics::Level;
use std::collections::VecDeque;

/// The state of a store.
pub(super) struct Kept {
    pub(super) name: String,
    /// None: without a limit.
    pub(super) capacity: Option<u64>,
    /// By priority, and those of one priority in the order in which they came.
    items: VecDeque<Item>,
    getters: VecDeque<Py<Event>>,
    putters: VecDeque<(Item, Py<Event>)>,
    pub(super) level: Level,
    pub(super) got: u64,
}

struct Item {
    priority: f64,
    value: Py<PyAny>,
}

impl Kept {
    pub(super) fn new(name: String, capacity: Option<u64>, now: Picos) -> Kept {
        let (items, getters, putters) = (VecDeque::new(), VecDeque::new(), VecDeque::new());
        Kept { name, capacity, items, getters, putters, level: Level::new(now, 0.0), got: 0 }
    }

    pub(super) fn forget(&mut self, now: Picos) {
        self.level.reset(now);
        self.got = 0;
    }

    /// A `get` or `put` that was cancelled leaves its queue, with what it was to put.
    pub(super) fn withdraw(&mut self, event: &Bound<'_, Event>) {
        self.getters.retain(|getter| !getter.is(event));
        self.putters.retain(|(_, putter)| !putter.is(event));
    }

    fn has_room(&self) -> bool {
        self.capacity.is_none_or(|capacity| (self.items.len() as u64) < capacity)
    }

    fn insert(&mut self, item: Item, now: Picos) {
        let behind = self.items.iter().rev().take_while(|other| other.priority > item.priority).count();
        self.items.insert(self.items.len() - behind, item);
        self.level.set(now, self.items.len() as f64);
    }

    fn take(&mut self, now: Picos) -> Option<Py<PyAny>> {
        let item = self.items.pop_front()?;
        self.level.set(now, self.items.len() as f64);
        self.got += 1;
        Some(item.value)
    }
}

/// The first that still waits.
fn first<'py>(py: Python<'py>, getters: &mut VecDeque<Py<Event>>) -> Option<Bound<'py, Event>> {
    let mut each = std::iter::from_fn(|| getters.pop_front()).map(|event| event.into_bound(py));
    each.find(|event| event.borrow().state == State::Waiting)
}

/// Things that processes put and get, in the order of their priorities and of their coming.
#[pyclass(frozen, module = "quintet.simulate")]
pub(crate) struct Store {
    pub(super) run: Py<Run>,
    pub(super) index: u32,
}

#[pymethods]
impl Store {
    /// Its name.
    #[getter]
    fn name(&self, py: Python<'_>) -> String {
        self.run
            .bind(py)
            .borrow()
            .world
            .stores
            .get(self.index as usize)
            .map(|kept| kept.name.clone())
            .unwrap_or_default()
    }

    fn __len__(&self, py: Python<'_>) -> usize {
        self.run.bind(py).borrow().world.stores.get(self.index as usize).map_or(0, |kept| kept.items.len())
    }

    /// Puts an item: an event that happens when there is room for it. Items of a smaller `priority` are got first.
    ///
    /// Raises ValueError for a priority that is no number.
    #[pyo3(signature = (item, priority = 0.0))]
    fn put<'py>(&self, py: Python<'py>, item: Py<PyAny>, priority: f64) -> PyResult<Bound<'py, Event>> {
        if priority.is_nan() {
            return Err(PyValueError::new_err("the priority is no number"));
        }
        let run = self.run.bind(py);
        let event = waiting(run, Subject::Put(self.index))?;
        let world = &mut run.borrow_mut().world;
        let now = world.now;
        let Some(kept) = world.stores.get_mut(self.index as usize) else { return Ok(event) };
        let item = Item { priority, value: item };
        if !kept.has_room() {
            kept.putters.push_back((item, event.clone().unbind()));
            return Ok(event);
        }
        event.borrow_mut().state = State::Done;
        if kept.items.is_empty()
            && let Some(getter) = first(py, &mut kept.getters)
        {
            kept.got += 1;
            trigger(&getter, world, Outcome::Value(item.value));
        } else {
            kept.insert(item, now);
        }
        Ok(event)
    }

    /// Takes the first item: an event whose value it is.
    fn get<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, Event>> {
        let run = self.run.bind(py);
        let event = waiting(run, Subject::Get(self.index))?;
        let world = &mut run.borrow_mut().world;
        let now = world.now;
        let Some(kept) = world.stores.get_mut(self.index as usize) else { return Ok(event) };
        match kept.take(now) {
            None => kept.getters.push_back(event.clone().unbind()),
            Some(item) => {
                let mut inner = event.borrow_mut();
                (inner.state, inner.outcome) = (State::Done, Outcome::Value(item));
                drop(inner);
                self.refill(py, world);
            }
        }
        Ok(event)
    }
}

impl Store {
    /// An item was taken: the first that waits for room is put.
    fn refill(&self, py: Python<'_>, world: &mut World) {
        let now = world.now;
        let kept = &mut world.stores[self.index as usize];
        while let Some((item, event)) = kept.putters.pop_front() {
            let event = event.into_bound(py);
            if event.borrow().state == State::Waiting {
                kept.insert(item, now);
                return trigger(&event, world, Outcome::Nothing);
            }
        }
    }
}

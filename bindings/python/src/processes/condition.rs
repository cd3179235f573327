//! Several events at once.

use super::event::{Event, Outcome, State, Subject, Waiter, trigger, waiting};
use super::run::Run;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// How many of them are waited for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Many {
    Any,
    All,
}

/// An event that happens when others have.
pub(super) struct Condition {
    event: Py<Event>,
    parts: Vec<Py<Event>>,
    /// How many parts must still happen.
    left: usize,
    number: u64,
}

/// The event that happens when any, or all, of `parts` have: its value is a dict of those that have by then, with their values.
pub(super) fn condition<'py>(
    run: &Bound<'py, Run>,
    parts: Vec<Bound<'py, Event>>,
    many: Many,
) -> PyResult<Bound<'py, Event>> {
    let event = waiting(run, Subject::Condition)?;
    let open: Vec<_> = parts.iter().filter(|part| part.borrow().state != State::Done).collect();
    let failed = parts.iter().find_map(|part| failure(part));
    let is_over = open.is_empty() || many == Many::Any && open.len() < parts.len();
    if failed.is_some() || is_over {
        let outcome = failed.map_or_else(|| happened(run.py(), &parts).map(Outcome::Value), Ok)?;
        trigger(&event, &mut run.borrow_mut().world, outcome);
        return Ok(event);
    }
    let left = if many == Many::Any { 1 } else { open.len() };
    let waiter = {
        let world = &mut run.borrow_mut().world;
        world.epoch += 1;
        let number = world.epoch;
        let parts = parts.iter().map(|part| part.clone().unbind()).collect();
        let made = Condition { event: event.clone().unbind(), parts, left, number };
        Waiter::Condition(world.conditions.put(made), number)
    };
    open.into_iter().for_each(|part| part.borrow_mut().wait(waiter));
    Ok(event)
}

/// A part of the condition in this place has happened.
pub(super) fn notify(run: &Bound<'_, Run>, place: u32, number: u64, part: &Bound<'_, Event>) -> PyResult<()> {
    let py = run.py();
    let failed = failure(part);
    let ended = {
        let world = &mut run.borrow_mut().world;
        let Some(found) = world.conditions.get_mut(place).filter(|found| found.number == number) else {
            return Ok(());
        };
        found.left -= 1;
        if found.left > 0 && failed.is_none() {
            return Ok(());
        }
        world.conditions.take(place)
    };
    let Some(ended) = ended else { return Ok(()) };
    let parts: Vec<_> = ended.parts.into_iter().map(|part| part.into_bound(py)).collect();
    let waiter = Waiter::Condition(place, number);
    parts.iter().for_each(|part| part.borrow_mut().forget(waiter));
    let outcome = failed.map_or_else(|| happened(run.py(), &parts).map(Outcome::Value), Ok)?;
    trigger(ended.event.bind(py), &mut run.borrow_mut().world, outcome);
    Ok(())
}

fn failure(part: &Bound<'_, Event>) -> Option<Outcome> {
    let py = part.py();
    let part = part.borrow();
    let is_failure = part.state == State::Done && matches!(part.outcome, Outcome::Failure(_));
    is_failure.then(|| part.outcome.clone_ref(py))
}

/// Those that have happened, with their values.
fn happened(py: Python<'_>, parts: &[Bound<'_, Event>]) -> PyResult<Py<PyAny>> {
    let found = PyDict::new(py);
    for part in parts.iter().filter(|part| part.borrow().state == State::Done) {
        found.set_item(part, part.getattr("value")?)?;
    }
    Ok(found.into_any().unbind())
}

//! What happens in a space. The classes stand in `quintet/watching.py`.

use crate::value::from_tuple;
use pyo3::prelude::*;
use pyo3::types::PyList;
use quintet::Events;

/// The number up to which all is there, the events as `quintet.watching.Event`s, and where the next page of tuples begins.
///
/// # Errors
/// No memory.
pub(crate) fn from_events(py: Python<'_>, events: Events) -> PyResult<Bound<'_, PyAny>> {
    let make = py.import("quintet.watching")?.getattr("Event")?;
    let rows = PyList::empty(py);
    for event in events.events {
        let fields = from_tuple(py, event.tuple)?;
        rows.append(make.call1((event.number, event.change.name(), event.age, fields))?)?;
    }
    Ok((events.number, rows, events.next).into_pyobject(py)?.into_any())
}

//! What a member of an isonet has counted, and how others keep up. The classes stand in `quintet/counters.py`.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use quintet::PeerCounters;
use quintet::isotach::{Counters, Intervals};
use std::time::Duration;

/// A `quintet.isochrons.Counters`.
///
/// # Errors
/// No memory.
pub(crate) fn from_counters<'py>(py: Python<'py>, counters: &Counters) -> PyResult<Bound<'py, PyAny>> {
    let named = PyDict::new(py);
    named.set_item("begun", counters.begun)?;
    named.set_item("executed", counters.executed)?;
    named.set_item("lost", counters.lost)?;
    named.set_item("local", counters.local)?;
    named.set_item("operations", counters.operations)?;
    named.set_item("refused", counters.refused)?;
    named.set_item("parts", counters.parts)?;
    named.set_item("parts_at_once", counters.parts_at_once)?;
    named.set_item("parts_waited", counters.parts_waited)?;
    named.set_item("fenced", counters.fenced)?;
    named.set_item("stamped", counters.stamped)?;
    named.set_item("pulses", counters.pulses)?;
    named.set_item("tokens", counters.tokens)?;
    named.set_item("markers", counters.markers)?;
    named.set_item("marker_frames", counters.marker_frames)?;
    named.set_item("pulse_intervals", from_intervals(py, &counters.pulse_intervals)?)?;
    class(py, "Counters")?.call((), Some(&named))
}

/// A `quintet.isochrons.PeerCounters`.
///
/// # Errors
/// No memory.
pub(crate) fn from_peer<'py>(py: Python<'py>, peer: &PeerCounters) -> PyResult<Bound<'py, PyAny>> {
    let named = PyDict::new(py);
    named.set_item("member", peer.member)?;
    named.set_item("unheard", peer.unheard.map(seconds))?;
    named.set_item("unanswered", peer.unanswered)?;
    named.set_item("unanswered_for", seconds(peer.unanswered_for))?;
    named.set_item("unreceived", peer.unreceived)?;
    named.set_item("is_full", peer.is_full)?;
    named.set_item("full", peer.full)?;
    named.set_item("full_for", seconds(peer.full_for))?;
    named.set_item("is_awaited", peer.is_awaited())?;
    class(py, "PeerCounters")?.call((), Some(&named))
}

fn from_intervals<'py>(py: Python<'py>, intervals: &Intervals) -> PyResult<Bound<'py, PyAny>> {
    let classes = intervals.classes().map(|class| (seconds(class.from), seconds(class.to), class.count));
    let named = PyDict::new(py);
    named.set_item("count", intervals.count())?;
    named.set_item("shortest", seconds(intervals.shortest()))?;
    named.set_item("median", seconds(intervals.median()))?;
    named.set_item("p99", seconds(intervals.quantile(0.99)))?;
    named.set_item("longest", seconds(intervals.longest()))?;
    named.set_item("classes", PyTuple::new(py, classes.collect::<Vec<_>>())?)?;
    class(py, "Intervals")?.call((), Some(&named))
}

fn class<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    py.import("quintet.counters")?.getattr(name)
}

fn seconds(duration: Duration) -> f64 {
    duration.as_secs_f64()
}

//! What the outcomes of operations are in Python.

use crate::connection::Connection;
use crate::error::raise;
use crate::lease::Lease;
use crate::status::from_state;
use crate::value::from_tuple;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use quintet::{Code, Error, Outcome};
use std::sync::Arc;

type PyTupleResult<'py> = PyResult<Bound<'py, PyTuple>>;

/// Of what gives nothing.
pub(crate) fn done(_: Python<'_>, outcome: Outcome) -> PyResult<()> {
    match outcome {
        Outcome::Done => Ok(()),
        other => Err(unexpected(&other)),
    }
}

/// Of what gives a tuple.
pub(crate) fn one(py: Python<'_>, outcome: Outcome) -> PyTupleResult<'_> {
    match outcome {
        Outcome::Tuple(tuple, _) => from_tuple(py, tuple),
        other => Err(unexpected(&other)),
    }
}

/// The same; none if there was no match.
pub(crate) fn perhaps(py: Python<'_>, outcome: Outcome) -> PyResult<Option<Bound<'_, PyTuple>>> {
    match outcome {
        Outcome::NoMatch => Ok(None),
        other => one(py, other).map(Some),
    }
}

/// What a select gives: which template, and the tuple.
pub(crate) fn selected(py: Python<'_>, outcome: Outcome) -> PyTupleResult<'_> {
    match outcome {
        Outcome::Selected(which, tuple, _) => (which, from_tuple(py, tuple)?).into_pyobject(py),
        other => Err(unexpected(&other)),
    }
}

/// The same; none if there was no match.
pub(crate) fn perhaps_selected(py: Python<'_>, outcome: Outcome) -> PyResult<Option<Bound<'_, PyTuple>>> {
    match outcome {
        Outcome::NoMatch => Ok(None),
        other => selected(py, other).map(Some),
    }
}

/// What a select under a lease gives: which template, and the lease.
pub(crate) fn leased<'py>(
    py: Python<'py>,
    connection: &Arc<Connection>,
    outcome: Outcome,
) -> PyTupleResult<'py> {
    match outcome {
        Outcome::Selected(which, tuple, granted) => {
            let lease = Lease::new(py, Arc::clone(connection), Outcome::Tuple(tuple, granted))?;
            (which, Py::new(py, lease)?).into_pyobject(py)
        }
        other => Err(unexpected(&other)),
    }
}

/// Of what counts.
pub(crate) fn number(_: Python<'_>, outcome: Outcome) -> PyResult<u64> {
    match outcome {
        Outcome::Count(count) => Ok(count),
        other => Err(unexpected(&other)),
    }
}

/// The numbers of a space.
pub(crate) fn numbers(py: Python<'_>, outcome: Outcome) -> PyResult<Bound<'_, PyAny>> {
    match outcome {
        Outcome::State(state) => from_state(py, &state),
        other => Err(unexpected(&other)),
    }
}

pub(crate) fn unexpected(outcome: &Outcome) -> PyErr {
    raise(Error::new(Code::Malformed, format!("the space answered another question: {outcome:?}")))
}

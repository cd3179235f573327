//! Collections: all tuples that match.

use crate::connection::Connection;
use crate::outcome::perhaps;
use crate::value::from_tuple;
use pyo3::prelude::*;
use pyo3::types::PyList;
use quintet::{Code, Collected, Error, Outcome, Space, Template};

/// The tuples of a page, from which age on the next one is (None: this was the last), and below which age all pages are.
///
/// # Errors
/// No memory.
pub(crate) fn from_collected(py: Python<'_>, page: Collected) -> PyResult<Bound<'_, PyAny>> {
    let tuples = PyList::empty(py);
    append(py, &tuples, page.tuples)?;
    Ok((tuples, page.next, page.below).into_pyobject(py)?.into_any())
}

/// All tuples that match, a page after the other.
///
/// # Errors
/// Those of a page; a signal's exception.
pub(crate) fn collect<'py>(
    py: Python<'py>,
    connection: &Connection,
    takes: bool,
    template: &Template,
) -> PyResult<Bound<'py, PyList>> {
    let (tuples, mut from) = (PyList::empty(py), Some((0, None)));
    while let Some((age, below)) = from {
        let begin = |begin: quintet::Begin<'_>| {
            if takes { begin.collect(template, age, below) } else { begin.copy_collect(template, age, below) }
        };
        from = connection.run(py, None, begin, |py, outcome| match outcome {
            Outcome::Collected(page) => {
                append(py, &tuples, page.tuples)?;
                Ok(page.next.map(|next| (next, Some(page.below))))
            }
            other => Err(unexpected(&other)),
        })?;
    }
    Ok(tuples)
}

/// At most so many that match, at one instant.
///
/// # Errors
/// As for the library's `take_up_to`; a signal's exception, and nothing is taken then.
pub(crate) fn take_up_to<'py>(
    py: Python<'py>,
    connection: &Connection,
    most: i64,
    template: &Template,
) -> PyResult<Bound<'py, PyList>> {
    let most = to_most(most)?;
    if most == 0 {
        return Ok(PyList::empty(py));
    }
    let mut from = 0;
    loop {
        let begin = |begin: quintet::Begin<'_>| begin.take_up_to(most, template, from);
        let (tuples, next) = connection.run(py, None, begin, |py, outcome| match outcome {
            Outcome::Collected(page) => {
                let tuples = PyList::empty(py);
                append(py, &tuples, page.tuples)?;
                Ok((tuples, page.next))
            }
            other => Err(unexpected(&other)),
        })?;
        match next {
            Some(next) if tuples.is_empty() => from = next,
            // In several parts it was about several instants.
            None if tuples.is_empty() && from > 0 => {
                let taken = connection.run(py, None, |begin| begin.take_if(template), perhaps)?;
                return PyList::new(py, taken);
            }
            _ => return Ok(tuples),
        }
    }
}

/// A number of tuples, from Python.
///
/// # Errors
/// `BadValue`: it is negative.
pub(crate) fn to_most(most: i64) -> PyResult<usize> {
    usize::try_from(most).map_err(|_| {
        crate::error::raise(Error::new(
            Code::BadValue,
            format!("take_up_to of {most} tuples: 0 is the least"),
        ))
    })
}

/// Moves or copies all that match to another space; how many it was.
///
/// # Errors
/// As for the library's `collect_into`; a signal's exception.
pub(crate) fn collect_into(
    py: Python<'_>,
    connection: &Connection,
    takes: bool,
    other: &Space,
    template: &Template,
) -> PyResult<u64> {
    loop {
        let begin = |begin: quintet::Begin<'_>| {
            if takes { begin.collect_into(other, template) } else { begin.copy_collect_into(other, template) }
        };
        let count = connection.run(py, None, begin, |_, outcome| match outcome {
            Outcome::Count(count) => Ok(Some(count)),
            // An index is being built.
            Outcome::Collected(_) => Ok(None),
            other => Err(unexpected(&other)),
        })?;
        if let Some(count) = count {
            return Ok(count);
        }
    }
}

fn append(py: Python<'_>, list: &Bound<'_, PyList>, tuples: Vec<quintet::Tuple>) -> PyResult<()> {
    tuples.into_iter().try_for_each(|tuple| list.append(from_tuple(py, tuple)?))
}

fn unexpected(outcome: &Outcome) -> PyErr {
    crate::error::raise(Error::new(
        Code::Malformed,
        format!("the space answered another question: {outcome:?}"),
    ))
}

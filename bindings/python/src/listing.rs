//! Pages of what lies in a space. The classes stand in `quintet/listing.py`.

use crate::error::raise;
use crate::inspecting::{from_client, from_hot_key, from_partition, from_waiting};
use crate::space::Space;
use crate::value::from_tuple;
use crate::words::in_python;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString, PyTuple};
use quintet::{Glimpse, ListedLease, ListedTuple, Page, Rows, Tuple, Type};
use std::time::Duration;

/// Where a page begins. Only the space that gave it knows what it means.
#[pyclass(frozen, module = "quintet")]
pub(crate) struct Cursor(pub(crate) quintet::Cursor);

/// The rows of a listing, which fetches them.
///
/// # Errors
/// No memory.
pub(crate) fn listed<'py>(
    space: &Bound<'py, Space>,
    template: &Bound<'py, PyTuple>,
    subject: &str,
) -> PyResult<Bound<'py, PyAny>> {
    space.py().import("quintet.listing")?.call_method1("rows", (space, template, subject))
}

/// A `quintet.listing.Page`.
///
/// # Errors
/// No memory.
pub(crate) fn from_page(py: Python<'_>, page: Page) -> PyResult<Bound<'_, PyAny>> {
    let types = py.import("quintet.listing")?;
    let rows = PyList::empty(py);
    match page.rows {
        Rows::Tuples(all) => all.into_iter().try_for_each(|row| rows.append(from_listed(&types, row)?))?,
        Rows::Waiting(all) => all.into_iter().try_for_each(|row| rows.append(from_waiting(py, row)?))?,
        Rows::Clients(all) => all.iter().try_for_each(|row| rows.append(from_client(py, row)?))?,
        Rows::Partitions(all) => all.iter().try_for_each(|row| rows.append(from_partition(py, row)?))?,
        Rows::HotKeys(all) => all.into_iter().try_for_each(|row| rows.append(from_hot_key(py, row)?))?,
    }
    let next = page.next.map(|next| Py::new(py, Cursor(next))).transpose()?;
    types.getattr("Page")?.call1((rows.to_tuple(), next))
}

fn from_listed<'py>(types: &Bound<'py, PyModule>, listed: ListedTuple) -> PyResult<Bound<'py, PyAny>> {
    let py = types.py();
    let fields: Vec<_> =
        listed.fields.into_iter().map(|field| shown(types, field)).collect::<PyResult<_>>()?;
    let lease = listed.lease.map(|lease| held(types, lease)).transpose()?;
    let named = PyDict::new(py);
    named.set_item("fields", PyTuple::new(py, fields)?)?;
    named.set_item("age", listed.age)?;
    named.set_item("bytes", listed.bytes)?;
    named.set_item("failed", listed.failed)?;
    named.set_item("lease", lease)?;
    named.set_item("expires_in", listed.expires_in.map(|span| Duration::from(span).as_secs_f64()))?;
    types.getattr("ListedTuple")?.call((), Some(&named))
}

fn held<'py>(types: &Bound<'py, PyModule>, lease: ListedLease) -> PyResult<Bound<'py, PyAny>> {
    let ends_in = lease.ends_in.map(|span| Duration::from(span).as_secs_f64());
    let held = Duration::from(lease.held).as_secs_f64();
    types.getattr("ListedLease")?.call1((lease.holder.to_string(), held, ends_in))
}

/// A field as it is shown.
///
/// # Errors
/// No memory.
pub(crate) fn shown<'py>(types: &Bound<'py, PyModule>, field: Glimpse) -> PyResult<Bound<'py, PyAny>> {
    let py = types.py();
    match field {
        Glimpse::Value(value) => {
            let one = Tuple::new(vec![value]).map_err(raise)?;
            from_tuple(py, one)?.get_item(0)
        }
        Glimpse::Beginning { field, bytes, beginning } => {
            let start = match field {
                Type::Text => PyString::new(py, &String::from_utf8_lossy(&beginning)).into_any(),
                _ => PyBytes::new(py, &beginning).into_any(),
            };
            types.getattr("Beginning")?.call1((in_python(&field.to_string()), bytes, start))
        }
        Glimpse::Formal(field) => types.getattr("Formal")?.call1((in_python(&field.to_string()),)),
    }
}

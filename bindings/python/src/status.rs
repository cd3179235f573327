//! The space's numbers. The classes stand in `quintet/status.py`.

use crate::words::in_python;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyTuple};
use quintet::{KeptSpace, SpaceInfo, State};

/// A `quintet.Status`.
///
/// # Errors
/// No memory.
pub(crate) fn from_state<'py>(py: Python<'py>, state: &State) -> PyResult<Bound<'py, PyAny>> {
    let types = py.import("quintet.status")?;
    let rows = PyList::empty(py);
    for row in &state.rows {
        rows.append(types.getattr("SignatureStatus")?.call1((
            in_python(&row.signature.to_string()),
            row.tuples,
            row.hidden,
            row.waiters,
        ))?)?;
    }
    let numbers = PyDict::new(py);
    for (name, number) in [
        ("tuples", state.tuples),
        ("bytes", state.bytes),
        ("index_bytes", state.index_bytes),
        ("hidden", state.hidden),
        ("waiters", state.waiters),
        ("leases", state.leases),
        ("parked", state.parked),
        ("redone", state.redone),
        ("dead_letters", state.dead_letters),
        ("signatures", state.signatures),
    ] {
        numbers.set_item(name, number)?;
    }
    numbers.set_item("rows", rows.to_tuple())?;
    types.getattr("Status")?.call((), Some(&numbers))
}

/// Each as a `quintet.KeptSpace`.
///
/// # Errors
/// No memory.
pub(crate) fn from_kept_spaces<'py>(py: Python<'py>, spaces: &[KeptSpace]) -> PyResult<Bound<'py, PyList>> {
    let (of_space, list) = (py.import("quintet.status")?.getattr("KeptSpace")?, PyList::empty(py));
    for KeptSpace { name, policy, max_bytes, max_tuples, nodes, allow } in spaces {
        let nodes = PyTuple::new(py, nodes)?;
        let allow = allow.as_ref().map(|allow| PyTuple::new(py, allow)).transpose()?;
        list.append(of_space.call1((name, policy.to_string(), *max_bytes, *max_tuples, nodes, allow))?)?;
    }
    Ok(list)
}

/// A list of `quintet.NamedSpace`.
///
/// # Errors
/// No memory.
pub(crate) fn from_spaces<'py>(py: Python<'py>, spaces: &[SpaceInfo]) -> PyResult<Bound<'py, PyList>> {
    let (of_space, list) = (py.import("quintet.status")?.getattr("NamedSpace")?, PyList::empty(py));
    for space in spaces {
        let named = PyDict::new(py);
        named.set_item("name", space.name.as_str())?;
        named.set_item("policy", space.settings.policy.to_string())?;
        for (name, number) in [
            ("max_bytes", space.settings.max_bytes),
            ("max_tuples", space.settings.max_tuples),
            ("tuples", space.tuples),
            ("bytes", space.bytes),
            ("hidden", space.hidden),
            ("waiters", space.waiters),
            ("leases", space.leases),
            ("parked", space.parked),
        ] {
            named.set_item(name, number)?;
        }
        let allow = space.settings.allow.as_ref();
        let identities = allow.map(|allow| {
            PyTuple::new(py, allow.identities.iter().map(|identity| PyBytes::new(py, &identity.0)))
        });
        named.set_item("allow", identities.transpose()?)?;
        named.set_item("allow_own_machine", allow.is_none_or(|allow| allow.own_machine))?;
        list.append(of_space.call((), Some(&named))?)?;
    }
    Ok(list)
}

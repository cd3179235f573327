//! What members have done, in the order in which they have, and whether it is one order.

use crate::error::raise;
use crate::isonet::place_of;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyTuple};
use quintet::isotach::{Run, Testimony, Witnessed, check};
use quintet::{Code, Error, NodeId};
use std::collections::{BTreeMap, BTreeSet};

/// What one member has done, and the views that it knows.
#[pyclass(frozen, module = "quintet._native")]
pub(crate) struct Witness(pub(crate) Testimony);

#[pymethods]
impl Witness {
    /// What `to_bytes` has given. Raises BadValue for what is none.
    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<Witness> {
        let testimony = Testimony::from_bytes(bytes);
        testimony.map(Witness).map_err(|error| {
            raise(Error::new(
                Code::BadValue,
                format!("this is no witness, or one of another version: {error}"),
            ))
        })
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &py.detach(|| self.0.to_bytes()))
    }

    #[getter]
    fn member(&self) -> u16 {
        self.0.node.0
    }

    /// The isochrons that it has executed a part of, in its order: place, sender, and which of the sender's.
    fn executed<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let executed = self.0.said.iter().filter_map(|one| match one {
            Witnessed::Executed { place, sender, rank } => Some((*place, sender.0, rank.0)),
            _ => None,
        });
        let row = |(place, sender, rank)| -> PyResult<Bound<'py, PyTuple>> {
            (place_of(py, place)?, sender, rank).into_pyobject(py)
        };
        PyList::new(py, executed.map(row).collect::<PyResult<Vec<_>>>()?)
    }
}

/// Does everything again in the one order. `gone`: members that have ended before the others. `has_ended`: all isochrons of the others are executed.
///
/// Raises Mismatch, which says what is not as it has to be; BadValue for no witness, or two of one member.
#[pyfunction]
pub(crate) fn check_order(
    py: Python<'_>,
    witnesses: Vec<PyRef<'_, Witness>>,
    gone: Vec<u16>,
    has_ended: bool,
) -> PyResult<()> {
    let bad = |text: &str| Err(raise(Error::new(Code::BadValue, text)));
    let Some(views) = witnesses.iter().map(|one| one.0.views.clone()).max_by_key(BTreeMap::len) else {
        return bad("there is nothing to check: no witness was given");
    };
    let said: BTreeMap<NodeId, Vec<Witnessed>> =
        witnesses.iter().map(|one| (one.0.node, one.0.said.clone())).collect();
    if said.len() != witnesses.len() {
        return bad("two witnesses are of one member: what a member has done is one witness");
    }
    let gone: BTreeSet<NodeId> = gone.into_iter().map(NodeId).collect();
    let run = Run { said, views, gone, has_ended };
    let checked = py.detach(|| check(&run));
    checked.map_err(|violation| raise(Error::new(Code::Mismatch, violation.to_string())))
}

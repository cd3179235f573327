//! What `quintet.evaluating` has to know of a space.

use crate::space::Space;
use pyo3::prelude::*;

/// Which one of this process's spaces it is, as long as there is an object for it.
#[pyfunction]
pub(crate) fn space_key<'py>(space: &'py Bound<'_, Space>) -> (usize, Option<&'py str>) {
    space.get().key()
}

/// Whether a space lives in this process.
///
/// Raises Closed.
#[pyfunction]
pub(crate) fn is_embedded(space: &Bound<'_, Space>) -> PyResult<bool> {
    Ok(space.get().library(space.py())?.lab().is_embedded())
}

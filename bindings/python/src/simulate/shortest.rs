//! The shortest run that is still broken.

use pyo3::prelude::*;
use quintet_simulate::Picos;

/// The shortest end of a run, as text with its unit, for which `is_broken` is true, found by halving, and none if that is so for none that is tried.
/// `simulated`: how far the run came that is broken, in seconds.
///
/// Raises what `is_broken` raises.
#[pyfunction]
pub(crate) fn shortest_end(simulated: f64, is_broken: Bound<'_, PyAny>) -> PyResult<Option<String>> {
    let text = |end: Picos| format!("{} s", end.as_seconds());
    let broken = |end: Picos| {
        let is_broken = is_broken.call1((text(end),))?.is_truthy()?;
        Ok::<_, PyErr>(is_broken.then_some(()))
    };
    let found = quintet_model::shortest_end(Picos::from_seconds(simulated), broken, || false)?;
    Ok(found.map(|(end, ())| text(end)))
}

//! Plain messages under way.

use crate::fork::Maker;
use crate::isonet::Program;
use crate::under_way::UnderWay;
use pyo3::prelude::*;
use std::sync::Arc;

/// A plain message under way. Dropped, it goes on.
#[pyclass(frozen, module = "quintet._native")]
pub(crate) struct PendingPlain(UnderWay<quintet::PendingPlain>);

impl PendingPlain {
    pub(crate) fn of(program: &Arc<Program>, process: Maker, begun: quintet::PendingPlain) -> PendingPlain {
        PendingPlain(UnderWay::new(program, process, begun))
    }
}

#[pymethods]
impl PendingPlain {
    /// Waits until it has arrived. It may be asked again.
    #[pyo3(signature = (timeout = None))]
    fn result(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<()> {
        self.0.result(py, timeout)
    }

    fn done(&self, py: Python<'_>) -> bool {
        self.0.done(py)
    }

    fn notify(&self, py: Python<'_>, callback: Py<PyAny>) {
        self.0.notify(py, callback);
    }
}

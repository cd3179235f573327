//! A tuple taken until it is acknowledged.

use crate::connection::{Connection, SLICE};
use crate::error::raise;
use crate::pending::Pending;
use crate::value::{from_tuple, to_tuples};
use pyo3::basic::CompareOp;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use quintet::{Code, Error};
use std::sync::{Arc, Mutex, PoisonError};

/// A tuple that is hidden from everybody else until it is acknowledged. It behaves as the tuple: it can be unpacked,
/// indexed and compared. As a context manager it is acknowledged at the end and returned to the space on an exception.
#[pyclass(frozen, sequence, module = "quintet")]
pub(crate) struct Lease {
    connection: Arc<Connection>,
    /// None once it has ended.
    lease: Mutex<Option<quintet::Lease>>,
    fields: Py<PyTuple>,
    attempt: u32,
}

#[pymethods]
impl Lease {
    /// How often the tuple has been leased, this time included: 1 is the first.
    #[getter]
    fn attempt(&self) -> u32 {
        self.attempt
    }

    /// The tuple.
    #[getter]
    fn fields(&self, py: Python<'_>) -> Py<PyTuple> {
        self.fields.clone_ref(py)
    }

    /// Removes the tuple for good and puts the result tuples at the same instant: either both happen or neither.
    ///
    /// Waits while the space has no room for the results; a signal's exception calls the acknowledgement off.
    ///
    /// Raises LeaseLost if the lease has ended before; BadValue for a result that is no tuple of values, and then the
    /// lease goes on; another Error, or a signal's exception, and then the tuple has returned to the space unless the
    /// space is gone, or it was acknowledged at that moment.
    #[pyo3(signature = (*results))]
    fn acknowledge(&self, py: Python<'_>, results: &Bound<'_, PyTuple>) -> PyResult<()> {
        let results = to_tuples(results.iter().map(Ok))?;
        let begun = py.detach(|| self.take()?.initiate_acknowledge(&results));
        let mut under_way = begun.map_err(raise)?;
        let ended = loop {
            if let Some(outcome) = py.detach(|| under_way.wait(SLICE)) {
                break outcome.map_err(raise);
            }
            if let Err(end) = self.connection.look_about(py) {
                break Err(end);
            }
        };
        // It may have to call on the space once more, without the interpreter.
        py.detach(|| drop(under_way));
        ended
    }

    /// Begins `acknowledge`. Cancelled or dropped before it is done, the tuple returns to the space.
    ///
    /// Raises LeaseLost if the lease has ended before; BadValue, TooLarge.
    #[pyo3(signature = (*results))]
    fn initiate_acknowledge(&self, py: Python<'_>, results: &Bound<'_, PyTuple>) -> PyResult<Pending> {
        let results = to_tuples(results.iter().map(Ok))?;
        let begun = py.detach(|| self.take()?.initiate_acknowledge(&results));
        Ok(Pending::acknowledging(Arc::clone(&self.connection), begun.map_err(raise)?))
    }

    /// Returns the tuple to its place now; the attempt counts.
    ///
    /// Raises LeaseLost if the lease has ended before.
    fn release(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.take()?.release()).map_err(raise)
    }

    fn __enter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __exit__(
        &self,
        py: Python<'_>,
        class: &Bound<'_, PyAny>,
        _exception: &Bound<'_, PyAny>,
        _traceback: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let lease = self.end();
        let failed = !class.is_none();
        // Dropped, it returns its tuple; the exception matters more than what that may meet.
        py.detach(|| match lease {
            Some(lease) if !failed => lease.acknowledge(&[]),
            _ => Ok(()),
        })
        .map_err(raise)
    }

    fn __len__(&self, py: Python<'_>) -> usize {
        self.fields.bind(py).len()
    }

    fn __getitem__<'py>(&self, index: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.fields.bind(index.py()).as_any().get_item(index)
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(self.fields.bind(py).try_iter()?.into_any())
    }

    fn __richcmp__<'py>(
        &self,
        other: &Bound<'py, PyAny>,
        operation: CompareOp,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.fields.bind(other.py()).rich_compare(other, operation)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("<quintet.Lease {} attempt {}>", self.fields.bind(py).repr()?, self.attempt))
    }
}

impl Lease {
    /// # Errors
    /// NumPy is not there; then the tuple returns.
    pub(crate) fn new(py: Python<'_>, connection: Arc<Connection>, lease: quintet::Lease) -> PyResult<Self> {
        let fields = from_tuple(py, lease.tuple().clone())?.unbind();
        Ok(Lease { connection, attempt: lease.attempt(), lease: Mutex::new(Some(lease)), fields })
    }

    fn end(&self) -> Option<quintet::Lease> {
        self.lease.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn take(&self) -> Result<quintet::Lease, Error> {
        self.end().ok_or_else(|| Error::new(Code::LeaseLost, "it was acknowledged or released before"))
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if let Some(lease) = self.end() {
            Python::attach(|py| py.detach(|| drop(lease)));
        }
    }
}

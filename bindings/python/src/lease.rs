//! A tuple taken until it is acknowledged.

use crate::connection::{Connection, expiry};
use crate::error::raise;
use crate::pending::Pending;
use crate::value::{from_tuple, to_tuples};
use pyo3::basic::CompareOp;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use quintet::{Acknowledgement, Code, Error, Outcome, Tuple};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// A tuple that is hidden from everybody else until it is acknowledged. It behaves as the tuple: it can be unpacked,
/// indexed and compared. As a context manager it is acknowledged at the end and returned to the space on an exception.
#[pyclass(frozen, sequence, module = "quintet")]
pub(crate) struct Lease {
    connection: Arc<Connection>,
    /// None once it has ended.
    held: Mutex<Option<Held>>,
    fields: Py<PyTuple>,
    attempt: u32,
}

/// A lease that has not ended.
struct Held {
    lease: quintet::Lease,
    /// What the space gave. While it lives the lease is renewed.
    outcome: Outcome,
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
    /// Waits while the space has no room for the results; a signal's exception calls the acknowledgement off. If the space
    /// can never hold the results, `instead` is called with that error, and the tuples it gives are put in their place, which do not expire.
    ///
    /// With `expires_in` the results leave the space by themselves so many seconds after they were put, as by `out`.
    ///
    /// Raises LeaseLost if the lease has ended before; BadValue for a result that is no tuple of values, or such an `expires_in`, and then the
    /// lease goes on; another Error, or a signal's exception, and then the tuple has returned to the space unless the
    /// space is gone, or it was acknowledged at that moment.
    #[pyo3(signature = (*results, instead = None, expires_in = None))]
    fn acknowledge(
        &self,
        py: Python<'_>,
        results: &Bound<'_, PyTuple>,
        instead: Option<&Bound<'_, PyAny>>,
        expires_in: Option<f64>,
    ) -> PyResult<()> {
        let (results, expiry) = (to_tuples(results.iter().map(Ok))?, expiry(expires_in)?);
        let begun = py.detach(|| {
            let Held { lease, outcome } = self.take()?;
            Ok::<_, Error>((begin(lease, &results, expiry)?, outcome))
        });
        let (mut under_way, outcome) = begun.map_err(raise)?;
        let ended = match (self.answer(py, &mut under_way), instead) {
            (Ok(Err(error)), Some(instead)) if error.code() == Code::TooLarge => {
                let results = instead.call1((raise(error),));
                results.and_then(|results| self.acknowledge_again(py, outcome, &results))
            }
            (answer, _) => answer.and_then(|answer| answer.map_err(raise)),
        };
        // Until here it has kept the lease, also if it was refused.
        self.connection.let_go(py, under_way);
        ended
    }

    /// Begins `acknowledge`. Cancelled or dropped before it is done, the tuple returns to the space.
    ///
    /// Raises LeaseLost if the lease has ended before; BadValue, TooLarge.
    #[pyo3(signature = (*results, expires_in = None))]
    fn begin_acknowledge(
        &self,
        py: Python<'_>,
        results: &Bound<'_, PyTuple>,
        expires_in: Option<f64>,
    ) -> PyResult<Pending> {
        let (results, expiry) = (to_tuples(results.iter().map(Ok))?, expiry(expires_in)?);
        let begun = py.detach(|| begin(self.take()?.lease, &results, expiry));
        Ok(Pending::acknowledging(Arc::clone(&self.connection), begun.map_err(raise)?))
    }

    /// Returns the tuple to its place now; the attempt counts.
    ///
    /// Raises LeaseLost if the lease has ended before.
    fn release(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.take()?.lease.release()).map_err(raise)
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
        let held = match self.end() {
            Ok(Some(held)) => held,
            Ok(None) => return Ok(()),
            Err(error) => return if class.is_none() { Err(raise(error)) } else { Ok(()) },
        };
        if class.is_none() {
            return self.finish(py, held.lease, &[]);
        }
        // It returns its tuple; the exception matters more than what that may meet.
        self.connection.let_go(py, held);
        Ok(())
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
    pub(crate) fn new(py: Python<'_>, connection: Arc<Connection>, outcome: Outcome) -> PyResult<Self> {
        let lease = connection.ask(py, |space| space.leased(outcome.clone()))?;
        let attempt = lease.attempt();
        match from_tuple(py, lease.tuple().clone()) {
            Ok(fields) => {
                let held = Mutex::new(Some(Held { lease, outcome }));
                Ok(Lease { connection, held, fields: fields.unbind(), attempt })
            }
            Err(error) => {
                connection.let_go(py, lease);
                Err(error)
            }
        }
    }

    /// # Errors
    /// `Closed`: the parent of this process holds it.
    fn end(&self) -> Result<Option<Held>, Error> {
        self.connection.check_maker()?;
        Ok(self.held.lock().unwrap_or_else(PoisonError::into_inner).take())
    }

    fn take(&self) -> Result<Held, Error> {
        self.end()?.ok_or_else(|| Error::new(Code::LeaseLost, "it was acknowledged or released before"))
    }

    /// Waits for the space's answer.
    ///
    /// # Errors
    /// A signal's exception; `Closed`.
    fn answer(&self, py: Python<'_>, under_way: &mut Acknowledgement) -> PyResult<Result<(), Error>> {
        self.connection.wait(py, None, |slice| py.detach(|| under_way.wait(slice)))
    }

    /// Acknowledges the lease that a refused acknowledgement still keeps, with the tuples of this iterable.
    fn acknowledge_again(
        &self,
        py: Python<'_>,
        outcome: Outcome,
        results: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let results: Vec<Tuple> = to_tuples(results.try_iter()?)?;
        let lease = self.connection.ask(py, |space| space.leased(outcome))?;
        self.finish(py, lease, &results)
    }

    /// Acknowledges a lease and waits for the space's answer.
    ///
    /// # Errors
    /// The acknowledgement's; a signal's exception; `Closed`.
    fn finish(&self, py: Python<'_>, lease: quintet::Lease, results: &[Tuple]) -> PyResult<()> {
        let mut under_way = py.detach(|| lease.begin_acknowledge(results)).map_err(raise)?;
        let ended = self.answer(py, &mut under_way).and_then(|answer| answer.map_err(raise));
        self.connection.let_go(py, under_way);
        ended
    }
}

/// # Errors
/// It could not be sent.
fn begin(
    lease: quintet::Lease,
    results: &[Tuple],
    expiry: Option<Duration>,
) -> Result<Acknowledgement, Error> {
    match expiry {
        Some(expires_in) => lease.begin_acknowledge_for(results, expires_in),
        None => lease.begin_acknowledge(results),
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if let Some(held) = self.held.get_mut().unwrap_or_else(PoisonError::into_inner).take() {
            Python::attach(|py| self.connection.let_go(py, held));
        }
    }
}

//! The tuple space's operations.

use crate::connection::{Connection, limit};
use crate::error::raise;
use crate::formal::to_template;
use crate::lease::Lease;
use crate::pending::Pending;
use crate::status::from_state;
use crate::value::{from_tuple, to_tuple, to_tuples};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use quintet::{Code, Error, Outcome, Template};
use std::sync::Arc;
use std::time::Duration;

/// A tuple space. A tuple has values; a template has values and types that stand for any value of theirs. They match when
/// number, types and values of the fields are equal. The oldest match is taken; waiters are served oldest first.
#[pyclass(frozen, module = "quintet")]
pub(crate) struct Space {
    connection: Arc<Connection>,
}

type PyTupleResult<'py> = PyResult<Bound<'py, PyTuple>>;

#[pymethods]
impl Space {
    /// Puts a tuple. When this returns, the space has it. Waits while the space is full, `timeout` seconds at most.
    ///
    /// Raises BadValue, TooLarge, SpaceFull.
    #[pyo3(signature = (*fields, timeout = None))]
    fn out(&self, py: Python<'_>, fields: &Bound<'_, PyTuple>, timeout: Option<f64>) -> PyResult<()> {
        let (tuple, limit) = (to_tuple(fields)?, limit(timeout)?);
        self.connection.run(py, |space| space.initiate_out(&[tuple], limit), done)
    }

    /// Puts all these tuples at one instant, or none.
    ///
    /// Raises as `out`.
    #[pyo3(signature = (tuples, timeout = None))]
    fn out_many(&self, py: Python<'_>, tuples: &Bound<'_, PyAny>, timeout: Option<f64>) -> PyResult<()> {
        let (tuples, limit) = (to_tuples(tuples.try_iter()?)?, limit(timeout)?);
        if tuples.is_empty() {
            return Ok(());
        }
        self.connection.run(py, |space| space.initiate_out(&tuples, limit), done)
    }

    /// Takes the oldest matching tuple, waiting for one, `timeout` seconds at most.
    ///
    /// Raises TimedOut, whose text says what nearly matched; BadValue.
    #[pyo3(signature = (*template, timeout = None))]
    fn take<'py>(
        &self,
        py: Python<'py>,
        template: &Bound<'py, PyTuple>,
        timeout: Option<f64>,
    ) -> PyTupleResult<'py> {
        let (template, limit) = (to_template(template)?, limit(timeout)?);
        self.connection.run(py, |space| space.initiate_take(&template, limit), one)
    }

    /// Reads the oldest matching tuple, which stays, waiting for one, `timeout` seconds at most.
    ///
    /// Raises as `take`.
    #[pyo3(signature = (*template, timeout = None))]
    fn read<'py>(
        &self,
        py: Python<'py>,
        template: &Bound<'py, PyTuple>,
        timeout: Option<f64>,
    ) -> PyTupleResult<'py> {
        let (template, limit) = (to_template(template)?, limit(timeout)?);
        self.connection.run(py, |space| space.initiate_read(&template, limit), one)
    }

    /// Takes the oldest matching tuple if there is one. None is exact: at one instant there was none.
    #[pyo3(signature = (*template))]
    fn take_if<'py>(
        &self,
        py: Python<'py>,
        template: &Bound<'py, PyTuple>,
    ) -> PyResult<Option<Bound<'py, PyTuple>>> {
        let template = to_template(template)?;
        self.connection.run(py, |space| space.initiate_take_if(&template), perhaps)
    }

    /// Reads the oldest matching tuple if there is one. None is exact.
    #[pyo3(signature = (*template))]
    fn read_if<'py>(
        &self,
        py: Python<'py>,
        template: &Bound<'py, PyTuple>,
    ) -> PyResult<Option<Bound<'py, PyTuple>>> {
        let template = to_template(template)?;
        self.connection.run(py, |space| space.initiate_read_if(&template), perhaps)
    }

    /// Takes the oldest matching tuple under a lease: it is hidden until it is acknowledged, and returns if this process
    /// dies. Waits `timeout` seconds at most.
    ///
    /// Raises as `take`.
    #[pyo3(signature = (*template, timeout = None))]
    fn lease(&self, py: Python<'_>, template: &Bound<'_, PyTuple>, timeout: Option<f64>) -> PyResult<Lease> {
        let (template, limit) = (to_template(template)?, limit(timeout)?);
        let begin = |space: &quintet::Space| space.initiate_lease(&template, limit);
        let outcome = self.connection.run(py, begin, |_, outcome| Ok(outcome))?;
        Lease::new(py, Arc::clone(&self.connection), outcome)
    }

    /// How many tuples match now.
    #[pyo3(signature = (*template))]
    fn count(&self, py: Python<'_>, template: &Bound<'_, PyTuple>) -> PyResult<u64> {
        let template = to_template(template)?;
        self.connection.ask(py, |space| space.count(&template))
    }

    /// The space's numbers as a `quintet.Status`.
    fn status<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let state = self.connection.ask(py, quintet::Space::status)?;
        from_state(py, &state)
    }

    /// Evaluates the callables among the fields in a new thread; when all have ended, their results and the other fields
    /// are put as one tuple. A failure is put as ("quintet.failed", name of the callable, traceback). Returns the thread.
    ///
    /// Raises Closed.
    #[pyo3(signature = (*fields))]
    fn eval<'py>(this: &Bound<'py, Self>, fields: &Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyAny>> {
        let connection = &this.get().connection;
        this.py().detach(|| connection.space()).map_err(raise)?;
        this.py().import("quintet.evaluation")?.call_method1("start", (this, fields))
    }

    /// Begins `out`. Raises BadValue, TooLarge.
    #[pyo3(signature = (*fields, timeout = None))]
    fn initiate_out(
        &self,
        py: Python<'_>,
        fields: &Bound<'_, PyTuple>,
        timeout: Option<f64>,
    ) -> PyResult<Pending> {
        let (tuple, limit) = (to_tuple(fields)?, limit(timeout)?);
        self.begin(py, |space| space.initiate_out(&[tuple], limit))
    }

    /// Begins `out_many`, of at least one tuple. Raises BadValue, TooLarge.
    #[pyo3(signature = (tuples, timeout = None))]
    fn initiate_out_many(
        &self,
        py: Python<'_>,
        tuples: &Bound<'_, PyAny>,
        timeout: Option<f64>,
    ) -> PyResult<Pending> {
        let (tuples, limit) = (to_tuples(tuples.try_iter()?)?, limit(timeout)?);
        self.begin(py, |space| space.initiate_out(&tuples, limit))
    }

    /// Begins `take`. Raises BadValue.
    #[pyo3(signature = (*template, timeout = None))]
    fn initiate_take(
        &self,
        py: Python<'_>,
        template: &Bound<'_, PyTuple>,
        timeout: Option<f64>,
    ) -> PyResult<Pending> {
        self.begin_with(py, template, timeout, quintet::Space::initiate_take)
    }

    /// Begins `read`. Raises BadValue.
    #[pyo3(signature = (*template, timeout = None))]
    fn initiate_read(
        &self,
        py: Python<'_>,
        template: &Bound<'_, PyTuple>,
        timeout: Option<f64>,
    ) -> PyResult<Pending> {
        self.begin_with(py, template, timeout, quintet::Space::initiate_read)
    }

    /// Begins `lease`. Raises BadValue.
    #[pyo3(signature = (*template, timeout = None))]
    fn initiate_lease(
        &self,
        py: Python<'_>,
        template: &Bound<'_, PyTuple>,
        timeout: Option<f64>,
    ) -> PyResult<Pending> {
        self.begin_with(py, template, timeout, quintet::Space::initiate_lease)
    }

    /// Begins `take_if`. Raises BadValue.
    #[pyo3(signature = (*template))]
    fn initiate_take_if(&self, py: Python<'_>, template: &Bound<'_, PyTuple>) -> PyResult<Pending> {
        let template = to_template(template)?;
        self.begin(py, |space| space.initiate_take_if(&template))
    }

    /// Begins `read_if`. Raises BadValue.
    #[pyo3(signature = (*template))]
    fn initiate_read_if(&self, py: Python<'_>, template: &Bound<'_, PyTuple>) -> PyResult<Pending> {
        let template = to_template(template)?;
        self.begin(py, |space| space.initiate_read_if(&template))
    }

    /// Begins `count`. Raises BadValue.
    #[pyo3(signature = (*template))]
    fn initiate_count(&self, py: Python<'_>, template: &Bound<'_, PyTuple>) -> PyResult<Pending> {
        let template = to_template(template)?;
        self.begin(py, |space| space.initiate_count(&template))
    }

    /// Begins `status`.
    fn initiate_status(&self, py: Python<'_>) -> PyResult<Pending> {
        self.begin(py, quintet::Space::initiate_status)
    }

    fn __repr__(&self) -> &'static str {
        if self.connection.is_closed() { "<quintet.Space, closed>" } else { "<quintet.Space>" }
    }
}

type Begun = Result<quintet::Pending, Error>;

impl Space {
    pub(crate) fn new(connection: Arc<Connection>) -> Self {
        Space { connection }
    }

    fn begin(
        &self,
        py: Python<'_>,
        begin: impl FnOnce(&quintet::Space) -> Begun + Send,
    ) -> PyResult<Pending> {
        Ok(Pending::new(Arc::clone(&self.connection), self.connection.ask(py, begin)?))
    }

    fn begin_with(
        &self,
        py: Python<'_>,
        template: &Bound<'_, PyTuple>,
        timeout: Option<f64>,
        begin: fn(&quintet::Space, &Template, Option<Duration>) -> Begun,
    ) -> PyResult<Pending> {
        let (template, limit) = (to_template(template)?, limit(timeout)?);
        self.begin(py, |space| begin(space, &template, limit))
    }
}

fn done(_: Python<'_>, outcome: Outcome) -> PyResult<()> {
    match outcome {
        Outcome::Done => Ok(()),
        other => Err(unexpected(&other)),
    }
}

fn one(py: Python<'_>, outcome: Outcome) -> PyTupleResult<'_> {
    match outcome {
        Outcome::Tuple(tuple, _) => from_tuple(py, tuple),
        other => Err(unexpected(&other)),
    }
}

fn perhaps(py: Python<'_>, outcome: Outcome) -> PyResult<Option<Bound<'_, PyTuple>>> {
    match outcome {
        Outcome::NoMatch => Ok(None),
        other => one(py, other).map(Some),
    }
}

fn unexpected(outcome: &Outcome) -> PyErr {
    raise(Error::new(Code::Malformed, format!("the space answered another question: {outcome:?}")))
}

//! Several takes, reads and puts that happen at one instant, or not at all.

use crate::connection::{Connection, expiry, limit};
use crate::error::raise;
use crate::formal::to_template;
use crate::pending::Pending;
use crate::value::{from_tuple, to_tuple};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use quintet::{Error, Template};
use std::sync::Arc;

type Optional<'py> = PyResult<Option<Bound<'py, PyTuple>>>;

/// Takes, reads and puts of which all happen at one instant, or none: `with space.group() as g:`. At the end of the block they happen; after an
/// exception none has. Until then others see nothing of it: what it has taken is hidden, what it has read stays where it is, and
/// what it puts is kept here. It sees the space as others do: neither what it has taken nor what it is going to put.
///
/// Aborted, out of its time or with its process dead it has not happened: what it took is in its old place, and no attempt is counted.
#[pyclass(frozen, module = "quintet")]
pub(crate) struct Group {
    connection: Arc<Connection>,
    /// None once this was dropped.
    group: Option<Arc<quintet::Group>>,
}

#[pymethods]
impl Group {
    /// Takes the oldest matching tuple, waiting for one while the group lasts, `timeout` seconds at most.
    ///
    /// Raises TimedOut, whose text says what nearly matched; LeaseLost if the group has ended; TooLarge for more tuples than a group may
    /// take; BadValue.
    #[pyo3(signature = (*template, timeout = None))]
    fn take<'py>(
        &self,
        py: Python<'py>,
        template: &Bound<'py, PyTuple>,
        timeout: Option<f64>,
    ) -> Optional<'py> {
        let limit = limit(timeout)?;
        self.run(py, template, move |group, template| group.begin_take(template, limit))
    }

    /// Takes the oldest matching tuple if there is one.
    ///
    /// Raises as `take`.
    #[pyo3(signature = (*template))]
    fn take_if<'py>(&self, py: Python<'py>, template: &Bound<'py, PyTuple>) -> Optional<'py> {
        self.run(py, template, quintet::Group::begin_take_if)
    }

    /// Reads the oldest matching tuple, waiting for one while the group lasts, `timeout` seconds at most. It stays where it is, and has to be
    /// there at the end.
    ///
    /// Raises as `take`.
    #[pyo3(signature = (*template, timeout = None))]
    fn read<'py>(
        &self,
        py: Python<'py>,
        template: &Bound<'py, PyTuple>,
        timeout: Option<f64>,
    ) -> Optional<'py> {
        let limit = limit(timeout)?;
        self.run(py, template, move |group, template| group.begin_read(template, limit))
    }

    /// Reads the oldest matching tuple if there is one. That there is none is no promise for the end.
    ///
    /// Raises as `take`.
    #[pyo3(signature = (*template))]
    fn read_if<'py>(&self, py: Python<'py>, template: &Bound<'py, PyTuple>) -> Optional<'py> {
        self.run(py, template, quintet::Group::begin_read_if)
    }

    /// Puts a tuple when the group ends; with `expires_in` it leaves the space by itself so many seconds after that.
    ///
    /// Raises BadValue; LeaseLost if the group has ended.
    #[pyo3(signature = (*fields, expires_in = None))]
    fn out(&self, py: Python<'_>, fields: &Bound<'_, PyTuple>, expires_in: Option<f64>) -> PyResult<()> {
        let (tuple, expiry) = (to_tuple(fields)?, expiry(expires_in)?);
        let put = || match expiry {
            None => self.group()?.out(tuple),
            Some(expires_in) => self.group()?.out_for(tuple, expires_in),
        };
        py.detach(put).map_err(raise)
    }

    /// Ends the group: what it took is gone and what it puts is there, at one instant. Waits while the space has no room for what it puts.
    ///
    /// Raises Conflict if somebody else took what it has read, and LeaseLost if its time was over: nothing of it has happened, and it may be
    /// done again. TimedOut if its time is over; SpaceFull, TooLarge; PeerDied and its kin if the space is gone.
    fn commit(&self, py: Python<'_>) -> PyResult<()> {
        let mut under_way = py.detach(|| self.group()?.begin_commit()).map_err(raise)?;
        let ended = self.connection.wait(py, None, |slice| py.detach(|| under_way.wait(slice)));
        let ended = ended.and_then(|answer| answer.map_err(raise));
        self.connection.let_go(py, under_way);
        ended
    }

    /// Ends the group, which has not happened: what it took is back when this returns.
    ///
    /// Raises LeaseLost if it has ended before.
    fn abort(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.group()?.abort()).map_err(raise)
    }

    /// Whether it was told to end: by `commit`, `abort`, or the end of its block.
    #[getter]
    fn ended(&self, py: Python<'_>) -> bool {
        py.detach(|| self.group().map_or(true, |group| group.is_over()))
    }

    /// Begins `take` without waiting for it.
    ///
    /// Raises as `take` for what cannot be asked.
    #[pyo3(signature = (*template, timeout = None))]
    fn begin_take(
        &self,
        py: Python<'_>,
        template: &Bound<'_, PyTuple>,
        timeout: Option<f64>,
    ) -> PyResult<Pending> {
        let limit = limit(timeout)?;
        self.begin(py, template, move |group, template| group.begin_take(template, limit))
    }

    /// Begins `take_if`.
    ///
    /// Raises as `begin_take`.
    #[pyo3(signature = (*template))]
    fn begin_take_if(&self, py: Python<'_>, template: &Bound<'_, PyTuple>) -> PyResult<Pending> {
        self.begin(py, template, quintet::Group::begin_take_if)
    }

    /// Begins `read`.
    ///
    /// Raises as `begin_take`.
    #[pyo3(signature = (*template, timeout = None))]
    fn begin_read(
        &self,
        py: Python<'_>,
        template: &Bound<'_, PyTuple>,
        timeout: Option<f64>,
    ) -> PyResult<Pending> {
        let limit = limit(timeout)?;
        self.begin(py, template, move |group, template| group.begin_read(template, limit))
    }

    /// Begins `read_if`.
    ///
    /// Raises as `begin_take`.
    #[pyo3(signature = (*template))]
    fn begin_read_if(&self, py: Python<'_>, template: &Bound<'_, PyTuple>) -> PyResult<Pending> {
        self.begin(py, template, quintet::Group::begin_read_if)
    }

    /// Begins `commit`. Cancelled or dropped before it is done, the group has not happened.
    ///
    /// Raises LeaseLost if the group has ended before; TooLarge, TimedOut.
    fn begin_commit(&self, py: Python<'_>) -> PyResult<Pending> {
        let begun = py.detach(|| self.group()?.begin_commit()).map_err(raise)?;
        Ok(Pending::acknowledging(Arc::clone(&self.connection), begun))
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
        if self.ended(py) {
            return Ok(());
        }
        if class.is_none() {
            return self.commit(py);
        }
        // The exception matters more than what the return of the tuples may meet: a space that is gone returns them by itself.
        let _ = self.abort(py);
        Ok(())
    }

    fn __repr__(&self, py: Python<'_>) -> &'static str {
        if self.ended(py) { "<quintet.Group, ended>" } else { "<quintet.Group>" }
    }
}

impl Group {
    pub(crate) fn new(connection: Arc<Connection>, group: quintet::Group) -> Self {
        Group { connection, group: Some(Arc::new(group)) }
    }

    /// # Errors
    /// `Closed`: the parent of this process made it.
    fn group(&self) -> Result<&Arc<quintet::Group>, Error> {
        self.connection.check_maker()?;
        Ok(self.group.as_ref().expect("it is there until this is dropped"))
    }

    /// Asks, waits, and makes what came the group's own.
    fn run<'py>(
        &self,
        py: Python<'py>,
        template: &Bound<'py, PyTuple>,
        begin: impl FnOnce(&quintet::Group, &Template) -> Result<quintet::Pending, Error> + Send,
    ) -> Optional<'py> {
        let (template, group) = (to_template(template)?, self.group().map_err(raise)?);
        let outcome = self.connection.run(py, None, |_| begin(group, &template), |_, outcome| Ok(outcome))?;
        let tuple = py.detach(|| group.accept(outcome)).map_err(raise)?;
        tuple.map(|tuple| from_tuple(py, tuple)).transpose()
    }

    fn begin(
        &self,
        py: Python<'_>,
        template: &Bound<'_, PyTuple>,
        begin: impl FnOnce(&quintet::Group, &Template) -> Result<quintet::Pending, Error> + Send,
    ) -> PyResult<Pending> {
        let (template, group) = (to_template(template)?, self.group().map_err(raise)?);
        let pending = py.detach(|| begin(group, &template)).map_err(raise)?;
        Ok(Pending::of_group(Arc::clone(&self.connection), Arc::clone(group), pending))
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(group) = self.group.take() {
            Python::attach(|py| self.connection.let_go(py, group));
        }
    }
}

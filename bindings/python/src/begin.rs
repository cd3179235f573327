//! Operations that are begun, and waited for later.

use crate::collecting::to_most;
use crate::connection::{Connection, expiry};
use crate::error::raise;
use crate::formal::{to_template, to_templates};
use crate::inspecting;
use crate::listing::Cursor;
use crate::pending::Pending;
use crate::space::Space;
use crate::value::{to_tuple, to_tuples};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use quintet::{Error, PageSize};
use std::sync::Arc;
use std::time::Duration;

/// Begins operations of a space without waiting for them. Made by `Space.begin`; each method begins `Space`'s of its name, may
/// be called again, and raises BadValue or TooLarge for what cannot be asked, PeerDied, Closed or their kin once the space is gone.
#[pyclass(frozen, module = "quintet")]
pub(crate) struct Begin {
    connection: Arc<Connection>,
    limit: Option<Duration>,
}

#[pymethods]
impl Begin {
    /// Begins `Space.out`.
    #[pyo3(signature = (*fields, expires_in = None))]
    fn out(&self, py: Python<'_>, fields: &Bound<'_, PyTuple>, expires_in: Option<f64>) -> PyResult<Pending> {
        let (tuple, expiry) = (to_tuple(fields)?, expiry(expires_in)?);
        self.begin(py, |begin| begin.expires_in(expiry).out(&[tuple]))
    }

    /// Begins `Space.out_many`, of at least one tuple.
    #[pyo3(signature = (tuples, expires_in = None))]
    fn out_many(
        &self,
        py: Python<'_>,
        tuples: &Bound<'_, PyAny>,
        expires_in: Option<f64>,
    ) -> PyResult<Pending> {
        let (tuples, expiry) = (to_tuples(tuples.try_iter()?)?, expiry(expires_in)?);
        self.begin(py, |begin| begin.expires_in(expiry).out(&tuples))
    }

    /// Begins `Space.take`.
    #[pyo3(signature = (*template))]
    fn take(&self, py: Python<'_>, template: &Bound<'_, PyTuple>) -> PyResult<Pending> {
        let template = to_template(template)?;
        self.begin(py, |begin| begin.take(&template))
    }

    /// Begins `Space.read`.
    #[pyo3(signature = (*template))]
    fn read(&self, py: Python<'_>, template: &Bound<'_, PyTuple>) -> PyResult<Pending> {
        let template = to_template(template)?;
        self.begin(py, |begin| begin.read(&template))
    }

    /// Begins `Space.take_if`.
    #[pyo3(signature = (*template))]
    fn take_if(&self, py: Python<'_>, template: &Bound<'_, PyTuple>) -> PyResult<Pending> {
        let template = to_template(template)?;
        self.begin(py, |begin| begin.take_if(&template))
    }

    /// Begins `Space.read_if`.
    #[pyo3(signature = (*template))]
    fn read_if(&self, py: Python<'_>, template: &Bound<'_, PyTuple>) -> PyResult<Pending> {
        let template = to_template(template)?;
        self.begin(py, |begin| begin.read_if(&template))
    }

    /// Begins `Space.lease`.
    #[pyo3(signature = (*template))]
    fn lease(&self, py: Python<'_>, template: &Bound<'_, PyTuple>) -> PyResult<Pending> {
        let template = to_template(template)?;
        self.begin(py, |begin| begin.lease(&template))
    }

    /// Begins to lease the oldest matching tuple if there is one; else the result is None.
    #[pyo3(signature = (*template))]
    fn lease_if(&self, py: Python<'_>, template: &Bound<'_, PyTuple>) -> PyResult<Pending> {
        let template = to_template(template)?;
        self.begin(py, |begin| begin.lease_if(&template))
    }

    /// Begins `Space.replace`.
    #[pyo3(signature = (template, *tuples))]
    fn replace(
        &self,
        py: Python<'_>,
        template: &Bound<'_, PyTuple>,
        tuples: &Bound<'_, PyTuple>,
    ) -> PyResult<Pending> {
        let (template, tuples) = (to_template(template)?, to_tuples(tuples.iter().map(Ok))?);
        self.begin(py, |begin| begin.replace(&template, &tuples))
    }

    /// Begins `Space.replace_if`.
    #[pyo3(signature = (template, *tuples))]
    fn replace_if(
        &self,
        py: Python<'_>,
        template: &Bound<'_, PyTuple>,
        tuples: &Bound<'_, PyTuple>,
    ) -> PyResult<Pending> {
        let (template, tuples) = (to_template(template)?, to_tuples(tuples.iter().map(Ok))?);
        self.begin(py, |begin| begin.replace_if(&template, &tuples))
    }

    /// Begins `Space.select`.
    #[pyo3(signature = (*templates))]
    fn select(&self, py: Python<'_>, templates: &Bound<'_, PyTuple>) -> PyResult<Pending> {
        let templates = to_templates(templates)?;
        self.begin(py, |begin| begin.select(&templates))
    }

    /// Begins `Space.select_if`.
    #[pyo3(signature = (*templates))]
    fn select_if(&self, py: Python<'_>, templates: &Bound<'_, PyTuple>) -> PyResult<Pending> {
        let templates = to_templates(templates)?;
        self.begin(py, |begin| begin.select_if(&templates))
    }

    /// Begins `Space.select_read`.
    #[pyo3(signature = (*templates))]
    fn select_read(&self, py: Python<'_>, templates: &Bound<'_, PyTuple>) -> PyResult<Pending> {
        let templates = to_templates(templates)?;
        self.begin(py, |begin| begin.select_read(&templates))
    }

    /// Begins `Space.select_read_if`.
    #[pyo3(signature = (*templates))]
    fn select_read_if(&self, py: Python<'_>, templates: &Bound<'_, PyTuple>) -> PyResult<Pending> {
        let templates = to_templates(templates)?;
        self.begin(py, |begin| begin.select_read_if(&templates))
    }

    /// Begins `Space.select_lease`.
    #[pyo3(signature = (*templates))]
    fn select_lease(&self, py: Python<'_>, templates: &Bound<'_, PyTuple>) -> PyResult<Pending> {
        let templates = to_templates(templates)?;
        self.begin(py, |begin| begin.select_lease(&templates))
    }

    /// Begins `Space.declare_key`. A space with one manager is asked for an answer all the same.
    #[pyo3(signature = (field, *template))]
    fn declare_key(&self, py: Python<'_>, field: usize, template: &Bound<'_, PyTuple>) -> PyResult<Pending> {
        let template = to_template(template)?;
        self.begin(py, |begin| begin.declare_key(&template, field))
    }

    /// Begins `Space.count`.
    #[pyo3(signature = (*template))]
    fn count(&self, py: Python<'_>, template: &Bound<'_, PyTuple>) -> PyResult<Pending> {
        let template = to_template(template)?;
        self.begin(py, |begin| begin.count(&template))
    }

    /// Begins a page of `Space.collect`: its tuples, where the next one starts (None: this was the last), and below which age all are. The first has
    /// neither `start` nor `below`; each that follows is given what the one before it says. A page without tuples need not be the last.
    #[pyo3(signature = (*template, start = 0, below = None))]
    fn collect(
        &self,
        py: Python<'_>,
        template: &Bound<'_, PyTuple>,
        start: u64,
        below: Option<u64>,
    ) -> PyResult<Pending> {
        let template = to_template(template)?;
        self.begin(py, |begin| begin.collect(&template, start, below))
    }

    /// Begins `Space.take_up_to`: the result is as that of `collect`. Where it has no tuples and says where a next page starts, nothing was found so far: begin it again with that `start`.
    #[pyo3(signature = (most, *template, start = 0))]
    fn take_up_to(
        &self,
        py: Python<'_>,
        most: i64,
        template: &Bound<'_, PyTuple>,
        start: u64,
    ) -> PyResult<Pending> {
        let (most, template) = (to_most(most)?, to_template(template)?);
        self.begin(py, |begin| begin.take_up_to(most, &template, start))
    }

    /// Begins a page of `Space.copy_collect`, as `collect`.
    #[pyo3(signature = (*template, start = 0, below = None))]
    fn copy_collect(
        &self,
        py: Python<'_>,
        template: &Bound<'_, PyTuple>,
        start: u64,
        below: Option<u64>,
    ) -> PyResult<Pending> {
        let template = to_template(template)?;
        self.begin(py, |begin| begin.copy_collect(&template, start, below))
    }

    /// Begins `Space.collect_into`. Where the result is no number but a page without tuples, nothing has happened so far, as an index is being built:
    /// begin it again.
    #[pyo3(signature = (other, *template))]
    fn collect_into(
        &self,
        py: Python<'_>,
        other: &Bound<'_, Space>,
        template: &Bound<'_, PyTuple>,
    ) -> PyResult<Pending> {
        let (other, template) = (other.get().library(py)?, to_template(template)?);
        self.begin(py, |begin| begin.collect_into(&other, &template))
    }

    /// Begins `Space.copy_collect_into`, as `collect_into`.
    #[pyo3(signature = (other, *template))]
    fn copy_collect_into(
        &self,
        py: Python<'_>,
        other: &Bound<'_, Space>,
        template: &Bound<'_, PyTuple>,
    ) -> PyResult<Pending> {
        let (other, template) = (other.get().library(py)?, to_template(template)?);
        self.begin(py, |begin| begin.copy_collect_into(&other, &template))
    }

    /// Begins a page of `Space.list`: a `quintet.listing.Page`, whose `next` gives the next one. Without a template all tuples are shown. With another `subject`, "waiting", "clients", "partitions" or "hot keys",
    /// a page of the method of that name, which takes no template. Of partitions and hot keys it is one of several managers', whose rows that method puts together.
    #[pyo3(signature = (*template, after = None, subject = "tuples"))]
    fn page(
        &self,
        py: Python<'_>,
        template: &Bound<'_, PyTuple>,
        after: Option<&Bound<'_, Cursor>>,
        subject: &str,
    ) -> PyResult<Pending> {
        let template = if template.is_empty() { None } else { Some(to_template(template)?) };
        let subject = inspecting::subject(subject).map_err(raise)?;
        let from = after.map_or_else(Default::default, |after| after.get().0);
        self.begin(py, |begin| begin.page(subject, template.as_ref(), from, PageSize::default()))
    }

    /// Begins to ask for what happened to tuples behind the number `since`, at most `most` events; without a number, for the number now. The result is
    /// the number up to which all is there, a list of `quintet.watching.Event`s, and None. Without a template all tuples are meant.
    #[pyo3(signature = (*template, since = None, most = 256))]
    fn events(
        &self,
        py: Python<'_>,
        template: &Bound<'_, PyTuple>,
        since: Option<u64>,
        most: u32,
    ) -> PyResult<Pending> {
        let template = if template.is_empty() { None } else { Some(to_template(template)?) };
        self.begin(py, |begin| begin.events(template.as_ref(), since, most))
    }

    /// Begins a page of the tuples that can be taken, whole: as `events`, with where the next page begins in the place of None.
    #[pyo3(signature = (*template, after = 0, most = 256))]
    fn look(
        &self,
        py: Python<'_>,
        template: &Bound<'_, PyTuple>,
        after: u64,
        most: u32,
    ) -> PyResult<Pending> {
        let template = if template.is_empty() { None } else { Some(to_template(template)?) };
        self.begin(py, |begin| begin.look(template.as_ref(), after, most))
    }

    /// Begins `Space.status`.
    fn status(&self, py: Python<'_>) -> PyResult<Pending> {
        self.begin(py, |begin| begin.status())
    }

    fn __repr__(&self) -> String {
        match self.limit {
            Some(limit) => format!("<quintet.Begin timeout={}>", limit.as_secs_f64()),
            None => "<quintet.Begin>".to_owned(),
        }
    }
}

impl Begin {
    pub(crate) fn new(connection: Arc<Connection>, limit: Option<Duration>) -> Self {
        Begin { connection, limit }
    }

    fn begin(
        &self,
        py: Python<'_>,
        begin: impl FnOnce(quintet::Begin<'_>) -> Result<quintet::Pending, Error> + Send,
    ) -> PyResult<Pending> {
        let begun = self.connection.ask(py, |space| begin(space.begin().within(self.limit)))?;
        Ok(Pending::new(Arc::clone(&self.connection), begun))
    }
}

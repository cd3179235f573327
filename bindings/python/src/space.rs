//! The tuple space's operations.

use crate::begin::Begin;
use crate::collecting;
use crate::connection::{Connection, expiry, limit};
use crate::error::raise;
use crate::formal::{to_template, to_templates};
use crate::group::Group;
use crate::inspecting;
use crate::lab::Lab;
use crate::lease::Lease;
use crate::listing::listed;
use crate::outcome::{done, leased, number, numbers, one, perhaps, perhaps_selected, selected};
use crate::spaces::{to_policy, with_policy};
use crate::value::{to_tuple, to_tuples};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use std::sync::Arc;

/// A tuple space. A tuple has values; a template has values and types that stand for any value of theirs. They match when
/// number, types and values of the fields are equal. The oldest match is taken; waiters are served oldest first.
#[pyclass(frozen, module = "quintet")]
pub(crate) struct Space {
    connection: Arc<Connection>,
}

type PyTupleResult<'py> = PyResult<Bound<'py, PyTuple>>;

#[pymethods]
impl Space {
    /// The named space of this name on the same server: `lab.space("orders")`. Somebody has created it, by `Lab.create_space` say. With a `policy`,
    /// `lab.space("orders", policy="logged")`, it is created if it is not there, as by `create_space` with that policy and no other settings; one that is there with this policy is as good, whatever its
    /// limits and rights.
    ///
    /// Raises NoSuchSpace, which names those that are there; NotAllowed; BadValue for what is no name. With a policy SpaceExists if it is there with another one, and what `create_space` raises.
    #[pyo3(signature = (name, *, policy = None))]
    fn __call__(&self, py: Python<'_>, name: &str, policy: Option<&str>) -> PyResult<Space> {
        let policy = policy.map(to_policy).transpose()?;
        let space = self.connection.ask_lab(py, |lab| match policy {
            Some(policy) => with_policy(lab, name, policy),
            None => lab.named_space(name),
        })?;
        Ok(Space::new(Arc::new(Connection::to_space(&self.connection, space))))
    }

    /// A lab of the connection that it has of its own; None: it shares that of the lab which it was opened with.
    fn _own_lab(&self) -> Option<Lab> {
        self.connection.own().map(Lab::of_space)
    }

    /// What it is called; None: it is the space without a name.
    #[getter]
    fn name(&self) -> Option<&str> {
        self.connection.name()
    }

    /// Puts a tuple. When this returns, the space has it. Waits while the space is full, `timeout` seconds at most.
    ///
    /// With `expires_in` it leaves the space by itself so many seconds after it was put, unless somebody has taken it by then; one that would return
    /// after its time leaves instead.
    ///
    /// Raises BadValue, TooLarge, SpaceFull.
    #[pyo3(signature = (*fields, timeout = None, expires_in = None))]
    fn out(
        &self,
        py: Python<'_>,
        fields: &Bound<'_, PyTuple>,
        timeout: Option<f64>,
        expires_in: Option<f64>,
    ) -> PyResult<()> {
        let (tuple, limit, expiry) = (to_tuple(fields)?, limit(timeout)?, expiry(expires_in)?);
        self.connection.run(py, limit, |begin| begin.expires_in(expiry).out(&[tuple]), done)
    }

    /// Puts all these tuples at one instant, or none.
    ///
    /// Raises as `out`.
    #[pyo3(signature = (tuples, timeout = None, expires_in = None))]
    fn out_many(
        &self,
        py: Python<'_>,
        tuples: &Bound<'_, PyAny>,
        timeout: Option<f64>,
        expires_in: Option<f64>,
    ) -> PyResult<()> {
        let (tuples, limit, expiry) = (to_tuples(tuples.try_iter()?)?, limit(timeout)?, expiry(expires_in)?);
        if tuples.is_empty() {
            return Ok(());
        }
        self.connection.run(py, limit, |begin| begin.expires_in(expiry).out(&tuples), done)
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
        self.connection.run(py, limit, |begin| begin.take(&template), one)
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
        self.connection.run(py, limit, |begin| begin.read(&template), one)
    }

    /// Takes the oldest matching tuple if there is one. None is exact: at one instant there was none.
    #[pyo3(signature = (*template))]
    fn take_if<'py>(
        &self,
        py: Python<'py>,
        template: &Bound<'py, PyTuple>,
    ) -> PyResult<Option<Bound<'py, PyTuple>>> {
        let template = to_template(template)?;
        self.connection.run(py, None, |begin| begin.take_if(&template), perhaps)
    }

    /// Reads the oldest matching tuple if there is one. None is exact.
    #[pyo3(signature = (*template))]
    fn read_if<'py>(
        &self,
        py: Python<'py>,
        template: &Bound<'py, PyTuple>,
    ) -> PyResult<Option<Bound<'py, PyTuple>>> {
        let template = to_template(template)?;
        self.connection.run(py, None, |begin| begin.read_if(&template), perhaps)
    }

    /// Takes the oldest matching tuple under a lease: it is hidden until it is acknowledged, and returns if this process
    /// dies. Waits `timeout` seconds at most.
    ///
    /// Raises as `take`.
    #[pyo3(signature = (*template, timeout = None))]
    fn lease(&self, py: Python<'_>, template: &Bound<'_, PyTuple>, timeout: Option<f64>) -> PyResult<Lease> {
        let (template, limit) = (to_template(template)?, limit(timeout)?);
        let kept = |_, outcome| Ok(outcome);
        let outcome = self.connection.run(py, limit, |begin| begin.lease(&template), kept)?;
        Lease::new(py, Arc::clone(&self.connection), outcome)
    }

    /// Takes the oldest tuple that matches the template and puts the others in its place, at one instant: `space.replace(("counter", 3), ("counter", 4))`.
    /// Waits for a match, `timeout` seconds at most; gives what was taken. A template of values only is compare-and-swap. Interrupted, it has
    /// happened or it has not: nothing undoes it.
    ///
    /// Raises TimedOut; SpaceFull if there is no room for what would be put, and what matches stays; TooLarge; BadValue.
    #[pyo3(signature = (template, *tuples, timeout = None))]
    fn replace<'py>(
        &self,
        py: Python<'py>,
        template: &Bound<'py, PyTuple>,
        tuples: &Bound<'py, PyTuple>,
        timeout: Option<f64>,
    ) -> PyTupleResult<'py> {
        let (template, tuples, limit) =
            (to_template(template)?, to_tuples(tuples.iter().map(Ok))?, limit(timeout)?);
        self.connection.run(py, limit, |begin| begin.replace(&template, &tuples), one)
    }

    /// As `replace` if there is a match. None is exact: at one instant there was none, and nothing was put.
    ///
    /// Raises as `replace`.
    #[pyo3(signature = (template, *tuples))]
    fn replace_if<'py>(
        &self,
        py: Python<'py>,
        template: &Bound<'py, PyTuple>,
        tuples: &Bound<'py, PyTuple>,
    ) -> PyResult<Option<Bound<'py, PyTuple>>> {
        let (template, tuples) = (to_template(template)?, to_tuples(tuples.iter().map(Ok))?);
        self.connection.run(py, None, |begin| begin.replace_if(&template, &tuples), perhaps)
    }

    /// Takes the oldest tuple that matches one of several templates, waiting for one, `timeout` seconds at most:
    /// `which, found = space.select(("stop",), ("job", int))`. `which` counts the templates from 0; it is the first that matches.
    ///
    /// Raises TimedOut; BadValue, also for no template or more than 32.
    #[pyo3(signature = (*templates, timeout = None))]
    fn select<'py>(
        &self,
        py: Python<'py>,
        templates: &Bound<'py, PyTuple>,
        timeout: Option<f64>,
    ) -> PyTupleResult<'py> {
        let (templates, limit) = (to_templates(templates)?, limit(timeout)?);
        self.connection.run(py, limit, |begin| begin.select(&templates), selected)
    }

    /// As `select`; the tuple stays.
    ///
    /// Raises as `select`.
    #[pyo3(signature = (*templates, timeout = None))]
    fn select_read<'py>(
        &self,
        py: Python<'py>,
        templates: &Bound<'py, PyTuple>,
        timeout: Option<f64>,
    ) -> PyTupleResult<'py> {
        let (templates, limit) = (to_templates(templates)?, limit(timeout)?);
        self.connection.run(py, limit, |begin| begin.select_read(&templates), selected)
    }

    /// As `select` if there is such a tuple, else None, which is exact.
    ///
    /// Raises as `select`.
    #[pyo3(signature = (*templates))]
    fn select_if<'py>(
        &self,
        py: Python<'py>,
        templates: &Bound<'py, PyTuple>,
    ) -> PyResult<Option<Bound<'py, PyTuple>>> {
        let templates = to_templates(templates)?;
        self.connection.run(py, None, |begin| begin.select_if(&templates), perhaps_selected)
    }

    /// As `select_read` if there is such a tuple, else None, which is exact.
    ///
    /// Raises as `select`.
    #[pyo3(signature = (*templates))]
    fn select_read_if<'py>(
        &self,
        py: Python<'py>,
        templates: &Bound<'py, PyTuple>,
    ) -> PyResult<Option<Bound<'py, PyTuple>>> {
        let templates = to_templates(templates)?;
        self.connection.run(py, None, |begin| begin.select_read_if(&templates), perhaps_selected)
    }

    /// As `select`, under a lease: `which, lease = space.select_lease(("urgent", int), ("job", int))`.
    ///
    /// Raises as `select`.
    #[pyo3(signature = (*templates, timeout = None))]
    fn select_lease<'py>(
        &self,
        py: Python<'py>,
        templates: &Bound<'py, PyTuple>,
        timeout: Option<f64>,
    ) -> PyTupleResult<'py> {
        let (templates, limit) = (to_templates(templates)?, limit(timeout)?);
        let kept = |_, outcome| Ok(outcome);
        let outcome = self.connection.run(py, limit, |begin| begin.select_lease(&templates), kept)?;
        leased(py, &self.connection, outcome)
    }

    /// Begins a group: takes, reads and puts that happen at one instant, at the end of `with space.group() as g:`, or not at all. It lasts
    /// `timeout` seconds at most; then what it took has returned.
    ///
    /// Raises Closed.
    #[pyo3(signature = (timeout = Some(60.0)))]
    fn group(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<Group> {
        let limit = limit(timeout)?;
        let group = self.connection.ask(py, |space| Ok(space.group().within(limit)))?;
        Ok(Group::new(Arc::clone(&self.connection), group))
    }

    /// Tells that every template of these types gives a value for this field, counted from 0, and not always the same: `space.declare_key(1, "task", int, int)`.
    /// A space with several managers then has their tuples at all of them from the first one on, each where the value says. It is no promise: where a
    /// template leaves the key out, they are gathered at one manager, as ever. In a space with one manager, and in a named one, there is nothing to do.
    ///
    /// Raises BadValue if the template has no such field.
    #[pyo3(signature = (field, *template))]
    fn declare_key(&self, py: Python<'_>, field: usize, template: &Bound<'_, PyTuple>) -> PyResult<()> {
        let template = to_template(template)?;
        self.connection.ask(py, |space| space.declare_key(&template, field))
    }

    /// How many tuples match now.
    #[pyo3(signature = (*template))]
    fn count(&self, py: Python<'_>, template: &Bound<'_, PyTuple>) -> PyResult<u64> {
        let template = to_template(template)?;
        self.connection.run(py, None, |begin| begin.count(&template), number)
    }

    /// The tuples that match, or all without a template, oldest first, those under a lease included; none is taken. An iterator of
    /// `quintet.listing.ListedTuple`, which fetches them a page at a time. A page is the space at one instant, several are not: a tuple that is
    /// leased or returns between two may be shown twice or not at all. Of long text, bytes and arrays the first 256 bytes are shown.
    ///
    /// Raises BadValue where the first row is asked for.
    #[pyo3(signature = (*template))]
    fn list<'py>(this: &Bound<'py, Self>, template: &Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyAny>> {
        listed(this, template, "tuples")
    }

    /// The requests that wait in the space: an iterator of `quintet.WaitingRequest`, read as `list` reads tuples.
    fn waiting<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        listed(this, &PyTuple::empty(this.py()), "waiting")
    }

    /// The clients that are connected to the space, those of other processes, each once also where several managers have the space: an iterator of `quintet.Client`.
    fn clients<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        this.py().import("quintet.listing")?.call_method1("usage", (this, "clients"))
    }

    /// The space's partitions, tuples of the same types with the same text in front, and how each is used: an iterator of `quintet.Partition`. Where several managers
    /// have the space, a partition has their counts together, and shows the last of what happened at any of them.
    fn partitions<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        this.py().import("quintet.listing")?.call_method1("usage", (this, "partitions"))
    }

    /// The values that takes and reads ask for most, the hottest first, 16 at most: an iterator of `quintet.HotKey`. Where several managers have the space, the counts of
    /// each weigh as much as the questions that it has had since it began.
    fn hot_keys<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        this.py().import("quintet.listing")?.call_method1("usage", (this, "hot keys"))
    }

    /// All clients, all partitions, or all hot keys.
    fn _usage<'py>(&self, py: Python<'py>, subject: &str) -> PyResult<Bound<'py, PyList>> {
        inspecting::usage(py, &self.library(py)?, subject)
    }

    /// Takes all tuples that match, the oldest first: all that are there when this begins and still are when it comes to them. It does not wait; the list
    /// may be empty. They come a page at a time, each taken at one instant; an exception between two loses the pages before it, which `collect_pages` gives as
    /// they come.
    ///
    /// Raises BadValue; PeerDied or its kin; TooLarge for a tuple that the link does not carry.
    #[pyo3(signature = (*template))]
    fn collect<'py>(&self, py: Python<'py>, template: &Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyList>> {
        collecting::collect(py, &self.connection, true, &to_template(template)?)
    }

    /// Takes tuples that match, at most `most` of them, the oldest first and all at one instant: `for task in space.take_up_to(10, "task", int): ...`. It does not wait; an empty
    /// list is exact, as the None of `take_if`. It may be fewer though there are more: as many as an answer carries, which are 1024 tuples, 64 KiB of short fields and 1 MiB of long ones, and
    /// one at least.
    ///
    /// Raises BadValue, also for a negative number; PeerDied or its kin; TooLarge for a tuple that the link does not carry. Nothing is taken then.
    #[pyo3(signature = (most, *template))]
    fn take_up_to<'py>(
        &self,
        py: Python<'py>,
        most: i64,
        template: &Bound<'py, PyTuple>,
    ) -> PyResult<Bound<'py, PyList>> {
        collecting::take_up_to(py, &self.connection, most, &to_template(template)?)
    }

    /// As `collect`; the tuples stay. Each of several equal ones comes once.
    ///
    /// Raises as `collect`.
    #[pyo3(signature = (*template))]
    fn copy_collect<'py>(
        &self,
        py: Python<'py>,
        template: &Bound<'py, PyTuple>,
    ) -> PyResult<Bound<'py, PyList>> {
        collecting::collect(py, &self.connection, false, &to_template(template)?)
    }

    /// As `collect`, an iterator of lists, each taken when it is asked for: whoever stops has the pages that he got.
    ///
    /// Raises as `collect`.
    #[pyo3(signature = (*template))]
    fn collect_pages<'py>(
        this: &Bound<'py, Self>,
        template: &Bound<'py, PyTuple>,
    ) -> PyResult<Bound<'py, PyAny>> {
        this.py().import("quintet.collecting")?.call_method1("pages", (this, true, template))
    }

    /// As `copy_collect`, an iterator of lists.
    ///
    /// Raises as `collect`.
    #[pyo3(signature = (*template))]
    fn copy_collect_pages<'py>(
        this: &Bound<'py, Self>,
        template: &Bound<'py, PyTuple>,
    ) -> PyResult<Bound<'py, PyAny>> {
        this.py().import("quintet.collecting")?.call_method1("pages", (this, false, template))
    }

    /// Moves all tuples that match to another space of the same connection, at one instant, all or none; how many it was:
    /// `space.collect_into(lab.space("archive"), "order", int, "done")`. They are the youngest there, in their order.
    ///
    /// Raises SpaceFull or TooLarge where there is no room for all of them, TooLarge also for more than 65536 tuples, or than 64 MiB between several managers of a
    /// space; NotAllowed; BadValue. Nothing is moved then.
    #[pyo3(signature = (other, *template))]
    fn collect_into(
        &self,
        py: Python<'_>,
        other: &Bound<'_, Space>,
        template: &Bound<'_, PyTuple>,
    ) -> PyResult<u64> {
        let (other, template) = (other.get().library(py)?, to_template(template)?);
        collecting::collect_into(py, &self.connection, true, &other, &template)
    }

    /// As `collect_into`; the tuples stay here as well.
    ///
    /// Raises as `collect_into`.
    #[pyo3(signature = (other, *template))]
    fn copy_collect_into(
        &self,
        py: Python<'_>,
        other: &Bound<'_, Space>,
        template: &Bound<'_, PyTuple>,
    ) -> PyResult<u64> {
        let (other, template) = (other.get().library(py)?, to_template(template)?);
        collecting::collect_into(py, &self.connection, false, &other, &template)
    }

    /// What happens to the tuples that match, or to all without a template, in its order, without gaps and as it happens: an iterator of
    /// `quintet.watching.Event`s, which have a number, what changed ("put", "taken", "leased", "returned", "done", "failed"), the tuple's age and its fields. It
    /// begins with what happens from now on; behind the number `since`; or, with `existing=True`, with the tuples that are there, each as "there". Its `number`
    /// is where whoever comes back goes on. Waits `timeout` seconds at most for each event.
    ///
    /// Raises TooOld, with `oldest`, for events that the space has no more: it keeps a sixteenth of its quota of them, 16 MiB at most, while somebody watches and
    /// for ten minutes after. TimedOut; BadValue.
    #[pyo3(signature = (*template, since = None, existing = false, timeout = None))]
    fn watch<'py>(
        this: &Bound<'py, Self>,
        template: &Bound<'py, PyTuple>,
        since: Option<u64>,
        existing: bool,
        timeout: Option<f64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        limit(timeout)?;
        this.py()
            .import("quintet.watching")?
            .getattr("Watch")?
            .call1((this, template, since, existing, timeout))
    }

    /// The space's numbers as a `quintet.Status`.
    fn status<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.connection.run(py, None, |begin| begin.status(), numbers)
    }

    /// Evaluates the callables among the fields, one after the other; then their results and the other fields are put as one tuple. A failure is put
    /// as ("quintet.failed", name of the callable, traceback). Returns a `quintet.evaluation.Evaluation`, a future that ends when the tuple is there.
    ///
    /// By default a thread of this process does it, and nothing is in the space before. With `on="workers"` the space has the live tuple when this returns, and one of its workers
    /// (`quintet run -n 4`, `python -m quintet.worker`), in an embedded space a thread, does it, also when this process ends. If its worker dies another one begins it again; its tuple comes once.
    ///
    /// Raises Closed; BadValue for another `on`. With workers, for which the fields are pickled, what that raises, and as `out`.
    #[pyo3(signature = (*fields, on = "thread"))]
    fn eval<'py>(
        this: &Bound<'py, Self>,
        fields: &Bound<'py, PyTuple>,
        on: &str,
    ) -> PyResult<Bound<'py, PyAny>> {
        this.get().library(this.py())?;
        this.py().import("quintet.evaluation")?.call_method1("start", (this, fields, on))
    }

    /// Begins an operation without waiting for it: `space.begin(timeout=5).take("row", int)` returns a Pending. The operation may
    /// wait so many seconds; None: without end. Keep the Pending: dropped before it is done, its operation is cancelled.
    ///
    /// Any number may be begun. A served space takes a window of them at once: one fewer than its setting link.window_frames, 255
    /// by default. They are sent whatever the program does next: at once or, over a socket, together with others that are begun close
    /// behind each other, within a fraction of a millisecond. The rest waits in this process and goes as the space makes room, which
    /// this process learns while one of its threads is in a call of this lab, waits for a result, or calls `Lab.progress`. A program
    /// that begins more and then computes looks in now and then, by `Pending.done` say; `status().waiters` shows what has reached the
    /// space.
    ///
    /// Raises BadValue for what is no timeout.
    #[pyo3(signature = (timeout = None))]
    fn begin(&self, timeout: Option<f64>) -> PyResult<Begin> {
        Ok(Begin::new(Arc::clone(&self.connection), limit(timeout)?))
    }

    /// What notebooks show.
    fn _repr_html_<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        this.py().import("quintet.html")?.call_method1("of_space", (this,))
    }

    fn __repr__(&self) -> &'static str {
        if self.connection.is_closed() { "<quintet.Space, closed>" } else { "<quintet.Space>" }
    }
}

impl Space {
    pub(crate) fn new(connection: Arc<Connection>) -> Self {
        Space { connection }
    }

    /// Which one of this process's it is, as long as there is an object for it.
    pub(crate) fn key(&self) -> (usize, Option<&str>) {
        (self.connection.address(), self.connection.name())
    }

    /// The library's.
    ///
    /// # Errors
    /// `Closed`.
    pub(crate) fn library(&self, py: Python<'_>) -> PyResult<quintet::Space> {
        py.detach(|| self.connection.space()).map_err(raise)
    }
}

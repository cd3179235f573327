//! A connection to everything.

use crate::connection::{Connection, in_a_thread};
use crate::error::raise;
use crate::inspecting::from_replica;
use crate::isonet::{self, Isonet, Wanted};
use crate::messaging::Messaging;
use crate::rights::{Machine, Users};
use crate::settings::Settings;
use crate::space::Space;
use crate::spaces::to_policy;
use crate::status::{from_kept_spaces, from_spaces};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString, PyTuple};
use quintet::{Code, Error, LinkAddress, Policy, SpaceAddress, SpaceSettings};
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::sync::Arc;

/// Where a text says that a space is: `quintet://NAME`, `quintet:///PATH`, `quintet://HOST:PORT,HOST:PORT,HOST:PORT` for replicas, `shm:PATH`, `unix:PATH`, `tcp:HOST:PORT`, `tls:HOST:PORT`, or a path
/// for shared memory. Paths become absolute, so that the address is good in every folder.
///
/// # Errors
/// `BadValue`: it is none of these. `Resource`: the path is relative and there is no working folder.
fn parse_address(text: &str) -> PyResult<SpaceAddress> {
    Ok(match text.parse().map_err(raise)? {
        SpaceAddress::Link(address) => absolute(address)?.into(),
        other => other,
    })
}

/// Where a path or a text says that a space is to be served. A path object, and a text without a kind of link, is a path.
///
/// # Errors
/// As [`parse_address`]; `BadValue` also for a path that is not UTF-8: no text could name it to those who connect.
pub(crate) fn address_to_serve(place: &Bound<'_, PyAny>) -> PyResult<LinkAddress> {
    let path = place.extract::<PathBuf>()?;
    let text = path.to_str().ok_or_else(|| not_utf8(&path.display().to_string()))?;
    if place.is_instance_of::<PyString>() && LinkAddress::names_kind(text) {
        return match parse_address(text)? {
            SpaceAddress::Link(address) => Ok(address),
            // Others may name a socket so, too.
            SpaceAddress::Cluster(name) if name.starts_with('/') => {
                Ok(LinkAddress::SharedMemory(name.into()))
            }
            replicas @ SpaceAddress::Replicas(_) => {
                let what = format!(
                    "{replicas} are several servers: each is started with quintet serve --policy replicated"
                );
                Err(raise(Error::new(Code::BadValue, what)))
            }
            of_cluster @ SpaceAddress::Cluster(_) => {
                let what = format!(
                    "{of_cluster} is served by an agent of the cluster (quintet up); a socket of this machine is quintet:///path/to/socket"
                );
                Err(raise(Error::new(Code::BadValue, what)))
            }
        };
    }
    absolute(LinkAddress::SharedMemory(path))
}

/// An address or path that is no text. `shown` is what can be shown of it.
fn not_utf8(shown: &str) -> PyErr {
    raise(Error::new(Code::BadValue, format!("the address {shown:?} is not UTF-8; use a path that is")))
}

fn absolute(address: LinkAddress) -> PyResult<LinkAddress> {
    let whole = |path: PathBuf| {
        std::path::absolute(path).map_err(|error| raise(Error::new(Code::Resource, error.to_string())))
    };
    Ok(match address {
        LinkAddress::SharedMemory(path) => LinkAddress::SharedMemory(whole(path)?),
        LinkAddress::Unix(path) => LinkAddress::Unix(whole(path)?),
        network @ (LinkAddress::Tcp { .. } | LinkAddress::Tls { .. }) => network,
    })
}

/// The address of the space of the cluster whose agent runs on this machine; None if there is no such agent, or agents of several.
#[pyfunction]
pub(crate) fn running_cluster() -> Option<String> {
    SpaceAddress::of_running_agent(&|name| std::env::var_os(name)).map(|address| address.to_string())
}

/// A connection to everything. Made by `quintet.connect`; a context manager that closes it. Not closed, it ends with the last
/// of its spaces, leases and operations under way.
#[pyclass(frozen, weakref, module = "quintet")]
pub(crate) struct Lab {
    connection: Arc<Connection>,
    /// Where the space is; none: in this process.
    address: Option<String>,
    /// Why it is in this process, if somebody looked for another one.
    why_embedded: Option<String>,
}

impl Lab {
    /// A lab of a space that has a connection of its own.
    pub(crate) fn of_space(connection: Arc<Connection>) -> Lab {
        Lab { connection, address: None, why_embedded: None }
    }
}

#[pymethods]
impl Lab {
    /// A lab in this process, for that reason. Its tuples end with it.
    #[staticmethod]
    #[pyo3(signature = (why = None))]
    fn embedded(why: Option<String>) -> Lab {
        let connection = Arc::new(Connection::new(quintet::Lab::embedded()));
        Lab { connection, address: None, why_embedded: why }
    }

    /// Connects to the space at an address, as a member of `cluster`, or else of the one that the settings name. A signal's exception ends the
    /// wait for its answer.
    ///
    /// Raises BadValue for what is no address, or no cluster of this machine; BadFile; Unreachable, PeerSilent, NotAllowed, WrongCluster, VersionMismatch or Resource.
    #[staticmethod]
    #[pyo3(signature = (address, settings, cluster = None))]
    fn link(
        py: Python<'_>,
        address: &Bound<'_, PyString>,
        settings: &Settings,
        cluster: Option<u128>,
    ) -> PyResult<Lab> {
        let place = parse_address(&address.to_cow().map_err(|_| not_utf8(&address.to_string_lossy()))?)?;
        let address = Some(place.to_string());
        let place = settings.space_identified(place)?;
        let (lease, link) = (settings.lease, settings.link);
        let cluster = cluster.unwrap_or(settings.cluster);
        let connect = move || quintet::Lab::connect_with(place.clone(), cluster, lease, link);
        let lab = in_a_thread(py, "quintet-connect", connect)?;
        Ok(Lab { connection: Arc::new(Connection::new(lab)), address, why_embedded: None })
    }

    /// The tuple space without a name; `lab.space("orders")` is a named one.
    #[getter]
    fn space(&self) -> Space {
        Space::new(Arc::clone(&self.connection))
    }

    /// Calls of handlers in other processes that use the same space, and handlers of one's own.
    #[getter]
    fn messaging(&self) -> Messaging {
        Messaging::new(Arc::clone(&self.connection))
    }

    /// Isochrons between the processes of a job: `with lab.isochrons("bank", variables=[TOTAL]) as isonet:` joins, and closes at the end. See `quintet.isochrons`.
    #[getter]
    fn isochrons<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        this.py().import("quintet.isochrons")?.call_method1("of_lab", (this,))
    }

    /// Joins an isonet.
    fn _join_isonet(&self, py: Python<'_>, wanted: Wanted) -> PyResult<Isonet> {
        isonet::join(py, &self.connection, wanted)
    }

    /// Creates a named space and returns it; `lab.space(name)` is it for others. One that is there with the same settings is as good. It holds
    /// `max_bytes` (64 MiB) and `max_tuples` (1,048,576); `policy` says what holds its tuples: "volatile", as the server keeps all its spaces; "logged" or
    /// "replicated=N", which a server refuses that does not keep them so. In a cluster (`quintet.connect("quintet://NAME")`) machines of it keep such a space on their disks, and it
    /// has a connection of its own, which ends with the lab.
    ///
    /// `allow` names the machines whose programs may use and remove it: each by its name in the lab's cluster, or by its identity, 32 bytes. `allow_own_machine` lets in
    /// those of the server's own machine, which come without a proof; a name of that machine does so as well. Without either all may who may use the server.
    ///
    /// Raises SpaceExists if it is there with other settings, SpaceFull if the server has no room for its quota, BadValue, also for a name that is no machine's, TooLarge for more than 128
    /// machines; NotAllowed in a cluster where it is for others than this machine: it is there then.
    #[pyo3(signature = (name, *, max_bytes = None, max_tuples = None, policy = "volatile", allow = None, allow_own_machine = false))]
    #[expect(clippy::too_many_arguments, reason = "each is one of Python's names")]
    fn create_space(
        &self,
        py: Python<'_>,
        name: &str,
        max_bytes: Option<u64>,
        max_tuples: Option<u64>,
        policy: &str,
        allow: Option<Vec<Machine>>,
        allow_own_machine: bool,
    ) -> PyResult<Space> {
        let bad = |text: String| raise(Error::new(Code::BadValue, text));
        for (what, given) in [("max_bytes", max_bytes), ("max_tuples", max_tuples)] {
            if given == Some(0) {
                return Err(bad(format!("{what}: a space holds one at least")));
            }
        }
        let policy = to_policy(policy)?;
        let is_restricted = allow.is_some() || allow_own_machine;
        let users = Users::new(allow.unwrap_or_default())?;
        let space = self.connection.ask_lab(py, |lab| {
            let mut rights = users.rights(lab, policy)?;
            rights.own_machine |= allow_own_machine;
            if is_restricted && !rights.own_machine && rights.identities.is_empty() {
                return Err(Error::new(Code::BadValue, "allow: a space is for one machine at least"));
            }
            let settings = SpaceSettings {
                policy,
                max_bytes: max_bytes.unwrap_or(0),
                max_tuples: max_tuples.unwrap_or(0),
                allow: is_restricted.then_some(rights),
            };
            lab.create_space(name, &settings)
        })?;
        Ok(Space::new(Arc::new(Connection::to_space(&self.connection, space))))
    }

    /// Lets the programs of some machines use a space from now on that machines of the lab's cluster keep and that was created with `allow`, and those of others no more: each
    /// by its name or identity, as in `create_space`. What a program that may not any more waits for raises NotAllowed.
    ///
    /// Raises NoSuchSpace; BadValue if the space is for all machines, nobody would be left, or a machine is not in the cluster; NotAllowed if it is for others than this machine; Unreachable
    /// if this machine's agent does not run, or no majority agrees.
    #[pyo3(signature = (name, *, grant = Vec::new(), revoke = Vec::new()))]
    fn allow_space(
        &self,
        py: Python<'_>,
        name: &str,
        grant: Vec<Machine>,
        revoke: Vec<Machine>,
    ) -> PyResult<()> {
        let (grant, revoke) = (Users::new(grant)?, Users::new(revoke)?);
        self.connection.ask_lab(py, |lab| {
            let identities = |users: Users| users.rights(lab, Policy::Logged).map(|rights| rights.identities);
            lab.allow_space(name, &identities(grant)?, &identities(revoke)?)
        })
    }

    /// Removes a named space with its tuples. Who waits in it, or asks it later, gets NoSuchSpace.
    ///
    /// Raises NoSuchSpace, NotAllowed, BadValue.
    fn remove_space(&self, py: Python<'_>, name: &str) -> PyResult<()> {
        self.connection.ask_lab(py, |lab| lab.remove_space(name))
    }

    /// The named spaces, by name, each a `quintet.NamedSpace`.
    fn spaces<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        from_spaces(py, &self.connection.ask_lab(py, quintet::Lab::spaces)?)
    }

    /// The spaces that machines of the lab's cluster keep on their disks, by name, each a `quintet.KeptSpace`, as this machine's agent knows them: nobody is asked. None of them
    /// if the lab is no connection to a cluster.
    ///
    /// Raises BadValue if this machine is no member any more, BadFile.
    fn kept_spaces<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        from_kept_spaces(py, &self.connection.ask_lab(py, quintet::Lab::kept_spaces)?)
    }

    /// What each server of a replicated space says that it does, a list of `quintet.Replica`, each asked by itself, over a connection of its own; none of another space.
    ///
    /// Raises BadValue, or BadFile, for settings that cannot be read.
    fn replicas<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        let Some(address) = &self.address else { return Ok(list) };
        let settings = Settings::new()?;
        let (place, cluster, link) =
            (settings.space_identified(parse_address(address)?)?, settings.cluster, settings.link);
        let asked = in_a_thread(py, "quintet-replicas", move || {
            quintet::Lab::replicas(place.clone(), cluster, link)
        })?;
        asked.into_iter().try_for_each(|replica| list.append(from_replica(py, replica)?))?;
        Ok(list)
    }

    /// What `quintet.connect` takes to come to the same space; None if it lives in this process.
    #[getter]
    fn address(&self) -> Option<&str> {
        self.address.as_deref()
    }

    /// Whether the space lives in this process.
    #[getter]
    fn is_embedded(&self) -> bool {
        self.address.is_none()
    }

    /// Why the space lives in this process: where it was looked for. None if it does not, or was asked to.
    #[getter]
    fn why_embedded(&self) -> Option<&str> {
        self.why_embedded.as_deref()
    }

    /// Waits until at least `number` workers have announced themselves and live, `timeout` seconds at most. Returns how many.
    ///
    /// Raises TimedOut, which says how many there are; Closed or its kin once the space is gone.
    #[pyo3(signature = (number, timeout = None))]
    fn wait_for_workers<'py>(
        this: &Bound<'py, Self>,
        number: usize,
        timeout: Option<f64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        this.py().import("quintet.presence")?.call_method1("wait", (this, number, timeout))
    }

    /// Whether it was closed, or belongs to another process.
    #[getter]
    fn closed(&self) -> bool {
        self.connection.is_closed()
    }

    /// Ends the connection at once, for everything that was made from it: what is under way and the waits of other threads end
    /// with Closed, leased tuples return to the space, whatever is done later raises Closed. What was answered before can still
    /// be asked for. A second call does nothing, nor one in a forked child.
    fn close(&self, py: Python<'_>) {
        py.detach(|| self.connection.close());
    }

    /// A descriptor for the program's own event loop: readable while `progress` has something to do. It is good until the
    /// lab is closed. One loop may watch a lab at a time.
    ///
    /// Raises Closed, or Resource if the system refuses a descriptor.
    fn fileno(&self, py: Python<'_>) -> PyResult<i32> {
        py.detach(|| self.connection.watch().map(|watch| watch.as_raw_fd())).map_err(raise)
    }

    /// Takes in what has come for the operations under way, and does what is due. Never waits.
    ///
    /// Raises Closed.
    fn progress(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.connection.watch().map(|watch| watch.progress())).map_err(raise)
    }

    fn __enter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyTuple>) {
        self.close(py);
    }

    /// What notebooks show.
    fn _repr_html_<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        this.py().import("quintet.html")?.call_method1("of_lab", (this,))
    }

    fn __repr__(&self) -> String {
        let place = self.address().unwrap_or("embedded");
        let closed = if self.connection.is_closed() { ", closed" } else { "" };
        format!("<quintet.Lab {place}{closed}>")
    }
}

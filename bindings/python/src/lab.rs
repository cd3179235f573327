//! A connection to everything.

use crate::connection::{Connection, connect_in_a_thread};
use crate::error::raise;
use crate::settings::Settings;
use crate::space::Space;
use pyo3::prelude::*;
use quintet::{Code, Error};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The address of a socket of this machine.
///
/// # Errors
/// `Resource`: the path is relative and there is no working folder.
pub(crate) fn address(socket: &Path) -> PyResult<String> {
    let socket =
        std::path::absolute(socket).map_err(|error| raise(Error::new(Code::Resource, error.to_string())))?;
    Ok(format!("quintet://{}", socket.display()))
}

/// A connection to everything. Made by `quintet.connect`; a context manager that closes it. Not closed, it ends with the last
/// of its spaces, leases and operations under way.
#[pyclass(frozen, weakref, module = "quintet")]
pub(crate) struct Lab {
    connection: Arc<Connection>,
    /// Where the space is; none: in this process.
    address: Option<String>,
}

#[pymethods]
impl Lab {
    /// A lab in this process. Its tuples end with it.
    #[staticmethod]
    fn embedded() -> Lab {
        Lab { connection: Arc::new(Connection::new(quintet::Lab::embedded())), address: None }
    }

    /// Connects to the space at a socket of this machine. A signal's exception ends the wait for its answer.
    ///
    /// Raises Unreachable, PeerSilent, NotAllowed, WrongCluster, VersionMismatch or Resource.
    #[staticmethod]
    fn link(py: Python<'_>, socket: PathBuf, settings: &Settings) -> PyResult<Lab> {
        let address = Some(address(&socket)?);
        let (cluster, lease, link) = (settings.cluster, settings.lease, settings.link);
        let connect = move || quintet::Lab::connect_with(&socket, cluster, lease, link);
        let lab = connect_in_a_thread(py, connect)?;
        Ok(Lab { connection: Arc::new(Connection::new(lab)), address })
    }

    /// The tuple space.
    #[getter]
    fn space(&self) -> Space {
        Space::new(Arc::clone(&self.connection))
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
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, pyo3::types::PyTuple>) {
        self.close(py);
    }

    fn __repr__(&self) -> String {
        let place = self.address().unwrap_or("embedded");
        let closed = if self.connection.is_closed() { ", closed" } else { "" };
        format!("<quintet.Lab {place}{closed}>")
    }
}

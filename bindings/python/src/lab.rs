//! A connection to everything.

use crate::connection::Connection;
use crate::error::raise;
use crate::space::Space;
use pyo3::prelude::*;
use quintet::{LinkConfig, Window};
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// A connection to everything. Made by `quintet.connect`; a context manager that closes it.
#[pyclass(frozen, weakref, module = "quintet")]
pub(crate) struct Lab {
    connection: Arc<Connection>,
    /// Where the space is; none: in this process.
    socket: Option<PathBuf>,
}

#[pymethods]
impl Lab {
    /// A lab in this process. Its tuples end with it.
    #[staticmethod]
    fn embedded() -> Lab {
        Lab { connection: Arc::new(Connection::new(quintet::Lab::embedded())), socket: None }
    }

    /// Connects to the space at a socket of this machine. `lease_ms`: how long, in milliseconds, a leased tuple stays
    /// hidden after this process was last heard. `window_frames` and `window_bytes`: what the space may have under way to this
    /// process; `spin_us`: how long a wait spins before it sleeps, in microseconds.
    ///
    /// Raises Unreachable, NotAllowed, WrongCluster, VersionMismatch or Resource.
    #[staticmethod]
    #[pyo3(signature = (socket, cluster, lease_ms, *, window_frames = 256, window_bytes = 1 << 20, spin_us = 8))]
    fn link(
        py: Python<'_>,
        socket: PathBuf,
        cluster: u128,
        lease_ms: u64,
        window_frames: u32,
        window_bytes: u32,
        spin_us: u64,
    ) -> PyResult<Lab> {
        let lease = Duration::from_millis(lease_ms);
        let window = Window { slots: window_frames, bytes: window_bytes };
        let link = LinkConfig { window, spin: Duration::from_micros(spin_us) };
        let lab = py.detach(|| quintet::Lab::connect_with(&socket, cluster, lease, link)).map_err(raise)?;
        Ok(Lab { connection: Arc::new(Connection::new(lab)), socket: Some(socket) })
    }

    /// The tuple space.
    #[getter]
    fn space(&self) -> Space {
        Space::new(Arc::clone(&self.connection))
    }

    /// Whether the space lives in this process.
    #[getter]
    fn is_embedded(&self) -> bool {
        self.socket.is_none()
    }

    /// Whether it was closed.
    #[getter]
    fn closed(&self) -> bool {
        self.connection.is_closed()
    }

    /// Ends the connection. Waits of other threads end with Closed. A second call does nothing.
    fn close(&self, py: Python<'_>) {
        py.detach(|| self.connection.close());
    }

    /// A descriptor for the program's own event loop: readable while `progress` has something to do. It is good until the
    /// lab is closed and nothing is under way any more. One loop may watch a lab at a time.
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
        let place = match &self.socket {
            None => "embedded".to_owned(),
            Some(socket) => format!("quintet://{}", socket.display()),
        };
        let closed = if self.connection.is_closed() { ", closed" } else { "" };
        format!("<quintet.Lab {place}{closed}>")
    }
}

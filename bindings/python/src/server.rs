//! A space for other processes.

use crate::error::raise;
use crate::fork::Maker;
use crate::lab::address_to_serve;
use crate::settings::Settings;
use pyo3::prelude::*;
use quintet::{Error, ServeConfig, SpaceConfig, SpaceLog};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// A space that serves other processes of this user from a thread of this one. A context manager that stops it.
#[pyclass(frozen, module = "quintet")]
pub(crate) struct Server {
    maker: Maker,
    address: String,
    cluster: u128,
    server: Mutex<Option<quintet::Server>>,
}

#[pymethods]
impl Server {
    /// Serves at a path, over shared memory, or at an address, as a member of a cluster. `max_bytes`, `max_tuples`: what the space holds at most.
    /// `log_dir`: the folder of its log.
    ///
    /// Raises BadValue for what is no address, BadFile for a log that cannot be used, Resource or another Error if it is in use or cannot be listened at.
    #[new]
    #[pyo3(signature = (address, cluster = 0, *, max_bytes = None, max_tuples = None, log_dir = None))]
    fn new(
        py: Python<'_>,
        address: &Bound<'_, PyAny>,
        cluster: u128,
        max_bytes: Option<u64>,
        max_tuples: Option<u64>,
        log_dir: Option<PathBuf>,
    ) -> PyResult<Server> {
        let plain = SpaceConfig::default();
        let space = SpaceConfig {
            max_bytes: max_bytes.unwrap_or(plain.max_bytes),
            max_tuples: max_tuples.unwrap_or(plain.max_tuples),
            ..plain
        };
        let events = Some(quintet::to_standard_error());
        let log = log_dir.map(SpaceLog::new);
        let config = ServeConfig { cluster, space, events, log, ..ServeConfig::default() };
        let address = address_to_serve(address)?;
        let address = if address.wants_identity() { Settings::new()?.identified(address)? } else { address };
        let server = py.detach(|| quintet::Server::start(address, &config)).map_err(raise)?;
        let address = server.addresses()[0].to_string();
        Ok(Server { maker: Maker::this_process(), address, cluster, server: Mutex::new(Some(server)) })
    }

    /// What `quintet.connect` takes to come here.
    #[getter]
    fn address(&self) -> &str {
        &self.address
    }

    /// The cluster that it belongs to.
    #[getter]
    fn cluster(&self) -> u128 {
        self.cluster
    }

    /// Ends it, and its tuples with it unless it keeps a log. A second call does nothing, nor one in a forked child.
    ///
    /// Raises Resource if the system refused to wait for links while it ran, or the disk of its log had failed.
    fn stop(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.end()).map_err(raise)
    }

    fn __enter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, pyo3::types::PyTuple>) -> PyResult<()> {
        self.stop(py)
    }

    fn __repr__(&self) -> String {
        format!("<quintet.Server at {}>", self.address)
    }
}

impl Server {
    fn end(&self) -> Result<(), Error> {
        if !self.maker.is_this_process() {
            return Ok(());
        }
        let server = self.server.lock().unwrap_or_else(PoisonError::into_inner).take();
        server.map_or(Ok(()), quintet::Server::stop)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let server = self.server.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        Python::attach(|py| self.maker.let_go(py, server));
    }
}

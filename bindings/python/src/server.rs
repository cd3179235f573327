//! A space for other processes.

use crate::error::raise;
use crate::fork::Maker;
use crate::lab::address_to_serve;
use crate::settings::Settings;
use pyo3::prelude::*;
use quintet::{
    Code, Error, LinkAddress, Partitioning, Replication, ServeConfig, SpaceConfig, SpaceLog, SpacesConfig,
};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// What a space is served with, as `quintet.serve` is told it.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Served {
    cluster: u128,
    max_bytes: Option<u64>,
    max_tuples: Option<u64>,
    max_attempts: Option<u32>,
    max_waiting: Option<usize>,
    max_spaces: Option<u32>,
    max_spaces_bytes: Option<u64>,
    log_dir: Option<PathBuf>,
    managers: u8,
    hot_key_requests: Option<u64>,
    manager: Option<u8>,
    peers: Option<Vec<String>>,
    replica: Option<u8>,
    replicas: Option<Vec<String>>,
}

impl Served {
    /// # Errors
    /// `BadValue`: of what belongs together one is missing, or what is no address; `BadFile` for an identity.
    fn config(self, settings: &Settings) -> PyResult<ServeConfig> {
        let (plain, all) = (SpaceConfig::default(), SpacesConfig::default());
        let space = SpaceConfig {
            max_bytes: self.max_bytes.unwrap_or(plain.max_bytes),
            max_tuples: self.max_tuples.unwrap_or(plain.max_tuples),
            max_attempts: self.max_attempts.unwrap_or(plain.max_attempts),
            max_waiting: self.max_waiting.unwrap_or(plain.max_waiting),
            ..plain
        };
        let spaces = SpacesConfig {
            max_spaces: self.max_spaces.unwrap_or(all.max_spaces),
            max_bytes: self.max_spaces_bytes.unwrap_or(all.max_bytes),
        };
        let replicas = self.replicas.map(|replicas| Replication::places(&replicas).map_err(raise));
        let peers = self.peers.map(|peers| peers.iter().map(|peer| parsed(peer)).collect());
        let numbered = |what, number, places: Option<PyResult<Vec<LinkAddress>>>| match (number, places) {
            (Some(number), Some(places)) => {
                let places = places?.into_iter().map(|place| settings.identified(place));
                Ok(Some((number, places.collect::<PyResult<_>>()?)))
            }
            (None, None) => Ok(None),
            _ => Err(bad(what)),
        };
        let replication = numbered("replica and replicas belong together", self.replica, replicas)?;
        let partitioning = numbered("manager and peers belong together", self.manager, peers)?;
        Ok(ServeConfig {
            cluster: self.cluster,
            space,
            spaces,
            link: settings.link,
            events: Some(quintet::to_standard_error()),
            log: self.log_dir.map(SpaceLog::new),
            managers: self.managers,
            hot_key_requests: self.hot_key_requests,
            replication: replication.map(|(number, places)| Replication::new(number, places)),
            partitioning: partitioning.map(|(number, places)| Partitioning::new(number, places)),
            ..ServeConfig::default()
        })
    }
}

/// Where to serve: as asked, or in its place among the replicas or managers.
fn places(
    addresses: &[Bound<'_, PyAny>],
    config: &ServeConfig,
    settings: &Settings,
) -> PyResult<Vec<LinkAddress>> {
    match (addresses, config.place()) {
        ([], Some(own)) => Ok(vec![own.clone()]),
        ([], None) => Err(bad("name an address to serve at")),
        (named, _) => named.iter().map(|address| settings.identified(address_to_serve(address)?)).collect(),
    }
}

fn parsed(peer: &str) -> PyResult<LinkAddress> {
    peer.parse().map_err(|error: quintet::AddressError| bad(&error.to_string()))
}

fn bad(text: &str) -> PyErr {
    raise(Error::new(Code::BadValue, text))
}

/// A space that serves other processes of this user from a thread of this one. A context manager that stops it.
#[pyclass(frozen, module = "quintet")]
pub(crate) struct Server {
    maker: Maker,
    addresses: Vec<String>,
    cluster: u128,
    server: Mutex<Option<quintet::Server>>,
}

#[pymethods]
impl Server {
    /// Serves at these addresses, as `quintet.serve` says of the rest.
    ///
    /// Raises BadValue for what is no address, BadFile for a log that cannot be used, Resource or another Error if it is in use or cannot be listened at.
    #[new]
    fn new(py: Python<'_>, addresses: Vec<Bound<'_, PyAny>>, served: Served) -> PyResult<Server> {
        let settings = Settings::new()?;
        let cluster = served.cluster;
        let config = served.config(&settings)?;
        let places = places(&addresses, &config, &settings)?;
        let server = py.detach(|| quintet::Server::start_at(&places, &config)).map_err(raise)?;
        let addresses = server.addresses().iter().map(LinkAddress::to_string).collect();
        Ok(Server { maker: Maker::this_process(), addresses, cluster, server: Mutex::new(Some(server)) })
    }

    /// What `quintet.connect` takes to come here.
    #[getter]
    fn address(&self) -> &str {
        &self.addresses[0]
    }

    /// Where it serves, if it was told several addresses.
    #[getter]
    fn addresses(&self) -> Vec<&str> {
        self.addresses.iter().map(String::as_str).collect()
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
        format!("<quintet.Server at {}>", self.addresses.join(" and "))
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

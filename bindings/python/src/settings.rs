//! What the environment and the settings file say about connections.

use crate::error::raise;
use pyo3::prelude::*;
use quintet::{Code, Error, LinkAddress, LinkConfig, SpaceAddress};
use quintet_settings::{
    CLUSTER_ID, CLUSTER_IDENTITY, Origin, SPACE_ADDRESS, SPACE_LEASE_MS, Setting, Sources,
};
use rustix::process::getuid;
use std::time::Duration;

/// The number of a cluster, which may be larger than the setting `cluster.id`.
const CLUSTER: &str = "QUINTET_CLUSTER";

/// Where the space is, and how to connect to it.
#[pyclass(frozen, module = "quintet._native")]
pub(crate) struct Settings {
    /// None if no source gives one.
    #[pyo3(get)]
    address: Option<String>,
    /// Where a server is that nobody named an address.
    #[pyo3(get)]
    default_address: String,
    pub(crate) cluster: u128,
    pub(crate) lease: Duration,
    pub(crate) link: LinkConfig,
    /// What this process proves itself with over TLS; empty if nothing is set.
    identity: String,
}

impl Settings {
    /// The address, at which this process proves to be who the setting says, where that is asked for.
    ///
    /// # Errors
    /// `BadFile`, `NotAllowed`: the identity cannot be used.
    pub(crate) fn identified(&self, address: LinkAddress) -> PyResult<LinkAddress> {
        quintet::identified(address, &self.identity, &|name| std::env::var_os(name)).map_err(raise)
    }
}

impl Settings {
    /// The same of what may be several places.
    ///
    /// # Errors
    /// As [`Settings::identified`].
    pub(crate) fn space_identified(&self, address: SpaceAddress) -> PyResult<SpaceAddress> {
        address.identified(&self.identity, &|name| std::env::var_os(name)).map_err(raise)
    }
}

#[pymethods]
impl Settings {
    /// Reads the environment and, if the working folder has one, quintet.toml.
    ///
    /// Raises BadValue, or BadFile.
    #[new]
    pub(crate) fn new() -> PyResult<Self> {
        let sources = Sources::of_this_process(Vec::new(), getuid().as_raw());
        let settings = quintet_settings::Settings::load(&sources)
            .map_err(|error| raise(Error::new(error.code(), error.to_string())))?;
        let given = settings.origin(Setting::Location(&SPACE_ADDRESS)) != Origin::Default;
        let address = settings.space_address().to_string_lossy().into_owned();
        let cluster = match sources.environment.get(CLUSTER) {
            Some(number) => cluster(number)?,
            None => settings.number(&CLUSTER_ID).into(),
        };
        Ok(Settings {
            address: given.then(|| address.clone()),
            default_address: address,
            cluster,
            identity: settings.location(&CLUSTER_IDENTITY).to_string_lossy().into_owned(),
            lease: Duration::from_millis(settings.number(&SPACE_LEASE_MS)),
            link: LinkConfig::from_settings(&settings).map_err(raise)?,
        })
    }
}

fn cluster(number: &str) -> PyResult<u128> {
    number.parse().map_err(|_| {
        let number = if number.is_empty() { "empty" } else { number };
        let text =
            format!("environment variable {CLUSTER}: it is {number}, expected a whole number below 2**128; a cluster's name goes into QUINTET_IDENTITY, or into QUINTET_SPACE as quintet://NAME");
        raise(Error::new(Code::BadValue, text))
    })
}

//! Where the space is and how to connect to it, as the environment says.

use crate::{Code, Error, Lab, LinkAddress, LinkConfig, Replica, SpaceAddress, identified};
use quintet_settings::{
    CLUSTER_ID, CLUSTER_IDENTITY, Origin, SPACE_ADDRESS, SPACE_LEASE_MS, Setting, Settings, Sources,
};
use std::time::Duration;

/// The number of a cluster, which may be larger than the setting `cluster.id`.
const CLUSTER: &str = "QUINTET_CLUSTER";

/// Where the space is and how to connect to it. Read from the settings, as every program of Quintet reads them.
#[derive(Clone, Debug)]
pub struct ConnectConfig {
    /// Where the space is; none if no setting says so: then the lab is embedded.
    pub address: Option<SpaceAddress>,
    /// Its cluster.
    pub cluster: u128,
    /// How long a lease lives unless it is renewed.
    pub lease: Duration,
    /// How the link is used.
    pub link: LinkConfig,
    /// What this process proves itself with over TLS: the name or the path of an identity; empty if nothing is set.
    pub identity: String,
}

impl ConnectConfig {
    /// What the environment says and, if the working folder has one, `quintet.toml`: the settings `space.address` (`QUINTET_SPACE`),
    /// `space.lease_ms`, `cluster.id`, `cluster.identity` and those of `link`. `QUINTET_CLUSTER` goes before `cluster.id`.
    ///
    /// # Errors
    /// [`Code::BadValue`] for a value that is not good, [`Code::BadFile`] for a file that cannot be read.
    pub fn from_environment() -> Result<ConnectConfig, Error> {
        // A user's number makes a default address, and only one that is given counts here.
        ConnectConfig::of(&Sources::of_this_process(Vec::new(), 0))
    }

    fn of(sources: &Sources) -> Result<ConnectConfig, Error> {
        let settings =
            Settings::load(sources).map_err(|error| Error::new(error.code(), error.to_string()))?;
        let cluster = match sources.environment.get(CLUSTER) {
            Some(number) => cluster(number)?,
            None => settings.number(&CLUSTER_ID).into(),
        };
        Ok(ConnectConfig {
            address: address(&settings)?,
            cluster,
            lease: Duration::from_millis(settings.number(&SPACE_LEASE_MS)),
            link: LinkConfig::from_settings(&settings)?,
            identity: settings.location(&CLUSTER_IDENTITY).to_string_lossy().into_owned(),
        })
    }

    /// Connects to the address, or makes a lab in this process if there is none.
    ///
    /// # Errors
    /// As [`ConnectConfig::connect_to`].
    pub fn connect(&self) -> Result<Lab, Error> {
        match &self.address {
            Some(address) => self.connect_to(address.clone()),
            None => Ok(Lab::embedded()),
        }
    }

    /// Connects to another address in the same way.
    ///
    /// # Errors
    /// As [`Lab::connect`] and [`identity`](crate::identity()).
    pub fn connect_to(&self, address: impl Into<SpaceAddress>) -> Result<Lab, Error> {
        Lab::connect_with(self.identified_at(address)?, self.cluster, self.lease, self.link)
    }

    /// What each server of the replicated space at this address says that it does; nothing of a space that has no replicas.
    ///
    /// # Errors
    /// As [`Lab::replicas`] and [`identity`](crate::identity()).
    pub fn replicas_of(&self, address: impl Into<SpaceAddress>) -> Result<Vec<Replica>, Error> {
        Lab::replicas(self.identified_at(address)?, self.cluster, self.link)
    }

    /// The address, at which this process proves to be who the setting says, where that is asked for.
    ///
    /// # Errors
    /// As [`identity`](crate::identity()).
    pub fn identified(&self, address: LinkAddress) -> Result<LinkAddress, Error> {
        identified(address, &self.identity, &|name| std::env::var_os(name))
    }

    /// The same of any address of a space.
    fn identified_at(&self, address: impl Into<SpaceAddress>) -> Result<SpaceAddress, Error> {
        address.into().identified(&self.identity, &|name| std::env::var_os(name))
    }
}

fn address(settings: &Settings) -> Result<Option<SpaceAddress>, Error> {
    if settings.origin(Setting::Location(&SPACE_ADDRESS)) == Origin::Default {
        return Ok(None);
    }
    let text = settings.space_address();
    let parsed = text.to_string_lossy().parse();
    let parsed = parsed
        .map_err(|error: Error| Error::new(error.code(), format!("space.address: {}", error.text())))?;
    Ok(Some(parsed))
}

fn cluster(number: &str) -> Result<u128, Error> {
    number.parse().map_err(|_| {
        let number = if number.is_empty() { "empty" } else { number };
        let text =
            format!("environment variable {CLUSTER}: it is {number}, expected a whole number below 2**128; a cluster's name goes into QUINTET_IDENTITY, or into QUINTET_SPACE as quintet://NAME");
        Error::new(Code::BadValue, text)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Packets, ServeConfig, Server, tuple};
    use quintet_testbed::TempDir;

    fn config(variables: &[(&str, &str)]) -> Result<ConnectConfig, Error> {
        let pairs = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        ConnectConfig::of(&Sources { environment: pairs.collect(), ..Sources::default() })
    }

    #[test]
    fn without_an_address_the_lab_is_in_this_process() {
        let config = config(&[]).expect("nothing is set");
        assert!(config.address.is_none() && config.link == LinkConfig::default());
        assert!(config.connect().expect("it needs nobody").is_embedded());
    }

    #[test]
    fn a_job_says_where_its_space_is_and_of_which_cluster() {
        let folder = TempDir::new().expect("a temporary directory");
        let socket = folder.join("space");
        let cluster = u128::MAX;
        let server = ServeConfig { cluster, ..ServeConfig::default() };
        let _server = Server::start(&socket, &server).expect("the space starts");
        let (socket, number) = (format!("shm:{}", socket.display()), cluster.to_string());
        let variables = [
            ("QUINTET_SPACE", &*socket),
            ("QUINTET_CLUSTER", &number),
            ("QUINTET_LEASE_MS", "70"),
            ("QUINTET_LINK_SPIN_US", "3"),
            ("QUINTET_LINK_TWO_PACKETS", "true"),
        ];
        let config = config(&variables).expect("good values");
        assert_eq!((config.lease, config.link.spin), (Duration::from_millis(70), Duration::from_micros(3)));
        assert_eq!(config.link.packets, Packets::Two);
        let lab = config.connect().expect("the space is there");
        assert!(!lab.is_embedded());
        lab.space().out(tuple!["row"]).expect("it is served");
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (variable, value, text) in [
            ("QUINTET_CLUSTER", "", "environment variable QUINTET_CLUSTER: it is empty"),
            ("QUINTET_CLUSTER", "lab", "a cluster's name goes into QUINTET_IDENTITY"),
            ("QUINTET_SPACE", "pigeon:7", "space.address: "),
            ("QUINTET_SPACE_LEASE_MS", "1", "QUINTET_SPACE_LEASE_MS"),
            ("QUINTET_LINK_PACK", "often", "link.pack: it is \"often\", expected auto, always or never"),
        ] {
            let error = config(&[(variable, value)]).expect_err("it is not good");
            assert!(error.code() == Code::BadValue && error.text().contains(text), "{error}");
        }
    }
}

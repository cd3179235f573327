//! Where a space is and what it is made with: shared by the commands that serve one or connect to one.

use clap::Args;
use quintet::{
    Code, Error, KeptSpaces, Lab, LinkAddress, LinkConfig, Replica, SpaceAddress, SpaceConfig, SpacesConfig,
};
use quintet_settings::{
    CLUSTER_ID, CLUSTER_IDENTITY, Origin, SPACE_ADDRESS, SPACE_LEASE_MS, SPACE_MAX_ATTEMPTS, SPACE_MAX_BYTES,
    SPACE_MAX_TUPLES, SPACE_MAX_WAITING, SPACES_MAX_BYTES, SPACES_MAX_COUNT, Setting, SettingError, Settings,
    Sources,
};
use std::hash::{BuildHasher, RandomState};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Of a text that is wrong, so many characters are quoted.
const LONGEST_QUOTE: usize = 100;

/// Settings from everywhere they may stand.
#[derive(Args, Clone, Default)]
pub(crate) struct SettingArguments {
    /// Give a setting a value; docs/settings.md lists them
    #[arg(long = "set", value_name = "NAME=VALUE")]
    settings: Vec<String>,
    /// Read settings from this file instead of quintet.toml
    #[arg(long, value_name = "FILE")]
    settings_file: Option<PathBuf>,
}

/// Which cluster, and all settings.
#[derive(Args, Clone, Default)]
pub(crate) struct ClusterArguments {
    /// The number that peers of this space must say; else the setting cluster.id
    #[arg(long = "cluster-id", alias = "cluster", env = "QUINTET_CLUSTER", value_name = "N", value_parser = cluster_id)]
    cluster: Option<u128>,
    #[command(flatten)]
    settings: SettingArguments,
}

/// The same with all that was not given filled in.
pub(crate) struct Cluster {
    pub(crate) number: u128,
    pub(crate) settings: Settings,
}

/// Which space.
#[derive(Args, Clone, Default)]
pub(crate) struct SpaceArguments {
    /// Where the space is: quintet://CLUSTER, quintet://CLUSTER/SPACE, shm:PATH, unix:PATH, tcp:HOST:PORT, tls:HOST:PORT, or a path; else the setting space.address
    #[arg(long, value_name = "ADDRESS", value_parser = space_address)]
    space: Option<SpaceAddress>,
    #[command(flatten)]
    cluster: ClusterArguments,
}

impl SettingArguments {
    pub(crate) fn load(&self) -> Result<Settings, Error> {
        let user = rustix::process::getuid().as_raw();
        let mut sources = Sources::of_this_process(self.settings.clone(), user);
        sources.file = self.settings_file.clone();
        Settings::load(&sources).map_err(|error| Error::new(error.code(), shortened(error).to_string()))
    }
}

impl ClusterArguments {
    pub(crate) fn load(&self) -> Result<Cluster, Error> {
        let settings = self.settings.load()?;
        let number = self.cluster.unwrap_or_else(|| settings.number(&CLUSTER_ID).into());
        Ok(Cluster { number, settings })
    }
}

impl Cluster {
    /// Where the settings say that the space is.
    pub(crate) fn address(&self) -> Result<SpaceAddress, Error> {
        let address = self.settings.space_address();
        let parsed = address.to_string_lossy().parse();
        parsed.map_err(|error: Error| Error::new(error.code(), format!("space.address: {}", error.text())))
    }

    /// The same, to serve a space there.
    pub(crate) fn address_to_serve(&self) -> Result<LinkAddress, Error> {
        match self.address()? {
            SpaceAddress::Link(address) => Ok(address),
            replicas @ SpaceAddress::Replicas(_) => {
                let text = format!(
                    "space.address: {replicas} are several servers; say with --replica which of them this one is"
                );
                Err(Error::new(Code::BadValue, text))
            }
            of_cluster @ SpaceAddress::Cluster(_) => {
                let text = format!(
                    "space.address: {of_cluster} is served by an agent of the cluster (quintet up); say with --listen where this one is to be"
                );
                Err(Error::new(Code::BadValue, text))
            }
        }
    }

    /// A space's address, at which this process proves to be who the setting cluster.identity says, where that is asked for.
    pub(crate) fn identified(&self, address: SpaceAddress) -> Result<SpaceAddress, Error> {
        let setting = self.settings.location(&CLUSTER_IDENTITY);
        address.identified(&setting.to_string_lossy(), &|name| std::env::var_os(name))
    }

    /// Whether somebody named that place: it is not the default one.
    pub(crate) fn has_chosen_address(&self) -> bool {
        self.settings.origin(Setting::Location(&SPACE_ADDRESS)) != Origin::Default
    }
}

impl SpaceArguments {
    /// Whether somebody named a space: on the command line, in a file, in the environment.
    pub(crate) fn names_a_space(&self) -> Result<bool, Error> {
        Ok(self.space.is_some() || self.cluster.load()?.has_chosen_address())
    }

    /// The cluster whose space is named, if it is one: on the command line, in a file, in the environment.
    pub(crate) fn cluster_name(&self) -> Result<Option<String>, Error> {
        let named = match &self.space {
            Some(address) => address.of_cluster(),
            None => self.cluster.load()?.address()?.of_cluster(),
        };
        Ok(match named {
            Some((SpaceAddress::Cluster(name), _)) => Some(name),
            _ => None,
        })
    }

    /// Connects to it.
    pub(crate) fn lab(&self) -> Result<Lab, Error> {
        let cluster = self.cluster.load()?;
        let address = self.space.clone().map_or_else(|| cluster.address(), Ok)?;
        connect(address, &cluster)
    }

    /// What each of its servers says that it does, if it is replicated.
    pub(crate) fn replicas(&self) -> Result<Vec<Replica>, Error> {
        let cluster = self.cluster.load()?;
        let address = self.space.clone().map_or_else(|| cluster.address(), Ok)?;
        let link = LinkConfig::from_settings(&cluster.settings)?;
        Lab::replicas(cluster.identified(address)?, cluster.number, link)
    }

    /// The same of its space of that name, if one is named. One that says nothing for so long is not waited for.
    pub(crate) fn replicas_of(&self, name: Option<&str>, limit: Duration) -> Result<Vec<Replica>, Error> {
        let cluster = self.cluster.load()?;
        let address = self.space.clone().map_or_else(|| cluster.address(), Ok)?;
        let address = match (address.of_cluster(), name) {
            (Some((of, None)), Some(name)) => format!("{of}/{name}").parse()?,
            _ => address,
        };
        let mut link = LinkConfig::from_settings(&cluster.settings)?;
        link.silence_limit = link.silence_limit.min(limit);
        Lab::replicas(cluster.identified(address)?, cluster.number, link)
    }

    /// The same where it is there, unless it is named otherwise.
    pub(crate) fn or_at(&self, address: SpaceAddress) -> SpaceArguments {
        SpaceArguments { space: self.space.clone().or(Some(address)), cluster: self.cluster.clone() }
    }

    /// Connects to that one instead.
    pub(crate) fn lab_at(&self, address: SpaceAddress) -> Result<Lab, Error> {
        connect(address, &self.cluster.load()?)
    }

    /// The spaces that machines of the cluster with that folder keep.
    pub(crate) fn kept_spaces(&self, folder: &Path) -> Result<KeptSpaces, Error> {
        let settings = &self.cluster.load()?.settings;
        Ok(KeptSpaces::of(folder.to_owned(), lease(settings), LinkConfig::from_settings(settings)?))
    }
}

fn lease(settings: &Settings) -> Duration {
    Duration::from_millis(settings.number(&SPACE_LEASE_MS))
}

fn connect(address: SpaceAddress, cluster: &Cluster) -> Result<Lab, Error> {
    Lab::connect_with(
        cluster.identified(address)?,
        cluster.number,
        lease(&cluster.settings),
        LinkConfig::from_settings(&cluster.settings)?,
    )
}

/// The number of a cluster, or in words what to write for a name.
fn cluster_id(text: &str) -> Result<u128, String> {
    text.parse().map_err(|_| {
        "it is a whole number below 2**128; a cluster is named without an option, or with --space quintet://NAME, or by QUINTET_IDENTITY"
            .to_owned()
    })
}

/// An address, or in words why it is none.
fn space_address(text: &str) -> Result<SpaceAddress, String> {
    text.parse().map_err(|error: Error| error.text().to_owned())
}

/// What the environment and the settings file say.
pub(crate) fn own_settings() -> Result<Settings, Error> {
    SettingArguments { settings: Vec::new(), settings_file: None }.load()
}

/// The address, at which this process proves to be who the setting cluster.identity says, where that is asked for.
pub(crate) fn identified(address: LinkAddress, settings: &Settings) -> Result<LinkAddress, Error> {
    let setting = settings.location(&CLUSTER_IDENTITY);
    quintet::identified(address, &setting.to_string_lossy(), &|name| std::env::var_os(name))
}

/// Where the identity lies that the setting cluster.identity names, as it can be named in any folder; none if nothing is set.
pub(crate) fn identity_place(settings: &Settings) -> Result<Option<PathBuf>, Error> {
    let setting = settings.location(&CLUSTER_IDENTITY);
    if setting.as_os_str().is_empty() {
        return Ok(None);
    }
    let place = quintet_identity::place(&setting.to_string_lossy(), &|name| std::env::var_os(name))
        .map_err(|error| Error::new(error.code(), error.to_string()))?;
    std::path::absolute(place).map(Some).map_err(refused("find the identity"))
}

/// The error without the rest of a text that nobody would read to its end.
fn shortened(mut error: SettingError) -> SettingError {
    let text = match &mut error {
        SettingError::Unknown { name: text, .. }
        | SettingError::Invalid { found: text, .. }
        | SettingError::NotAnAssignment { argument: text } => text,
        SettingError::Unreadable { .. } | SettingError::NotToml { .. } => return error,
    };
    if let Some((place, _)) = text.char_indices().nth(LONGEST_QUOTE) {
        *text = format!("{}... ({} bytes)", &text[..place], text.len());
    }
    error
}

/// The limits of a space, and a key for its hashing that nobody can know before.
pub(crate) fn space_config(settings: &Settings) -> SpaceConfig {
    let fits = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    SpaceConfig {
        max_bytes: settings.number(&SPACE_MAX_BYTES),
        max_tuples: settings.number(&SPACE_MAX_TUPLES),
        max_attempts: u32::try_from(settings.number(&SPACE_MAX_ATTEMPTS)).unwrap_or(u32::MAX),
        max_waiting: fits(settings.number(&SPACE_MAX_WAITING)),
        seed: random(),
        ..SpaceConfig::default()
    }
}

/// The limits of all named spaces together.
pub(crate) fn spaces_config(settings: &Settings) -> SpacesConfig {
    SpacesConfig {
        max_spaces: u32::try_from(settings.number(&SPACES_MAX_COUNT)).unwrap_or(u32::MAX),
        max_bytes: settings.number(&SPACES_MAX_BYTES),
    }
}

/// A number from the system's randomness.
pub(crate) fn random() -> u64 {
    RandomState::new().hash_one(std::process::id())
}

/// What the system refused, and when.
pub(crate) fn refused(doing: &str) -> impl Fn(std::io::Error) -> Error + '_ {
    move |error| Error::new(Code::Resource, format!("{doing}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_long_text_that_is_wrong_the_beginning_is_quoted() {
        let long = "é".repeat(1000);
        for argument in [format!("run.workers={long}"), format!("{long}=1"), long] {
            let arguments = SettingArguments { settings: vec![argument], settings_file: None };
            let Err(error) = arguments.load() else { panic!("no such setting") };
            let text = error.text();
            assert!(text.contains("ééé... (20") && text.len() < 500, "{text}");
        }
    }
}

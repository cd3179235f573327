//! Where a space is: a link's address, the cluster whose machines know it, or the servers that keep it together.

mod located;

pub(crate) use located::Located;

use crate::{Error, identified};
use core::fmt;
use core::str::FromStr;
use located::{of_cluster, of_space};
use quintet_errors::Code;
use quintet_identity::{AgentFile, IdentityError};
use quintet_link::{AddressError, LinkAddress};
use quintet_tuple_space::SpaceName;
use std::ffi::OsString;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

/// In front of a cluster's name, or of the addresses of replicas.
const SCHEME: &str = "quintet://";

/// Where a space is: an address of a link, a cluster to which this machine belongs, or servers that keep it together.
///
/// ```
/// use quintet::{LinkAddress, SpaceAddress};
///
/// let of_cluster: SpaceAddress = "quintet://lab".parse()?;
/// assert_eq!(of_cluster, SpaceAddress::Cluster("lab".to_owned()));
/// let of_link: SpaceAddress = "unix:/run/q".parse()?;
/// assert_eq!(of_link, SpaceAddress::Link(LinkAddress::Unix("/run/q".into())));
/// # Ok::<(), quintet::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum SpaceAddress {
    /// At the end of this link.
    Link(LinkAddress),
    /// The space of a cluster, `quintet://NAME` or `quintet:///PATH`: the name or, with a slash in it, the path of the cluster's folder on this
    /// machine, as the setting `cluster.identity` has it. A path that is no folder is that of the socket of a space in shared memory. With `/SPACE` behind
    /// it, the named space of the cluster: one that members keep on their disks, or one beside the cluster's own.
    Cluster(String),
    /// A space that these servers keep together, `quintet://HOST:PORT,HOST:PORT,HOST:PORT`, in the order of their numbers: whichever of them leads.
    Replicas(Vec<LinkAddress>),
}

impl From<LinkAddress> for SpaceAddress {
    fn from(address: LinkAddress) -> Self {
        SpaceAddress::Link(address)
    }
}

impl From<&LinkAddress> for SpaceAddress {
    fn from(address: &LinkAddress) -> Self {
        SpaceAddress::Link(address.clone())
    }
}

impl From<&Path> for SpaceAddress {
    /// A path alone means shared memory, whatever it begins with.
    fn from(path: &Path) -> Self {
        SpaceAddress::Link(path.into())
    }
}

impl From<&PathBuf> for SpaceAddress {
    fn from(path: &PathBuf) -> Self {
        path.as_path().into()
    }
}

impl From<&SpaceAddress> for SpaceAddress {
    fn from(address: &SpaceAddress) -> Self {
        address.clone()
    }
}

impl fmt::Display for SpaceAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SpaceAddress::Link(address) => address.fmt(f),
            SpaceAddress::Cluster(name) => write!(f, "{SCHEME}{name}"),
            SpaceAddress::Replicas(replicas) => {
                let replicas: Vec<String> = replicas.iter().map(LinkAddress::to_string).collect();
                write!(f, "{SCHEME}{}", replicas.join(","))
            }
        }
    }
}

impl FromStr for SpaceAddress {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let bad = |what: String| Error::new(Code::BadValue, what);
        let Some(name) = text.strip_prefix(SCHEME) else {
            let link = text.parse().map_err(|error: AddressError| {
                bad(format!("{error}; the space of a cluster is quintet://NAME"))
            });
            return link.map(SpaceAddress::Link);
        };
        if name.contains(',') && !name.starts_with('/') {
            return replicas(name).map(SpaceAddress::Replicas);
        }
        let is_of_space = name
            .split_once('/')
            .is_some_and(|(cluster, space)| cluster.is_empty() || space.parse::<SpaceName>().is_ok());
        if name.is_empty() || name.contains('\0') || (name.contains('/') && !is_of_space) {
            let what = "name a cluster, quintet://lab for example, or a space of it, quintet://lab/orders, or write the path of its folder, or of a socket of this machine";
            return Err(bad(format!("the address {text:?}: {what}, quintet:///path")));
        }
        Ok(SpaceAddress::Cluster(name.to_owned()))
    }
}

/// Addresses with commas between. One without a kind is of TCP.
///
/// # Errors
/// `BadValue`: one of them is none.
pub(crate) fn replicas(text: &str) -> Result<Vec<LinkAddress>, Error> {
    text.split(',').map(replica).collect()
}

/// Where one serves.
pub(crate) fn replica(place: &str) -> Result<LinkAddress, Error> {
    let has_kind = ["tcp:", "tls:", "unix:", "shm:"].iter().any(|kind| place.starts_with(kind));
    let address = if has_kind { place.to_owned() } else { format!("tcp:{place}") };
    let refused = |error: AddressError| Error::new(Code::BadValue, format!("the replica {place:?}: {error}"));
    address.parse().map_err(refused)
}

impl SpaceAddress {
    /// The space of the cluster to which this machine belongs, as this user's agent says that runs here; none if there is no such agent, or
    /// agents of several clusters.
    #[must_use]
    pub fn of_running_agent(environment: &dyn Fn(&str) -> Option<OsString>) -> Option<SpaceAddress> {
        // Beside a cluster of any name lie the others.
        let any = quintet_identity::place("any", environment).ok()?;
        let folders = std::fs::read_dir(any.parent()?).ok()?.flatten().map(|entry| entry.path());
        let mut running = folders.filter(|folder| UnixStream::connect(agent_socket(folder)).is_ok());
        let (only, None) = (running.next()?, running.next()) else { return None };
        only.is_absolute().then(|| only.to_str().map(|path| SpaceAddress::Cluster(path.to_owned()))).flatten()
    }

    /// The same. At its links that want it this process proves to be who the setting `cluster.identity` says, as by [`identified`].
    ///
    /// # Errors
    /// As of [`identity`](crate::identity()).
    pub fn identified(
        self,
        setting: &str,
        environment: &dyn Fn(&str) -> Option<OsString>,
    ) -> Result<SpaceAddress, Error> {
        let identify = |address| identified(address, setting, environment);
        Ok(match self {
            SpaceAddress::Link(address) => identify(address)?.into(),
            SpaceAddress::Replicas(replicas) => {
                SpaceAddress::Replicas(replicas.into_iter().map(identify).collect::<Result<_, _>>()?)
            }
            of_cluster @ SpaceAddress::Cluster(_) => of_cluster,
        })
    }

    /// The cluster, and the name of the space of it that is meant; none, if it is the cluster's own. None for what names no cluster.
    #[must_use]
    pub fn of_cluster(&self) -> Option<(SpaceAddress, Option<SpaceName>)> {
        let SpaceAddress::Cluster(name) = self else { return None };
        let (cluster, space) = split(name);
        Some((SpaceAddress::Cluster(cluster.to_owned()), space))
    }

    /// Where that is. What a cluster's machines are is read from its folder, where this machine's agent keeps it: nobody is asked.
    ///
    /// # Errors
    /// `BadValue`: this machine belongs to no such cluster. `BadFile`, `NotAllowed`: its files cannot be used. `Unreachable`: nothing is at that path.
    pub(crate) fn locate(&self, environment: &dyn Fn(&str) -> Option<OsString>) -> Result<Located, Error> {
        match self {
            SpaceAddress::Replicas(_) => unreachable!("each replica is connected to by its link"),
            SpaceAddress::Link(address) => Ok(Located::at(address.clone())),
            SpaceAddress::Cluster(name) => {
                let (name, space) = split(name);
                let folder = quintet_identity::place(name, environment).map_err(refused)?;
                match (folder.metadata(), space) {
                    (Ok(found), None) if found.is_dir() => of_cluster(name, folder),
                    (Ok(found), Some(space)) if found.is_dir() => of_space(name, folder, space),
                    (Err(_), _) if !name.contains('/') => Err(no_cluster(name, &folder)),
                    (Ok(_), None) => Ok(Located::at((&folder).into())),
                    _ => Err(nothing_at(&folder)),
                }
            }
        }
    }
}

/// Where the agent of a cluster listens to this user's commands.
fn agent_socket(folder: &Path) -> PathBuf {
    folder.join("agent.socket")
}

/// The cluster's name or path, and that of the space. Whether a path is that of a cluster's folder, or of a space behind it, its folder says.
fn split(name: &str) -> (&str, Option<SpaceName>) {
    let Some((cluster, space)) = name.rsplit_once('/') else { return (name, None) };
    let is_of_space = !name.starts_with('/')
        || (!Path::new(name).exists() && Path::new(cluster).join(AgentFile::NAME).is_file());
    match space.parse() {
        Ok(space) if is_of_space => (cluster, Some(space)),
        _ => (name, None),
    }
}

fn no_cluster(name: &str, folder: &Path) -> Error {
    let folder = folder.display();
    let text = format!(
        "this machine belongs to no cluster named {name} ({folder} is not there): make one with quintet init {name}, or join one with quintet join; \
         a socket of this machine is quintet:///path/to/socket"
    );
    Error::new(Code::BadValue, text)
}

fn nothing_at(path: &Path) -> Error {
    let path = path.display();
    Error::new(
        Code::Unreachable,
        format!("{path}: neither a cluster's folder nor the socket of a space is there; check the path"),
    )
}

fn refused(error: IdentityError) -> Error {
    Error::new(error.code(), error.to_string())
}

#[cfg(test)]
mod tests;

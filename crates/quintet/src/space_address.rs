//! Where a space is: a link's address, the cluster whose machines know it, or the servers that keep it together.

use crate::Error;
use core::fmt;
use core::str::FromStr;
use quintet_contract::Identity;
use quintet_errors::Code;
use quintet_identity::{AgentFile, AgentPeer, IdentityError, space_port, space_socket};
use quintet_link::{AddressError, Credentials, LinkAddress};
use std::ffi::OsString;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;

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
    /// machine, as the setting `cluster.identity` has it. A path that is no folder is that of the socket of a space in shared memory.
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
        if name.is_empty() || name.contains('\0') || (name.contains('/') && !name.starts_with('/')) {
            let what = "name a cluster, quintet://lab for example, or write the path of its folder, or of a socket of this machine";
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
    let one = |place: &str| {
        let has_kind = ["tcp:", "tls:", "unix:", "shm:"].iter().any(|kind| place.starts_with(kind));
        let address = if has_kind { place.to_owned() } else { format!("tcp:{place}") };
        let refused =
            |error: AddressError| Error::new(Code::BadValue, format!("the replica {place:?}: {error}"));
        address.parse().map_err(refused)
    };
    text.split(',').map(one).collect()
}

/// Where to connect to, and as a member of which cluster.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Located {
    pub(crate) address: LinkAddress,
    /// The cluster's number, where it follows from the address; else whoever connects knows it.
    pub(crate) cluster: Option<u128>,
    /// The cluster's folder, and the number of the machine that serves its space, if it is a cluster's.
    of: Option<(PathBuf, u16)>,
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

    /// Where that is. What a cluster's machines are is read from its folder, where this machine's agent keeps it: nobody is asked.
    ///
    /// # Errors
    /// `BadValue`: this machine belongs to no such cluster. `BadFile`, `NotAllowed`: its files cannot be used. `Unreachable`: nothing is at that path.
    pub(crate) fn locate(&self, environment: &dyn Fn(&str) -> Option<OsString>) -> Result<Located, Error> {
        match self {
            SpaceAddress::Replicas(_) => unreachable!("each replica is connected to by its link"),
            SpaceAddress::Link(address) => Ok(Located { address: address.clone(), cluster: None, of: None }),
            SpaceAddress::Cluster(name) => {
                let folder = quintet_identity::place(name, environment).map_err(refused)?;
                match folder.metadata() {
                    Ok(found) if found.is_dir() => of_cluster(name, folder),
                    Err(_) if !name.contains('/') => Err(no_cluster(name, &folder)),
                    Err(_) => Err(nothing_at(&folder)),
                    Ok(_) => Ok(Located { address: (&folder).into(), cluster: None, of: None }),
                }
            }
        }
    }
}

/// Where the agent of a cluster listens to this user's commands.
fn agent_socket(folder: &Path) -> PathBuf {
    folder.join("agent.socket")
}

fn of_cluster(name: &str, folder: PathBuf) -> Result<Located, Error> {
    let Some(file) = AgentFile::read(&folder).map_err(refused)? else {
        let folder = folder.display();
        let text = format!(
            "{folder}: this machine is no member of the cluster {name}, or is one no more: join it with quintet join"
        );
        return Err(Error::new(Code::BadValue, text));
    };
    let identity = quintet_identity::read(&folder).map_err(refused)?;
    let credentials = Credentials::from_pem(&identity)
        .map_err(|error| Error::new(Code::BadFile, format!("{}: {error}", folder.display())))?;
    let cluster = Some(credentials.cluster_number());
    let Some(server) = file.space_server() else {
        let address = LinkAddress::SharedMemory(space_socket(&folder));
        return Ok(Located { address, cluster, of: Some((folder, file.node)) });
    };
    let address = after_agent(&server.address).map_err(|why| {
        let AgentPeer { node, address, .. } = server;
        let text = format!("node {node} of {name} serves its space, and its agent is at {address:?}: {why}");
        Error::new(Code::Unreachable, text)
    })?;
    // Another member that has come to that address is not whom this machine looks for.
    let expected = Identity(server.identity);
    let credentials = credentials
        .admitting(Arc::new(move |proof| proof.is_of_cluster && proof.identity == expected))
        .map_err(|error| Error::new(Code::BadFile, format!("{}: {error}", folder.display())))?;
    let address = address.identified(Some(&credentials));
    Ok(Located { address, cluster, of: Some((folder, server.node)) })
}

/// Where the space of a cluster is, whose agent is there.
fn after_agent(place: &str) -> Result<LinkAddress, String> {
    let agent = format!("tls:{place}").parse().map_err(|error: AddressError| error.to_string())?;
    let LinkAddress::Tls { host, port, credentials } = agent else {
        return Err("that is no place of an agent".to_owned());
    };
    let port = space_port(port).ok_or("no port is after that")?;
    Ok(LinkAddress::Tls { host, port, credentials })
}

impl Located {
    /// An error of connecting there, and what to do where it is a cluster's space.
    pub(crate) fn explained(&self, error: Error) -> Error {
        let Some((folder, node)) = &self.of else { return error };
        let text = error.text();
        let here = !matches!(self.address, LinkAddress::Tls { .. });
        let agent_runs = UnixStream::connect(agent_socket(folder)).is_ok();
        let advice = match (error.code(), here, agent_runs) {
            (Code::Unreachable, true, false) => {
                "this machine serves the cluster's space, and its agent does not run: start it with quintet up"
                    .to_owned()
            }
            (Code::Unreachable, true, true) => format!(
                "this machine's agent runs, and could not begin to serve the cluster's space: {} says why",
                folder.join("agent.log").display()
            ),
            (Code::Unreachable | Code::PeerSilent | Code::PeerDied, false, false) => format!(
                "the cluster's space is served by the agent of node {node}; this machine's agent does not run, so this may be old: quintet up"
            ),
            (Code::Unreachable | Code::PeerSilent | Code::PeerDied, false, true) => format!(
                "the cluster's space is served by the agent of node {node}: see with quintet status whether that machine is up, and start its agent with quintet up; \
                 if it does not come back, quintet leave MACHINE has the next one serve"
            ),
            (Code::NotAllowed | Code::BadFile, false, _) => {
                "this machine may have been removed from the cluster: it joins anew with quintet join".to_owned()
            }
            _ => return error,
        };
        Error::new(error.cause().clone(), format!("{text}; {advice}"))
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
mod tests {
    use super::*;
    use quintet_testbed::TempDir;
    use std::os::unix::net::UnixListener;

    /// A user's configuration with a cluster `lab`, and what its agent has written.
    fn home(agent: &str) -> TempDir {
        let home = TempDir::new().expect("a temporary directory");
        let lab = home.join("quintet/lab");
        quintet_identity::create(&lab, "a").expect("it is made");
        std::fs::write(lab.join("agent.toml"), agent).expect("the folder is there");
        home
    }

    fn locate(home: &TempDir, text: &str) -> Result<Located, Error> {
        let environment = |name: &str| (name == "XDG_CONFIG_HOME").then(|| home.path().into());
        text.parse::<SpaceAddress>().expect("it is an address").locate(&environment)
    }

    fn peer(node: u16, address: &str) -> String {
        let identity = "5f".repeat(32);
        format!("[[peer]]\nnode = {node}\nidentity = \"{identity}\"\naddress = \"{address}\"\n")
    }

    #[test]
    fn the_only_agent_that_runs_names_the_cluster() {
        let home = home("node = 1\n");
        let found = || {
            SpaceAddress::of_running_agent(&|name| (name == "XDG_CONFIG_HOME").then(|| home.path().into()))
        };
        assert_eq!(found(), None, "none runs");
        let lab = home.join("quintet/lab");
        let agent = UnixListener::bind(agent_socket(&lab)).expect("the folder is there");
        let expected = SpaceAddress::Cluster(lab.to_str().expect("it is text").to_owned());
        assert_eq!(found(), Some(expected));
        let other = home.join("quintet/other");
        std::fs::create_dir(&other).expect("the folder is there");
        let _other = UnixListener::bind(agent_socket(&other)).expect("the folder is there");
        assert_eq!(found(), None, "there are two");
        drop(agent);
        assert_eq!(SpaceAddress::of_running_agent(&|_| None), None, "without a home there are no clusters");
    }

    #[test]
    fn the_machine_with_the_lowest_number_serves() {
        let home = home("node = 2\n");
        let own = locate(&home, "quintet://lab").expect("it is alone");
        let socket = home.join("quintet/lab/space.socket");
        assert_eq!(own.address, LinkAddress::SharedMemory(socket));
        let others = format!("node = 2\n{}{}", peer(7, "d:1"), peer(1, "[::1]:7400"));
        std::fs::write(home.join("quintet/lab/agent.toml"), others).expect("the folder is there");
        for address in
            ["quintet://lab".to_owned(), format!("quintet://{}/quintet/lab", home.path().display())]
        {
            let other = locate(&home, &address).expect("another machine serves");
            assert_eq!(other.address.to_string(), "tls:[::1]:7401");
            assert!(!other.address.wants_identity(), "it proves who it is");
            assert_eq!(other.cluster, own.cluster);
            assert!(own.cluster.is_some());
        }
    }

    #[test]
    fn what_is_no_cluster_is_refused_with_what_to_do() {
        let home = home("node = 1\n");
        let lab = home.join("quintet/lab");
        let write = |text: &str| std::fs::write(lab.join("agent.toml"), text).expect("the folder is there");
        let refusal = |address: &str| locate(&home, address).expect_err(address);
        let error = refusal("quintet://other");
        assert!(error.code() == Code::BadValue && error.text().contains("quintet join"), "{error}");
        let error = refusal("quintet:///no/such/place");
        assert!(error.code() == Code::Unreachable && error.text().contains("/no/such/place"), "{error}");
        for (place, words) in [("a:65535", "no port is after"), ("", "node 0"), ("x", "node 0")] {
            write(&format!("node = 1\n{}", peer(0, place)));
            let error = refusal("quintet://lab");
            assert!(error.code() == Code::Unreachable && error.text().contains(words), "{error}");
        }
        write("node = \"x\"");
        assert_eq!(refusal("quintet://lab").code(), Code::BadFile);
        std::fs::remove_file(lab.join("agent.toml")).expect("it is there");
        let error = refusal("quintet://lab");
        assert!(error.code() == Code::BadValue && error.text().contains("no member"), "{error}");
    }

    #[test]
    fn a_path_that_is_no_folder_is_a_socket_of_this_machine() {
        let home = home("node = 0");
        std::fs::write(home.join("space"), "").expect("the folder is there");
        let address = format!("quintet://{}", home.join("space").display());
        let located = locate(&home, &address).expect("something is there");
        assert_eq!((located.address, located.cluster), ((&home.join("space")).into(), None));
    }

    #[test]
    fn texts_are_addresses_or_refused_with_what_to_write() {
        for text in ["quintet://lab", "quintet:///path/of/lab", "tls:a:7400", "shm:q"] {
            assert_eq!(text.parse::<SpaceAddress>().expect(text).to_string(), text);
        }
        for (text, words) in [
            ("quintet://", "quintet:///path"),
            ("quintet://lab/x", "quintet:///path"),
            ("quintet:lab", "quintet://NAME"),
            ("", "quintet://NAME"),
            ("pigeon:7", "shm:PATH"),
        ] {
            let error = text.parse::<SpaceAddress>().expect_err(text);
            assert!(error.code() == Code::BadValue && error.text().contains(words), "{error}");
        }
    }
}

//! Where a space of a cluster is, as this machine's agent has written it, and what is told of it where it cannot be reached.

use super::{agent_socket, refused};
use crate::Error;
use core::fmt;
use quintet_contract::Identity;
use quintet_errors::Code;
use quintet_identity::{
    AgentFile, AgentPeer, AgentSpace, kept_space_cluster, kept_space_port, space_port, space_socket,
};
use quintet_link::{AddressError, Credentials, LinkAddress};
use quintet_tuple_space::SpaceName;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where to connect to, and as a member of which cluster.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Located {
    pub(crate) address: LinkAddress,
    /// All servers of the space, where several keep it together.
    pub(crate) replicas: Vec<LinkAddress>,
    /// The cluster's number, where it follows from the address; else whoever connects knows it.
    pub(crate) cluster: Option<u128>,
    /// The space there that is meant, where it is one with a name.
    pub(crate) space: Option<SpaceName>,
    /// What is known of it, if it is a cluster's.
    of: Known,
}

/// What is known of a place before it is connected to.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Known {
    Nothing,
    /// The cluster's folder, and the number of the machine that serves its space.
    Served(PathBuf, u16),
    /// The cluster's folder, a space of it, and the numbers of the machines that keep that.
    Kept(PathBuf, AgentSpace),
}

/// What this machine is in the cluster, as its agent has written it, and how it proves that.
fn member(name: &str, folder: &Path) -> Result<(AgentFile, Credentials), Error> {
    let Some(file) = AgentFile::read(folder).map_err(refused)? else {
        let folder = folder.display();
        let text = format!(
            "{folder}: this machine is no member of the cluster {name}, or is one no more: join it with quintet join"
        );
        return Err(Error::new(Code::BadValue, text));
    };
    let identity = quintet_identity::read(folder).map_err(refused)?;
    let credentials = Credentials::from_pem(&identity).map_err(|error| unusable(folder, &error))?;
    Ok((file, credentials))
}

fn unusable(folder: &Path, error: &impl fmt::Display) -> Error {
    Error::new(Code::BadFile, format!("{}: {error}", folder.display()))
}

/// The space of that name: one that members keep on their disks, or one beside the cluster's own.
pub(super) fn of_space(name: &str, folder: PathBuf, space: SpaceName) -> Result<Located, Error> {
    let (file, credentials) = member(name, &folder)?;
    let Some(kept) = file.spaces.iter().find(|kept| kept.name == space.as_str()) else {
        return Ok(Located { space: Some(space), ..of_cluster(name, folder)? });
    };
    let replica = |node: &u16| {
        let peer = file.peers.iter().find(|peer| peer.node == *node);
        let (agent, identity) = match peer {
            Some(peer) => (peer.address.as_str(), Identity(peer.identity)),
            None if *node == file.node => {
                (file.address.as_deref().unwrap_or_default(), credentials.identity())
            }
            None => ("", Identity([0; 32])),
        };
        let address = behind_agent(agent, |port| kept_space_port(port, kept.slot)).map_err(|why| {
            let text = format!(
                "node {node} keeps the space {space} of {name}, and its agent is at {agent:?}: {why}"
            );
            Error::new(Code::Unreachable, text)
        })?;
        proving(address, &credentials, identity, &folder)
    };
    let mut replicas = kept.replicas.iter().map(replica).collect::<Result<Vec<_>, _>>()?;
    let cluster = Some(kept_space_cluster(credentials.cluster_number(), kept.number));
    let Some(address) = replicas.first().cloned() else {
        return Err(unusable(&folder, &format!("nobody keeps the space {space}")));
    };
    if replicas.len() == 1 {
        replicas.clear();
    }
    let of = Known::Kept(folder, kept.clone());
    Ok(Located { address, replicas, cluster, space: None, of })
}

pub(super) fn of_cluster(name: &str, folder: PathBuf) -> Result<Located, Error> {
    let (file, credentials) = member(name, &folder)?;
    let cluster = Some(credentials.cluster_number());
    let located = |address, of| Located { address, replicas: Vec::new(), cluster, space: None, of };
    let Some(server) = file.space_server() else {
        let address = LinkAddress::SharedMemory(space_socket(&folder));
        return Ok(located(address, Known::Served(folder, file.node)));
    };
    let address = behind_agent(&server.address, space_port).map_err(|why| {
        let AgentPeer { node, address, .. } = server;
        let text = format!("node {node} of {name} serves its space, and its agent is at {address:?}: {why}");
        Error::new(Code::Unreachable, text)
    })?;
    let address = proving(address, &credentials, Identity(server.identity), &folder)?;
    Ok(located(address, Known::Served(folder, server.node)))
}

/// The address, where whoever answers has to prove that identity: another member that has come there is not whom this machine looks for.
fn proving(
    address: LinkAddress,
    credentials: &Credentials,
    expected: Identity,
    folder: &Path,
) -> Result<LinkAddress, Error> {
    let expecting = credentials
        .admitting(Arc::new(move |proof| proof.is_of_cluster && proof.identity == expected))
        .map_err(|error| unusable(folder, &error))?;
    Ok(address.identified(Some(&expecting)))
}

/// Where a space of a cluster is, whose agent is there: at the port that follows from the agent's.
fn behind_agent(place: &str, port_of: impl Fn(u16) -> Option<u16>) -> Result<LinkAddress, String> {
    let agent = format!("tls:{place}").parse().map_err(|error: AddressError| error.to_string())?;
    let LinkAddress::Tls { host, port, credentials } = agent else {
        return Err("that is no place of an agent".to_owned());
    };
    let port = port_of(port).ok_or("no port is after that")?;
    Ok(LinkAddress::Tls { host, port, credentials })
}

impl Located {
    pub(super) fn at(address: LinkAddress) -> Located {
        Located { address, replicas: Vec::new(), cluster: None, space: None, of: Known::Nothing }
    }

    /// The folder of the cluster whose own space it is, or one with a name beside that.
    pub(crate) fn cluster_folder(&self) -> Option<&Path> {
        match &self.of {
            Known::Served(folder, _) => Some(folder),
            Known::Nothing | Known::Kept(..) => None,
        }
    }

    /// Whether it is the space that a cluster's agent serves, which ends with that.
    pub(crate) fn ends_with_its_agent(&self) -> bool {
        matches!(self.of, Known::Served(..))
    }

    /// An error of connecting there, and what to do where it is a cluster's space.
    pub(crate) fn explained(&self, error: Error) -> Error {
        let (folder, node) = match &self.of {
            Known::Nothing => return error,
            Known::Served(folder, node) => (folder, node),
            Known::Kept(folder, kept) => return explained_of_kept(error, folder, kept),
        };
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

/// The same of a space that members keep.
fn explained_of_kept(error: Error, folder: &Path, kept: &AgentSpace) -> Error {
    let AgentSpace { name, replicas, .. } = kept;
    if !matches!(error.code(), Code::Unreachable | Code::PeerSilent | Code::PeerDied | Code::WrongCluster) {
        return error;
    }
    let nodes: Vec<String> = replicas.iter().map(u16::to_string).collect();
    let who = match &nodes[..] {
        [node] => format!("the space {name} is kept by the machine of node {node}"),
        nodes => format!(
            "the space {name} is kept by the machines of nodes {}, of which a majority is needed",
            nodes.join(", ")
        ),
    };
    let advice = match UnixStream::connect(agent_socket(folder)) {
        Ok(_) => {
            "see with quintet status which of them are up, and in their agent.log why they do not serve it"
        }
        Err(_) => "this machine's agent does not run, so this may be old: quintet up",
    };
    Error::new(error.cause().clone(), format!("{}; {who}: {advice}", error.text()))
}

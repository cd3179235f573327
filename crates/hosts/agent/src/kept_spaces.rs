//! The spaces that this machine keeps on its disk, by itself or with others: which these are, the view says.
//!
//! Each has a log in a folder of its own below `spaces`, named after it and the number of the view that it came with, and is served by threads of its
//! own at a port of its own. What the view has no more is removed from the disk, once a majority has said that this is the latest view.

use crate::admission::Admission;
use crate::notice::Notice;
use crate::space::{ClusterSpace, KeptPlan, SpacePlaces, StartSpace};
use crate::{AgentError, Record, Told, address};
use quintet_contract::NodeId;
use quintet_identity::{kept_space_cluster, kept_space_port};
use quintet_link::{Credentials, LinkAddress};
use quintet_membership::{KeptSpace, View};
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The spaces that this machine keeps. Dropped, they are not served any more; their logs stay.
pub(crate) struct KeptSpaces {
    start: StartSpace,
    /// Where this machine's agent listens.
    agent: LinkAddress,
    folder: PathBuf,
    credentials: Credentials,
    admission: Admission,
    told: Told,
    /// By their numbers.
    running: BTreeMap<u64, Running>,
}

/// A space that is kept here.
struct Running {
    /// Where its replicas are reached: a server knows no others.
    addresses: Vec<String>,
    space: ClusterSpace,
}

impl KeptSpaces {
    pub(crate) fn new(
        start: StartSpace,
        agent: LinkAddress,
        folder: &Path,
        credentials: &Credentials,
        admission: &Admission,
        told: Told,
    ) -> KeptSpaces {
        let (folder, credentials, admission) = (folder.to_owned(), credentials.clone(), admission.clone());
        KeptSpaces { start, agent, folder, credentials, admission, told, running: BTreeMap::new() }
    }

    /// Keeps those that the view says. What it has no more is removed from the disk if the view is known to be the latest.
    pub(crate) fn follow(&mut self, own: NodeId, view: &View, is_latest: bool) {
        let kept = view.spaces.iter().filter(|(_, space)| space.replicas.contains(&own));
        let wanted: BTreeMap<u64, (&str, &KeptSpace)> =
            kept.map(|(name, space)| (space.number, (name.as_str(), space))).collect();
        self.running.retain(|number, running| {
            wanted.get(number).is_some_and(|(_, space)| addresses(view, space) == running.addresses)
        });
        for (number, (name, space)) in &wanted {
            if !self.running.contains_key(number) {
                match self.run(own, view, name, space) {
                    Ok(running) => drop(self.running.insert(*number, running)),
                    Err(error) => {
                        let (name, text) = ((*name).to_owned(), error.to_string());
                        (self.told)(&Notice::SpaceNotKept { name, text });
                    }
                }
            }
        }
        // Also where it is served already: who is a member may have changed.
        self.running.values().for_each(|running| running.space.begin());
        if is_latest {
            let folders = wanted.values().map(|(name, space)| folder_name(name, space.number));
            self.remove_others(&folders.collect::<Vec<_>>());
        }
    }

    fn run(&self, own: NodeId, view: &View, name: &str, space: &KeptSpace) -> Result<Running, AgentError> {
        let at = space.replicas.iter().position(|node| *node == own).expect("it is one of them");
        let replicas = space.replicas.iter().filter_map(|node| view.members.get(node)).map(|member| {
            let of_agent =
                address::of_member(&member.address, member.identity, &self.credentials, &self.folder)?;
            behind(&of_agent, space.slot).map_err(AgentError::BadValue)
        });
        let kept = KeptPlan {
            name: name.to_owned(),
            folder: Record::spaces(&self.folder).join(folder_name(name, space.number)),
            replica: u8::try_from(at + 1).expect("there are five at most"),
            replicas: replicas.collect::<Result<_, _>>()?,
            max_bytes: space.max_bytes,
            max_tuples: space.max_tuples,
            leads: self.leads(view, name, space),
        };
        let rule = self.admission.clone();
        let members = self
            .credentials
            .admitting(Arc::new(move |proof| rule.is_member(proof)))
            .map_err(|error| AgentError::Credentials(self.folder.clone(), error))?;
        let place = behind(&self.agent, space.slot).map(|place| place.identified(Some(&members)));
        let places = SpacePlaces {
            places: place.map(|place| vec![place]),
            cluster: kept_space_cluster(self.credentials.cluster_number(), space.number),
            admission: self.admission.clone(),
            kept: Some(kept),
        };
        let space_of = ClusterSpace::new(Arc::clone(&self.start), places, Arc::clone(&self.told))
            .map_err(|error| AgentError::System { doing: format!("keep the space {name}"), error })?;
        Ok(Running { addresses: addresses(view, space), space: space_of })
    }

    /// Tells which machine leads a space that several keep.
    fn leads(&self, view: &View, name: &str, space: &KeptSpace) -> Arc<dyn Fn(Option<u8>) + Send + Sync> {
        let members = space.replicas.iter().filter_map(|node| view.members.get(node));
        let machines: Vec<String> = members.map(|member| member.name.clone()).collect();
        let (told, name) = (Arc::clone(&self.told), name.to_owned());
        Arc::new(move |leader| {
            let machine =
                leader.and_then(|replica| machines.get(usize::from(replica).checked_sub(1)?)).cloned();
            told(&Notice::SpaceLeader { name: name.clone(), machine });
        })
    }

    /// Removes the logs of all other spaces than those in these folders.
    fn remove_others(&self, kept: &[String]) {
        let spaces = Record::spaces(&self.folder);
        let trouble = |path: &Path, error: std::io::Error| {
            let text = AgentError::system("remove", path, error).to_string();
            (self.told)(&Notice::Trouble { text });
        };
        let found = match std::fs::read_dir(&spaces) {
            Ok(found) => found,
            Err(error) if error.kind() == ErrorKind::NotFound => return,
            Err(error) => return trouble(&spaces, error),
        };
        for entry in found {
            let path = match entry {
                Ok(entry) => entry.path(),
                Err(error) => return trouble(&spaces, error),
            };
            let is_kept = path.file_name().is_some_and(|name| kept.iter().any(|kept| **kept == *name));
            if is_kept {
                continue;
            }
            match std::fs::remove_dir_all(&path) {
                Ok(()) => (self.told)(&Notice::SpaceRemoved { folder: path.display().to_string() }),
                Err(error) => trouble(&path, error),
            }
        }
    }
}

/// No two spaces ever have the same.
fn folder_name(name: &str, number: u64) -> String {
    format!("{name}-{number}")
}

/// Where the agents are reached whose machines keep it.
fn addresses(view: &View, space: &KeptSpace) -> Vec<String> {
    let members = space.replicas.iter().filter_map(|node| view.members.get(node));
    members.map(|member| member.address.clone()).collect()
}

/// Where the space with that slot is served, whose agent is there.
fn behind(agent: &LinkAddress, slot: u16) -> Result<LinkAddress, String> {
    let LinkAddress::Tls { host, port, credentials } = agent else {
        return Err(format!("{agent} is no place of an agent"));
    };
    let port = kept_space_port(*port, slot).ok_or_else(|| {
        format!("no port is left {} after that of the agent at {agent}: give it a lower one, quintet up --listen HOST:PORT", slot + 2)
    })?;
    Ok(LinkAddress::Tls { host: host.clone(), port, credentials: credentials.clone() })
}

//! The spaces that this machine keeps on its disk, by itself or with others: which these are, the view says.
//!
//! Each has a log in a folder of its own below `spaces`, named after it and the number of the view that it came with (and of the view since which this machine
//! keeps it in another's place), and is served by threads of its own at a port of its own. What the view has no more is removed from the disk, once a majority has said that this is the latest view.

use crate::admission::Admission;
use crate::callers::Inbox;
use crate::notice::Notice;
use crate::space::{ClusterSpace, KeptPlan, SpacePlaces, StartSpace};
use crate::{AgentError, Record, Told, address};
use quintet_contract::NodeId;
use quintet_identity::{kept_space_cluster, kept_space_port};
use quintet_link::{Credentials, LinkAddress};
use quintet_membership::{KeptSpace, Member, View};
use quintet_tuple_space::SpaceRights;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::Sender;

/// The spaces that this machine keeps. Dropped, they are not served any more; their logs stay.
pub(crate) struct KeptSpaces {
    start: StartSpace,
    /// Where this machine's agent listens.
    agent: LinkAddress,
    folder: PathBuf,
    credentials: Credentials,
    admission: Admission,
    told: Told,
    /// To the agent's own thread.
    inbox: Sender<Inbox>,
    /// By their numbers.
    running: BTreeMap<u64, Running>,
}

/// A space that is kept here.
struct Running {
    /// As the view has it, and where its replicas are reached: a server knows no others.
    kept: KeptSpace,
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
        inbox: Sender<Inbox>,
    ) -> KeptSpaces {
        let (folder, credentials, admission) = (folder.to_owned(), credentials.clone(), admission.clone());
        KeptSpaces { start, agent, folder, credentials, admission, told, inbox, running: BTreeMap::new() }
    }

    /// Keeps those that the view says. What it has no more is removed from the disk if the view is known to be the latest.
    pub(crate) fn follow(&mut self, own: NodeId, view: &View, is_latest: bool) {
        let kept = view.spaces.iter().filter(|(_, space)| space.replicas.contains(&own));
        let wanted: BTreeMap<u64, (&str, &KeptSpace)> =
            kept.map(|(name, space)| (space.number, (name.as_str(), space))).collect();
        self.running.retain(|number, running| {
            wanted.get(number).is_some_and(|(_, space)| running.is_of(view, space))
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
        for (number, running) in &self.running {
            let space = wanted.get(number).map(|(_, space)| *space);
            running.space.begin(space.and_then(|space| rights(view, space)));
        }
        if is_latest {
            let folders = wanted.values().map(|(name, space)| folder_name(name, space, own));
            self.remove_others(&folders.collect::<Vec<_>>());
        }
    }

    fn run(&self, own: NodeId, view: &View, name: &str, space: &KeptSpace) -> Result<Running, AgentError> {
        let place = space.place(own).expect("it is one of them");
        let replicas = members(view, space).map(|member| {
            let of_agent =
                address::of_member(&member.address, member.identity, &self.credentials, &self.folder)?;
            behind(&of_agent, space.slot).map_err(AgentError::BadValue)
        });
        let kept = KeptPlan {
            name: name.to_owned(),
            folder: Record::spaces(&self.folder).join(folder_name(name, space, own)),
            replica: place + 1,
            replicas: replicas.collect::<Result<_, _>>()?,
            identities: members(view, space).map(|member| member.identity).collect(),
            max_bytes: space.max_bytes,
            max_tuples: space.max_tuples,
            allow: rights(view, space),
            leads: self.leads(view, name, space),
            votes: self.votes(space.since(place)),
            log_told: self.log_told(name),
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
        Ok(Running { kept: space.clone(), addresses: addresses(view, space), space: space_of })
    }

    /// Tells which machine leads a space that several keep.
    fn leads(&self, view: &View, name: &str, space: &KeptSpace) -> Arc<dyn Fn(Option<u8>) + Send + Sync> {
        let machines: Vec<String> = members(view, space).map(|member| member.name.clone()).collect();
        let (told, name) = (Arc::clone(&self.told), name.to_owned());
        Arc::new(move |leader| {
            let machine =
                leader.and_then(|replica| machines.get(usize::from(replica).checked_sub(1)?)).cloned();
            told(&Notice::SpaceLeader { name: name.clone(), machine });
        })
    }

    /// Has the agent's own thread know that this machine's replica has the log.
    fn votes(&self, since: u64) -> Arc<dyn Fn() + Send + Sync> {
        let inbox = self.inbox.clone();
        // It fails only when the agent ends, and the next one hears it anew.
        Arc::new(move || drop(inbox.send(Inbox::Votes(since))))
    }

    /// Tells how far the log of a space is read.
    fn log_told(&self, name: &str) -> Arc<dyn Fn(String) + Send + Sync> {
        let (told, name) = (Arc::clone(&self.told), name.to_owned());
        Arc::new(move |text| told(&Notice::SpaceLog { name: name.clone(), text }))
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

impl Running {
    /// Whether that is served as the view has it.
    fn is_of(&self, view: &View, space: &KeptSpace) -> bool {
        // Who has said meanwhile that it is ready changes nothing here.
        let since = |space: &KeptSpace| space.replaced.values().map(|replaced| replaced.since).max();
        (&self.kept.replicas, since(&self.kept)) == (&space.replicas, since(space))
            && self.addresses == addresses(view, space)
    }
}

/// No two spaces ever have the same, and no machine that comes back to one: a log of before is no replica's any more.
fn folder_name(name: &str, space: &KeptSpace, own: NodeId) -> String {
    let since = space.place(own).map_or(space.number, |place| space.since(place));
    match since == space.number {
        true => format!("{name}-{since}"),
        false => format!("{name}-{}.{since}", space.number),
    }
}

/// Who may use it, where it is for some only: all of its clients prove who they are.
fn rights(view: &View, space: &KeptSpace) -> Option<SpaceRights> {
    space.allowed(view).map(|identities| SpaceRights { own_machine: false, identities })
}

/// The members that keep it.
fn members<'a>(view: &'a View, space: &'a KeptSpace) -> impl Iterator<Item = &'a Member> {
    space.replicas.iter().filter_map(|node| view.members.get(node))
}

/// Where the agents are reached whose machines keep it.
fn addresses(view: &View, space: &KeptSpace) -> Vec<String> {
    members(view, space).map(|member| member.address.clone()).collect()
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

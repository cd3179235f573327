//! Named spaces that the machines of a cluster keep on their disks: agreed among the machines, served by their agents.

use super::{CreateArguments, NameArguments, Which, as_json, as_lines};
use crate::commands::cluster::machines::Machines;
use crate::commands::cluster::refused;
use crate::output::{print, print_json};
use quintet::{
    Code, Error, Lab, Policy, SpaceAddress, SpaceInfo, SpaceName, SpaceNumber, SpaceSettings, SpacesConfig,
    State,
};
use quintet_agent::{AgentError, Client, Membership, Record};
use quintet_contract::NodeId;
use quintet_identity::AgentSpace;
use quintet_membership::{KeptSpace, NewSpace, Reason, Request};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How long the machines may take until a space that they have agreed on is served, or is gone.
pub(super) const SETTLING_LIMIT: Duration = Duration::from_secs(10);
/// Between two looks at that.
pub(super) const PAUSE: Duration = Duration::from_millis(20);

/// A cluster to which this machine belongs.
pub(super) struct Cluster {
    folder: PathBuf,
}

impl Cluster {
    pub(super) fn new(folder: PathBuf) -> Cluster {
        Cluster { folder }
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The spaces that its machines keep, as this machine's agent has written them.
    ///
    /// # Errors
    /// It is no member.
    pub(super) fn spaces(&self) -> Result<Vec<AgentSpace>, Error> {
        let record = Record::read(&self.folder).map_err(refused)?;
        Ok(record.ok_or_else(|| refused(AgentError::NoMember(self.folder.clone())))?.spaces)
    }

    pub(super) fn space(&self, name: &SpaceName) -> Result<Option<AgentSpace>, Error> {
        Ok(self.spaces()?.into_iter().find(|space| space.name == name.as_str()))
    }

    fn address(&self, name: &str) -> SpaceAddress {
        SpaceAddress::Cluster(format!("{}/{name}", self.folder.display()))
    }

    pub(super) fn agent(&self) -> Result<Client, Error> {
        Client::local(&self.folder).map_err(refused)
    }

    fn connect(&self, which: &Which, name: &str) -> Result<Lab, Error> {
        which.space.lab_at(self.address(name))
    }

    /// Has machines keep a space, and shows it once it is served. If it is not served in time it is removed again.
    ///
    /// # Errors
    /// The policy cannot be met, or the name is taken.
    pub(super) fn create(&self, create: &CreateArguments) -> Result<(), Error> {
        let CreateArguments { name, which, .. } = create;
        let count = replicas(create.policy)?;
        self.check_new(create)?;
        let agent = self.agent()?;
        let membership = Machines::known(&agent).map_err(refused)?;
        let or = |given: Option<u64>, default: u64| given.unwrap_or(default);
        let (max_bytes, max_tuples) = (
            or(create.max_bytes, SpacesConfig::DEFAULT_BYTES),
            or(create.max_tuples, SpacesConfig::DEFAULT_TUPLES),
        );
        if let Some(there) = membership.view.spaces.get(name.as_str()) {
            let is_same = there.replicas.len() == count
                && (there.max_bytes, there.max_tuples) == (max_bytes, max_tuples);
            if !is_same {
                return Err(exists(name, there));
            }
            return self.show(which, name);
        }
        self.check_volatile(which, name)?;
        let own = Record::read(&self.folder).map_err(refused)?.map(|own| own.node);
        let replicas = chosen(&membership, own, count, name)?;
        let new = NewSpace { name: name.as_str().to_owned(), replicas, max_bytes, max_tuples };
        agent.ask_member(&Request::AddSpace(new.clone())).map_err(refused)?;
        // Nobody would look after this connection meanwhile.
        drop(agent);
        self.wait_until_served(which, name).map_err(|error| self.taken_back(&membership, &new, &error))?;
        self.show(which, name)
    }

    /// What needs nobody to be asked.
    fn check_new(&self, create: &CreateArguments) -> Result<(), Error> {
        let bad = |text: String| Err(Error::new(Code::BadValue, text));
        if !create.allow.is_empty() {
            return bad(format!(
                "a space that is {} is for all machines of the cluster: leave out --allow",
                create.policy
            ));
        }
        // `quintet:///FOLDER/NAME` would be that.
        match self.folder.join(create.name.as_str()).exists() {
            true => {
                bad(format!("the cluster's folder has a file named {}: choose another name", create.name))
            }
            false => Ok(()),
        }
    }

    /// No volatile space beside the cluster's own has the name, as far as that can be asked.
    fn check_volatile(&self, which: &Which, name: &SpaceName) -> Result<(), Error> {
        let own = SpaceAddress::Cluster(self.folder.to_string_lossy().into_owned());
        let there = match which.space.lab_at(own).and_then(|lab| lab.spaces()) {
            Ok(spaces) => spaces.iter().any(|space| space.name == *name),
            // Spaces that are kept need nothing of the machine that serves the others, which end with it.
            Err(error) if matches!(error.code(), Code::Unreachable | Code::PeerDied | Code::PeerSilent) => {
                false
            }
            Err(error) => return Err(error),
        };
        match there {
            false => Ok(()),
            true => {
                let text = format!(
                    "the cluster has a volatile space {name} already: remove that first, with quintet space remove {name}, or choose another name"
                );
                Err(Error::new(Code::SpaceExists, text))
            }
        }
    }

    fn wait_until_served(&self, which: &Which, name: &SpaceName) -> Result<(), Error> {
        let until = Instant::now() + SETTLING_LIMIT;
        loop {
            let tried = match self.space(name)? {
                Some(_) => self.connect(which, name.as_str()).and_then(|lab| lab.space().status().map(drop)),
                None => Err(Error::new(Code::Unreachable, "this machine's agent has not heard of it so far")),
            };
            match tried {
                Ok(()) => return Ok(()),
                Err(error) if Instant::now() > until => return Err(error),
                Err(_) => sleep(PAUSE),
            }
        }
    }

    /// A space that is not served is not to be left behind.
    fn taken_back(&self, membership: &Membership, new: &NewSpace, why: &Error) -> Error {
        let machines = names(membership, &new.replicas);
        let removed = self.remove_agreed(&new.name);
        let after = match removed {
            Ok(()) => "so it was removed again".to_owned(),
            Err(error) => {
                format!("and to remove it again failed ({}): quintet space remove {}", error.text(), new.name)
            }
        };
        let text = format!(
            "{} was to be kept by {machines} and is not served, {after}: {}; see agent.log there",
            new.name,
            why.text()
        );
        Error::new(why.code(), text)
    }

    fn remove_agreed(&self, name: &str) -> Result<(), Error> {
        let agent = self.agent()?;
        let view = agent.membership(true).map_err(refused)?.view;
        let Some(number) = view.spaces.get(name).map(|space| space.number) else { return Ok(()) };
        let request = Request::RemoveSpace { name: name.to_owned(), number };
        agent.ask_member(&request).map_err(refused)?;
        let until = Instant::now() + SETTLING_LIMIT;
        // The others hear of it in their time.
        while self.spaces()?.iter().any(|space| space.number == number) && Instant::now() < until {
            sleep(PAUSE);
        }
        Ok(())
    }

    /// Removes a space with its tuples, on all machines that keep it.
    ///
    /// # Errors
    /// No majority agrees.
    pub(super) fn remove(&self, arguments: &NameArguments) -> Result<(), Error> {
        self.remove_agreed(arguments.name.as_str())
    }

    /// Shows a space that is kept, with what is in it.
    ///
    /// # Errors
    /// It cannot be reached.
    pub(super) fn show(&self, which: &Which, name: &SpaceName) -> Result<(), Error> {
        let Some(kept) = self.space(name)? else {
            return Err(Error::new(Code::NoSuchSpace, format!("{name} was removed meanwhile")));
        };
        let machines = self.machine_names();
        let state = self.connect(which, name.as_str())?.space().status()?;
        let info = info(name, &kept, &state);
        if which.json {
            let mut object = as_json(&info, &BTreeMap::new());
            object["machines"] = json!(named(&kept, &machines));
            print_json(&object)?;
        } else {
            let lines = as_lines(&info, "all machines of the cluster");
            print(&format!("{lines}{:<14} {}\n", "machines", named(&kept, &machines).join(", ")))?;
        }
        Ok(())
    }

    /// What the machines are called, as far as this one's agent tells.
    fn machine_names(&self) -> BTreeMap<NodeId, String> {
        let known = self.agent().and_then(|agent| agent.membership(false).map_err(refused));
        let members = known.ok().map(|known| known.view.members).unwrap_or_default();
        members.into_iter().map(|(node, member)| (node, member.name)).collect()
    }

    /// The spaces that are kept, for programs.
    ///
    /// # Errors
    /// This machine is no member.
    pub(super) fn as_json(&self) -> Result<Value, Error> {
        let machines = self.machine_names();
        let one = |kept: &AgentSpace| {
            json!({
                "name": kept.name, "policy": policy(kept).to_string(), "max_bytes": kept.max_bytes,
                "max_tuples": kept.max_tuples, "machines": named(kept, &machines),
            })
        };
        Ok(self.spaces()?.iter().map(one).collect())
    }

    /// The same for people; nothing where there are none.
    ///
    /// # Errors
    /// As of [`Cluster::as_json`].
    pub(super) fn as_table(&self) -> Result<String, Error> {
        let (machines, spaces) = (self.machine_names(), self.spaces()?);
        let row = |kept: &AgentSpace| {
            let (policy, machines) = (policy(kept).to_string(), named(kept, &machines).join(", "));
            format!("{:<24} {policy:<12} kept by {machines}\n", kept.name)
        };
        Ok(spaces.iter().map(row).collect())
    }
}

/// How many machines keep it.
fn replicas(policy: Policy) -> Result<usize, Error> {
    match policy {
        Policy::Logged => Ok(1),
        Policy::Replicated(count @ (3 | 5)) => Ok(count.into()),
        other => {
            let text = format!("no cluster keeps a space {other}: a space has three or five replicas");
            Err(Error::new(Code::BadValue, text))
        }
    }
}

fn policy(kept: &AgentSpace) -> Policy {
    match kept.replicas.len() {
        1 => Policy::Logged,
        count => Policy::Replicated(u8::try_from(count).unwrap_or(u8::MAX)),
    }
}

/// Which machines are to keep it: this one, and of the others those with the lowest numbers, of those that are there.
fn chosen(
    membership: &Membership,
    own: Option<NodeId>,
    count: usize,
    name: &SpaceName,
) -> Result<Vec<NodeId>, Error> {
    let Membership { view, news } = membership;
    if news.is_stale {
        let text = "no majority of the voters is heard here, so that no space can be created now; try again when more of them are up";
        return Err(Error::new(Reason::NoMajority.code(), text));
    }
    let all: Vec<NodeId> = view.members.keys().copied().collect();
    if all.len() < count {
        let text = format!(
            "{name} is to be kept by {count} machines, and the cluster has {}: {}; have more of them join, or choose --policy logged",
            all.len(),
            names(membership, &all)
        );
        return Err(Error::new(Code::BadValue, text));
    }
    let is_there = |node: &NodeId| {
        let reached = view.members.get(node).is_some_and(|member| !member.address.is_empty());
        reached && news.suspects.iter().all(|suspect| suspect.node != *node)
    };
    let (there, away): (Vec<NodeId>, Vec<NodeId>) = all.into_iter().partition(is_there);
    if there.len() < count {
        let text = format!(
            "{name} is to be kept by {count} machines that are up, and these are not, or are reached by nobody: {}",
            names(membership, &away)
        );
        return Err(Error::new(Code::Unreachable, text));
    }
    let (own, others): (Vec<NodeId>, Vec<NodeId>) = there.into_iter().partition(|node| Some(*node) == own);
    Ok(own.into_iter().chain(others).take(count).collect())
}

/// What these machines are called.
fn names(membership: &Membership, nodes: &[NodeId]) -> String {
    let members = &membership.view.members;
    let name =
        |node: &NodeId| members.get(node).map_or_else(|| format!("node {}", node.0), |of| of.name.clone());
    nodes.iter().map(name).collect::<Vec<_>>().join(", ")
}

/// What the machines are called that keep it.
fn named(kept: &AgentSpace, machines: &BTreeMap<NodeId, String>) -> Vec<String> {
    let name = |node: &u16| machines.get(&NodeId(*node)).cloned().unwrap_or_else(|| format!("node {node}"));
    kept.replicas.iter().map(name).collect()
}

fn exists(name: &SpaceName, there: &KeptSpace) -> Error {
    let text = format!(
        "the cluster has a space {name} with other settings: it is kept by {} of its machines, and holds {} bytes and {} tuples",
        there.replicas.len(),
        there.max_bytes,
        there.max_tuples
    );
    Error::new(Code::SpaceExists, text)
}

/// As a server tells of its named spaces.
fn info(name: &SpaceName, kept: &AgentSpace, state: &State) -> SpaceInfo {
    let (max_bytes, max_tuples) = (kept.max_bytes, kept.max_tuples);
    SpaceInfo {
        number: SpaceNumber::UNNAMED,
        name: name.clone(),
        settings: SpaceSettings { policy: policy(kept), max_bytes, max_tuples, allow: None },
        tuples: state.tuples,
        bytes: state.bytes,
        hidden: state.hidden,
        waiters: state.waiters,
        leases: state.leases,
        parked: state.parked,
    }
}

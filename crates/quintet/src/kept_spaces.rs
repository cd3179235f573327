//! Spaces that the machines of a cluster keep on their disks: agreed among their agents, which serve them.
//!
//! This machine's agent is asked for a space, and has it agreed; where the spaces are its file says. Each has servers of its own, so that whoever opens one
//! has a connection of its own to them.

mod rights;

use crate::{Error, Lab, LinkConfig, Space, SpaceAddress, SpaceInfo, SpaceName, SpaceSettings, SpacesConfig};
use quintet_agent::{AgentError, Client, Membership};
use quintet_contract::NodeId;
use quintet_errors::Code;
use quintet_identity::{AgentFile, AgentSpace};
use quintet_membership::{KeptSpace as Agreed, NewSpace, Reason, Request};
use quintet_tuple_space::{Policy, SpaceNumber};
use rights::allowed;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How long the machines may take until a space that they have agreed on is served, or is gone.
const SETTLING_LIMIT: Duration = Duration::from_secs(10);
/// Between two looks at that.
const PAUSE: Duration = Duration::from_millis(20);

/// The spaces that the machines of a cluster keep on their disks.
#[derive(Clone, Debug)]
pub struct KeptSpaces {
    folder: PathBuf,
    lease: Duration,
    link: LinkConfig,
}

/// A space that machines keep, as this machine's agent knows it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KeptSpace {
    /// What it is called.
    pub name: String,
    /// [`Policy::Logged`], or [`Policy::Replicated`].
    pub policy: Policy,
    /// Bytes of tuples that it holds at most.
    pub max_bytes: u64,
    /// Tuples that it holds at most.
    pub max_tuples: u64,
    /// The numbers of the machines that keep it.
    pub nodes: Vec<u16>,
    /// Those of the machines whose programs may use it; none: all of the cluster.
    pub allow: Option<Vec<u16>>,
}

impl From<AgentSpace> for KeptSpace {
    fn from(space: AgentSpace) -> KeptSpace {
        let AgentSpace { name, max_bytes, max_tuples, replicas: nodes, allow, .. } = space;
        let policy = match nodes.len() {
            1 => Policy::Logged,
            count => Policy::Replicated(u8::try_from(count).unwrap_or(u8::MAX)),
        };
        KeptSpace { name, policy, max_bytes, max_tuples, nodes, allow }
    }
}

impl KeptSpaces {
    /// Those of the cluster with this folder. They are connected to as [`Lab::connect_with`] says of the other arguments.
    #[must_use]
    pub fn of(folder: PathBuf, lease: Duration, link: LinkConfig) -> KeptSpaces {
        KeptSpaces { folder, lease, link }
    }

    /// All of them, by name, as this machine's agent has written them: nobody is asked.
    ///
    /// # Errors
    /// [`Code::BadValue`]: this machine is no member. [`Code::BadFile`].
    pub fn all(&self) -> Result<Vec<KeptSpace>, Error> {
        Ok(self.written()?.spaces.into_iter().map(KeptSpace::from).collect())
    }

    /// Connects to the one of this name; none if there is none.
    ///
    /// # Errors
    /// As [`KeptSpaces::all`] and [`Lab::connect_with`].
    pub fn open(&self, name: &SpaceName) -> Result<Option<Space>, Error> {
        let is_kept = self.written()?.spaces.iter().any(|space| space.name == name.as_str());
        if !is_kept {
            return Ok(None);
        }
        let lab = Lab::connect_with(address(&self.folder, name), 0, self.lease, self.link)?;
        Ok(Some(Space::named(lab, SpaceNumber::UNNAMED, name.clone())))
    }

    /// Has machines keep a space: this one, and of the others those with the lowest numbers that are up. Returns once it is served. One that is there with the same
    /// policy, limits and rights is as good, so that several may begin with this. None is returned where it is for other machines than this one. `volatile` gives the volatile spaces of the cluster, which have other names.
    ///
    /// # Errors
    /// [`Code::BadValue`]: the policy cannot be met; it is to be for somebody who is no member; the name is that of a file. [`Code::SpaceExists`]: it is there with other settings, or volatile.
    /// [`Code::Unreachable`]: this machine's agent does not run, or too few machines are up, or it is not served after ten seconds and the try that is under way then (ten more at most): then it stays agreed, and is served once
    /// it can be.
    pub fn create(
        &self,
        name: &SpaceName,
        settings: &SpaceSettings,
        volatile: impl FnOnce() -> Result<Vec<SpaceInfo>, Error>,
    ) -> Result<Option<Space>, Error> {
        let count = replicas(settings.policy)?;
        self.check_new(name)?;
        let agent = Client::local(&self.folder).map_err(refused)?;
        let membership = known(&agent).map_err(refused)?;
        let or_default = |given: u64, default: u64| if given == 0 { default } else { given };
        let max_bytes = or_default(settings.max_bytes, SpacesConfig::DEFAULT_BYTES);
        let max_tuples = or_default(settings.max_tuples, SpacesConfig::DEFAULT_TUPLES);
        let allow = settings.allow.as_ref().map(|allow| allowed(&membership, allow)).transpose()?;
        let own = NodeId(self.written()?.node);
        let is_for_own = allow.as_ref().is_none_or(|nodes| nodes.contains(&own));
        if let Some(there) = membership.view.spaces.get(name.as_str()) {
            let limits = (there.replicas.len(), there.max_bytes, there.max_tuples);
            if (limits, &there.allow) != ((count, max_bytes, max_tuples), &allow) {
                return Err(Error::new(Code::SpaceExists, other_settings(name, there, &membership)));
            }
        } else {
            check_volatile(name, volatile())?;
            let replicas = chosen(&membership, own, count, name)?;
            let new = NewSpace { name: name.as_str().to_owned(), replicas, max_bytes, max_tuples, allow };
            agent.ask_member(&Request::AddSpace(new)).map_err(refused)?;
        }
        // Nobody would look after this connection meanwhile.
        drop(agent);
        self.wait_until_served(name, is_for_own)
    }

    /// Removes the one of this name with its tuples, on all machines that keep it; whether there was one.
    ///
    /// # Errors
    /// [`Code::Unreachable`]: this machine's agent does not run, or no majority agrees. [`Code::NotAllowed`]: it is for other machines than this one.
    pub fn remove(&self, name: &SpaceName) -> Result<bool, Error> {
        let agent = Client::local(&self.folder).map_err(refused)?;
        let view = agent.membership(true).map_err(refused)?.view;
        let Some(number) = view.spaces.get(name.as_str()).map(|space| space.number) else { return Ok(false) };
        let request = Request::RemoveSpace { name: name.as_str().to_owned(), number };
        agent.ask_member(&request).map_err(refused)?;
        drop(agent);
        let until = Instant::now() + SETTLING_LIMIT;
        // The others hear of it in their time.
        while self.written()?.spaces.iter().any(|space| space.number == number) && Instant::now() < until {
            sleep(PAUSE);
        }
        Ok(true)
    }

    /// What this machine's agent has written.
    fn written(&self) -> Result<AgentFile, Error> {
        let file =
            AgentFile::read(&self.folder).map_err(|error| Error::new(error.code(), error.to_string()))?;
        file.ok_or_else(|| refused(AgentError::NoMember(self.folder.clone())))
    }

    /// What needs nobody to be asked.
    fn check_new(&self, name: &SpaceName) -> Result<(), Error> {
        let bad = |text: String| Err(Error::new(Code::BadValue, text));
        // `quintet:///FOLDER/NAME` would be that.
        match self.folder.join(name.as_str()).exists() {
            true => bad(format!("the cluster's folder has a file named {name}: choose another name")),
            false => Ok(()),
        }
    }

    /// None where it is for others alone.
    fn wait_until_served(&self, name: &SpaceName, is_for_own: bool) -> Result<Option<Space>, Error> {
        let until = Instant::now() + SETTLING_LIMIT;
        loop {
            let opened = self.open(name).and_then(|space| {
                let unheard = "this machine's agent has not heard of it so far";
                let space = space.ok_or_else(|| Error::new(Code::Unreachable, unheard))?;
                space.status().map(|_| Some(space))
            });
            match opened {
                Err(error) if !is_for_own && error.code() == Code::NotAllowed => return Ok(None),
                Err(error) if Instant::now() > until => return Err(unserved(name, &error)),
                Err(_) => sleep(PAUSE),
                served => return served,
            }
        }
    }
}

/// Who is in, as agreed; as this machine knows it where no majority is heard: whoever waited for one would only be told that.
fn known(agent: &Client) -> Result<Membership, AgentError> {
    let known = agent.membership(false)?;
    if known.news.is_stale {
        return Ok(known);
    }
    match agent.membership(true) {
        Err(AgentError::Refused(refusal)) if refusal.reason == Reason::NoMajority => agent.membership(false),
        agreed => agreed,
    }
}

fn other_settings(name: &SpaceName, there: &Agreed, membership: &Membership) -> String {
    let whom = there.allow.as_ref().map_or_else(
        || "all machines".to_owned(),
        |nodes| names(membership, &nodes.iter().copied().collect::<Vec<_>>()),
    );
    format!(
        "the cluster has a space {name} with other settings: it is kept by {} of its machines, holds {} bytes and {} tuples, and is for {whom}",
        there.replicas.len(),
        there.max_bytes,
        there.max_tuples
    )
}

/// Nobody removes what others may use already.
fn unserved(name: &SpaceName, why: &Error) -> Error {
    let text = format!(
        "the space {name} is agreed, and not served after {} s: {}; see agent.log on its machines. It is served once it can be: create it again to wait for that, or remove it (quintet space remove {name})",
        SETTLING_LIMIT.as_secs(),
        why.text()
    );
    Error::new(why.code(), text)
}

/// No volatile space beside the cluster's own has the name, as far as that can be asked.
fn check_volatile(name: &SpaceName, volatile: Result<Vec<SpaceInfo>, Error>) -> Result<(), Error> {
    let there = match volatile {
        Ok(spaces) => spaces.iter().any(|space| space.name == *name),
        // Spaces that are kept need nothing of the machine that serves the others, which end with it.
        Err(error) if matches!(error.code(), Code::Unreachable | Code::PeerDied | Code::PeerSilent) => false,
        Err(error) => return Err(error),
    };
    if !there {
        return Ok(());
    }
    let text = format!(
        "the cluster has a volatile space {name} already: remove that first, with quintet space remove {name}, or choose another name"
    );
    Err(Error::new(Code::SpaceExists, text))
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

/// Which machines are to keep it: this one, and of the others those with the lowest numbers, of those that are there.
fn chosen(
    membership: &Membership,
    own: NodeId,
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
    let (own, others): (Vec<NodeId>, Vec<NodeId>) = there.into_iter().partition(|node| *node == own);
    Ok(own.into_iter().chain(others).take(count).collect())
}

/// What these machines are called.
fn names(membership: &Membership, nodes: &[NodeId]) -> String {
    let members = &membership.view.members;
    let name =
        |node: &NodeId| members.get(node).map_or_else(|| format!("node {}", node.0), |of| of.name.clone());
    nodes.iter().map(name).collect::<Vec<_>>().join(", ")
}

fn refused(error: AgentError) -> Error {
    Error::new(error.code(), error.to_string())
}

/// The address of a space, by the cluster's folder.
fn address(folder: &Path, name: &SpaceName) -> SpaceAddress {
    SpaceAddress::Cluster(format!("{}/{name}", folder.display()))
}

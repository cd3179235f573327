//! Named spaces that the machines of a cluster keep on their disks: agreed among the machines, served by their agents.

use super::{CreateArguments, NameArguments, Which, as_json, as_lines, counts, rights, settings_as_lines};
use crate::activity::bytes;
use crate::commands::cluster::refused;
use crate::output::{print, print_json};
use quintet::{
    Code, Error, KeptSpace, Lab, Policy, SpaceAddress, SpaceInfo, SpaceName, SpaceNumber, SpaceSettings,
    State,
};
use quintet_agent::{AgentError, Client, Record};
use quintet_contract::NodeId;
use quintet_identity::AgentSpace;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

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

    /// Has machines keep a space, and shows it once it is served.
    ///
    /// # Errors
    /// As of [`KeptSpaces::create`].
    pub(super) fn create(&self, create: &CreateArguments) -> Result<(), Error> {
        let CreateArguments { name, which, .. } = create;
        let allow = rights(create)?;
        let own = SpaceAddress::Cluster(self.folder.to_string_lossy().into_owned());
        let volatile = || which.space.lab_at(own).and_then(|lab| lab.spaces());
        which.space.kept_spaces(&self.folder)?.create(name, &create.settings(allow), volatile)?;
        self.show(which, name)
    }

    /// Removes a space with its tuples, on all machines that keep it.
    ///
    /// # Errors
    /// No majority agrees.
    pub(super) fn remove(&self, arguments: &NameArguments) -> Result<(), Error> {
        arguments.which.space.kept_spaces(&self.folder)?.remove(&arguments.name).map(drop)
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
        let state = match self.connect(which, name.as_str()).and_then(|lab| lab.space().status()) {
            Err(error) if kept.allow.is_some() && error.code() == Code::NotAllowed => None,
            state => Some(state?),
        };
        let info = info(name, &kept, &state.clone().unwrap_or_default());
        let is_known = state.is_some();
        if which.json {
            let mut object = as_json(&info, &BTreeMap::new());
            if !is_known {
                counts(&info).iter().for_each(|(count, _)| object[*count] = Value::Null);
            }
            object["machines"] = json!(named(&kept.replicas, &machines));
            object["allow"] = json!(kept.allow.as_deref().map(|nodes| named(nodes, &machines)));
            print_json(&object)?;
        } else {
            let lines = match is_known {
                true => as_lines(&info, &users(&kept, &machines)),
                false => settings_as_lines(&info, &users(&kept, &machines)),
            };
            print(&format!("{lines}{:<14} {}\n", "machines", named(&kept.replicas, &machines).join(", ")))?;
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
                "max_tuples": kept.max_tuples, "machines": named(&kept.replicas, &machines),
                "allow": kept.allow.as_deref().map(|nodes| named(nodes, &machines)),
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
            let whom =
                kept.allow.as_ref().map_or_else(String::new, |_| format!("; for {}", users(kept, &machines)));
            let (policy, machines) = (policy(kept).to_string(), named(&kept.replicas, &machines).join(", "));
            let (size, tuples) = (bytes(kept.max_bytes), kept.max_tuples);
            format!(
                "{:<24} {policy:<12} {size}, {tuples} tuples at most; kept by {machines}{whom}\n",
                kept.name
            )
        };
        Ok(spaces.iter().map(row).collect())
    }
}

fn policy(kept: &AgentSpace) -> Policy {
    KeptSpace::from(kept.clone()).policy
}

/// What these machines are called.
fn named(nodes: &[u16], machines: &BTreeMap<NodeId, String>) -> Vec<String> {
    let name = |node: &u16| machines.get(&NodeId(*node)).cloned().unwrap_or_else(|| format!("node {node}"));
    nodes.iter().map(name).collect()
}

/// Whose programs may use it, in words.
fn users(kept: &AgentSpace, machines: &BTreeMap<NodeId, String>) -> String {
    let all = || "all machines of the cluster".to_owned();
    kept.allow.as_deref().map_or_else(all, |nodes| named(nodes, machines).join(", "))
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

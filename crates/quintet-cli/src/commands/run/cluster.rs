//! The cluster to which this machine belongs, for a job on several of its machines: who is in, where they are, and who may reach the
//! job's space.

use super::happening::Happening;
use super::sight::{Follower, identities};
use crate::commands::cluster::{place, refused};
use quintet::{Code, Error, LinkAddress};
use quintet_agent::{AgentError, Client, Record, credentials, granted, of_member};
use quintet_contract::NodeId;
use quintet_launch::Grant;
use quintet_link::{Credentials, Proof};
use quintet_membership::{Member, View};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::mpsc::Sender;
use std::sync::{Arc, PoisonError, RwLock};

/// What is known of the cluster.
#[derive(Clone)]
pub(super) struct Cluster {
    folder: PathBuf,
    view: View,
    own: Record,
    credentials: Credentials,
    number: u128,
}

impl Cluster {
    /// The one to which this machine belongs, as its agent knows it.
    ///
    /// # Errors
    /// The machine belongs to none, or its agent does not run.
    pub(super) fn of_this_machine() -> Result<Cluster, Error> {
        Cluster::of(place::folder(None)?)
    }

    /// The one that has this folder, as its agent knows it.
    ///
    /// # Errors
    /// It is none's, or its agent does not run.
    pub(super) fn of(folder: PathBuf) -> Result<Cluster, Error> {
        let own = Record::read(&folder).map_err(refused)?;
        let own = own.ok_or_else(|| refused(AgentError::NoMember(folder.clone())))?;
        let view = Client::local(&folder).and_then(|client| client.membership(true)).map_err(refused)?.view;
        let (credentials, number) = credentials(&folder).map_err(refused)?;
        Ok(Cluster { folder, view, own, credentials, number })
    }

    /// Where the job's space is served for the others: any free port where this machine's agent listens, for who is a member when it
    /// connects. Who is a member, and seems to be there, is told from now on.
    ///
    /// # Errors
    /// The library refuses the identity.
    pub(super) fn listen(&self, tell: Sender<Happening>) -> Result<LinkAddress, Error> {
        let members = Arc::new(RwLock::new(identities(&self.view)));
        let known = Arc::clone(&members);
        let rule = Arc::new(move |proof: &Proof| {
            let known = known.read().unwrap_or_else(PoisonError::into_inner);
            proof.is_of_cluster && known.contains(&proof.identity)
        });
        let credentials = self.credentials.admitting(rule);
        let credentials = credentials.map_err(|error| Error::new(Code::BadFile, error.to_string()))?;
        Follower::new(self.clone(), members, tell).start();
        Ok(LinkAddress::Tls { host: self.listening_host(), port: 0, credentials: Some(credentials) })
    }

    /// Where the others reach what listens at such a port of this machine.
    pub(super) fn reached(&self, port: u16) -> LinkAddress {
        LinkAddress::Tls { host: host(&self.own.address).to_owned(), port, credentials: None }
    }

    /// Where the others reach what listens at this address of this machine.
    pub(super) fn reached_at(&self, address: &LinkAddress) -> LinkAddress {
        match address {
            LinkAddress::Tls { port, .. } => self.reached(*port),
            _ => address.clone(),
        }
    }

    /// Where what listens at such a port of another machine is reached.
    ///
    /// # Errors
    /// There is no such machine.
    pub(super) fn reached_on(&self, name: &str, port: u16) -> Result<LinkAddress, Error> {
        let (_, member) = self.member(name)?;
        Ok(LinkAddress::Tls { host: host(&member.address).to_owned(), port, credentials: None })
    }

    /// The same address, where this machine proves who it is.
    pub(super) fn identified(&self, address: LinkAddress) -> LinkAddress {
        address.identified(Some(&self.credentials))
    }

    /// Where the proof of this machine lies.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    fn listening_host(&self) -> String {
        let listening = host(&self.own.listen);
        let is_any = listening.parse::<IpAddr>().is_ok_and(|address| address.is_unspecified());
        match host(&self.own.address).contains(':') {
            true if is_any => "::".to_owned(),
            _ => listening.to_owned(),
        }
    }

    /// Who is in, as far as that is known.
    pub(super) fn view(&self) -> &View {
        &self.view
    }

    /// Who is in now.
    pub(super) fn set_view(&mut self, view: View) {
        self.view = view;
    }

    /// Connects to the agent of this machine.
    ///
    /// # Errors
    /// It does not run, or does not answer.
    pub(super) fn own_agent(&self) -> Result<Client, AgentError> {
        Client::local(&self.folder)
    }

    /// Connects to the agent of another member, each time to the next one.
    ///
    /// # Errors
    /// There is none, or it cannot be reached.
    pub(super) fn other_agent(&self, turn: usize) -> Result<Client, AgentError> {
        let others: Vec<_> = self.view.members.iter().filter(|(node, _)| !self.is_own(**node)).collect();
        let Some((node, member)) = others.get(turn % others.len().max(1)) else {
            return Err(AgentError::NoMember(self.folder.clone()));
        };
        let (address, number) =
            self.agent(member).map_err(|error| AgentError::BadValue(error.text().to_owned()))?;
        Client::connect(address, **node, number)
    }

    /// What this machine is called.
    pub(super) fn own_name(&self) -> &str {
        &self.own.name
    }

    /// Whether this is the number of this machine.
    pub(super) fn is_own(&self, node: NodeId) -> bool {
        node == self.own.node
    }

    /// What the view lets this machine ask of the others.
    pub(super) fn grant(&self) -> Grant {
        let own = self.view.members.get(&self.own.node);
        own.map(|own| granted(own.grants)).unwrap_or_default()
    }

    /// The member of this name, and its number.
    ///
    /// # Errors
    /// There is none.
    pub(super) fn member(&self, name: &str) -> Result<(NodeId, &Member), Error> {
        let found = self.view.members.iter().find(|(_, member)| member.name == name);
        found.map(|(node, member)| (*node, member)).ok_or_else(|| {
            let names: Vec<&str> = self.view.members.values().map(|member| member.name.as_str()).collect();
            let names = names.join(", ");
            let text = format!("--hosts: no machine of the cluster is named {name:?}: there are {names}");
            Error::new(Code::BadValue, text)
        })
    }

    /// Where the agent of a member is reached, with this machine's identity; and the cluster's number.
    ///
    /// # Errors
    /// Nowhere.
    pub(super) fn agent(&self, member: &Member) -> Result<(LinkAddress, u128), Error> {
        let address = of_member(&member.address, member.identity, &self.credentials, &self.folder);
        let address = address.map_err(|error| {
            Error::new(error.code(), format!("{}, as its agent has said where it is: {error}", member.name))
        })?;
        Ok((address, self.number))
    }
}

/// The host of `HOST:PORT`.
fn host(place: &str) -> &str {
    let host = place.rsplit_once(':').map_or(place, |(host, _)| host);
    host.trim_start_matches('[').trim_end_matches(']')
}

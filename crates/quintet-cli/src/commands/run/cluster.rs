//! The cluster to which this machine belongs, for a job on several of its machines: who is in, where they are, and who may reach the
//! job's space.

use crate::commands::cluster::{place, refused};
use quintet::{Code, Error, LinkAddress};
use quintet_agent::{AgentError, Client, Record, credentials, granted};
use quintet_contract::{Identity, NodeId, Span};
use quintet_launch::Grant;
use quintet_link::{Credentials, Proof};
use quintet_membership::{Answer, Member, Request, View};
use std::collections::BTreeSet;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};
use std::thread;

/// How long one request waits for the next view.
const WATCH: Span = Span::from_secs(10);

/// What is known of the cluster before the job's space is served.
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
        let folder = place::folder(None)?;
        let own = Record::read(&folder).map_err(refused)?;
        let own = own.ok_or_else(|| refused(AgentError::NoMember(folder.clone())))?;
        let view = Client::local(&folder).and_then(|client| client.membership(true)).map_err(refused)?.view;
        let (credentials, number) = credentials(&folder).map_err(refused)?;
        Ok(Cluster { folder, view, own, credentials, number })
    }

    /// Where the job's space is served for the others: any free port where this machine's agent listens, for who is a member when it
    /// connects.
    ///
    /// # Errors
    /// The library refuses the identity.
    pub(super) fn listen(&self) -> Result<LinkAddress, Error> {
        let members = Arc::new(RwLock::new(identities(&self.view)));
        let known = Arc::clone(&members);
        let rule = Arc::new(move |proof: &Proof| {
            let known = known.read().unwrap_or_else(PoisonError::into_inner);
            proof.is_of_cluster && known.contains(&proof.identity)
        });
        let credentials = self.credentials.admitting(rule);
        let credentials = credentials.map_err(|error| Error::new(Code::BadFile, error.to_string()))?;
        let (folder, view) = (self.folder.clone(), self.view.number);
        thread::spawn(move || follow(&folder, view, &members));
        Ok(LinkAddress::Tls { host: self.listening_host(), port: 0, credentials: Some(credentials) })
    }

    /// Where the others reach what listens at such a port of this machine.
    pub(super) fn reached(&self, port: u16) -> LinkAddress {
        LinkAddress::Tls { host: host(&self.own.address).to_owned(), port, credentials: None }
    }

    fn listening_host(&self) -> String {
        let listening = host(&self.own.listen);
        let is_any = listening.parse::<IpAddr>().is_ok_and(|address| address.is_unspecified());
        match host(&self.own.address).contains(':') {
            true if is_any => "::".to_owned(),
            _ => listening.to_owned(),
        }
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
        let address: LinkAddress = format!("tls:{}", member.address).parse().map_err(|error| {
            let text =
                format!("{}: its agent has said that it is nowhere to be reached: {error}", member.name);
            Error::new(Code::BadValue, text)
        })?;
        // Not another member, nor one that was removed, that has the address now.
        let expected = member.identity;
        let rule = Arc::new(move |proof: &Proof| proof.is_of_cluster && proof.identity == expected);
        let credentials = self.credentials.admitting(rule);
        let credentials = credentials.map_err(|error| Error::new(Code::BadFile, error.to_string()))?;
        Ok((address.identified(Some(&credentials)), self.number))
    }
}

/// The host of `HOST:PORT`.
fn host(place: &str) -> &str {
    let host = place.rsplit_once(':').map_or(place, |(host, _)| host);
    host.trim_start_matches('[').trim_end_matches(']')
}

fn identities(view: &View) -> BTreeSet<Identity> {
    view.members.values().map(|member| member.identity).collect()
}

/// Keeps up with who is in, for as long as this machine's agent says so: without it, those stay who were in last.
fn follow(folder: &std::path::Path, mut view: u64, members: &RwLock<BTreeSet<Identity>>) {
    let Ok(client) = Client::local(folder) else { return };
    let mut news = 0;
    loop {
        match client.ask_member(&Request::Watch { view, news, wait: WATCH }) {
            Ok(Answer::Done) => {}
            Ok(Answer::News(seen)) => news = seen.number,
            Ok(_) => match client.ask_member(&Request::View { agreed: false }) {
                Ok(Answer::Current(current, _)) => {
                    view = current.number;
                    *members.write().unwrap_or_else(PoisonError::into_inner) = identities(&current);
                }
                _ => return,
            },
            Err(_) => return,
        }
    }
}

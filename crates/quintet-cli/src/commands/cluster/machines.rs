//! The machines of a cluster, as `quintet status` shows them.

use super::{place, refused};
use quintet::{Code, Error};
use quintet_agent::{Client, Membership, Record};
use quintet_membership::{Member, Suspicion};
use serde_json::{Value, json};
use std::path::Path;

/// The machines as this machine's agent knows them.
pub(crate) struct Machines {
    membership: Membership,
    own: Record,
}

impl Machines {
    /// Those of the cluster to which this machine belongs, if its agent runs.
    ///
    /// # Errors
    /// The agent runs, and does not answer.
    pub(crate) fn of_this_cluster() -> Result<Option<Machines>, Error> {
        match place::folder(None).and_then(|folder| Machines::ask(&folder)) {
            Ok(machines) => Ok(Some(machines)),
            Err(error) if matches!(error.code(), Code::PeerSilent | Code::PeerDied | Code::TimedOut) => {
                Err(error)
            }
            Err(_) => Ok(None),
        }
    }

    /// Asks the agent of that folder.
    fn ask(folder: &Path) -> Result<Machines, Error> {
        let client = Client::local(folder).map_err(refused)?;
        let membership = client.membership(false).map_err(refused)?;
        let own = Record::read(folder).map_err(refused)?;
        let own = own.ok_or_else(|| refused(quintet_agent::AgentError::NoMember(folder.to_owned())))?;
        Ok(Machines { membership, own })
    }

    pub(crate) fn as_json(&self) -> Value {
        let Membership { view, news } = &self.membership;
        let machines: Vec<Value> = view
            .members
            .iter()
            .map(|(node, member)| {
                json!({
                    "name": member.name, "node": node.0, "address": member.address, "votes": member.votes,
                    "incarnation": member.incarnation.0, "state": self.state(node.0, member),
                })
            })
            .collect();
        json!({"view": view.number, "machines": machines, "majority": !news.is_stale, "this": self.own.name})
    }

    pub(crate) fn as_table(&self) -> String {
        let Membership { view, news } = &self.membership;
        let mut lines =
            vec![format!("{:<16} {:>5}  {:<28} {:<7} {}", "machine", "node", "address", "part", "state")];
        for (node, member) in &view.members {
            let part = if member.votes { "voter" } else { "learner" };
            let state = self.state(node.0, member);
            lines
                .push(format!("{:<16} {:>5}  {:<28} {part:<7} {state}", member.name, node.0, member.address));
        }
        let majority = if news.is_stale { "; NO MAJORITY is heard: this may be old" } else { "" };
        lines.push(format!("view {}{majority}", view.number));
        lines.join("\n") + "\n"
    }

    fn state(&self, node: u16, member: &Member) -> &'static str {
        let suspect = self.membership.news.suspects.iter().find(|suspect| suspect.node.0 == node);
        match suspect.map(|suspect| suspect.cause) {
            None if member.name == self.own.name => "up (this machine)",
            None => "up",
            Some(Suspicion::Silent) => "silent",
            Some(Suspicion::Died) => "lost",
            Some(Suspicion::Closed) => "down",
            Some(Suspicion::Misbehaved) => "misbehaved",
            Some(Suspicion::Refused) => "refuses this machine",
        }
    }
}

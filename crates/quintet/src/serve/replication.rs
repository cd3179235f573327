//! How a space is kept by several servers together.

use crate::space_log::SpaceLog;
use crate::stack;
use crate::Error;
use quintet_contract::{Address, Identity, Incarnation, NodeId};
use quintet_errors::Code;
use quintet_link::LinkAddress;
use quintet_replicated::ReplicatedConfig;
use quintet_runtime::NamingRule;
use std::collections::BTreeMap;
use std::sync::Arc;

/// How a space is kept by several servers together, each with a log of its own, on its own machine: acknowledged is what a majority has on its disks.
#[derive(Clone)]
pub struct Replication {
    /// Which of them this one is, from 1.
    pub replica: u8,
    /// Where each of them serves, in the order of their numbers: three or five. All are told the same.
    pub replicas: Vec<LinkAddress>,
    /// By what each of them proves who it is over TLS, in the same order: nobody else is heard under its number. None: numbers are taken at their word, as from
    /// whoever is let in.
    pub identities: Vec<Identity>,
    /// Is told which of them leads whenever that changes, if one is known to; on the server's thread: it must not wait.
    pub told: Option<LeaderSink>,
}

/// Takes the number of the replica that leads, if one is known to.
pub type LeaderSink = Arc<dyn Fn(Option<u8>) + Send + Sync>;

impl Replication {
    /// # Errors
    /// [`Code::BadValue`]: no such replicas.
    pub(super) fn check(&self, log: Option<&SpaceLog>) -> Result<(), Error> {
        let (count, number) = (self.replicas.len(), self.replica);
        let bad = |text: String| Err(Error::new(Code::BadValue, text));
        if count != 3 && count != 5 {
            return bad(format!("a replicated space has three or five replicas, not {count}"));
        }
        if number == 0 || usize::from(number) > count {
            return bad(format!(
                "replica {number} is none of the {count} replicas: they are numbered from 1"
            ));
        }
        let mut others = self.replicas.iter().enumerate();
        if let Some((at, _)) = others.find(|(at, address)| self.replicas[..*at].contains(address)) {
            return bad(format!("replica {} has the address of another one: {}", at + 1, self.replicas[at]));
        }
        if !matches!(self.identities.len(), 0 | 3 | 5) || self.identities.len() > count {
            return bad(format!(
                "{count} replicas have {} identities: give each its own",
                self.identities.len()
            ));
        }
        if log.is_none() {
            return bad("a replicated space needs a folder for its log".to_owned());
        }
        Ok(())
    }

    pub(super) fn node(&self) -> NodeId {
        NodeId(self.replica.into())
    }

    pub(super) fn nodes(&self) -> impl Iterator<Item = (NodeId, &LinkAddress)> {
        (1..).map(NodeId).zip(&self.replicas)
    }

    /// Who may be heard under which number: a replica under its own. Clients have other numbers.
    pub(super) fn naming(&self) -> Option<NamingRule> {
        if self.identities.is_empty() {
            return None;
        }
        let replicas: BTreeMap<NodeId, Identity> =
            self.nodes().map(|(node, _)| node).zip(self.identities.iter().copied()).collect();
        Some(Arc::new(move |node, proved| {
            replicas.get(&node).is_none_or(|identity| proved == Some(*identity))
        }))
    }

    /// What a replica is made with. All have the same limits, the seed of hashes among them.
    pub(super) fn config(&self, cluster: u128, incarnation: Incarnation, seed: u64) -> ReplicatedConfig {
        let me = Address { node: self.node(), ..stack::SPACE };
        let nodes = self.nodes().map(|(node, _)| node).collect();
        ReplicatedConfig::new(cluster, me, nodes, incarnation, seed)
    }
}

//! How a space is kept by several servers together.

use crate::Error;
use crate::space_address;
use crate::space_log::SpaceLog;
use crate::stack;
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
    /// That replica, from 1, of these; numbers are taken at their word, and nobody is told who leads.
    #[must_use]
    pub fn new(replica: u8, replicas: Vec<LinkAddress>) -> Replication {
        Replication { replica, replicas, identities: Vec::new(), told: None }
    }

    /// Where replicas serve that are said as HOST:PORT, or with a kind of link in front.
    ///
    /// # Errors
    /// [`Code::BadValue`]: one is no address.
    pub fn places<S: AsRef<str>>(said: &[S]) -> Result<Vec<LinkAddress>, Error> {
        said.iter().map(|place| space_address::replica(place.as_ref())).collect()
    }

    /// Where this one serves; none if it is none of them.
    #[must_use]
    pub fn place(&self) -> Option<&LinkAddress> {
        self.replicas.get(usize::from(self.replica).checked_sub(1)?)
    }

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
        if !self.identities.is_empty() && self.identities.len() != count {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn replication(identities: Vec<Identity>) -> Replication {
        let address = |port: u16| format!("tcp:127.0.0.1:{port}").parse().expect("an address");
        Replication { replica: 1, replicas: [1, 2, 3].map(address).to_vec(), identities, told: None }
    }

    #[test]
    fn a_replicas_number_is_its_own_and_others_are_anybodys() {
        assert!(replication(Vec::new()).naming().is_none(), "numbers are taken at their word");
        let identities = [1, 2, 3].map(|byte| Identity([byte; 32]));
        let stranger = Identity([4; 32]);
        let rule = replication(identities.to_vec()).naming().expect("they prove who they are");
        for (who, own) in [(Some(identities[2]), Some(3)), (Some(stranger), None), (None, None)] {
            for node in [1, 2, 3, 4, 900] {
                assert_eq!(rule(NodeId(node), who), node > 3 || own == Some(node), "{who:?} as {node}");
            }
        }
    }

    #[test]
    fn each_replica_has_an_identity_or_none_has() {
        let log = SpaceLog::new("log");
        let error = |identities| replication(identities).check(Some(&log)).err().map(|error| error.code());
        let identity = Identity([1; 32]);
        assert_eq!((error(Vec::new()), error(vec![identity; 3])), (None, None));
        for count in [1, 2, 4, 5] {
            assert_eq!(error(vec![identity; count]), Some(Code::BadValue), "{count}");
        }
    }
}

//! Who may ask for what.

use crate::codec::Grant;
use crate::refusal::{Reason, Refusal};
use quintet_contract::{Address, Identity, LinkClass, LinkInfo, NodeId, PeerMap};
use std::collections::BTreeMap;

/// Peers, who they have proved to be, and what was granted to whom.
#[derive(Debug)]
pub(super) struct Rights {
    node: NodeId,
    peers: PeerMap<LinkInfo>,
    grants: BTreeMap<Identity, Grant>,
}

/// What a request needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Need {
    /// Nothing but to be one of those of whom the host has said what they may.
    Nothing,
    /// To start programs that the machine has.
    Run,
    /// To send files along.
    Code,
    /// To be a caller of this node.
    Own,
}

impl Rights {
    pub(super) fn new(node: NodeId) -> Rights {
        Rights { node, peers: PeerMap::new(), grants: BTreeMap::new() }
    }

    pub(super) fn set(&mut self, grants: BTreeMap<Identity, Grant>) {
        self.grants = grants;
    }

    pub(super) fn up(&mut self, peer: Address, link: LinkInfo) {
        self.peers.insert(peer, link);
    }

    pub(super) fn down(&mut self, peer: Address) {
        self.peers.remove(peer);
    }

    /// Who somebody has proved to be, if it has.
    pub(super) fn identity(&self, who: Address) -> Option<Identity> {
        self.peers.get(who)?.identity
    }

    /// Whether somebody may ask for what needs this.
    pub(super) fn check(&self, who: Address, need: Need) -> Result<(), Refusal> {
        if who.node == self.node {
            return Ok(());
        }
        let not_granted = |text: String| Err(Refusal::new(Reason::NotGranted, text));
        if need == Need::Own {
            return not_granted("who may run programs here is said on this machine alone".to_owned());
        }
        let Some(link) = self.peers.get(who) else {
            return not_granted(format!("nothing is known of {who}"));
        };
        let Some(identity) = link.identity else {
            return match link.class {
                // Who reaches this side without a proof, and from this machine, came through a socket of its user alone.
                LinkClass::Process | LinkClass::Machine => Ok(()),
                LinkClass::Network => not_granted(
                    "over a network nothing is started for who has not proved who it is: use TLS".to_owned(),
                ),
            };
        };
        let known = self.grants.get(&identity).copied();
        let grant = known.unwrap_or_default();
        let (is_granted, word) = match need {
            Need::Nothing | Need::Own if known.is_some() => return Ok(()),
            Need::Nothing | Need::Own => {
                return not_granted("nothing is known here of the identity that asks".to_owned());
            }
            Need::Run => (grant.run, "run"),
            Need::Code => (grant.run && grant.code, "code"),
        };
        if is_granted {
            return Ok(());
        }
        let [a, b, c, d, ..] = identity.0;
        not_granted(format!(
            "the identity {a:02x}{b:02x}{c:02x}{d:02x}... was not granted `{word}` on this machine: grant it here, or join with a token that names it"
        ))
    }
}

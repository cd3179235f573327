//! Who the peers have proved to be, and what that lets them say and ask.
//!
//! A link over which nobody proves anything (shared memory, a Unix socket) comes from a process of this machine's own user, who may ask for all. Over TLS
//!
//! - what a member says counts only where the link proves the identity that the view has for it;
//! - members may ask for all, but to be let in or moved for themselves only; whoever is none may ask for nothing: agents let machines in,
//!   which have seen their tokens.

use super::Membership;
use crate::codec::Request;
use crate::refusal::{Reason, Refusal};
use quintet_contract::{Address, Disconnect, Identity, Outbox, PeerChange};
use quintet_wire::registry::PORT_MEMBERSHIP;
use std::collections::BTreeMap;

/// What is proved of peers, as long as they are there.
#[derive(Debug, Default)]
pub(super) struct Proofs(BTreeMap<Address, Identity>);

impl Proofs {
    /// A peer came or went.
    pub(super) fn take_change(&mut self, peer: Address, change: &PeerChange) {
        match change {
            PeerChange::Up { link, .. } => match link.identity {
                Some(identity) => _ = self.0.insert(peer, identity),
                None => _ = self.0.remove(&peer),
            },
            PeerChange::Down(_) => _ = self.0.remove(&peer),
        }
    }
}

impl Membership {
    /// Whether a peer is the member whose number its node has, as far as that is known. One that is not is turned away.
    pub(super) fn is_who_it_says(&self, from: Address, out: &mut dyn Outbox) -> bool {
        let known = self.view().and_then(|view| view.members.get(&from.node)).map(|member| member.identity);
        let proved = self.proofs.0.get(&from).copied();
        let is_other = matches!((known, proved), (Some(known), Some(proved)) if known != proved);
        if is_other {
            out.disconnect(from, Disconnect::ForGood);
        }
        !is_other
    }

    /// Whether a peer may ask for this.
    ///
    /// # Errors
    /// Why not.
    pub(super) fn may_ask(&self, from: Address, request: &Request) -> Result<(), Refusal> {
        let Some(proved) = self.proofs.0.get(&from) else { return Ok(()) };
        let mut members = self.view().into_iter().flat_map(|view| view.members.values());
        let text = match request {
            _ if !members.any(|member| member.identity == *proved) => {
                "this machine is no member of the cluster: join it with quintet join first"
            }
            // Other members hand on what their callers ask.
            Request::Join { identity, .. } if identity != proved && from.port != PORT_MEMBERSHIP => {
                "a machine may ask for itself only: have its agent asked"
            }
            _ => return Ok(()),
        };
        Err(Refusal::new(Reason::NotAllowed, text))
    }
}

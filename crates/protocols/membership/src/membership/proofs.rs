//! Who the peers have proved to be, and what that lets them say and ask.
//!
//! A link over which nobody proves anything (shared memory, a Unix socket) comes from a process of this machine's own user, who may ask for all. Over TLS
//!
//! - what a member says counts only where the link proves the identity that the view has for it;
//! - members may ask for all, but to be let in or moved for themselves only; whoever is none may ask for nothing: agents let machines in,
//!   which have seen their tokens.
//!
//! A space that is for some machines is removed by these and moved by them, and they say who else may use it. A machine speaks for the processes of its own user, whose requests it hands on.

use super::Membership;
use crate::codec::{ERROR, Request};
use crate::not_allowed::NotAllowed;
use crate::refusal::{Reason, Refusal};
use crate::replacement::Replacement;
use crate::rights::NewRights;
use quintet_contract::{Address, Disconnect, Identity, NodeId, Outbox, PeerChange};
use quintet_wire::registry::{PORT_CALLERS, PORT_MEMBERSHIP};
use quintet_wire::send;
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
    /// Whether who speaks from a member's port is the member whose number its node has. Another one is turned away; whoever has a number that no
    /// member has is not heard: a machine that has just joined is known to the others by the log that its leader has from them. Where there
    /// is no view so far, whoever is linked is one of those that the host was told of when it joined.
    pub(super) fn is_who_it_says(&self, from: Address, out: &mut dyn Outbox) -> bool {
        let (Some(proved), Some(open)) = (self.proofs.0.get(&from), self.open()) else { return true };
        // With what is not committed here so far: after a start that is all that this member knows.
        let (view, latest) = (&open.raft.view, open.raft.latest_view());
        let known = view.members.get(&from.node).or_else(|| latest.members.get(&from.node));
        if known.is_some_and(|member| member.identity != *proved) {
            out.disconnect(from, Disconnect::ForGood);
        }
        match known {
            Some(member) => member.identity == *proved,
            None => latest.members.is_empty(),
        }
    }

    /// Whether a peer may ask for this.
    ///
    /// # Errors
    /// Why not.
    pub(super) fn may_ask(&self, from: Address, request: &Request) -> Result<(), Refusal> {
        let Some(proved) = self.proofs.0.get(&from) else {
            return self.may_manage(self.speaker(from), request);
        };
        let mut members = self.view().into_iter().flat_map(|view| &view.members);
        let asker = members.find(|(_, member)| member.identity == *proved);
        let text = match (asker, request) {
            (None, _) => "this machine is no member of the cluster: join it with quintet join first",
            (Some(_), Request::Join { identity, .. }) if identity == proved => return Ok(()),
            // Other members hand on what their callers ask; none can hand on more than it was granted.
            (Some((_, asker)), Request::Join { grants, .. }) => match from.port {
                PORT_MEMBERSHIP if grants & !asker.grants == 0 => return Ok(()),
                PORT_MEMBERSHIP => "a machine lets others do no more than it may do itself",
                _ => "a machine may ask for itself only: have its agent asked",
            },
            (Some((node, _)), _) => return self.may_manage(*node, request),
        };
        Err(Refusal::new(Reason::NotAllowed, text))
    }

    /// Who speaks that proves nothing: another member on its link, or a process of this machine.
    fn speaker(&self, from: Address) -> NodeId {
        if from.port == PORT_MEMBERSHIP { from.node } else { self.config.node }
    }

    /// Whether a member may ask for this of a space.
    ///
    /// # Errors
    /// Why not.
    fn may_manage(&self, node: NodeId, request: &Request) -> Result<(), Refusal> {
        let (Request::RemoveSpace { name, .. }
        | Request::ReplaceReplica(Replacement { name, .. })
        | Request::SetRights(NewRights { name, .. })) = request
        else {
            return Ok(());
        };
        self.view().map_or(Ok(()), |view| view.check_manages(node, name))
    }

    /// Tells the callers of this node, where there are any, of a peer that may not ask for what it has.
    pub(super) fn tell_not_allowed(&self, who: Address, refusal: &Refusal, out: &mut dyn Outbox) {
        let Some(identity) = self.proofs.0.get(&who).copied() else { return };
        let callers = Address { node: self.config.node, port: PORT_CALLERS };
        let told = NotAllowed { identity, refusal: refusal.clone() };
        let _ = send(out, callers, ERROR, NotAllowed::TOKEN, &told);
    }
}

//! Who may be heard under which number: a rule of the program's own, asked about each new link when it is known who is at its other end.
//!
//! A node's number is only a word of its peer. Where numbers belong to somebody (to the members of a cluster) the program says so with a rule,
//! or whoever is let in could take the number of a node that is away, and keep that one out. It is asked about a link that was accepted when its
//! first frame names the peer, before anything is done for it, and about one that was dialled when the peer has answered.

use crate::engine::Engine;
use crate::event::Event;
use crate::rarely::Rarely;
use quintet_contract::{Identity, LinkInfo, NodeId, Time};
use quintet_link::LinkError;
use std::sync::Arc;

/// Whether who has proved to be that (none: the link asks for no proof) may be heard under that number. It is asked on the thread that runs
/// the node, and must not wait.
pub type NamingRule = Arc<dyn Fn(NodeId, Option<Identity>) -> bool + Send + Sync>;

/// The rule, if there is one, and what was told of refusals by this side and by peers.
#[derive(Default)]
pub(super) struct Naming {
    pub(super) rule: Option<NamingRule>,
    /// Refusals by this side, by whom they met: one who is refused without end hides nobody else.
    own: Rarely<Option<Identity>>,
    peers: Rarely<()>,
}

impl Naming {
    /// Whether who is at the other end of a link may not be heard as that node. Tells of it, unless another one of the same peer was told of a moment ago.
    pub(super) fn refuses(
        &mut self,
        peer: NodeId,
        link: &LinkInfo,
        is_dialled: bool,
        engine: &mut Engine,
        now: Time,
    ) -> bool {
        if self.rule.as_ref().is_none_or(|rule| rule(peer, link.identity)) {
            return false;
        }
        if let Some(before) = self.own.count(link.identity, now) {
            engine.tell(&Event::NameRefused { peer, identity: link.identity, is_dialled, before });
        }
        true
    }

    /// A link that was accepted ended before its peer had a name. Tells of it where the peer has refused this side.
    pub(super) fn ended_unnamed(&mut self, why: &LinkError, engine: &mut Engine, now: Time) {
        if *why == LinkError::Refused
            && let Some(before) = self.peers.count((), now)
        {
            engine.tell(&Event::RefusedByDialler { before });
        }
    }
}

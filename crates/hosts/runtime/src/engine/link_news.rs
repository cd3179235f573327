//! What is found where a peer is dialled, for an instance that wants to know: that its system refuses a connection, and that there is a link again.
//!
//! The end of a link does not say whether the peer's process has ended or the network was cut. The next try says more: the system of a machine
//! whose process was killed refuses it at once.

use super::Engine;
use crate::mailbox::LocalFrame;
use bytes::Bytes;
use quintet_contract::{Address, NodeId, OwnedFrame, Port, Token};
use quintet_wire::encode_to_vec;
use quintet_wire::registry::{LINK_NEWS, PORT_LINKS};
use quintet_wire::services::LinkNews;
use std::collections::BTreeSet;

/// Who is told, and of whom it was told that nobody listens.
#[derive(Default)]
pub(super) struct LinkNewsDesk {
    told: Option<Port>,
    refused: BTreeSet<NodeId>,
}

impl Engine {
    /// From now on the instance at this port is told.
    pub(crate) fn tell_link_news(&mut self, port: Port) {
        self.link_news.told = Some(port);
    }

    /// The system of a peer without a link says that nobody listens where that is dialled.
    pub(crate) fn refused(&mut self, peer: NodeId) {
        if self.link_news.refused.insert(peer) {
            self.tell_of(LinkNews { node: peer, is_refused: true });
        }
    }

    /// There is a link to a peer.
    pub(super) fn linked(&mut self, peer: NodeId) {
        if self.link_news.refused.remove(&peer) {
            self.tell_of(LinkNews { node: peer, is_refused: false });
        }
    }

    fn tell_of(&mut self, news: LinkNews) {
        let Some(port) = self.link_news.told else { return };
        let at = |port| Address { node: self.id, port };
        let (from, to) = (at(PORT_LINKS), at(port));
        let body = encode_to_vec(&news).into();
        let frame = OwnedFrame { kind: LINK_NEWS, token: Token(0), body, bulk: Bytes::new() };
        self.ways.local.push_back(LocalFrame { from, to, frame });
    }
}

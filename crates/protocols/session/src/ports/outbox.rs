//! The way out for an instance: every frame to another node says which instances it is between.

use super::node::Node;
use super::pair::PortPair;
use quintet_contract::limits::PORTS_PREFIX_BYTES;
use quintet_contract::{
    Address, Bytes, CELL_WORDS, Cell, Disconnect, Kind, Outbox, PeerMap, Port, Seen, SendError, Stage, Token,
};
use quintet_wire::registry::{PORTS, is_service};

/// Wraps the outbox below, for one instance.
pub(super) struct PortsOutbox<'a> {
    /// The node's sessions.
    pub(super) me: Address,
    /// The ports of all instances.
    pub(super) ports: &'a [Port],
    /// The index of the one that sends.
    pub(super) instance: usize,
    pub(super) nodes: &'a mut PeerMap<Node>,
    /// Room in which the pair is put in front of the body that goes with bulk.
    pub(super) head: &'a mut Vec<u8>,
    pub(super) out: &'a mut dyn Outbox,
    /// Whether the frame begun has a pair in front.
    pub(super) is_paired: bool,
}

impl PortsOutbox<'_> {
    fn is_own(&self, to: Address) -> bool {
        to.node == self.me.node
    }

    /// Whether a frame may go to a port of the own node. Another instance here is not one that the host knows; and what a service
    /// of the host answers is for the first.
    fn admit_within(&self, to: Port) -> Result<(), SendError> {
        let is_nobody = self.ports.contains(&to) || is_service(to) && self.instance > 0;
        if is_nobody { Err(SendError::Unreachable) } else { Ok(()) }
    }

    /// What goes in front of a frame to another node, and where that node's session is.
    fn address(&self, to: Address, kind: Kind) -> (PortPair, Address) {
        assert!(
            !PORTS.contains(kind),
            "an instance sends a frame of kind {}, the layer's own below it",
            kind.0
        );
        let pair = PortPair { from: self.ports[self.instance], to: to.port };
        (pair, Address { node: to.node, port: self.me.port })
    }
}

/// The refusal as the instance sees it. One for want of room is noted: the instance waits from now on.
#[cold]
fn refusal(nodes: &mut PeerMap<Node>, at: Address, instance: usize, to: Port, error: SendError) -> SendError {
    match error {
        SendError::Full => {
            nodes.get_mut(at).into_iter().for_each(|node| node.note_refusal(instance, to));
            SendError::Full
        }
        SendError::TooLong { len, limit } => SendError::TooLong {
            len: len.saturating_sub(PORTS_PREFIX_BYTES),
            limit: limit.saturating_sub(PORTS_PREFIX_BYTES),
        },
        SendError::Unreachable => SendError::Unreachable,
    }
}

impl Outbox for PortsOutbox<'_> {
    fn begin(
        &mut self,
        to: Address,
        kind: Kind,
        token: Token,
        at_most: usize,
    ) -> Result<&mut [u8], SendError> {
        self.is_paired = !self.is_own(to);
        if !self.is_paired {
            self.admit_within(to.port)?;
            return self.out.begin(to, kind, token, at_most);
        }
        let (pair, at) = self.address(to, kind);
        match self.out.begin(at, kind, token, at_most + PORTS_PREFIX_BYTES) {
            Ok(room) => {
                pair.write(room);
                Ok(&mut room[PORTS_PREFIX_BYTES..])
            }
            Err(error) => Err(refusal(self.nodes, at, self.instance, to.port, error)),
        }
    }

    fn commit(&mut self, len: usize) {
        let prefix = if self.is_paired { PORTS_PREFIX_BYTES } else { 0 };
        self.out.commit(len + prefix);
    }

    fn stamp(&mut self) {
        self.out.stamp();
    }

    fn send_bulk(
        &mut self,
        to: Address,
        kind: Kind,
        token: Token,
        head: &[u8],
        bulk: Bytes,
    ) -> Result<(), SendError> {
        if self.is_own(to) {
            self.admit_within(to.port)?;
            return self.out.send_bulk(to, kind, token, head, bulk);
        }
        let (pair, at) = self.address(to, kind);
        self.head.clear();
        self.head.extend_from_slice(&pair.to_bytes());
        self.head.extend_from_slice(head);
        let sent = self.out.send_bulk(at, kind, token, self.head, bulk);
        sent.map_err(|error| refusal(self.nodes, at, self.instance, to.port, error))
    }

    /// The two nodes' one link: every instance learns of its end.
    fn disconnect(&mut self, peer: Address, how: Disconnect) {
        let peer = if self.is_own(peer) { peer } else { Address { node: peer.node, port: self.me.port } };
        self.out.disconnect(peer, how);
    }

    fn work(&mut self, stage: Stage, units: u32) {
        self.out.work(stage, units);
    }

    fn poke(&mut self, cell: &Cell, words: [u64; CELL_WORDS]) {
        self.out.poke(cell, words);
    }

    fn peek(&mut self, cell: &Cell, seen: &mut Seen) {
        self.out.peek(cell, seen);
    }
}

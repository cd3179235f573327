//! Where the frames of a node's protocols go: to a peer's link, to a service of the host, or to another instance.

use crate::mailbox::Letter;
use crate::services::RunningServices;
use bytes::Bytes;
use quintet_contract::limits::MAX_BODY_BYTES;
use quintet_contract::{Address, Kind, NodeId, Outbox, OwnedFrame, SendError, Token};
use quintet_link::{Route, Sender};
use std::collections::{BTreeMap, VecDeque};

/// The sending half of a peer's link.
pub(crate) struct Outlet {
    pub(crate) sender: Box<dyn Sender>,
    /// Instances that found no room: their address and the peer's.
    pub(crate) refused: Vec<(Address, Address)>,
}

pub(crate) type Outlets = BTreeMap<NodeId, Outlet>;

/// The sending halves of links that instances had closed: what they sent before is still to be flushed.
pub(crate) type Closing = Vec<(NodeId, Outlet)>;

/// Lives for one `handle`.
pub(crate) struct NodeOutbox<'a> {
    pub(crate) from: Address,
    pub(crate) outlets: &'a mut Outlets,
    pub(crate) closing: &'a mut Closing,
    pub(crate) services: &'a RunningServices,
    /// For instances of this node, handled after this one.
    pub(crate) local: &'a mut VecDeque<Letter>,
    pub(crate) begun: Option<Begun>,
}

/// Where the frame begun last goes.
pub(crate) enum Begun {
    Within(Address, Kind, Token, Vec<u8>),
    Link(NodeId),
}

impl NodeOutbox<'_> {
    fn outlet(&mut self, to: Address) -> Result<&mut Outlet, SendError> {
        self.outlets.get_mut(&to.node).ok_or(SendError::Unreachable)
    }

    fn deliver_within(&mut self, to: Address, frame: OwnedFrame) -> Result<(), SendError> {
        match self.services.service(to, frame.kind) {
            Some(service) => service.send((self.from, frame)).map_err(|_| SendError::Unreachable),
            None => {
                self.local.push_back((self.from, to, frame));
                Ok(())
            }
        }
    }
}

impl Outbox for NodeOutbox<'_> {
    fn begin(&mut self, to: Address, kind: Kind, token: Token, len: usize) -> Result<&mut [u8], SendError> {
        if len > MAX_BODY_BYTES {
            return Err(SendError::TooLong { len, limit: MAX_BODY_BYTES });
        }
        if to.node == self.from.node {
            let begun = self.begun.insert(Begun::Within(to, kind, token, vec![0; len]));
            let Begun::Within(.., body) = begun else { unreachable!("it was put there a line above") };
            return Ok(body);
        }
        self.begun = Some(Begun::Link(to.node));
        let from = self.from;
        let route = Route { from, to, kind, token };
        let Outlet { sender, refused } = self.outlet(to)?;
        sender.begin(route, len).inspect_err(|error| {
            if *error == SendError::Full {
                refused.push((from, to));
            }
        })
    }

    fn commit(&mut self) {
        match self.begun.take() {
            Some(Begun::Within(to, kind, token, body)) => {
                let frame = OwnedFrame { kind, token, body: body.into(), bulk: Bytes::new() };
                // A service whose thread ended is like a device that was pulled out: it does not answer.
                let _ = self.deliver_within(to, frame);
            }
            Some(Begun::Link(node)) => {
                if let Some(outlet) = self.outlets.get_mut(&node) {
                    outlet.sender.commit();
                }
            }
            None => panic!("commit follows begin"),
        }
    }

    fn send_bulk(
        &mut self,
        to: Address,
        kind: Kind,
        token: Token,
        head: &[u8],
        bulk: Bytes,
    ) -> Result<(), SendError> {
        let from = self.from;
        if to.node == from.node {
            let frame = OwnedFrame { kind, token, body: Bytes::copy_from_slice(head), bulk };
            return self.deliver_within(to, frame);
        }
        let outlet = self.outlet(to)?;
        let sent = outlet.sender.send_bulk(Route { from, to, kind, token }, head, bulk);
        if sent == Err(SendError::Full) {
            outlet.refused.push((from, to));
        }
        sent
    }
    /// From here on nobody of this node sends to the peer's.
    fn disconnect(&mut self, peer: Address) {
        self.begun = None;
        self.closing.extend(self.outlets.remove_entry(&peer.node));
    }
}

//! Where the frames of a node's protocols go: to a peer's link, to the callers' slots, to a service of the host, or to another
//! instance.

use crate::mailbox::LocalFrame;
use crate::outlets::{Outlet, Outlets};
use crate::services::RunningServices;
use crate::slots::{Answer, Slots};
use bytes::Bytes;
use quintet_contract::limits::MAX_BODY_BYTES;
use quintet_contract::{Address, Disconnect, Draft, Kind, NodeId, Outbox, OwnedFrame, SendError, Token};
use quintet_link::Route;
use quintet_messaging::relay;
use quintet_wire::registry::{CALLS_GO_ON, PORT_CALLERS};
use std::collections::VecDeque;

/// All the ways out of a node.
pub(crate) struct Ways {
    pub(crate) outlets: Outlets,
    /// Links that instances had closed: what they sent before is still to be flushed.
    pub(crate) closing: Vec<(Outlet, Disconnect)>,
    pub(crate) services: RunningServices,
    /// For instances of this node, handled after the one that runs.
    pub(crate) local: VecDeque<LocalFrame>,
    /// Where answers wait for this process's threads. None: what is sent to them goes to an instance at their port.
    pub(crate) slots: Option<Slots>,
    /// Whether what callers ask goes on over the next link, whatever ends this one.
    pub(crate) calls_go_on: bool,
    /// Whether that was said again over this one.
    pub(crate) went_on: bool,
    /// Where an answer is written, as long as the longest so far. Kept from call to call.
    pub(crate) answer: Vec<u8>,
}

/// Lives for one `handle`.
pub(crate) struct EngineOutbox<'a> {
    pub(crate) from: Address,
    pub(crate) ways: &'a mut Ways,
    pub(crate) begun: Option<Begun>,
}

/// Where the frame begun last goes.
pub(crate) enum Begun {
    Caller { kind: Kind, token: Token, at_most: usize },
    Within(Draft),
    Link(NodeId),
}

impl Ways {
    fn answer(&mut self, kind: Kind, token: Token, body: &[u8], bulk: Bytes) {
        let Some(slots) = &mut self.slots else { return };
        if kind == CALLS_GO_ON {
            (self.calls_go_on, self.went_on) = (true, true);
            return;
        }
        match relay::failure(kind, body) {
            Some(code) => slots.fill(token, Err(code)),
            None => slots.fill(token, Ok(Answer { kind, body: body.to_vec(), bulk })),
        }
    }
}

impl EngineOutbox<'_> {
    #[inline]
    fn is_caller(&self, to: Address) -> bool {
        to.port == PORT_CALLERS && to.node == self.from.node && self.ways.slots.is_some()
    }

    fn deliver_within(&mut self, to: Address, frame: OwnedFrame) -> Result<(), SendError> {
        match self.ways.services.service(to) {
            Some(service) => service.send((self.from, frame)),
            None => {
                self.ways.local.push_back(LocalFrame { from: self.from, to, frame });
                Ok(())
            }
        }
    }
}

impl Outbox for EngineOutbox<'_> {
    #[inline]
    fn begin(
        &mut self,
        to: Address,
        kind: Kind,
        token: Token,
        at_most: usize,
    ) -> Result<&mut [u8], SendError> {
        if self.is_caller(to) {
            self.begun = Some(Begun::Caller { kind, token, at_most });
            let room = &mut self.ways.answer;
            if room.len() < at_most {
                room.resize(at_most, 0);
            }
            return Ok(&mut room[..at_most]);
        }
        if to.node == self.from.node {
            if at_most > MAX_BODY_BYTES {
                return Err(SendError::TooLong { len: at_most, limit: MAX_BODY_BYTES });
            }
            self.ways.services.admit(to)?;
            let begun = self.begun.insert(Begun::Within(Draft::new(to, kind, token, at_most)));
            let Begun::Within(draft) = begun else { unreachable!("it was put there a line above") };
            return Ok(draft.room());
        }
        self.begun = Some(Begun::Link(to.node));
        self.ways.outlets.begin(Route { from: self.from, to, kind, token }, at_most)
    }

    fn stamp(&mut self) {
        if let Some(Begun::Link(peer)) = self.begun {
            self.ways.outlets.stamp(peer);
        }
    }

    #[inline]
    fn commit(&mut self, len: usize) {
        match self.begun.take() {
            Some(Begun::Caller { kind, token, at_most }) => {
                assert!(len <= at_most, "{len} bytes were written into room for {at_most}");
                let body = core::mem::take(&mut self.ways.answer);
                self.ways.answer(kind, token, &body[..len], Bytes::new());
                self.ways.answer = body;
            }
            Some(Begun::Within(draft)) => {
                let (to, frame) = draft.commit(len);
                // A service whose thread ended is like a device that was pulled out: it does not answer.
                let _ = self.deliver_within(to, frame);
            }
            Some(Begun::Link(peer)) => self.ways.outlets.commit(peer, len),
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
        if self.is_caller(to) {
            self.ways.answer(kind, token, head, bulk);
            return Ok(());
        }
        if to.node == self.from.node {
            self.ways.services.admit(to)?;
            let frame = OwnedFrame { kind, token, body: Bytes::copy_from_slice(head), bulk };
            return self.deliver_within(to, frame);
        }
        self.ways.outlets.send_bulk(Route { from: self.from, to, kind, token }, head, bulk)
    }

    /// From here on nobody of this node sends to the peer's.
    fn disconnect(&mut self, peer: Address, how: Disconnect) {
        self.begun = None;
        self.ways.closing.extend(self.ways.outlets.remove(peer.node).map(|outlet| (outlet, how)));
    }
}

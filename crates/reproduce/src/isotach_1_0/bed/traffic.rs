//! What a node sends to other nodes and gets from them, counted.

use quintet_contract::limits::HEADER_BYTES;
use quintet_contract::{
    Address, Bytes, Disconnect, Frame, Input, Kind, Outbox, Protocol, SendError, Stage, Time, Token,
};
use quintet_isotach::Node;

/// Frames and their bytes, headers included.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(in super::super) struct Traffic {
    pub(in super::super) frames: u64,
    pub(in super::super) bytes: u64,
}

impl Traffic {
    const fn add(&mut self, bytes: usize) {
        self.frames += 1;
        self.bytes += (HEADER_BYTES + bytes) as u64;
    }
}

/// A node, and what goes between it and others: neither its program nor its own process is one.
#[derive(Debug)]
pub(in super::super) struct Watched {
    me: Address,
    node: Node,
    pub(in super::super) sent: Traffic,
    pub(in super::super) received: Traffic,
}

impl Watched {
    pub(super) fn new(me: Address, node: Node) -> Watched {
        Watched { me, node, sent: Traffic::default(), received: Traffic::default() }
    }
}

impl Protocol for Watched {
    fn handle(&mut self, now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        if let Input::Frame(from, Frame { body, bulk, .. }) = &input
            && from.node != self.me.node
        {
            self.received.add(body.len() + bulk.len());
        }
        let mut out = WatchedOutbox { me: self.me, sent: &mut self.sent, goes_out: false, out };
        self.node.handle(now, input, &mut out);
    }

    fn deadline(&self) -> Option<Time> {
        self.node.deadline()
    }
}

/// Counts what is sent.
struct WatchedOutbox<'a> {
    me: Address,
    sent: &'a mut Traffic,
    /// Whether the frame that was begun last is for another node.
    goes_out: bool,
    out: &'a mut dyn Outbox,
}

impl Outbox for WatchedOutbox<'_> {
    fn begin(
        &mut self,
        to: Address,
        kind: Kind,
        token: Token,
        at_most: usize,
    ) -> Result<&mut [u8], SendError> {
        self.goes_out = to.node != self.me.node;
        self.out.begin(to, kind, token, at_most)
    }

    fn commit(&mut self, len: usize) {
        if self.goes_out {
            self.sent.add(len);
        }
        self.out.commit(len);
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
        let bytes = head.len() + bulk.len();
        self.out.send_bulk(to, kind, token, head, bulk)?;
        if to.node != self.me.node {
            self.sent.add(bytes);
        }
        Ok(())
    }

    fn disconnect(&mut self, peer: Address, how: Disconnect) {
        self.out.disconnect(peer, how);
    }

    fn work(&mut self, stage: Stage, units: u32) {
        self.out.work(stage, units);
    }
}

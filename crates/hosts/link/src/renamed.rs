//! A link to peers that know this node by another number.
//!
//! Who asks a server dials a node of a certain number. A node that stands in for that server has a number of its own, as it has a link to the server as
//! well; its clients need not know: what they send to the one comes to the other, and what that sends comes from the one.

use crate::{End, LinkAddress, LinkError, Listener, NotAccepted, Packets, Receiver, Route, Sender};
use bytes::Bytes;
use core::time::Duration;
use quintet_clock::LiveClock;
use quintet_contract::{Address, Frame, LinkInfo, NodeId, SendError};
use std::os::fd::BorrowedFd;
use std::sync::Arc;

/// A listener at whose address the node `own` is found by those who look for `known_as`.
#[must_use]
pub fn renamed(listener: Box<dyn Listener>, own: NodeId, known_as: NodeId) -> Box<dyn Listener> {
    Box::new(RenamedListener { below: listener, names: Names { own, known_as } })
}

#[derive(Clone, Copy)]
struct Names {
    own: NodeId,
    known_as: NodeId,
}

impl Names {
    /// As peers are told.
    fn outward(self, route: Route) -> Route {
        Route { from: swap(route.from, self.own, self.known_as), ..route }
    }

    /// As this node is told. What is for another number stays so, and is refused.
    fn inward(self, route: Route) -> Route {
        Route { to: swap(route.to, self.known_as, self.own), ..route }
    }
}

fn swap(address: Address, from: NodeId, to: NodeId) -> Address {
    if address.node == from { Address { node: to, ..address } } else { address }
}

struct RenamedListener {
    below: Box<dyn Listener>,
    names: Names,
}

impl Listener for RenamedListener {
    fn accept(&mut self) -> Result<Option<End>, NotAccepted> {
        let names = self.names;
        let end = self.below.accept()?;
        Ok(end.map(|End { sender, receiver }| End {
            sender: Box::new(RenamedSender { below: sender, names }),
            receiver: Box::new(RenamedReceiver { below: receiver, names }),
        }))
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.below.fd()
    }

    fn address(&self) -> LinkAddress {
        self.below.address()
    }
}

struct RenamedSender {
    below: Box<dyn Sender>,
    names: Names,
}

impl Sender for RenamedSender {
    fn begin(&mut self, route: Route, at_most: usize) -> Result<&mut [u8], SendError> {
        self.below.begin(self.names.outward(route), at_most)
    }

    fn commit(&mut self, len: usize) {
        self.below.commit(len);
    }

    fn stamp(&mut self) {
        self.below.stamp();
    }

    fn set_clock(&mut self, clock: LiveClock) {
        self.below.set_clock(clock);
    }

    fn set_packets(&mut self, packets: Packets) {
        self.below.set_packets(packets);
    }

    fn send_bulk(&mut self, route: Route, body: &[u8], bulk: Bytes) -> Result<(), SendError> {
        self.below.send_bulk(self.names.outward(route), body, bulk)
    }

    fn flush(&mut self) -> Result<(), LinkError> {
        self.below.flush()
    }

    fn is_free_to_flush(&self) -> bool {
        self.below.is_free_to_flush()
    }

    fn has_room(&self) -> bool {
        self.below.has_room()
    }

    fn abandon(&mut self) {
        self.below.abandon();
    }

    fn refuse(&mut self) {
        self.below.refuse();
    }

    fn close_within(&mut self, limit: Duration) {
        self.below.close_within(limit);
    }

    fn delivery_rate(&mut self) -> Option<u64> {
        self.below.delivery_rate()
    }

    fn info(&self) -> LinkInfo {
        self.below.info()
    }
}

struct RenamedReceiver {
    below: Box<dyn Receiver>,
    names: Names,
}

impl Receiver for RenamedReceiver {
    fn poll(&mut self, limit: usize, deliver: &mut dyn FnMut(Route, Frame<'_>)) -> Result<usize, LinkError> {
        let names = self.names;
        self.below.poll(limit, &mut |route, frame| deliver(names.inward(route), frame))
    }

    fn has_frames(&self) -> bool {
        self.below.has_frames()
    }

    fn set_clock(&mut self, clock: LiveClock) {
        self.below.set_clock(clock);
    }

    fn awaits_bulk(&self) -> bool {
        self.below.awaits_bulk()
    }

    fn is_free_to_look_at(&self) -> bool {
        self.below.is_free_to_look_at()
    }

    fn wait(&mut self, limit: Option<Duration>) {
        self.below.wait(limit);
    }

    fn set_spin(&mut self, spin: Duration) {
        self.below.set_spin(spin);
    }

    fn waker(&self) -> Arc<dyn Fn() + Send + Sync> {
        self.below.waker()
    }

    fn arm(&mut self) -> bool {
        self.below.arm()
    }

    fn disarm(&mut self) {
        self.below.disarm();
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.below.fd()
    }
}

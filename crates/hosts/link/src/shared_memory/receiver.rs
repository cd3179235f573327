//! The receiving half of an end.

use super::area::PeerArea;
use super::bell::{Ringer, announce, withdraw};
use super::bulk::BulkReader;
use super::connection::Connection;
use super::layout::{RECEIVER_LEFT, SENDER_LEFT};
use super::ring::{Received, RingReader};
use crate::doorbell::strike;
use crate::wait::{Patience, Waiting};
use crate::{LinkError, Receiver, Route};
use core::time::Duration;
use quintet_contract::Frame;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};

/// Empty polls between two looks at the socket, each a system call.
const POLLS_PER_LOOK: u32 = 1024;

/// Reads the peer's memory.
pub(crate) struct SharedReceiver {
    inbound: Inbound,
    bulk: BulkReader<PeerArea>,
    /// Whether the peer's sender waits for room.
    room: Ringer,
    empty_polls: u32,
    failed: Option<LinkError>,
    patience: Patience,
}

/// What a wait looks at.
struct Inbound {
    connection: Arc<Connection>,
    ring: RingReader<PeerArea>,
    /// The socket is closed at the peer's side.
    hung_up: bool,
    /// The peer struck the bell for room.
    room_came: bool,
}

impl Inbound {
    #[inline]
    fn peer_left(&self) -> bool {
        let left = self.connection.peer.left.load(Ordering::Relaxed) & SENDER_LEFT != 0;
        // What it committed before it left is visible from here on.
        fence(Ordering::Acquire);
        left
    }

    fn arm(&self) -> bool {
        self.connection.bell.arm();
        announce(&self.connection.own.frames_bell);
        !self.ready()
    }

    fn disarm(&self) {
        withdraw(&self.connection.own.frames_bell);
        self.connection.bell.disarm();
    }
}

impl Waiting for Inbound {
    #[inline]
    fn ready(&self) -> bool {
        self.ring.has_frame()
            || self.connection.bell.was_rung()
            || self.peer_left()
            || self.hung_up
            || self.room_came
    }

    fn sleep(&mut self, limit: Option<Duration>) {
        if self.arm() {
            let woken = self.connection.sleep(limit);
            self.hung_up |= woken.by_hang_up;
            self.room_came |= woken.by_bell && self.connection.own.room_bell.load(Ordering::Relaxed) & 1 == 1;
        }
        self.disarm();
    }
}

impl SharedReceiver {
    pub(crate) fn new(
        connection: Arc<Connection>,
        ring: RingReader<PeerArea>,
        bulk: BulkReader<PeerArea>,
    ) -> Self {
        SharedReceiver {
            inbound: Inbound { connection, ring, hung_up: false, room_came: false },
            bulk,
            room: Ringer::default(),
            empty_polls: 0,
            failed: None,
            patience: Patience::default(),
        }
    }

    /// Delivers what the ring holds.
    #[inline]
    fn deliver(
        &mut self,
        limit: usize,
        deliver: &mut dyn FnMut(Route, Frame<'_>),
    ) -> Result<usize, LinkError> {
        let mut count = 0;
        while count < limit {
            match self.inbound.ring.next() {
                Ok(Some(frame)) => hand_over(frame, &mut self.bulk, deliver),
                Ok(None) => break,
                Err(what) => {
                    let error = self.fail(LinkError::Malformed(what));
                    return if count > 0 { Ok(count) } else { Err(error) };
                }
            }
            count += 1;
            self.publish();
        }
        Ok(count)
    }

    /// Tells the peer's sender how far everything was read, now and then, and wakes it if it waits for that.
    #[inline]
    fn publish(&mut self) {
        let connection = &*self.inbound.connection;
        let told =
            self.inbound.ring.publish(&connection.own.head) | self.bulk.publish(&connection.own.bulk_head);
        if told && self.room.is_wanted(&connection.peer.room_bell) {
            strike(connection.peer_event.as_fd());
        }
    }

    /// Nothing lies in the ring: does the peer still live?
    fn look_at_the_peer(&mut self) -> Result<(), LinkError> {
        if self.inbound.connection.broken_head.load(Ordering::Relaxed) {
            let what = "the peer says it has read what was never sent".to_owned();
            return Err(self.fail(LinkError::Malformed(what)));
        }
        let left = self.inbound.peer_left();
        if left || self.inbound.hung_up {
            if self.inbound.ring.has_frame() {
                return Ok(());
            }
            return Err(self.fail(if left { LinkError::Closed } else { LinkError::PeerDied }));
        }
        self.empty_polls = (self.empty_polls + 1) % POLLS_PER_LOOK;
        if self.empty_polls == 0 {
            self.inbound.hung_up = self.inbound.connection.has_hung_up();
        }
        Ok(())
    }

    fn fail(&mut self, error: LinkError) -> LinkError {
        self.inbound.connection.failed.store(true, Ordering::Relaxed);
        self.failed.insert(error).clone()
    }
}

#[inline]
fn hand_over(
    frame: Received<'_>,
    bulk: &mut BulkReader<PeerArea>,
    deliver: &mut dyn FnMut(Route, Frame<'_>),
) {
    let Received { header, body, bulk_len } = frame;
    let route = Route { from: header.from, to: header.to, kind: header.kind, token: header.token };
    if bulk_len == 0 {
        return deliver(route, Frame::new(header.kind, header.token, body));
    }
    let bulk = bulk.read(bulk_len);
    deliver(route, Frame { kind: header.kind, token: header.token, body, bulk: &bulk });
}

impl Receiver for SharedReceiver {
    #[inline]
    fn poll(&mut self, limit: usize, deliver: &mut dyn FnMut(Route, Frame<'_>)) -> Result<usize, LinkError> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        let count = self.deliver(limit, deliver)?;
        if count > 0 || limit == 0 {
            return Ok(count);
        }
        self.look_at_the_peer()?;
        // Frames that came before the peer left, and after the first look.
        self.deliver(limit, deliver)
    }

    #[inline]
    fn has_frames(&self) -> bool {
        self.failed.is_none() && self.inbound.ring.has_frame()
    }

    #[inline]
    fn wait(&mut self, limit: Option<Duration>) {
        self.patience.wait(&mut self.inbound, limit);
        self.inbound.room_came = false;
        self.inbound.connection.bell.answer();
    }

    fn waker(&self) -> Arc<dyn Fn() + Send + Sync> {
        let bell = Arc::clone(&self.inbound.connection.bell);
        Arc::new(move || bell.ring())
    }

    fn arm(&mut self) -> bool {
        self.inbound.arm()
    }

    fn disarm(&mut self) {
        self.inbound.disarm();
        self.inbound.connection.bell.answer();
        // Forgets strikes, so that the descriptor is unreadable again.
        self.inbound.hung_up |= self.inbound.connection.sleep(Some(Duration::ZERO)).by_hang_up;
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.inbound.connection.fd()
    }
}

impl Drop for SharedReceiver {
    fn drop(&mut self) {
        self.inbound.connection.own.left.fetch_or(RECEIVER_LEFT, Ordering::Release);
        // A sender that waits for room learns that there will be none.
        strike(self.inbound.connection.peer_event.as_fd());
    }
}

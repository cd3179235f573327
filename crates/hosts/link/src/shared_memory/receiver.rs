//! The receiving half of an end.

use super::area::PeerArea;
use super::bell::{Ringer, announce, withdraw};
use super::bulk::{Bulk, BulkReader, Progress};
use super::connection::Connection;
use super::copied;
use super::layout::{RECEIVER_LEFT, SENDER_LEFT};
use super::lending::{Borrower, Lent};
use super::ring::RingReader;
use crate::moderation::Moderation;
use crate::wait::{Patience, Waiting};
use crate::{LinkError, Receiver, Route};
use core::time::Duration;
use quintet_clock::LiveClock;
use quintet_contract::{Frame, Stamps};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};

/// Empty polls between two looks at the socket, each a system call.
const POLLS_PER_LOOK: u32 = 1024;

/// Reads the peer's memory.
pub(crate) struct SharedReceiver {
    inbound: Inbound,
    /// Whether the peer's sender waits for room.
    room: Ringer,
    empty_polls: u32,
    failed: Option<LinkError>,
    patience: Patience,
}

/// What a look at the ring came to.
enum Step {
    Delivered,
    /// A piece of a frame's bulk was read.
    Nearer,
    Nothing,
}

/// What is read, and what a wait looks at.
struct Inbound {
    connection: Arc<Connection>,
    ring: RingReader<PeerArea>,
    bulk: BulkReader<PeerArea>,
    borrower: Borrower,
    /// The frame read last, while its bulk is still being read. Nothing behind it is looked at.
    unfinished: Option<Route>,
    moderation: Moderation,
    clock: LiveClock,
    /// The wake socket is closed at the peer's side.
    hung_up: bool,
    /// The peer woke this end, which wants room.
    room_came: bool,
}

impl Inbound {
    /// Whether there is a frame, or more of the bulk of the last one.
    #[inline]
    fn has_more(&self) -> bool {
        if self.unfinished.is_some() {
            self.bulk.can_step(&self.connection.peer.bulk_tail)
        } else {
            self.ring.has_frame()
        }
    }

    /// Nothing is left to read.
    #[inline]
    fn emptied(&mut self) {
        self.moderation.emptied(&self.connection.sent);
    }

    /// Whether frames gather.
    #[inline]
    fn gathers(&self) -> bool {
        self.moderation.gathers(&self.connection.sent)
    }

    /// Delivers the next frame, or brings it nearer.
    ///
    /// # Errors
    /// What the peer wrote that is no frame.
    #[inline]
    fn step(&mut self, deliver: &mut dyn FnMut(Route, Frame<'_>)) -> Result<Step, LinkError> {
        if let Some(route) = self.unfinished {
            return Ok(self.step_bulk(route, deliver));
        }
        let Some(frame) = self.ring.next().map_err(LinkError::Malformed)? else { return Ok(Step::Nothing) };
        let header = frame.header;
        let route = Route { from: header.from, to: header.to, kind: header.kind, token: header.token };
        let Some(bulk) = frame.bulk else {
            let stamps = frame.departed.map(|departed| Stamps { departed, arrived: self.clock.now() });
            deliver(
                route,
                Frame { stamps: stamps.as_ref(), ..Frame::new(route.kind, route.token, frame.body) },
            );
            return Ok(Step::Delivered);
        };
        match bulk {
            Bulk::InRing(outline) => {
                self.bulk.begin(outline);
                Ok(self.step_bulk(route, deliver))
            }
            Bulk::Lent(lent) => self.deliver_lent(route, lent, deliver),
        }
    }

    fn deliver_lent(
        &mut self,
        route: Route,
        lent: Lent,
        deliver: &mut dyn FnMut(Route, Frame<'_>),
    ) -> Result<Step, LinkError> {
        let bulk = self.borrower.take(lent, self.connection.descriptors.as_fd())?;
        deliver(route, Frame { bulk: &bulk, ..Frame::new(route.kind, route.token, self.ring.body()) });
        Ok(Step::Delivered)
    }

    fn step_bulk(&mut self, route: Route, deliver: &mut dyn FnMut(Route, Frame<'_>)) -> Step {
        let progress = self.bulk.step(&self.connection.peer.bulk_tail);
        let Progress::Whole(bulk) = progress else {
            self.unfinished = Some(route);
            return if progress == Progress::Piece { Step::Nearer } else { Step::Nothing };
        };
        self.unfinished = None;
        copied::count(bulk.len());
        self.borrower.missed(bulk.len());
        deliver(route, Frame { bulk: &bulk, ..Frame::new(route.kind, route.token, self.ring.body()) });
        Step::Delivered
    }

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

    /// Whether something else than a frame ends a wait.
    #[inline]
    fn was_called(&self) -> bool {
        self.connection.bell.was_rung() || self.peer_left() || self.hung_up || self.room_came
    }

    fn disarm(&self) {
        withdraw(&self.connection.own.frames_bell);
        self.connection.bell.disarm();
    }
}

impl Waiting for Inbound {
    #[inline]
    fn ready(&self) -> bool {
        self.ring.fetch_ahead();
        self.has_more() || self.was_called()
    }

    /// The peer copies the rest of the last frame's bulk.
    fn is_near(&self) -> bool {
        self.unfinished.is_some()
    }

    fn sleep(&mut self, limit: Option<Duration>) {
        if self.arm() {
            let woken = self.connection.sleep(limit);
            self.hung_up |= woken.by_hang_up;
            self.room_came |= woken.by_peer && self.connection.own.room_bell.load(Ordering::Relaxed) & 1 == 1;
        }
        self.disarm();
    }
}

impl SharedReceiver {
    pub(crate) fn new(
        connection: Arc<Connection>,
        ring: RingReader<PeerArea>,
        bulk: BulkReader<PeerArea>,
        borrower: Borrower,
    ) -> Self {
        SharedReceiver {
            inbound: Inbound {
                connection,
                ring,
                bulk,
                borrower,
                unfinished: None,
                moderation: Moderation::default(),
                clock: LiveClock::start(),
                hung_up: false,
                room_came: false,
            },
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
            match self.inbound.step(deliver) {
                Ok(Step::Delivered) => {
                    count += 1;
                    self.inbound.moderation.read();
                }
                Ok(Step::Nearer) => {}
                Ok(Step::Nothing) => break,
                Err(error) => {
                    let error = self.fail(error);
                    return if count > 0 { Ok(count) } else { Err(error) };
                }
            }
            self.publish();
        }
        Ok(count)
    }

    /// Tells the peer's sender how far everything was read, now and then, and wakes it if it waits for that.
    #[inline]
    fn publish(&mut self) {
        let Inbound { connection, ring, bulk, .. } = &mut self.inbound;
        let told = ring.publish(&connection.own.head) | bulk.publish(&connection.own.bulk_head);
        if told && self.room.is_wanted(&connection.peer.room_bell) {
            connection.peer_waker.wake();
        }
    }

    /// Nothing lies in the ring: does the peer still live?
    fn look_at_the_peer(&mut self) -> Result<(), LinkError> {
        if let Some(error) = self.inbound.connection.failure.get().cloned() {
            return Err(self.fail(error));
        }
        let left = self.inbound.peer_left();
        if left || self.inbound.hung_up {
            if self.inbound.has_more() {
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

    #[cold]
    fn fail_inherited(&mut self) -> LinkError {
        self.fail(LinkError::inherited())
    }

    fn fail(&mut self, error: LinkError) -> LinkError {
        self.inbound.connection.failed.store(true, Ordering::Relaxed);
        self.failed.insert(error).clone()
    }
}

impl Receiver for SharedReceiver {
    fn set_spin(&mut self, spin: Duration) {
        self.patience = Patience::new(spin);
    }

    #[inline]
    fn poll(&mut self, limit: usize, deliver: &mut dyn FnMut(Route, Frame<'_>)) -> Result<usize, LinkError> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        if self.inbound.connection.is_inherited() {
            return Err(self.fail_inherited());
        }
        if self.inbound.gathers() {
            return Ok(0);
        }
        let count = self.deliver(limit, deliver)?;
        if count > 0 || limit == 0 {
            return Ok(count);
        }
        self.inbound.emptied();
        self.look_at_the_peer()?;
        // Frames that came before the peer left, and after the first look.
        self.deliver(limit, deliver)
    }

    #[inline]
    fn has_frames(&self) -> bool {
        self.failed.is_none() && !self.inbound.gathers() && self.inbound.has_more()
    }

    fn set_clock(&mut self, clock: LiveClock) {
        self.inbound.clock = clock;
    }

    fn awaits_bulk(&self) -> bool {
        self.inbound.is_near()
    }

    #[inline]
    fn wait(&mut self, limit: Option<Duration>) {
        if self.inbound.connection.is_inherited() {
            return;
        }
        if self.inbound.gathers() {
            self.inbound.moderation.gather(&self.inbound.connection.sent, || self.inbound.was_called());
        }
        self.patience.wait(&mut self.inbound, limit);
        self.inbound.room_came = false;
        self.inbound.connection.bell.answer();
    }

    fn waker(&self) -> Arc<dyn Fn() + Send + Sync> {
        let bell = Arc::clone(&self.inbound.connection.bell);
        Arc::new(move || bell.ring())
    }

    fn arm(&mut self) -> bool {
        !self.inbound.connection.is_inherited() && self.inbound.arm()
    }

    fn disarm(&mut self) {
        if self.inbound.connection.is_inherited() {
            return;
        }
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
        if self.inbound.connection.is_inherited() {
            return;
        }
        self.inbound.connection.own.left.fetch_or(RECEIVER_LEFT, Ordering::Release);
        // A sender that waits for room learns that there will be none.
        self.inbound.connection.peer_waker.wake();
    }
}

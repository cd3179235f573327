//! The sending half of an end.

use super::area::OwnArea;
use super::bell::{Ringer, announce, withdraw};
use super::bulk::{BULK_OUTLINE_BYTES, Bulk, BulkWriter};
use super::connection::Connection;
use super::copied;
use super::layout::{EARLY_WAKE_BYTES, FRAME_BULK_BYTES, PIECE_BYTES, RECEIVER_LEFT, SENDER_LEFT};
use super::lending::{Lender, SEGMENT_BYTES, Way};
use super::memory::BulkPages;
use super::ring::{Outline, Refused, RingWriter};
use crate::{LinkError, Route, Sender};
use bytes::Bytes;
use quintet_clock::LiveClock;
use quintet_contract::SendError;
use quintet_contract::limits::MAX_BODY_BYTES;
use quintet_contract::{LinkClass, LinkInfo};
use quintet_wire::STAMP_BYTES;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// A burst of more frames than this is likely to go on.
const FEW_FRAMES: u32 = 4;

/// Writes into this side's memory.
pub(crate) struct SharedSender {
    connection: Arc<Connection>,
    ring: RingWriter<OwnArea>,
    bulk: BulkWriter<OwnArea>,
    pages: BulkPages,
    lender: Lender,
    frames: Ringer,
    /// Whether the frame begun is to be stamped.
    stamped: bool,
    clock: LiveClock,
    /// Frames committed since the last flush.
    unannounced: u32,
    /// What was refused last, while the room bell asks for room.
    wanted: Option<Outline>,
}

impl SharedSender {
    pub(crate) fn new(
        connection: Arc<Connection>,
        ring: RingWriter<OwnArea>,
        bulk: BulkWriter<OwnArea>,
        pages: BulkPages,
    ) -> Self {
        let (frames, clock) = (Ringer::default(), LiveClock::start());
        SharedSender {
            connection,
            ring,
            bulk,
            pages,
            lender: Lender::default(),
            frames,
            stamped: false,
            clock,
            unannounced: 0,
            wanted: None,
        }
    }

    /// Reserves room, or asks to be woken when there is some.
    #[inline]
    fn reserve(&mut self, outline: Outline) -> Result<(), SendError> {
        if self.connection.failed.load(Ordering::Relaxed) || self.connection.is_inherited() {
            return Err(SendError::Unreachable);
        }
        match self.try_reserve(outline) {
            Ok(()) => {
                if self.wanted.is_some_and(|wanted| takes_no_less(outline, wanted)) {
                    self.want_nothing();
                }
                Ok(())
            }
            Err(refused) => self.ask_for_room(outline, refused),
        }
    }

    #[inline]
    fn try_reserve(&mut self, outline: Outline) -> Result<(), Refused> {
        let peer = &self.connection.peer;
        self.ring.begin(outline, &peer.head)?;
        let in_bulk_ring = outline.in_bulk_ring();
        if in_bulk_ring > 0 && !self.bulk.has_room(in_bulk_ring, &peer.bulk_head) {
            self.ring.abandon();
            return Err(Refused::Full);
        }
        Ok(())
    }

    /// Announces that room is wanted, then looks again: the reader may have read on before it could see that.
    #[cold]
    fn ask_for_room(&mut self, outline: Outline, refused: Refused) -> Result<(), SendError> {
        let refused = match refused {
            Refused::Full => {
                announce(&self.connection.own.room_bell);
                self.try_reserve(outline)
            }
            Refused::Broken => Err(refused),
        };
        match refused {
            Ok(()) => {
                if self.wanted.is_none_or(|wanted| takes_no_less(outline, wanted)) {
                    self.want_nothing();
                }
                Ok(())
            }
            Err(Refused::Full) if self.peer_left() => Err(SendError::Unreachable),
            Err(Refused::Full) => {
                self.wanted = Some(outline);
                Err(SendError::Full)
            }
            Err(Refused::Broken) => {
                let what = "the peer says it has read what was never sent".to_owned();
                self.connection.fail(LinkError::Malformed(what));
                Err(SendError::Unreachable)
            }
        }
    }

    /// Whoever was refused has room now. A shorter frame that went meanwhile is no reason to ask for none.
    fn want_nothing(&mut self) {
        self.wanted = None;
        withdraw(&self.connection.own.room_bell);
    }

    /// Whether the peer receives no more; then nothing can be sent from here on.
    fn peer_left(&self) -> bool {
        let left = self.connection.peer.left.load(Ordering::Relaxed) & RECEIVER_LEFT != 0;
        if left {
            self.connection.failed.store(true, Ordering::Relaxed);
        }
        left
    }

    /// Writes the bulk for which room was reserved, and its frame after the first piece. The receiver copies a
    /// piece while the next one is written. If it sleeps it is woken after the first piece of long bulk, and only then and by the
    /// flush: where both share a core, each wake-up takes it away.
    fn send_pieces(&mut self, body: &[u8], bulk: &[u8]) -> Result<(), SendError> {
        let (lead, rest) = bulk.split_at(bulk.len().min(PIECE_BYTES));
        let outline = self.bulk.begin(bulk.len(), lead.len());
        if let Err(errno) = self.pages.provide(self.bulk.end(bulk.len())) {
            self.ring.abandon();
            self.connection.fail(LinkError::System(format!("find memory for bulk data: {errno}")));
            return Err(SendError::Unreachable);
        }
        copied::count(bulk.len());
        self.write_body(Bulk::InRing(outline), body);
        self.bulk.write(lead);
        self.commit(BULK_OUTLINE_BYTES + body.len());
        if bulk.len() >= EARLY_WAKE_BYTES {
            self.wake_peer();
        }
        for piece in rest.chunks(PIECE_BYTES) {
            self.bulk.write(piece);
            self.bulk.publish(&self.connection.own.bulk_tail);
        }
        Ok(())
    }

    /// Lends the bulk for whose frame room was reserved. False if it cannot be lent now.
    fn lend(&mut self, body: &[u8], bulk: &Bytes, way: Way) -> bool {
        let Connection { peer, descriptors, .. } = &*self.connection;
        let Some(lent) = self.lender.lend(bulk, way, peer, descriptors.as_fd()) else { return false };
        self.write_body(Bulk::Lent(lent), body);
        self.commit(BULK_OUTLINE_BYTES + body.len());
        true
    }

    /// Writes what a frame with bulk holds into the room reserved for it.
    fn write_body(&mut self, bulk: Bulk, body: &[u8]) {
        let (told, room) = self.ring.room().split_at_mut(BULK_OUTLINE_BYTES);
        told.copy_from_slice(&bulk.to_bytes());
        room.copy_from_slice(body);
    }

    #[inline]
    fn wake_peer(&mut self) {
        if self.frames.is_wanted(&self.connection.peer.frames_bell) {
            self.connection.peer_waker.wake();
        }
    }

    fn fits(&self, outline: Outline) -> bool {
        let peer = &self.connection.peer;
        // A head that cannot be is reported by the next `begin`, so let it come.
        self.ring.has_room(outline.inline_len, &peer.head).unwrap_or(true)
            && (outline.in_bulk_ring() == 0 || self.bulk.has_room(outline.in_bulk_ring(), &peer.bulk_head))
    }
}

/// Whether a frame takes no less room than the other.
fn takes_no_less(frame: Outline, other: Outline) -> bool {
    frame.inline_len >= other.inline_len && frame.in_bulk_ring() >= other.in_bulk_ring()
}

impl Sender for SharedSender {
    #[inline]
    fn begin(&mut self, route: Route, at_most: usize) -> Result<&mut [u8], SendError> {
        if at_most > MAX_BODY_BYTES {
            self.ring.abandon();
            return Err(SendError::TooLong { len: at_most, limit: MAX_BODY_BYTES });
        }
        self.stamped = false;
        self.reserve(Outline { route, inline_len: at_most + STAMP_BYTES, bulk_len: 0, is_lent: false })?;
        Ok(&mut self.ring.room()[..at_most])
    }

    #[inline]
    fn commit(&mut self, len: usize) {
        let departed = core::mem::take(&mut self.stamped).then(|| self.clock.now());
        self.ring.commit(len, departed);
        self.unannounced = self.unannounced.saturating_add(1);
        if self.unannounced > FEW_FRAMES {
            self.ring.fetch_ahead();
        }
    }

    fn stamp(&mut self) {
        self.stamped = true;
    }

    fn set_clock(&mut self, clock: LiveClock) {
        self.clock = clock;
    }

    fn send_bulk(&mut self, route: Route, body: &[u8], bulk: Bytes) -> Result<(), SendError> {
        self.stamped = false;
        if bulk.len() > SEGMENT_BYTES {
            self.ring.abandon();
            return Err(SendError::TooLong { len: bulk.len(), limit: SEGMENT_BYTES });
        }
        if bulk.is_empty() || body.len() > MAX_BODY_BYTES {
            self.begin(route, body.len())?.copy_from_slice(body);
            self.commit(body.len());
            return Ok(());
        }
        let outline = Outline {
            route,
            inline_len: BULK_OUTLINE_BYTES + body.len(),
            bulk_len: bulk.len(),
            is_lent: true,
        };
        self.lender.collect(&self.connection.peer);
        if let Some(way) = self.lender.way(&bulk, &self.connection.peer) {
            self.reserve(outline)?;
            if self.lend(body, &bulk, way) {
                return Ok(());
            }
        }
        if bulk.len() > FRAME_BULK_BYTES {
            self.ring.abandon();
            return Err(SendError::TooLong { len: bulk.len(), limit: FRAME_BULK_BYTES });
        }
        self.reserve(Outline { is_lent: false, ..outline })?;
        self.send_pieces(body, &bulk)
    }

    #[inline]
    fn flush(&mut self) -> Result<(), LinkError> {
        self.lender.collect(&self.connection.peer);
        if core::mem::take(&mut self.unannounced) == 0 {
            return Ok(());
        }
        self.connection.sent.note();
        self.wake_peer();
        // What was sent may have been received before the peer left, so that is told by the next `begin` and by `poll`.
        self.peer_left();
        Ok(())
    }

    fn has_room(&self) -> bool {
        let Some(outline) = self.wanted else { return true };
        // That an end is inherited is told by the next `begin`, so let it come.
        if self.connection.is_inherited() || self.fits(outline) {
            return true;
        }
        announce(&self.connection.own.room_bell);
        self.fits(outline)
    }

    fn info(&self) -> LinkInfo {
        LinkInfo::new(LinkClass::Machine, SEGMENT_BYTES)
    }
}

impl Drop for SharedSender {
    fn drop(&mut self) {
        if self.connection.is_inherited() {
            return;
        }
        self.connection.own.left.fetch_or(SENDER_LEFT, Ordering::Release);
        self.connection.peer_waker.wake();
    }
}

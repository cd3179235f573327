//! The sending half of an end.

use super::check::{check_in_place, check_more, set_check};
use super::connection::{Checksums, Connection};
use super::delivery::Delivery;
use super::layout::{BULK_LENGTH_BYTES, FRAME_BULK_BYTES, SENDER_LEFT, SENDER_REFUSES};
use super::outgoing::{Cost, Outgoing, Piece, write, write_pieces};
use super::tls::sealer::Sealer;
use crate::credentials::Proof;
use crate::pages::Pages;
use crate::{LinkError, Packets, Route, Sender};
use bytes::Bytes;
use core::time::Duration;
use quintet_clock::LiveClock;
use quintet_contract::limits::{HEADER_BYTES, MAX_BODY_BYTES};
use quintet_contract::{LinkClass, LinkInfo, SendError};
use quintet_wire::{Header, STAMP_BYTES};
use rustix::io::Errno;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

/// Writes one direction of a link.
pub(super) struct StreamSender {
    connection: Arc<Connection>,
    batch: Batch,
    /// The frame begun last, and the room for its body.
    begun: Option<(Route, usize)>,
    /// Whether the frame begun is to be stamped.
    is_stamped: bool,
    clock: LiveClock,
    /// The number of the next frame.
    sequence: u32,
    /// Whether frames carry a checksum.
    is_checked: bool,
    packets: Packets,
    delivery: Delivery,
    info: LinkInfo,
}

/// Frames since the last flush, encoded where they lie.
struct Batch {
    buffer: Pages,
    filled: usize,
    /// Bulk, and how many bytes of the buffer come before it.
    bulk: Vec<(usize, Bytes)>,
    bulk_bytes: usize,
    /// Where writes end before the last one, in bytes from the front: after the header of each frame, and after each frame. Empty where a frame is one
    /// packet.
    cuts: Vec<usize>,
}

/// Bytes of a batch.
enum Segment<'a> {
    Frames(&'a [u8]),
    Bulk(&'a Bytes),
}

impl<'a> Segment<'a> {
    fn bytes(&self) -> &'a [u8] {
        match self {
            Segment::Frames(bytes) => bytes,
            Segment::Bulk(bytes) => bytes,
        }
    }

    /// What comes after the first bytes, to be kept: bulk is not copied.
    fn piece(&self, skip: usize) -> Piece {
        match self {
            Segment::Frames(bytes) => Piece { bytes: Bytes::copy_from_slice(&bytes[skip..]), is_bulk: false },
            Segment::Bulk(bytes) => Piece { bytes: bytes.slice(skip..), is_bulk: true },
        }
    }
}

impl Batch {
    fn new(buffer: Pages) -> Self {
        Batch { buffer, filled: 0, bulk: Vec::new(), bulk_bytes: 0, cuts: Vec::new() }
    }

    fn cost(&self) -> Cost {
        Cost { frame_bytes: self.filled, bulk_bytes: self.bulk_bytes }
    }

    fn clear(&mut self) {
        self.filled = 0;
        self.bulk_bytes = 0;
        self.bulk.clear();
        self.cuts.clear();
    }

    /// Frames and their bulk.
    fn bytes(&self) -> usize {
        self.filled + self.bulk_bytes
    }

    /// Where each write ends, if the socket takes it at once.
    fn ends(&self) -> impl Iterator<Item = usize> {
        let inner = self.cuts.iter().copied().filter(|cut| *cut < self.bytes());
        inner.chain(core::iter::once(self.bytes()))
    }

    fn segments(&self) -> impl Iterator<Item = Segment<'_>> {
        let mut start = 0;
        let mut bulk = self.bulk.iter();
        let pairs = core::iter::from_fn(move || {
            if start > self.filled {
                return None;
            }
            let next = bulk.next();
            let end = next.map_or(self.filled, |(end, _)| *end);
            let frames = Segment::Frames(&self.buffer[start..end]);
            start = if next.is_some() { end } else { self.filled + 1 };
            Some([Some(frames), next.map(|(_, bulk)| Segment::Bulk(bulk))])
        });
        pairs.flatten().flatten()
    }

    /// What comes after the first `skip` bytes.
    fn after(&self, mut skip: usize) -> impl Iterator<Item = (Segment<'_>, usize)> {
        self.segments().map(move |segment| {
            let skipped = skip.min(segment.bytes().len());
            skip -= skipped;
            (segment, skipped)
        })
    }

    /// Writes as much as the socket takes. How much, and what it said where that is not all.
    fn write_out(&self, socket: BorrowedFd<'_>) -> (usize, Result<(), Errno>) {
        let mut sent = 0;
        for end in self.ends() {
            while sent < end {
                match self.write(socket, sent, end) {
                    Ok(count) => sent += count,
                    Err(errno) => return (sent, Err(errno)),
                }
            }
        }
        (sent, Ok(()))
    }

    /// Writes some of what lies between these two, with one system call.
    fn write(&self, socket: BorrowedFd<'_>, sent: usize, end: usize) -> Result<usize, Errno> {
        if self.bulk.is_empty() {
            return write(socket, &self.buffer[sent..end]);
        }
        write_pieces(socket, self.between(sent, end).filter(|piece| !piece.is_empty()))
    }

    /// The bytes after the first `skip`, and before `end`.
    fn between(&self, skip: usize, end: usize) -> impl Iterator<Item = &[u8]> {
        let mut left = end - skip;
        self.after(skip).map(move |(segment, skip)| {
            let rest = &segment.bytes()[skip..];
            let taken = &rest[..rest.len().min(left)];
            left -= taken.len();
            taken
        })
    }

    /// As [`Batch::write_out`], encrypted. How much was, which is more than the socket takes where that takes no more.
    fn write_sealed(&self, sealer: &mut Sealer, socket: BorrowedFd<'_>) -> (usize, Result<(), Errno>) {
        let mut sealed = 0;
        for end in self.ends() {
            while sealed < end {
                for piece in self.between(sealed, end) {
                    let count = match sealer.seal(piece) {
                        Ok(count) => count,
                        Err(errno) => return (sealed, Err(errno)),
                    };
                    sealed += count;
                    if count < piece.len() {
                        break;
                    }
                }
                if let Err(errno) = sealer.write_out(socket) {
                    return (sealed, Err(errno));
                }
            }
        }
        (sealed, Ok(()))
    }
}

impl StreamSender {
    /// Gathers frames in that buffer, of `layout::SEND_BYTES`.
    pub(super) fn new(
        connection: Arc<Connection>,
        buffer: Pages,
        checksums: Checksums,
        class: LinkClass,
        proof: Option<Proof>,
    ) -> Self {
        let is_checked = checksums == Checksums::Crc32c;
        let info = LinkInfo {
            may_be_cut: true,
            identity: proof.map(|proof| proof.identity),
            holds_token: proof.is_some_and(|proof| !proof.is_of_cluster),
            ..LinkInfo::new(class, FRAME_BULK_BYTES)
        };
        StreamSender {
            connection,
            batch: Batch::new(buffer),
            begun: None,
            is_stamped: false,
            clock: LiveClock::start(),
            sequence: 0,
            is_checked,
            packets: Packets::One,
            delivery: Delivery::default(),
            info,
        }
    }

    /// Sees that there is room, or asks to be woken when there is some.
    #[inline]
    fn admit(&mut self, cost: Cost) -> Result<(), SendError> {
        if self.connection.is_broken() || self.connection.is_inherited() {
            return Err(SendError::Unreachable);
        }
        if !self.connection.has_unsent() && cost.fits_beside(self.batch.cost()) {
            return Ok(());
        }
        self.make_room(cost)
    }

    #[cold]
    fn make_room(&mut self, cost: Cost) -> Result<(), SendError> {
        let unsent = self.connection.outgoing().cost();
        let batch = self.batch.cost();
        let together = Cost {
            frame_bytes: unsent.frame_bytes + batch.frame_bytes,
            bulk_bytes: unsent.bulk_bytes + batch.bulk_bytes,
        };
        if cost.fits_beside(together) {
            return Ok(());
        }
        self.hand_over();
        if self.connection.is_broken() {
            return Err(SendError::Unreachable);
        }
        let mut outgoing = self.connection.outgoing();
        if cost.fits_beside(outgoing.cost()) {
            // A longer frame that was refused still waits.
            outgoing.wanted = outgoing.wanted.filter(|wanted| !cost.is_no_less_than(*wanted));
            return Ok(());
        }
        outgoing.wanted = Some(cost);
        Err(SendError::Full)
    }

    /// Writes the batch, and behind it that there will be no more: once, and not where nothing can be sent.
    fn say_farewell(&mut self, word: u32) {
        if self.connection.is_inherited() || self.connection.is_broken() {
            return;
        }
        self.hand_over();
        let mut outgoing = self.connection.outgoing();
        if !core::mem::replace(&mut outgoing.sender_left, true) {
            let farewell = Bytes::copy_from_slice(&word.to_le_bytes());
            outgoing.append(Piece { bytes: farewell, is_bulk: false });
        }
        self.connection.write_out(&mut outgoing);
    }

    /// Writes the batch; what the socket does not take is outgoing, behind what was before.
    fn hand_over(&mut self) {
        self.delivery.look(self.connection.socket());
        let mut outgoing = self.connection.outgoing();
        if outgoing.is_empty() {
            let (count, written) = match &mut outgoing.sealer {
                Some(sealer) => self.batch.write_sealed(sealer, self.connection.socket()),
                None => self.batch.write_out(self.connection.socket()),
            };
            if written.is_err() {
                keep(&mut outgoing, &self.batch, count);
                self.connection.wrote(&mut outgoing, written);
            }
        } else {
            keep(&mut outgoing, &self.batch, 0);
            self.connection.write_out(&mut outgoing);
        }
        self.batch.clear();
    }

    /// Ends the frame that lies behind what is filled, with so many bytes behind its header and so many of bulk behind that.
    /// Gives what lies in the buffer.
    #[inline]
    fn finish(&mut self, route: Route, inline_len: usize, bulk_len: usize) -> &mut [u8] {
        let Route { from, to, kind, token } = route;
        let front = HEADER_BYTES + inline_len;
        let length = u32::try_from(front + bulk_len).expect("limits lie below 4 GiB");
        let (sequence, has_bulk) = (self.sequence, bulk_len > 0);
        let is_stamped = core::mem::take(&mut self.is_stamped);
        if self.packets == Packets::Two {
            let start = self.batch.bytes();
            self.batch.cuts.extend([start + HEADER_BYTES, start + length as usize]);
        }
        let header = Header { length, kind, has_bulk, is_stamped, token, from, to, sequence, check: 0 };
        let frame = &mut self.batch.buffer[self.batch.filled..self.batch.filled + front];
        frame[..HEADER_BYTES].copy_from_slice(&header.to_bytes());
        self.batch.filled += front;
        self.sequence = sequence.wrapping_add(1);
        frame
    }

    /// Room behind what is filled and a header.
    fn room(&mut self, inline_len: usize) -> &mut [u8] {
        let start = self.batch.filled + HEADER_BYTES;
        &mut self.batch.buffer[start..start + inline_len]
    }
}

/// Keeps what comes after the first bytes of the batch.
fn keep(outgoing: &mut Outgoing, batch: &Batch, sent: usize) {
    for (segment, skip) in batch.after(sent) {
        outgoing.append(segment.piece(skip));
    }
}

impl Sender for StreamSender {
    #[inline]
    fn begin(&mut self, route: Route, at_most: usize) -> Result<&mut [u8], SendError> {
        (self.begun, self.is_stamped) = (None, false);
        if at_most > MAX_BODY_BYTES {
            return Err(SendError::TooLong { len: at_most, limit: MAX_BODY_BYTES });
        }
        self.admit(Cost { frame_bytes: HEADER_BYTES + at_most + STAMP_BYTES, bulk_bytes: 0 })?;
        self.begun = Some((route, at_most));
        Ok(self.room(at_most))
    }

    #[inline]
    fn commit(&mut self, len: usize) {
        let (route, at_most) = self.begun.take().expect("commit follows begin");
        assert!(len <= at_most, "{len} bytes were written into room for {at_most}");
        let (is_checked, mut inline_len) = (self.is_checked, len);
        if self.is_stamped {
            let departed = self.clock.now();
            self.room(len + STAMP_BYTES)[len..].copy_from_slice(&departed.0.to_le_bytes());
            inline_len += STAMP_BYTES;
        }
        let frame = self.finish(route, inline_len, 0);
        if is_checked {
            let check = check_in_place(frame);
            set_check(frame, check);
        }
    }

    fn stamp(&mut self) {
        self.is_stamped = true;
    }

    fn set_clock(&mut self, clock: LiveClock) {
        self.clock = clock;
    }

    fn set_packets(&mut self, packets: Packets) {
        self.packets = packets;
    }

    fn send_bulk(&mut self, route: Route, body: &[u8], bulk: Bytes) -> Result<(), SendError> {
        (self.begun, self.is_stamped) = (None, false);
        if bulk.len() > FRAME_BULK_BYTES {
            return Err(SendError::TooLong { len: bulk.len(), limit: FRAME_BULK_BYTES });
        }
        if bulk.is_empty() || body.len() > MAX_BODY_BYTES {
            self.begin(route, body.len())?.copy_from_slice(body);
            self.commit(body.len());
            return Ok(());
        }
        let inline_len = BULK_LENGTH_BYTES + body.len();
        self.admit(Cost { frame_bytes: HEADER_BYTES + inline_len, bulk_bytes: bulk.len() })?;
        self.delivery.begin(bulk.len(), self.connection.socket());
        let (told, room) = self.room(inline_len).split_at_mut(BULK_LENGTH_BYTES);
        let len = u32::try_from(bulk.len()).expect("limits lie below 4 GiB");
        told.copy_from_slice(&len.to_le_bytes());
        room.copy_from_slice(body);
        let is_checked = self.is_checked;
        let frame = self.finish(route, inline_len, bulk.len());
        if is_checked {
            let check = check_more(check_in_place(frame), &bulk);
            set_check(frame, check);
        }
        self.batch.bulk_bytes += bulk.len();
        self.batch.bulk.push((self.batch.filled, bulk));
        Ok(())
    }

    fn flush(&mut self) -> Result<(), LinkError> {
        if self.connection.is_inherited() {
            return Ok(());
        }
        if self.batch.filled > 0 {
            self.connection.sent.note();
            self.hand_over();
        } else {
            self.connection.write_unsent();
        }
        // What was sent may have been received before the peer left, so that is told by the next `begin` and by `poll`.
        self.connection.failure().map_or(Ok(()), |error| Err(error.clone()))
    }

    fn is_free_to_flush(&self) -> bool {
        false
    }

    fn has_room(&self) -> bool {
        // That nothing can be sent is told by the next `begin`, so let it come.
        if !self.connection.has_unsent() || self.connection.is_inherited() || self.connection.is_broken() {
            return true;
        }
        let mut outgoing = self.connection.outgoing();
        self.connection.write_out(&mut outgoing);
        outgoing.wanted.is_none() || outgoing.grants()
    }

    fn abandon(&mut self) {
        self.connection.break_off();
    }

    fn refuse(&mut self) {
        self.say_farewell(SENDER_REFUSES);
    }

    fn close_within(&mut self, limit: Duration) {
        self.say_farewell(SENDER_LEFT);
        self.connection.write_all(limit);
    }

    fn delivery_rate(&mut self) -> Option<u64> {
        self.delivery.rate(self.connection.socket())
    }

    fn info(&self) -> LinkInfo {
        self.info
    }
}

impl Drop for StreamSender {
    fn drop(&mut self) {
        self.say_farewell(SENDER_LEFT);
    }
}

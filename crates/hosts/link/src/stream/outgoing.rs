//! What was sent and did not fit into the socket: both halves of an end write it out, whichever comes first.

use super::layout::{SEND_BULK_BYTES, SEND_BYTES};
use super::tls::sealer::Sealer;
use bytes::{Buf, Bytes};
use rustix::io::{Errno, IoSlice, retry_on_intr};
use rustix::net::{SendAncillaryBuffer, SendFlags, send, sendmsg};
use std::collections::VecDeque;
use std::os::fd::BorrowedFd;

/// Never blocks, and a peer that left is no signal.
const FLAGS: SendFlags = SendFlags::NOSIGNAL.union(SendFlags::DONTWAIT);
/// Pieces that one system call writes.
const PIECES: usize = 32;

/// What a frame takes of the room.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Cost {
    /// Of frames without their bulk.
    pub(super) frame_bytes: usize,
    /// Of bulk.
    pub(super) bulk_bytes: usize,
}

impl Cost {
    /// Whether there is room for this beside the other.
    pub(super) fn fits_beside(self, other: Cost) -> bool {
        self.frame_bytes + other.frame_bytes <= SEND_BYTES
            && (self.bulk_bytes == 0 || self.bulk_bytes + other.bulk_bytes <= SEND_BULK_BYTES)
    }

    /// Whether this is no less than the other.
    pub(super) fn is_no_less_than(self, other: Cost) -> bool {
        self.frame_bytes >= other.frame_bytes && self.bulk_bytes >= other.bulk_bytes
    }
}

/// Some bytes of the stream.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    pub(super) bytes: Bytes,
    pub(super) is_bulk: bool,
}

/// The unsent rest.
#[derive(Debug, Default)]
pub(super) struct Outgoing {
    pieces: VecDeque<Piece>,
    cost: Cost,
    /// What was refused last, while its sender waits for room.
    pub(super) wanted: Option<Cost>,
    /// Whether the end is woken when the socket can take more.
    pub(super) is_watched: bool,
    /// The sender left; nothing comes behind its farewell.
    pub(super) sender_left: bool,
    /// Over TLS: encrypts what is written.
    pub(super) sealer: Option<Sealer>,
}

impl Outgoing {
    pub(super) fn is_empty(&self) -> bool {
        self.pieces.is_empty() && self.sealer.as_ref().is_none_or(Sealer::is_empty)
    }

    /// What is unsent.
    pub(super) fn cost(&self) -> Cost {
        self.cost
    }

    pub(super) fn append(&mut self, piece: Piece) {
        if piece.bytes.is_empty() {
            return;
        }
        *self.share(piece.is_bulk) += piece.bytes.len();
        self.pieces.push_back(piece);
    }

    fn share(&mut self, is_bulk: bool) -> &mut usize {
        if is_bulk { &mut self.cost.bulk_bytes } else { &mut self.cost.frame_bytes }
    }

    /// Nothing of it can be sent any more.
    pub(super) fn discard(&mut self) {
        self.pieces.clear();
        self.cost = Cost::default();
        self.sealer.iter_mut().for_each(Sealer::discard);
    }

    /// Whether what was refused last would fit now. Then nobody waits any more.
    pub(super) fn grants(&mut self) -> bool {
        let granted = self.wanted.is_some_and(|wanted| wanted.fits_beside(self.cost));
        if granted {
            self.wanted = None;
        }
        granted
    }

    /// Writes as much as the socket takes.
    ///
    /// # Errors
    /// [`Errno::AGAIN`]: it takes no more now. Others: it will take no more at all.
    pub(super) fn write_out(&mut self, socket: BorrowedFd<'_>) -> Result<(), Errno> {
        if let Some(mut sealer) = self.sealer.take() {
            let written = self.write_sealed(&mut sealer, socket);
            self.sealer = Some(sealer);
            return written;
        }
        while !self.pieces.is_empty() {
            let count = write_pieces(socket, self.pieces.iter().map(|piece| &piece.bytes[..]))?;
            self.sent(count);
        }
        Ok(())
    }

    fn write_sealed(&mut self, sealer: &mut Sealer, socket: BorrowedFd<'_>) -> Result<(), Errno> {
        loop {
            while let Some(piece) = self.pieces.front() {
                match sealer.seal(&piece.bytes)? {
                    0 => break,
                    count => self.sent(count),
                }
            }
            if self.pieces.is_empty() && self.sender_left {
                sealer.close();
            }
            sealer.write_out(socket)?;
            if self.pieces.is_empty() {
                return Ok(());
            }
        }
    }

    fn sent(&mut self, mut count: usize) {
        while count > 0 {
            let Some(piece) = self.pieces.front_mut() else { return };
            let step = count.min(piece.bytes.len());
            piece.bytes.advance(step);
            let (is_bulk, is_done) = (piece.is_bulk, piece.bytes.is_empty());
            *self.share(is_bulk) -= step;
            count -= step;
            if is_done {
                self.pieces.pop_front();
            }
        }
    }
}

/// Writes the first of these pieces with one system call, as far as the socket takes them.
///
/// # Errors
/// What the system said; interruptions are tried again.
pub(super) fn write_pieces<'a>(
    socket: BorrowedFd<'_>,
    pieces: impl Iterator<Item = &'a [u8]>,
) -> Result<usize, Errno> {
    let mut slices = [IoSlice::new(&[]); PIECES];
    let mut len = 0;
    for (slice, piece) in slices.iter_mut().zip(pieces) {
        *slice = IoSlice::new(piece);
        len += 1;
    }
    retry_on_intr(|| sendmsg(socket, &slices[..len], &mut SendAncillaryBuffer::default(), FLAGS))
}

/// Writes what lies in one piece, as far as the socket takes it.
///
/// # Errors
/// What the system said; interruptions are tried again.
#[inline]
pub(super) fn write(socket: BorrowedFd<'_>, bytes: &[u8]) -> Result<usize, Errno> {
    retry_on_intr(|| send(socket, bytes, FLAGS))
}

//! What comes, decrypted: record by record, into the memory of the reader of frames.

use super::session::{RECORD_BYTES, RECORD_OVERHEAD, Shared, Step, record_bytes};
use crate::LinkError;
use crate::stream::layout::READ_BYTES;
use crate::stream::reader::{FrameReader, Room};
use core::ops::Range;
use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};
use std::os::fd::BorrowedFd;

/// What a record may be long. A longer one is refused as soon as its header is there.
const LONGEST_RECORD: usize = RECORD_BYTES + RECORD_OVERHEAD;
/// The buffer: what is left of a record, and one read behind it.
const BUFFER_BYTES: usize = LONGEST_RECORD + READ_BYTES;

/// Decrypts one direction of a link.
pub(crate) struct Opener {
    session: Shared,
    buffer: Box<[u8]>,
    /// What was received and not decrypted.
    filled: Range<usize>,
    /// What was decrypted and did not fit into the reader, which takes whole frames first.
    plain: Vec<u8>,
    /// How much of that went since.
    poured: usize,
}

/// How the stream goes on.
#[derive(Debug)]
pub(crate) enum Received {
    /// Something came, or was there.
    Some,
    /// Something came, and it was all that there was.
    All,
    /// Nothing.
    Nothing,
    /// The peer said that nothing more comes.
    Closed,
    /// The stream has ended without that.
    HungUp,
}

impl Opener {
    /// Goes on behind a greeting: with what was received and decrypted beyond it.
    pub(super) fn new(session: Shared, received: &[u8], plain: Vec<u8>) -> Self {
        let mut buffer: Box<[u8]> = vec![0; BUFFER_BYTES].into();
        buffer[..received.len()].copy_from_slice(received);
        Opener { session, buffer, filled: 0..received.len(), plain, poured: 0 }
    }

    /// Whether there is something for the reader, without a look at the socket.
    #[inline]
    pub(crate) fn has_more(&self) -> bool {
        self.poured < self.plain.len() || self.record().is_some()
    }

    /// The bytes of the next record, if it is whole.
    #[inline]
    fn record(&self) -> Option<usize> {
        let len = record_bytes(&self.buffer[self.filled.clone()])?;
        (len <= self.filled.len() || len > LONGEST_RECORD).then(|| len.min(self.filled.len()))
    }

    /// Decrypts what is there, with one read at most, while the reader has room.
    ///
    /// # Errors
    /// What came is not what the peer sent, or the system refuses.
    pub(crate) fn receive(
        &mut self,
        socket: BorrowedFd<'_>,
        reader: &mut FrameReader,
    ) -> Result<Received, LinkError> {
        match self.decrypt(reader)? {
            Received::Nothing => {}
            other => return Ok(other),
        }
        self.make_room();
        let room = &mut self.buffer[self.filled.end..];
        let asked = room.len();
        let count = match recv(socket, room, RecvFlags::DONTWAIT) {
            Ok((_, 0)) => return Ok(Received::HungUp),
            Ok((_, count)) => count,
            Err(Errno::AGAIN | Errno::INTR) => return Ok(Received::Nothing),
            Err(errno) if crate::stream::connection::is_end(errno) => return Ok(Received::HungUp),
            Err(errno) => return Err(LinkError::System(format!("cannot receive: {errno}"))),
        };
        self.filled.end += count;
        match self.decrypt(reader)? {
            Received::Closed => Ok(Received::Closed),
            _ if count == asked || self.has_more() => Ok(Received::Some),
            _ => Ok(Received::All),
        }
    }

    /// Decrypts whole records while the reader has room for more than them.
    fn decrypt(&mut self, reader: &mut FrameReader) -> Result<Received, LinkError> {
        let mut received = Received::Nothing;
        loop {
            if self.poured < self.plain.len() {
                received = Received::Some;
                self.poured += pour(reader, &self.plain[self.poured..]);
                if self.poured < self.plain.len() {
                    return Ok(received);
                }
            }
            let Some(len) = self.record() else { return Ok(received) };
            self.plain.clear();
            self.poured = 0;
            match self.open(len, reader)? {
                Step::PeerClosed => return Ok(Received::Closed),
                _ => received = Received::Some,
            }
        }
    }

    /// Decrypts one record.
    fn open(&mut self, len: usize, reader: &mut FrameReader) -> Result<Step, LinkError> {
        let record = &mut self.buffer[self.filled.start..self.filled.start + len];
        let plain = &mut self.plain;
        let take = &mut |bytes: &[u8]| {
            let poured = pour(reader, bytes);
            plain.extend_from_slice(&bytes[poured..]);
        };
        let mut session = self.session.lock();
        let mut done = 0;
        let step = loop {
            let (discard, step) = session.open(&mut record[done..], take);
            done += discard;
            match step.map_err(|error| LinkError::Damaged(error.to_string()))? {
                Step::Took | Step::Again if done < len => {}
                step => break step,
            }
        };
        self.filled.start += len;
        Ok(step)
    }

    /// Room for a record, and for a read.
    fn make_room(&mut self) {
        if self.filled.is_empty() {
            self.filled = 0..0;
        } else if self.buffer.len() - self.filled.end < READ_BYTES {
            self.buffer.copy_within(self.filled.clone(), 0);
            self.filled = 0..self.filled.len();
        }
    }
}

/// Gives the reader what it has room for. How much that is.
fn pour(reader: &mut FrameReader, bytes: &[u8]) -> usize {
    let mut poured = 0;
    while poured < bytes.len() {
        let rest = &bytes[poured..];
        let count = match reader.room() {
            None => break,
            Some(Room::Bulk(room)) => {
                let count = room.len().min(rest.len());
                room[..count].write_copy_of_slice(&rest[..count]);
                count
            }
            Some(Room::Buffer(room)) => {
                let count = room.len().min(rest.len());
                room[..count].copy_from_slice(&rest[..count]);
                count
            }
        };
        reader.received(count);
        poured += count;
    }
    poured
}

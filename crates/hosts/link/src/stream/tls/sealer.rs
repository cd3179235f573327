//! What goes, encrypted: a few records at a time, in one buffer.

use super::session::{RECORD_BYTES, Shared};
use crate::stream::outgoing::write;
use core::ops::Range;
use rustix::io::Errno;
use rustls::unbuffered::EncryptError;
use std::os::fd::BorrowedFd;

/// Records that are made before they are written.
const RECORDS: usize = 4;
/// What a record of data is longer than the data: header, type and tag.
const OVERHEAD: usize = 5 + 1 + 16;
/// For what the library has to say between them: a change of keys, a farewell.
const SPARE_BYTES: usize = 512;
/// The buffer.
const BUFFER_BYTES: usize = RECORDS * (RECORD_BYTES + OVERHEAD) + SPARE_BYTES;

/// Encrypts one direction of a link.
pub(crate) struct Sealer {
    session: Shared,
    buffer: Box<[u8]>,
    /// What was encrypted and not written.
    filled: Range<usize>,
    /// It was said that nothing more comes.
    is_closed: bool,
}

impl core::fmt::Debug for Sealer {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Sealer").field("filled", &self.filled).finish_non_exhaustive()
    }
}

impl Sealer {
    pub(super) fn new(session: Shared) -> Self {
        Sealer { session, buffer: vec![0; BUFFER_BYTES].into(), filled: 0..0, is_closed: false }
    }

    /// Whether everything was written.
    pub(crate) fn is_empty(&self) -> bool {
        self.filled.is_empty()
    }

    /// Encrypts the front of the bytes: as much as there is room for. How much.
    ///
    /// # Errors
    /// The session has failed.
    pub(crate) fn seal(&mut self, bytes: &[u8]) -> Result<usize, Errno> {
        let room = (self.buffer.len() - self.filled.end).saturating_sub(SPARE_BYTES);
        let rest = (room % (RECORD_BYTES + OVERHEAD)).saturating_sub(OVERHEAD);
        let count = bytes.len().min(room / (RECORD_BYTES + OVERHEAD) * RECORD_BYTES + rest);
        if count == 0 {
            return Ok(0);
        }
        let written = self.session.lock().seal(&bytes[..count], &mut self.buffer[self.filled.end..]);
        self.sealed(written).map(|()| count)
    }

    /// Says, once, that nothing more comes.
    pub(crate) fn close(&mut self) {
        if !core::mem::replace(&mut self.is_closed, true) {
            let written = self.session.lock().seal_close(&mut self.buffer[self.filled.end..]);
            // Where it cannot be said any more, the peer sees a cut.
            let _ = self.sealed(written);
        }
    }

    fn sealed(&mut self, written: Result<usize, EncryptError>) -> Result<(), Errno> {
        // The receiving half tells why a session has failed.
        self.filled.end += written.map_err(|_| Errno::PIPE)?;
        Ok(())
    }

    /// Writes what was encrypted.
    ///
    /// # Errors
    /// [`Errno::AGAIN`]: the socket takes no more now. Others: it will take no more at all.
    pub(crate) fn write_out(&mut self, socket: BorrowedFd<'_>) -> Result<(), Errno> {
        while !self.filled.is_empty() {
            self.filled.start += write(socket, &self.buffer[self.filled.clone()])?;
        }
        self.filled = 0..0;
        Ok(())
    }

    /// Nothing can be written any more.
    pub(crate) fn discard(&mut self) {
        self.filled = 0..0;
    }
}

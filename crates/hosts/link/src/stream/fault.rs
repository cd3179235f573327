//! What came that is no frame, and whose fault that is.

use super::check::{CHECK_AT, check_in_place, check_more};
use crate::LinkError;
use quintet_contract::limits::HEADER_BYTES;

/// What a reader tells from now on, or will tell.
#[derive(Debug)]
pub(super) enum Fault {
    /// For good.
    Certain(LinkError),
    /// Frames carry checksums, and the checksum of this one is not known.
    Suspected(Suspect),
}

/// A frame of which the length may be right and something else cannot be. Its checksum tells whether its sender made it so or it was
/// changed on its way; until all of it has come, what comes is counted and forgotten.
#[derive(Debug)]
pub(super) struct Suspect {
    what: String,
    /// The checksum that it carries.
    told: u32,
    /// The checksum of what came.
    check: u32,
    /// Bytes that have not come.
    left: usize,
}

impl Suspect {
    /// A frame of `len` bytes.
    pub(super) fn new(what: String, header: &mut [u8; HEADER_BYTES], len: usize) -> Self {
        let told = header.last_chunk().map_or(0, |told| u32::from_le_bytes(*told));
        Suspect { what, told, check: check_in_place(header), left: len - HEADER_BYTES }
    }

    /// Takes the front of what came behind its header. How many bytes of it are this frame's, and the fault from now on.
    pub(super) fn absorb(mut self, came: &[u8]) -> (usize, Fault) {
        let count = self.left.min(came.len());
        self.check = check_more(self.check, &came[..count]);
        self.left -= count;
        let fault = match self.left {
            0 if self.check == self.told => Fault::Certain(LinkError::Malformed(self.what)),
            0 => Fault::Certain(LinkError::Damaged(self.what)),
            _ => Fault::Suspected(self),
        };
        (count, fault)
    }
}

const _: () = assert!(CHECK_AT + 4 == HEADER_BYTES, "a header ends with its checksum");

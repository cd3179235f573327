//! Reads a file back: what is whole, what is torn by a crash, what is damaged.
//!
//! Torn is what a crash leaves of a batch that was not synced: the file ends within a record, or a sector of the record was never written
//! and reads as zeros, and nothing behind it belongs to a later batch. It is cut off; nobody was told of it. All else that cannot be read
//! is damage, and so is whatever cannot be read in the part that was put in place as a whole: bytes that were durable have changed. Then
//! nothing is guessed (Alagappan and others, "Protocol-Aware Recovery for Consensus-Based Storage", 2018: a log cut at a damaged entry
//! loses what was acknowledged).

use super::Format;
use super::frame::{Found, look};
use super::header::{HEADER_BYTES, sealed};
use core::fmt;

/// What a disk writes whole or not at all.
const SECTOR_BYTES: usize = 512;

/// Bytes that were done with are given back when they are so many.
const DONE_BYTES: usize = 4 * 1024 * 1024;

/// A file as it is read, piece by piece. What lies in memory of it is what is not read yet, and a few pieces.
#[derive(Debug)]
pub struct Recovery {
    format: Format,
    /// The bytes from `begin` on, so far.
    bytes: Vec<u8>,
    begin: u64,
    /// Where in `bytes` the next record begins.
    at: usize,
    /// How long the file is.
    length: u64,
    /// Where the first part ends, once that is known.
    sealed: Option<u64>,
    /// Something was found that cannot be read: what it is, the rest of the file says.
    is_faulty: bool,
}

/// Why a file cannot be read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Unreadable {
    /// What was durable has changed.
    Damage {
        /// Where the record begins that cannot be read.
        offset: u64,
        /// What is wrong with it.
        problem: String,
    },
    /// Another version has written it.
    Version {
        /// Which.
        found: u32,
        /// Which is read.
        read: u32,
    },
    /// It begins as no such file does.
    OtherFile,
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unreadable::Damage { offset, problem } => {
                write!(f, "the log is damaged at byte {offset}: {problem}")
            }
            Unreadable::Version { found, read } => write!(
                f,
                "the log is of version {found}, and this program reads version {read}: start the program that has written it"
            ),
            Unreadable::OtherFile => f.write_str("the file is no log of this kind"),
        }
    }
}

impl core::error::Error for Unreadable {}

impl Recovery {
    /// Nothing read so far.
    #[must_use]
    pub fn new(format: Format) -> Recovery {
        Recovery { format, bytes: Vec::new(), begin: 0, at: 0, length: 0, sealed: None, is_faulty: false }
    }

    /// Nothing read so far, of a file of a kind that had no header yet. All but its first record was appended.
    #[must_use]
    pub fn without_header(format: Format) -> Recovery {
        Recovery { sealed: Some(1), ..Recovery::new(format) }
    }

    /// How much was taken.
    #[must_use]
    pub fn taken(&self) -> u64 {
        self.begin + self.bytes.len() as u64
    }

    /// Up to where everything was read, and handed out.
    #[must_use]
    pub fn whole(&self) -> u64 {
        self.begin + self.at as u64
    }

    /// How much of a torn batch lies behind that. Where nothing but zeros follow, none was begun: a host may keep room ready there.
    #[must_use]
    pub fn torn(&self) -> u64 {
        let rest = &self.bytes[self.at..];
        rest.iter().rposition(|byte| *byte != 0).map_or(0, |last| last as u64 + 1)
    }

    /// Whether all of the file was taken.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.taken() >= self.length
    }

    /// Takes the next bytes of a file of this length, and hands out each record that is whole now. What is left when all was taken is torn.
    ///
    /// # Errors
    /// The file cannot be read, or `record` says why what it was handed is none.
    pub fn take(
        &mut self,
        piece: &[u8],
        length: u64,
        record: &mut dyn FnMut(&[u8]) -> Result<(), String>,
    ) -> Result<(), Unreadable> {
        self.length = length;
        self.bytes.extend_from_slice(piece);
        if self.length == 0 {
            return Ok(());
        }
        if self.sealed.is_none() {
            if self.bytes.len() < HEADER_BYTES && !self.is_complete() {
                return Ok(());
            }
            self.sealed = Some(sealed(&self.format, &self.bytes, length)?);
            self.at = HEADER_BYTES;
        }
        self.hand_out(record)?;
        if self.at > DONE_BYTES && !self.is_faulty {
            self.bytes.drain(..self.at);
            self.begin += core::mem::take(&mut self.at) as u64;
        }
        Ok(())
    }

    fn hand_out(&mut self, record: &mut dyn FnMut(&[u8]) -> Result<(), String>) -> Result<(), Unreadable> {
        // Where something is wrong, only the end of the file says whether a crash has left it.
        while self.at < self.bytes.len() && (!self.is_faulty || self.is_complete()) {
            let (problem, end) = match look(&self.format, &self.bytes, self.at) {
                Found::Whole(kept, end) => {
                    let offset = self.begin + self.at as u64;
                    record(kept).map_err(|problem| Unreadable::Damage { offset, problem })?;
                    self.at = end;
                    continue;
                }
                Found::Unended if !self.is_complete() => return Ok(()),
                Found::Unended => ("the file ends within a record", None),
                Found::Wrong(problem, end) => (problem, Some(end.unwrap_or(self.at + 8))),
            };
            self.is_faulty = true;
            if !self.is_complete() {
                return Ok(());
            }
            return match self.whole() >= self.sealed.unwrap_or(0) && self.is_torn(end) {
                true => Ok(()),
                false => Err(Unreadable::Damage { offset: self.whole(), problem: problem.to_owned() }),
            };
        }
        Ok(())
    }

    /// Whether what cannot be read, to that end, is what a crash left of a batch that was not synced. Without an end the file ends within it.
    fn is_torn(&self, end: Option<usize>) -> bool {
        end.is_none_or(|end| self.has_unwritten_sector(end)) && !self.has_later_batch()
    }

    /// Whether the part of some sector that lies between the place read last and another one reads as zeros.
    fn has_unwritten_sector(&self, to: usize) -> bool {
        let skipped = usize::try_from(self.begin % SECTOR_BYTES as u64).unwrap_or(0);
        let mut at = self.at;
        while at < to.min(self.bytes.len()) {
            let next = ((at + skipped) / SECTOR_BYTES + 1) * SECTOR_BYTES - skipped;
            let end = next.min(self.bytes.len());
            if self.bytes[at..end].iter().all(|byte| *byte == 0) {
                return true;
            }
            at = next;
        }
        false
    }

    /// Whether a record behind the place read last is of a batch that began behind it: then that place was durable.
    fn has_later_batch(&self) -> bool {
        let (begin, from) = (self.begin, self.whole());
        (self.at + 1..self.bytes.len()).any(|place| {
            // Before the check, which reads all of it, what the record says of its batch: most places say something else.
            let batch = self.bytes.get(place + 8..).and_then(|rest| rest.first_chunk::<8>());
            let is_later = batch.is_some_and(|batch| {
                let batch = u64::from_le_bytes(*batch);
                batch > from && batch <= begin + place as u64
            });
            is_later && matches!(look(&self.format, &self.bytes, place), Found::Whole(..))
        })
    }
}

//! Reading a recording record by record. The layout stands in `quintet_wire::journal`.

use crate::verdict::ReplayError;
use quintet_wire::journal::{HEAD_BYTES, JOURNAL_MAGIC, JOURNAL_VERSION, MAX_ENTRY_BYTES};
use std::io::Read;

/// A recording that is being read.
pub(crate) struct Recording<R> {
    file: R,
    /// Where the record read last begins, in bytes.
    pub(crate) offset: u64,
    next_offset: u64,
}

impl<R: Read> Recording<R> {
    pub(crate) fn open(mut file: R) -> Result<Self, ReplayError> {
        let mut head = Vec::new();
        file.by_ref().take(8).read_to_end(&mut head).map_err(ReplayError::Io)?;
        if head != [JOURNAL_MAGIC, JOURNAL_VERSION.to_le_bytes()].concat() {
            return Err(ReplayError::NotARecording { found: head });
        }
        Ok(Recording { file, offset: 8, next_offset: 8 })
    }

    /// The next record's entry; none where the file stops, inside a record perhaps.
    pub(crate) fn next(&mut self) -> Result<Option<Vec<u8>>, ReplayError> {
        self.offset = self.next_offset;
        let head = self.read(HEAD_BYTES)?;
        if head.len() < HEAD_BYTES {
            return Ok(None);
        }
        let word = |i: usize| u32::from_le_bytes([head[i], head[i + 1], head[i + 2], head[i + 3]]);
        let (length, check) = (word(0) as usize, word(4));
        if crc32fast::hash(&head[..8]) != word(8) {
            return Err(self.damaged("the checksum of a record's length does not fit"));
        }
        if length > MAX_ENTRY_BYTES {
            return Err(self.damaged(&format!("a length of {length} bytes")));
        }
        let entry = self.read(length)?;
        if entry.len() < length {
            return Ok(None);
        }
        if crc32fast::hash(&entry) != check {
            return Err(self.damaged("the checksum does not fit"));
        }
        self.next_offset += (HEAD_BYTES + length) as u64;
        Ok(Some(entry))
    }

    /// After the last record.
    ///
    /// # Errors
    /// There is more.
    pub(crate) fn end(&mut self) -> Result<(), ReplayError> {
        self.offset = self.next_offset;
        if self.read(1)?.is_empty() { Ok(()) } else { Err(self.damaged("more follows the end")) }
    }

    /// Up to `length` bytes; room grows as they are really there.
    fn read(&mut self, length: usize) -> Result<Vec<u8>, ReplayError> {
        let mut bytes = Vec::new();
        self.file.by_ref().take(length as u64).read_to_end(&mut bytes).map_err(ReplayError::Io)?;
        Ok(bytes)
    }

    fn damaged(&self, problem: &str) -> ReplayError {
        ReplayError::Damaged { offset: self.offset, problem: problem.to_owned() }
    }
}

//! Reading a recording record by record. The layout stands in `quintet_wire::journal`.

use crate::verdict::ReplayError;
use quintet_wire::journal::{JOURNAL_MAGIC, JOURNAL_VERSION, MAX_ENTRY_BYTES};
use std::io::Read;

/// A recording that is being read.
pub(crate) struct Recording<R> {
    file: R,
    /// Where the record read last begins, in bytes.
    pub(crate) offset: u64,
    next_offset: u64,
    /// Whether the file ends inside a record.
    pub(crate) cut_short: bool,
}

impl<R: Read> Recording<R> {
    pub(crate) fn open(mut file: R) -> Result<Self, ReplayError> {
        let mut head = Vec::new();
        file.by_ref().take(8).read_to_end(&mut head).map_err(ReplayError::Io)?;
        if head != [JOURNAL_MAGIC, JOURNAL_VERSION.to_le_bytes()].concat() {
            return Err(ReplayError::NotARecording { found: head });
        }
        Ok(Recording { file, offset: 8, next_offset: 8, cut_short: false })
    }

    /// The next record's entry; none at the end.
    pub(crate) fn next(&mut self) -> Result<Option<Vec<u8>>, ReplayError> {
        self.offset = self.next_offset;
        let prefix = self.read(8)?;
        if prefix.len() < 8 {
            self.cut_short = !prefix.is_empty();
            return Ok(None);
        }
        let word = |i: usize| u32::from_le_bytes([prefix[i], prefix[i + 1], prefix[i + 2], prefix[i + 3]]);
        let (length, check) = (word(0) as usize, word(4));
        if length > MAX_ENTRY_BYTES {
            return Err(self.damaged(format!("a length of {length} bytes")));
        }
        let entry = self.read(length)?;
        if entry.len() < length {
            self.cut_short = true;
            return Ok(None);
        }
        if crc32fast::hash(&entry) != check {
            return Err(self.damaged("the checksum does not fit".to_owned()));
        }
        self.next_offset += 8 + length as u64;
        Ok(Some(entry))
    }

    /// Up to `length` bytes; room grows as they are really there.
    fn read(&mut self, length: usize) -> Result<Vec<u8>, ReplayError> {
        let mut bytes = Vec::new();
        self.file.by_ref().take(length as u64).read_to_end(&mut bytes).map_err(ReplayError::Io)?;
        Ok(bytes)
    }

    fn damaged(&self, problem: String) -> ReplayError {
        ReplayError::Damaged { offset: self.offset, problem }
    }
}

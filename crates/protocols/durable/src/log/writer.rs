//! Lays out batches: one at a time, each durable before the next begins.

use super::Format;
use super::frame::write;
use super::header::{HEADER_BYTES, header};

/// Bytes for the disk, and where they go.
#[derive(PartialEq, Eq, Debug)]
pub enum Batch {
    /// All of the file: in the place of what is there, at once or not at all.
    Whole(Vec<u8>),
    /// Behind what is there.
    Behind(Vec<u8>),
}

/// The end of the file.
#[derive(Debug)]
pub struct Writer {
    format: Format,
    /// Where the next batch begins.
    end: u64,
    /// Where the part ends that was put in place as a whole.
    sealed: u64,
    /// Records for the next batch, as they lie in the file.
    gathered: Vec<u8>,
    /// Whether that batch takes the place of all that is there.
    is_whole: bool,
    /// Whether a batch is on its way.
    is_syncing: bool,
    /// Batches that were begun, and those that are durable.
    begun: u64,
    durable: u64,
}

impl Writer {
    /// Writes a file anew: the first batch takes the place of all that is there.
    #[must_use]
    pub fn new(format: Format) -> Writer {
        let (end, sealed, begun, durable) = (0, 0, 0, 0);
        let gathered = vec![0; HEADER_BYTES];
        Writer { format, end, sealed, gathered, is_whole: true, is_syncing: false, begun, durable }
    }

    /// How long the file is, with the batch on its way.
    #[must_use]
    pub fn length(&self) -> u64 {
        self.end
    }

    /// Whether the file is to be written anew before the next batch: it is more than twice as long as it was then, and so many bytes.
    #[must_use]
    pub fn is_long(&self, spare: u64) -> bool {
        !self.is_syncing && self.end > 2 * self.sealed + spare
    }

    /// The next batch takes the place of all that is there: the records that are kept from now on hold all that was taken so far.
    pub fn begin_anew(&mut self) {
        self.gathered.clear();
        self.gathered.resize(HEADER_BYTES, 0);
        self.is_whole = true;
    }

    /// Takes a record for the next batch.
    ///
    /// # Panics
    /// It is longer than the format allows.
    pub fn keep(&mut self, record: impl FnOnce(&mut Vec<u8>)) {
        let batch = if self.is_whole { 0 } else { self.end };
        write(&self.format, batch, record, &mut self.gathered);
    }

    /// The batch after which all that was taken so far is durable.
    #[must_use]
    pub fn batch(&self) -> u64 {
        self.begun + u64::from(!self.gathered.is_empty())
    }

    /// Whether a batch is durable.
    #[must_use]
    pub fn is_durable(&self, batch: u64) -> bool {
        batch <= self.durable
    }

    /// Whether what takes the place of the whole file is on its way.
    #[must_use]
    pub fn is_written_anew(&self) -> bool {
        self.is_syncing && self.end == self.sealed
    }

    /// Whether a batch could begin.
    #[must_use]
    pub fn is_waiting(&self) -> bool {
        !self.is_syncing && !self.gathered.is_empty()
    }

    /// Begins a batch, if none is on its way and there is something to be kept. Whoever asks has the disk write it, and make it durable.
    pub fn begin(&mut self) -> Option<Batch> {
        if !self.is_waiting() {
            return None;
        }
        self.is_syncing = true;
        self.begun += 1;
        let mut bytes = core::mem::take(&mut self.gathered);
        if core::mem::take(&mut self.is_whole) {
            (self.end, self.sealed) = (bytes.len() as u64, bytes.len() as u64);
            bytes[..HEADER_BYTES].copy_from_slice(&header(&self.format, self.sealed));
            return Some(Batch::Whole(bytes));
        }
        self.end += bytes.len() as u64;
        Some(Batch::Behind(bytes))
    }

    /// The batch on its way is durable.
    pub fn synced(&mut self) {
        (self.is_syncing, self.durable) = (false, self.begun);
    }
}

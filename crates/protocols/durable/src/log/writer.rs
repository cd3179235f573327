//! Lays out batches, and knows which are durable.

use super::Format;
use super::frame::write;
use super::header::{HEADER_BYTES, header};
use std::collections::VecDeque;

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
    /// Where the batches end that are on their way, the oldest first; and how many may be.
    under_way: VecDeque<u64>,
    most_under_way: usize,
    /// Batches that were begun, and those that are durable.
    begun: u64,
    durable: u64,
    /// Where the durable ones end.
    durable_end: u64,
}

impl Writer {
    /// Writes a file anew: the first batch takes the place of all that is there. One batch is on its way at a time.
    #[must_use]
    pub fn new(format: Format) -> Writer {
        Writer::with_several_under_way(format, 1)
    }

    /// The same, with at most so many batches on their way. What takes the place of all that is there is on its way alone.
    ///
    /// # Panics
    /// There are none of them.
    #[must_use]
    pub fn with_several_under_way(format: Format, most_under_way: usize) -> Writer {
        assert!(most_under_way > 0, "a writer of no batches");
        Writer {
            format,
            end: 0,
            sealed: 0,
            gathered: vec![0; HEADER_BYTES],
            is_whole: true,
            under_way: VecDeque::new(),
            most_under_way,
            begun: 0,
            durable: 0,
            durable_end: 0,
        }
    }

    /// How long the file is, with the batches on their way.
    #[must_use]
    pub fn length(&self) -> u64 {
        self.end
    }

    /// Whether the file is to be written anew before the next batch: it is more than twice as long as it was then, and so many bytes.
    /// Not while a batch is on its way.
    #[must_use]
    pub fn is_long(&self, spare: u64) -> bool {
        self.has_grown(spare) && !self.is_under_way()
    }

    /// The same, whatever is on its way.
    #[must_use]
    pub fn has_grown(&self, spare: u64) -> bool {
        self.end > 2 * self.sealed + spare
    }

    /// Whether a batch is on its way.
    #[must_use]
    pub fn is_under_way(&self) -> bool {
        !self.under_way.is_empty()
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
        let durable = if self.is_whole { 0 } else { self.durable_before() };
        write(&self.format, durable, record, &mut self.gathered);
    }

    /// Up to where all is durable before the next batch begins, whenever that is.
    fn durable_before(&self) -> u64 {
        let is_full = self.under_way.len() == self.most_under_way || self.is_written_anew();
        self.under_way.front().copied().filter(|_| is_full).unwrap_or(self.durable_end)
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

    /// The number of the batch that was begun last, from 1.
    #[must_use]
    pub fn begun(&self) -> u64 {
        self.begun
    }

    /// The number of the oldest batch on its way: the next one to be durable.
    #[must_use]
    pub fn next_durable(&self) -> Option<u64> {
        self.is_under_way().then_some(self.durable + 1)
    }

    /// Whether what takes the place of the whole file is on its way.
    #[must_use]
    pub fn is_written_anew(&self) -> bool {
        self.is_under_way() && self.end == self.sealed
    }

    /// Whether a batch could begin.
    #[must_use]
    pub fn is_waiting(&self) -> bool {
        let has_way = match self.is_whole || self.is_written_anew() {
            true => !self.is_under_way(),
            false => self.under_way.len() < self.most_under_way,
        };
        has_way && !self.gathered.is_empty()
    }

    /// Begins a batch, if one more may be on its way and there is something to be kept. Whoever asks has the disk write it, and make it durable.
    pub fn begin(&mut self) -> Option<Batch> {
        if !self.is_waiting() {
            return None;
        }
        self.begun += 1;
        let mut bytes = core::mem::take(&mut self.gathered);
        if core::mem::take(&mut self.is_whole) {
            (self.end, self.sealed) = (bytes.len() as u64, bytes.len() as u64);
            bytes[..HEADER_BYTES].copy_from_slice(&header(&self.format, self.sealed));
            self.under_way.push_back(self.end);
            return Some(Batch::Whole(bytes));
        }
        self.end += bytes.len() as u64;
        self.under_way.push_back(self.end);
        Some(Batch::Behind(bytes))
    }

    /// The oldest batch on its way is durable.
    pub fn synced(&mut self) {
        if let Some(end) = self.under_way.pop_front() {
            self.durable += 1;
            self.durable_end = end;
        }
    }
}

//! Writes batches: one at a time, each durable before the next begins.

use super::Record;
use super::header::{HEADER_BYTES, header};
use quintet_contract::{Address, Outbox, SendError, Token};
use quintet_wire::registry::{DISK_APPEND, DISK_REPLACE, DISK_SYNC};

/// Tokens of requests to the disk.
pub(crate) const READING: Token = Token(1);
/// Appends a batch.
pub(crate) const APPENDING: Token = Token(3);
/// Makes it durable.
pub(crate) const SYNCING: Token = Token(4);

/// The end of the file.
#[derive(Debug)]
pub(crate) struct Writer {
    disk: Address,
    /// Where the next batch begins.
    end: u64,
    /// Where the part ends that was put in place as a whole.
    sealed: u64,
    /// Records for the next batch.
    gathered: Vec<Record>,
    /// Whether that batch takes the place of all that is there.
    is_whole: bool,
    /// Whether a batch is on its way.
    is_syncing: bool,
    /// Batches that were begun, and those that are durable.
    begun: u64,
    durable: u64,
}

impl Writer {
    /// Writes a file anew, with these records at first.
    pub(crate) fn new(disk: Address, first: Vec<Record>) -> Writer {
        Writer {
            disk,
            end: 0,
            sealed: 0,
            gathered: first,
            is_whole: true,
            is_syncing: false,
            begun: 0,
            durable: 0,
        }
    }

    /// Whether the file is to be written anew before the next batch: it is more than twice as long as it was then, and so many bytes.
    pub(crate) fn is_long(&self, spare: u32) -> bool {
        !self.is_syncing && self.end > 2 * self.sealed + u64::from(spare)
    }

    /// The next batch takes the place of all that is there: these records hold all that was taken so far.
    pub(crate) fn begin_anew(&mut self, records: Vec<Record>) {
        (self.gathered, self.is_whole) = (records, true);
    }

    /// Takes records for the next batch.
    pub(crate) fn keep(&mut self, records: impl IntoIterator<Item = Record>) {
        self.gathered.extend(records);
    }

    /// The batch after which all that was taken so far is durable.
    pub(crate) fn batch(&self) -> u64 {
        self.begun + u64::from(!self.gathered.is_empty())
    }

    /// Whether a batch is durable.
    pub(crate) fn is_durable(&self, batch: u64) -> bool {
        batch <= self.durable
    }

    /// Begins a batch, if none is on its way and there is something to be kept.
    ///
    /// # Errors
    /// The disk does not take it: then it never will.
    pub(crate) fn begin(&mut self, out: &mut dyn Outbox) -> Result<(), SendError> {
        if self.is_syncing || self.gathered.is_empty() {
            return Ok(());
        }
        self.is_syncing = true;
        self.begun += 1;
        if std::mem::take(&mut self.is_whole) {
            let mut bytes = vec![0; HEADER_BYTES];
            self.gathered.drain(..).for_each(|record| record.write(0, &mut bytes));
            (self.end, self.sealed) = (bytes.len() as u64, bytes.len() as u64);
            bytes[..HEADER_BYTES].copy_from_slice(&header(self.sealed));
            return out.send_bulk(self.disk, DISK_REPLACE, SYNCING, &[], bytes.into());
        }
        let mut bytes = Vec::new();
        self.gathered.drain(..).for_each(|record| record.write(self.end, &mut bytes));
        self.end += bytes.len() as u64;
        out.send_bulk(self.disk, DISK_APPEND, APPENDING, &[], bytes.into())?;
        out.send(self.disk, DISK_SYNC, SYNCING, &[])
    }

    /// The batch on its way is durable.
    pub(crate) fn synced(&mut self) {
        (self.is_syncing, self.durable) = (false, self.begun);
    }
}

//! Writes batches: one at a time, each durable before the next begins.

use super::Record;
use super::record::FORMAT;
use quintet_contract::{Address, Outbox, SendError, Token};
use quintet_durable::log::{self, Batch};
use quintet_wire::Encode;
use quintet_wire::registry::{DISK_APPEND, DISK_REPLACE, DISK_SYNC};

/// Tokens of requests to the disk.
pub(crate) const READING: Token = Token(1);
/// Appends a batch.
pub(crate) const APPENDING: Token = Token(3);
/// Makes it durable.
pub(crate) const SYNCING: Token = Token(4);

/// The end of the file, and the disk that it lies on.
#[derive(Debug)]
pub(crate) struct Writer {
    disk: Address,
    file: log::Writer,
}

impl Writer {
    /// Writes a file anew, with these records at first.
    pub(crate) fn new(disk: Address, first: Vec<Record>) -> Writer {
        let mut writer = Writer { disk, file: log::Writer::new(FORMAT) };
        writer.keep(first);
        writer
    }

    /// Whether the file is to be written anew before the next batch: it is more than twice as long as it was then, and so many bytes.
    pub(crate) fn is_long(&self, spare: u32) -> bool {
        self.file.is_long(spare.into())
    }

    /// The next batch takes the place of all that is there: these records hold all that was taken so far.
    pub(crate) fn begin_anew(&mut self, records: Vec<Record>) {
        self.file.begin_anew();
        self.keep(records);
    }

    /// Takes records for the next batch.
    pub(crate) fn keep(&mut self, records: impl IntoIterator<Item = Record>) {
        records.into_iter().for_each(|record| self.file.keep(|to| record.encode(to)));
    }

    /// The batch after which all that was taken so far is durable.
    pub(crate) fn batch(&self) -> u64 {
        self.file.batch()
    }

    /// Whether a batch is durable.
    pub(crate) fn is_durable(&self, batch: u64) -> bool {
        self.file.is_durable(batch)
    }

    /// Begins a batch, if none is on its way and there is something to be kept.
    ///
    /// # Errors
    /// The disk does not take it: then it never will.
    pub(crate) fn begin(&mut self, out: &mut dyn Outbox) -> Result<(), SendError> {
        match self.file.begin() {
            None => Ok(()),
            Some(Batch::Whole(bytes)) => out.send_bulk(self.disk, DISK_REPLACE, SYNCING, &[], bytes.into()),
            Some(Batch::Behind(bytes)) => {
                out.send_bulk(self.disk, DISK_APPEND, APPENDING, &[], bytes.into())?;
                out.send(self.disk, DISK_SYNC, SYNCING, &[])
            }
        }
    }

    /// The batch on its way is durable.
    pub(crate) fn synced(&mut self) {
        self.file.synced();
    }
}

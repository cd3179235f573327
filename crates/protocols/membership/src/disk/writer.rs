//! Writes batches: one at a time, each synced before the next begins.

use super::Record;
use quintet_contract::{Address, Outbox, SendError, Token};
use quintet_wire::registry::{DISK_APPEND, DISK_SYNC};

/// Tokens of requests to the disk.
pub(crate) const READING: Token = Token(1);
/// Cuts off what is torn.
pub(crate) const CUTTING: Token = Token(2);
/// Appends a batch.
pub(crate) const APPENDING: Token = Token(3);
/// Syncs it.
pub(crate) const SYNCING: Token = Token(4);

/// The end of the file.
#[derive(Debug)]
pub(crate) struct Writer {
    disk: Address,
    /// Where the next batch begins.
    end: u64,
    /// Records for the next batch.
    gathered: Vec<Record>,
    /// Whether a batch is on its way.
    is_syncing: bool,
    /// Batches that were begun, and those that are durable.
    begun: u64,
    durable: u64,
}

impl Writer {
    /// Writes behind so many bytes.
    pub(crate) fn new(disk: Address, end: u64) -> Writer {
        Writer { disk, end, gathered: Vec::new(), is_syncing: false, begun: 0, durable: 0 }
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
        let mut bytes = Vec::new();
        for record in self.gathered.drain(..) {
            record.write(self.end, &mut bytes);
        }
        self.end += bytes.len() as u64;
        self.is_syncing = true;
        self.begun += 1;
        out.send_bulk(self.disk, DISK_APPEND, APPENDING, &[], bytes.into())?;
        out.send(self.disk, DISK_SYNC, SYNCING, &[])
    }

    /// The batch on its way is durable.
    pub(crate) fn synced(&mut self) {
        (self.is_syncing, self.durable) = (false, self.begun);
    }
}

//! The log on the host's disk: what is appended and synced, and what is read back at the start.
//!
//! The disk is one file of records, appended a batch at a time: the next batch begins when the sync of the one before is done. So a crash harms
//! the last batch only, and what lies before it was durable.
//!
//! ```text
//! record   length u32 (of what follows the check) | check u32 (CRC-32 of what follows) | batch u64 (where in the file the record's batch
//!          begins) | tag u8 | its fields
//! tag 1    a life begins: cluster u128, node u16, incarnation u64
//! tag 2    a vote: term u64, for whom u16, whether for anybody u8
//! tag 3    an entry: index u64, the entry; those from this index on that stand before are void
//! tag 4    a view: index u64, its term u64, the view; all that stands before is void but for votes and lives
//! ```
//!
//! The file grows at its end only, for the disk knows nothing else: about a hundred bytes a change.
//!
//! | file | holds |
//! | --- | --- |
//! | `record.rs` | [`Record`], and how it lies on the disk |
//! | `recovery.rs` | reads a file back: what is whole, what is torn, what is damaged |
//! | `writer.rs` | [`Writer`]: batches, and who waits for their sync |

mod record;
pub(crate) mod recovery;
#[cfg(test)]
mod tests;
mod writer;

pub(crate) use record::{Life, RECORD_HEADER_BYTES, Record};
pub(crate) use writer::{CUTTING, READING, SYNCING, Writer};

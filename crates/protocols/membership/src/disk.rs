//! The log on the host's disk: what is appended and synced, and what is read back at the start.
//!
//! The disk is one file: a header, and records. Its first part was put in place as a whole ([`DISK_REPLACE`](quintet_wire::registry::DISK_REPLACE)), and is never torn.
//! Behind it records are appended a batch at a time: the next batch begins when the sync of the one before is done. So a crash harms the last batch
//! only, and what lies before it was durable.
//!
//! ```text
//! header   magic "QUINMEMB" | format u32 (2) | check u32 (CRC-32 of what follows) | sealed u64 (where the first part ends)
//! record   length u32 (of what follows the check) | check u32 (CRC-32 of what follows) | batch u64 (where in the file the record's batch
//!          begins; 0 in the first part) | tag u8 | its fields
//! tag 1    a life begins: cluster u128, node u16, incarnation u64
//! tag 2    a vote: term u64, for whom u16, whether for anybody u8
//! tag 3    an entry: index u64, the entry; those from this index on that stand before are void
//! tag 4    a view: index u64, its term u64, the view; all that stands before is void but for votes and lives
//! ```
//!
//! A life begins with a file written anew, which holds what is known and nothing else; so does a file that has grown to more than twice that and some
//! ([`MembershipConfig::spare_log_bytes`](crate::MembershipConfig::spare_log_bytes)): the log grows with the members, and not with the changes.
//!
//! A file of the first format has no header, and no part that cannot be torn. It is read as well; the life that begins writes it in this one.
//!
//! | file | holds |
//! | --- | --- |
//! | `header.rs` | what a file begins with |
//! | `record.rs` | [`Record`], and how it lies on the disk |
//! | `recovery.rs` | reads a file back: what is whole, what is torn, what is damaged |
//! | `writer.rs` | [`Writer`]: batches, and who waits for their sync |

mod header;
mod record;
pub(crate) mod recovery;
#[cfg(test)]
mod tests;
mod writer;

pub(crate) use record::{Life, RECORD_HEADER_BYTES, Record};
pub(crate) use writer::{READING, SYNCING, Writer};

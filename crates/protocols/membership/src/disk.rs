//! The log on the host's disk: what is appended and synced, and what is read back at the start.
//!
//! The disk is one file of records ([`quintet_durable::log`]): a header, a first part that was put in place as a whole and is never torn, and batches, each
//! appended when the one before was durable.
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
//! | `record.rs` | [`Record`], and the file's format |
//! | `recovery.rs` | reads a file back: what its records come to |
//! | `writer.rs` | [`Writer`]: has the disk write batches |

mod record;
pub(crate) mod recovery;
#[cfg(test)]
mod tests;
mod writer;

pub(crate) use record::{Life, Record};
pub(crate) use writer::{READING, SYNCING, Writer};

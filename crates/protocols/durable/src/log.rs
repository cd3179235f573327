//! A file of records: what is appended and synced, and what is read back.
//!
//! The file is a header, and records. Its first part was put in place as a whole ([`DISK_REPLACE`](quintet_wire::registry::DISK_REPLACE)), and is never
//! torn. Behind it records are appended a batch at a time: the next batch begins when the sync of the one before is done. So a crash
//! harms the last batch only, and what lies before it was durable.
//!
//! ```text
//! header   magic 8 bytes | version u32 | check u32 (CRC-32 of what follows) | sealed u64 (where the first part ends)
//! record   length u32 (of what follows the check) | check u32 (CRC-32 of what follows) | batch u64 (where in the file the record's
//!          batch begins; 0 in the first part) | what is kept
//! ```
//!
//! What a record says is its protocol's business, and so is the way to the disk. A file that has grown to more than twice its first part and some is written anew, with
//! what is known now.
//!
//! | file | holds |
//! | --- | --- |
//! | `header.rs` | what a file begins with; [`Format`] |
//! | `frame.rs` | what stands around a record |
//! | `recovery.rs` | [`Recovery`]: reads a file back: what is whole, what is torn, what is damaged |
//! | `writer.rs` | [`Writer`]: lays out batches, and knows which are durable |

mod frame;
mod header;
mod recovery;
#[cfg(test)]
mod tests;
mod writer;

/// A file of these records, as if each had been appended.
pub(crate) fn file_of<'a>(format: &Format, records: impl IntoIterator<Item = &'a [u8]>) -> Vec<u8> {
    let mut bytes = header::header(format, header::HEADER_BYTES as u64).to_vec();
    for record in records {
        frame::write(format, 0, |to| to.extend_from_slice(record), &mut bytes);
    }
    bytes
}

pub use header::Format;
pub use recovery::{Recovery, Unreadable};
pub use writer::{Batch, Writer};

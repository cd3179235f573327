//! What stands around a record.

use super::Format;

/// In front of what a record keeps: length, check, batch.
pub(super) const RECORD_HEADER_BYTES: usize = 16;

/// Appends a record of a batch that begins at this place.
pub(super) fn write(format: &Format, batch: u64, record: impl FnOnce(&mut Vec<u8>), to: &mut Vec<u8>) {
    let begin = to.len();
    to.resize(begin + RECORD_HEADER_BYTES, 0);
    record(to);
    let kept = to.len() - begin - RECORD_HEADER_BYTES;
    assert!(kept <= format.max_record_bytes, "a record of {kept} bytes is longer than its format allows");
    to[begin + 8..begin + 16].copy_from_slice(&batch.to_le_bytes());
    let length = u32::try_from(kept + 8).expect("a format's records are shorter than 4 GiB");
    let check = crc32fast::hash(&to[begin + 8..]);
    to[begin..begin + 4].copy_from_slice(&length.to_le_bytes());
    to[begin + 4..begin + 8].copy_from_slice(&check.to_le_bytes());
}

/// What lies where a record should.
pub(super) enum Found<'a> {
    /// A record: what it keeps, where it ends.
    Whole(&'a [u8], usize),
    /// The bytes end within it, wherever it ends.
    Unended,
    /// Something else, that ends there if its length is one.
    Wrong(&'static str, Option<usize>),
}

/// Looks at a place.
pub(super) fn look<'a>(format: &Format, bytes: &'a [u8], at: usize) -> Found<'a> {
    let Some((header, rest)) = bytes.get(at..).and_then(|rest| rest.split_first_chunk::<8>()) else {
        return Found::Unended;
    };
    let [a, b, c, d, check @ ..] = *header;
    let length = u32::from_le_bytes([a, b, c, d]) as usize;
    if !(8..=format.max_record_bytes + 8).contains(&length) {
        return Found::Wrong("the length of a record is none", None);
    }
    let Some(counted) = rest.get(..length) else { return Found::Unended };
    if crc32fast::hash(counted) != u32::from_le_bytes(check) {
        return Found::Wrong("the check of a record does not fit it", Some(at + 8 + length));
    }
    let (_, kept) = counted.split_first_chunk::<8>().expect("the length was compared");
    Found::Whole(kept, at + 8 + length)
}

//! What a file begins with.

use super::Unreadable;

/// Whose file it is, and how it is laid out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Format {
    /// The first bytes.
    pub magic: [u8; 8],
    /// The version that is written, and read.
    pub version: u32,
    /// What a record keeps, at most.
    pub max_record_bytes: usize,
}

/// How long a header is.
pub(super) const HEADER_BYTES: usize = 24;

/// The header of a file whose first part ends there.
pub(super) fn header(format: &Format, sealed: u64) -> [u8; HEADER_BYTES] {
    let mut bytes = [0; HEADER_BYTES];
    bytes[..8].copy_from_slice(&format.magic);
    bytes[8..12].copy_from_slice(&format.version.to_le_bytes());
    bytes[12..16].copy_from_slice(&crc32fast::hash(&sealed.to_le_bytes()).to_le_bytes());
    bytes[16..].copy_from_slice(&sealed.to_le_bytes());
    bytes
}

/// Where the first part ends, of a file of this length.
///
/// # Errors
/// It is another file, of another version, or damaged.
pub(super) fn sealed(format: &Format, bytes: &[u8], length: u64) -> Result<u64, Unreadable> {
    let damage = |problem: &str| Unreadable::Damage { offset: 0, problem: problem.to_owned() };
    let Some(header) = bytes.first_chunk::<HEADER_BYTES>() else {
        let begins_so = format.magic.starts_with(&bytes[..bytes.len().min(format.magic.len())]);
        return Err(if begins_so { damage("the header is cut short") } else { Unreadable::OtherFile });
    };
    if !header.starts_with(&format.magic) {
        return Err(Unreadable::OtherFile);
    }
    let number = |at: usize| u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
    if number(8) != format.version {
        return Err(Unreadable::Version { found: number(8), read: format.version });
    }
    let [.., a, b, c, d, e, f, g, h] = *header;
    let counted = [a, b, c, d, e, f, g, h];
    match u64::from_le_bytes(counted) {
        _ if crc32fast::hash(&counted) != number(12) => {
            Err(damage("the check of the header does not fit it"))
        }
        sealed if sealed > length || sealed < HEADER_BYTES as u64 => {
            Err(damage("the file ends within the part that was written as a whole"))
        }
        sealed => Ok(sealed),
    }
}

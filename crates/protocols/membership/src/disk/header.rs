//! What a file begins with.

use super::recovery::Unreadable;

/// Nothing that the first format begins with: there the first four bytes are the length of a record.
const MAGIC: [u8; 8] = *b"QUINMEMB";
/// The format that is written.
const FORMAT: u32 = 2;
/// How long a header is.
pub(super) const HEADER_BYTES: usize = 24;

/// The header of a file whose first part ends there.
pub(super) fn header(sealed: u64) -> [u8; HEADER_BYTES] {
    let mut bytes = [0; HEADER_BYTES];
    bytes[..8].copy_from_slice(&MAGIC);
    bytes[8..12].copy_from_slice(&FORMAT.to_le_bytes());
    bytes[12..16].copy_from_slice(&crc32fast::hash(&sealed.to_le_bytes()).to_le_bytes());
    bytes[16..].copy_from_slice(&sealed.to_le_bytes());
    bytes
}

/// Where the first part ends; none in a file of the first format.
///
/// # Errors
/// It is of a later format, or damaged.
pub(super) fn sealed(bytes: &[u8]) -> Result<Option<usize>, Unreadable> {
    if !bytes.starts_with(&MAGIC) {
        return Ok(None);
    }
    let damage = |problem: &str| Unreadable::Damage { offset: 0, problem: problem.to_owned() };
    let header = bytes.first_chunk::<HEADER_BYTES>().ok_or_else(|| damage("the header is cut short"))?;
    let number = |at: usize| u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
    if number(8) != FORMAT {
        return Err(Unreadable::Format(number(8)));
    }
    let [.., a, b, c, d, e, f, g, h] = *header;
    let counted = [a, b, c, d, e, f, g, h];
    let sealed = usize::try_from(u64::from_le_bytes(counted)).ok().filter(|sealed| *sealed <= bytes.len());
    match sealed {
        _ if crc32fast::hash(&counted) != number(12) => {
            Err(damage("the check of the header does not fit it"))
        }
        None => Err(damage("the file ends within the part that was written as a whole")),
        sealed => Ok(sealed),
    }
}

//! The checksum of frames on networks: CRC-32C over the frame with its field zero.

use crc32c::{crc32c, crc32c_append};
use quintet_contract::limits::HEADER_BYTES;

/// Where the field lies in the header.
pub(super) const CHECK_AT: usize = HEADER_BYTES - 4;

/// The checksum of a header and what follows it, whatever its field says: that becomes zero. Several passes would take longer than
/// a short frame.
pub(super) fn check_in_place(front: &mut [u8]) -> u32 {
    front[CHECK_AT..HEADER_BYTES].fill(0);
    crc32c(front)
}

/// Writes the field.
pub(super) fn set_check(front: &mut [u8], check: u32) {
    front[CHECK_AT..HEADER_BYTES].copy_from_slice(&check.to_le_bytes());
}

/// Goes on with the bulk.
pub(super) fn check_more(check: u32, bulk: &[u8]) -> u32 {
    crc32c_append(check, bulk)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_field_itself_does_not_count() {
        let mut front = [7; 50];
        front[CHECK_AT..HEADER_BYTES].fill(0);
        let expected = crc32c(&[&front[..], b"bulk"].concat());
        front[CHECK_AT..HEADER_BYTES].fill(9);
        assert_eq!(check_more(check_more(check_in_place(&mut front), b"bu"), b"lk"), expected);
    }

    #[test]
    fn it_is_the_castagnoli_polynomial() {
        // RFC 3720, appendix B.4: 32 bytes of zeros.
        assert_eq!(check_in_place(&mut [0; 32]), 0x8a91_36aa);
    }
}

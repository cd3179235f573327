//! The checksum of frames on networks: CRC-32C over the frame with its field zero.

use crc32c::crc32c_append;
use quintet_contract::limits::HEADER_BYTES;

/// Where the field lies in the header.
const CHECK_AT: usize = HEADER_BYTES - 4;

/// The checksum of a frame's parts: its header and what follows that.
pub(super) fn check_of(front: &[u8], bulk: &[u8]) -> u32 {
    crc32c_append(check_of_front(front), bulk)
}

/// The checksum so far, before the bulk.
pub(super) fn check_of_front(front: &[u8]) -> u32 {
    let (before, after) = (&front[..CHECK_AT], &front[HEADER_BYTES..]);
    crc32c_append(crc32c_append(crc32c_append(0, before), &[0; 4]), after)
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
        let expected = crc32c::crc32c(&[&front[..], b"bulk"].concat());
        front[CHECK_AT..HEADER_BYTES].fill(9);
        assert_eq!(check_of(&front, b"bulk"), expected);
        assert_eq!(check_more(check_more(check_of_front(&front), b"bu"), b"lk"), expected);
    }

    #[test]
    fn it_is_the_castagnoli_polynomial() {
        // RFC 3720, appendix B.4: 32 bytes of zeros.
        assert_eq!(check_of(&[0; 32], &[]), 0x8a91_36aa);
    }
}

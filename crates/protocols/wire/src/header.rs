//! The 32 bytes in front of every frame.
//!
//! ```text
//!  0        4     5     6    7     8                16        20        24        28       32
//!  +--------+-----------+----+-----+----------------+---------+---------+---------+---------+
//!  | length | magic,    |kind|flags| token          | from    | to      | sequence| check   |
//!  | u32    | version   | u8 | u8  | u64            | u32     | u32     | u32     | u32     |
//!  +--------+-----------+----+-----+----------------+---------+---------+---------+---------+
//! ```
//!
//! `length` counts header, body and bulk together; on shared memory it is also the commit word: written last, zero
//! until then. `sequence` counts the frames of one link in one direction from 0, so that a lost, torn or replayed frame
//! is noticed at the link. `check` is zero on shared memory; on networks it is the CRC-32C of the rest of the frame.

use core::fmt;
use quintet_contract::limits::HEADER_BYTES;
use quintet_contract::{Address, Kind, Token};

/// The first byte of `magic, version`.
pub const MAGIC: u8 = 0x51;
/// The layout's version, the second byte.
pub const VERSION: u8 = 4;
/// A flag: the frame carries bulk data; the first four bytes after the header tell how much (u32), and it ends the frame.
const FLAG_BULK: u8 = 1;
/// A flag: the frame ends with the time at which it departed (u64, nanoseconds of the sender's clock), and asks for the time at which it
/// arrives. A frame with bulk has none.
const FLAG_STAMPED: u8 = 2;
/// Bytes of the time at a stamped frame's end.
pub const STAMP_BYTES: usize = 8;

/// The header of one frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Header {
    /// Bytes of header, body and bulk together.
    pub length: u32,
    /// What the frame means.
    pub kind: Kind,
    /// Whether bulk data follows the body.
    pub has_bulk: bool,
    /// Whether the time at which it departed ends the frame. Not with bulk.
    pub is_stamped: bool,
    /// Which request it is, or answers.
    pub token: Token,
    /// The sender.
    pub from: Address,
    /// The receiver.
    pub to: Address,
    /// The frame's number on its link and direction, wrapping.
    pub sequence: u32,
    /// CRC-32C of the frame with this field zero; zero on links that need none.
    pub check: u32,
}

/// Why 32 bytes are not a header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HeaderError {
    /// Another protocol speaks here.
    NotQuintet {
        /// The byte found where the magic number belongs.
        found: u8,
    },
    /// A layout this program does not know.
    Version {
        /// The version found.
        found: u8,
    },
    /// Shorter than a header or longer than the link allows.
    Length {
        /// The length found.
        found: u32,
        /// The longest this link allows.
        limit: u32,
    },
    /// A flag this version does not define.
    Flags {
        /// The flags found.
        found: u8,
    },
}

impl Header {
    /// As bytes.
    #[must_use]
    pub fn to_bytes(self) -> [u8; HEADER_BYTES] {
        let mut b = [0; HEADER_BYTES];
        b[0..4].copy_from_slice(&self.length.to_le_bytes());
        b[4] = MAGIC;
        b[5] = VERSION;
        b[6] = self.kind.0;
        b[7] = if self.has_bulk { FLAG_BULK } else { 0 } | if self.is_stamped { FLAG_STAMPED } else { 0 };
        b[8..16].copy_from_slice(&self.token.0.to_le_bytes());
        b[16..20].copy_from_slice(&self.from.to_bits().to_le_bytes());
        b[20..24].copy_from_slice(&self.to.to_bits().to_le_bytes());
        b[24..28].copy_from_slice(&self.sequence.to_le_bytes());
        b[28..32].copy_from_slice(&self.check.to_le_bytes());
        b
    }

    /// From bytes that a peer wrote. `limit`: the longest frame this link allows.
    ///
    /// # Errors
    /// What is wrong with them.
    pub fn from_bytes(b: &[u8; HEADER_BYTES], limit: u32) -> Result<Header, HeaderError> {
        let u32_at = |i: usize| u32::from_le_bytes([b[i], b[i + 1], b[i + 2], b[i + 3]]);
        let length = u32_at(0);
        if b[4] != MAGIC {
            return Err(HeaderError::NotQuintet { found: b[4] });
        }
        if b[5] != VERSION {
            return Err(HeaderError::Version { found: b[5] });
        }
        let is_stamped = b[7] & FLAG_STAMPED != 0;
        let least = HEADER_BYTES + if is_stamped { STAMP_BYTES } else { 0 };
        if (length as usize) < least || length > limit {
            return Err(HeaderError::Length { found: length, limit });
        }
        if !matches!(b[7], 0 | FLAG_BULK | FLAG_STAMPED) {
            return Err(HeaderError::Flags { found: b[7] });
        }
        Ok(Header {
            length,
            kind: Kind(b[6]),
            has_bulk: b[7] == FLAG_BULK,
            is_stamped,
            token: Token(u64::from(u32_at(8)) | u64::from(u32_at(12)) << 32),
            from: Address::from_bits(u32_at(16)),
            to: Address::from_bits(u32_at(20)),
            sequence: u32_at(24),
            check: u32_at(28),
        })
    }
}

impl fmt::Display for HeaderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HeaderError::NotQuintet { found } => {
                write!(f, "not a Quintet frame: its magic byte is {found:#04x} instead of {MAGIC:#04x}")
            }
            HeaderError::Version { found } => {
                write!(f, "frame layout version {found}; this program speaks version {VERSION}")
            }
            HeaderError::Length { found, limit } => {
                write!(f, "frame length {found} lies outside {HEADER_BYTES} to {limit} bytes")
            }
            HeaderError::Flags { found } => {
                write!(f, "frame flags {found:#04x} include one this version does not know")
            }
        }
    }
}

impl core::error::Error for HeaderError {}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_header_comes_back_as_it_was(
            length in 40u32..=65_536, kind: u8, flag in 0..3, token: u64, from: u32, to: u32, sequence: u32, check: u32,
        ) {
            let header = Header {
                length, kind: Kind(kind), has_bulk: flag == 1, is_stamped: flag == 2, token: Token(token),
                from: Address::from_bits(from), to: Address::from_bits(to), sequence, check,
            };
            prop_assert_eq!(Header::from_bytes(&header.to_bytes(), 65_536), Ok(header));
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes: [u8; HEADER_BYTES]) {
            if let Ok(header) = Header::from_bytes(&bytes, 65_536) {
                prop_assert_eq!(header.to_bytes(), bytes);
            }
        }
    }

    #[test]
    fn each_fault_is_named() {
        let good = Header {
            length: 40,
            kind: Kind(1),
            has_bulk: false,
            is_stamped: false,
            token: Token(2),
            from: Address::new(1, 2),
            to: Address::new(3, 4),
            sequence: 5,
            check: 0,
        }
        .to_bytes();
        let with = |i: usize, value: u8| {
            let mut bytes = good;
            bytes[i] = value;
            Header::from_bytes(&bytes, 64).expect_err("the byte is wrong")
        };
        assert_eq!(with(4, 0), HeaderError::NotQuintet { found: 0 });
        assert_eq!(with(5, 9), HeaderError::Version { found: 9 });
        assert_eq!(with(0, 31), HeaderError::Length { found: 31, limit: 64 });
        assert_eq!(with(1, 1), HeaderError::Length { found: 296, limit: 64 });
        assert_eq!(with(7, 4), HeaderError::Flags { found: 4 });
        assert_eq!(with(7, 3), HeaderError::Flags { found: 3 }, "bulk and a stamp");
        let mut stamped = good;
        (stamped[0], stamped[7]) = (39, 2);
        let short = HeaderError::Length { found: 39, limit: 64 };
        assert_eq!(Header::from_bytes(&stamped, 64), Err(short), "no room for the stamp");
    }
}

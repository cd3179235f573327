//! Reading what a stranger may have written: every length is checked before it is used, nothing is allocated here,
//! nothing panics.

use core::fmt;

/// Why bytes are not a message. `at` counts from the start of the body.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DecodeError {
    /// The bytes end inside a field.
    Truncated {
        /// Where the field begins.
        at: usize,
        /// Bytes it needs.
        needed: usize,
        /// Bytes there are.
        left: usize,
    },
    /// Bytes are left over after the last field.
    Trailing {
        /// Where the message ended.
        at: usize,
        /// Bytes left over.
        left: usize,
    },
    /// A number that has no meaning in this place.
    Invalid {
        /// Where it stands.
        at: usize,
        /// The field's name.
        field: &'static str,
        /// The number.
        value: u64,
    },
    /// A length or count above its limit.
    TooLarge {
        /// Where it stands.
        at: usize,
        /// The field's name.
        field: &'static str,
        /// The length.
        value: u64,
        /// The limit.
        limit: u64,
    },
    /// Text that is not UTF-8.
    NotText {
        /// Where the text begins.
        at: usize,
    },
}

/// Reads fields one after the other.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

/// Something that can be read.
pub trait Decode<'a>: Sized {
    /// Reads it.
    ///
    /// # Errors
    /// What is wrong and where.
    fn decode(reader: &mut Reader<'a>) -> Result<Self, DecodeError>;

    /// Reads it from exactly these bytes.
    ///
    /// # Errors
    /// As [`Decode::decode`], and [`DecodeError::Trailing`].
    fn decode_all(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let value = Self::decode(&mut reader)?;
        reader.finish()?;
        Ok(value)
    }
}

impl<'a> Reader<'a> {
    /// Reads from the start of `bytes`.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        Reader { bytes, at: 0 }
    }

    /// Bytes read so far.
    #[must_use]
    pub fn at(&self) -> usize {
        self.at
    }

    /// Bytes not read yet.
    #[must_use]
    pub fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// The next `len` bytes.
    ///
    /// # Errors
    /// [`DecodeError::Truncated`].
    pub fn bytes(&mut self, len: usize) -> Result<&'a [u8], DecodeError> {
        let left = self.left();
        if len > left {
            return Err(DecodeError::Truncated { at: self.at, needed: len, left });
        }
        let bytes = &self.bytes[self.at..self.at + len];
        self.at += len;
        Ok(bytes)
    }

    /// A u32 length of at most `limit`, then that many bytes.
    ///
    /// # Errors
    /// [`DecodeError::TooLarge`], [`DecodeError::Truncated`].
    pub fn counted(&mut self, field: &'static str, limit: usize) -> Result<&'a [u8], DecodeError> {
        let len = self.length(field, limit)?;
        self.bytes(len)
    }

    /// A u32 length of at most `limit`.
    ///
    /// # Errors
    /// [`DecodeError::TooLarge`], [`DecodeError::Truncated`].
    pub fn length(&mut self, field: &'static str, limit: usize) -> Result<usize, DecodeError> {
        let at = self.at;
        let len = self.u32()? as usize;
        if len > limit {
            return Err(DecodeError::TooLarge { at, field, value: len as u64, limit: limit as u64 });
        }
        Ok(len)
    }

    /// A u32 length of at most `limit`, then that many bytes of UTF-8.
    ///
    /// # Errors
    /// [`DecodeError::TooLarge`], [`DecodeError::Truncated`], [`DecodeError::NotText`].
    pub fn text(&mut self, field: &'static str, limit: usize) -> Result<&'a str, DecodeError> {
        let bytes = self.counted(field, limit)?;
        let at = self.at - bytes.len();
        core::str::from_utf8(bytes).map_err(|_| DecodeError::NotText { at })
    }

    /// One byte, 0 or 1.
    ///
    /// # Errors
    /// [`DecodeError::Truncated`]; [`DecodeError::Invalid`] for another byte.
    pub fn flag(&mut self, field: &'static str) -> Result<bool, DecodeError> {
        match self.u8()? {
            0 => Ok(false),
            1 => Ok(true),
            other => Err(self.invalid(field, other, 1)),
        }
    }

    /// One byte.
    ///
    /// # Errors
    /// [`DecodeError::Truncated`].
    pub fn u8(&mut self) -> Result<u8, DecodeError> {
        Ok(self.array::<1>()?[0])
    }

    /// Two bytes, little-endian.
    ///
    /// # Errors
    /// [`DecodeError::Truncated`].
    pub fn u16(&mut self) -> Result<u16, DecodeError> {
        self.array().map(u16::from_le_bytes)
    }

    /// Four bytes, little-endian.
    ///
    /// # Errors
    /// [`DecodeError::Truncated`].
    pub fn u32(&mut self) -> Result<u32, DecodeError> {
        self.array().map(u32::from_le_bytes)
    }

    /// Eight bytes, little-endian.
    ///
    /// # Errors
    /// [`DecodeError::Truncated`].
    pub fn u64(&mut self) -> Result<u64, DecodeError> {
        self.array().map(u64::from_le_bytes)
    }

    /// `N` bytes.
    ///
    /// # Errors
    /// [`DecodeError::Truncated`].
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let mut array = [0; N];
        array.copy_from_slice(self.bytes(N)?);
        Ok(array)
    }

    /// [`DecodeError::Invalid`] for the `width` bytes read last.
    #[must_use]
    pub fn invalid(&self, field: &'static str, value: impl Into<u64>, width: usize) -> DecodeError {
        DecodeError::Invalid { at: self.at.saturating_sub(width), field, value: value.into() }
    }

    /// Ends the reading.
    ///
    /// # Errors
    /// [`DecodeError::Trailing`] if bytes are left.
    pub fn finish(self) -> Result<(), DecodeError> {
        match self.left() {
            0 => Ok(()),
            left => Err(DecodeError::Trailing { at: self.at, left }),
        }
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DecodeError::Truncated { at, needed, left } => {
                write!(
                    f,
                    "the message ends early: byte {at} begins a field of {needed} bytes, {left} are there"
                )
            }
            DecodeError::Trailing { at, left } => {
                write!(f, "the message ended at byte {at}, but {left} bytes follow")
            }
            DecodeError::Invalid { at, field, value } => {
                write!(f, "{field} at byte {at} is {value}, which has no meaning")
            }
            DecodeError::TooLarge { at, field, value, limit } => {
                write!(f, "{field} at byte {at} is {value}, above the limit of {limit}")
            }
            DecodeError::NotText { at } => write!(f, "the text at byte {at} is not UTF-8"),
        }
    }
}

impl core::error::Error for DecodeError {}

#[cfg(test)]
#[path = "decode/tests.rs"]
mod tests;

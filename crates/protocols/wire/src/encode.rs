//! Writing. The length of an encoding is found by running the same code against a counter, so the two cannot differ.

use quintet_contract::{Address, Kind, Outbox, SendError, Token};

/// Takes encoded bytes.
pub trait Sink {
    /// Appends bytes as they are.
    fn bytes(&mut self, bytes: &[u8]);

    /// Appends one byte.
    fn u8(&mut self, value: u8) {
        self.bytes(&[value]);
    }
    /// Appends two bytes, little-endian.
    fn u16(&mut self, value: u16) {
        self.bytes(&value.to_le_bytes());
    }
    /// Appends four bytes, little-endian.
    fn u32(&mut self, value: u32) {
        self.bytes(&value.to_le_bytes());
    }
    /// Appends eight bytes, little-endian.
    fn u64(&mut self, value: u64) {
        self.bytes(&value.to_le_bytes());
    }
    /// Appends a length as u32 and the bytes.
    ///
    /// # Panics
    /// If there are more than `u32::MAX` bytes, which no limit of this project allows.
    fn counted(&mut self, bytes: &[u8]) {
        self.u32(u32::try_from(bytes.len()).expect("lengths are checked against limits below 4 GiB"));
        self.bytes(bytes);
    }
}

/// Something that can be written.
pub trait Encode {
    /// Writes it.
    fn encode(&self, sink: &mut impl Sink);

    /// How many bytes [`encode`](Encode::encode) writes.
    fn encoded_len(&self) -> usize {
        let mut counter = Counter(0);
        self.encode(&mut counter);
        counter.0
    }

    /// So many bytes or fewer. [`send`] asks for this much room: a message whose bound is cheap to tell is encoded once, and not a first
    /// time only to count its bytes. Tell none far above what is written, for room is refused that a long message does not find.
    fn max_len(&self) -> usize {
        self.encoded_len()
    }
}

struct Counter(usize);

impl Sink for Counter {
    fn bytes(&mut self, bytes: &[u8]) {
        self.0 += bytes.len();
    }
}

/// Writes into room that is long enough.
struct Filler<'a> {
    room: &'a mut [u8],
    filled: usize,
}

impl Sink for Filler<'_> {
    #[inline]
    fn bytes(&mut self, bytes: &[u8]) {
        self.room[self.filled..][..bytes.len()].copy_from_slice(bytes);
        self.filled += bytes.len();
    }
}

impl Sink for Vec<u8> {
    fn bytes(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }
}

/// The encoding in a vector of its own.
pub fn encode_to_vec(message: &impl Encode) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(message.encoded_len());
    message.encode(&mut bytes);
    bytes
}

/// Encodes `message` in place in the outbox and sends it.
///
/// # Errors
/// As [`Outbox::begin`].
///
/// # Panics
/// If the message is longer than its [`Encode::max_len`].
pub fn send(
    out: &mut dyn Outbox,
    to: Address,
    kind: Kind,
    token: Token,
    message: &impl Encode,
) -> Result<(), SendError> {
    let mut filler = Filler { room: out.begin(to, kind, token, message.max_len())?, filled: 0 };
    message.encode(&mut filler);
    let filled = filler.filled;
    out.commit(filled);
    Ok(())
}

#[cfg(test)]
#[path = "encode/tests.rs"]
mod tests;

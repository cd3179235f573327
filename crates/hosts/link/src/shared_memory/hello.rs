//! What two processes tell each other before they share memory.
//!
//! ```text
//!  0       4         6         8               16       20       24
//!  +-------+---------+---------+---------------+--------+--------+
//!  | "QNTL"| version | refusal | memory bytes  | ring   | bulk   |
//!  |       | u16     | u16     | u64           | u32    | u32    |
//!  +-------+---------+---------+---------------+--------+--------+
//! ```
//!
//! One message of a sequenced-packet socket, with two descriptors: the sender's memory, and the socket through which the sender
//! is woken (`wake_socket.rs`). The side that connects speaks first. A hello whose `refusal` is not zero ([`Code`]) carries no descriptors and
//! ends the conversation.

use super::layout::MEMORY_BYTES;
use quintet_contract::limits::{BULK_RING_BYTES, CONTROL_RING_BYTES};
use quintet_errors::Code;
use quintet_wire::{Decode, DecodeError, Encode, Reader, Sink};

/// The first bytes.
const MAGIC: [u8; 4] = *b"QNTL";
/// The version of this conversation and of the memory's layout.
pub(crate) const VERSION: u16 = 5;
/// Bytes of a hello. Later versions begin with the same eight.
pub(crate) const HELLO_BYTES: usize = 24;

/// One side's opening.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Hello {
    pub(crate) version: u16,
    pub(crate) refusal: u16,
    pub(crate) memory_bytes: u64,
    pub(crate) ring_bytes: u32,
    pub(crate) bulk_bytes: u32,
}

/// Why a hello is not accepted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum HelloError {
    /// The peer refuses.
    Refused(Option<Code>),
    /// The peer speaks another version.
    Version(u16),
    /// What came is no hello of this version.
    Malformed(String),
}

impl Hello {
    /// What this program offers.
    pub(crate) const OURS: Hello = Hello {
        version: VERSION,
        refusal: 0,
        memory_bytes: MEMORY_BYTES as u64,
        ring_bytes: CONTROL_RING_BYTES as u32,
        bulk_bytes: BULK_RING_BYTES as u32,
    };

    /// What this program answers to a peer it does not take.
    pub(crate) fn refusing(code: Code) -> Hello {
        Hello { refusal: code as u16, ..Hello::OURS }
    }

    /// Reads what a peer sent, and compares it with [`Hello::OURS`].
    ///
    /// # Errors
    /// [`HelloError`].
    pub(crate) fn check(bytes: &[u8]) -> Result<(), HelloError> {
        let malformed = |error: DecodeError| HelloError::Malformed(error.to_string());
        // The version first: what follows it may be laid out in another way.
        let mut reader = Reader::new(bytes);
        if reader.array::<4>().map_err(malformed)? != MAGIC {
            return Err(HelloError::Malformed("it does not begin with \"QNTL\"".to_owned()));
        }
        let version = reader.u16().map_err(malformed)?;
        let refusal = reader.u16().map_err(malformed)?;
        if refusal != 0 {
            return Err(HelloError::Refused(Code::from_number(refusal)));
        }
        if version != VERSION {
            return Err(HelloError::Version(version));
        }
        let hello = Hello::decode_all(bytes).map_err(malformed)?;
        if hello != Hello::OURS {
            return Err(HelloError::Malformed(format!("it offers {hello:?} instead of {:?}", Hello::OURS)));
        }
        Ok(())
    }
}

impl Encode for Hello {
    fn encode(&self, sink: &mut impl Sink) {
        sink.bytes(&MAGIC);
        sink.u16(self.version);
        sink.u16(self.refusal);
        sink.u64(self.memory_bytes);
        sink.u32(self.ring_bytes);
        sink.u32(self.bulk_bytes);
    }
}

impl<'a> Decode<'a> for Hello {
    fn decode(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        reader.bytes(MAGIC.len())?;
        Ok(Hello {
            version: reader.u16()?,
            refusal: reader.u16()?,
            memory_bytes: reader.u64()?,
            ring_bytes: reader.u32()?,
            bulk_bytes: reader.u32()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use quintet_wire::encode_to_vec;

    #[test]
    fn our_own_hello_is_accepted() {
        let bytes = encode_to_vec(&Hello::OURS);
        assert_eq!(bytes.len(), HELLO_BYTES);
        assert_eq!(Hello::check(&bytes), Ok(()));
    }

    #[test]
    fn each_fault_is_named() {
        let check = |hello| Hello::check(&encode_to_vec(&hello));
        assert_eq!(check(Hello { version: 1, memory_bytes: 1, ..Hello::OURS }), Err(HelloError::Version(1)));
        assert_eq!(
            check(Hello::refusing(Code::NotAllowed)),
            Err(HelloError::Refused(Some(Code::NotAllowed)))
        );
        assert_eq!(check(Hello { refusal: 60_000, ..Hello::OURS }), Err(HelloError::Refused(None)));
        assert!(matches!(check(Hello { ring_bytes: 64, ..Hello::OURS }), Err(HelloError::Malformed(_))));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            if Hello::check(&bytes).is_ok() {
                prop_assert_eq!(bytes, encode_to_vec(&Hello::OURS));
            }
        }
    }
}

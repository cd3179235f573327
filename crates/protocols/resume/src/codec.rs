//! What travels between a client that is known by its identity and the service that keeps its answers. All numbers are little-endian.
//!
//! ```text
//! word    1 introduce: identity u128 | 2 resume: identity u128 | 3 received: n of: token u64
//! reply   1 resumes: window u64, nanoseconds | 2 unknown | 3 noted
//! ```
//!
//! A word is a request of the service's kind for it ([`Requests::WORD`](crate::Requests::WORD)) and is answered under its token by one reply
//! ([`Requests::REPLY`](crate::Requests::REPLY)). The answers to requests of the service travel as ever.

use quintet_contract::{Span, Token};
use quintet_wire::{Decode, DecodeError, Encode, Reader, Sink};

/// Tokens that one word names at most.
pub const MAX_RECEIVED: usize = 1024;

/// Names a client for as long as it lives. Whoever knows it may speak for the client, so it is chosen by chance.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ClientId(pub u128);

/// What a client says of itself.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Word {
    /// Its first word: from now on it is known by this.
    Introduce(ClientId),
    /// Its first word over another link: it goes on.
    Resume(ClientId),
    /// It has the answers to these requests, at most [`MAX_RECEIVED`].
    Received(Vec<Token>),
}

/// What is said to it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reply {
    /// It is known, and may come back within this time after its link ended.
    Resumes(Span),
    /// It is not: it goes on as one that is known by its link.
    Unknown,
    /// What it has is noted.
    Noted,
}

impl Encode for Word {
    fn encode(&self, sink: &mut impl Sink) {
        match self {
            Word::Introduce(ClientId(id)) | Word::Resume(ClientId(id)) => {
                sink.u8(if matches!(self, Word::Introduce(_)) { 1 } else { 2 });
                sink.bytes(&id.to_le_bytes());
            }
            Word::Received(tokens) => {
                sink.u8(3);
                tokens.iter().for_each(|token| sink.u64(token.0));
            }
        }
    }
}

impl Decode<'_> for Word {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let id = |reader: &mut Reader<'_>| Ok(ClientId(u128::from_le_bytes(reader.array()?)));
        Ok(match reader.u8()? {
            1 => Word::Introduce(id(reader)?),
            2 => Word::Resume(id(reader)?),
            3 => {
                let count = reader.left() / size_of::<u64>();
                if count > MAX_RECEIVED {
                    return Err(reader.invalid("number of tokens", count as u64, 0));
                }
                Word::Received((0..count).map(|_| reader.u64().map(Token)).collect::<Result<_, _>>()?)
            }
            other => return Err(reader.invalid("word of a client", other, 1)),
        })
    }
}

impl Encode for Reply {
    fn encode(&self, sink: &mut impl Sink) {
        match self {
            Reply::Resumes(window) => {
                sink.u8(1);
                sink.u64(window.0);
            }
            Reply::Unknown => sink.u8(2),
            Reply::Noted => sink.u8(3),
        }
    }
}

impl Decode<'_> for Reply {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(match reader.u8()? {
            1 => Reply::Resumes(Span(reader.u64()?)),
            2 => Reply::Unknown,
            3 => Reply::Noted,
            other => return Err(reader.invalid("reply to a client's word", other, 1)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use quintet_wire::encode_to_vec;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn words_and_replies_come_back(id: u128, tokens in proptest::collection::vec(any::<u64>(), 0..40), window: u64) {
            let tokens = tokens.into_iter().map(Token).collect();
            for word in [Word::Introduce(ClientId(id)), Word::Resume(ClientId(id)), Word::Received(tokens)] {
                prop_assert_eq!(Word::decode_all(&encode_to_vec(&word)), Ok(word));
            }
            for reply in [Reply::Resumes(Span(window)), Reply::Unknown, Reply::Noted] {
                prop_assert_eq!(Reply::decode_all(&encode_to_vec(&reply)), Ok(reply));
            }
        }
    }

    #[test]
    fn what_is_none_is_refused_and_so_are_too_many_tokens() {
        let longest = encode_to_vec(&Word::Received(vec![Token(7); MAX_RECEIVED]));
        assert!(Word::decode_all(&longest).is_ok());
        let longer = [&longest[..], &[0; 8]].concat();
        for bytes in [&[][..], &[0], &[1; 16], &[2; 18], &[3, 1], &[4], &longer] {
            assert!(Word::decode_all(bytes).is_err(), "{bytes:?}");
        }
        for bytes in [&[][..], &[0], &[1, 1], &[2, 0], &[4]] {
            assert!(Reply::decode_all(bytes).is_err(), "{bytes:?}");
        }
    }
}

//! What a member tells the callers of its own node: whom it has refused what is not for him to ask.

use crate::refusal::Refusal;
use quintet_contract::{Identity, Token};
use quintet_wire::{Decode, DecodeError, Encode, Reader, Sink};

/// A peer asked for what it may not. Told to the callers of the member's node, where there are any, under [`ERROR`](crate::codec::ERROR) and
/// [`TOKEN`](NotAllowed::TOKEN): its identity 32 bytes, and the refusal that it was given.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NotAllowed {
    /// Who the peer has proved to be.
    pub identity: Identity,
    /// What it was answered.
    pub refusal: Refusal,
}

impl NotAllowed {
    /// No caller asks under that token: so an answer is told apart from it.
    pub const TOKEN: Token = Token(0);
}

impl Encode for NotAllowed {
    fn encode(&self, sink: &mut impl Sink) {
        sink.bytes(&self.identity.0);
        self.refusal.encode(sink);
    }
}

impl Decode<'_> for NotAllowed {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(NotAllowed { identity: Identity(reader.array()?), refusal: Refusal::decode(reader)? })
    }
}

//! What a launcher tells the callers of its own node: whom it has refused what was not granted.

use crate::refusal::Refusal;
use quintet_contract::Identity;
use quintet_wire::{Decode, DecodeError, Encode, Reader, Sink};

/// A peer asked for what it was not granted. Told to the callers of the launcher's node, where there are any, under
/// [`NOT_GRANTED`](crate::codec::NOT_GRANTED): whether it has proved who it is u8, its identity or 32 zeros, and the refusal that it was given.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NotGranted {
    /// Who the peer has proved to be, if it has.
    pub identity: Option<Identity>,
    /// What it was answered.
    pub refusal: Refusal,
}

impl Encode for NotGranted {
    fn encode(&self, sink: &mut impl Sink) {
        sink.u8(u8::from(self.identity.is_some()));
        sink.bytes(&self.identity.unwrap_or(Identity([0; 32])).0);
        self.refusal.encode(sink);
    }
}

impl Decode<'_> for NotGranted {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let is_proved = reader.u8()? != 0;
        let identity = Identity(reader.array()?);
        Ok(NotGranted { identity: is_proved.then_some(identity), refusal: Refusal::decode(reader)? })
    }
}

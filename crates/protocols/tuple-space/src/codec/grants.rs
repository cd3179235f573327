//! Who may put what others run, as a caller of the space's own node says it; and what it is told of who was refused.

use bytes::Bytes;
use core::mem::size_of;
use quintet_contract::{Identity, OwnedFrame, Token, limits};
use quintet_wire::{Decode, DecodeError, Encode, Reader, Sink, encode_to_vec};
use std::collections::BTreeSet;

/// With what the first field of a tuple begins, a text, that carries functions, or speaks of who runs them: `"quintet."`.
pub const RESERVED_PREFIX: &str = "quintet.";
/// The one first field with that prefix that anybody may put: what has become of a failed evaluation, as text.
pub const FAILED: &str = "quintet.failed";

/// Identities that may be named: as many as a launcher takes.
pub const MAX_CODE_GRANTS: usize = 1024;

/// Whether a tuple with this text in front is reserved.
pub(crate) fn is_reserved(first: &[u8]) -> bool {
    first.starts_with(RESERVED_PREFIX.as_bytes()) && first != FAILED.as_bytes()
}

/// Who may put reserved tuples: those whose first field is a text that begins with [`RESERVED_PREFIX`].
///
/// Own machine u8, then of each identity, in their order, 32 bytes.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct CodeGrants {
    /// Who reaches the space from its own machine, over a link that asks for no proof, may.
    pub own_machine: bool,
    /// Who has proved to be one of these may; [`MAX_CODE_GRANTS`] at most.
    pub identities: BTreeSet<Identity>,
}

impl CodeGrants {
    /// The frame by which a caller of the space's own node says it.
    #[must_use]
    pub fn frame(&self, token: Token) -> OwnedFrame {
        let mut body = encode_to_vec(&super::Settled(0));
        self.encode(&mut body);
        OwnedFrame { kind: super::GRANT, token, body: body.into(), bulk: Bytes::new() }
    }
}

impl Encode for CodeGrants {
    fn encode(&self, sink: &mut impl Sink) {
        sink.u8(self.own_machine.into());
        self.identities.iter().for_each(|identity| sink.bytes(&identity.0));
    }
}

impl Decode<'_> for CodeGrants {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let own_machine = reader.flag("own machine")?;
        let number = reader.left() / size_of::<Identity>();
        if number > MAX_CODE_GRANTS {
            let (value, limit) = (number as u64, MAX_CODE_GRANTS as u64);
            return Err(DecodeError::TooLarge { at: reader.at(), field: "number of grants", value, limit });
        }
        let mut identities = BTreeSet::new();
        while reader.left() > 0 {
            let at = reader.at();
            let identity = Identity(reader.array()?);
            if identities.last().is_some_and(|last| *last >= identity) {
                let value = identity.0[0].into();
                return Err(DecodeError::Invalid { at, field: "order of identities", value });
            }
            identities.insert(identity);
        }
        Ok(CodeGrants { own_machine, identities })
    }
}

/// What somebody was refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Withheld {
    /// What needs the grant `code`.
    Code,
    /// A named space that is for others.
    Space,
}

/// Somebody was refused what needs a grant. Told to the caller that has said who has `code`, under [`NOT_GRANTED`](super::NOT_GRANTED):
/// what u8 (0 code, 1 space), whether he has proved who he is u8, his identity or 32 zeros, the text that he was given.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NotGranted {
    /// What he may not do or use.
    pub what: Withheld,
    /// Who he has proved to be, if he has.
    pub identity: Option<Identity>,
    /// Why, in the words that he was given.
    pub text: String,
}

impl Encode for NotGranted {
    fn encode(&self, sink: &mut impl Sink) {
        sink.u8((self.what == Withheld::Space).into());
        sink.u8(self.identity.is_some().into());
        sink.bytes(&self.identity.unwrap_or(Identity([0; 32])).0);
        sink.bytes(self.text.as_bytes());
    }
}

impl Decode<'_> for NotGranted {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let what = if reader.flag("what was refused")? { Withheld::Space } else { Withheld::Code };
        let is_proved = reader.flag("whether there is a proof")?;
        let identity = Identity(reader.array()?);
        let at = reader.at();
        let text = core::str::from_utf8(reader.bytes(reader.left())?);
        let text = text.map_err(|_| DecodeError::NotText { at })?.to_owned();
        Ok(NotGranted { what, identity: is_proved.then_some(identity), text })
    }
}

const _: () = assert!(
    super::REQUEST_BYTES + MAX_CODE_GRANTS * size_of::<Identity>() <= limits::MAX_PAYLOAD_BYTES,
    "grants are one frame"
);

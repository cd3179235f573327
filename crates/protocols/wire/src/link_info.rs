//! How a recording keeps what a link is.

use crate::{Decode, DecodeError, Encode, Reader, Sink};
use quintet_contract::{Identity, LinkClass, LinkInfo};

/// In the first byte: each says whether.
const LOSES_FRAMES: u8 = 1;
const MAY_BE_CUT: u8 = 2;
const HAS_IDENTITY: u8 = 4;
const HOLDS_TOKEN: u8 = 8;
const IS_RELAYED: u8 = 16;

impl Encode for LinkInfo {
    fn encode(&self, sink: &mut impl Sink) {
        let flag = |is: bool, flag: u8| if is { flag } else { 0 };
        sink.u8(flag(self.loses_frames, LOSES_FRAMES)
            | flag(self.may_be_cut, MAY_BE_CUT)
            | flag(self.identity.is_some(), HAS_IDENTITY)
            | flag(self.holds_token, HOLDS_TOKEN)
            | flag(self.is_relayed, IS_RELAYED));
        sink.u8(match self.class {
            LinkClass::Process => 1,
            LinkClass::Machine => 2,
            LinkClass::Network => 3,
        });
        sink.u64(self.max_body_bytes as u64);
        sink.u64(self.max_bulk_bytes as u64);
        if let Some(Identity(bytes)) = &self.identity {
            sink.bytes(bytes);
        }
    }
}

impl Decode<'_> for LinkInfo {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let flags = reader.u8()?;
        if flags & !(LOSES_FRAMES | MAY_BE_CUT | HAS_IDENTITY | HOLDS_TOKEN | IS_RELAYED) != 0 {
            return Err(reader.invalid("link flags", flags, 1));
        }
        let class = match reader.u8()? {
            1 => LinkClass::Process,
            2 => LinkClass::Machine,
            3 => LinkClass::Network,
            other => return Err(reader.invalid("link class", other, 1)),
        };
        let mut size = || Ok(usize::try_from(reader.u64()?).unwrap_or(usize::MAX));
        let (max_body_bytes, max_bulk_bytes) = (size()?, size()?);
        let has_identity = flags & HAS_IDENTITY != 0;
        let identity = if has_identity { Some(Identity(reader.array()?)) } else { None };
        let (loses_frames, may_be_cut) = (flags & LOSES_FRAMES != 0, flags & MAY_BE_CUT != 0);
        let (holds_token, is_relayed) = (flags & HOLDS_TOKEN != 0, flags & IS_RELAYED != 0);
        Ok(LinkInfo {
            loses_frames,
            may_be_cut,
            max_body_bytes,
            max_bulk_bytes,
            class,
            identity,
            holds_token,
            is_relayed,
        })
    }
}

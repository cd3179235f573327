//! Who may put what others run, as bytes.

use super::{CodeGrants, Granted};
use quintet_contract::Address;
use quintet_contract::limits::MAX_PAYLOAD_BYTES;
use quintet_wire::{Decode, DecodeError, Reader, Sink, encode_to_vec};

impl Granted {
    pub(in crate::space) fn save(granted: Option<&Granted>, bytes: &mut Vec<u8>) {
        bytes.u8(granted.is_some().into());
        let Some(Granted { grants, by }) = granted else { return };
        bytes.u32(by.to_bits());
        bytes.counted(&encode_to_vec(grants));
    }

    pub(in crate::space) fn restore(reader: &mut Reader<'_>) -> Result<Option<Granted>, DecodeError> {
        if !reader.flag("whether somebody has said who may")? {
            return Ok(None);
        }
        let by = Address::from_bits(reader.u32()?);
        let grants = CodeGrants::decode_all(reader.counted("grants", MAX_PAYLOAD_BYTES)?)?;
        Ok(Some(Granted { grants, by }))
    }
}

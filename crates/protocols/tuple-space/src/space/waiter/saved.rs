//! What few requests have beside one template, as bytes.

use super::{Kept, More, Waiter};
use crate::codec::{Put, View};
use bytes::Bytes;
use quintet_contract::Span;
use quintet_contract::limits::{MAX_BULK_BYTES, MAX_PAYLOAD_BYTES};
use quintet_wire::{DecodeError, Reader, Sink};

/// In which store, and under which fields, each of the other templates of a select is filed, if it is.
pub(in crate::space) type OthersFiled = Vec<Option<(u32, u64)>>;

impl Waiter {
    pub(in crate::space) fn save_more(&self, bytes: &mut Vec<u8>) {
        match self.more.as_deref() {
            None => bytes.u8(0),
            Some(More::Select(others)) => {
                bytes.u8(1);
                bytes.u64(others.len() as u64);
                for (template, filed) in others {
                    bytes.counted(template.view().head());
                    bytes.counted(template.bulk());
                    bytes.u8(filed.is_some().into());
                    bytes.u32(filed.map_or(0, |filed| filed.store));
                    bytes.u64(filed.map_or(0, |filed| filed.fields));
                }
            }
            Some(More::Replace(tuples)) => {
                bytes.u8(2);
                tuples.save(Span::ZERO, bytes);
            }
        }
    }

    /// With what it has beside its template; and where that is to be filed.
    pub(in crate::space) fn restore_more(
        self,
        reader: &mut Reader<'_>,
    ) -> Result<(Waiter, OthersFiled), DecodeError> {
        let mut filed = Vec::new();
        let more = match reader.u8()? {
            0 => return Ok((self, filed)),
            1 => {
                let mut others = Vec::new();
                for _ in 0..reader.u64()? {
                    others.push((Kept::restore(reader)?, None));
                    let is_filed = reader.flag("whether a template is filed")?;
                    filed.push(Some((reader.u32()?, reader.u64()?)).filter(|_| is_filed));
                }
                More::Select(others)
            }
            2 => {
                let body = reader.counted("tuples", MAX_PAYLOAD_BYTES + MAX_BULK_BYTES)?;
                let bulk = Bytes::copy_from_slice(reader.counted("bulk", MAX_BULK_BYTES)?);
                More::Replace(Put::decode(&mut Reader::new(body), &bulk)?.tuples.keep())
            }
            other => return Err(reader.invalid("what a request has beside a template", other, 1)),
        };
        Ok((self.with(more), filed))
    }
}

impl Kept {
    pub(in crate::space) fn restore(reader: &mut Reader<'_>) -> Result<Kept, DecodeError> {
        let head = reader.counted("template", MAX_PAYLOAD_BYTES)?;
        let bulk = Bytes::copy_from_slice(reader.counted("bulk", MAX_BULK_BYTES)?);
        Ok(Kept::new(&View::template(head, &bulk)?, &bulk))
    }
}

//! A select whose templates are of several managers, and a replacement whose tuples are: what each of them is to look for and to put.
//!
//! ```text
//! what follows the parts that were prepared, in a PREPARE that begins with 2:
//! 1: its templates are of this manager, 0: it only puts u8 | n u8, which of the select's templates these are, n u8
//! | as FURTHER behind settled, of a replacement or a select: its templates, and the tuples that it puts, of a replacement none perhaps
//! ```

use super::further::{Further, FurtherOperation};
use super::prepare::{PreparedAt, lay_out};
use super::put::PutTuple;
use super::{MAX_SELECT_TEMPLATES, Query, REQUEST_BYTES, Replace, Select, TooLarge, Wait};
use bytes::Bytes;
use quintet_contract::Span;
use quintet_wire::{Decode, DecodeError, Encode, Reader, Sink};

/// Such a part as its manager reads it, checked.
#[derive(Clone, Debug)]
pub(crate) struct SeekView<'a> {
    /// Those of other managers, if this one brings them together.
    pub(crate) others: Vec<PreparedAt>,
    /// Whether its templates are of this manager; else it only puts what replaces what another one has.
    pub(crate) is_here: bool,
    /// Which of the select's templates these are, one for each.
    pub(crate) which: Box<[u8]>,
    /// A replacement or a select.
    pub(crate) further: Further<'a>,
}

impl<'a> SeekView<'a> {
    /// Reads it behind the parts that were prepared.
    ///
    /// # Errors
    /// What is wrong with the bytes.
    pub(super) fn decode(
        others: Vec<PreparedAt>,
        reader: &mut Reader<'a>,
        bulk: &'a Bytes,
    ) -> Result<SeekView<'a>, DecodeError> {
        let is_here = reader.flag("whether templates are of a manager")?;
        let number = reader.u8()?;
        if usize::from(number) > MAX_SELECT_TEMPLATES {
            return Err(reader.invalid("number of templates of a part", number, 1));
        }
        let which: Box<[u8]> = reader.bytes(number.into())?.into();
        let at = reader.at();
        let further = match FurtherOperation::decode(reader)? {
            FurtherOperation::Replace if which.is_empty() => {
                Further::Replace(Replace::decode(1, reader, bulk)?)
            }
            FurtherOperation::SelectTake => Further::Select(Select::decode(true, reader, bulk)?),
            FurtherOperation::SelectRead => Further::Select(Select::decode(false, reader, bulk)?),
            other => {
                return Err(DecodeError::Invalid { at, field: "operation of a part", value: other as u64 });
            }
        };
        let fits = match &further {
            Further::Select(select) => is_here && select.templates.len() == which.len(),
            _ => true,
        };
        let view = SeekView { others, is_here, which, further };
        if fits { Ok(view) } else { Err(DecodeError::Invalid { at, field: "templates of a part", value: 0 }) }
    }
}

/// Such a part as it is written: all but what stands in front of it, and how it waits.
#[derive(Debug)]
pub(crate) struct SeekBody {
    front: Vec<u8>,
    operation: FurtherOperation,
    lease: Option<Span>,
    parts: Vec<u8>,
    bulk: Bytes,
}

impl SeekBody {
    /// Of what one manager has of it. `parts`: templates, and then what is put.
    ///
    /// # Errors
    /// They are too long for one request.
    pub(crate) fn new(
        (operation, lease): (FurtherOperation, Option<Span>),
        is_here: bool,
        which: &[u8],
        parts: &[PutTuple<'_>],
    ) -> Result<SeekBody, TooLarge> {
        let mut front =
            vec![is_here.into(), u8::try_from(which.len()).expect("at most MAX_SELECT_TEMPLATES")];
        front.bytes(which);
        let (parts, bulk) = lay_out(parts, REQUEST_BYTES + front.len())?;
        Ok(SeekBody { front, operation, lease, parts, bulk })
    }

    /// Its body, behind what stands in front of it, and its bulk.
    pub(crate) fn append(&self, wait: Wait, body: &mut Vec<u8>) -> Bytes {
        body.bytes(&self.front);
        self.operation.encode(body);
        if self.operation == FurtherOperation::Replace {
            let (how, span) = wait.parts();
            body.u8(how);
            body.u64(span);
        } else {
            Query::encode_front(wait, self.lease, None, body);
        }
        body.bytes(&self.parts);
        self.bulk.clone()
    }
}

/// What a manager that stands still has found for such a part: the body of its answer.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Found {
    /// The age of the oldest match.
    pub(crate) age: Option<u64>,
    /// Why it cannot be answered with that: nothing happens then.
    pub(crate) refusal: Option<super::Refusal>,
}

impl Encode for Found {
    fn encode(&self, sink: &mut impl Sink) {
        // No age is 0.
        sink.u64(self.age.unwrap_or(0));
        sink.u8(self.refusal.is_some().into());
        self.refusal.iter().for_each(|refusal| refusal.encode(sink));
    }
}

impl Decode<'_> for Found {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let age = Some(reader.u64()?).filter(|age| *age != 0);
        let is_refused = reader.flag("whether a part is refused")?;
        Ok(Found { age, refusal: is_refused.then(|| super::Refusal::decode(reader)).transpose()? })
    }
}

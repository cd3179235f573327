//! Operations that came after the others, behind one kind.
//!
//! ```text
//! FURTHER  settled u64 | operation u8 | the rest:
//! 0  replacement       how it waits u8, span u64 | n u32 from 2 | n parts: the template, then the tuples that are put
//! 1  select and take   how it waits u8, span u64, time to live of the lease u64 (0: plain) | n u32, 1 to 32 | n parts: templates
//! 2  select and read   as 1, the lease 0
//! 3 to 6               collections: see `collect.rs`
//! ```
//!
//! Parts lie as the tuples of an [`OUT`](super::OUT) do: each is head length u32, bulk length u32, head; their bulks follow each other. A
//! manager from before these operations answers them as malformed, and nothing has happened.

use super::put::{Parts, own_part};
use super::{Collect, CollectInto, PutTuples, Query, View, Wait};
use bytes::Bytes;
use quintet_contract::{Kind, Span};
use quintet_wire::{Decode, DecodeError, Encode, Reader, Sink};

/// Templates that one select may have.
pub const MAX_SELECT_TEMPLATES: usize = 32;

/// What is asked for by [`FURTHER`](super::FURTHER).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FurtherOperation {
    Replace,
    SelectTake,
    SelectRead,
    Collect,
    CopyCollect,
    CollectInto,
    CopyCollectInto,
}

impl FurtherOperation {
    const ALL: [FurtherOperation; 7] = [
        FurtherOperation::Replace,
        FurtherOperation::SelectTake,
        FurtherOperation::SelectRead,
        FurtherOperation::Collect,
        FurtherOperation::CopyCollect,
        FurtherOperation::CollectInto,
        FurtherOperation::CopyCollectInto,
    ];

    /// That of a body behind `settled`, if it is one that is known.
    pub(crate) fn of_body(body: &[u8]) -> Option<FurtherOperation> {
        let number = body.get(size_of::<u64>())?;
        FurtherOperation::ALL.get(usize::from(*number)).copied()
    }

    /// Whether a request is about two spaces.
    pub(crate) fn is_into(kind: Kind, body: &[u8]) -> bool {
        use FurtherOperation::{CollectInto, CopyCollectInto};
        let operation = FurtherOperation::of_body(body).filter(|_| kind == super::FURTHER);
        matches!(operation, Some(CollectInto | CopyCollectInto))
    }
}

impl Encode for FurtherOperation {
    fn encode(&self, sink: &mut impl Sink) {
        sink.u8(*self as u8);
    }
}

impl Decode<'_> for FurtherOperation {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let number = reader.u8()?;
        let known = FurtherOperation::ALL.get(usize::from(number)).copied();
        known.ok_or_else(|| reader.invalid("further operation", number, 1))
    }
}

/// A further operation as the manager reads it: everything checked, nothing copied.
#[derive(Clone, Debug)]
pub(crate) enum Further<'a> {
    Replace(Replace<'a>),
    Select(Select<'a>),
    Collect(Collect<'a>),
    CollectInto(CollectInto<'a>),
}

/// Takes the oldest match of a template and puts others in its place.
#[derive(Clone, Debug)]
pub(crate) struct Replace<'a> {
    pub(crate) wait: Wait,
    pub(crate) template: View<'a>,
    /// The bytes in which the template's long data lies.
    pub(crate) bulk: Bytes,
    pub(crate) tuples: PutTuples<'a>,
}

/// Takes or reads the oldest tuple that matches one of several templates.
#[derive(Clone, Debug)]
pub(crate) struct Select<'a> {
    pub(crate) takes: bool,
    pub(crate) wait: Wait,
    pub(crate) lease: Option<Span>,
    /// Each with the bytes in which its long data lies.
    pub(crate) templates: Vec<(View<'a>, Bytes)>,
}

impl<'a> Further<'a> {
    /// Reads what follows `settled`.
    ///
    /// # Errors
    /// What is wrong with the bytes.
    pub(crate) fn decode(reader: &mut Reader<'a>, bulk: &'a Bytes) -> Result<Further<'a>, DecodeError> {
        match FurtherOperation::decode(reader)? {
            FurtherOperation::Replace => Replace::decode(2, reader, bulk).map(Further::Replace),
            FurtherOperation::SelectTake => Select::decode(true, reader, bulk).map(Further::Select),
            FurtherOperation::SelectRead => Select::decode(false, reader, bulk).map(Further::Select),
            FurtherOperation::Collect => Collect::decode(true, reader, bulk).map(Further::Collect),
            FurtherOperation::CopyCollect => Collect::decode(false, reader, bulk).map(Further::Collect),
            FurtherOperation::CollectInto => {
                CollectInto::decode(true, reader, bulk).map(Further::CollectInto)
            }
            FurtherOperation::CopyCollectInto => {
                CollectInto::decode(false, reader, bulk).map(Further::CollectInto)
            }
        }
    }
}

impl<'a> Replace<'a> {
    /// Its template, and so many parts at least with that.
    pub(super) fn decode(
        least: u32,
        reader: &mut Reader<'a>,
        bulk: &'a Bytes,
    ) -> Result<Replace<'a>, DecodeError> {
        let how = reader.u8()?;
        let wait = Wait::read(how, reader)?;
        let mut parts = Parts::decode(reader, bulk)?;
        if parts.count() < least {
            return Err(reader.invalid("number of parts of a replacement", parts.count(), 4));
        }
        let (head, own) = parts.next_part()?;
        let template = View::template(head, own)?;
        Ok(Replace { wait, template, bulk: own_part(bulk, own), tuples: parts.into_tuples()? })
    }
}

impl<'a> Select<'a> {
    pub(super) fn decode(
        takes: bool,
        reader: &mut Reader<'a>,
        bulk: &'a Bytes,
    ) -> Result<Select<'a>, DecodeError> {
        let (wait, lease, group) = Query::decode_front(reader)?;
        if group.is_some() || (lease.is_some() && !takes) {
            return Err(reader.invalid("lease of a select", lease.map_or(0, |ttl| ttl.0), 8));
        }
        let mut parts = Parts::decode(reader, bulk)?;
        let count = parts.count();
        if !(1..=MAX_SELECT_TEMPLATES).contains(&(count as usize)) {
            return Err(reader.invalid("number of templates of a select", count, 4));
        }
        let mut templates = Vec::with_capacity(count as usize);
        for _ in 0..count {
            let (head, own) = parts.next_part()?;
            templates.push((View::template(head, own)?, own_part(bulk, own)));
        }
        parts.finish()?;
        Ok(Select { takes, wait, lease, templates })
    }
}

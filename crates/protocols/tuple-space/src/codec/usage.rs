//! How a space is used: its partitions, and the keys that are asked for most, as rows of a listing.
//!
//! ```text
//! partition  signature, counted | has a name u8, if 1: the name, counted | tuples u64 | bytes u64 | put u64 | taken u64 | read u64 |
//!            asked u64 | not empty for u64 | since a put u64, a delivery u64, a question u64 |
//!            asked in other ways u64 | ways u32, each: which fields are actual u64, asked u64
//! hot key    asked u64 | at most so many of them for others u64 | fields
//! ```
//!
//! Spans are nanoseconds, all ones where there is none. Fields are those of `glimpse.rs`.

use super::glimpse::{Glimpse, read_fields};
use super::listing::{read_end, write_end};
use crate::Signature;
use quintet_contract::Span;
use quintet_wire::{Decode, DecodeError, Encode, Reader, Sink};

/// The longest first field that names a partition, in bytes.
pub const MAX_PARTITION_NAME_BYTES: usize = 64;
/// Ways of asking that a partition tells apart: which fields templates have values for.
pub const MAX_TEMPLATE_SHAPES: usize = 8;

/// The tuples of one signature whose first field is the same text, and how they are used. Those of a signature without a text in front are one partition; so
/// are those with other names than the first of each signature, and those with a long one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Partition {
    /// The types of its fields.
    pub signature: Signature,
    /// The first field; none: all that no other partition of the signature has.
    pub name: Option<String>,
    /// Tuples that it holds, those under a lease and in delivery included.
    pub tuples: u64,
    /// Bytes that they count for in the quota.
    pub bytes: u64,
    /// Tuples that were put.
    pub put: u64,
    /// Deliveries to takes, those under a lease included. A tuple that comes back is delivered again.
    pub taken: u64,
    /// Deliveries to reads.
    pub read: u64,
    /// Takes and reads that named it, whether or not there was a tuple. Those whose template names no text in front are counted in the partition without a name.
    pub asked: u64,
    /// For how long it has held a tuple; none: it holds none.
    pub filled: Option<Span>,
    /// How long ago a tuple was put; none: never.
    pub since_put: Option<Span>,
    /// How long ago one was delivered, to a take or a read; none: never.
    pub since_delivery: Option<Span>,
    /// How long ago it was asked for; none: never.
    pub since_asked: Option<Span>,
    /// For which fields templates have had values, those that came first; how often.
    pub shapes: Vec<TemplateShape>,
    /// How often templates had values for other fields than in `shapes`.
    pub other_shapes: u64,
}

/// A way of asking for a partition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TemplateShape {
    /// The fields with values, a bit each; bit 0 is the first.
    pub actuals: u64,
    /// How many takes and reads asked so.
    pub asked: u64,
}

/// Values that takes and reads ask for often. Counts are of one question in sixteen, halved now and then: shares of what was asked lately.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HotKey {
    /// How often it was asked for, at most.
    pub asked: u64,
    /// So many of these may have been for others: it was asked for `asked - error` times at least.
    pub error: u64,
    /// The template that asked first: values, and types in the place of formals.
    pub fields: Vec<Glimpse>,
}

impl Encode for Partition {
    fn encode(&self, sink: &mut impl Sink) {
        sink.counted(&self.signature.0);
        sink.u8(self.name.is_some().into());
        if let Some(name) = &self.name {
            sink.counted(name.as_bytes());
        }
        for count in [self.tuples, self.bytes, self.put, self.taken, self.read, self.asked] {
            sink.u64(count);
        }
        for span in [self.filled, self.since_put, self.since_delivery, self.since_asked] {
            write_end(span, sink);
        }
        sink.u64(self.other_shapes);
        sink.u32(u32::try_from(self.shapes.len()).expect("a few shapes"));
        for TemplateShape { actuals, asked } in &self.shapes {
            sink.u64(*actuals);
            sink.u64(*asked);
        }
    }
}

impl Decode<'_> for Partition {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let signature = Signature::decode(reader)?;
        let name = if reader.flag("whether a partition has a name")? {
            let at = reader.at();
            let name = reader.counted("name of a partition", MAX_PARTITION_NAME_BYTES)?;
            Some(core::str::from_utf8(name).map_err(|_| DecodeError::NotText { at })?.to_owned())
        } else {
            None
        };
        let [tuples, bytes, put, taken, read, asked] = read_counts(reader)?;
        let (filled, since_put) = (read_end(reader)?, read_end(reader)?);
        let (since_delivery, since_asked) = (read_end(reader)?, read_end(reader)?);
        let other_shapes = reader.u64()?;
        let mut shapes = Vec::new();
        for _ in 0..reader.length("number of template shapes", MAX_TEMPLATE_SHAPES)? {
            shapes.push(TemplateShape { actuals: reader.u64()?, asked: reader.u64()? });
        }
        Ok(Partition {
            signature,
            name,
            tuples,
            bytes,
            put,
            taken,
            read,
            asked,
            filled,
            since_put,
            since_delivery,
            since_asked,
            shapes,
            other_shapes,
        })
    }
}

fn read_counts<const N: usize>(reader: &mut Reader<'_>) -> Result<[u64; N], DecodeError> {
    let mut counts = [0; N];
    for count in &mut counts {
        *count = reader.u64()?;
    }
    Ok(counts)
}

impl Decode<'_> for HotKey {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let (asked, error) = (reader.u64()?, reader.u64()?);
        Ok(HotKey { asked, error, fields: read_fields(reader)? })
    }
}

//! A space's partitions, and how each is used.

use super::{list, next};
use crate::boundary::{Tagged, free, guarded, handle, milliseconds, place};
use crate::error::quintet_status;
use crate::space::quintet_space;
use crate::tuple::{quintet_tuple, received_fields};
use core::mem::MaybeUninit;
use core::ptr::{NonNull, null_mut};
use quintet::{Field, Listing, Partition, TemplateShape, Value};
use quintet_contract::Span;
use std::sync::Mutex;
use std::time::Duration;

/// Partitions of a space, which are fetched as they are asked for.
pub struct quintet_partitions(Tagged<Mutex<Listing<Partition>>>);
handle!(quintet_partitions, Mutex<Listing<Partition>>, b"part", "list of partitions");

/// Ways of asking that a partition tells apart.
pub const QUINTET_MAX_TEMPLATE_SHAPES: usize = 8;

const _: () = assert!(QUINTET_MAX_TEMPLATE_SHAPES == quintet::MAX_TEMPLATE_SHAPES);

/// A way of asking for a partition: for which fields templates have values.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct quintet_template_shape {
    /// These fields: bit 0 is the first.
    pub fields: u64,
    /// How many takes and reads asked so.
    pub asked: u64,
}

/// How the tuples of one partition are used: those of the same types with the same text in front.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct quintet_partition_row {
    /// Tuples that it holds, those under a lease and on their way included.
    pub tuples: u64,
    /// Bytes that they count for in the space's limit.
    pub bytes: u64,
    /// Tuples that were put.
    pub put: u64,
    /// Deliveries to takes, those under a lease included; a tuple that comes back is delivered again.
    pub taken: u64,
    /// Deliveries to reads.
    pub read: u64,
    /// Takes and reads that named it, whether or not there was a tuple.
    pub asked: u64,
    /// For how long it has held a tuple, in milliseconds; `QUINTET_NEVER` if it holds none.
    pub filled_ms: i64,
    /// How long ago a tuple was put, in milliseconds, or `QUINTET_NEVER`.
    pub since_put_ms: i64,
    /// How long ago one was delivered, to a take or a read, in milliseconds, or `QUINTET_NEVER`.
    pub since_delivery_ms: i64,
    /// How long ago it was asked for, in milliseconds, or `QUINTET_NEVER`.
    pub since_asked_ms: i64,
    /// For which fields templates have had values, those that came first, and how often.
    pub shapes: [quintet_template_shape; QUINTET_MAX_TEMPLATE_SHAPES],
    /// How many of `shapes` there are.
    pub shape_count: usize,
    /// How often templates had values for other fields than in `shapes`.
    pub other_shapes: u64,
    /// Whether the first field of its types is a text, the same in all its tuples. Without, it has all tuples of its types that no other partition has.
    pub has_name: bool,
    /// Zero; later versions may have more numbers.
    pub reserved: [u64; 4],
}

/// Begins to list the partitions of a space. Where several managers have the space, a partition has their counts together, and shows the last of what happened at any of them. Nothing is fetched so far. It is freed with `quintet_partitions_free`.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_space_partitions(
    space: Option<&quintet_space>,
    partitions: Option<&mut MaybeUninit<*mut quintet_partitions>>,
) -> quintet_status {
    list(space, (partitions, "partitions"), |connection| connection.space.partitions())
}

/// The next partition, as a template that its tuples match: the text in front, if it has one, and a formal for each other field. It is freed with `quintet_tuple_free`; NULL, with `QUINTET_OK`, when there is
/// none any more. `row` may be NULL.
///
/// Fails with `QUINTET_CLOSED`, `QUINTET_MALFORMED` of a server from before partitions, or as the connection does; then the list is over.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_partitions_next(
    partitions: Option<&quintet_partitions>,
    row: Option<&mut MaybeUninit<quintet_partition_row>>,
    types: Option<&mut MaybeUninit<*mut quintet_tuple>>,
) -> quintet_status {
    guarded(|| {
        let row = row.map(|row| row.write(quintet_partition_row::default()));
        let types = place(types, "types", null_mut())?;
        let Some(partition) = next(partitions)? else { return Ok(()) };
        if let Some(row) = row {
            *row = (&partition).into();
        }
        *types = received_fields(fields(&partition));
        Ok(())
    })
}

/// Frees a list of partitions. NULL is left alone.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_partitions_free(partitions: Option<NonNull<quintet_partitions>>) {
    free(partitions);
}

impl From<&Partition> for quintet_partition_row {
    fn from(partition: &Partition) -> quintet_partition_row {
        let since = |span: Option<Span>| milliseconds(span.map(Duration::from));
        let mut shapes = [quintet_template_shape::default(); QUINTET_MAX_TEMPLATE_SHAPES];
        for (shape, TemplateShape { actuals, asked }) in shapes.iter_mut().zip(&partition.shapes) {
            *shape = quintet_template_shape { fields: *actuals, asked: *asked };
        }
        quintet_partition_row {
            tuples: partition.tuples,
            bytes: partition.bytes,
            put: partition.put,
            taken: partition.taken,
            read: partition.read,
            asked: partition.asked,
            filled_ms: since(partition.filled),
            since_put_ms: since(partition.since_put),
            since_delivery_ms: since(partition.since_delivery),
            since_asked_ms: since(partition.since_asked),
            shapes,
            shape_count: partition.shapes.len(),
            other_shapes: partition.other_shapes,
            has_name: partition.name.is_some(),
            reserved: [0; 4],
        }
    }
}

/// A template that the tuples of the partition match.
fn fields(partition: &Partition) -> Vec<Field> {
    let mut fields: Vec<Field> = partition.signature.types().map(Field::Formal).collect();
    if let (Some(name), Some(first)) = (&partition.name, fields.first_mut()) {
        *first = Field::Actual(Value::from(name.clone()));
    }
    fields
}

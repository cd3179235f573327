//! quintet_listing - what lies in a space, without taking it
//!
//! A listing shows the tuples of a space, oldest first, those under a lease included. It fetches them a page at a time, as they are asked for; no
//! page costs the space more than another operation. A page is the space at one instant, several are not: a tuple that is leased or returns between
//! two may be shown twice or not at all.
//!
//! Of text, bytes and arrays the first 256 bytes are shown. What is longer is a field of text or bytes that has its beginning, and is marked in
//! `quintet_row`.
//!
//! ```c
//! quintet_listing *listing;
//! quintet_row row;
//! quintet_tuple *tuple;
//! quintet_space_list(space, NULL, &listing);
//! while (quintet_listing_next(listing, &row, &tuple) == QUINTET_OK && tuple != NULL) {
//!     ...
//!     quintet_tuple_free(tuple);
//! }
//! quintet_listing_free(listing);
//! ```
//!
//! Any threads may use a listing at once; each row is given to one of them.

use crate::boundary::{Tagged, free, give, guarded, handle, milliseconds, place, value};
use crate::error::quintet_status;
use crate::space::quintet_space;
use crate::tuple::{quintet_tuple, received_fields, received_values, to_match};
use core::mem::MaybeUninit;
use core::ptr::{NonNull, null_mut};
use quintet::{Bytes, Field, Glimpse, ListedLease, ListedTuple, Listing, Type, Value};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Tuples of a space, which are fetched as they are asked for.
pub struct quintet_listing(Tagged<Mutex<Listing<ListedTuple>>>);
handle!(quintet_listing, Mutex<Listing<ListedTuple>>, b"list", "listing");

/// What a listing says of a tuple.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct quintet_row {
    /// Its place in the order in which tuples were put: an older one has a lower number.
    pub age: u64,
    /// Bytes that it counts for in the space's limit.
    pub bytes: u64,
    /// Which fields are the beginning of longer ones: bit 0 is the first.
    pub cut: u64,
    /// Leases of it that ended without an acknowledgement.
    pub failed: u32,
    /// Whether somebody has it under a lease, or has just taken it.
    pub is_leased: bool,
    /// For how long, in milliseconds.
    pub held_ms: i64,
    /// In how long the lease ends unless it is renewed, in milliseconds; `QUINTET_FOREVER` if that is not known.
    pub ends_in_ms: i64,
    /// In how long it expires, in milliseconds; `QUINTET_FOREVER` if it does not.
    pub expires_in_ms: i64,
    /// Zero; later versions may have more numbers.
    pub reserved: [u64; 3],
}

/// Begins to list the tuples that match `wanted`, or all where that is NULL. Nothing is fetched so far; the template may be freed at once.
///
/// Fails with `QUINTET_BAD_VALUE` for what is no template.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_space_list(
    space: Option<&quintet_space>,
    wanted: Option<&quintet_tuple>,
    listing: Option<&mut MaybeUninit<*mut quintet_listing>>,
) -> quintet_status {
    guarded(|| {
        let listing = place(listing, "listing", null_mut())?;
        let connection = value(space)?;
        let template = wanted.map(|wanted| to_match(Some(wanted))).transpose()?;
        *listing = give(Mutex::new(connection.space.list(template)));
        Ok(())
    })
}

/// The next tuple, which is freed with `quintet_tuple_free`; NULL, with `QUINTET_OK`, when there is none any more. `row` may be NULL.
///
/// Fails with `QUINTET_CLOSED`, or as the connection does; then the listing is over.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_listing_next(
    listing: Option<&quintet_listing>,
    row: Option<&mut MaybeUninit<quintet_row>>,
    tuple: Option<&mut MaybeUninit<*mut quintet_tuple>>,
) -> quintet_status {
    guarded(|| {
        let row = row.map(|row| row.write(quintet_row::default()));
        let tuple = place(tuple, "tuple", null_mut())?;
        let next = value(listing)?.lock().unwrap_or_else(PoisonError::into_inner).next();
        let Some(listed) = next.transpose()? else { return Ok(()) };
        if let Some(row) = row {
            *row = numbers(&listed);
        }
        *tuple = received_values(shown(listed.fields));
        Ok(())
    })
}

/// Frees a listing. NULL is left alone.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_listing_free(listing: Option<NonNull<quintet_listing>>) {
    free(listing);
}

fn numbers(listed: &ListedTuple) -> quintet_row {
    let ends_in = |lease: ListedLease| lease.ends_in.map(Duration::from);
    quintet_row {
        age: listed.age,
        bytes: listed.bytes,
        cut: cut(&listed.fields),
        failed: listed.failed,
        is_leased: listed.lease.is_some(),
        held_ms: listed.lease.map_or(0, |lease| milliseconds(Some(lease.held.into()))),
        ends_in_ms: milliseconds(listed.lease.and_then(ends_in)),
        expires_in_ms: milliseconds(listed.expires_in.map(Duration::from)),
        reserved: [0; 3],
    }
}

/// Which fields are the beginning of longer ones: bit 0 is the first.
pub(crate) fn cut(fields: &[Glimpse]) -> u64 {
    let is_cut = |field: &Glimpse| matches!(field, Glimpse::Beginning { .. });
    fields.iter().enumerate().map(|(at, field)| u64::from(is_cut(field)) << at).sum()
}

/// What is shown of a template, for C.
pub(crate) fn received_shown(fields: Vec<Glimpse>) -> *mut quintet_tuple {
    let fields = fields.into_iter().map(|field| match field {
        Glimpse::Value(value) => Field::Actual(value),
        Glimpse::Beginning { field, beginning, .. } => Field::Actual(begun(&field, beginning)),
        Glimpse::Formal(formal) => Field::Formal(formal),
    });
    received_fields(fields.collect())
}

/// What is shown of the fields of a stored tuple.
fn shown(fields: Vec<Glimpse>) -> Vec<Value> {
    let values = fields.into_iter().map(|field| match field {
        Glimpse::Value(value) => value,
        Glimpse::Beginning { field, beginning, .. } => begun(&field, beginning),
        // A stored tuple has none.
        Glimpse::Formal(_) => Value::Binary(Bytes::new()),
    });
    values.collect()
}

/// The beginning of a field of this type.
fn begun(field: &Type, beginning: Bytes) -> Value {
    match field {
        Type::Text => Value::from(String::from_utf8_lossy(&beginning).into_owned()),
        _ => Value::Binary(beginning),
    }
}

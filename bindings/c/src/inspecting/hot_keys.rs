//! Values that takes and reads ask for most.

use super::{list, next};
use crate::boundary::{Tagged, free, guarded, handle, place};
use crate::error::quintet_status;
use crate::listing::{cut, received_shown};
use crate::space::quintet_space;
use crate::tuple::quintet_tuple;
use core::mem::MaybeUninit;
use core::ptr::{NonNull, null_mut};
use quintet::{HotKey, Listing};
use std::sync::Mutex;

/// Values that takes and reads ask for most, which are fetched when the first is asked for.
pub struct quintet_hot_keys(Tagged<Mutex<Listing<HotKey>>>);
handle!(quintet_hot_keys, Mutex<Listing<HotKey>>, b"hotk", "list of hot keys");

/// How often values were asked for. Counts are of one question in sixteen, halved now and then: shares of what was asked lately.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct quintet_hot_key_row {
    /// How often, at most.
    pub asked: u64,
    /// So many of these may have been for others: it was asked for `asked - error` times at least.
    pub error: u64,
    /// Which fields of the template are the beginning of longer ones: bit 0 is the first.
    pub cut: u64,
    /// Zero; later versions may have more numbers.
    pub reserved: [u64; 5],
}

/// Begins to list the values that takes and reads ask for most in a space, the hottest first, 16 at most. Where several managers have the space, the counts of each weigh as much as the questions that it has had since it began. Nothing is fetched so far. It is freed with `quintet_hot_keys_free`.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_space_hot_keys(
    space: Option<&quintet_space>,
    keys: Option<&mut MaybeUninit<*mut quintet_hot_keys>>,
) -> quintet_status {
    list(space, (keys, "keys"), |connection| connection.space.hot_keys())
}

/// The next hot key, as the template that asked first. It is freed with `quintet_tuple_free`; NULL, with `QUINTET_OK`, when there is none any more. `row` may be NULL.
///
/// Fails with `QUINTET_CLOSED`, `QUINTET_MALFORMED` of a server from before hot keys, or as the connection does; then the list is over.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_hot_keys_next(
    keys: Option<&quintet_hot_keys>,
    row: Option<&mut MaybeUninit<quintet_hot_key_row>>,
    wanted: Option<&mut MaybeUninit<*mut quintet_tuple>>,
) -> quintet_status {
    guarded(|| {
        let row = row.map(|row| row.write(quintet_hot_key_row::default()));
        let wanted = place(wanted, "wanted", null_mut())?;
        let Some(HotKey { asked, error, fields }) = next(keys)? else { return Ok(()) };
        if let Some(row) = row {
            *row = quintet_hot_key_row { asked, error, cut: cut(&fields), reserved: [0; 5] };
        }
        *wanted = received_shown(fields);
        Ok(())
    })
}

/// Frees a list of hot keys. NULL is left alone.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_hot_keys_free(keys: Option<NonNull<quintet_hot_keys>>) {
    free(keys);
}

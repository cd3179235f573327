//! Replacements and selects. In the manual they stand with the other operations of a space: `quintet_space`.

use crate::boundary::{guarded, limit, place, slice, value};
use crate::connection::{Connection, one, perhaps, perhaps_selected};
use crate::error::quintet_status;
use crate::lease::{quintet_lease, selected_lease};
use crate::space::quintet_space;
use crate::tuple::{all_to_match, all_to_put, quintet_tuple, received, to_match};
use core::mem::MaybeUninit;
use core::ptr::null_mut;
use quintet::{Error, Pending, Template};
use std::sync::Arc;

type Place<'a> = Option<&'a mut MaybeUninit<*mut quintet_tuple>>;

/// Takes the oldest matching tuple and puts `count` others in its place, at one instant: nobody sees the space between the two. Waits for a match. A template
/// of values only is compare-and-swap. `tuple` is what was taken, to be freed with `quintet_tuple_free`. Interrupted, it has happened or it has not.
///
/// Fails with `QUINTET_TIMED_OUT`; `QUINTET_SPACE_FULL` if there is no room for what would be put, and what matches stays; `QUINTET_TOO_LARGE` if there never is;
/// `QUINTET_BAD_VALUE` for what is no template or no tuple, and for no tuple at all; `QUINTET_MALFORMED` of a server from before replacements.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_space_replace(
    space: Option<&quintet_space>,
    wanted: Option<&quintet_tuple>,
    tuples: *const Option<&quintet_tuple>,
    count: usize,
    timeout_ms: i64,
    tuple: Place<'_>,
) -> quintet_status {
    guarded(|| {
        let tuple = place(tuple, "tuple", null_mut())?;
        let (connection, template) = (value(space)?, to_match(wanted)?);
        let tuples = all_to_put(slice(tuples, count, "tuples")?)?;
        let pending = connection.space.begin().within(limit(timeout_ms)).replace(template, &tuples)?;
        *tuple = received(one(connection.finish(pending)?)?);
        Ok(())
    })
}

/// As `quintet_space_replace` if there is a match. Else `tuple` is NULL, and the status `QUINTET_OK`: nothing was put.
///
/// Fails as `quintet_space_replace`.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_space_replace_if(
    space: Option<&quintet_space>,
    wanted: Option<&quintet_tuple>,
    tuples: *const Option<&quintet_tuple>,
    count: usize,
    tuple: Place<'_>,
) -> quintet_status {
    guarded(|| {
        let tuple = place(tuple, "tuple", null_mut())?;
        let (connection, template) = (value(space)?, to_match(wanted)?);
        let tuples = all_to_put(slice(tuples, count, "tuples")?)?;
        let outcome = connection.finish(connection.space.begin().replace_if(template, &tuples)?)?;
        *tuple = perhaps(outcome)?.map_or(null_mut(), received);
        Ok(())
    })
}

/// Takes the oldest tuple that matches one of `count` templates, 1 to 32, waiting for one. `which` counts the templates from 0; it is the first
/// that matches. The tuple is to be freed with `quintet_tuple_free`.
///
/// Fails with `QUINTET_TIMED_OUT`, whose text says of each template what nearly matched; `QUINTET_BAD_VALUE` for what is no template, for none and for too
/// many; `QUINTET_MALFORMED` of a server from before selects.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_space_select(
    space: Option<&quintet_space>,
    wanted: *const Option<&quintet_tuple>,
    count: usize,
    timeout_ms: i64,
    which: Option<&mut MaybeUninit<usize>>,
    tuple: Place<'_>,
) -> quintet_status {
    select(space, wanted, count, which, tuple, |connection, templates| {
        connection.space.begin().within(limit(timeout_ms)).select(templates)
    })
}

/// As `quintet_space_select`; the tuple stays.
///
/// Fails as `quintet_space_select`.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_space_select_read(
    space: Option<&quintet_space>,
    wanted: *const Option<&quintet_tuple>,
    count: usize,
    timeout_ms: i64,
    which: Option<&mut MaybeUninit<usize>>,
    tuple: Place<'_>,
) -> quintet_status {
    select(space, wanted, count, which, tuple, |connection, templates| {
        connection.space.begin().within(limit(timeout_ms)).select_read(templates)
    })
}

/// As `quintet_space_select` if there is such a tuple. Else `tuple` is NULL, and the status `QUINTET_OK`: at one instant there was none.
///
/// Fails as `quintet_space_select`.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_space_select_if(
    space: Option<&quintet_space>,
    wanted: *const Option<&quintet_tuple>,
    count: usize,
    which: Option<&mut MaybeUninit<usize>>,
    tuple: Place<'_>,
) -> quintet_status {
    select(space, wanted, count, which, tuple, |connection, templates| {
        connection.space.begin().select_if(templates)
    })
}

/// As `quintet_space_select_if`; the tuple stays.
///
/// Fails as `quintet_space_select`.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_space_select_read_if(
    space: Option<&quintet_space>,
    wanted: *const Option<&quintet_tuple>,
    count: usize,
    which: Option<&mut MaybeUninit<usize>>,
    tuple: Place<'_>,
) -> quintet_status {
    select(space, wanted, count, which, tuple, |connection, templates| {
        connection.space.begin().select_read_if(templates)
    })
}

/// As `quintet_space_select`, under a lease, to be freed with `quintet_lease_free`.
///
/// Fails as `quintet_space_select`; `QUINTET_RESOURCE` if there is no thread to renew it.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_space_select_lease(
    space: Option<&quintet_space>,
    wanted: *const Option<&quintet_tuple>,
    count: usize,
    timeout_ms: i64,
    which: Option<&mut MaybeUninit<usize>>,
    lease: Option<&mut MaybeUninit<*mut quintet_lease>>,
) -> quintet_status {
    guarded(|| {
        let lease = place(lease, "lease", null_mut())?;
        let which = place(which, "which", 0)?;
        let connection: &Arc<Connection> = value(space)?;
        let templates = all_to_match(slice(wanted, count, "wanted")?)?;
        let begin = || connection.space.begin().within(limit(timeout_ms)).select_lease(&templates);
        (*which, *lease) = selected_lease(connection, connection.finish(connection.leasing(begin)?)?)?;
        Ok(())
    })
}

fn select(
    space: Option<&quintet_space>,
    wanted: *const Option<&quintet_tuple>,
    count: usize,
    which: Option<&mut MaybeUninit<usize>>,
    tuple: Place<'_>,
    begin: impl FnOnce(&Connection, &[Template]) -> Result<Pending, Error>,
) -> quintet_status {
    guarded(|| {
        let tuple = place(tuple, "tuple", null_mut())?;
        let which = place(which, "which", 0)?;
        let connection: &Arc<Connection> = value(space)?;
        let templates = all_to_match(slice(wanted, count, "wanted")?)?;
        let outcome = connection.finish(begin(connection, &templates)?)?;
        if let Some((number, found)) = perhaps_selected(outcome)? {
            (*which, *tuple) = (number, received(found));
        }
        Ok(())
    })
}

//! How operations are begun that are waited for later. In the manual they stand with what they begin: `quintet_pending`.

use crate::boundary::{guarded, limit, null, place, slice, value};
use crate::collect::{quintet_page_start, started};
use crate::connection::Connection;
use crate::error::quintet_status;
use crate::pending::{Gives, Pending, quintet_pending};
use crate::space::quintet_space;
use crate::tuple::{all_to_match, all_to_put, quintet_tuple, to_match};
use core::mem::MaybeUninit;
use core::ptr::null_mut;
use quintet::{Error, Template};
use std::sync::Arc;
use std::time::Duration;

type Place<'a> = Option<&'a mut MaybeUninit<*mut quintet_pending>>;

/// Begins one operation that looks for a match.
fn begin(
    space: Option<&quintet_space>,
    wanted: Option<&quintet_tuple>,
    gives: Gives,
    pending: Place<'_>,
    ask: impl FnOnce(&Connection, &Template) -> Result<quintet::Pending, Error>,
) -> quintet_status {
    guarded(|| {
        let pending = place(pending, "pending", null_mut())?;
        let connection: &Arc<Connection> = value(space)?;
        *pending = Pending::operation(connection, gives, ask(connection, to_match(wanted)?)?);
        Ok(())
    })
}

fn begin_out(
    space: Option<&quintet_space>,
    tuples: *const Option<&quintet_tuple>,
    count: usize,
    expires_in: Option<Duration>,
    timeout_ms: i64,
    pending: Place<'_>,
) -> quintet_status {
    guarded(|| {
        let pending = place(pending, "pending", null_mut())?;
        let connection = value(space)?;
        let tuples = all_to_put(slice(tuples, count, "tuples")?)?;
        if tuples.is_empty() {
            return Err(crate::boundary::misuse("there is no tuple to put"));
        }
        let begin = connection.space.begin().within(limit(timeout_ms)).expires_in(expires_in);
        *pending = Pending::operation(connection, Gives::Nothing, begin.out(&tuples)?);
        Ok(())
    })
}

fn begin_select(
    space: Option<&quintet_space>,
    wanted: *const Option<&quintet_tuple>,
    count: usize,
    gives: Gives,
    pending: Place<'_>,
    ask: impl FnOnce(&Connection, &[Template]) -> Result<quintet::Pending, Error>,
) -> quintet_status {
    guarded(|| {
        let pending = place(pending, "pending", null_mut())?;
        let connection: &Arc<Connection> = value(space)?;
        let templates = all_to_match(slice(wanted, count, "wanted")?)?;
        *pending = Pending::operation(connection, gives, ask(connection, &templates)?);
        Ok(())
    })
}

/// Begins `quintet_space_out_many`, of at least one tuple. The tuples may be changed or freed at once.
///
/// Fails with `QUINTET_BAD_VALUE` for what is no tuple, and for none; `QUINTET_TOO_LARGE`.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_space_begin_out(
    space: Option<&quintet_space>,
    tuples: *const Option<&quintet_tuple>,
    count: usize,
    timeout_ms: i64,
    pending: Option<&mut MaybeUninit<*mut quintet_pending>>,
) -> quintet_status {
    begin_out(space, tuples, count, None, timeout_ms, pending)
}

/// Begins `quintet_space_out_for`, of at least one tuple, as `quintet_space_begin_out`.
///
/// Fails as `quintet_space_begin_out`.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_space_begin_out_for(
    space: Option<&quintet_space>,
    tuples: *const Option<&quintet_tuple>,
    count: usize,
    expires_in_ms: i64,
    timeout_ms: i64,
    pending: Option<&mut MaybeUninit<*mut quintet_pending>>,
) -> quintet_status {
    begin_out(space, tuples, count, limit(expires_in_ms), timeout_ms, pending)
}

/// Begins `quintet_space_take`; its tuple comes by `quintet_pending_tuple`.
///
/// Fails with `QUINTET_BAD_VALUE` for what is no template.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_space_begin_take(
    space: Option<&quintet_space>,
    wanted: Option<&quintet_tuple>,
    timeout_ms: i64,
    pending: Option<&mut MaybeUninit<*mut quintet_pending>>,
) -> quintet_status {
    begin(space, wanted, Gives::Tuple, pending, |connection, template| {
        connection.space.begin().within(limit(timeout_ms)).take(template)
    })
}

/// Begins `quintet_space_read`; its tuple comes by `quintet_pending_tuple`.
///
/// Fails with `QUINTET_BAD_VALUE` for what is no template.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_space_begin_read(
    space: Option<&quintet_space>,
    wanted: Option<&quintet_tuple>,
    timeout_ms: i64,
    pending: Option<&mut MaybeUninit<*mut quintet_pending>>,
) -> quintet_status {
    begin(space, wanted, Gives::Tuple, pending, |connection, template| {
        connection.space.begin().within(limit(timeout_ms)).read(template)
    })
}

/// Begins `quintet_space_take_if`; its tuple, or NULL, comes by `quintet_pending_tuple`.
///
/// Fails with `QUINTET_BAD_VALUE` for what is no template.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_space_begin_take_if(
    space: Option<&quintet_space>,
    wanted: Option<&quintet_tuple>,
    pending: Option<&mut MaybeUninit<*mut quintet_pending>>,
) -> quintet_status {
    begin(space, wanted, Gives::Tuple, pending, |connection, template| {
        connection.space.begin().take_if(template)
    })
}

/// Begins `quintet_space_read_if`; its tuple, or NULL, comes by `quintet_pending_tuple`.
///
/// Fails with `QUINTET_BAD_VALUE` for what is no template.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_space_begin_read_if(
    space: Option<&quintet_space>,
    wanted: Option<&quintet_tuple>,
    pending: Option<&mut MaybeUninit<*mut quintet_pending>>,
) -> quintet_status {
    begin(space, wanted, Gives::Tuple, pending, |connection, template| {
        connection.space.begin().read_if(template)
    })
}

/// Begins `quintet_space_lease`; its lease comes by `quintet_pending_lease`. It is renewed from its beginning, however late anybody looks.
///
/// Fails with `QUINTET_BAD_VALUE` for what is no template, `QUINTET_RESOURCE` if there is no thread to renew it.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_space_begin_lease(
    space: Option<&quintet_space>,
    wanted: Option<&quintet_tuple>,
    timeout_ms: i64,
    pending: Option<&mut MaybeUninit<*mut quintet_pending>>,
) -> quintet_status {
    begin(space, wanted, Gives::Lease, pending, |connection, template| {
        connection.begin_lease(template, limit(timeout_ms))
    })
}

/// Begins to lease the oldest matching tuple if there is one, as `quintet_space_begin_lease`; its lease, or NULL, comes by `quintet_pending_lease`.
///
/// Fails as `quintet_space_begin_lease`.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_space_begin_lease_if(
    space: Option<&quintet_space>,
    wanted: Option<&quintet_tuple>,
    pending: Option<&mut MaybeUninit<*mut quintet_pending>>,
) -> quintet_status {
    begin(space, wanted, Gives::Lease, pending, |connection, template| {
        connection.leasing(|| connection.space.begin().lease_if(template))
    })
}

/// Begins `quintet_space_declare_key`; `quintet_pending_result` collects it. A space with one manager is asked for an answer all the same.
///
/// Fails as `quintet_space_declare_key`.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_space_begin_declare_key(
    space: Option<&quintet_space>,
    types: Option<&quintet_tuple>,
    field: usize,
    pending: Option<&mut MaybeUninit<*mut quintet_pending>>,
) -> quintet_status {
    begin(space, types, Gives::Nothing, pending, |connection, template| {
        connection.space.begin().declare_key(template, field)
    })
}

/// Begins one page of `quintet_space_collect`; it comes by `quintet_pending_collection`. `from` is where that said that the next page begins; NULL for the first one. Cancelled, or freed before it is collected,
/// its tuples are back.
///
/// Fails with `QUINTET_BAD_VALUE` for what is no template.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_space_begin_collect(
    space: Option<&quintet_space>,
    wanted: Option<&quintet_tuple>,
    from: Option<&quintet_page_start>,
    pending: Option<&mut MaybeUninit<*mut quintet_pending>>,
) -> quintet_status {
    begin(space, wanted, Gives::Collection, pending, |connection, template| {
        let (age, below) = started(from);
        connection.space.begin().collect(template, age, below)
    })
}

/// Begins `quintet_space_take_up_to`, of at least one tuple; it comes by `quintet_pending_collection`. `from` is NULL; where that gives no tuples and has more, nothing was found so far: begin it again with what that says.
/// Cancelled, or freed before it is collected, its tuples are back.
///
/// Fails with `QUINTET_BAD_VALUE` for what is no template, and for no tuples.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_space_begin_take_up_to(
    space: Option<&quintet_space>,
    most: usize,
    wanted: Option<&quintet_tuple>,
    from: Option<&quintet_page_start>,
    pending: Option<&mut MaybeUninit<*mut quintet_pending>>,
) -> quintet_status {
    begin(space, wanted, Gives::Collection, pending, |connection, template| {
        connection.space.begin().take_up_to(most, template, started(from).0)
    })
}

/// Begins one page of `quintet_space_copy_collect`, as `quintet_space_begin_collect`.
///
/// Fails as `quintet_space_begin_collect`.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_space_begin_copy_collect(
    space: Option<&quintet_space>,
    wanted: Option<&quintet_tuple>,
    from: Option<&quintet_page_start>,
    pending: Option<&mut MaybeUninit<*mut quintet_pending>>,
) -> quintet_status {
    begin(space, wanted, Gives::Collection, pending, |connection, template| {
        let (age, below) = started(from);
        connection.space.begin().copy_collect(template, age, below)
    })
}

/// Begins `quintet_space_collect_into`; its number comes by `quintet_pending_collected_into`.
///
/// Fails with `QUINTET_BAD_VALUE` for what is no template, and for a space of another lab.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_space_begin_collect_into(
    space: Option<&quintet_space>,
    into: Option<&quintet_space>,
    wanted: Option<&quintet_tuple>,
    pending: Option<&mut MaybeUninit<*mut quintet_pending>>,
) -> quintet_status {
    begin(space, wanted, Gives::CollectedInto, pending, |connection, template| {
        let into = value(Some(into.ok_or_else(|| null("into"))?))?;
        connection.space.begin().collect_into(&into.space, template)
    })
}

/// Begins `quintet_space_copy_collect_into`, as `quintet_space_begin_collect_into`.
///
/// Fails as `quintet_space_begin_collect_into`.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_space_begin_copy_collect_into(
    space: Option<&quintet_space>,
    into: Option<&quintet_space>,
    wanted: Option<&quintet_tuple>,
    pending: Option<&mut MaybeUninit<*mut quintet_pending>>,
) -> quintet_status {
    begin(space, wanted, Gives::CollectedInto, pending, |connection, template| {
        let into = value(Some(into.ok_or_else(|| null("into"))?))?;
        connection.space.begin().copy_collect_into(&into.space, template)
    })
}

/// Begins `quintet_space_count`; its number comes by `quintet_pending_count`.
///
/// Fails with `QUINTET_BAD_VALUE` for what is no template.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_space_begin_count(
    space: Option<&quintet_space>,
    wanted: Option<&quintet_tuple>,
    pending: Option<&mut MaybeUninit<*mut quintet_pending>>,
) -> quintet_status {
    begin(space, wanted, Gives::Count, pending, |connection, template| {
        connection.space.begin().count(template)
    })
}

/// Begins `quintet_space_replace`; what it took comes by `quintet_pending_tuple`. The tuples may be changed or freed at once.
///
/// Fails with `QUINTET_BAD_VALUE` for what is no template or no tuple, and for no tuple at all; `QUINTET_TOO_LARGE`.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_space_begin_replace(
    space: Option<&quintet_space>,
    wanted: Option<&quintet_tuple>,
    tuples: *const Option<&quintet_tuple>,
    count: usize,
    timeout_ms: i64,
    pending: Option<&mut MaybeUninit<*mut quintet_pending>>,
) -> quintet_status {
    begin(space, wanted, Gives::Tuple, pending, |connection, template| {
        let tuples = all_to_put(slice(tuples, count, "tuples")?)?;
        connection.space.begin().within(limit(timeout_ms)).replace(template, &tuples)
    })
}

/// Begins `quintet_space_replace_if`; what it took, or NULL, comes by `quintet_pending_tuple`. The tuples may be changed or freed at once.
///
/// Fails with `QUINTET_BAD_VALUE` for what is no template or no tuple, and for no tuple at all; `QUINTET_TOO_LARGE`.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_space_begin_replace_if(
    space: Option<&quintet_space>,
    wanted: Option<&quintet_tuple>,
    tuples: *const Option<&quintet_tuple>,
    count: usize,
    pending: Option<&mut MaybeUninit<*mut quintet_pending>>,
) -> quintet_status {
    begin(space, wanted, Gives::Tuple, pending, |connection, template| {
        let tuples = all_to_put(slice(tuples, count, "tuples")?)?;
        connection.space.begin().replace_if(template, &tuples)
    })
}

/// Begins `quintet_space_select`; what it found comes by `quintet_pending_selected`. The templates may be changed or freed at once.
///
/// Fails with `QUINTET_BAD_VALUE` for what is no template, for none and for too many.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_space_begin_select(
    space: Option<&quintet_space>,
    wanted: *const Option<&quintet_tuple>,
    count: usize,
    timeout_ms: i64,
    pending: Option<&mut MaybeUninit<*mut quintet_pending>>,
) -> quintet_status {
    begin_select(space, wanted, count, Gives::Selected, pending, |connection, templates| {
        connection.space.begin().within(limit(timeout_ms)).select(templates)
    })
}

/// Begins `quintet_space_select_read`; what it found comes by `quintet_pending_selected`. The templates may be changed or freed at once.
///
/// Fails with `QUINTET_BAD_VALUE` for what is no template, for none and for too many.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_space_begin_select_read(
    space: Option<&quintet_space>,
    wanted: *const Option<&quintet_tuple>,
    count: usize,
    timeout_ms: i64,
    pending: Option<&mut MaybeUninit<*mut quintet_pending>>,
) -> quintet_status {
    begin_select(space, wanted, count, Gives::Selected, pending, |connection, templates| {
        connection.space.begin().within(limit(timeout_ms)).select_read(templates)
    })
}

/// Begins `quintet_space_select_if`; what it found comes by `quintet_pending_selected`. The templates may be changed or freed at once.
///
/// Fails with `QUINTET_BAD_VALUE` for what is no template, for none and for too many.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_space_begin_select_if(
    space: Option<&quintet_space>,
    wanted: *const Option<&quintet_tuple>,
    count: usize,
    pending: Option<&mut MaybeUninit<*mut quintet_pending>>,
) -> quintet_status {
    begin_select(space, wanted, count, Gives::Selected, pending, |connection, templates| {
        connection.space.begin().select_if(templates)
    })
}

/// Begins `quintet_space_select_read_if`; what it found comes by `quintet_pending_selected`. The templates may be changed or freed at once.
///
/// Fails with `QUINTET_BAD_VALUE` for what is no template, for none and for too many.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_space_begin_select_read_if(
    space: Option<&quintet_space>,
    wanted: *const Option<&quintet_tuple>,
    count: usize,
    pending: Option<&mut MaybeUninit<*mut quintet_pending>>,
) -> quintet_status {
    begin_select(space, wanted, count, Gives::Selected, pending, |connection, templates| {
        connection.space.begin().select_read_if(templates)
    })
}

/// Begins `quintet_space_select_lease`; what it found comes by `quintet_pending_selected_lease`. It is renewed from its beginning, however late anybody looks.
///
/// Fails with `QUINTET_BAD_VALUE` for what is no template, for none and for too many; `QUINTET_RESOURCE` if there is no thread to renew it.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_space_begin_select_lease(
    space: Option<&quintet_space>,
    wanted: *const Option<&quintet_tuple>,
    count: usize,
    timeout_ms: i64,
    pending: Option<&mut MaybeUninit<*mut quintet_pending>>,
) -> quintet_status {
    begin_select(space, wanted, count, Gives::SelectedLease, pending, |connection, templates| {
        connection.leasing(|| connection.space.begin().within(limit(timeout_ms)).select_lease(templates))
    })
}

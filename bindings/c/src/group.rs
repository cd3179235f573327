//! quintet_group - takes, reads and puts that happen at one instant, or not at all
//!
//! Until a group is committed others see nothing of it: what it has taken is hidden, what it has read stays where it is, and what it puts is kept
//! in this process. At its end all of it happens at one instant. A group that is aborted, freed, out of its time, or whose process died
//! has not happened: what it took is in its old place, and no attempt is counted. It sees the space as others do: neither what it has taken nor
//! what it is going to put.
//!
//! What was read has to be in the space still when the group ends, or be among what it took; else the end fails with `QUINTET_CONFLICT`, and
//! the group is to be done again.
//!
//! Of two groups that take the same tuples in different orders each may have what the other waits for. Both end when their time is over:
//! give them one. Groups that take in one order never come to that.
//!
//! Any threads may use a group at once; of two that end it one fails with `QUINTET_LEASE_LOST`.
//!
//! ```c
//! quintet_group *group;
//! quintet_space_group(space, 60000, &group);
//! if (quintet_group_take(group, any_counter, QUINTET_FOREVER, &counter) == QUINTET_OK &&
//!     quintet_group_out(group, next) == QUINTET_OK && quintet_group_commit(group) == QUINTET_OK) puts("counted");
//! quintet_group_free(group);
//! ```

use crate::boundary::{Tagged, free_after, give, guarded, handle, limit, place, value};
use crate::connection::Connection;
use crate::error::quintet_status;
use crate::pending::{Pending as Operation, quintet_pending};
use crate::space::quintet_space;
use crate::tuple::{quintet_tuple, received, to_match, to_put};
use core::mem::MaybeUninit;
use core::ptr::{NonNull, null_mut};
use quintet::{Code, Error, Outcome, Pending, Template};
use std::sync::Arc;

/// A group. Any threads may use it at once.
pub struct quintet_group(Tagged<Arc<Uses>>);
handle!(quintet_group, Arc<Uses>, b"grou", "group");

/// What is behind it.
pub struct Uses {
    connection: Arc<Connection>,
    group: quintet::Group,
}

type Place<'a> = Option<&'a mut MaybeUninit<*mut quintet_tuple>>;
type PendingPlace<'a> = Option<&'a mut MaybeUninit<*mut quintet_pending>>;

/// Begins a group, which lasts so long at most: `QUINTET_FOREVER` without end. To be freed with `quintet_group_free`.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_space_group(
    space: Option<&quintet_space>,
    timeout_ms: i64,
    group: Option<&mut MaybeUninit<*mut quintet_group>>,
) -> quintet_status {
    guarded(|| {
        let group = place(group, "group", null_mut())?;
        let connection: &Arc<Connection> = value(space)?;
        let begun = connection.space.group().within(limit(timeout_ms));
        *group = give(Arc::new(Uses { connection: Arc::clone(connection), group: begun }));
        Ok(())
    })
}

/// Takes the oldest matching tuple, waiting for one while the group lasts. To be freed with `quintet_tuple_free`.
///
/// Fails with `QUINTET_TIMED_OUT`, whose text says what nearly matched; `QUINTET_LEASE_LOST` if the group was told to end;
/// `QUINTET_TOO_LARGE` for more tuples than a group may take; `QUINTET_BAD_VALUE` for what is no template; `QUINTET_RESOURCE` if there is
/// no thread to renew what it has.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_group_take(
    group: Option<&quintet_group>,
    wanted: Option<&quintet_tuple>,
    timeout_ms: i64,
    tuple: Option<&mut MaybeUninit<*mut quintet_tuple>>,
) -> quintet_status {
    look(group, wanted, tuple, |group, template| group.begin_take(template, limit(timeout_ms)))
}

/// Takes the oldest matching tuple if there is one. Else `tuple` is NULL, and the status `QUINTET_OK`.
///
/// Fails as `quintet_group_take`.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_group_take_if(
    group: Option<&quintet_group>,
    wanted: Option<&quintet_tuple>,
    tuple: Option<&mut MaybeUninit<*mut quintet_tuple>>,
) -> quintet_status {
    look(group, wanted, tuple, quintet::Group::begin_take_if)
}

/// Reads the oldest matching tuple, waiting for one while the group lasts. It stays where it is, and has to be there at the end. To be freed with
/// `quintet_tuple_free`.
///
/// Fails as `quintet_group_take`.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_group_read(
    group: Option<&quintet_group>,
    wanted: Option<&quintet_tuple>,
    timeout_ms: i64,
    tuple: Option<&mut MaybeUninit<*mut quintet_tuple>>,
) -> quintet_status {
    look(group, wanted, tuple, |group, template| group.begin_read(template, limit(timeout_ms)))
}

/// Reads the oldest matching tuple if there is one; as `quintet_group_take_if`. That there is none is no promise for the end.
///
/// Fails as `quintet_group_take`.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_group_read_if(
    group: Option<&quintet_group>,
    wanted: Option<&quintet_tuple>,
    tuple: Option<&mut MaybeUninit<*mut quintet_tuple>>,
) -> quintet_status {
    look(group, wanted, tuple, quintet::Group::begin_read_if)
}

/// Puts a tuple when the group ends. It may be changed or freed at once.
///
/// Fails with `QUINTET_LEASE_LOST` if the group was told to end; `QUINTET_BAD_VALUE` for what is no tuple.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_group_out(
    group: Option<&quintet_group>,
    tuple: Option<&quintet_tuple>,
) -> quintet_status {
    guarded(|| value(group)?.group.out(to_put(tuple)?.clone()))
}

/// As `quintet_group_out`; so many milliseconds after the end of the group the tuple leaves the space by itself, as by `quintet_space_out_for`.
///
/// Fails as `quintet_group_out`.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_group_out_for(
    group: Option<&quintet_group>,
    tuple: Option<&quintet_tuple>,
    expires_in_ms: i64,
) -> quintet_status {
    guarded(|| {
        let (group, tuple) = (&value(group)?.group, to_put(tuple)?.clone());
        match limit(expires_in_ms) {
            None => group.out(tuple),
            Some(expires_in) => group.out_for(tuple, expires_in),
        }
    })
}

/// Ends the group: what it took is gone and what it puts is there, at one instant. Waits while the space has no room for what it puts, and the
/// group lasts.
///
/// Fails with `QUINTET_CONFLICT` if somebody else took what it has read, and with `QUINTET_LEASE_LOST` if its time was over: nothing of it has
/// happened, and it may be done again. `QUINTET_TIMED_OUT`, `QUINTET_SPACE_FULL` and `QUINTET_TOO_LARGE`: it has not happened either.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_group_commit(group: Option<&quintet_group>) -> quintet_status {
    guarded(|| {
        let uses = value(group)?;
        let under_way = uses.group.begin_commit()?;
        uses.connection.acknowledged(under_way)
    })
}

/// Ends the group, which has not happened: what it took is back when this returns.
///
/// Fails with `QUINTET_LEASE_LOST` if it was told to end before.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_group_abort(group: Option<&quintet_group>) -> quintet_status {
    guarded(|| value(group)?.group.abort())
}

/// Begins `quintet_group_take`; its tuple comes by `quintet_pending_tuple`, and is the group's from then on. Freed before, it returns.
///
/// Fails as `quintet_group_take`.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_group_begin_take(
    group: Option<&quintet_group>,
    wanted: Option<&quintet_tuple>,
    timeout_ms: i64,
    pending: PendingPlace<'_>,
) -> quintet_status {
    begin(group, wanted, pending, |group, template| group.begin_take(template, limit(timeout_ms)))
}

/// Begins `quintet_group_take_if`; its tuple, or NULL, comes by `quintet_pending_tuple`.
///
/// Fails as `quintet_group_take`.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_group_begin_take_if(
    group: Option<&quintet_group>,
    wanted: Option<&quintet_tuple>,
    pending: PendingPlace<'_>,
) -> quintet_status {
    begin(group, wanted, pending, quintet::Group::begin_take_if)
}

/// Begins `quintet_group_read`; its tuple comes by `quintet_pending_tuple`, and has to be there at the end of the group from then on.
///
/// Fails as `quintet_group_take`.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_group_begin_read(
    group: Option<&quintet_group>,
    wanted: Option<&quintet_tuple>,
    timeout_ms: i64,
    pending: PendingPlace<'_>,
) -> quintet_status {
    begin(group, wanted, pending, |group, template| group.begin_read(template, limit(timeout_ms)))
}

/// Begins `quintet_group_read_if`; its tuple, or NULL, comes by `quintet_pending_tuple`.
///
/// Fails as `quintet_group_take`.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_group_begin_read_if(
    group: Option<&quintet_group>,
    wanted: Option<&quintet_tuple>,
    pending: PendingPlace<'_>,
) -> quintet_status {
    begin(group, wanted, pending, quintet::Group::begin_read_if)
}

/// Begins `quintet_group_commit`, which `quintet_pending_result` collects. Cancelled or freed before it is done, the group has not happened.
///
/// Fails with `QUINTET_LEASE_LOST` if the group was told to end, `QUINTET_TIMED_OUT` if its time is over.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_group_begin_commit(
    group: Option<&quintet_group>,
    pending: PendingPlace<'_>,
) -> quintet_status {
    guarded(|| {
        let pending = place(pending, "pending", null_mut())?;
        let uses = value(group)?;
        *pending = Operation::acknowledging(&uses.connection, uses.group.begin_commit()?);
        Ok(())
    })
}

/// Frees a group. If it was not told to end, it is aborted; what was begun for it and is not collected returns when that is freed. NULL is left
/// alone.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_group_free(group: Option<NonNull<quintet_group>>) {
    let ended = |uses: &Arc<Uses>| {
        if !uses.group.is_over() {
            // If the space cannot be reached, it returns what the group has by itself.
            let _ = uses.group.abort();
        }
    };
    free_after(group, ended);
}

/// Asks, and leaves the outcome to be collected.
fn begin(
    group: Option<&quintet_group>,
    wanted: Option<&quintet_tuple>,
    pending: PendingPlace<'_>,
    ask: impl FnOnce(&quintet::Group, &Template) -> Result<Pending, Error>,
) -> quintet_status {
    guarded(|| {
        let pending = place(pending, "pending", null_mut())?;
        let (uses, template) = (value(group)?, to_match(wanted)?);
        let begun = uses.connection.leasing(|| ask(&uses.group, template))?;
        *pending = Operation::of_group(uses, begun);
        Ok(())
    })
}

impl Uses {
    pub(crate) fn connection(&self) -> &Arc<Connection> {
        &self.connection
    }

    /// Makes what an operation came to the group's own.
    ///
    /// # Errors
    /// `LeaseLost` if the group was told to end meanwhile: whoever begun the operation undoes it.
    pub(crate) fn accept(&self, outcome: Result<Outcome, Error>) -> Result<Result<Outcome, Error>, Error> {
        if self.group.is_over() {
            return Err(Error::new(Code::LeaseLost, "the group was told to end before"));
        }
        let accepted = outcome.and_then(|outcome| self.group.accept(outcome));
        Ok(accepted.map(|found| found.map_or(Outcome::NoMatch, |tuple| Outcome::Tuple(tuple, None))))
    }
}

/// Asks, waits, and makes what came the group's own.
fn look(
    group: Option<&quintet_group>,
    wanted: Option<&quintet_tuple>,
    tuple: Place<'_>,
    begin: impl FnOnce(&quintet::Group, &Template) -> Result<Pending, Error>,
) -> quintet_status {
    guarded(|| {
        let tuple = place(tuple, "tuple", null_mut())?;
        let (uses, template) = (value(group)?, to_match(wanted)?);
        let pending = uses.connection.leasing(|| begin(&uses.group, template))?;
        let accepted = uses.group.accept(uses.connection.finish(pending)?)?;
        *tuple = accepted.map_or(null_mut(), received);
        Ok(())
    })
}

//! quintet_space - the tuple space's operations
//!
//! Tuples are put (out), taken and read. The oldest match is taken; who waits longest is served first. The names are those of
//! Linda's operations out, in and rd, as Quintet has them in every language.
//!
//! A timeout is in milliseconds: `QUINTET_FOREVER`, or any negative number, waits without end, and 0 does not wait. After it the call
//! fails with `QUINTET_TIMED_OUT`, or `QUINTET_SPACE_FULL` for what is put, and has had no effect.
//!
//! Every operation may fail with `QUINTET_CLOSED` once the lab was closed, and with `QUINTET_PEER_DIED`, `QUINTET_PEER_SILENT` or
//! `QUINTET_MALFORMED` once a served space is gone: then one that was under way may have had its effect. `QUINTET_CANCELLED`
//! comes from the check that `quintet_lab_set_interrupt` sets.
//!
//! A space is its lab's: `quintet_lab_space`. Any threads may use it at once.
//!
//! ```c
//! quintet_space_out(space, row, QUINTET_FOREVER);
//! quintet_tuple *taken;
//! if (quintet_space_take(space, any_row, 5000, &taken) != QUINTET_OK) {
//!     fprintf(stderr, "%s\n", quintet_error_message());
//! }
//! ```

use crate::boundary::{Tagged, guarded, handle, limit, place, slice, value};
use crate::connection::{Connection, done, number, one, perhaps};
use crate::error::quintet_status;
use crate::tuple::{all_to_put, quintet_tuple, received, to_match, to_put};
use core::mem::MaybeUninit;
use core::ptr::null_mut;
use quintet::{Error, Template, Tuple};
use std::sync::Arc;
use std::time::Duration;

/// A tuple space. It is its lab's; any threads may use it at once.
pub struct quintet_space(Tagged<Arc<Connection>>);
handle!(quintet_space, Arc<Connection>, b"spac", "space");

/// The numbers of a space.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct quintet_state {
    /// Tuples that can be seen.
    pub tuples: u64,
    /// Bytes that count against its limit.
    pub bytes: u64,
    /// Of these, the bytes of indexes.
    pub index_bytes: u64,
    /// Tuples that are leased, or were taken and may still go back.
    pub hidden: u64,
    /// Takes and reads that wait.
    pub waiters: u64,
    /// Leases.
    pub leases: u64,
    /// Puts and acknowledgements that wait for room.
    pub parked: u64,
    /// Leases that ended without an acknowledgement, so that their tuples came back.
    pub redone: u64,
    /// Tuples that became dead letters.
    pub dead_letters: u64,
    /// Different signatures among the tuples.
    pub signatures: u64,
    /// How many managers have the tuples. What several of them do at one instant costs more than what one does.
    pub managers: u64,
    /// Zero; later versions may have more numbers.
    pub reserved: [u64; 5],
}

/// What a thread waits for when it takes or reads.
#[derive(Clone, Copy)]
enum Look {
    Take,
    Read,
}

impl Connection {
    /// # Errors
    /// The operation's.
    pub(crate) fn out(&self, tuples: &[Tuple], limit: Option<Duration>) -> Result<(), Error> {
        if !self.interrupt.is_set() {
            return self.space.out_many(tuples, limit);
        }
        if tuples.is_empty() {
            return Ok(());
        }
        done(self.finish(self.space.begin().within(limit).out(tuples)?)?)
    }

    /// # Errors
    /// The operation's.
    fn look(&self, look: Look, template: &Template, limit: Option<Duration>) -> Result<Tuple, Error> {
        let space = &self.space;
        if self.interrupt.is_set() {
            let begin = space.begin().within(limit);
            return one(self.finish(match look {
                Look::Take => begin.take(template)?,
                Look::Read => begin.read(template)?,
            })?);
        }
        match (look, limit) {
            (Look::Take, None) => space.take(template),
            (Look::Take, Some(limit)) => space.take_within(template, limit),
            (Look::Read, None) => space.read(template),
            (Look::Read, Some(limit)) => space.read_within(template, limit),
        }
    }

    /// # Errors
    /// The operation's.
    fn look_once(&self, look: Look, template: &Template) -> Result<Option<Tuple>, Error> {
        let space = &self.space;
        if self.interrupt.is_set() {
            return perhaps(self.finish(match look {
                Look::Take => space.begin().take_if(template)?,
                Look::Read => space.begin().read_if(template)?,
            })?);
        }
        match look {
            Look::Take => space.take_if(template),
            Look::Read => space.read_if(template),
        }
    }
}

fn look(
    space: Option<&quintet_space>,
    look: Look,
    wanted: Option<&quintet_tuple>,
    timeout_ms: i64,
    tuple: Option<&mut MaybeUninit<*mut quintet_tuple>>,
) -> quintet_status {
    guarded(|| {
        let tuple = place(tuple, "tuple", null_mut())?;
        *tuple = received(value(space)?.look(look, to_match(wanted)?, limit(timeout_ms))?);
        Ok(())
    })
}

fn look_once(
    space: Option<&quintet_space>,
    look: Look,
    wanted: Option<&quintet_tuple>,
    tuple: Option<&mut MaybeUninit<*mut quintet_tuple>>,
) -> quintet_status {
    guarded(|| {
        let tuple = place(tuple, "tuple", null_mut())?;
        *tuple = value(space)?.look_once(look, to_match(wanted)?)?.map_or(null_mut(), received);
        Ok(())
    })
}

/// Puts a tuple, which stays the program's: it may be changed, put again or freed. When this returns, the space has it. Waits while
/// the space is full.
///
/// Fails with `QUINTET_BAD_VALUE` for what is no tuple, `QUINTET_TOO_LARGE` for one that can never fit, `QUINTET_SPACE_FULL` after
/// the timeout.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_space_out(
    space: Option<&quintet_space>,
    tuple: Option<&quintet_tuple>,
    timeout_ms: i64,
) -> quintet_status {
    guarded(|| value(space)?.out(core::slice::from_ref(to_put(tuple)?), limit(timeout_ms)))
}

/// Puts a tuple that leaves the space by itself so many milliseconds after it was put, unless somebody has taken it by then. One that would return after
/// its time leaves instead. With a negative number it does not expire.
///
/// Fails as `quintet_space_out`.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_space_out_for(
    space: Option<&quintet_space>,
    tuple: Option<&quintet_tuple>,
    expires_in_ms: i64,
    timeout_ms: i64,
) -> quintet_status {
    guarded(|| {
        let connection = value(space)?;
        let begin = connection.space.begin().within(limit(timeout_ms)).expires_in(limit(expires_in_ms));
        done(connection.finish(begin.out(core::slice::from_ref(to_put(tuple)?))?)?)
    })
}

/// Puts all these tuples at one instant, or none.
///
/// Fails as `quintet_space_out`.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_space_out_many(
    space: Option<&quintet_space>,
    tuples: *const Option<&quintet_tuple>,
    count: usize,
    timeout_ms: i64,
) -> quintet_status {
    guarded(|| {
        let tuples = all_to_put(slice(tuples, count, "tuples")?)?;
        value(space)?.out(&tuples, limit(timeout_ms))
    })
}

/// Takes the oldest matching tuple, waiting for one. To be freed with `quintet_tuple_free`.
///
/// Fails with `QUINTET_TIMED_OUT`, whose text says what nearly matched; `QUINTET_BAD_VALUE` for what is no template.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_space_take(
    space: Option<&quintet_space>,
    wanted: Option<&quintet_tuple>,
    timeout_ms: i64,
    tuple: Option<&mut MaybeUninit<*mut quintet_tuple>>,
) -> quintet_status {
    look(space, Look::Take, wanted, timeout_ms, tuple)
}

/// Reads the oldest matching tuple, which stays, waiting for one. To be freed with `quintet_tuple_free`.
///
/// Fails as `quintet_space_take`.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_space_read(
    space: Option<&quintet_space>,
    wanted: Option<&quintet_tuple>,
    timeout_ms: i64,
    tuple: Option<&mut MaybeUninit<*mut quintet_tuple>>,
) -> quintet_status {
    look(space, Look::Read, wanted, timeout_ms, tuple)
}

/// Takes the oldest matching tuple if there is one. Else `tuple` is NULL, and the status `QUINTET_OK`: at one instant there was none.
///
/// Fails with `QUINTET_BAD_VALUE` for what is no template.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_space_take_if(
    space: Option<&quintet_space>,
    wanted: Option<&quintet_tuple>,
    tuple: Option<&mut MaybeUninit<*mut quintet_tuple>>,
) -> quintet_status {
    look_once(space, Look::Take, wanted, tuple)
}

/// Reads the oldest matching tuple if there is one; as `quintet_space_take_if`, and it stays.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_space_read_if(
    space: Option<&quintet_space>,
    wanted: Option<&quintet_tuple>,
    tuple: Option<&mut MaybeUninit<*mut quintet_tuple>>,
) -> quintet_status {
    look_once(space, Look::Read, wanted, tuple)
}

/// How many tuples match now.
///
/// Fails with `QUINTET_BAD_VALUE` for what is no template.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_space_count(
    space: Option<&quintet_space>,
    wanted: Option<&quintet_tuple>,
    count: Option<&mut MaybeUninit<u64>>,
) -> quintet_status {
    guarded(|| {
        let count = place(count, "count", 0)?;
        let (connection, template) = (value(space)?, to_match(wanted)?);
        *count = number(connection.finish(connection.space.begin().count(template)?)?)?;
        Ok(())
    })
}

/// How the space is: see `quintet_state`.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_space_status(
    space: Option<&quintet_space>,
    state: Option<&mut MaybeUninit<quintet_state>>,
) -> quintet_status {
    guarded(|| {
        let state = place(state, "state", quintet_state::default())?;
        let space = &value(space)?.space;
        let found = space.status()?;
        *state = quintet_state {
            tuples: found.tuples,
            bytes: found.bytes,
            index_bytes: found.index_bytes,
            hidden: found.hidden,
            waiters: found.waiters,
            leases: found.leases,
            parked: found.parked,
            redone: found.redone,
            dead_letters: found.dead_letters,
            signatures: found.signatures,
            managers: u64::from(space.managers()),
            reserved: [0; 5],
        };
        Ok(())
    })
}

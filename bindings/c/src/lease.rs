//! quintet_lease - tuples taken until they are acknowledged
//!
//! A leased tuple is hidden from everybody else. Acknowledged, it is gone for good, and the results are there at the same instant. If
//! the lease ends otherwise (released, freed, its process died or was not heard for too long), the tuple returns to its place,
//! and its next taker sees a higher attempt. After some attempts (the setting space.max_attempts) it becomes a dead letter.
//!
//! Leases are renewed by a thread of the library while they live, however long the program computes.
//!
//! Any threads may use a lease at once; of two that end it one fails with `QUINTET_LEASE_LOST`.

use crate::boundary::{Tagged, free, give, guarded, handle, limit, place, slice, value};
use crate::connection::{Connection, unexpected};
use crate::error::quintet_status;
use crate::pending::{Pending, quintet_pending};
use crate::space::quintet_space;
use crate::tuple::{all_to_put, quintet_tuple, received_within, to_match};
use core::mem::MaybeUninit;
use core::ptr::{NonNull, null, null_mut};
use quintet::{Acknowledgement, Code, Error, Outcome, Tuple};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// A tuple that is leased. Any threads may use it at once.
pub struct quintet_lease(Tagged<Held>);
handle!(quintet_lease, Held, b"leas", "lease");

/// What is behind it.
pub struct Held {
    connection: Arc<Connection>,
    /// None once it has ended.
    lease: Mutex<Option<quintet::Lease>>,
    tuple: quintet_tuple,
    attempt: u32,
}

/// A lease for C, of the outcome of an operation that asked for one.
///
/// # Errors
/// `Malformed` for another outcome.
pub(crate) fn leased(connection: &Arc<Connection>, outcome: Outcome) -> Result<*mut quintet_lease, Error> {
    let lease = connection.space.leased(outcome)?;
    let (tuple, attempt) = (received_within(lease.tuple().values().to_vec()), lease.attempt());
    Ok(give(Held { connection: Arc::clone(connection), lease: Mutex::new(Some(lease)), tuple, attempt }))
}

/// The same of a select: which of its templates matches, and the lease.
///
/// # Errors
/// As `leased`.
pub(crate) fn selected_lease(
    connection: &Arc<Connection>,
    outcome: Outcome,
) -> Result<(usize, *mut quintet_lease), Error> {
    match outcome {
        Outcome::Selected(which, tuple, granted) => {
            Ok((which, leased(connection, Outcome::Tuple(tuple, granted))?))
        }
        other => Err(unexpected(&other)),
    }
}

impl Held {
    /// The lease, to be ended.
    ///
    /// # Errors
    /// `LeaseLost` if it has ended.
    fn end(&self) -> Result<quintet::Lease, Error> {
        let lease = self.lease.lock().unwrap_or_else(PoisonError::into_inner).take();
        lease.ok_or_else(|| Error::new(Code::LeaseLost, "this lease was acknowledged or released before"))
    }

    /// # Errors
    /// `LeaseLost`; it could not be sent.
    fn begin_acknowledge(
        &self,
        results: &[Tuple],
        expires_in: Option<Duration>,
    ) -> Result<Acknowledgement, Error> {
        match expires_in {
            Some(expires_in) => self.end()?.begin_acknowledge_for(results, expires_in),
            None => self.end()?.begin_acknowledge(results),
        }
    }
}

fn acknowledge(
    lease: Option<&quintet_lease>,
    results: *const Option<&quintet_tuple>,
    count: usize,
    expires_in: Option<Duration>,
) -> quintet_status {
    guarded(|| {
        let held = value(lease)?;
        let results = all_to_put(slice(results, count, "results")?)?;
        let under_way = held.begin_acknowledge(&results, expires_in)?;
        held.connection.acknowledged(under_way)
    })
}

fn begin_acknowledge(
    lease: Option<&quintet_lease>,
    results: *const Option<&quintet_tuple>,
    count: usize,
    expires_in: Option<Duration>,
    pending: Option<&mut MaybeUninit<*mut quintet_pending>>,
) -> quintet_status {
    guarded(|| {
        let pending = place(pending, "pending", null_mut())?;
        let held = value(lease)?;
        let results = all_to_put(slice(results, count, "results")?)?;
        let under_way = held.begin_acknowledge(&results, expires_in)?;
        *pending = Pending::acknowledging(&held.connection, under_way);
        Ok(())
    })
}

/// Takes the oldest matching tuple under a lease, waiting for one. To be freed with `quintet_lease_free`.
///
/// Fails as `quintet_space_take`, and with `QUINTET_RESOURCE` if there is no thread to renew it.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_space_lease(
    space: Option<&quintet_space>,
    wanted: Option<&quintet_tuple>,
    timeout_ms: i64,
    lease: Option<&mut MaybeUninit<*mut quintet_lease>>,
) -> quintet_status {
    guarded(|| {
        let lease = place(lease, "lease", null_mut())?;
        let (connection, template) = (value(space)?, to_match(wanted)?);
        let pending = connection.begin_lease(template, limit(timeout_ms))?;
        *lease = leased(connection, connection.finish(pending)?)?;
        Ok(())
    })
}

/// Lends the tuple: it is good until the lease is freed, also after it has ended, and is not freed itself.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_lease_tuple(
    lease: Option<&quintet_lease>,
    tuple: Option<&mut MaybeUninit<*const quintet_tuple>>,
) -> quintet_status {
    guarded(|| {
        let tuple = place(tuple, "tuple", null())?;
        *tuple = &raw const value(lease)?.tuple;
        Ok(())
    })
}

/// How often the tuple has been leased, this time included: 1 is the first.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_lease_attempt(
    lease: Option<&quintet_lease>,
    attempt: Option<&mut MaybeUninit<u32>>,
) -> quintet_status {
    guarded(|| {
        let attempt = place(attempt, "attempt", 0)?;
        *attempt = value(lease)?.attempt;
        Ok(())
    })
}

/// Removes the tuple for good and puts `count` results at the same instant: either both happen or neither. Waits while the space has
/// no room for them. NULL and 0 for no results.
///
/// Fails with `QUINTET_LEASE_LOST` if the lease has ended: somebody else does the task, and nothing was put; `QUINTET_BAD_VALUE` for a
/// result that is no tuple, and then the lease goes on; after any other error the tuple has returned to the space.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_lease_acknowledge(
    lease: Option<&quintet_lease>,
    results: *const Option<&quintet_tuple>,
    count: usize,
) -> quintet_status {
    acknowledge(lease, results, count, None)
}

/// As `quintet_lease_acknowledge`; so many milliseconds after they were put the results leave the space by themselves, as by `quintet_space_out_for`. With a
/// negative number they do not expire.
///
/// Fails as `quintet_lease_acknowledge`.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_lease_acknowledge_for(
    lease: Option<&quintet_lease>,
    results: *const Option<&quintet_tuple>,
    count: usize,
    expires_in_ms: i64,
) -> quintet_status {
    acknowledge(lease, results, count, limit(expires_in_ms))
}

/// Begins `quintet_lease_acknowledge`. Cancelled or freed before it is done, the tuple returns to the space.
///
/// Fails with `QUINTET_LEASE_LOST` if the lease has ended, `QUINTET_BAD_VALUE` for a result that is no tuple.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_lease_begin_acknowledge(
    lease: Option<&quintet_lease>,
    results: *const Option<&quintet_tuple>,
    count: usize,
    pending: Option<&mut MaybeUninit<*mut quintet_pending>>,
) -> quintet_status {
    begin_acknowledge(lease, results, count, None, pending)
}

/// Begins `quintet_lease_acknowledge_for`, as `quintet_lease_begin_acknowledge`.
///
/// Fails as `quintet_lease_begin_acknowledge`.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_lease_begin_acknowledge_for(
    lease: Option<&quintet_lease>,
    results: *const Option<&quintet_tuple>,
    count: usize,
    expires_in_ms: i64,
    pending: Option<&mut MaybeUninit<*mut quintet_pending>>,
) -> quintet_status {
    begin_acknowledge(lease, results, count, limit(expires_in_ms), pending)
}

/// Returns the tuple to its place now; the attempt counts.
///
/// Fails with `QUINTET_LEASE_LOST` if the lease has ended.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_lease_release(lease: Option<&quintet_lease>) -> quintet_status {
    guarded(|| value(lease)?.end()?.release())
}

/// Frees a lease. If it was not ended, its tuple returns to the space. NULL is left alone.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_lease_free(lease: Option<NonNull<quintet_lease>>) {
    free(lease);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connection::done;
    use quintet::{Lab, tuple};

    #[test]
    fn what_is_no_lease_is_told() {
        let connection = Arc::new(Connection::new(Lab::embedded()));
        let error = leased(&connection, Outcome::Tuple(tuple!["x"], None)).expect_err("it was not leased");
        assert_eq!(
            (error.code(), done(Outcome::NoMatch).map_err(|error| error.code())),
            (Code::Malformed, Err(Code::Malformed))
        );
    }
}

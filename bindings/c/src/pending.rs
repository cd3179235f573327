//! quintet_pending - operations that are begun now and waited for later
//!
//! A program begins any number of operations, computes, and collects what they came to. None is lost: an operation that is freed before it
//! was collected is cancelled, and a tuple on its way goes back to its place.
//!
//! `quintet_pending_result`, `quintet_pending_tuple`, `quintet_pending_lease` and `quintet_pending_count` collect the outcome; they wait for
//! it, and return the operation's own status. `quintet_pending_wait` waits for a limited time and says whether it is there.
//!
//! A served space takes a window of operations at once (the setting link.window_frames); the rest goes when one of the lab's
//! calls, a wait, or `quintet_lab_progress` makes room.
//!
//! Any threads may use a pending operation at once; one of them may cancel what another waits for.

use crate::boundary::{Tagged, free, give, guarded, handle, limit, misuse, place, value};
use crate::connection::{Connection, done, number, perhaps};
use crate::error::quintet_status;
use crate::interrupt::{Argument, needed};
use crate::lease::{finish, leased, quintet_lease};
use crate::tuple::{quintet_tuple, received};
use core::ffi::c_void;
use core::mem::MaybeUninit;
use core::ptr::{NonNull, null_mut};
use quintet::{Acknowledgement, Error, Outcome};
use std::sync::{Arc, PoisonError, RwLock};

/// An operation under way. Any threads may use it at once.
pub struct quintet_pending(Tagged<Pending>);
handle!(quintet_pending, Pending, b"pend", "pending");

/// What is behind it.
pub struct Pending {
    connection: Arc<Connection>,
    /// Waits and cancels share the lock; to collect takes it alone.
    state: RwLock<State>,
}

enum State {
    UnderWay(quintet::Pending),
    Acknowledging(Acknowledgement),
    Collected(Result<Outcome, Error>),
}

/// Is called once an outcome is there.
pub type quintet_callback = Option<extern "C" fn(argument: *mut c_void)>;

impl State {
    fn under_way(&self) -> Option<&quintet::Pending> {
        match self {
            State::UnderWay(pending) => Some(pending),
            State::Acknowledging(acknowledgement) => Some(acknowledgement.pending()),
            State::Collected(_) => None,
        }
    }
}

impl Pending {
    pub(crate) fn operation(connection: &Arc<Connection>, pending: quintet::Pending) -> *mut quintet_pending {
        Pending::give(connection, State::UnderWay(pending))
    }

    pub(crate) fn acknowledging(
        connection: &Arc<Connection>,
        under_way: Acknowledgement,
    ) -> *mut quintet_pending {
        Pending::give(connection, State::Acknowledging(under_way))
    }

    fn give(connection: &Arc<Connection>, state: State) -> *mut quintet_pending {
        give(Pending { connection: Arc::clone(connection), state: RwLock::new(state) })
    }

    /// Runs `with` with what is under way; none once it was collected.
    fn look<T>(&self, with: impl FnOnce(Option<&quintet::Pending>) -> T) -> T {
        with(self.state.read().unwrap_or_else(PoisonError::into_inner).under_way())
    }

    /// Waits for the outcome and makes it the program's own.
    ///
    /// # Errors
    /// `Cancelled` if the program interrupted the wait: then the operation goes on. The operation's own error.
    fn collect(&self) -> Result<Outcome, Error> {
        self.look(|pending| match pending {
            Some(pending) => self.connection.outcome(pending).map(drop),
            None => Ok(()),
        })?;
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        let outcome = match &mut *state {
            State::UnderWay(pending) => {
                // It is there, and this does not wait.
                let outcome = self.connection.outcome(pending)?;
                pending.keep();
                outcome
            }
            State::Acknowledging(under_way) => finish(under_way),
            State::Collected(outcome) => return outcome.clone(),
        };
        *state = State::Collected(outcome.clone());
        outcome
    }
}

/// Waits for the outcome, and says by `is_done` whether it is there. It stays to be collected.
///
/// Fails with `QUINTET_CANCELLED` if the program interrupted the wait; the operation goes on.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_pending_wait(
    pending: Option<&quintet_pending>,
    timeout_ms: i64,
    is_done: Option<&mut MaybeUninit<bool>>,
) -> quintet_status {
    guarded(|| {
        let is_done = place(is_done, "is_done", false)?;
        let operation = value(pending)?;
        *is_done = operation.look(|pending| match pending {
            Some(pending) => {
                operation.connection.wait(pending, limit(timeout_ms)).map(|outcome| outcome.is_some())
            }
            None => Ok(true),
        })?;
        Ok(())
    })
}

/// Collects the outcome of what gives nothing: a put or an acknowledgement. May be called again.
///
/// Fails as the operation did.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_pending_result(pending: Option<&quintet_pending>) -> quintet_status {
    guarded(|| done(value(pending)?.collect()?).map_err(|_| other("quintet_pending_result")))
}

/// Collects the tuple of a take or a read; NULL, with `QUINTET_OK`, if `quintet_space_begin_take_if` or its like found none. May be called
/// again, and gives another one of the same fields.
///
/// Fails as the operation did.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_pending_tuple(
    pending: Option<&quintet_pending>,
    tuple: Option<&mut MaybeUninit<*mut quintet_tuple>>,
) -> quintet_status {
    guarded(|| {
        let tuple = place(tuple, "tuple", null_mut())?;
        let found = match value(pending)?.collect()? {
            Outcome::Tuple(_, Some(_)) => return Err(other("quintet_pending_tuple")),
            outcome => perhaps(outcome).map_err(|_| other("quintet_pending_tuple"))?,
        };
        *tuple = found.map_or(null_mut(), received);
        Ok(())
    })
}

/// Collects the lease that `quintet_space_begin_lease` asked for. It is given once.
///
/// Fails as the operation did; `QUINTET_BAD_VALUE` if it was given before.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_pending_lease(
    pending: Option<&quintet_pending>,
    lease: Option<&mut MaybeUninit<*mut quintet_lease>>,
) -> quintet_status {
    guarded(|| {
        let lease = place(lease, "lease", null_mut())?;
        let pending = value(pending)?;
        match pending.collect()? {
            outcome @ Outcome::Tuple(_, Some(_)) => {
                let given = Err(misuse("this lease was collected before"));
                *pending.state.write().unwrap_or_else(PoisonError::into_inner) = State::Collected(given);
                *lease = leased(&pending.connection, outcome)?;
                Ok(())
            }
            _ => Err(other("quintet_pending_lease")),
        }
    })
}

/// Collects the number that `quintet_space_begin_count` asked for. May be called again.
///
/// Fails as the operation did.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_pending_count(
    pending: Option<&quintet_pending>,
    count: Option<&mut MaybeUninit<u64>>,
) -> quintet_status {
    guarded(|| {
        let count = place(count, "count", 0)?;
        *count = number(value(pending)?.collect()?).map_err(|_| other("quintet_pending_count"))?;
        Ok(())
    })
}

/// The program asks an operation for what another kind of operation gives.
fn other(asked: &str) -> Error {
    misuse(format!("{asked} does not fit this operation: it gives something else"))
}

/// Calls `callback(argument)` once, when the outcome is there: now, or on the thread that brings it, which is in a call of this lab or in
/// `quintet_lab_progress`. An operation that is freed before may never call. The callback may call the space, and must not throw or
/// jump.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_pending_notify(
    pending: Option<&quintet_pending>,
    callback: quintet_callback,
    argument: *mut c_void,
) -> quintet_status {
    guarded(|| {
        let callback = needed(callback, "callback")?;
        let argument = Argument(argument);
        let call = move || callback(argument.pointer());
        let is_collected = value(pending)?.look(|pending| match pending {
            Some(pending) => {
                pending.notify(Box::new(call));
                false
            }
            None => true,
        });
        if is_collected {
            callback(argument.pointer());
        }
        Ok(())
    })
}

/// Asks for the operation's end. It still ends exactly once: with `QUINTET_CANCELLED`, or as it would have.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_pending_cancel(pending: Option<&quintet_pending>) -> quintet_status {
    guarded(|| {
        value(pending)?.look(|pending| pending.iter().for_each(|pending| pending.cancel()));
        Ok(())
    })
}

/// Frees it; not collected, it is cancelled and undone. NULL is left alone.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_pending_free(pending: Option<NonNull<quintet_pending>>) {
    free(pending);
}

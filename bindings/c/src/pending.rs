//! quintet_pending - operations that are begun now and waited for later
//!
//! A program begins any number of operations, computes, and collects what they came to. None is lost: an operation that is freed before it
//! was collected is cancelled, and a tuple on its way goes back to its place.
//!
//! `quintet_pending_result`, `quintet_pending_tuple`, `quintet_pending_lease`, `quintet_pending_count`, `quintet_pending_selected`,
//! `quintet_pending_selected_lease`, `quintet_pending_collection` and `quintet_pending_collected_into` collect the outcome; they wait for it, and return the operation's own status. `quintet_pending_wait` waits for a limited time and says whether it is there.
//!
//! A served space takes a window of operations at once (the setting link.window_frames); the rest goes when one of the lab's
//! calls, a wait, or `quintet_lab_progress` makes room.
//!
//! Any threads may use a pending operation at once; one of them may cancel what another waits for.

use crate::boundary::{Tagged, free, give, guarded, handle, limit, misuse, place, value};
use crate::connection::{Connection, done, number, perhaps, perhaps_selected};
use crate::error::quintet_status;
use crate::group::Uses;
use crate::interrupt::{Argument, needed};
use crate::lease::{leased, quintet_lease, selected_lease};
use crate::tuple::{quintet_tuple, received};
use core::ffi::c_void;
use core::mem::MaybeUninit;
use core::ptr::{NonNull, null_mut};
use quintet::{Acknowledgement, Error, Outcome};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// An operation under way. Any threads may use it at once.
pub struct quintet_pending(Tagged<Pending>);
handle!(quintet_pending, Pending, b"pend", "pending");

/// What is behind it.
pub struct Pending {
    connection: Arc<Connection>,
    gives: Gives,
    operation: Operation,
    /// Whose it is, if it is a group's.
    group: Option<Arc<Uses>>,
    state: Mutex<State>,
}

/// Is called once an outcome is there.
pub type quintet_callback = Option<extern "C" fn(argument: *mut c_void)>;

/// What an operation gives, and so by which function it is collected.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Gives {
    Nothing,
    Tuple,
    Lease,
    Count,
    Selected,
    SelectedLease,
    Collection,
    CollectedInto,
}

enum Operation {
    Plain(quintet::Pending),
    Acknowledgement(Acknowledgement),
}

#[derive(Default)]
struct State {
    /// Threads that look at the operation. A callback of one of them may be a second look of it.
    looking: usize,
    collected: Option<Result<Outcome, Error>>,
    is_kept: bool,
}

impl Gives {
    fn function(self) -> &'static str {
        match self {
            Gives::Nothing => "quintet_pending_result",
            Gives::Tuple => "quintet_pending_tuple",
            Gives::Lease => "quintet_pending_lease",
            Gives::Count => "quintet_pending_count",
            Gives::Selected => "quintet_pending_selected",
            Gives::SelectedLease => "quintet_pending_selected_lease",
            Gives::Collection => "quintet_pending_collection",
            Gives::CollectedInto => "quintet_pending_collected_into",
        }
    }
}

impl Operation {
    fn pending(&self) -> &quintet::Pending {
        match self {
            Operation::Plain(pending) => pending,
            Operation::Acknowledgement(acknowledgement) => acknowledgement.pending(),
        }
    }

    fn keep(&self) {
        match self {
            Operation::Plain(pending) => pending.keep(),
            Operation::Acknowledgement(acknowledgement) => acknowledgement.keep(),
        }
    }
}

/// While it lives a thread may look at the operation.
struct Look<'a>(&'a Pending);

impl Drop for Look<'_> {
    /// What was collected becomes the program's own once nobody looks any more.
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.looking -= 1;
        if state.looking == 0 && state.collected.is_some() && !state.is_kept {
            state.is_kept = true;
            self.0.operation.keep();
        }
    }
}

impl Look<'_> {
    fn operation(&self) -> &quintet::Pending {
        self.0.operation.pending()
    }
}

impl Pending {
    pub(crate) fn operation(
        connection: &Arc<Connection>,
        gives: Gives,
        pending: quintet::Pending,
    ) -> *mut quintet_pending {
        Pending::give(connection, gives, Operation::Plain(pending))
    }

    pub(crate) fn acknowledging(
        connection: &Arc<Connection>,
        under_way: Acknowledgement,
    ) -> *mut quintet_pending {
        Pending::give(connection, Gives::Nothing, Operation::Acknowledgement(under_way))
    }

    pub(crate) fn of_group(group: &Arc<Uses>, pending: quintet::Pending) -> *mut quintet_pending {
        let (connection, operation) = (Arc::clone(group.connection()), Operation::Plain(pending));
        let (group, state) = (Some(Arc::clone(group)), Mutex::default());
        give(Pending { connection, gives: Gives::Tuple, operation, group, state })
    }

    fn give(connection: &Arc<Connection>, gives: Gives, operation: Operation) -> *mut quintet_pending {
        let (group, state) = (None, Mutex::default());
        give(Pending { connection: Arc::clone(connection), gives, operation, group, state })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// To look at what is under way; the outcome if it was collected before.
    fn look(&self) -> Result<Look<'_>, Result<Outcome, Error>> {
        let mut state = self.state();
        match &state.collected {
            Some(outcome) => Err(outcome.clone()),
            None => {
                state.looking += 1;
                Ok(Look(self))
            }
        }
    }

    /// Waits for the outcome and makes it the program's own.
    ///
    /// # Errors
    /// `BadValue` if it gives something else, and then nothing is collected; `Cancelled` if the program interrupted the wait: then the
    /// operation goes on. The operation's own error. `LeaseLost` if its group was told to end: nothing is collected, and what came returns with
    /// the operation's end.
    pub(crate) fn collect(&self, wanted: Gives) -> Result<Outcome, Error> {
        if self.gives != wanted {
            return Err(misuse(format!("this operation is collected by {}", self.gives.function())));
        }
        let look = match self.look() {
            Ok(look) => look,
            Err(collected) => return collected,
        };
        // Without the lock: a callback of this wait may collect too.
        let outcome = self.connection.outcome(look.operation())?;
        let mut state = self.state();
        let accepted = match (&state.collected, &self.group) {
            (Some(before), _) => return before.clone(),
            (None, Some(group)) => group.accept(outcome)?,
            (None, None) => outcome,
        };
        state.collected.insert(accepted).clone()
    }

    /// The same of what may be collected once: a lease.
    ///
    /// # Errors
    /// As `collect`; `BadValue` if it was collected before.
    fn collect_once(&self, wanted: Gives) -> Result<Outcome, Error> {
        let outcome = self.collect(wanted)?;
        let before = Err(misuse("this lease was collected before"));
        // Of two threads that come here at once one is the first.
        self.state().collected.replace(before).unwrap_or(Ok(outcome))
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
        *is_done = match operation.look() {
            Ok(look) => operation.connection.wait(look.operation(), limit(timeout_ms))?.is_some(),
            Err(_) => true,
        };
        Ok(())
    })
}

/// Collects the outcome of what gives nothing: a put, an acknowledgement, or a declared key. May be called again.
///
/// Fails as the operation did; `QUINTET_BAD_VALUE` for another kind of operation.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_pending_result(pending: Option<&quintet_pending>) -> quintet_status {
    guarded(|| done(value(pending)?.collect(Gives::Nothing)?))
}

/// Collects the tuple of a take or a read; NULL, with `QUINTET_OK`, if `quintet_space_begin_take_if` or its like found none. May be called
/// again, and gives another one of the same fields.
///
/// Fails as the operation did; `QUINTET_BAD_VALUE` for another kind of operation.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_pending_tuple(
    pending: Option<&quintet_pending>,
    tuple: Option<&mut MaybeUninit<*mut quintet_tuple>>,
) -> quintet_status {
    guarded(|| {
        let tuple = place(tuple, "tuple", null_mut())?;
        *tuple = perhaps(value(pending)?.collect(Gives::Tuple)?)?.map_or(null_mut(), received);
        Ok(())
    })
}

/// Collects the lease that `quintet_space_begin_lease` asked for; NULL, with `QUINTET_OK`, if `quintet_space_begin_lease_if` found no tuple. It is given once.
///
/// Fails as the operation did; `QUINTET_BAD_VALUE` if it was given before, and for another kind of operation.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_pending_lease(
    pending: Option<&quintet_pending>,
    lease: Option<&mut MaybeUninit<*mut quintet_lease>>,
) -> quintet_status {
    guarded(|| {
        let lease = place(lease, "lease", null_mut())?;
        let pending = value(pending)?;
        *lease = match pending.collect_once(Gives::Lease)? {
            Outcome::NoMatch => null_mut(),
            outcome => leased(&pending.connection, outcome)?,
        };
        Ok(())
    })
}

/// Collects what `quintet_space_begin_select_lease` asked for: which of its templates matches, counted from 0, and the lease. It is given once.
///
/// Fails as `quintet_pending_lease`.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_pending_selected_lease(
    pending: Option<&quintet_pending>,
    which: Option<&mut MaybeUninit<usize>>,
    lease: Option<&mut MaybeUninit<*mut quintet_lease>>,
) -> quintet_status {
    guarded(|| {
        let lease = place(lease, "lease", null_mut())?;
        let which = place(which, "which", 0)?;
        let pending = value(pending)?;
        let outcome = pending.collect_once(Gives::SelectedLease)?;
        (*which, *lease) = selected_lease(&pending.connection, outcome)?;
        Ok(())
    })
}

/// Collects the number that `quintet_space_begin_count` asked for. May be called again.
///
/// Fails as the operation did; `QUINTET_BAD_VALUE` for another kind of operation.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_pending_count(
    pending: Option<&quintet_pending>,
    count: Option<&mut MaybeUninit<u64>>,
) -> quintet_status {
    guarded(|| {
        let count = place(count, "count", 0)?;
        *count = number(value(pending)?.collect(Gives::Count)?)?;
        Ok(())
    })
}

/// Collects what a select found: which of its templates matches, counted from 0, and the tuple; NULL, with `QUINTET_OK`, if
/// `quintet_space_begin_select_if` or its like found none. May be called again, and gives another one of the same fields.
///
/// Fails as the operation did; `QUINTET_BAD_VALUE` for another kind of operation.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_pending_selected(
    pending: Option<&quintet_pending>,
    which: Option<&mut MaybeUninit<usize>>,
    tuple: Option<&mut MaybeUninit<*mut quintet_tuple>>,
) -> quintet_status {
    guarded(|| {
        let tuple = place(tuple, "tuple", null_mut())?;
        let which = place(which, "which", 0)?;
        if let Some((number, found)) = perhaps_selected(value(pending)?.collect(Gives::Selected)?)? {
            (*which, *tuple) = (number, received(found));
        }
        Ok(())
    })
}

/// Calls `callback(argument)` once, when the outcome is there: now, or on the thread that brings it, which is in a call of this lab or in
/// `quintet_lab_progress`. An operation that is freed before may never call. The callback may call the space, and collect
/// this outcome; it must not free the operation, throw or jump.
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
        match value(pending)?.look() {
            Ok(look) => look.operation().notify(Box::new(call)),
            Err(_) => call(),
        }
        Ok(())
    })
}

/// Asks for the operation's end. It still ends exactly once: with `QUINTET_CANCELLED`, or as it would have.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_pending_cancel(pending: Option<&quintet_pending>) -> quintet_status {
    guarded(|| {
        value(pending)?.look().iter().for_each(|look| look.operation().cancel());
        Ok(())
    })
}

/// Frees it; not collected, it is cancelled and undone. NULL is left alone.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_pending_free(pending: Option<NonNull<quintet_pending>>) {
    free(pending);
}

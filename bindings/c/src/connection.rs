//! What everything that was made from a lab shares; how an outcome is waited for.

use crate::interrupt::Interrupt;
use crate::threads::without_signals;
use core::sync::atomic::{AtomicBool, Ordering};
use quintet::{Acknowledgement, Code, Error, Lab, Outcome, Pending, Space, Template, Tuple};
use std::sync::{Arc, Once};
use std::time::{Duration, Instant};

/// A connection, and what is set for its waits.
pub(crate) struct Connection {
    pub(crate) lab: Lab,
    pub(crate) space: Space,
    /// What all spaces of a lab share.
    pub(crate) interrupt: Arc<Interrupt>,
    /// Whether the space is a named one, with a handle of its own.
    pub(crate) is_named: bool,
    /// Whether what renews leases was started.
    has_leased: AtomicBool,
}

impl Connection {
    pub(crate) fn new(lab: Lab) -> Connection {
        prepare_for_forks();
        let space = lab.space();
        let (is_named, has_leased) = (false, AtomicBool::new(false));
        Connection { lab, space, interrupt: Arc::default(), is_named, has_leased }
    }

    /// The same connection, for another of its spaces; or that which the space has of its own, and which ends with this one.
    pub(crate) fn of_space(&self, space: Space) -> Connection {
        let (lab, interrupt) = (space.lab().clone(), Arc::clone(&self.interrupt));
        let (is_named, has_leased) = (true, AtomicBool::new(false));
        Connection { lab, space, interrupt, is_named, has_leased }
    }

    /// Begins to lease a tuple.
    ///
    /// # Errors
    /// It could not be sent; `Resource`.
    pub(crate) fn begin_lease(&self, template: &Template, limit: Option<Duration>) -> Result<Pending, Error> {
        self.leasing(|| self.space.begin().within(limit).lease(template))
    }

    /// Begins what may lease a tuple. The first time that starts a thread.
    ///
    /// # Errors
    /// It could not be sent; `Resource`.
    pub(crate) fn leasing(&self, begin: impl FnOnce() -> Result<Pending, Error>) -> Result<Pending, Error> {
        if self.has_leased.load(Ordering::Acquire) {
            return begin();
        }
        let pending = without_signals(begin)?;
        self.has_leased.store(true, Ordering::Release);
        Ok(pending)
    }

    /// Waits for an operation, which the program may interrupt: then it is undone.
    ///
    /// # Errors
    /// The operation's; `Cancelled` if it was interrupted.
    pub(crate) fn finish(&self, pending: Pending) -> Result<Outcome, Error> {
        let outcome = self.outcome(&pending)?;
        pending.keep();
        outcome
    }

    /// The outcome, however long it takes; it stays with the operation.
    ///
    /// # Errors
    /// `Cancelled` if the program interrupted the wait.
    pub(crate) fn outcome(&self, pending: &Pending) -> Result<Result<Outcome, Error>, Error> {
        loop {
            if let Some(outcome) = self.wait(pending, None)? {
                return Ok(outcome);
            }
        }
    }

    /// Waits for an acknowledgement, or for the end of a group. An interrupt ends the wait, and what was under way with it.
    ///
    /// # Errors
    /// The operation's; `Cancelled` if it was interrupted.
    pub(crate) fn acknowledged(&self, under_way: Acknowledgement) -> Result<(), Error> {
        let outcome = self.outcome(under_way.pending())?;
        under_way.keep();
        done(outcome?)
    }

    /// The outcome, if it comes within `limit` (none: however long it takes); it stays with the operation.
    ///
    /// # Errors
    /// `Cancelled` if the program interrupted the wait.
    pub(crate) fn wait(
        &self,
        pending: &Pending,
        limit: Option<Duration>,
    ) -> Result<Option<Result<Outcome, Error>>, Error> {
        let end = limit.and_then(|limit| Instant::now().checked_add(limit));
        loop {
            let left = end.map_or(Duration::MAX, |end| end.saturating_duration_since(Instant::now()));
            if let Some(outcome) = pending.peek(left.min(self.interrupt.slice())) {
                return Ok(Some(outcome));
            }
            self.interrupt.look()?;
            if end.is_some_and(|end| Instant::now() >= end) {
                return Ok(None);
            }
        }
    }
}

/// Data that a child of fork(2) may look at stays as it is.
fn prepare_for_forks() {
    static ONCE: Once = Once::new();
    extern "C" fn before_fork() {
        // A panic cannot go on into fork(2), and data that may change are better than no child.
        let _ = std::panic::catch_unwind(quintet::before_fork);
    }
    ONCE.call_once(|| {
        // SAFETY: the function takes nothing and stays: the library is never unloaded (-z nodelete).
        // Without memory for the entry a child's views may change: its own programs cope, as with any memory that is shared.
        let _ = unsafe { libc::pthread_atfork(Some(before_fork), None, None) };
    });
}

/// # Errors
/// `Malformed` for another operation's outcome.
pub(crate) fn done(outcome: Outcome) -> Result<(), Error> {
    match outcome {
        Outcome::Done => Ok(()),
        other => Err(unexpected(&other)),
    }
}

/// # Errors
/// As [`done`].
pub(crate) fn one(outcome: Outcome) -> Result<Tuple, Error> {
    match outcome {
        Outcome::Tuple(tuple, _) => Ok(tuple),
        other => Err(unexpected(&other)),
    }
}

/// # Errors
/// As [`done`].
pub(crate) fn perhaps(outcome: Outcome) -> Result<Option<Tuple>, Error> {
    match outcome {
        Outcome::NoMatch => Ok(None),
        other => one(other).map(Some),
    }
}

/// # Errors
/// As [`done`].
pub(crate) fn perhaps_selected(outcome: Outcome) -> Result<Option<(usize, Tuple)>, Error> {
    match outcome {
        Outcome::NoMatch => Ok(None),
        Outcome::Selected(which, tuple, _) => Ok(Some((which, tuple))),
        other => Err(unexpected(&other)),
    }
}

/// # Errors
/// As [`done`].
pub(crate) fn number(outcome: Outcome) -> Result<u64, Error> {
    match outcome {
        Outcome::Count(count) => Ok(count),
        other => Err(unexpected(&other)),
    }
}

pub(crate) fn unexpected(outcome: &Outcome) -> Error {
    Error::new(Code::Malformed, format!("the space answered another question: {outcome:?}"))
}

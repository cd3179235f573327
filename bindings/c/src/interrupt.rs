//! How a wait is interrupted.

use crate::boundary::misuse;
use core::ffi::c_void;
use core::sync::atomic::{AtomicBool, Ordering};
use quintet::{Code, Error};
use std::sync::{PoisonError, RwLock};
use std::time::Duration;

/// How long a wait does not ask: below what a person notices, and seldom enough to cost nothing.
const SLICE: Duration = Duration::from_millis(20);

/// Asks the program whether a wait is to end. It must not call the library, nor throw.
pub type quintet_interrupt = Option<extern "C" fn(argument: *mut c_void) -> bool>;

/// A pointer of C's that is only passed back.
#[derive(Clone, Copy)]
pub(crate) struct Argument(pub(crate) *mut c_void);

// SAFETY: it is never followed here; C was told that what it is passed to may run on any thread.
unsafe impl Send for Argument {}
// SAFETY: the same.
unsafe impl Sync for Argument {}

impl Argument {
    /// The pointer. A method, so that closures capture what may be sent.
    pub(crate) fn pointer(self) -> *mut c_void {
        self.0
    }
}

type Check = (extern "C" fn(*mut c_void) -> bool, Argument);

/// What the program set for its waits.
#[derive(Default)]
pub(crate) struct Interrupt {
    /// Looked at before each wait, instead of the lock.
    is_set: AtomicBool,
    check: RwLock<Option<Check>>,
}

impl Interrupt {
    pub(crate) fn set(&self, check: quintet_interrupt, argument: *mut c_void) {
        let check = check.map(|check| (check, Argument(argument)));
        self.is_set.store(check.is_some(), Ordering::Release);
        *self.check.write().unwrap_or_else(PoisonError::into_inner) = check;
    }

    pub(crate) fn is_set(&self) -> bool {
        self.is_set.load(Ordering::Acquire)
    }

    /// How long a wait may go on before it looks.
    pub(crate) fn slice(&self) -> Duration {
        if self.is_set() { SLICE } else { Duration::MAX }
    }

    /// What `step` comes to, which waits so long at most and is made again until it comes to something.
    ///
    /// # Errors
    /// As [`look`](Interrupt::look).
    pub(crate) fn wait<T>(&self, mut step: impl FnMut(Duration) -> Option<T>) -> Result<T, Error> {
        loop {
            if let Some(come) = step(self.slice()) {
                return Ok(come);
            }
            self.look()?;
        }
    }

    /// # Errors
    /// `Cancelled` if the program wants the wait to end.
    pub(crate) fn look(&self) -> Result<(), Error> {
        let check = *self.check.read().unwrap_or_else(PoisonError::into_inner);
        match check {
            Some((check, argument)) if check(argument.pointer()) => {
                Err(Error::new(Code::Cancelled, "the program's interrupt check ended the wait"))
            }
            _ => Ok(()),
        }
    }
}

/// A function that C must pass.
///
/// # Errors
/// `BadValue` for NULL.
pub(crate) fn needed<T>(function: Option<T>, name: &str) -> Result<T, Error> {
    function.ok_or_else(|| misuse(format!("{name} is NULL")))
}

//! Forked children. A child has a copy of its parent's memory and descriptors, but none of its threads: it must not speak
//! over the parent's connections, nor wait for a lock that another thread held at the fork.

use pyo3::prelude::*;
use quintet::{Code, Error};
use std::sync::atomic::{AtomicU64, Ordering};

/// How many forks lie between the process that loaded this module and this one.
static FORKS: AtomicU64 = AtomicU64::new(0);

/// Says that this process was just forked. `os.register_at_fork` calls it.
#[pyfunction]
pub(crate) fn forked() {
    FORKS.fetch_add(1, Ordering::Relaxed);
}

/// Says that this process is about to be forked, and that the child may look at its arrays. `os.register_at_fork` calls it.
#[pyfunction]
pub(crate) fn before_fork() {
    quintet::before_fork();
}

/// The process that made something.
#[derive(Clone, Copy)]
pub(crate) struct Maker(u64);

impl Maker {
    /// The process that calls.
    pub(crate) fn this_process() -> Self {
        Maker(FORKS.load(Ordering::Relaxed))
    }

    /// Whether this is the process that made it, and no child of that.
    pub(crate) fn is_this_process(self) -> bool {
        self.0 == FORKS.load(Ordering::Relaxed)
    }

    /// # Errors
    /// `Closed`: a parent of this process made it.
    pub(crate) fn check(self) -> Result<(), Error> {
        match self.is_this_process() {
            true => Ok(()),
            false => Err(Error::new(Code::Closed, "this was made in another process; make one here")),
        }
    }

    /// Drops what may have something to say at its end, without the interpreter; in a child it is left as it is.
    pub(crate) fn let_go<T: Send>(self, py: Python<'_>, value: T) {
        if self.is_this_process() {
            py.detach(|| drop(value));
        } else {
            std::mem::forget(value);
        }
    }
}

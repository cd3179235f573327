//! What a member has counted, as the thread that executes isochrons tells it to who asks.

use super::host::{Core, Isonet};
use crate::{Code, Error};
use quintet_isotach::Counters;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

/// How long the thread that executes isochrons may take to tell.
pub(super) const ANSWER_LIMIT: Duration = Duration::from_secs(1);

/// Where it leaves what it tells. Nothing is copied before somebody asks.
#[derive(Default)]
pub(super) struct Counted {
    /// When somebody asked last.
    told: Mutex<Option<Counters>>,
    /// When it ended.
    last: OnceLock<Counters>,
}

impl Counted {
    pub(super) fn tell(&self, counters: Counters) {
        *self.told.lock().unwrap_or_else(PoisonError::into_inner) = Some(counters);
    }

    pub(super) fn end(&self, counters: Counters) {
        self.last.get_or_init(|| counters);
    }
}

impl Core {
    /// # Errors
    /// [`Code::Closed`], [`Code::BadValue`]: who asks here would wait for what does not come.
    pub(super) fn check_asker(&self) -> Result<(), Error> {
        self.board.check_process()?;
        if self.board.is_poller() {
            let text = "a handler runs on the thread that is asked for what it has counted, and would wait for itself: ask on another thread";
            return Err(Error::new(Code::BadValue, text));
        }
        Ok(())
    }

    /// What was counted until now, or until the end; none: the thread stands still.
    fn counters(&self) -> Option<Counters> {
        if let Some(last) = self.counted.last.get() {
            return Some(last.clone());
        }
        match self.node.measure(ANSWER_LIMIT) {
            Some(_) => self.counted.told.lock().unwrap_or_else(PoisonError::into_inner).clone(),
            None => self.counted.last.get().cloned(),
        }
    }
}

impl Isonet {
    /// What this member has counted since it has joined; once it has ended, until then. It costs the thread that executes isochrons some microseconds, and nothing is counted for it that would not be
    /// counted anyway.
    ///
    /// # Errors
    /// [`Code::TimedOut`]: a handler of this member has been running for a second. [`Code::BadValue`]: this is a handler. [`Code::Closed`]: this process was forked from the one that has joined.
    pub fn counters(&self) -> Result<Counters, Error> {
        let core = self.core();
        core.check_asker()?;
        core.counters().ok_or_else(stands_still)
    }
}

/// Why the thread that executes isochrons tells nothing.
pub(super) fn stands_still() -> Error {
    let text = format!(
        "this member has executed nothing, and told nothing, for {ANSWER_LIMIT:?}: does a handler of it compute?"
    );
    Error::new(Code::TimedOut, text)
}

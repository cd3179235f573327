//! How a thread of the program waits for what is under way.

use super::{Member, SLICE};
use quintet::{Code, Error};
use std::time::{Duration, Instant};

/// Why nothing was waited for any longer. What is under way goes on.
pub(crate) enum Stopped {
    /// It took too long.
    TimedOut,
    /// Messages fill their room, and nobody takes them.
    HeldUp,
    /// The program's interrupt check has said so.
    Interrupted(Error),
}

impl Stopped {
    /// As an error, of `what` goes on.
    pub(crate) fn told_of(self, what: &str) -> Error {
        match self {
            Stopped::TimedOut => {
                Error::new(Code::TimedOut, format!("{what} goes on, and may be executed yet"))
            }
            Stopped::HeldUp => {
                let text = format!(
                    "{what} goes on, and what the program has not taken holds it up: take some with quintet_isonet_next, and wait again"
                );
                Error::new(Code::Busy, text)
            }
            Stopped::Interrupted(error) => error,
        }
    }
}

impl Member {
    /// What comes of something that `look` looks at, for so long each time.
    pub(crate) fn wait_for<T>(
        &self,
        until: Option<Instant>,
        mut look: impl FnMut(Duration) -> Option<T>,
    ) -> Result<T, Stopped> {
        loop {
            let left =
                until.map_or(SLICE, |until| until.saturating_duration_since(Instant::now()).min(SLICE));
            if let Some(found) = look(left) {
                return Ok(found);
            }
            if self.inbox.holds_up() {
                return Err(Stopped::HeldUp);
            }
            self.connection.interrupt.look().map_err(Stopped::Interrupted)?;
            if until.is_some_and(|until| Instant::now() >= until) {
                return Err(Stopped::TimedOut);
            }
        }
    }
}

/// When a wait of so long ends; none: never.
pub(crate) fn end_of(limit: Option<Duration>) -> Option<Instant> {
    limit.and_then(|limit| Instant::now().checked_add(limit))
}

//! When a served host's loop goes to sleep, and how.

use quintet_contract::Span;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io;
use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

/// How long the loop goes on looking after its last work: a little above the time of a sleep and wake, so that a caller
/// in lock step finds it awake.
const SPIN: Duration = Duration::from_micros(8);
/// Times the processor is offered to others before sleeping.
const YIELDS: u32 = 3;

/// The loop's state between work and sleep: look for a while, yield a few times, then sleep.
pub(crate) struct Sleeper {
    idle_since: Option<Instant>,
    yields: u32,
}

impl Sleeper {
    pub(crate) fn new() -> Self {
        Sleeper { idle_since: None, yields: 0 }
    }

    /// There was work.
    pub(crate) fn worked(&mut self) {
        self.idle_since = None;
        self.yields = 0;
    }

    /// There was none. Spends a moment; true once it is time to sleep.
    pub(crate) fn may_sleep(&mut self) -> bool {
        let since = *self.idle_since.get_or_insert_with(Instant::now);
        if since.elapsed() < SPIN {
            std::hint::spin_loop();
            return false;
        }
        if self.yields < YIELDS {
            self.yields += 1;
            std::thread::yield_now();
            return false;
        }
        true
    }

    /// Sleeps until one of `fds` is readable or `limit` has passed. A signal ends it early.
    pub(crate) fn sleep<'a>(
        &mut self,
        fds: impl Iterator<Item = BorrowedFd<'a>>,
        limit: Option<Span>,
    ) -> io::Result<()> {
        let mut fds: Vec<_> = fds.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
        let limit = limit.map(|span| Timespec {
            tv_sec: i64::try_from(span.0 / 1_000_000_000).unwrap_or(i64::MAX),
            tv_nsec: (span.0 % 1_000_000_000) as _,
        });
        let slept = poll(&mut fds, limit.as_ref());
        self.worked();
        match slept {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

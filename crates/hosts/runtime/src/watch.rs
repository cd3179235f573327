//! One descriptor for all that an embedded protocol waits for, for programs with an event loop of their own.
//!
//! Readable while there is something to do: frames in a link, an answer that another thread brought, a deadline. Only
//! [`Calls::advance`](crate::Calls::advance) makes it unreadable again.
//!
//! ```text
//!   epoll  <--  links    all of them rest between two calls of `advance`, whoever polled them meanwhile
//!          <--  bell     rung by threads that filled a slot, or left frames in a link
//!          <--  timer    set to the protocol's deadline
//! ```

use quintet_clock::LiveClock;
use quintet_contract::Time;
use rustix::event::{EventfdFlags, epoll, eventfd};
use rustix::io::{Errno, read, write};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// No deadline.
const NEVER: u64 = u64::MAX;

/// What a program with an event loop watches.
pub(crate) struct Watch {
    epoll: OwnedFd,
    bell: OwnedFd,
    timer: OwnedFd,
    /// When the timer rings. Changed under the lock of the protocol, or before a look that is made under it.
    rings_at: AtomicU64,
}

impl Watch {
    /// Watches the descriptor that tells of everything that comes, if there are links, and a bell and a timer of its own.
    ///
    /// # Errors
    /// The system refuses one of three descriptors.
    pub(crate) fn new(arrivals: Option<&OwnedFd>) -> Result<Self, Errno> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        let timer =
            timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK)?;
        for fd in [bell.as_fd(), timer.as_fd()].into_iter().chain(arrivals.map(AsFd::as_fd)) {
            epoll::add(&epoll, fd, epoll::EventData::new_u64(0), epoll::EventFlags::IN)?;
        }
        Ok(Watch { epoll, bell, timer, rings_at: AtomicU64::new(NEVER) })
    }

    /// Readable while there is something to do.
    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }

    /// Makes the descriptor readable.
    pub(crate) fn ring(&self) {
        // The only failure is a full counter, and then it has been rung.
        let _ = write(&self.bell, &1u64.to_ne_bytes());
    }

    /// Forgets what has rung. Look for work after it.
    pub(crate) fn answer(&self) {
        // Each fails only if it has not rung.
        let _ = read(&self.bell, &mut [0; 8]);
        let _ = read(&self.timer, &mut [0; 8]);
        self.rings_at.store(NEVER, Ordering::Relaxed);
    }

    /// Takes note of a deadline. A later one than before is left to the next look, which the earlier one brings about.
    pub(crate) fn set_deadline(&self, deadline: Option<Time>, clock: LiveClock) {
        let Some(deadline) = deadline.filter(|deadline| deadline.0 < self.rings_at.load(Ordering::Relaxed))
        else {
            return;
        };
        self.rings_at.store(deadline.0, Ordering::Relaxed);
        // Zero would turn the timer off.
        let left = Duration::from(deadline.since(clock.now())).max(Duration::from_nanos(1));
        let value = Timespec::try_from(left).unwrap_or(Timespec { tv_sec: i64::MAX, tv_nsec: 0 });
        let once = Itimerspec { it_interval: Timespec::default(), it_value: value };
        // It refuses only values that are no times.
        let _ = timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &once);
    }
}

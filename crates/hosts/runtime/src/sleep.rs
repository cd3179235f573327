//! How a served host's loop sleeps.

use quintet_contract::Span;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::io;
use std::os::fd::BorrowedFd;

/// Sleeps until one of `fds` is readable or `limit` has passed. A signal ends it early.
pub(crate) fn sleep_on<'a>(fds: impl Iterator<Item = BorrowedFd<'a>>, limit: Option<Span>) -> io::Result<()> {
    let mut fds: Vec<_> = fds.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
    let limit = limit.map(|span| Timespec {
        tv_sec: i64::try_from(span.0 / 1_000_000_000).unwrap_or(i64::MAX),
        tv_nsec: (span.0 % 1_000_000_000) as _,
    });
    match poll(&mut fds, limit.as_ref()) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

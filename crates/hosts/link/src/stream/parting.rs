//! Whether a Unix socket's peer has ended: its system closes the socket without a farewell then, which looks like a cut.
//!
//! The system keeps with a Unix socket whose process connected or listened. That is asked only when the stream has ended, so that a
//! link takes no descriptor more; should another process have its number by then, the first one is gone all the more, and whatever
//! is told of that other one, nobody who lives is taken for dead.
//!
//! A process that ends closes its sockets a moment before it counts as ended. That moment is waited for, and no longer: whoever
//! lives then has closed the socket, or the link was cut.

use crate::LinkError;
use crate::socket_peer::SocketPeer;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::AddressFamily;
use rustix::net::sockopt::socket_domain;
use rustix::process::{PidfdFlags, getpid, pidfd_open};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime,
};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// How long a process may take from closing its sockets to its end.
const MOMENT: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

/// A stream that has ended, while it is open why.
#[derive(Debug)]
pub(super) struct Parting {
    /// Readable once the peer's process has ended.
    process: OwnedFd,
    /// Readable once it has had its moment.
    timer: OwnedFd,
}

impl Parting {
    /// Asks whether the peer at the other end of a stream that has ended lives.
    ///
    /// # Errors
    /// How the link has ended, where that is known at once: also where the socket, or this system, cannot tell.
    pub(super) fn of(socket: BorrowedFd<'_>) -> Result<Parting, LinkError> {
        let cut = |_| LinkError::PeerDied;
        if socket_domain(socket) != Ok(AddressFamily::UNIX) {
            return Err(LinkError::PeerDied);
        }
        let peer = SocketPeer::of(socket).map_err(cut)?.process.ok_or(LinkError::PeerDied)?;
        if peer == getpid() {
            return Err(LinkError::PeerDied);
        }
        let process = pidfd_open(peer, PidfdFlags::empty()).map_err(|errno| match errno {
            Errno::SRCH => LinkError::ProcessEnded,
            _ => LinkError::PeerDied,
        })?;
        let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK)
            .map_err(cut)?;
        let once = Itimerspec { it_interval: Timespec::default(), it_value: MOMENT };
        timerfd_settime(&timer, TimerfdTimerFlags::empty(), &once).map_err(cut)?;
        Ok(Parting { process, timer })
    }

    /// How the link has ended, once that is known.
    pub(super) fn end(&self) -> Option<LinkError> {
        if is_readable(&self.process) {
            Some(LinkError::ProcessEnded)
        } else if is_readable(&self.timer) {
            Some(LinkError::PeerDied)
        } else {
            None
        }
    }

    /// One of them is readable once [`Parting::end`] has something to tell.
    pub(super) fn fds(&self) -> [BorrowedFd<'_>; 2] {
        [self.process.as_fd(), self.timer.as_fd()]
    }
}

fn is_readable(fd: &OwnedFd) -> bool {
    poll(&mut [PollFd::new(fd, PollFlags::IN)], Some(&Timespec::default())) == Ok(1)
}

//! A descriptor kept in reserve, to turn somebody away when this process may have no more of them.

use rustix::io::{Errno, fcntl_dupfd_cloexec};
use rustix::net::{SocketFlags, accept_with};
use std::os::fd::OwnedFd;

/// A descriptor of no other use, if there is one.
#[derive(Debug)]
pub(crate) struct Spare(Option<OwnedFd>);

impl Spare {
    pub(crate) fn of(socket: &OwnedFd) -> Self {
        Spare(fcntl_dupfd_cloexec(socket, 0).ok())
    }

    /// Takes the connection of one for whom there is no descriptor, if anybody waits: left alone they would keep the listener
    /// ready for ever. Drop it, then call [`Spare::renew`].
    ///
    /// # Errors
    /// There is none even so, and whether anybody waits is not known: none was in reserve, somebody else has taken it, or the
    /// whole system has no more.
    pub(crate) fn turn_away(&mut self, socket: &OwnedFd) -> Result<Option<OwnedFd>, Errno> {
        drop(self.0.take());
        let turned_away = accept_with(socket, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK);
        if turned_away.is_err() {
            self.renew(socket);
        }
        match turned_away {
            Err(errno @ (Errno::MFILE | Errno::NFILE)) => Err(errno),
            turned_away => Ok(turned_away.ok()),
        }
    }

    /// Takes a descriptor into reserve again.
    pub(crate) fn renew(&mut self, socket: &OwnedFd) {
        *self = Spare::of(socket);
    }
}

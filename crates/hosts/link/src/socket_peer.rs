//! Who was at the other end of a Unix socket when it was connected.
//!
//! The system keeps user and process with the socket. A process that this one's pid namespace does not contain has the number zero there,
//! which is nobody's: it is unknown here.

use core::mem::MaybeUninit;
use rustix::io::Errno;
use rustix::process::Pid;
use std::os::fd::{AsRawFd, BorrowedFd};

/// A user, and a process if it has a number here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SocketPeer {
    pub(crate) user: u32,
    pub(crate) process: Option<Pid>,
}

impl SocketPeer {
    /// Who connected this socket, or listened.
    ///
    /// # Errors
    /// It is no socket, or of a kind of which the system does not know.
    pub(crate) fn of(socket: BorrowedFd<'_>) -> Result<SocketPeer, Errno> {
        let mut kept = MaybeUninit::<libc::ucred>::zeroed();
        let mut len = size_of::<libc::ucred>() as libc::socklen_t;
        // SAFETY: the descriptor is open while it is borrowed; the system writes at most `len` bytes to where `kept` lies.
        let status = unsafe {
            libc::getsockopt(
                socket.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_PEERCRED,
                kept.as_mut_ptr().cast(),
                &raw mut len,
            )
        };
        if status != 0 {
            return Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO));
        }
        // SAFETY: three integers, for which all bytes will do: those that the system did not write are zero.
        Ok(SocketPeer::from(unsafe { kept.assume_init() }))
    }
}

impl From<libc::ucred> for SocketPeer {
    fn from(kept: libc::ucred) -> Self {
        SocketPeer { user: kept.uid, process: Pid::from_raw(kept.pid) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::process::{geteuid, getpid};
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;

    #[test]
    fn both_ends_of_a_pair_are_this_process() {
        let (near, _far) = UnixStream::pair().expect("two sockets");
        let expected = SocketPeer { user: geteuid().as_raw(), process: Some(getpid()) };
        assert_eq!(SocketPeer::of(near.as_fd()), Ok(expected));
    }

    #[test]
    fn what_is_no_socket_has_no_peer() {
        let file = std::fs::File::open("/dev/null").expect("it is there");
        assert_eq!(SocketPeer::of(file.as_fd()), Err(Errno::NOTSOCK));
    }

    #[test]
    fn a_process_of_another_namespace_has_no_number_here() {
        let kept = libc::ucred { pid: 0, uid: 7, gid: 7 };
        assert_eq!(SocketPeer::from(kept), SocketPeer { user: 7, process: None });
    }
}

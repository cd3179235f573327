//! Closing what a peer gave, without waiting for the peer.
//!
//! To close a descriptor can take as long as its giver likes: a TCP socket that lingers waits until its data was received,
//! a file of a file system in user space until that has answered. So whatever a peer gave that is not known to close at once
//! is closed by a thread of its own. A Unix socket closes what lies unread in it as well, so that is looked at before.

use core::mem::ManuallyDrop;
use rustix::io::Errno;
use rustix::net::sockopt::set_socket_passcred;
use rustix::net::{RecvAncillaryBuffer, RecvFlags, ReturnFlags, Shutdown, recvmsg, shutdown};
use rustix::process::{Pid, getpid};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::thread;

/// Enough to close descriptors.
const STACK_BYTES: usize = 64 * 1024;

/// A Unix socket whose other end is a peer's.
#[derive(Debug)]
pub(crate) struct PeerSocket {
    socket: ManuallyDrop<OwnedFd>,
    /// A process forked from this one has the same socket, and must not end it.
    owner: Pid,
}

impl From<OwnedFd> for PeerSocket {
    fn from(socket: OwnedFd) -> Self {
        PeerSocket { socket: ManuallyDrop::new(socket), owner: getpid() }
    }
}

impl AsFd for PeerSocket {
    #[inline]
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Drop for PeerSocket {
    fn drop(&mut self) {
        // SAFETY: taken once, for this is the drop.
        let socket = unsafe { ManuallyDrop::take(&mut self.socket) };
        if self.owner == getpid() && !holds_nothing(socket.as_fd()) {
            close_elsewhere(vec![socket]);
        }
    }
}

/// Closes descriptors of which nothing is known.
pub(crate) fn close_elsewhere(descriptors: Vec<OwnedFd>) {
    if descriptors.is_empty() {
        return;
    }
    // Without a thread they stay open, for then nobody can close them safely.
    let descriptors = ManuallyDrop::new(descriptors);
    let close = move || drop(ManuallyDrop::into_inner(descriptors));
    let _ = thread::Builder::new().name("quintet-close".to_owned()).stack_size(STACK_BYTES).spawn(close);
}

/// Whether no message lies unread in a socket. Nothing can be sent to it from here on.
fn holds_nothing(socket: BorrowedFd<'_>) -> bool {
    // It fails where the peer has left, which ends what can be sent as well.
    let _ = shutdown(socket, Shutdown::Both);
    // Now every message, also one without bytes, is said to be cut off: its sender's credentials find no room.
    if set_socket_passcred(socket, true).is_err() {
        return false;
    }
    let look = || {
        let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
        recvmsg(socket, &mut [], &mut RecvAncillaryBuffer::new(&mut []), flags)
    };
    // That the peer closed without reading all is told once.
    match look().or_else(|errno| if errno == Errno::CONNRESET { look() } else { Err(errno) }) {
        Ok(message) => message.bytes == 0 && !message.flags.contains(ReturnFlags::CTRUNC),
        // Nothing is there, or nothing was ever connected.
        Err(errno) => matches!(errno, Errno::AGAIN | Errno::NOTCONN),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType, send, socketpair};

    fn pair() -> (OwnedFd, OwnedFd) {
        socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
            .expect("two sockets")
    }

    #[test]
    fn unread_messages_are_found_also_without_bytes() {
        for messages in [&[&b""[..], b"x"][..], &[b""], &[b"x"]] {
            for is_closed in [false, true] {
                let (own, peers) = pair();
                for message in messages {
                    send(&peers, message, SendFlags::NOSIGNAL).expect("sent");
                }
                let peers = (!is_closed).then_some(peers);
                assert!(!holds_nothing(own.as_fd()), "{messages:?} {peers:?}");
            }
        }
    }

    #[test]
    fn a_socket_without_messages_is_closed_here() {
        let (own, peers) = pair();
        assert!(holds_nothing(own.as_fd()));
        assert_eq!(send(&peers, b"x", SendFlags::NOSIGNAL), Err(Errno::PIPE));
        let (own, peers) = pair();
        send(&own, b"x", SendFlags::NOSIGNAL).expect("sent");
        drop(peers);
        assert!(holds_nothing(own.as_fd()), "its peer read nothing, and has sent nothing");
    }
}

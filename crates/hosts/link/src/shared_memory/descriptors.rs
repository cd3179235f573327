//! Descriptors over a Unix socket.

use super::closing::close_elsewhere;
use super::memory::PeerMemoryError;
use core::mem::MaybeUninit;
use rustix::io::{Errno, IoSlice, IoSliceMut};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use std::os::fd::{BorrowedFd, OwnedFd};

/// The most that the kernel lets one message carry (`SCM_MAX_FD`). There is room for all, so that none is closed by receiving.
const MOST_DESCRIPTORS: usize = 253;
/// Descriptors that one message of ours carries at most.
const MOST_OF_OURS: usize = 2;

/// A message as it came.
pub(super) struct Message {
    /// Its length; what is above the buffer's is cut off.
    pub(super) bytes: usize,
    pub(super) fds: Vec<OwnedFd>,
    /// The system could not give this process all descriptors.
    pub(super) is_short: bool,
}

/// Sends a message, and never waits.
///
/// # Errors
/// What the system said.
pub(super) fn say(socket: BorrowedFd<'_>, bytes: &[u8], fds: &[BorrowedFd<'_>]) -> Result<(), Errno> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_OF_OURS))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !fds.is_empty() {
        let fits = control.push(SendAncillaryMessage::ScmRights(fds));
        debug_assert!(fits, "the space is made for them");
    }
    sendmsg(socket, &[IoSlice::new(bytes)], &mut control, SendFlags::NOSIGNAL | SendFlags::DONTWAIT)?;
    Ok(())
}

/// The next message, if there is one.
///
/// # Errors
/// What the system said.
pub(super) fn hear(socket: BorrowedFd<'_>, bytes: &mut [u8]) -> Result<Message, Errno> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_DESCRIPTORS))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT;
    let mut hear = || recvmsg(socket, &mut [IoSliceMut::new(bytes)], &mut control, flags);
    // That the peer closed without reading all is told once; what it said before lies behind that.
    let message = hear().or_else(|errno| if errno == Errno::CONNRESET { hear() } else { Err(errno) })?;
    let mut fds = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(received) = message {
            fds.extend(received);
        }
    }
    // There was room for all of them, so the kernel left out what it could not give.
    Ok(Message { bytes: message.bytes, fds, is_short: message.flags.contains(ReturnFlags::CTRUNC) })
}

/// Sends one descriptor, and never waits.
///
/// # Errors
/// What the system said.
pub(super) fn send(socket: BorrowedFd<'_>, fd: BorrowedFd<'_>) -> Result<(), Errno> {
    say(socket, &[0], &[fd])
}

/// The descriptors of the next message, which was sent before.
///
/// # Errors
/// There is none, or the system gave them not.
pub(super) fn receive(socket: BorrowedFd<'_>) -> Result<Vec<OwnedFd>, PeerMemoryError> {
    let message = hear(socket, &mut [0; 2]).map_err(|errno| match errno {
        Errno::AGAIN => PeerMemoryError::Untrusted("no descriptor came".to_owned()),
        errno => PeerMemoryError::System("receive the descriptor of a segment", errno),
    })?;
    if message.is_short {
        close_elsewhere(message.fds);
        let doing = "receive the descriptor of a segment (`ulimit -n` may be too small: raise it)";
        return Err(PeerMemoryError::System(doing, Errno::MFILE));
    }
    Ok(message.fds)
}

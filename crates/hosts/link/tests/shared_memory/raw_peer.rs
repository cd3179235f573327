//! A peer that does what it likes: it speaks the bootstrap's bytes and writes its memory by hand.

use quintet_contract::limits::{BULK_RING_BYTES, CONTROL_RING_BYTES};
use rustix::event::{EventfdFlags, eventfd};
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};
use rustix::io::{IoSlice, IoSliceMut, pwrite};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketAddrUnix, SocketType, connect, recvmsg, sendmsg, socket_with,
};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

/// The word that tells how far bulk is written.
pub(crate) const BULK_TAIL_AT: usize = 128;
/// Where the ring of frames begins, after one page of words.
pub(crate) const RING_AT: usize = 4096;
/// Where the ring of bulk begins.
pub(crate) const BULK_AT: usize = RING_AT + CONTROL_RING_BYTES;
/// All of it.
pub(crate) const MEMORY_BYTES: usize = BULK_AT + BULK_RING_BYTES;
/// What the link insists on.
pub(crate) const SEALS: SealFlags = SealFlags::SHRINK.union(SealFlags::GROW).union(SealFlags::SEAL);

/// The hello that is accepted.
pub(crate) fn hello() -> Vec<u8> {
    let mut bytes = b"QNTL\x02\x00\x00\x00".to_vec();
    bytes.extend((MEMORY_BYTES as u64).to_le_bytes());
    bytes.extend((CONTROL_RING_BYTES as u32).to_le_bytes());
    bytes.extend((BULK_RING_BYTES as u32).to_le_bytes());
    bytes
}

/// A memfd of `size` bytes.
pub(crate) fn memfd(size: usize, seals: SealFlags) -> OwnedFd {
    let fd = memfd_create("raw peer", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING).expect("a memfd");
    ftruncate(&fd, size as u64).expect("sized");
    fcntl_add_seals(&fd, seals).expect("sealed");
    fd
}

/// An eventfd as the link wants it.
pub(crate) fn event() -> OwnedFd {
    eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).expect("an eventfd")
}

/// A socket that knocks at `path` and says nothing yet.
pub(crate) fn knock(path: &Path) -> OwnedFd {
    let flags = rustix::net::SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None).expect("a socket");
    connect(&socket, &SocketAddrUnix::new(path).expect("short")).expect("connected");
    socket
}

/// Sends these bytes and descriptors.
pub(crate) fn say(socket: &OwnedFd, bytes: &[u8], fds: &[BorrowedFd<'_>]) {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(8))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    assert!(fds.is_empty() || control.push(SendAncillaryMessage::ScmRights(fds)));
    sendmsg(socket, &[IoSlice::new(bytes)], &mut control, SendFlags::NOSIGNAL).expect("sent");
}

/// The bytes and descriptors of the next message; no bytes if the other side closed.
pub(crate) fn hear(socket: &OwnedFd) -> (Vec<u8>, Vec<OwnedFd>) {
    let mut bytes = [0; 64];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(8))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let flags = RecvFlags::CMSG_CLOEXEC;
    let message = recvmsg(socket, &mut [IoSliceMut::new(&mut bytes)], &mut control, flags).expect("received");
    let mut fds = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(received) = message {
            fds.extend(received);
        }
    }
    (bytes[..message.bytes].to_vec(), fds)
}

/// A peer past the bootstrap, whose memory is still open for writing.
pub(crate) struct RawPeer {
    memory: OwnedFd,
    _event: OwnedFd,
    _socket: OwnedFd,
}

impl RawPeer {
    /// Knocks and makes an acceptable offer.
    pub(crate) fn offer(path: &Path) -> Self {
        let (memory, event, socket) = (memfd(MEMORY_BYTES, SEALS), event(), knock(path));
        say(&socket, &hello(), &[memory.as_fd(), event.as_fd()]);
        RawPeer { memory, _event: event, _socket: socket }
    }

    /// Changes its memory under its reader.
    pub(crate) fn write(&self, at: usize, bytes: &[u8]) {
        assert_eq!(pwrite(&self.memory, bytes, at as u64), Ok(bytes.len()));
    }
}

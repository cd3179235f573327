//! A peer that does what it likes: it speaks the bootstrap's bytes and writes its memory by hand.

use quintet_contract::limits::{BULK_RING_BYTES, CONTROL_RING_BYTES};
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};
use rustix::io::{IoSlice, IoSliceMut, pwrite};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketAddrUnix, SocketFlags, SocketType, connect, recvmsg, sendmsg,
    socket_with, socketpair,
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
    let mut bytes = b"QNTL\x05\x00\x00\x00".to_vec();
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

/// A socket to be woken by, and its other end, as the link wants it.
pub(crate) fn waker() -> (OwnedFd, OwnedFd) {
    pair(SocketType::SEQPACKET)
}

/// Two Unix sockets of this kind, connected.
pub(crate) fn pair(kind: SocketType) -> (OwnedFd, OwnedFd) {
    socketpair(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None).expect("two sockets")
}

/// A socket that is connected to `path` and says nothing yet.
pub(crate) fn dial(path: &Path) -> OwnedFd {
    let socket = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
        .expect("a socket");
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
    /// What wakes it, in both senses.
    pub(crate) wakers: (OwnedFd, OwnedFd),
    /// Over which descriptors go.
    pub(crate) socket: OwnedFd,
}

impl RawPeer {
    /// Connects and makes an acceptable offer.
    pub(crate) fn offer(path: &Path) -> Self {
        Self::offer_to_be_woken_by(path, waker())
    }

    /// The same, to be woken by the second of these.
    pub(crate) fn offer_to_be_woken_by(path: &Path, wakers: (OwnedFd, OwnedFd)) -> Self {
        let (memory, socket) = (memfd(MEMORY_BYTES, SEALS), dial(path));
        say(&socket, &hello(), &[memory.as_fd(), wakers.1.as_fd()]);
        RawPeer { memory, wakers, socket }
    }

    /// Changes its memory under its reader.
    pub(crate) fn write(&self, at: usize, bytes: &[u8]) {
        assert_eq!(pwrite(&self.memory, bytes, at as u64), Ok(bytes.len()));
    }
}

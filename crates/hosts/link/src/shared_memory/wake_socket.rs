//! How one process wakes another, so that neither can make the other wait.
//!
//! The sleeper makes a pair of connected sockets, watches one and gives the other to its peer. The peer wakes it by shutting
//! down its sending side, again each time: the kernel tells whoever watches the first socket of every such call, also of one
//! that changes nothing.
//!
//! ```text
//!   sleeper                                        peer
//!   epoll: RDHUP, edge-triggered <---- socket pair ---- shutdown(SHUT_WR)   a wake-up
//!          HUP                   <--------------------- close, or death     the end
//! ```
//!
//! An eventfd would do the same but for one thing: both sides would share one open file. The flag that keeps a write to it
//! from blocking belongs to that file, so a peer could clear it, fill the counter, and have this process wait for ever. A
//! `shutdown` looks at no such flag, takes no lock that is held while somebody waits, writes nothing that would have to be
//! read, and fills no buffer. Measured, a round trip of two sleepers on one core costs 1.95 us, beside 1.9 us with eventfds,
//! 1.8 us with a bare futex, and 2.9 us where each wake-up is a byte that is sent and received.

use super::closing::PeerSocket;
use rustix::io::Errno;
use rustix::net::sockopt::{socket_domain, socket_type};
use rustix::net::{AddressFamily, Shutdown, SocketFlags, SocketType, shutdown, socketpair};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// The sleeper's socket. Nothing can be sent to it.
#[derive(Debug)]
pub(crate) struct WakeSocket(OwnedFd);

/// The socket that a peer gave to be woken through.
#[derive(Debug)]
pub(crate) struct PeerWaker(PeerSocket);

impl WakeSocket {
    /// A socket to watch, and the one for the peer.
    ///
    /// # Errors
    /// The system refused them.
    pub(crate) fn pair() -> Result<(Self, OwnedFd), Errno> {
        let (own, peers) =
            socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
        // Whatever a peer sends would have to be closed here, descriptors among it.
        shutdown(&own, Shutdown::Read)?;
        Ok((WakeSocket(own), peers))
    }
}

impl AsFd for WakeSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl PeerWaker {
    /// What a peer gave, if it is a socket of the kind that [`WakeSocket::pair`] makes: only of that is it known that a
    /// `shutdown` does not block. What it is cannot change.
    ///
    /// # Errors
    /// The descriptor, and what is wrong with it.
    pub(crate) fn new(given: OwnedFd) -> Result<Self, (OwnedFd, String)> {
        let kind = socket_domain(&given).and_then(|domain| Ok((domain, socket_type(&given)?)));
        match kind {
            Ok((AddressFamily::UNIX, SocketType::SEQPACKET)) => Ok(PeerWaker(given.into())),
            Ok((domain, kind)) => Err((given, format!("its waker is a socket of {domain:?} and {kind:?}"))),
            Err(errno) => Err((given, format!("its waker is no socket: {errno}"))),
        }
    }

    /// Wakes the peer. It never blocks; where there is nobody, nobody is woken.
    #[inline]
    pub(crate) fn wake(&self) {
        let _ = shutdown(&self.0, Shutdown::Write);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::time::Duration;
    use rustix::event::{EventfdFlags, Timespec, epoll, eventfd};
    use rustix::net::{SendFlags, send};

    /// What an edge-triggered epoll tells of a socket now.
    struct Watch(OwnedFd);

    impl Watch {
        fn new(socket: &WakeSocket) -> Self {
            let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).expect("an epoll descriptor");
            let flags = epoll::EventFlags::RDHUP | epoll::EventFlags::ET;
            epoll::add(&epoll, socket, epoll::EventData::new_u64(0), flags).expect("watched");
            let watch = Watch(epoll);
            watch.tells();
            watch
        }

        fn tells(&self) -> Option<epoll::EventFlags> {
            let empty =
                epoll::Event { flags: epoll::EventFlags::empty(), data: epoll::EventData::new_u64(0) };
            let mut events = [empty; 1];
            let now = Timespec::try_from(Duration::ZERO).expect("short");
            let count = epoll::wait(&self.0, &mut events, Some(&now)).expect("waited");
            (count > 0).then_some(events[0].flags)
        }
    }

    #[test]
    fn every_wake_up_is_told_once_and_the_end_is_told_apart() {
        let (own, peers) = WakeSocket::pair().expect("two sockets");
        let watch = Watch::new(&own);
        let waker = PeerWaker::new(peers).expect("it is of that kind");
        for _ in 0..10_000 {
            assert_eq!(watch.tells(), None);
            waker.wake();
            let told = watch.tells().expect("a wake-up");
            assert!(!told.contains(epoll::EventFlags::HUP));
        }
        drop(waker);
        assert!(watch.tells().expect("the end").contains(epoll::EventFlags::HUP));
    }

    #[test]
    fn nothing_can_be_sent_to_a_sleeper() {
        let (_own, peers) = WakeSocket::pair().expect("two sockets");
        assert_eq!(send(&peers, b"x", SendFlags::NOSIGNAL), Err(Errno::PIPE));
    }

    #[test]
    fn other_descriptors_are_no_wakers() {
        let refused = |fd| PeerWaker::new(fd).expect_err("it is of another kind").1;
        let event = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).expect("an eventfd");
        assert!(refused(event).contains("no socket"));
        for kind in [SocketType::STREAM, SocketType::DGRAM] {
            let (one, _other) =
                socketpair(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None).expect("two sockets");
            assert!(refused(one).contains("is a socket of"));
        }
    }
}

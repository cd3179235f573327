//! What the two halves of one end share, and how an end sleeps.

use super::area::{OwnArea, PeerArea};
use super::bulk::{BulkReader, BulkWriter};
use super::closing::PeerSocket;
use super::layout::RING_LIMITS;
use super::lending::Borrower;
use super::memory::{OwnLines, OwnMemory, PeerLines, PeerMemory};
use super::receiver::SharedReceiver;
use super::ring::{RingReader, RingWriter};
use super::sender::SharedSender;
use super::wake_socket::{PeerWaker, WakeSocket};
use crate::doorbell::Doorbell;
use crate::moderation::Sent;
use crate::{End, LinkError, Maker};
use core::time::Duration;
use rustix::event::{PollFd, PollFlags, Timespec, epoll, poll};
use rustix::io::Errno;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

/// Event data of the own bell.
const BELL: u64 = 0;
/// Event data of the wake socket.
const WAKE: u64 = 1;

/// What both halves use.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) own: OwnLines,
    pub(crate) peer: PeerLines,
    /// A process forked from the maker shares the memory and the descriptors with it, and must touch neither.
    maker: Arc<Maker>,
    /// The descriptors of segments cross here (`lending.rs`).
    pub(crate) descriptors: PeerSocket,
    /// Wakes this end: this process's threads ring it.
    pub(crate) bell: Arc<Doorbell>,
    /// Wakes this end: its peer does. A hang-up tells that the peer's process ended.
    wake: WakeSocket,
    /// Wakes the peer's end.
    pub(crate) peer_waker: PeerWaker,
    epoll: OwnedFd,
    /// This end has flushed frames since its receiver looked.
    pub(crate) sent: Sent,
    /// The link failed; nothing can be sent.
    pub(crate) failed: AtomicBool,
    /// Why, where the sending half found it out: the receiving half tells it.
    pub(crate) failure: OnceLock<LinkError>,
}

/// What ended a sleep.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Woken {
    pub(crate) by_peer: bool,
    pub(crate) by_hang_up: bool,
}

/// What the two sides gave each other at the start.
pub(crate) struct Parts {
    pub(crate) own: OwnMemory,
    pub(crate) peer: PeerMemory,
    pub(crate) wake: WakeSocket,
    pub(crate) peer_waker: PeerWaker,
    /// The socket of the bootstrap.
    pub(crate) socket: PeerSocket,
    pub(crate) maker: Maker,
}

/// The end made of these parts.
///
/// # Errors
/// The system refused a descriptor.
pub(crate) fn end(parts: Parts) -> Result<End, Errno> {
    let Parts { own, peer, wake, peer_waker, socket, maker } = parts;
    let maker = Arc::new(maker);
    let borrower = Borrower::new(own.lines.clone(), Arc::clone(&maker));
    let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    let bell = Doorbell::new()?;
    // Edge-triggered: each strike is told once, and neither need ever be read.
    let strikes = epoll::EventFlags::IN | epoll::EventFlags::ET;
    epoll::add(&epoll, bell.fd(), epoll::EventData::new_u64(BELL), strikes)?;
    let wakes = epoll::EventFlags::RDHUP | epoll::EventFlags::ET;
    epoll::add(&epoll, &wake, epoll::EventData::new_u64(WAKE), wakes)?;
    let connection = Arc::new(Connection {
        own: own.lines,
        peer: peer.lines,
        maker,
        descriptors: socket,
        bell: Arc::new(bell),
        wake,
        peer_waker,
        epoll,
        sent: Sent::default(),
        failed: AtomicBool::new(false),
        failure: OnceLock::new(),
    });
    // That it was added is told as a wake-up, of which nobody is to wake. A hang-up is told again.
    connection.sleep(Some(Duration::ZERO));
    let ring: RingWriter<OwnArea> = RingWriter::new(own.ring);
    let inbound: RingReader<PeerArea> = RingReader::new(peer.ring, RING_LIMITS);
    Ok(End {
        sender: Box::new(SharedSender::new(
            Arc::clone(&connection),
            ring,
            BulkWriter::new(own.bulk),
            own.bulk_pages,
        )),
        receiver: Box::new(SharedReceiver::new(connection, inbound, BulkReader::new(peer.bulk), borrower)),
    })
}

impl Connection {
    /// Whether another process made it, from which this one was forked.
    #[inline]
    pub(crate) fn is_inherited(&self) -> bool {
        !self.maker.is_this_process()
    }

    /// Ends the link for a reason that the sending half found.
    pub(crate) fn fail(&self, error: LinkError) {
        // The first reason is the one that counts.
        let _ = self.failure.set(error);
        self.failed.store(true, Ordering::Relaxed);
        self.bell.ring();
    }

    /// Sleeps until the bell is struck, the peer wakes this end or hangs up, or `limit` has passed. A strike before the sleep ends it too, once.
    pub(crate) fn sleep(&self, limit: Option<Duration>) -> Woken {
        let limit = limit.and_then(|limit| Timespec::try_from(limit).ok());
        let empty = epoll::Event { flags: epoll::EventFlags::empty(), data: epoll::EventData::new_u64(BELL) };
        let mut events = [empty; 2];
        // An interruption ends the sleep early, which a sleep may do.
        let count = epoll::wait(&self.epoll, &mut events, limit.as_ref()).unwrap_or(0);
        let mut woken = Woken::default();
        for event in &events[..count] {
            woken.by_peer |= event.data.u64() == WAKE;
            let flags = event.flags;
            woken.by_hang_up |= flags.contains(epoll::EventFlags::HUP);
        }
        if woken.by_hang_up {
            self.keep_telling_of_the_end();
        }
        woken
    }

    /// From here on every sleep ends at once, and the descriptor stays readable.
    #[cold]
    fn keep_telling_of_the_end(&self) {
        // It fails only for want of memory; then the receiver remembers what it was told.
        let _ = epoll::modify(
            &self.epoll,
            &self.wake,
            epoll::EventData::new_u64(WAKE),
            epoll::EventFlags::empty(),
        );
    }

    /// Whether the peer's socket is closed, without waiting.
    pub(crate) fn has_hung_up(&self) -> bool {
        let mut fds = [PollFd::from_borrowed_fd(self.wake.as_fd(), PollFlags::empty())];
        poll(&mut fds, Some(&Timespec::default())) == Ok(1)
    }

    /// Readable when the bell was struck or the peer hung up.
    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }
}

//! What the two halves of one end share, and how an end sleeps.

use super::layout::SEND_BYTES;
use super::outgoing::Outgoing;
use super::reader::BUFFER_BYTES;
use super::receiver::StreamReceiver;
use super::sender::StreamSender;
use super::tls::greeting::Greeted;
use crate::doorbell::Doorbell;
use crate::moderation::Sent;
use crate::pages::Pages;
use crate::{End, LinkError, Maker};
use core::mem::MaybeUninit;
use core::time::Duration;
use quintet_contract::LinkClass;
use rustix::event::{PollFd, PollFlags, Timespec, epoll, poll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, TryLockError};
use std::time::Instant;

/// Bytes discarded by one read of what nobody will take.
const DISCARD_BYTES: usize = 16 * 1024;
/// Reads of them, at most.
const DISCARDS: usize = 64;

/// What both halves use.
#[derive(Debug)]
pub(super) struct Connection {
    socket: OwnedFd,
    /// A process forked from the maker shares the socket with it, and must leave it alone.
    maker: Maker,
    /// Rung by this process's threads.
    pub(super) bell: Arc<Doorbell>,
    /// Covers the bell and the socket.
    epoll: OwnedFd,
    outgoing: Mutex<Outgoing>,
    /// Something is outgoing; readable without the lock.
    unsent: AtomicBool,
    /// There is room for what was refused last, and the receiving half has not told yet.
    room_came: AtomicBool,
    /// This end has flushed frames since its receiver looked.
    pub(super) sent: Sent,
    /// Nothing can be sent any more.
    broken: AtomicBool,
    /// Why, where it is more than that the peer left: the receiving half tells it.
    failure: OnceLock<LinkError>,
}

/// What an end has beside its socket, and the system may refuse: had before the other side is told that it is taken.
#[derive(Debug)]
pub(super) struct Wiring {
    maker: Maker,
    bell: Doorbell,
    epoll: OwnedFd,
    to_send: Pages,
    received: Pages,
}

/// Whether frames carry a checksum.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Checksums {
    /// None: the bytes never leave the machine.
    Without,
    /// CRC-32C over every frame.
    Crc32c,
}

impl Checksums {
    /// As a preamble tells it.
    pub(super) fn from_byte(byte: u8) -> Option<Self> {
        [Checksums::Without, Checksums::Crc32c].into_iter().find(|checksums| *checksums as u8 == byte)
    }
}

/// An end over a connected stream socket, on which nothing was said yet or the last byte of a preamble. The other side must
/// use the same checksums.
///
/// # Errors
/// [`LinkError::System`]: the system refused a descriptor or memory.
pub fn over_stream(socket: OwnedFd, checksums: Checksums) -> Result<End, LinkError> {
    let wiring = Wiring::around(socket.as_fd())
        .map_err(|(doing, errno)| LinkError::System(format!("cannot {doing}: {errno}")))?;
    Ok(end(socket, wiring, checksums))
}

/// As [`over_stream`].
pub(super) fn end(socket: OwnedFd, wiring: Wiring, checksums: Checksums) -> End {
    let is_checked = checksums == Checksums::Crc32c;
    // What leaves the machine is checked.
    let class = if is_checked { LinkClass::Network } else { LinkClass::Machine };
    let (connection, to_send, received) = Connection::new(socket, wiring);
    let connection = Arc::new(connection);
    End {
        sender: Box::new(StreamSender::new(Arc::clone(&connection), to_send, checksums, class, None)),
        receiver: Box::new(StreamReceiver::new(connection, received, is_checked, None)),
    }
}

/// As [`over_stream`], over a connection on which both sides are known.
pub(super) fn end_over_tls(
    socket: OwnedFd,
    wiring: Wiring,
    checksums: Checksums,
    class: LinkClass,
    greeted: Greeted,
) -> End {
    let (connection, to_send, received) = Connection::new(socket, wiring);
    let connection = Arc::new(connection);
    connection.outgoing().sealer = Some(greeted.sealer);
    let sender = StreamSender::new(Arc::clone(&connection), to_send, checksums, class, Some(greeted.peer));
    let is_checked = checksums == Checksums::Crc32c;
    let receiver = StreamReceiver::new(connection, received, is_checked, Some(greeted.opener));
    End { sender: Box::new(sender), receiver: Box::new(receiver) }
}

impl Wiring {
    /// For an end over that socket.
    ///
    /// # Errors
    /// What was tried, and what the system said.
    pub(super) fn around(socket: BorrowedFd<'_>) -> Result<Self, (&'static str, Errno)> {
        let maker = Maker::this_process().map_err(|errno| ("map a page that a fork wipes", errno))?;
        let bell = Doorbell::new().map_err(|errno| ("create an eventfd", errno))?;
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)
            .map_err(|errno| ("create an epoll descriptor", errno))?;
        for fd in [bell.fd(), socket] {
            epoll::add(&epoll, fd, epoll::EventData::new_u64(0), epoll::EventFlags::IN)
                .map_err(|errno| ("watch a socket", errno))?;
        }
        let pages = |len| Pages::new(len).map_err(|errno| ("map a buffer", errno));
        Ok(Wiring { maker, bell, epoll, to_send: pages(SEND_BYTES)?, received: pages(BUFFER_BYTES)? })
    }
}

impl Connection {
    /// And the buffers of its two halves.
    fn new(socket: OwnedFd, wiring: Wiring) -> (Self, Pages, Pages) {
        let Wiring { maker, bell, epoll, to_send, received } = wiring;
        let connection = Connection {
            socket,
            maker,
            bell: Arc::new(bell),
            epoll,
            outgoing: Mutex::default(),
            unsent: AtomicBool::new(false),
            room_came: AtomicBool::new(false),
            sent: Sent::default(),
            broken: AtomicBool::new(false),
            failure: OnceLock::new(),
        };
        (connection, to_send, received)
    }

    /// Whether another process made it, from which this one was forked.
    #[inline]
    pub(super) fn is_inherited(&self) -> bool {
        !self.maker.is_this_process()
    }

    /// Whether nothing can be sent any more.
    #[inline]
    pub(super) fn is_broken(&self) -> bool {
        self.broken.load(Ordering::Relaxed)
    }

    pub(super) fn socket(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Nothing can be sent any more. Whoever waits for room learns that there will be none.
    pub(super) fn break_off(&self) {
        self.broken.store(true, Ordering::Relaxed);
        self.room_came.store(true, Ordering::Release);
    }

    /// Why sending failed, if it is more than that the peer left.
    pub(super) fn failure(&self) -> Option<&LinkError> {
        self.failure.get()
    }

    /// What is outgoing. A panic while the lock is held leaves it whole, so a poisoned lock is as good as any.
    pub(super) fn outgoing(&self) -> MutexGuard<'_, Outgoing> {
        self.outgoing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether something did not fit into the socket.
    #[inline]
    pub(super) fn has_unsent(&self) -> bool {
        self.unsent.load(Ordering::Relaxed)
    }

    /// Writes what did not fit, on the way of the receiving half.
    #[inline]
    pub(super) fn write_unsent(&self) {
        if self.has_unsent() {
            self.try_write_unsent();
        }
    }

    #[cold]
    fn try_write_unsent(&self) {
        // Whoever holds the lock writes by itself.
        let mut outgoing = match self.outgoing.try_lock() {
            Ok(outgoing) => outgoing,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return,
        };
        self.write_out(&mut outgoing);
        if outgoing.grants() {
            self.room_came.store(true, Ordering::Release);
        }
    }

    /// Writes what is outgoing, as much as the socket takes; the rest is written when it takes more.
    pub(super) fn write_out(&self, outgoing: &mut Outgoing) {
        let written = outgoing.write_out(self.socket());
        self.wrote(outgoing, written);
    }

    /// Writes everything that is outgoing, while the socket takes it within `limit`.
    pub(super) fn write_all(&self, limit: Duration) {
        let began = Instant::now();
        while self.has_unsent() && !self.is_inherited() && !self.is_broken() {
            let Some(left) = limit.checked_sub(began.elapsed()) else { return };
            let left = Timespec::try_from(left).ok();
            // An interruption ends the wait early; another round follows.
            let _ = poll(&mut [PollFd::new(&self.socket, PollFlags::OUT)], left.as_ref());
            self.write_out(&mut self.outgoing());
        }
    }

    /// What becomes of the rest after a write.
    pub(super) fn wrote(&self, outgoing: &mut Outgoing, written: Result<(), Errno>) {
        match written {
            Ok(()) | Err(Errno::AGAIN) => {}
            Err(errno) => {
                outgoing.discard();
                // What came before the peer left is still to be read, and then that it left.
                if !is_end(errno) {
                    let _ = self.failure.set(LinkError::System(format!("cannot send: {errno}")));
                    self.bell.ring();
                }
                self.break_off();
            }
        }
        self.watch_room(outgoing);
        self.unsent.store(!outgoing.is_empty(), Ordering::Relaxed);
    }

    /// Has the end woken when the socket takes more, as long as something is unsent.
    fn watch_room(&self, outgoing: &mut Outgoing) {
        let wanted = !outgoing.is_empty();
        if wanted == outgoing.is_watched {
            return;
        }
        let room = if wanted { epoll::EventFlags::OUT } else { epoll::EventFlags::empty() };
        let flags = epoll::EventFlags::IN | room;
        // It refuses only descriptors that it does not watch.
        if epoll::modify(&self.epoll, &self.socket, epoll::EventData::new_u64(0), flags).is_ok() {
            outgoing.is_watched = wanted;
        }
    }

    /// The stream has ended: has the end woken by these instead of the socket, which would call without end.
    ///
    /// # Errors
    /// The system refuses: what is known of the end is all that will be.
    pub(super) fn watch_instead(&self, fds: [BorrowedFd<'_>; 2]) -> Result<(), LinkError> {
        // It refuses only descriptors that it does not watch.
        let _ = epoll::delete(&self.epoll, &self.socket);
        fds.into_iter()
            .try_for_each(|fd| {
                epoll::add(&self.epoll, fd, epoll::EventData::new_u64(0), epoll::EventFlags::IN)
            })
            .map_err(|_| LinkError::PeerDied)
    }

    /// Whether something else than a frame ends a wait.
    #[inline]
    pub(super) fn was_called(&self) -> bool {
        self.bell.was_rung() || self.room_came.load(Ordering::Acquire) || self.failure.get().is_some()
    }

    /// Takes note of what ended a wait.
    #[inline]
    pub(super) fn answer(&self) {
        if self.room_came.load(Ordering::Relaxed) {
            self.room_came.store(false, Ordering::Relaxed);
        }
        self.bell.answer();
    }

    /// Sleeps until the bell is struck, the socket has something or takes more, or `limit` has passed.
    pub(super) fn sleep(&self, limit: Option<Duration>) {
        let limit = limit.and_then(|limit| Timespec::try_from(limit).ok());
        let empty = epoll::Event { flags: epoll::EventFlags::empty(), data: epoll::EventData::new_u64(0) };
        // An interruption ends the sleep early, which a sleep may do.
        let _ = epoll::wait(&self.epoll, &mut [empty; 2], limit.as_ref());
    }

    /// Readable when the bell was struck, the socket has something, or takes more of what is unsent.
    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }
}

/// Whether this is how the system tells that the other side is gone.
pub(super) fn is_end(errno: Errno) -> bool {
    let ends = [
        Errno::PIPE,
        Errno::CONNRESET,
        Errno::CONNABORTED,
        Errno::NOTCONN,
        Errno::TIMEDOUT,
        Errno::HOSTUNREACH,
        Errno::NETUNREACH,
        Errno::NETRESET,
        Errno::NETDOWN,
    ];
    ends.contains(&errno)
}

impl Drop for Connection {
    /// Closing a TCP socket that was not read empty throws away what was sent and is still on its way.
    fn drop(&mut self) {
        if self.is_inherited() {
            return;
        }
        let mut bytes = [MaybeUninit::<u8>::uninit(); DISCARD_BYTES];
        for _ in 0..DISCARDS {
            match recv(&self.socket, &mut bytes[..], RecvFlags::DONTWAIT) {
                Ok((_, count)) if count > 0 => {}
                _ => return,
            }
        }
    }
}

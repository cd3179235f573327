//! Connections that were accepted and have not spoken.
//!
//! An honest peer speaks as soon as it is connected. One that does not is dropped after a time; until then it keeps a
//! place, and when all places are taken, whoever connects waits in the kernel's queue.

use super::closing::PeerSocket;
use core::time::Duration;
use rustix::event::{Timespec, epoll};
use rustix::io::{Errno, read};
use rustix::process::{Resource, getrlimit};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime,
};
use std::collections::BTreeMap;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Instant;

/// The most places, whatever the system allows.
const MOST: usize = 1024;
/// The share of this process's descriptors that they may take: a link needs several of its own.
const DESCRIPTORS_SHARE: u64 = 4;

/// What [`Pending::next_ready`] says has something to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Ready {
    /// Somebody connects.
    Connection,
    /// Somebody was silent for too long.
    Silence,
    /// This one has spoken, or left.
    Spoken(u64),
}

const LISTENER: u64 = 0;
const SILENCE: u64 = 1;
const FIRST: u64 = 2;

/// The connections, and an epoll descriptor that watches them and the listener's socket.
#[derive(Debug)]
pub(super) struct Pending {
    epoll: OwnedFd,
    /// Rings when the oldest was silent for too long.
    timer: OwnedFd,
    /// In the order in which they came, each with the end of its time.
    sockets: BTreeMap<u64, (PeerSocket, Instant)>,
    next: u64,
    most: usize,
    limit: Duration,
    /// The listener's socket is left alone, for there is no place.
    is_full: bool,
}

impl Pending {
    /// No connections yet, each with so much time to speak.
    ///
    /// # Errors
    /// What was tried, and what the system said.
    pub(super) fn new(listener: BorrowedFd<'_>, limit: Duration) -> Result<Self, (&'static str, Errno)> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)
            .map_err(|errno| ("create an epoll descriptor", errno))?;
        let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK)
            .map_err(|errno| ("create a timer", errno))?;
        let descriptors = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        let most = usize::try_from(descriptors / DESCRIPTORS_SHARE).unwrap_or(MOST).clamp(1, MOST);
        let (sockets, next) = (BTreeMap::new(), FIRST);
        let pending = Pending { epoll, timer, sockets, next, most, limit, is_full: false };
        let watch = |fd, key| {
            epoll::add(&pending.epoll, fd, epoll::EventData::new_u64(key), epoll::EventFlags::IN)
                .map_err(|errno| ("watch a descriptor", errno))
        };
        watch(listener, LISTENER)?;
        watch(pending.timer.as_fd(), SILENCE)?;
        Ok(pending)
    }

    /// Gives connections so much time to speak from here on.
    pub(super) fn set_limit(&mut self, limit: Duration) {
        self.limit = limit;
    }

    /// Readable when [`Pending::next_ready`] has something.
    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }

    /// Something that has something to do; nobody is passed over for ever.
    pub(super) fn next_ready(&self) -> Option<Ready> {
        let empty =
            epoll::Event { flags: epoll::EventFlags::empty(), data: epoll::EventData::new_u64(LISTENER) };
        let mut events = [empty; 1];
        match epoll::wait(&self.epoll, &mut events, Some(&Timespec::default())) {
            Ok(1) => Some(match events[0].data.u64() {
                LISTENER => Ready::Connection,
                SILENCE => Ready::Silence,
                key => Ready::Spoken(key),
            }),
            _ => None,
        }
    }

    /// Whether there is no place. Then the listener's socket is left alone until there is one.
    ///
    /// # Errors
    /// What the system said.
    pub(super) fn is_full(&mut self, listener: BorrowedFd<'_>) -> Result<bool, Errno> {
        let is_full = self.sockets.len() >= self.most;
        if is_full != self.is_full {
            let flags = if is_full { epoll::EventFlags::empty() } else { epoll::EventFlags::IN };
            epoll::modify(&self.epoll, listener, epoll::EventData::new_u64(LISTENER), flags)?;
            self.is_full = is_full;
        }
        Ok(is_full)
    }

    /// Takes a connection that has not spoken.
    ///
    /// # Errors
    /// What the system said; the connection is closed.
    pub(super) fn add(&mut self, socket: PeerSocket) -> Result<(), Errno> {
        let key = self.next;
        epoll::add(&self.epoll, &socket, epoll::EventData::new_u64(key), epoll::EventFlags::IN)?;
        self.next += 1;
        let now = Instant::now();
        let until = now.checked_add(self.limit).unwrap_or(now);
        self.sockets.insert(key, (socket, until));
        if self.sockets.len() == 1 { self.set_timer() } else { Ok(()) }
    }

    /// The connection of this key.
    pub(super) fn get(&self, key: u64) -> Option<BorrowedFd<'_>> {
        self.sockets.get(&key).map(|(socket, _)| socket.as_fd())
    }

    /// Gives up the place of a connection, which is watched no longer.
    pub(super) fn take(&mut self, key: u64) -> Option<PeerSocket> {
        let (socket, _) = self.sockets.remove(&key)?;
        // It fails only for what is not watched. A child forked meanwhile has the socket too, so closing would not do it.
        let _ = epoll::delete(&self.epoll, &socket);
        Some(socket)
    }

    /// One that was silent for too long, if there is one. Otherwise the timer is set for the oldest.
    ///
    /// # Errors
    /// What the system said.
    pub(super) fn take_silent(&mut self) -> Result<Option<PeerSocket>, Errno> {
        let now = Instant::now();
        match self.sockets.first_key_value() {
            Some((&key, (_, until))) if *until <= now => Ok(self.take(key)),
            _ => self.set_timer().map(|()| None),
        }
    }

    /// Lets the timer ring when the oldest was silent for too long; not at all where there is none.
    fn set_timer(&self) -> Result<(), Errno> {
        // It fails if the timer did not ring.
        let _ = read(&self.timer, &mut [0; 8]);
        let left = self.sockets.first_key_value().map(|(_, (_, until))| {
            // Zero would mean never.
            until.saturating_duration_since(Instant::now()).max(Duration::from_nanos(1))
        });
        let it_value = Timespec::try_from(left.unwrap_or_default()).unwrap_or_default();
        let once = Itimerspec { it_interval: Timespec::default(), it_value };
        timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &once).map(|_| ())
    }
}

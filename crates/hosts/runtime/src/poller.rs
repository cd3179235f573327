//! One epoll set for all that may call a sleeping engine. It is kept, not made anew for each sleep.

use core::mem::MaybeUninit;
use quintet_link::Maker;
use rustix::event::{Timespec, epoll};
use rustix::io::Errno;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

/// Events taken at one look.
const EVENTS: usize = 64;

/// What called.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Source {
    /// The receiving half at this place.
    Link(u32),
    /// The listener at this place.
    Listener(u32),
    /// A link that is being made.
    Dialer,
    /// Another thread of this process.
    Mailbox,
}

/// Where descriptors are registered, each for as long as it is open.
pub(crate) struct Poller {
    /// Shared with an event loop that watches it.
    epoll: Arc<OwnedFd>,
    /// A process forked from the maker shares the set with it, and must leave it as it is.
    maker: Maker,
}

impl Source {
    const LISTENER: u64 = 1 << 32;
    const MAILBOX: u64 = 2 << 32;
    const DIALER: u64 = 4 << 32;

    fn to_data(self) -> epoll::EventData {
        epoll::EventData::new_u64(match self {
            Source::Link(place) => u64::from(place),
            Source::Listener(place) => Source::LISTENER | u64::from(place),
            Source::Dialer => Source::DIALER,
            Source::Mailbox => Source::MAILBOX,
        })
    }

    #[expect(clippy::cast_possible_truncation, reason = "takes the two halves apart")]
    fn from_data(data: epoll::EventData) -> Source {
        match data.u64() {
            Source::MAILBOX => Source::Mailbox,
            Source::DIALER => Source::Dialer,
            listener if listener & Source::LISTENER != 0 => Source::Listener(listener as u32),
            link => Source::Link(link as u32),
        }
    }
}

impl Poller {
    /// # Errors
    /// The system refuses an epoll descriptor.
    pub(crate) fn new() -> io::Result<Poller> {
        let epoll = Arc::new(epoll::create(epoll::CreateFlags::CLOEXEC)?);
        Ok(Poller { epoll, maker: Maker::this_process()? })
    }

    /// One that a forked process has from its parent.
    #[cfg(test)]
    pub(crate) fn inherited() -> Poller {
        let poller = Poller::new().expect("an epoll descriptor is there");
        Poller { maker: Maker::another_process().expect("memory"), ..poller }
    }

    /// Watches a descriptor until it is closed or forgotten.
    ///
    /// # Errors
    /// The system refuses, or this is a forked process: its parent would be called for what only the child has.
    pub(crate) fn add(&self, fd: BorrowedFd<'_>, source: Source) -> io::Result<()> {
        if self.is_inherited() {
            return Err(io::Error::other("this end belongs to the process that made it"));
        }
        Ok(epoll::add(&self.epoll, fd, source.to_data(), epoll::EventFlags::IN)?)
    }

    /// Watches a descriptor no more.
    pub(crate) fn forget(&self, fd: BorrowedFd<'_>) {
        if !self.is_inherited() {
            // It fails only if it was not watched.
            let _ = epoll::delete(&self.epoll, fd);
        }
    }

    /// Waits until something calls or `limit` has passed (`None`: no limit), and says what. A signal ends it early.
    ///
    /// # Errors
    /// The system refuses to wait.
    pub(crate) fn wait(&self, limit: Option<Duration>, mut called: impl FnMut(Source)) -> io::Result<()> {
        let limit = limit.and_then(|limit| Timespec::try_from(limit).ok());
        let mut events = [const { MaybeUninit::uninit() }; EVENTS];
        match epoll::wait(&self.epoll, &mut events, limit.as_ref()) {
            Ok((events, _)) => events.iter().for_each(|event| called(Source::from_data(event.data))),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    /// Whether this is a forked process, and its parent made it.
    pub(crate) fn is_inherited(&self) -> bool {
        !self.maker.is_this_process()
    }

    /// Whether something calls. It stays to be taken.
    pub(crate) fn is_called(&self) -> bool {
        let empty = epoll::Event { flags: epoll::EventFlags::empty(), data: epoll::EventData::new_u64(0) };
        epoll::wait(&self.epoll, &mut [empty], Some(&Timespec::default())).is_ok_and(|count| count > 0)
    }

    /// Readable while something calls.
    pub(crate) fn fd(&self) -> Arc<OwnedFd> {
        Arc::clone(&self.epoll)
    }
}

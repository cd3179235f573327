//! Connecting to a Unix socket without waiting.
//!
//! The kernel neither connects nor says when it could while the listener's queue is full, so a timer tells when to try again.

use crate::BootstrapError;
use crate::socket_file::{SocketAt, UnixPlace, check_user};
use core::time::Duration;
use rustix::event::{Timespec, epoll};
use rustix::io::Errno;
use rustix::net::connect;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime,
};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// The pause before the first new try; each pause is twice as long as the one before.
const FIRST_PAUSE: Duration = Duration::from_micros(500);
/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_millis(50);

/// A socket that is being connected.
#[derive(Debug)]
pub(crate) struct Connecting {
    place: UnixPlace,
    at: SocketAt,
    /// Until it is taken.
    socket: Option<OwnedFd>,
    connected: bool,
    /// Where the queue was full: rings when it is time to try again.
    timer: Option<OwnedFd>,
    pause: Duration,
    /// Readable when the timer rang, or the socket has something.
    epoll: OwnedFd,
}

impl Connecting {
    /// Tries for the first time.
    ///
    /// # Errors
    /// [`BootstrapError`].
    pub(crate) fn begin(place: UnixPlace) -> Result<Connecting, BootstrapError> {
        let (socket, at) = place.new_socket()?;
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)
            .map_err(|errno| BootstrapError::system(&place.address, "create an epoll descriptor", errno))?;
        let mut connecting = Connecting {
            place,
            at,
            socket: Some(socket),
            connected: false,
            timer: None,
            pause: FIRST_PAUSE,
            epoll,
        };
        connecting.connected()?;
        Ok(connecting)
    }

    /// The socket, if it is connected, or can be now.
    ///
    /// # Errors
    /// [`BootstrapError`].
    pub(crate) fn connected(&mut self) -> Result<Option<BorrowedFd<'_>>, BootstrapError> {
        if !self.connected {
            self.connected = self.try_now()?;
        }
        Ok(if self.connected { self.socket.as_ref().map(AsFd::as_fd) } else { None })
    }

    fn try_now(&mut self) -> Result<bool, BootstrapError> {
        let Some(socket) = &self.socket else { return Ok(false) };
        match connect(socket, &self.at.address) {
            Ok(()) => {
                check_user(socket.as_fd(), &self.place.address)?;
                self.watch(socket.as_fd())?;
                // A timer that rang would keep the descriptor readable.
                self.timer = None;
                Ok(true)
            }
            Err(Errno::AGAIN | Errno::INTR) => self.try_later().map(|()| false),
            Err(Errno::NOENT | Errno::CONNREFUSED) => {
                Err(BootstrapError::NobodyListens { address: self.place.address.clone() })
            }
            Err(Errno::PROTOTYPE) => Err(BootstrapError::OtherKind { address: self.place.address.clone() }),
            Err(errno) => Err(self.refused("connect", errno)),
        }
    }

    fn try_later(&mut self) -> Result<(), BootstrapError> {
        if self.timer.is_none() {
            let timer =
                timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK)
                    .map_err(|errno| self.refused("create a timer", errno))?;
            self.watch(timer.as_fd())?;
            self.timer = Some(timer);
        }
        let Some(timer) = &self.timer else { return Ok(()) };
        let pause = Timespec::try_from(self.pause).unwrap_or_default();
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
        // To set it makes it unreadable as well.
        let once = Itimerspec { it_interval: Timespec::default(), it_value: pause };
        timerfd_settime(timer, TimerfdTimerFlags::empty(), &once)
            .map(|_| ())
            .map_err(|errno| self.refused("set a timer", errno))
    }

    fn watch(&self, fd: BorrowedFd<'_>) -> Result<(), BootstrapError> {
        epoll::add(&self.epoll, fd, epoll::EventData::new_u64(0), epoll::EventFlags::IN)
            .map_err(|errno| self.refused("watch a descriptor", errno))
    }

    fn refused(&self, doing: &'static str, errno: Errno) -> BootstrapError {
        BootstrapError::system(&self.place.address, doing, errno)
    }

    /// Takes the connected socket.
    pub(crate) fn take_socket(&mut self) -> Option<OwnedFd> {
        self.socket.take()
    }

    /// Readable when [`Connecting::connected`] should try again, and when the connected socket has something.
    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }
}

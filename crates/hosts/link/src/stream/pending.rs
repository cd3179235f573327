//! Connections that have not made themselves known: how many, and for how long.

use super::listener::ListenLimits;
use super::preamble::{Heard, Preamble};
use super::tls::greeting::Greeting;
use core::net::SocketAddr;
use core::time::Duration;
use quintet_errors::Code;
use rustix::event::{Timespec, epoll};
use rustix::io::Errno;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime,
};
use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Instant;

/// Event data of the timer.
pub(super) const TIMER: u64 = 0;
/// Event data of the first pending connection; each later one has a larger number.
const FIRST: u64 = 2;

/// A connection that has not made itself known.
#[derive(Debug)]
pub(super) struct Arrival {
    pub(super) socket: OwnedFd,
    /// From where, if that has an address.
    pub(super) from: Option<SocketAddr>,
    /// What it said of its preamble.
    pub(super) heard: Heard,
    /// Over TLS: the conversation in which it says it.
    pub(super) greeting: Option<Box<Greeting>>,
    pub(super) until: Instant,
}

impl Arrival {
    /// Whether it said nothing.
    fn is_silent(&self) -> bool {
        self.greeting.as_ref().map_or(self.heard.is_empty(), |greeting| greeting.is_empty())
    }

    /// Tells it that it is not taken.
    pub(super) fn refuse(&mut self, ours: Preamble, code: Code) {
        match &mut self.greeting {
            Some(greeting) => greeting.refuse(self.socket.as_fd(), ours, code),
            None => ours.refuse(self.socket.as_fd(), code),
        }
    }
}

/// All of them.
#[derive(Debug)]
pub(super) struct Pending {
    limits: ListenLimits,
    /// In the order of their arrival, which is that of their limits unless one spoke again.
    arrivals: VecDeque<(u64, Arrival)>,
    next: u64,
    /// Rings when the first of them has taken too long.
    timer: OwnedFd,
    /// What it is set to.
    rings_at: Option<Instant>,
}

impl Pending {
    pub(super) fn new(limits: ListenLimits, epoll: BorrowedFd<'_>) -> Result<Self, Errno> {
        let timer =
            timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK)?;
        epoll::add(epoll, &timer, epoll::EventData::new_u64(TIMER), epoll::EventFlags::IN)?;
        Ok(Pending { limits, arrivals: VecDeque::new(), next: FIRST, timer, rings_at: None })
    }

    pub(super) fn limits(&self) -> ListenLimits {
        self.limits
    }

    /// Keeps a connection until it has made itself known. Where there are too many, the oldest goes that said nothing, or else
    /// the oldest.
    pub(super) fn add(
        &mut self,
        arrival: Arrival,
        epoll: BorrowedFd<'_>,
        ours: Preamble,
    ) -> Result<(), Errno> {
        if self.arrivals.len() >= self.limits.pending.max(1) {
            let silent = self.arrivals.iter().position(|(_, arrival)| arrival.is_silent());
            if let Some((_, mut dropped)) = self.arrivals.remove(silent.unwrap_or(0)) {
                dropped.refuse(ours, Code::Resource);
            }
        }
        let token = self.next;
        self.next += 1;
        epoll::add(epoll, &arrival.socket, epoll::EventData::new_u64(token), epoll::EventFlags::IN)?;
        self.arrivals.push_back((token, arrival));
        self.set_timer();
        Ok(())
    }

    /// Takes out the connection of an event.
    pub(super) fn take(&mut self, token: u64, epoll: BorrowedFd<'_>) -> Option<Arrival> {
        let at = self.arrivals.iter().position(|(own, _)| *own == token)?;
        let (_, arrival) = self.arrivals.remove(at)?;
        // It refuses only descriptors that it does not watch.
        let _ = epoll::delete(epoll, &arrival.socket);
        Some(arrival)
    }

    /// Turns one away that has taken too long, if there is one.
    pub(super) fn drop_expired(&mut self, now: Instant, ours: Preamble) -> Option<Arrival> {
        let late = self.arrivals.iter().position(|(_, arrival)| arrival.until <= now);
        let (_, mut dropped) = late.and_then(|at| self.arrivals.remove(at))?;
        dropped.refuse(ours, Code::PeerSilent);
        self.set_timer();
        Some(dropped)
    }

    /// The timer's descriptor becomes unreadable, and rings for who is next.
    pub(super) fn timer_rang(&mut self) {
        self.rings_at = self.first();
        self.wind();
    }

    /// When the first of them has taken too long.
    fn first(&self) -> Option<Instant> {
        self.arrivals.iter().map(|(_, arrival)| arrival.until).min()
    }

    fn set_timer(&mut self) {
        let first = self.first();
        if first != self.rings_at {
            self.rings_at = first;
            self.wind();
        }
    }

    fn wind(&self) {
        let left = self.rings_at.map_or(Duration::ZERO, |first| {
            // Zero would turn it off.
            first.saturating_duration_since(Instant::now()).max(Duration::from_nanos(1))
        });
        let value = Timespec::try_from(left).unwrap_or_default();
        let once = Itimerspec { it_interval: Timespec::default(), it_value: value };
        // It refuses only values that are no times.
        let _ = timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &once);
    }
}

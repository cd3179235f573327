//! A link made worse, for tests and demos: it delays, drops, duplicates and reorders frames, and limits their rate.
//!
//! What becomes of the `n`th frame follows from the seed and `n` alone; when it is delivered follows from the clock as
//! well. A link impaired by nothing behaves as the link below it. Where frames are dropped, duplicated or reordered, the
//! promise of every other link, once and in order, no longer holds: that is what it is for.

use crate::{End, LinkError, Packets, Receiver, Route, Sender};
use bytes::Bytes;
use core::time::Duration;
use quintet_clock::LiveClock;
use quintet_contract::{Frame, LinkInfo, OwnedFrame, Random, SendError, Stamps, Time};
use quintet_line::{Impairment, Line};
use rustix::event::{Timespec, epoll};
use rustix::io::Errno;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime,
};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::Instant;

/// Frames held back at one time. Beyond it the link below fills up, and refuses.
const MAX_HELD: usize = 65_536;

/// The same end, with everything that arrives at it impaired. What it sends is not: impair the other end for that.
///
/// # Errors
/// [`LinkError::System`]: the system refused a timer or an epoll descriptor.
pub fn impaired(end: End, impairment: Impairment, seed: u64) -> Result<End, LinkError> {
    let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK)
        .map_err(|errno| refused("create a timer", errno))?;
    let watch = || -> Result<OwnedFd, Errno> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, end.receiver.fd(), epoll::EventData::new_u64(0), epoll::EventFlags::IN)?;
        epoll::add(&epoll, &timer, epoll::EventData::new_u64(1), epoll::EventFlags::IN)?;
        Ok(epoll)
    };
    let epoll = watch().map_err(|errno| refused("watch a link and a timer", errno))?;
    let line = Line::new(impairment, Random::new(seed, 0));
    let clock = LiveClock::start();
    let receiver = ImpairedReceiver { below: end.receiver, clock, line, timer, epoll, failed: None };
    let loses_frames = impairment.loses();
    let sender = ImpairedSender { below: end.sender, loses_frames };
    Ok(End { sender: Box::new(sender), receiver: Box::new(receiver) })
}

fn refused(doing: &str, errno: Errno) -> LinkError {
    LinkError::System(format!("cannot {doing}: {errno}"))
}

/// Sends as the link below does, and says what the link has become.
struct ImpairedSender {
    below: Box<dyn Sender>,
    loses_frames: bool,
}

impl Sender for ImpairedSender {
    fn begin(&mut self, route: Route, at_most: usize) -> Result<&mut [u8], SendError> {
        self.below.begin(route, at_most)
    }

    fn commit(&mut self, len: usize) {
        self.below.commit(len);
    }

    fn stamp(&mut self) {
        self.below.stamp();
    }

    fn set_clock(&mut self, clock: LiveClock) {
        self.below.set_clock(clock);
    }

    fn set_packets(&mut self, packets: Packets) {
        self.below.set_packets(packets);
    }

    fn send_bulk(&mut self, route: Route, body: &[u8], bulk: Bytes) -> Result<(), SendError> {
        self.below.send_bulk(route, body, bulk)
    }

    fn flush(&mut self) -> Result<(), LinkError> {
        self.below.flush()
    }

    fn is_free_to_flush(&self) -> bool {
        self.below.is_free_to_flush()
    }

    fn has_room(&self) -> bool {
        self.below.has_room()
    }

    fn abandon(&mut self) {
        self.below.abandon();
    }

    fn refuse(&mut self) {
        self.below.refuse();
    }

    fn delivery_rate(&mut self) -> Option<u64> {
        self.below.delivery_rate()
    }

    /// Of this direction nothing is known here, of the other everything: a protocol that repeats what is lost has to do so at both ends.
    fn info(&self) -> LinkInfo {
        let below = self.below.info();
        LinkInfo { loses_frames: below.loses_frames || self.loses_frames, ..below }
    }
}

/// A frame on its way.
struct Held {
    route: Route,
    frame: OwnedFrame,
    /// When it departed, if that was asked for.
    departed: Option<Time>,
}

/// Puts a frame on the line. What becomes of it nobody is told: it is a loss like any other.
fn take(line: &mut Line<Held>, now: Instant, route: Route, frame: &Frame<'_>) {
    let departed = frame.stamps.map(|stamps| stamps.departed);
    let _ = line.arrive(now, frame.body.len() + frame.bulk.len(), || Held {
        route,
        frame: frame.to_owned(),
        departed,
    });
}

struct ImpairedReceiver {
    below: Box<dyn Receiver>,
    clock: LiveClock,
    line: Line<Held>,
    timer: OwnedFd,
    /// Covers the link below and the timer.
    epoll: OwnedFd,
    /// Told after the last frame.
    failed: Option<LinkError>,
}

impl ImpairedReceiver {
    /// Takes over what came below. How many frames.
    fn take_over(&mut self, now: Instant) -> usize {
        let room = MAX_HELD.saturating_sub(self.line.held());
        if room == 0 || self.failed.is_some() {
            return 0;
        }
        let line = &mut self.line;
        match self.below.poll(room, &mut |route, frame| take(line, now, route, &frame)) {
            Ok(count) => count,
            Err(error) => {
                self.failed = Some(error);
                self.line.release_all(now);
                0
            }
        }
    }

    /// The timer rings when the next frame is due.
    fn set_timer(&self, now: Instant) {
        let left = self.line.next_due().map_or(Duration::ZERO, |due| {
            // Zero would turn it off.
            due.saturating_duration_since(now).max(Duration::from_nanos(1))
        });
        let value = Timespec::try_from(left).unwrap_or_default();
        let once = Itimerspec { it_interval: Timespec::default(), it_value: value };
        // It refuses only values that are no times.
        let _ = timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &once);
    }
}

impl Receiver for ImpairedReceiver {
    fn set_spin(&mut self, spin: Duration) {
        self.below.set_spin(spin);
    }

    fn set_clock(&mut self, clock: LiveClock) {
        self.clock = clock;
        self.below.set_clock(clock);
    }

    fn poll(&mut self, limit: usize, deliver: &mut dyn FnMut(Route, Frame<'_>)) -> Result<usize, LinkError> {
        let now = Instant::now();
        self.take_over(now);
        let mut count = 0;
        while count < limit
            && let Some(Held { route, frame, departed }) = self.line.take_due(now)
        {
            let stamps = departed.map(|departed| Stamps { departed, arrived: self.clock.now() });
            deliver(route, Frame { stamps: stamps.as_ref(), ..frame.borrow() });
            count += 1;
        }
        match &self.failed {
            Some(error) if count == 0 && limit > 0 => Err(error.clone()),
            _ => Ok(count),
        }
    }

    /// A frame that has come below counts, though it may be dropped or not be due yet.
    fn has_frames(&self) -> bool {
        self.line.is_due(Instant::now()) || self.below.has_frames()
    }

    fn wait(&mut self, limit: Option<Duration>) {
        let started = Instant::now();
        let deadline = limit.and_then(|limit| started.checked_add(limit));
        let mut now = started;
        loop {
            self.take_over(now);
            if self.failed.is_some()
                || self.line.is_due(now)
                || deadline.is_some_and(|deadline| now >= deadline)
            {
                return;
            }
            let next = self.line.next_due().into_iter().chain(deadline).min();
            self.below.wait(next.map(|next| next.saturating_duration_since(now)));
            now = Instant::now();
            if !self.below.has_frames() && next.is_none_or(|next| now < next) {
                // The waker rang, or the link failed.
                return;
            }
        }
    }

    fn waker(&self) -> Arc<dyn Fn() + Send + Sync> {
        self.below.waker()
    }

    fn arm(&mut self) -> bool {
        let now = Instant::now();
        self.take_over(now);
        self.set_timer(now);
        self.below.arm() && self.failed.is_none() && !self.line.is_due(now)
    }

    fn disarm(&mut self) {
        self.below.disarm();
        let mut expirations = [0; 8];
        // It fails only if the timer has not rung.
        let _ = rustix::io::read(&self.timer, &mut expirations);
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }
}

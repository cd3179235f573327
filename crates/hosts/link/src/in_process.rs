//! Both ends in one process: a bounded queue each way. Bodies are copied once, bulk is shared.
//!
//! It behaves as a link between processes does, limits of bodies included, so that what works here works there.

use crate::doorbell::Doorbell;
use crate::wait::{Patience, Waiting};
use crate::{End, LinkError, Receiver, Route, Sender};
use bytes::Bytes;
use core::time::Duration;
use quintet_clock::LiveClock;
use quintet_contract::limits::{CONTROL_RING_BYTES, HEADER_BYTES, MAX_BODY_BYTES};
use quintet_contract::{Frame, LinkClass, LinkInfo, OwnedFrame, SendError, Stamps, Time};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::collections::VecDeque;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A link whose ends live in this process.
///
/// # Errors
/// [`LinkError::System`]: the system refused one of two event descriptors.
pub fn in_process_pair() -> Result<(End, End), LinkError> {
    let bell = || match Doorbell::new() {
        Ok(bell) => Ok(Arc::new(bell)),
        Err(errno) => Err(LinkError::System(format!("cannot create an eventfd: {errno}"))),
    };
    let (left, right, clock) = (bell()?, bell()?, LiveClock::start());
    let (rightwards, leftwards) = (Arc::new(Lane::default()), Arc::new(Lane::default()));
    let end = |out: &Arc<Lane>, inwards: &Arc<Lane>, own: &Arc<Doorbell>, peer: &Arc<Doorbell>| End {
        sender: Box::new(QueueSender {
            lane: Arc::clone(out),
            peer: Arc::clone(peer),
            begun: None,
            stamped: false,
            clock,
            unannounced: false,
        }),
        receiver: Box::new(QueueReceiver {
            inbound: Inbound { lane: Arc::clone(inwards), own: Arc::clone(own) },
            peer: Arc::clone(peer),
            batch: VecDeque::new(),
            clock,
            patience: Patience::default(),
        }),
    };
    Ok((end(&rightwards, &leftwards, &left, &right), end(&leftwards, &rightwards, &right, &left)))
}

/// One direction.
#[derive(Default)]
struct Lane {
    queue: Mutex<Queue>,
    /// Frames in the queue, readable without the lock.
    frames: AtomicUsize,
    sender_left: AtomicBool,
    receiver_left: AtomicBool,
}

/// A frame under way.
struct Queued {
    route: Route,
    frame: OwnedFrame,
    /// When, if that was asked for.
    departed: Option<Time>,
}

#[derive(Default)]
struct Queue {
    frames: VecDeque<Queued>,
    /// What the frames would take in a ring.
    bytes: usize,
    /// What the sender was refused last and waits for; 0 if it does not wait.
    wanted: usize,
}

/// What a frame counts against the bound.
fn cost(body_len: usize) -> usize {
    HEADER_BYTES + body_len
}

impl Queue {
    fn fits(&self, cost: usize) -> bool {
        self.bytes + cost <= CONTROL_RING_BYTES
    }
}

impl Lane {
    /// A panic while the lock is held leaves the queue whole, so a poisoned lock is as good as any.
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, route: Route, body: Bytes, bulk: Bytes, departed: Option<Time>) {
        let mut queue = self.lock();
        queue.bytes += cost(body.len());
        let frame = OwnedFrame { kind: route.kind, token: route.token, body, bulk };
        queue.frames.push_back(Queued { route, frame, departed });
        self.frames.store(queue.frames.len(), Ordering::Release);
    }

    /// Moves at most `limit` frames into `batch`. True if a waiting sender has room now.
    fn take(&self, limit: usize, batch: &mut VecDeque<Queued>) -> bool {
        let mut queue = self.lock();
        let count = limit.min(queue.frames.len());
        batch.extend(queue.frames.drain(..count));
        queue.bytes -= batch.iter().map(|queued| cost(queued.frame.body.len())).sum::<usize>();
        self.frames.store(queue.frames.len(), Ordering::Release);
        let room_came = queue.wanted > 0 && queue.fits(queue.wanted);
        if room_came {
            queue.wanted = 0;
        }
        room_came
    }
}

struct QueueSender {
    lane: Arc<Lane>,
    peer: Arc<Doorbell>,
    begun: Option<(Route, Vec<u8>)>,
    /// Whether the frame begun is to be stamped.
    stamped: bool,
    clock: LiveClock,
    /// Frames were committed since the last flush.
    unannounced: bool,
}

impl QueueSender {
    fn admit(&self, len: usize) -> Result<(), SendError> {
        if len > MAX_BODY_BYTES {
            return Err(SendError::TooLong { len, limit: MAX_BODY_BYTES });
        }
        if self.lane.receiver_left.load(Ordering::Acquire) {
            return Err(SendError::Unreachable);
        }
        let mut queue = self.lane.lock();
        if queue.fits(cost(len)) {
            return Ok(());
        }
        queue.wanted = cost(len);
        Err(SendError::Full)
    }
}

impl Sender for QueueSender {
    fn begin(&mut self, route: Route, at_most: usize) -> Result<&mut [u8], SendError> {
        (self.begun, self.stamped) = (None, false);
        self.admit(at_most)?;
        Ok(&mut self.begun.insert((route, vec![0; at_most])).1)
    }

    fn commit(&mut self, len: usize) {
        let (route, mut body) = self.begun.take().expect("commit follows begin");
        assert!(len <= body.len(), "{len} bytes were written into room for {}", body.len());
        body.truncate(len);
        let departed = self.stamped.then(|| self.clock.now());
        self.lane.push(route, body.into(), Bytes::new(), departed);
        self.unannounced = true;
    }

    fn stamp(&mut self) {
        self.stamped = true;
    }

    fn set_clock(&mut self, clock: LiveClock) {
        self.clock = clock;
    }

    fn send_bulk(&mut self, route: Route, body: &[u8], bulk: Bytes) -> Result<(), SendError> {
        self.begun = None;
        self.admit(body.len())?;
        self.lane.push(route, Bytes::copy_from_slice(body), bulk, None);
        self.unannounced = true;
        Ok(())
    }

    fn flush(&mut self) -> Result<(), LinkError> {
        if core::mem::take(&mut self.unannounced) {
            self.peer.wake();
        }
        Ok(())
    }

    fn has_room(&self) -> bool {
        let queue = self.lane.lock();
        queue.wanted == 0 || queue.fits(queue.wanted)
    }

    fn info(&self) -> LinkInfo {
        LinkInfo::new(LinkClass::Process, usize::MAX)
    }
}

impl Drop for QueueSender {
    fn drop(&mut self) {
        self.lane.sender_left.store(true, Ordering::Release);
        self.peer.ring();
    }
}

struct QueueReceiver {
    inbound: Inbound,
    peer: Arc<Doorbell>,
    /// Frames taken out of the queue and not delivered yet; empty between polls.
    batch: VecDeque<Queued>,
    clock: LiveClock,
    patience: Patience,
}

/// What a wait looks at.
struct Inbound {
    lane: Arc<Lane>,
    own: Arc<Doorbell>,
}

impl Inbound {
    fn has_frames(&self) -> bool {
        self.lane.frames.load(Ordering::Acquire) > 0
    }

    fn arm(&self) -> bool {
        self.own.arm();
        !self.ready()
    }

    fn disarm(&self) {
        self.own.disarm();
        self.own.drain();
        self.own.answer();
    }
}

impl Waiting for Inbound {
    fn ready(&self) -> bool {
        self.has_frames() || self.own.was_rung() || self.lane.sender_left.load(Ordering::Acquire)
    }

    fn sleep(&mut self, limit: Option<Duration>) {
        if self.arm() {
            let timeout = limit.and_then(|limit| Timespec::try_from(limit).ok());
            // An interruption ends the sleep early, which a sleep may do.
            if poll(&mut [PollFd::from_borrowed_fd(self.own.fd(), PollFlags::IN)], timeout.as_ref()) == Ok(1)
            {
                self.own.drain();
            }
        }
        self.own.disarm();
    }
}

impl Receiver for QueueReceiver {
    fn set_spin(&mut self, spin: Duration) {
        self.patience = Patience::new(spin);
    }

    fn poll(&mut self, limit: usize, deliver: &mut dyn FnMut(Route, Frame<'_>)) -> Result<usize, LinkError> {
        // Looked at before the queue: what the sender left behind is delivered before its leaving is told.
        let closed = self.inbound.lane.sender_left.load(Ordering::Acquire);
        if !self.inbound.has_frames() {
            return if closed { Err(LinkError::Closed) } else { Ok(0) };
        }
        if self.inbound.lane.take(limit, &mut self.batch) {
            self.peer.ring();
        }
        let count = self.batch.len();
        while let Some(Queued { route, frame, departed }) = self.batch.pop_front() {
            let stamps = departed.map(|departed| Stamps { departed, arrived: self.clock.now() });
            deliver(route, Frame { stamps: stamps.as_ref(), ..frame.borrow() });
        }
        Ok(count)
    }

    fn set_clock(&mut self, clock: LiveClock) {
        self.clock = clock;
    }

    fn has_frames(&self) -> bool {
        self.inbound.has_frames()
    }

    fn wait(&mut self, limit: Option<Duration>) {
        self.patience.wait(&mut self.inbound, limit);
        self.inbound.own.answer();
    }

    fn waker(&self) -> Arc<dyn Fn() + Send + Sync> {
        let own = Arc::clone(&self.inbound.own);
        Arc::new(move || own.ring())
    }

    fn arm(&mut self) -> bool {
        self.inbound.arm()
    }

    fn disarm(&mut self) {
        self.inbound.disarm();
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.inbound.own.fd()
    }
}

impl Drop for QueueReceiver {
    fn drop(&mut self) {
        self.inbound.lane.receiver_left.store(true, Ordering::Release);
        // A sender that waits for room learns that there will be none.
        self.peer.ring();
    }
}

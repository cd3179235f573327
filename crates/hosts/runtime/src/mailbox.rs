//! What other threads of its process leave for a node: frames for its protocols, and orders for the host.

use crate::dialling::Redial;
use crate::measuring::Measurement;
use quintet_contract::{Address, Identity, NodeId, OwnedFrame, Port};
use quintet_link::Doorbell;
use std::collections::VecDeque;
use std::io;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};

/// A frame from one address of a node to another.
pub(crate) struct LocalFrame {
    pub(crate) from: Address,
    pub(crate) to: Address,
    pub(crate) frame: OwnedFrame,
}

/// What another thread has the host do.
pub(crate) enum Order {
    /// Dial a peer, now and whenever its link was cut; the link joins pairs of ports.
    Dial(NodeId, Vec<(Port, Port)>, Redial),
    /// The same, where the first link is the peer's to make.
    Redial(NodeId, Vec<(Port, Port)>, Redial),
    /// Dial it no more.
    LeaveAlone(NodeId),
    /// End the links to those who have proved to be somebody of whom this is not true.
    KeepLinksOf(Rule),
    /// Tell what the node tells of itself in numbers.
    Measure(Sender<Vec<Measurement>>),
}

/// Whether somebody still is one to have a link with.
pub(crate) type Rule = Box<dyn Fn(&Identity) -> bool + Send>;

/// Shared by a node's loop and those who write to it. Its descriptor is readable when the loop should look, and sleeps: what is left for one that is awake, by itself
/// say, costs no system call.
#[derive(Clone)]
pub(crate) struct Mailbox(Arc<Shared>);

struct Shared {
    frames: Mutex<VecDeque<LocalFrame>>,
    orders: Mutex<Vec<Order>>,
    /// Whether there are orders. Read in its every turn, too.
    has_orders: AtomicBool,
    stop: AtomicBool,
    /// Rung when the loop should look. That is read in its every turn, so that an empty mailbox costs one load.
    bell: Doorbell,
}

impl Mailbox {
    pub(crate) fn new() -> io::Result<Self> {
        let bell = Doorbell::new()?;
        Ok(Mailbox(Arc::new(Shared {
            frames: Mutex::default(),
            orders: Mutex::default(),
            has_orders: AtomicBool::new(false),
            stop: AtomicBool::new(false),
            bell,
        })))
    }

    /// Leaves a frame and rings.
    pub(crate) fn post(&self, from: Address, to: Address, frame: OwnedFrame) {
        let mut frames = self.0.frames.lock().unwrap_or_else(PoisonError::into_inner);
        frames.push_back(LocalFrame { from, to, frame });
        drop(frames);
        self.0.bell.ring();
    }

    /// Leaves an order and rings.
    pub(crate) fn order(&self, order: Order) {
        self.0.orders.lock().unwrap_or_else(PoisonError::into_inner).push(order);
        self.0.has_orders.store(true, Ordering::Release);
        self.0.bell.ring();
    }

    /// Takes all orders left so far.
    pub(crate) fn orders(&self) -> Vec<Order> {
        if !self.0.has_orders.load(Ordering::Acquire) {
            return Vec::new();
        }
        // An order left after that is seen in the next turn.
        self.0.has_orders.store(false, Ordering::Release);
        std::mem::take(&mut *self.0.orders.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Asks the loop to end.
    pub(crate) fn stop(&self) {
        self.0.stop.store(true, Ordering::Release);
        self.0.bell.ring();
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.0.stop.load(Ordering::Acquire)
    }

    /// Whether the loop has something to do before it sleeps. To be asked after [`Mailbox::take`], which has silenced the bell for an
    /// order as well as for a frame.
    pub(crate) fn is_called(&self) -> bool {
        self.is_stopped() || self.0.has_orders.load(Ordering::Acquire)
    }

    /// Whether there may be something to take.
    #[inline]
    pub(crate) fn has_frames(&self) -> bool {
        self.0.bell.was_rung()
    }

    /// Takes everything left so far.
    pub(crate) fn take(&self) -> VecDeque<LocalFrame> {
        // The bell is silenced first: a frame left after that rings again.
        self.0.bell.answer();
        std::mem::take(&mut *self.0.frames.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The loop is about to sleep. False if it was called.
    pub(crate) fn rest(&self) -> bool {
        self.0.bell.arm();
        let rests = !self.has_frames();
        if !rests {
            self.0.bell.disarm();
        }
        rests
    }

    /// The loop is awake.
    pub(crate) fn wake(&self) {
        self.0.bell.disarm();
    }

    /// The descriptor has called: it is not readable any more.
    pub(crate) fn quieten(&self) {
        self.0.bell.drain();
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.0.bell.fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quintet_contract::{Bytes, Kind, Token};
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use std::sync::mpsc::channel;
    use std::thread;
    use std::time::Duration;

    const AT: Address = Address::new(0, 1);
    const LIMIT: Duration = Duration::from_secs(20);

    fn post(mailbox: &Mailbox) {
        let frame = OwnedFrame { kind: Kind(1), token: Token(0), body: Bytes::new(), bulk: Bytes::new() };
        mailbox.post(AT, AT, frame);
    }

    /// Whether the descriptor calls within that time.
    fn calls(mailbox: &Mailbox, limit: Duration) -> bool {
        let mut fds = [PollFd::from_borrowed_fd(mailbox.fd(), PollFlags::IN)];
        let limit = Timespec::try_from(limit).expect("it is short");
        poll(&mut fds, Some(&limit)) == Ok(1)
    }

    #[test]
    fn only_a_loop_that_sleeps_is_called() {
        let mailbox = Mailbox::new().expect("a descriptor is there");
        post(&mailbox);
        assert!(mailbox.has_frames() && !calls(&mailbox, Duration::ZERO));
        assert!(!mailbox.rest(), "something lies there");
        assert_eq!(mailbox.take().len(), 1);
        assert!(mailbox.rest());
        post(&mailbox);
        assert!(calls(&mailbox, Duration::ZERO));
        mailbox.wake();
        mailbox.quieten();
        assert!(!calls(&mailbox, Duration::ZERO) && mailbox.has_frames());
    }

    /// As long as each thread leaves its next frame once the loop has taken the last one of all, so often.
    #[test]
    fn whatever_several_threads_leave_while_it_falls_asleep_wakes_it() {
        let mailbox = Mailbox::new().expect("a descriptor is there");
        let taken = Arc::new((Mutex::new(0), std::sync::Condvar::new()));
        let (threads, rounds) = (3, 3_000);
        for _ in 0..threads {
            let (mailbox, taken) = (mailbox.clone(), Arc::clone(&taken));
            thread::spawn(move || {
                for round in 0..rounds {
                    post(&mailbox);
                    let (count, changed) = &*taken;
                    let count = count.lock().expect("nobody panics with it");
                    drop(changed.wait_while(count, |count| *count < threads * (round + 1)));
                }
            });
        }
        let mut count = 0;
        while count < threads * rounds {
            if mailbox.rest() {
                let called = calls(&mailbox, LIMIT);
                mailbox.wake();
                assert!(called, "{count} frames were taken, and another call was lost");
                mailbox.quieten();
            }
            count += mailbox.take().len();
            *taken.0.lock().expect("nobody panics with it") = count;
            taken.1.notify_all();
        }
    }

    /// A loop that takes what there is and sleeps in between, beside a thread that leaves one frame after the other: no call is lost.
    #[test]
    fn whatever_comes_while_it_falls_asleep_wakes_it() {
        let mailbox = Mailbox::new().expect("a descriptor is there");
        let (tell, told) = channel();
        let frames = 20_000;
        let at_the_loop = mailbox.clone();
        thread::spawn(move || {
            let mut taken = 0;
            while taken < frames {
                if at_the_loop.rest() {
                    let called = calls(&at_the_loop, LIMIT);
                    at_the_loop.wake();
                    if !called {
                        break;
                    }
                    at_the_loop.quieten();
                }
                taken += at_the_loop.take().len();
                tell.send(taken).expect("it listens");
            }
        });
        let mut taken = 0;
        for posted in 1..=frames {
            post(&mailbox);
            while posted % 3 == 0 && taken < posted {
                taken = told.recv_timeout(LIMIT).expect("the loop was called");
            }
        }
    }
}

//! What other threads of its process leave for a node: frames for its protocols, and orders for the host.

use crate::dialling::Redial;
use crate::measuring::Measurement;
use quintet_contract::{Address, Identity, NodeId, OwnedFrame, Port};
use rustix::event::{EventfdFlags, eventfd};
use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
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
    /// Dial it no more.
    LeaveAlone(NodeId),
    /// End the links to those who have proved to be somebody of whom this is not true.
    KeepLinksOf(Rule),
    /// Tell what the node tells of itself in numbers.
    Measure(Sender<Vec<Measurement>>),
}

/// Whether somebody still is one to have a link with.
pub(crate) type Rule = Box<dyn Fn(&Identity) -> bool + Send>;

/// Shared by a node's loop and those who write to it. Its descriptor is readable when the loop should look.
#[derive(Clone)]
pub(crate) struct Mailbox(Arc<Shared>);

struct Shared {
    frames: Mutex<VecDeque<LocalFrame>>,
    orders: Mutex<Vec<Order>>,
    /// Whether there are orders. Read in its every turn, too.
    has_orders: AtomicBool,
    /// Whether the loop should look. Read in its every turn, so that an empty mailbox costs one load.
    rung: AtomicBool,
    stop: AtomicBool,
    bell: OwnedFd,
}

impl Mailbox {
    pub(crate) fn new() -> io::Result<Self> {
        let bell = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?;
        Ok(Mailbox(Arc::new(Shared {
            frames: Mutex::default(),
            orders: Mutex::default(),
            has_orders: AtomicBool::new(false),
            rung: AtomicBool::new(false),
            stop: AtomicBool::new(false),
            bell,
        })))
    }

    /// Leaves a frame and rings.
    pub(crate) fn post(&self, from: Address, to: Address, frame: OwnedFrame) {
        let mut frames = self.0.frames.lock().unwrap_or_else(PoisonError::into_inner);
        frames.push_back(LocalFrame { from, to, frame });
        drop(frames);
        self.ring();
    }

    /// Leaves an order and rings.
    pub(crate) fn order(&self, order: Order) {
        self.0.orders.lock().unwrap_or_else(PoisonError::into_inner).push(order);
        self.0.has_orders.store(true, Ordering::Release);
        self.ring();
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
        self.ring();
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
        self.0.rung.load(Ordering::Acquire)
    }

    /// Takes everything left so far.
    pub(crate) fn take(&self) -> VecDeque<LocalFrame> {
        // The bell is silenced first: a frame left after that rings again.
        self.0.rung.store(false, Ordering::Release);
        let _ = rustix::io::read(&self.0.bell, &mut [0; 8]);
        std::mem::take(&mut *self.0.frames.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.0.bell.as_fd()
    }

    fn ring(&self) {
        self.0.rung.store(true, Ordering::Release);
        // The only failure is a full counter, and then it has been rung.
        let _ = rustix::io::write(&self.0.bell, &1u64.to_ne_bytes());
    }
}

//! The way to the disk: over its thread, or at once, on the thread of the node's loop.
//!
//! Over its thread others are served during a sync, and what they ask shares the next one. Where nobody asks anything meanwhile, that brings two
//! changes of thread and nothing else; so the loop then syncs by itself, after it has sent all that it had to send. It sees
//! whether anything came during the sync, and goes back to the thread at once.

use super::disk::Disk;
use super::{Desk, Errand};
use crate::mailbox::LocalFrame;
use quintet_contract::{Address, SendError};
use quintet_wire::registry::DISK_WRITE;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// After so many answers during which nothing came it is tried without the thread.
const QUIET: u32 = 16;

/// The same after syncs that took long, at most.
const MOST_QUIET: u32 = 1 << 16;

/// A sync that takes longer keeps the loop from others for too long.
const LONG: Duration = Duration::from_millis(2);

/// Where requests to the disk are left.
pub(crate) struct DiskDesk {
    desk: Desk,
    disk: Arc<Mutex<Disk>>,
    at: Address,
    /// Requests that its thread has and that are not answered.
    unanswered: usize,
    /// What is to be done at the end of the turn, without the thread.
    put_off: Option<Errand>,
    solitude: Solitude,
}

/// Whether anybody asks anything while the disk is busy.
#[derive(Debug)]
struct Solitude {
    /// Answers of the disk before which nothing came, one after another.
    quiet: u32,
    /// How many of them it takes.
    needed: u32,
    /// Whether something came since the disk was asked.
    was_disturbed: bool,
}

impl Default for Solitude {
    fn default() -> Self {
        Solitude { quiet: 0, needed: QUIET, was_disturbed: false }
    }
}

impl Solitude {
    fn lasts(&self) -> bool {
        self.quiet >= self.needed
    }

    fn answered_by_thread(&mut self) {
        self.quiet = if std::mem::take(&mut self.was_disturbed) { 0 } else { self.quiet.saturating_add(1) };
    }

    /// The loop has synced by itself, which took so long.
    fn synced(&mut self, took: Duration, was_disturbed: bool) {
        let is_long = took > LONG;
        self.needed = if is_long { (self.needed * 2).min(MOST_QUIET) } else { QUIET };
        if is_long || was_disturbed {
            self.quiet = 0;
        }
    }
}

impl DiskDesk {
    pub(super) fn new(desk: Desk, disk: Arc<Mutex<Disk>>, at: Address) -> DiskDesk {
        DiskDesk { desk, disk, at, unanswered: 0, put_off: None, solitude: Solitude::default() }
    }

    /// Leaves a request.
    ///
    /// # Errors
    /// [`SendError::Unreachable`]: the disk's thread has ended.
    pub(crate) fn send(&mut self, errand: Errand) -> Result<(), SendError> {
        let is_only_one = self.unanswered == 0 && self.put_off.is_none();
        if is_only_one && errand.1.kind == DISK_WRITE && self.solitude.lasts() {
            self.put_off = Some(errand);
            return Ok(());
        }
        // In their order.
        self.put_off.take().into_iter().chain([errand]).try_for_each(|errand| self.hand_over(errand))
    }

    fn hand_over(&mut self, errand: Errand) -> Result<(), SendError> {
        self.desk.send(errand)?;
        self.unanswered += 1;
        Ok(())
    }

    /// Its thread has answered so many requests.
    pub(crate) fn answered(&mut self, count: usize) {
        self.unanswered = self.unanswered.saturating_sub(count);
        (0..count).for_each(|_| self.solitude.answered_by_thread());
    }

    /// Frames came to the node.
    pub(crate) fn disturb(&mut self) {
        self.solitude.was_disturbed |= self.unanswered > 0;
    }

    /// Whether there is something to do at the end of the turn.
    pub(crate) fn has_put_off(&self) -> bool {
        self.put_off.is_some()
    }

    /// Does what was put off; `is_called` says then whether anything has come meanwhile. The answer; none where the disk has no room, and its thread waits for
    /// some.
    pub(crate) fn work(&mut self, is_called: impl FnOnce() -> bool) -> Option<LocalFrame> {
        let (asker, request) = self.put_off.take()?;
        let started = Instant::now();
        let done = self.disk.lock().unwrap_or_else(PoisonError::into_inner).write_at_once(&request);
        let Some(frame) = done else {
            // Whose thread has ended is like a disk that was pulled out: it does not answer.
            let _ = self.hand_over((asker, request));
            return None;
        };
        self.solitude.synced(started.elapsed(), is_called());
        Some(LocalFrame { from: self.at, to: asker, frame })
    }
}

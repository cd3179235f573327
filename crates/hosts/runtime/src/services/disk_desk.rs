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

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use quintet_contract::{Kind, NodeId, OwnedFrame, Token};
    use quintet_testbed::TempDir;
    use quintet_wire::Decode;
    use quintet_wire::registry::{DISK_DONE, DISK_SYNC, PORT_DISK, PORT_USER};
    use quintet_wire::services::DiskDone;
    use std::path::Path;
    use std::sync::mpsc::{Receiver, channel};

    const ASKER: Address = Address { node: NodeId(0), port: PORT_USER };
    const SHORT: Duration = Duration::from_micros(80);

    fn errand(kind: Kind, token: u64, body: &'static [u8]) -> Errand {
        (ASKER, OwnedFrame { kind, token: Token(token), body: Bytes::from_static(body), bulk: Bytes::new() })
    }

    /// A desk, and what its disk's thread would be given.
    fn desk(path: &Path) -> (DiskDesk, Receiver<Errand>) {
        let (sender, requests) = channel();
        let disk = Disk::open(path).expect("it is there");
        let at = Address { node: NodeId(0), port: PORT_DISK };
        (DiskDesk::new(Desk { sender, bell: None }, Arc::new(Mutex::new(disk)), at), requests)
    }

    /// The same, of a disk during whose syncs nobody asks anything.
    fn quiet_desk(path: &Path) -> (DiskDesk, Receiver<Errand>) {
        let (mut desk, requests) = desk(path);
        for token in 0..QUIET {
            desk.send(errand(DISK_WRITE, token.into(), b"")).expect("somebody listens");
            assert!(!desk.has_put_off(), "after {token} answers");
            desk.answered(1);
        }
        assert_eq!(requests.try_iter().count(), QUIET as usize);
        (desk, requests)
    }

    #[test]
    fn what_is_written_while_nobody_asks_is_durable_without_the_thread() {
        let folder = TempDir::new().expect("a temporary directory");
        let (mut desk, requests) = quiet_desk(&folder.join("log"));
        for (token, text) in [(1, &b"one"[..]), (2, b"two")] {
            // However long the sync before took.
            desk.solitude.quiet = u32::MAX;
            desk.send(errand(DISK_WRITE, token, text)).expect("somebody listens");
            assert!(desk.has_put_off());
            let answer = desk.work(|| false).expect("there is room");
            let done = DiskDone::decode_all(&answer.frame.body).expect("it is done");
            assert_eq!((answer.to, answer.from, answer.frame.kind), (ASKER, desk.at, DISK_DONE));
            assert_eq!((answer.frame.token, done.failed, done.length), (Token(token), false, 3 * token));
        }
        assert_eq!(std::fs::read(folder.join("log")).expect("it is there"), b"onetwo");
        assert_eq!((requests.try_iter().count(), desk.has_put_off()), (0, false));
    }

    #[test]
    fn once_something_comes_during_a_sync_the_thread_has_the_next_one() {
        let folder = TempDir::new().expect("a temporary directory");
        let (mut desk, requests) = quiet_desk(&folder.join("log"));
        desk.send(errand(DISK_WRITE, 1, b"a")).expect("somebody listens");
        assert!(desk.work(|| true).is_some());
        desk.send(errand(DISK_WRITE, 2, b"b")).expect("somebody listens");
        assert_eq!((requests.try_iter().count(), desk.has_put_off()), (1, false));
    }

    #[test]
    fn what_is_put_off_keeps_its_place_before_what_comes_behind_it() {
        let folder = TempDir::new().expect("a temporary directory");
        let (mut desk, requests) = quiet_desk(&folder.join("log"));
        for (kind, token) in [(DISK_WRITE, 1), (DISK_SYNC, 2), (DISK_WRITE, 3)] {
            desk.send(errand(kind, token, b"")).expect("somebody listens");
        }
        let tokens: Vec<u64> = requests.try_iter().map(|(_, request)| request.token.0).collect();
        assert_eq!((tokens, desk.has_put_off()), (vec![1, 2, 3], false));
    }

    #[test]
    fn where_there_is_no_room_the_thread_waits_for_some() {
        let (mut desk, requests) = quiet_desk(Path::new("/dev/full"));
        desk.send(errand(DISK_WRITE, 7, b"text")).expect("somebody listens");
        assert!(desk.work(|| false).is_none());
        let left: Vec<u64> = requests.try_iter().map(|(_, request)| request.token.0).collect();
        assert_eq!((left, desk.has_put_off(), desk.unanswered), (vec![7], false, 1));
    }

    #[test]
    fn requests_during_syncs_and_syncs_that_take_long_are_for_the_thread() {
        let mut solitude = Solitude::default();
        let answers = |solitude: &mut Solitude, count| (0..count).for_each(|_| solitude.answered_by_thread());
        answers(&mut solitude, QUIET - 1);
        solitude.was_disturbed = true;
        answers(&mut solitude, QUIET);
        assert!(!solitude.lasts(), "it was disturbed in between");
        answers(&mut solitude, 1);
        assert!(solitude.lasts());
        solitude.synced(LONG + SHORT, false);
        answers(&mut solitude, 2 * QUIET - 1);
        assert!(!solitude.lasts(), "a disk that takes long is tried less often");
        answers(&mut solitude, 1);
        assert!(solitude.lasts());
        solitude.synced(SHORT, false);
        assert!(solitude.lasts() && solitude.needed == QUIET);
        (0..40).for_each(|_| solitude.synced(LONG + SHORT, false));
        assert_eq!(solitude.needed, MOST_QUIET);
    }
}

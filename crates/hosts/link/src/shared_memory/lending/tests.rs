//! A lender and a borrower without a link between them.

use super::{Borrower, Lender, Lent, Way};
use crate::shared_memory::descriptors;
use crate::shared_memory::memory::{OwnLines, OwnMemory};
use crate::shared_memory::pool::Buffer;
use crate::shared_memory::segment::Segment;
use crate::{LinkError, Maker};
use bytes::Bytes;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

const LEN: usize = 64 * 1024;

/// Both sides, and the socket between them.
struct Pair {
    lender: Lender,
    borrower: Borrower,
    lines: OwnLines,
    sockets: (OwnedFd, OwnedFd),
}

/// Who may lend so many bytes, and be lent so many.
fn pair(lends: usize, borrows: usize) -> Pair {
    let (memory, _fd) = OwnMemory::create().expect("a memfd");
    let maker = Arc::new(Maker::this_process().expect("a page"));
    let sockets = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None);
    let mut borrower = Borrower::new(memory.lines.clone(), maker);
    let mut lender = Lender::default();
    (lender.most, borrower.most) = (lends, borrows);
    Pair { lender, borrower, lines: memory.lines, sockets: sockets.expect("two sockets") }
}

impl Pair {
    /// Lends another buffer. None if it has to wait.
    fn lend(&mut self) -> Option<Lent> {
        let bulk = Buffer::new(LEN).expect("descriptors and memory").freeze();
        let way = self.lender.way(&bulk, &self.lines).expect("it lies in a segment");
        assert!(matches!(way, Way::InPlace(_)));
        self.lender.lend(&bulk, way, &self.lines, self.sockets.0.as_fd())
    }

    fn take(&mut self, lent: Lent) -> Result<Bytes, LinkError> {
        self.borrower.take(lent, self.sockets.1.as_fd())
    }

    fn pass(&mut self) -> Option<Bytes> {
        let lent = self.lend()?;
        Some(self.take(lent).expect("nothing is wrong with it"))
    }
}

#[test]
fn no_more_is_lent_than_may_be_and_what_came_back_makes_room() {
    let mut pair = pair(3 * LEN, 3 * LEN);
    let mut views: Vec<Bytes> = (0..3).map(|_| pair.pass().expect("there is room")).collect();
    assert!(pair.lend().is_none());
    drop(views.remove(1));
    assert!(pair.lend().is_none(), "it has not looked");
    pair.lender.collect(&pair.lines);
    // In place of the one that came back: the peer forgets that.
    views.push(pair.pass().expect("there is room"));
    assert!(pair.lend().is_none());
}

#[test]
fn who_lends_more_than_may_be_is_found_out() {
    let mut pair = pair(4 * LEN, 3 * LEN);
    let views: Vec<Bytes> = (0..3).map(|_| pair.pass().expect("there is room")).collect();
    let lent = pair.lend().expect("it thinks that there is room");
    let error = pair.take(lent).expect_err("there is none");
    let what = format!("a segment of {LEN} bytes, where 1 to 0 are possible");
    assert!(matches!(&error, LinkError::Malformed(text) if text.contains(&what)), "{error:?}");
    drop(views);
    // All views have gone, and the segments are still known.
    let fd = Segment::create(LEN).expect("memory");
    descriptors::send(pair.sockets.0.as_fd(), fd.as_fd()).expect("room");
    assert!(pair.take(Lent { len: LEN, place: 7, is_new: true }).is_err());
    descriptors::send(pair.sockets.0.as_fd(), fd.as_fd()).expect("room");
    assert!(pair.take(Lent { len: LEN, place: 0, is_new: true }).is_ok(), "in place of another");
}

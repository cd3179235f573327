//! Sealed memory that holds one bulk: one process writes it, any number may read it.
//!
//! All segments that are mapped here are known by their addresses, so that bulk which lies in one is found to do so, whoever
//! made it.

use super::lending::REMEMBERED_BYTES;
use super::memory::{PeerMemoryError, SEALS_NEEDED, check_seals, new_memfd};
use crate::Maker;
use bytes::Bytes;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use rustix::fs::{SealFlags, fcntl_add_seals, fstat};
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::collections::BTreeMap;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

/// Nobody can map or write it any more, nor take pages out of it.
const SEALS: SealFlags = SEALS_NEEDED.union(SealFlags::FUTURE_WRITE);
/// The unit in which the system counts what a file takes.
const BLOCK_BYTES: u64 = 512;

/// Those mapped here, by their addresses.
static KNOWN: Mutex<BTreeMap<usize, Weak<Segment>>> = Mutex::new(BTreeMap::new());
/// The number of the next one.
static NEXT: AtomicU64 = AtomicU64::new(1);

/// One of them, mapped.
#[derive(Debug)]
pub(crate) struct Segment {
    base: NonNull<u8>,
    size: usize,
    fd: OwnedFd,
    number: u64,
    /// Somebody may look at it for ever: it is never written again.
    retired: AtomicBool,
}

// SAFETY: an address of memory that stays mapped until the drop. It is written by who makes it, before it is shared, and read by all.
unsafe impl Send for Segment {}
// SAFETY: as above.
unsafe impl Sync for Segment {}

/// Whether this process has segments at all: one that was forked from another has none, for it shares their memory, and perhaps a
/// lock that nobody will open, with that.
pub(super) fn is_available() -> bool {
    static MAKER: OnceLock<Option<Maker>> = OnceLock::new();
    let maker = MAKER.get_or_init(|| Maker::this_process().ok());
    maker.as_ref().is_some_and(Maker::is_this_process)
}

/// Sees that nothing which lies in lent memory, or in a [`Buffer`](crate::Buffer), changes under a process that is forked from this one, whatever
/// this one does with it: such memory is used for nothing else any more. To be called before a fork without an exec, if the child may
/// look at bulk that this process has. What is written to a buffer after the fork, parent and child both see.
pub fn before_fork() {
    let all: Vec<Arc<Segment>> = known().values().filter_map(Weak::upgrade).collect();
    all.iter().for_each(|segment| segment.retire());
}

fn known() -> impl core::ops::DerefMut<Target = BTreeMap<usize, Weak<Segment>>> {
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Segment {
    /// A new one of zeros, which this process may write.
    ///
    /// # Errors
    /// What was tried, and what the system said.
    pub(super) fn create(size: usize) -> Result<Arc<Segment>, (&'static str, Errno)> {
        let fd = new_memfd("quintet-bulk", size, size)?;
        let access = ProtFlags::READ | ProtFlags::WRITE;
        let base =
            map(fd.as_fd(), size, access, MapFlags::POPULATE).map_err(|errno| ("map the memfd", errno))?;
        let segment = Segment::known_from_now_on(base, size, fd);
        fcntl_add_seals(&segment.fd, SEALS)
            .map_err(|errno| ("seal the memfd (Linux 5.1 or later)", errno))?;
        Ok(segment)
    }

    /// One that a peer made, of at most `limit` bytes.
    ///
    /// # Errors
    /// The descriptor, and why it is refused.
    pub(super) fn open(fd: OwnedFd, limit: usize) -> Result<Arc<Segment>, (OwnedFd, PeerMemoryError)> {
        match check(fd.as_fd(), limit).and_then(|size| {
            // To map all pages of a long one takes too long for the thread that serves others.
            let at_once = if size <= REMEMBERED_BYTES { MapFlags::POPULATE } else { MapFlags::empty() };
            let base = map(fd.as_fd(), size, ProtFlags::READ, at_once)
                .map_err(|errno| PeerMemoryError::System("map the peer's segment", errno))?;
            Ok((base, size))
        }) {
            Ok((base, size)) => Ok(Segment::known_from_now_on(base, size, fd)),
            Err(error) => Err((fd, error)),
        }
    }

    fn known_from_now_on(base: NonNull<u8>, size: usize, fd: OwnedFd) -> Arc<Segment> {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let segment = Arc::new(Segment { base, size, fd, number, retired: AtomicBool::new(false) });
        if is_available() {
            known().insert(base.addr().get(), Arc::downgrade(&segment));
        }
        segment
    }

    /// The segment at whose beginning these bytes lie.
    pub(super) fn that_begins_with(bytes: &Bytes) -> Option<Arc<Segment>> {
        if !is_available() {
            return None;
        }
        let segment = known().get(&bytes.as_ptr().addr())?.upgrade()?;
        (bytes.len() <= segment.size).then_some(segment)
    }

    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// No two segments have the same within this process, and none has 0.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// Sees that it is never written again.
    pub(super) fn retire(&self) {
        self.retired.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_retired(&self) -> bool {
        self.retired.load(Ordering::Relaxed)
    }

    /// Its beginning.
    pub(super) fn base(&self) -> NonNull<u8> {
        self.base
    }

    /// Its first `len` bytes.
    ///
    /// # Panics
    /// If it has fewer.
    pub(super) fn bytes(&self, len: usize) -> &[u8] {
        assert!(len <= self.size, "inside the segment");
        // SAFETY: inside the mapping, which has all its pages and cannot lose them. Nobody writes what is shared: the maker keeps to
        // that until every borrower has given it back (`lending.rs`), and no one else can map it for writing. A process of the same
        // user that breaks this changes bytes under their reader, as one that debugs it could; all bytes are valid `u8`.
        unsafe { core::slice::from_raw_parts(self.base.as_ptr(), len) }
    }
}

impl AsFd for Segment {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        if is_available() {
            known().remove(&self.base.addr().get());
        }
        // SAFETY: the range that was mapped for it; everything that points into it keeps `self` alive.
        let _ = unsafe { munmap(self.base.as_ptr().cast(), self.size) };
    }
}

/// The size of what a peer offers, if all of it is there to stay.
fn check(fd: BorrowedFd<'_>, limit: usize) -> Result<usize, PeerMemoryError> {
    check_seals(fd, SEALS)?;
    let file = fstat(fd).map_err(|errno| PeerMemoryError::System("examine the peer's segment", errno))?;
    let size = usize::try_from(file.st_size).ok().filter(|size| (1..=limit).contains(size));
    let Some(size) = size else {
        let what = format!("a segment of {} bytes, where 1 to {limit} are possible", file.st_size);
        return Err(PeerMemoryError::Untrusted(what));
    };
    // To read where no page is would need memory, and end this process if there is none.
    if u64::try_from(file.st_blocks).is_ok_and(|blocks| blocks * BLOCK_BYTES >= size as u64) {
        Ok(size)
    } else {
        Err(PeerMemoryError::Untrusted("a segment without memory".to_owned()))
    }
}

fn map(fd: BorrowedFd<'_>, size: usize, access: ProtFlags, at_once: MapFlags) -> Result<NonNull<u8>, Errno> {
    // SAFETY: a new mapping, at an address that the kernel chooses, of a file that has at least this size.
    let base = unsafe { mmap(core::ptr::null_mut(), size, access, MapFlags::SHARED | at_once, fd, 0)? };
    Ok(NonNull::new(base.cast()).expect("the kernel does not map address zero"))
}

//! Memory that one process writes and another one reads, and how the kernel holds both to it.
//!
//! The writer seals its memfd: it can no longer shrink (so that a reader never faults on a missing page) nor grow, the
//! seals cannot be lifted, and nobody can map it for writing any more. The one writable mapping was made before. The reader
//! checks size and seals before it maps.

use super::area::{OwnArea, PeerArea};
use super::layout::{BULK_AT, Lines, MEMORY_BYTES, RING_AT};
use core::ptr::NonNull;
use quintet_contract::limits::{BULK_RING_BYTES, CONTROL_RING_BYTES};
use rustix::fs::{
    FallocateFlags, MemfdFlags, SealFlags, fallocate, fcntl_add_seals, fcntl_get_seals, fstat, ftruncate,
    memfd_create,
};
use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, munmap};
use rustix::process::{Resource, getrlimit};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

/// What a reader insists on.
pub(super) const SEALS_NEEDED: SealFlags = SealFlags::SHRINK.union(SealFlags::GROW).union(SealFlags::SEAL);

/// Why a peer's memory cannot be read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum PeerMemoryError {
    /// The peer offered something else than agreed.
    Untrusted(String),
    /// The system refused.
    System(&'static str, Errno),
}

/// A mapping of [`MEMORY_BYTES`] bytes.
#[derive(Debug)]
struct Mapping(NonNull<u8>);

// SAFETY: an address of memory that stays mapped until the drop; what lies there is reached through `Lines` (atomics) and
// through areas, which say themselves how they may be shared.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    fn new(fd: BorrowedFd<'_>, access: ProtFlags) -> Result<Self, Errno> {
        // SAFETY: a new mapping, at an address that the kernel chooses, of a file that has at least this size.
        let address = unsafe { mmap(core::ptr::null_mut(), MEMORY_BYTES, access, MapFlags::SHARED, fd, 0)? };
        // SAFETY: the range just mapped. Huge pages would make a small connection take megabytes. The advice may be
        // refused by a kernel without huge pages: then there is nothing to refuse.
        let _ = unsafe { madvise(address, MEMORY_BYTES, Advice::LinuxNoHugepage) };
        Ok(Mapping(NonNull::new(address.cast()).expect("the kernel does not map address zero")))
    }

    fn at(&self, offset: usize) -> NonNull<u8> {
        debug_assert!(offset < MEMORY_BYTES);
        // SAFETY: inside the mapping, as all offsets of `layout.rs` are.
        unsafe { self.0.add(offset) }
    }

    fn lines(&self) -> &Lines {
        // SAFETY: the mapping begins with `Lines`: page-aligned, atomics only, every value valid.
        unsafe { self.0.cast().as_ref() }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the range that `new` mapped; everything that points into it keeps `self` alive.
        let _ = unsafe { munmap(self.0.as_ptr().cast(), MEMORY_BYTES) };
    }
}

/// The lines that this process writes.
#[derive(Clone, Debug)]
pub(crate) struct OwnLines(Arc<Mapping>);

/// The lines that the peer writes.
#[derive(Debug)]
pub(crate) struct PeerLines(Arc<Mapping>);

impl core::ops::Deref for OwnLines {
    type Target = Lines;
    #[inline]
    fn deref(&self) -> &Lines {
        self.0.lines()
    }
}

/// Mapped without the right to write: only relaxed loads are made of it, for these are known never to write.
impl core::ops::Deref for PeerLines {
    type Target = Lines;
    #[inline]
    fn deref(&self) -> &Lines {
        self.0.lines()
    }
}

/// What this process writes.
#[derive(Debug)]
pub(crate) struct OwnMemory {
    pub(crate) lines: OwnLines,
    pub(crate) ring: OwnArea,
    pub(crate) bulk: OwnArea,
    pub(crate) bulk_pages: BulkPages,
}

/// Gets memory for the ring of bulk before it is written: most links never use much of it.
#[derive(Debug)]
pub(crate) struct BulkPages {
    mapping: Arc<Mapping>,
    /// Bytes of the ring that have memory.
    provided: usize,
}

/// Bytes for which memory is asked at a time.
const PROVIDED_AT_ONCE: usize = 64 * 1024;

impl BulkPages {
    /// Sees that the ring of bulk has memory up to byte `end`, so that a system without any says so here and not by a signal
    /// at the first write. Before Linux 5.14 it cannot be asked in this way; then the first write decides.
    ///
    /// # Errors
    /// What the system said.
    #[inline]
    pub(crate) fn provide(&mut self, end: usize) -> Result<(), Errno> {
        if end <= self.provided { Ok(()) } else { self.provide_more(end) }
    }

    #[cold]
    fn provide_more(&mut self, end: usize) -> Result<(), Errno> {
        let end = end.next_multiple_of(PROVIDED_AT_ONCE).min(BULK_RING_BYTES);
        let missing = self.mapping.at(BULK_AT + self.provided).as_ptr();
        // SAFETY: inside the mapping, which the `Arc` keeps. It changes no byte: a page that is there stays as it is.
        match unsafe { madvise(missing.cast(), end - self.provided, Advice::LinuxPopulateWrite) } {
            Ok(()) => self.provided = end,
            Err(Errno::INVAL) => self.provided = BULK_RING_BYTES,
            Err(errno) => return Err(errno),
        }
        Ok(())
    }
}

/// What the peer writes.
#[derive(Debug)]
pub(crate) struct PeerMemory {
    pub(crate) lines: PeerLines,
    pub(crate) ring: PeerArea,
    pub(crate) bulk: PeerArea,
}

impl OwnMemory {
    /// Makes memory of zeros, and the descriptor for the peer.
    ///
    /// # Errors
    /// What was tried, and what the system said. Sealing needs Linux 5.1. The lines and the ring of frames get their memory
    /// here, so that a system without any says so now and not by a signal at the first frame; the ring of bulk gets its
    /// memory as it is used ([`BulkPages`]).
    pub(crate) fn create() -> Result<(Self, OwnedFd), (&'static str, Errno)> {
        let fd = new_memfd("quintet-link", MEMORY_BYTES, BULK_AT)?;
        let mapping = Mapping::new(fd.as_fd(), ProtFlags::READ | ProtFlags::WRITE)
            .map_err(|errno| ("map the memfd", errno))?;
        fcntl_add_seals(&fd, SEALS_NEEDED | SealFlags::FUTURE_WRITE)
            .map_err(|errno| ("seal the memfd (Linux 5.1 or later)", errno))?;
        let mapping = Arc::new(mapping);
        // SAFETY: both ranges lie in the mapping, which the `Arc` keeps, and do not overlap; they are the only areas made of
        // it, and since the seal nobody else can map the file for writing.
        let (ring, bulk) = unsafe {
            (
                OwnArea::new(mapping.at(RING_AT), CONTROL_RING_BYTES, mapping.clone()),
                OwnArea::new(mapping.at(BULK_AT), BULK_RING_BYTES, mapping.clone()),
            )
        };
        let bulk_pages = BulkPages { mapping: Arc::clone(&mapping), provided: 0 };
        Ok((OwnMemory { lines: OwnLines(mapping), ring, bulk, bulk_pages }, fd))
    }
}

/// A memfd of `size` zeros that can be sealed, whose first `provided` bytes have memory.
///
/// # Errors
/// What was tried, and what the system said.
pub(super) fn new_memfd(name: &str, size: usize, provided: usize) -> Result<OwnedFd, (&'static str, Errno)> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let fd = memfd_create(name, flags).map_err(|errno| ("create a memfd", errno))?;
    // Beyond this limit the system would answer with a signal that ends the process.
    if getrlimit(Resource::Fsize).current.is_some_and(|limit| limit < size as u64) {
        return Err(("size the memfd (`ulimit -f` is too small for shared memory: raise it)", Errno::FBIG));
    }
    ftruncate(&fd, size as u64).map_err(|errno| ("size the memfd", errno))?;
    fallocate(&fd, FallocateFlags::empty(), 0, provided as u64)
        .map_err(|errno| ("find memory for the memfd", errno))?;
    Ok(fd)
}

/// Whether what a peer offers is a memfd with at least these seals. Nothing else may be asked of it before.
///
/// # Errors
/// [`PeerMemoryError::Untrusted`].
pub(super) fn check_seals(fd: BorrowedFd<'_>, needed: SealFlags) -> Result<(), PeerMemoryError> {
    let seals =
        fcntl_get_seals(fd).map_err(|_| PeerMemoryError::Untrusted("its memory is no memfd".to_owned()))?;
    if seals.contains(needed) {
        Ok(())
    } else {
        Err(PeerMemoryError::Untrusted(format!("its memory lacks seals: it has {seals:?}")))
    }
}

impl PeerMemory {
    /// Maps what a peer offers, after checking it.
    ///
    /// # Errors
    /// [`PeerMemoryError`].
    pub(crate) fn open(fd: BorrowedFd<'_>) -> Result<Self, PeerMemoryError> {
        check_seals(fd, SEALS_NEEDED)?;
        let size =
            fstat(fd).map_err(|errno| PeerMemoryError::System("examine the peer's memfd", errno))?.st_size;
        if usize::try_from(size) != Ok(MEMORY_BYTES) {
            return Err(PeerMemoryError::Untrusted(format!(
                "its memory has {size} bytes instead of {MEMORY_BYTES}"
            )));
        }
        let mapping = Mapping::new(fd, ProtFlags::READ)
            .map_err(|errno| PeerMemoryError::System("map the peer's memfd", errno))?;
        let mapping = Arc::new(mapping);
        // SAFETY: both ranges lie in the mapping, which the `Arc` keeps; the seals keep every page of it there. This
        // process cannot write it. Where the peer is this same process, it writes through one `OwnArea`.
        let (ring, bulk) = unsafe {
            (
                PeerArea::new(mapping.at(RING_AT), CONTROL_RING_BYTES, mapping.clone()),
                PeerArea::new(mapping.at(BULK_AT), BULK_RING_BYTES, mapping.clone()),
            )
        };
        Ok(PeerMemory { lines: PeerLines(mapping), ring, bulk })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared_memory::store::{ReadStore, WriteStore};

    #[test]
    fn what_one_side_writes_the_other_reads() {
        let (mut own, fd) = OwnMemory::create().expect("a memfd");
        let peer = PeerMemory::open(fd.as_fd()).expect("its own offer is acceptable");
        own.ring.write(64, b"frames");
        own.bulk.write(BULK_RING_BYTES - 4, b"bulk");
        let mut read = Vec::new();
        peer.ring.append(64, 6, &mut read);
        peer.bulk.append(BULK_RING_BYTES - 4, 4, &mut read);
        assert_eq!(read, b"framesbulk");
    }

    #[test]
    fn bulk_gets_its_memory_before_it_is_written() {
        let (mut own, fd) = OwnMemory::create().expect("a memfd");
        let blocks = || fstat(&fd).expect("a file").st_blocks as usize * 512;
        assert!(blocks() < BULK_AT + PROVIDED_AT_ONCE);
        own.bulk_pages.provide(1).expect("memory");
        own.bulk_pages.provide(BULK_RING_BYTES).expect("memory");
        assert!(blocks() >= MEMORY_BYTES, "{} bytes", blocks());
    }

    #[test]
    fn bulk_that_gets_no_memory_is_an_error() {
        let fd = memfd_create("test", MemfdFlags::CLOEXEC).expect("a memfd");
        ftruncate(&fd, MEMORY_BYTES as u64).expect("sized");
        let mapping = Mapping::new(fd.as_fd(), ProtFlags::READ | ProtFlags::WRITE).expect("mapped");
        // To write there would now end the process, as where memory has run out.
        ftruncate(&fd, BULK_AT as u64).expect("unsealed");
        let mut pages = BulkPages { mapping: Arc::new(mapping), provided: 0 };
        assert_eq!(pages.provide(1), Err(Errno::FAULT));
    }

    #[test]
    fn nobody_else_can_write_shrink_or_unseal() {
        let (_own, fd) = OwnMemory::create().expect("a memfd");
        assert!(Mapping::new(fd.as_fd(), ProtFlags::READ | ProtFlags::WRITE).is_err());
        assert_eq!(ftruncate(&fd, 4096), Err(Errno::PERM));
        assert_eq!(rustix::io::write(&fd, b"x"), Err(Errno::PERM));
        assert_eq!(fcntl_add_seals(&fd, SealFlags::WRITE), Err(Errno::PERM));
    }

    #[test]
    fn other_offers_are_refused() {
        let refused = |fd: &OwnedFd| match PeerMemory::open(fd.as_fd()) {
            Err(PeerMemoryError::Untrusted(why)) => why,
            other => panic!("{other:?}"),
        };
        let memfd = |size: u64, seals| {
            let fd = memfd_create("test", MemfdFlags::ALLOW_SEALING).expect("a memfd");
            ftruncate(&fd, size).expect("sized");
            fcntl_add_seals(&fd, seals).expect("sealed");
            fd
        };
        assert!(refused(&memfd(MEMORY_BYTES as u64, SealFlags::GROW)).contains("lacks seals"));
        assert!(refused(&memfd(4096, SEALS_NEEDED)).contains("4096 bytes"));
        let event = rustix::event::eventfd(0, rustix::event::EventfdFlags::empty()).expect("an eventfd");
        assert!(refused(&event).contains("no memfd"));
    }
}

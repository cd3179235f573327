//! Parts of shared memory as a [`Store`].
//!
//! Each process writes only memory of its own; the kernel holds its peer to that (see `memory.rs`). So a writer may lend
//! out `&mut [u8]`. A reader may not lend out `&[u8]`, for the writer may change the bytes at any time: it copies.

use super::racing_copy::racing_copy;
use super::store::{ReadStore, SLOT, Store, WriteStore};
use core::any::Any;
use core::fmt;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use quintet_contract::limits::HEADER_BYTES;
use std::sync::Arc;

/// Copies up to this length go word by word; longer ones are worth a call.
const WORD_BY_WORD: usize = 256;

/// A range of memory and what keeps it mapped.
struct Range {
    base: NonNull<u8>,
    size: usize,
    _owner: Arc<dyn Any + Send + Sync>,
}

/// A range that this process alone writes.
#[derive(Debug)]
pub(crate) struct OwnArea(Range);

/// A range that the peer alone writes.
#[derive(Debug)]
pub(crate) struct PeerArea(Range);

// SAFETY: a range is an address and a length; what lies there is reached through atomics and raw copies, or, in
// `OwnArea`, through `&mut self`. The owner that keeps it mapped is `Send + Sync` itself.
unsafe impl Send for Range {}

impl Range {
    fn new(base: NonNull<u8>, size: usize, owner: Arc<dyn Any + Send + Sync>) -> Self {
        assert!(size.is_power_of_two() && size >= SLOT && base.addr().get().is_multiple_of(SLOT));
        Range { base, size, _owner: owner }
    }

    /// The address of `len` bytes from `at`, checked.
    #[inline]
    fn at(&self, at: usize, len: usize) -> NonNull<u8> {
        assert!(at <= self.size && len <= self.size - at, "inside the area");
        // SAFETY: `at` lies inside the range, which is one mapped allocation.
        unsafe { self.base.add(at) }
    }

    #[inline]
    fn word(&self, at: usize) -> &AtomicU32 {
        assert!(at.is_multiple_of(4));
        // SAFETY: inside the range, aligned, mapped for as long as `self`; every access that may be concurrent is atomic.
        unsafe { self.at(at, 4).cast().as_ref() }
    }
}

impl OwnArea {
    /// # Safety
    /// `base` begins `size` initialised bytes that stay where they are for as long as `owner` lives, that nothing else
    /// writes, and that other code of this process reads only through a [`PeerArea`].
    pub(crate) unsafe fn new(base: NonNull<u8>, size: usize, owner: Arc<dyn Any + Send + Sync>) -> Self {
        OwnArea(Range::new(base, size, owner))
    }
}

impl Store for OwnArea {
    #[inline]
    fn size(&self) -> usize {
        self.0.size
    }

    #[inline]
    fn word(&self, at: usize) -> &AtomicU32 {
        self.0.word(at)
    }
}

impl WriteStore for OwnArea {
    #[inline]
    fn room(&mut self, at: usize, len: usize) -> &mut [u8] {
        // SAFETY: inside the range and initialised; nobody else writes it, and `&mut self` keeps this process to one borrow.
        // A peer that reads it before the commit reads nonsense in its own address space.
        unsafe { core::slice::from_raw_parts_mut(self.0.at(at, len).as_ptr(), len) }
    }

    #[inline]
    fn write(&mut self, at: usize, bytes: &[u8]) {
        self.room(at, bytes.len()).copy_from_slice(bytes);
    }

    /// Fetches the next two lines for writing, so that the next frame does not wait for them: the reader had them last.
    #[inline]
    fn prefetch(&self, at: usize) {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        for line in [at, (at + SLOT) & (self.0.size - 1)] {
            let address = self.0.at(line, SLOT).as_ptr();
            // SAFETY: a hint; it changes neither memory nor registers nor flags.
            unsafe {
                core::arch::asm!("prefetchw [{}]", in(reg) address, options(nostack, preserves_flags));
            }
        }
        #[cfg(not(all(target_arch = "x86_64", not(miri))))]
        let _ = at;
    }
}

impl PeerArea {
    /// # Safety
    /// `base` begins `size` initialised bytes that stay readable where they are for as long as `owner` lives, and that
    /// this process writes only through one [`OwnArea`].
    pub(crate) unsafe fn new(base: NonNull<u8>, size: usize, owner: Arc<dyn Any + Send + Sync>) -> Self {
        PeerArea(Range::new(base, size, owner))
    }

    /// Copies by words, each read once. The last word is read whole: an area ends with a whole word.
    #[inline]
    fn read_words(&self, at: usize, into: &mut [u8]) {
        assert!(at.is_multiple_of(8));
        let mut from = self.0.at(at, into.len()).cast::<AtomicU64>();
        let mut next = || {
            // SAFETY: inside the range, as the caller asks for no more words than its bytes begin, and aligned; every
            // access that may be concurrent is atomic.
            let word = unsafe { from.as_ref() }.load(Ordering::Relaxed).to_ne_bytes();
            // SAFETY: at most one past the range.
            from = unsafe { from.add(1) };
            word
        };
        let (lines, rest) = into.as_chunks_mut::<32>();
        for line in lines {
            line.as_chunks_mut::<8>().0.iter_mut().for_each(|to| *to = next());
        }
        let (words, last) = rest.as_chunks_mut::<8>();
        words.iter_mut().for_each(|to| *to = next());
        if !last.is_empty() {
            last.copy_from_slice(&next()[..last.len()]);
        }
    }

    /// Copies `len` bytes from `at` to `to`.
    ///
    /// # Safety
    /// `to` may be written for `len` bytes.
    unsafe fn read_raw(&self, at: usize, to: *mut u8, len: usize) {
        let from = self.0.at(at, len).as_ptr();
        // SAFETY: both ranges were checked and do not overlap, for one is shared memory and the other is private. A peer
        // that keeps to the protocol writes here only after this copy was released; this process does so too, where it is
        // its own peer. One that does not can change the bytes meanwhile: any bytes are valid `u8`, they are read once, and
        // nothing was concluded from them before.
        unsafe { racing_copy(from, to, len) }
    }
}

impl Store for PeerArea {
    #[inline]
    fn size(&self) -> usize {
        self.0.size
    }

    #[inline]
    fn word(&self, at: usize) -> &AtomicU32 {
        self.0.word(at)
    }
}

impl ReadStore for PeerArea {
    #[inline]
    fn prefetch(&self, at: usize) {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        {
            use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            // SAFETY: a hint; it has no effect on what the program computes.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(self.0.at(at, SLOT).as_ptr().cast()) };
        }
        #[cfg(not(all(target_arch = "x86_64", not(miri))))]
        let _ = at;
    }

    #[inline]
    fn header(&self, at: usize, word: u32) -> [u8; HEADER_BYTES] {
        assert!(at.is_multiple_of(8));
        let second = self.0.word(at + 4).load(Ordering::Relaxed);
        let mut header = [0; HEADER_BYTES];
        header[..4].copy_from_slice(&word.to_le_bytes());
        header[4..8].copy_from_slice(&second.to_ne_bytes());
        self.read_words(at + 8, &mut header[8..]);
        header
    }

    #[inline]
    fn read(&self, at: usize, into: &mut [u8]) {
        if into.len() <= WORD_BY_WORD {
            self.read_words(at, into);
        } else {
            // SAFETY: `into` is a slice.
            unsafe { self.read_raw(at, into.as_mut_ptr(), into.len()) }
        }
    }

    fn append(&self, at: usize, len: usize, to: &mut Vec<u8>) {
        to.reserve(len);
        let room = to.spare_capacity_mut();
        // SAFETY: `len` bytes at least were reserved behind the vector's own, and all of them are written before the length
        // says so.
        unsafe {
            self.read_raw(at, room.as_mut_ptr().cast(), len);
            to.set_len(to.len() + len);
        }
    }
}

impl fmt::Debug for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes at {:p}", self.size, self.base)
    }
}

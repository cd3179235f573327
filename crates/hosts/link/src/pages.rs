//! Memory straight from the system, for the buffers of links.
//!
//! Of a buffer as large as a link may need, most links never use more than the beginning. Here a page is there only from when it is written, and
//! goes back at the drop. The allocator would keep what a link had and give it to the next one, written with zeros from end to end: a
//! thousand links that came after others took ten times the memory of the first thousand.

use core::ops::{Deref, DerefMut};
use core::ptr::NonNull;
use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};

/// Bytes, zero at first, that nothing else has.
#[derive(Debug)]
pub(crate) struct Pages {
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: an address and a length of memory that is this value's alone, as a boxed slice is.
unsafe impl Send for Pages {}
// SAFETY: as above; shared, it is only read.
unsafe impl Sync for Pages {}

impl Pages {
    /// So many bytes, at least one.
    ///
    /// # Errors
    /// The system gives no memory.
    pub(crate) fn new(len: usize) -> Result<Pages, Errno> {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping, at an address that the kernel chooses.
        let address = unsafe { mmap_anonymous(core::ptr::null_mut(), len, access, MapFlags::PRIVATE)? };
        // SAFETY: the range just mapped. Huge pages would be there whole. The advice may be refused by a kernel without huge pages: then
        // there is nothing to refuse.
        let _ = unsafe { madvise(address, len, Advice::LinuxNoHugepage) };
        let start = NonNull::new(address.cast()).expect("the kernel does not map address zero");
        Ok(Pages { start, len })
    }
}

impl Deref for Pages {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        // SAFETY: `len` bytes that are mapped and have a value for as long as `self`, and change only through `&mut self`.
        unsafe { core::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl DerefMut for Pages {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above; nothing else refers to them while `self` is borrowed.
        unsafe { core::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: the range that `new` mapped; no reference into it outlives `self`.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.len) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_zero_at_first_and_stay_as_they_are_written() {
        let mut pages = Pages::new(10_000).expect("there is memory");
        assert!(pages.len() == 10_000 && pages.iter().all(|byte| *byte == 0));
        pages[9_999] = 7;
        assert_eq!(pages.iter().map(|byte| u32::from(*byte)).sum::<u32>(), 7);
    }

    #[test]
    fn what_no_system_has_is_refused() {
        assert_eq!(Pages::new(usize::MAX / 2).map(|_| ()), Err(Errno::NOMEM));
    }
}

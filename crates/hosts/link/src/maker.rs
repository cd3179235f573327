//! The process that made something, for what a forked child inherits and must not use.

use core::ptr::NonNull;
use core::sync::atomic::{AtomicBool, Ordering};
use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};

/// One page; the kernel rounds up to its own.
const PAGE_BYTES: usize = 4096;

/// Remembers which process made it. To ask costs one load: the mark lies in a page that the kernel wipes in a forked child.
#[derive(Debug)]
pub struct Maker {
    /// True in the process that made it.
    mark: NonNull<AtomicBool>,
}

// SAFETY: an address of memory that stays mapped until the drop, reached as an atomic only.
unsafe impl Send for Maker {}
// SAFETY: as above.
unsafe impl Sync for Maker {}

impl Maker {
    /// The process that calls.
    ///
    /// # Errors
    /// The system gives no memory, or is Linux before 4.14.
    pub fn this_process() -> Result<Maker, Errno> {
        let maker = Maker::another_process()?;
        maker.mark().store(true, Ordering::Relaxed);
        Ok(maker)
    }

    /// Some other process, as a forked child finds it in place of its parent's: for tests of what a child must leave alone.
    ///
    /// # Errors
    /// As [`Maker::this_process`].
    pub fn another_process() -> Result<Maker, Errno> {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping, at an address that the kernel chooses.
        let page = unsafe { mmap_anonymous(core::ptr::null_mut(), PAGE_BYTES, access, MapFlags::PRIVATE)? };
        let mark = NonNull::new(page.cast()).expect("the kernel does not map address zero");
        let maker = Maker { mark };
        // SAFETY: the page just mapped, and nothing else.
        unsafe { madvise(page, PAGE_BYTES, Advice::LinuxWipeOnFork)? };
        Ok(maker)
    }

    /// Whether this is the process that made it, and no child forked from that.
    #[inline]
    #[must_use]
    pub fn is_this_process(&self) -> bool {
        self.mark().load(Ordering::Relaxed)
    }

    /// Has it as a forked child finds it, from now on: for tests of what a child must leave alone.
    pub fn forget(&self) {
        self.mark().store(false, Ordering::Relaxed);
    }

    #[inline]
    fn mark(&self) -> &AtomicBool {
        // SAFETY: the page is mapped for as long as `self`; its first byte is zero, which is false, or what was stored.
        unsafe { self.mark.as_ref() }
    }
}

impl Drop for Maker {
    fn drop(&mut self) {
        // SAFETY: the page that `another_process` mapped; nothing but `self` points into it.
        let _ = unsafe { munmap(self.mark.as_ptr().cast(), PAGE_BYTES) };
    }
}

//! How much bulk this process has copied, into and out of rings and into segments: what is lent where it lies is not in it.

use core::sync::atomic::{AtomicU64, Ordering};

static COPIED: AtomicU64 = AtomicU64::new(0);

/// So many bytes are copied.
pub(super) fn count(bytes: usize) {
    COPIED.fetch_add(bytes as u64, Ordering::Relaxed);
}

/// Bytes of bulk that links over shared memory of this process have copied so far, sent and received ones. Grows only; for tests and
/// measurements that show that something was not copied.
#[must_use]
pub fn bulk_bytes_copied() -> u64 {
    COPIED.load(Ordering::Relaxed)
}

//! Areas over ordinary memory, for tests: Miri knows no shared memory.

use super::area::{OwnArea, PeerArea};
use core::ptr::NonNull;
use core::sync::atomic::AtomicU64;
use std::sync::Arc;

/// A cache line that may be written through a shared reference.
#[derive(Default)]
#[repr(align(64))]
struct Line {
    _words: [AtomicU64; 8],
}

/// The two sides of `size` bytes of zeros.
pub(super) fn areas(size: usize) -> (OwnArea, PeerArea) {
    let lines: Arc<Vec<Line>> = Arc::new((0..size / 64).map(|_| Line::default()).collect());
    let base = NonNull::new(lines.as_ptr().cast_mut().cast()).expect("not empty");
    // SAFETY: `size` initialised bytes of atomics, kept by the `Arc`, written through this one `OwnArea`.
    unsafe { (OwnArea::new(base, size, lines.clone()), PeerArea::new(base, size, lines)) }
}

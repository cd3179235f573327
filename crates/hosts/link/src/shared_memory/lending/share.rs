//! How many places a link gets of this process's descriptors.

use super::PLACES;
use core::sync::atomic::{AtomicUsize, Ordering};
use rustix::process::{Resource, getrlimit};

/// The share of this process's descriptors that segments may take.
const DESCRIPTORS_SHARE: u64 = 4;

/// Places that links have, all together.
static TAKEN: AtomicUsize = AtomicUsize::new(0);

/// Places of one link, given back when it ends.
#[derive(Debug)]
pub(crate) struct Share(usize);

impl Share {
    /// As many as there are left, at most [`PLACES`].
    pub(crate) fn take() -> Share {
        let descriptors = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        let all = usize::try_from(descriptors / DESCRIPTORS_SHARE).unwrap_or(usize::MAX);
        let mut places = 0;
        let _ = TAKEN.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |taken| {
            places = all.saturating_sub(taken).min(PLACES);
            Some(taken + places)
        });
        Share(places)
    }

    /// How many.
    pub(crate) fn places(&self) -> usize {
        self.0
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        TAKEN.fetch_sub(self.0, Ordering::Relaxed);
    }
}

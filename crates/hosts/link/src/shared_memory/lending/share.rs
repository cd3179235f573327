//! How many places a link gets of this process's descriptors.
//!
//! A link has one place from the first, so that something can be lent, and twice as many whenever it has used all it has or lacked one, up to [`PLACES`]. So
//! who is connected and lends nothing takes one from those who lend, and nobody takes more than twice what it has had use for. A place is
//! given back with its link: the peer may have been told of it.

use super::PLACES;
use core::sync::atomic::{AtomicUsize, Ordering};
use rustix::process::{Resource, getrlimit};

/// The share of this process's descriptors that segments may take.
const DESCRIPTORS_SHARE: u64 = 4;

/// Places that links have, all together.
static TAKEN: AtomicUsize = AtomicUsize::new(0);

/// Places of one link.
#[derive(Debug)]
pub(crate) struct Share(usize);

impl Share {
    /// Those of a new link.
    pub(crate) fn take() -> Share {
        Share(reserve(1))
    }

    /// As many again, or those that are left. False if there is none, or there are enough.
    pub(crate) fn grow(&mut self) -> bool {
        let more = reserve(self.0.max(1).min(PLACES - self.0));
        self.0 += more;
        more > 0
    }

    /// How many.
    pub(crate) fn places(&self) -> usize {
        self.0
    }
}

/// So many places, or those that are left.
fn reserve(most: usize) -> usize {
    let descriptors = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    let all = usize::try_from(descriptors / DESCRIPTORS_SHARE).unwrap_or(usize::MAX);
    let mut places = 0;
    let _ = TAKEN.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |taken| {
        places = all.saturating_sub(taken).min(most);
        Some(taken + places)
    });
    places
}

impl Drop for Share {
    fn drop(&mut self) {
        TAKEN.fetch_sub(self.0, Ordering::Relaxed);
    }
}

//! How a process asks another one to be woken, when each may write only its own memory.
//!
//! A bell is a word that only its owner writes: odd while the owner waits, even while it does not, larger at every
//! change. The other side looks at it after making work, and wakes the owner once for each odd value:
//!
//! ```text
//!   owner                          other side
//!   bell = odd                     work is visible
//!   fence                          fence
//!   looks for work; sleeps if none looks at the bell; wakes if odd
//! ```
//!
//! With a store-load fence on both sides, at least one of the two sees the other. A side that dies in between leaves
//! nothing to clean up: only the owner clears its bell.

use crate::sync::{AtomicU32, Ordering, fence};

/// Announces a wait. Look for work after it.
pub(crate) fn announce(bell: &AtomicU32) {
    let value = bell.load(Ordering::Relaxed);
    bell.store((value | 1).wrapping_add(if value & 1 == 1 { 2 } else { 0 }), Ordering::Relaxed);
    fence(Ordering::SeqCst);
}

/// Ends what [`announce`] began.
pub(crate) fn withdraw(bell: &AtomicU32) {
    let value = bell.load(Ordering::Relaxed);
    if value & 1 == 1 {
        bell.store(value.wrapping_add(1), Ordering::Relaxed);
    }
}

/// Looks at one bell of the other process.
#[derive(Debug, Default)]
pub(crate) struct Ringer {
    /// The value it woke for last.
    pub(super) answered: u32,
}

impl Ringer {
    /// Whether the bell's owner is to be woken for work that was made before this call.
    #[inline]
    pub(crate) fn is_wanted(&mut self, bell: &AtomicU32) -> bool {
        fence(Ordering::SeqCst);
        let value = bell.load(Ordering::Relaxed);
        let wanted = value & 1 == 1 && value != self.answered;
        if wanted {
            self.answered = value;
        }
        wanted
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn each_announcement_is_answered_once() {
        let (bell, mut ringer) = (AtomicU32::new(0), Ringer::default());
        assert!(!ringer.is_wanted(&bell));
        for _ in 0..3 {
            announce(&bell);
            assert!(ringer.is_wanted(&bell));
            assert!(!ringer.is_wanted(&bell));
            announce(&bell);
            assert!(ringer.is_wanted(&bell), "a second announcement wants a second answer");
            withdraw(&bell);
            withdraw(&bell);
            assert!(!ringer.is_wanted(&bell));
        }
    }

    #[test]
    fn the_word_may_overflow() {
        let (bell, mut ringer) = (AtomicU32::new(u32::MAX - 1), Ringer::default());
        announce(&bell);
        assert!(ringer.is_wanted(&bell));
        withdraw(&bell);
        assert!(!ringer.is_wanted(&bell));
        announce(&bell);
        assert!(ringer.is_wanted(&bell));
    }
}

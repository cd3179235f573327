//! How a lend comes back.
//!
//! ```text
//!   borrower                          lender
//!   reads the bytes                   returned == lent ?
//!   returned += 1       (release)     then it writes them again       (acquire)
//! ```

use crate::sync::{AtomicU32, Ordering};

/// Counts a return. The borrower has read what it will ever read of the lend.
pub(crate) fn give_back(returned: &AtomicU32) {
    returned.fetch_add(1, Ordering::Release);
}

/// Whether all `lent` lends came back. A word that counts others than these is never equal: its borrower harms itself.
pub(crate) fn is_back(returned: &AtomicU32, lent: u32) -> bool {
    returned.load(Ordering::Acquire) == lent
}

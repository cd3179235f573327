//! What is wrong with a line.

use core::num::NonZeroU64;
use core::time::Duration;

/// What is wrong with a line. The default is nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Impairment {
    /// Everything comes this much later.
    pub delay: Duration,
    /// And by up to this much more, evenly distributed. It does not reorder.
    pub jitter: Duration,
    /// Of a million, how many never come.
    pub drop_per_million: u32,
    /// Of a million, how many come twice.
    pub duplicate_per_million: u32,
    /// Of a million, how many come [`Impairment::reorder_by`] later than their place in the order.
    pub reorder_per_million: u32,
    /// How much later those come.
    pub reorder_by: Duration,
    /// Bytes a second; `None`: as fast as they come.
    pub bytes_per_second: Option<NonZeroU64>,
    /// How many bytes wait at most until the rate lets them through; what comes beyond is dropped. `None`: any number. Without a
    /// rate nothing waits.
    pub queue_bytes: Option<NonZeroU64>,
}

impl Impairment {
    /// Whether anything may be lost, doubled or reordered.
    #[must_use]
    pub fn loses(&self) -> bool {
        self.drop_per_million > 0
            || self.duplicate_per_million > 0
            || self.reorder_per_million > 0
            || self.bytes_per_second.is_some() && self.queue_bytes.is_some()
    }
}

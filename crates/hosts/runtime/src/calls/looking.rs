//! What a program may look at without waiting: what has come, how the link failed, how fast the network is.

use super::{Calls, Pending};

impl Calls {
    /// How the link failed, in words. None where it has not, and where the protocol had it closed.
    #[must_use]
    pub fn lost(&self) -> Option<String> {
        self.own().ok()?.lost()
    }

    /// Bytes a second that the network to the peer that answers now was seen to carry ([`Sender::delivery_rate`](quintet_link::Sender::delivery_rate)).
    #[must_use]
    pub fn delivery_rate(&self) -> Option<u64> {
        self.own().ok()?.delivery_rate()
    }

    /// Whether the answer is there, for [`Calls::wait`] to take.
    pub fn is_answered(&self, pending: Pending) -> bool {
        self.own().map_or(true, |mut engine| engine.slots().is_filled(pending.0))
    }
}

//! What a program may look at without waiting: what has come, how the link failed, how fast the network is.

use super::{Calls, Pending};
use quintet_contract::NodeId;

impl Calls {
    /// How the link failed, in words, and what that means if [`Calls::say_of_loss`] was told. None where it has not, and where the protocol had it closed.
    #[must_use]
    pub fn lost(&self) -> Option<String> {
        let lost = self.own().ok()?.lost()?;
        Some(match self.loss.get() {
            Some(loss) => format!("{loss}: {lost}"),
            None => lost,
        })
    }

    /// Has [`Calls::lost`] say what the loss of the link means: its first caller has said it for good.
    pub fn say_of_loss(&self, loss: String) {
        self.loss.get_or_init(|| loss);
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

    /// Whether there is a link to a node.
    #[must_use]
    pub fn is_linked(&self, node: NodeId) -> bool {
        self.own().is_ok_and(|engine| engine.is_linked(node))
    }
}

//! What frames cost the processors at both ends of their way.

use crate::picos::Picos;

/// What each frame between two addresses costs the processors at both ends, in cycles, besides the work that protocols
/// declare. A protocol declares what it computes; what the layers, the link and the system need for a frame depends on
/// where it runs, so the host charges it. Without, frames cost nothing.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct FrameCosts {
    /// Of the sender, before the frame departs.
    pub send: f64,
    /// Of the sender for each byte, headers included: it copies them.
    pub send_byte: f64,
    /// Of the receiver, before what the frame causes departs.
    pub receive: f64,
    /// Of the receiver for each byte.
    pub receive_byte: f64,
    /// How long a receiver with nothing to do looks for frames before it sleeps.
    pub patience: Picos,
    /// Of the receiver if it slept when the frame came.
    pub wake_up: f64,
    /// How long a processor does nothing before it sleeps itself.
    pub shallow: Picos,
    /// Of a receiver that slept on a processor that slept: instead of `wake_up`.
    pub deep_wake_up: f64,
}

/// How long the two that a frame may have to wake did nothing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rested {
    pub(crate) node: Picos,
    pub(crate) processor: Picos,
}

impl FrameCosts {
    #[expect(clippy::cast_precision_loss, reason = "costs have fewer digits")]
    pub(crate) fn sending(&self, bytes: u64) -> f64 {
        self.send + self.send_byte * bytes as f64
    }

    #[expect(clippy::cast_precision_loss, reason = "costs have fewer digits")]
    pub(crate) fn receiving(&self, bytes: u64, rested: Rested) -> f64 {
        let waking = match (rested.node > self.patience, rested.processor > self.shallow) {
            (false, _) => 0.0,
            (true, false) => self.wake_up,
            (true, true) => self.deep_wake_up,
        };
        self.receive + self.receive_byte * bytes as f64 + waking
    }
}

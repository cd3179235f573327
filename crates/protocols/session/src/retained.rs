//! Both directions of a session whose links lose nothing but may be cut: what is kept for the next link, and when to say what has
//! arrived.
//!
//! Acknowledgements ride on frames. One goes alone when half of the window is unacknowledged, by frames or bytes: a peer that only
//! sends never stops for want of an acknowledgement, and pays one short frame for half a window. Less than that stays kept until
//! there is a frame to ride on, which costs memory within the window and nothing else: whoever resumes says what has arrived. With
//! keep-alive an idle session is acknowledged by its first ping and the answer. So nothing here needs a timer.

use crate::config::WindowLimits;
use crate::retention::Retention;
use crate::sequence::Sequence;
use crate::window::Progress;

#[derive(Debug)]
pub(crate) struct Retained {
    pub(crate) frames: Retention,
    limits: WindowLimits,
    /// Frames that arrived since this side last said so, and their bytes.
    arrived: WindowLimits,
    /// The peer was pinged or pings: a frame more now spares both the memory.
    asked: bool,
}

impl Retained {
    /// Both sides have the same `limits`, so that each knows when the other has half of them unacknowledged.
    pub(crate) fn new(limits: WindowLimits) -> Self {
        let arrived = WindowLimits::default();
        Retained { frames: Retention::new(limits), limits, arrived, asked: false }
    }

    /// Room for a frame of so many bytes; remembers a refusal. With less than half of the bytes kept any frame is taken: the peer
    /// acknowledges no less than half, so that one which waited for more room would wait for ever.
    pub(crate) fn has_room(&mut self, bytes: usize) -> bool {
        self.frames
            .has_room(|kept, limit| kept < limit.div_ceil(2) || kept.saturating_add(bytes as u64) <= limit)
    }

    /// A frame of so many bytes, prefix included, has arrived.
    pub(crate) fn arrived(&mut self, bytes: usize) {
        self.arrived.frames = self.arrived.frames.saturating_add(1);
        self.arrived.bytes = self.arrived.bytes.saturating_add(bytes as u64);
    }

    /// The peer has everything before `acknowledged`.
    pub(crate) fn acknowledge(&mut self, acknowledged: Sequence) -> Progress {
        match self.frames.release(acknowledged) {
            None => Progress::Impossible,
            Some(0) => Progress::None,
            Some(_) => Progress::Released,
        }
    }

    /// What has arrived is acknowledged without company.
    pub(crate) fn ask(&mut self) {
        self.asked = self.arrived.frames > 0;
    }

    /// Whether an acknowledgement has to go alone.
    pub(crate) fn is_due(&self) -> bool {
        let WindowLimits { frames, bytes } = self.arrived;
        let half = frames >= self.limits.frames.div_ceil(2) || bytes >= self.limits.bytes.div_ceil(2);
        frames > 0 && (half || self.asked)
    }

    /// What has arrived was said.
    pub(crate) fn acknowledged(&mut self) {
        self.arrived = WindowLimits::default();
        self.asked = false;
    }
}

#[cfg(test)]
#[path = "retained/tests.rs"]
mod tests;

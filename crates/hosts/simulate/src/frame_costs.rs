//! What frames cost the processors at both ends of their way.

use crate::module::modelled_bytes;
use crate::picos::Picos;
use crate::processor::Processor;
use quintet_contract::Frame;

/// What each frame between two nodes costs the processors at both ends, in cycles, besides the work that protocols
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
    /// How long frames are copied in pieces; `None`: every frame is written as a whole, then read as a whole.
    pub pieces: Option<Pieces>,
    /// What bulk is lent; `None`: all of it is copied as the rest of its frame.
    pub lending: Option<Lending>,
}

/// Long bulk that crosses no link: its sender copies it to where the receiver can look at it, and the receiver leaves it there.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Lending {
    /// The shortest bulk that is lent.
    pub from: u64,
    /// Of the sender for each byte of it, before the frame departs.
    pub byte: f64,
}

/// A frame longer than a piece departs when its first piece is written, and the receiver reads each piece while the sender
/// writes the next. It has read the whole when it has read the last piece.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pieces {
    /// The length of a piece, from 1.
    pub bytes: u64,
    /// A receiver that sleeps is woken after the first piece of a frame of so many bytes; of a shorter one after the last.
    pub early_wake: u64,
}

/// How long the two that a frame may have to wake did nothing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rested {
    pub(crate) thread: Picos,
    pub(crate) processor: Picos,
}

/// The bytes of a frame: those that are copied through the link, and those that are lent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    copied: u64,
    lent: u64,
}

/// A frame at its receiver.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reception {
    pub(crate) load: Load,
    /// How long ago it came.
    pub(crate) waited: Picos,
    pub(crate) rested: Rested,
}

impl FrameCosts {
    /// What a frame has to be copied, and what is lent of it.
    pub(crate) fn load(&self, frame: &Frame<'_>) -> Load {
        let bulk = frame.bulk.len() as u64;
        let lent = if self.lending.is_some_and(|lending| bulk >= lending.from) { bulk } else { 0 };
        Load { copied: modelled_bytes(frame).saturating_sub(lent), lent }
    }

    /// Of the sender: until the frame departs, and from then on.
    pub(crate) fn sending(&self, Load { copied, lent }: Load) -> (f64, f64) {
        let lead = self.lead(copied);
        let lending = self.lending.map_or(0.0, |lending| of_bytes(lending.byte, lent));
        let before = self.send + lending + of_bytes(self.send_byte, lead);
        (before, of_bytes(self.send_byte, copied - lead))
    }

    /// How long the receiver takes for a frame. A sender at the other end of memory is as fast as it is.
    pub(crate) fn receiving(&self, frame: Reception, processor: &Processor) -> Picos {
        let Reception { load: Load { copied: bytes, .. }, waited, rested } = frame;
        let rest = bytes - self.lead(bytes);
        let reading = |bytes| processor.time_of(of_bytes(self.receive_byte, bytes));
        // Nobody waits for what is written already.
        let written = processor.time_of(of_bytes(self.send_byte, rest)) - waited;
        let awake = match self.waking(rested) {
            None => Picos::ZERO,
            Some(cycles) if self.wakes_early(bytes) => processor.time_of(cycles),
            Some(cycles) => written + processor.time_of(cycles),
        };
        let last_read = (written - awake) + reading(self.last_piece(bytes));
        awake + reading(bytes).max(last_read) + processor.time_of(self.receive)
    }

    /// What waking the receiver costs; none if it does not sleep.
    fn waking(&self, rested: Rested) -> Option<f64> {
        match (rested.thread > self.patience, rested.processor > self.shallow) {
            (false, _) => None,
            (true, false) => Some(self.wake_up),
            (true, true) => Some(self.deep_wake_up),
        }
    }

    fn wakes_early(&self, bytes: u64) -> bool {
        self.pieces.is_some_and(|pieces| bytes >= pieces.early_wake)
    }

    /// What is written of a frame before it departs.
    fn lead(&self, bytes: u64) -> u64 {
        self.pieces.map_or(bytes, |pieces| bytes.min(pieces.bytes))
    }

    /// What is written of a frame last.
    fn last_piece(&self, bytes: u64) -> u64 {
        match self.pieces {
            Some(pieces) if bytes > pieces.bytes => (bytes - 1) % pieces.bytes + 1,
            _ => bytes,
        }
    }
}

/// Cycles.
#[expect(clippy::cast_precision_loss, reason = "costs have fewer digits")]
fn of_bytes(each: f64, bytes: u64) -> f64 {
    each * bytes as f64
}

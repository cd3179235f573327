//! A worker's computing side.

use super::{COMPUTE, COMPUTED, TASK};
use crate::costs::CYCLES;
use quintet_contract::{Frame, Input, Outbox, Protocol, Random, Time, Token};
use quintet_simulate::Distribution;

/// Computes one task after another. It stands beside its worker on the same processor, as the program's thread stands
/// beside the one that renews leases.
#[derive(Debug)]
pub(crate) struct Compute {
    seed: u64,
    time: Distribution,
}

impl Compute {
    pub(crate) fn new(seed: u64, time: Distribution) -> Compute {
        Compute { seed, time }
    }

    /// The nanoseconds of a task at speed 1, whoever computes it.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "`as` saturates at both ends"
    )]
    fn nanos(&self, task: Token) -> u64 {
        let seconds = self.time.sample(&mut Random::new(self.seed, task.0));
        (seconds * CYCLES).round() as u64
    }
}

impl Protocol for Compute {
    fn handle(&mut self, _now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        let Input::Frame(from, Frame { kind: TASK, token, .. }) = input else { return };
        let mut left = self.nanos(token);
        while left > 0 {
            let piece = u32::try_from(left).unwrap_or(u32::MAX);
            out.work(COMPUTE, piece);
            left -= u64::from(piece);
        }
        // The link to its worker holds more than the one frame that is ever under way.
        let _ = out.send(from, COMPUTED, token, &[]);
    }

    fn deadline(&self) -> Option<Time> {
        None
    }
}

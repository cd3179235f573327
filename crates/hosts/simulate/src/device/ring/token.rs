//! A station's token rotation timer.

use crate::picos::Picos;

/// The token rotation timer (TRT) and late counter (Late_Ct) of one station (ANSI X3.139-1987, 4.3.3).
///
/// TRT counts down from the target; each time it expires, Late_Ct goes up and TRT starts again. A token that finds
/// Late_Ct at 0 is early: what is left of TRT may be used for asynchronous frames, and TRT starts again. A token that
/// finds it above 0 is late: Late_Ct is cleared, TRT goes on, and there is no time for asynchronous frames.
#[derive(Clone, Copy, Debug)]
pub(super) struct RotationTimer {
    expires: Picos,
    late: u64,
}

impl RotationTimer {
    pub(super) fn new(target: Picos) -> RotationTimer {
        RotationTimer { expires: target, late: 0 }
    }

    /// The token is here: how long asynchronous frames may be started.
    pub(super) fn visit(&mut self, now: Picos, target: Picos) -> Picos {
        if self.expires <= now {
            let expired = (now - self.expires).0 / target.0.max(1) + 1;
            self.late += expired;
            self.expires += target.times(expired);
        }
        if self.late > 0 {
            self.late = 0;
            return Picos::ZERO;
        }
        let left = self.expires - now;
        self.expires = now + target;
        left
    }

    /// The token went past without stopping, first at `first`, `rounds` times in all and once every `rotation`.
    ///
    /// Only three visits can differ from the steady state: the first clears Late_Ct; TRT may expire once more before the
    /// second; from the third on every token is early, because a rotation takes less than the target, and TRT starts again.
    pub(super) fn pass(&mut self, first: Picos, rounds: u64, rotation: Picos, target: Picos) {
        for round in 0..rounds.min(3) {
            self.visit(first + rotation.times(round), target);
        }
        if rounds > 3 {
            *self = RotationTimer::new(first + rotation.times(rounds - 1) + target);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TARGET: Picos = Picos(8_000);

    #[test]
    fn an_early_token_leaves_the_rest_of_the_rotation_and_a_late_one_nothing() {
        let mut timer = RotationTimer::new(TARGET);
        assert_eq!(timer.visit(Picos(1_000), TARGET), Picos(7_000));
        assert_eq!(
            timer.visit(Picos(10_000), TARGET),
            Picos::ZERO,
            "expired at 9000: late, and not set again"
        );
        assert_eq!(timer.visit(Picos(12_000), TARGET), Picos(5_000), "the timer went on to 17000");
        assert_eq!(timer.visit(Picos(20_000), TARGET), Picos::ZERO, "exactly on the target is late");
    }

    #[test]
    fn passing_at_a_stroke_is_passing_one_by_one() {
        for expired in [0, 3_000, 9_500, 17_900, 100_000] {
            for rounds in 0..100 {
                let mut one = RotationTimer::new(TARGET);
                let mut other = one;
                for round in 0..rounds {
                    one.visit(Picos(expired + 900 * round), TARGET);
                }
                other.pass(Picos(expired), rounds, Picos(900), TARGET);
                assert_eq!((one.expires, one.late), (other.expires, other.late), "{expired} {rounds}");
            }
        }
    }
}

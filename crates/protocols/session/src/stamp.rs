//! When a frame departed, as it travels with it and comes back with the acknowledgement.

use quintet_contract::{Span, Time};

/// The sender's clock in microseconds, modulo 2^32: it comes round after 71 minutes, many times what an answer may take. As the
/// timestamps of RFC 7323 it is the sender's own: who sends it back need not understand it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Stamp(pub(crate) u32);

impl Stamp {
    /// Stands for "none": no stamp has this value.
    pub(crate) const NONE: Stamp = Stamp(0);
    /// How exact a stamp is.
    pub(crate) const UNIT: Span = Span::from_micros(1);

    pub(crate) fn of(now: Time) -> Stamp {
        #[expect(clippy::cast_possible_truncation, reason = "it comes round")]
        let micros = (now.0 / Stamp::UNIT.0) as u32;
        Stamp(micros.max(1))
    }

    /// The time passed since, if it is one that this side gave at `oldest` or later. Too long by at most a unit.
    pub(crate) fn age(self, oldest: Time, now: Time) -> Option<Span> {
        let micros = Stamp::of(now).0.wrapping_sub(self.0);
        let age = Span::from_micros(u64::from(micros));
        let possible = self != Stamp::NONE && age.0 <= now.since(oldest).0 + Stamp::UNIT.0;
        possible.then_some(age)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_age_is_known_across_the_turn_and_never_before_it_can_be() {
        let turn = 1000 * (1u64 << 32);
        for sent in [0, 1, 999, 5_000_000, turn - 1, turn, turn + 1] {
            let (sent, now) = (Time(sent), Time(sent) + Span::from_millis(7));
            let age = Stamp::of(sent).age(sent, now).expect("it was given then");
            assert!(age.0.abs_diff(7_000_000) <= Stamp::UNIT.0, "{age}");
            assert_eq!(Stamp::of(sent).age(now, now), None, "nothing was given so early");
        }
        assert_eq!(Stamp::NONE.age(Time::ZERO, Time(9)), None);
        assert_eq!(Stamp::of(Time(9000)).age(Time::ZERO, Time(5000)), None, "of the future");
    }
}

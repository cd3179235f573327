//! How long a station stays away after a collision.

use super::error::{DeviceError, above_zero};
use crate::picos::Picos;
use quintet_contract::Random;

/// Truncated binary exponential back-off (IEEE 802.3, 4.2.3.2.5): after the n-th collision of a frame a station waits
/// r slots, r drawn evenly from 0 to 2^k - 1 with k = min(n, 10).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BackOff {
    /// The unit of waiting, above zero. 10 Mb/s: 51.2 us.
    pub slot_time: Picos,
    /// How often a frame is sent at most, above zero: it is dropped at its collision of this number. Standard: 16.
    pub retry_limit: u32,
}

impl BackOff {
    /// The standard's for 10 Mb/s.
    pub const TEN_MEGABIT: BackOff = BackOff { slot_time: Picos(51_200_000), retry_limit: 16 };

    /// Whether it waits and tries at all.
    ///
    /// # Errors
    ///
    /// [`DeviceError::Zero`].
    pub fn check(&self) -> Result<(), DeviceError> {
        above_zero("slot time", self.slot_time)?;
        if self.retry_limit == 0 {
            return Err(DeviceError::Zero { parameter: "retry limit" });
        }
        Ok(())
    }

    /// How long to wait after so many collisions; `None`: the frame is given up.
    pub(crate) fn draw(&self, collisions: u32, random: &mut Random) -> Option<Picos> {
        (collisions < self.retry_limit).then(|| self.slot_time.times(random.below(1 << collisions.min(10))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_range_doubles_up_to_ten_times_and_the_sixteenth_collision_is_the_last() {
        let mut random = Random::new(1, 1);
        for collisions in 1..16 {
            let slots = 1 << collisions.min(10);
            let mut seen = vec![0; slots];
            for _ in 0..100 * slots {
                let wait = BackOff::TEN_MEGABIT.draw(collisions, &mut random).unwrap();
                seen[(wait.0 / 51_200_000) as usize] += 1;
            }
            assert!(seen.iter().all(|count| (50..=160).contains(count)), "{collisions} collisions: {seen:?}");
        }
        assert_eq!(BackOff::TEN_MEGABIT.draw(16, &mut random), None);
    }
}

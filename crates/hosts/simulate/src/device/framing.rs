//! How bytes become words and blocks, and how long they take.

use super::error::{DeviceError, above_zero};
use crate::picos::Picos;

/// How a device cuts messages up, after the transfer device of NETWORK II.5. A word is `bits_per_cycle` times
/// `cycles_per_word` bits; the last word of a block is sent whole. A message longer than a block goes as several, each
/// of which gets the medium on its own: other stations may come in between.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Framing {
    /// The time of one cycle, above zero. Ethernet: 0.1 us.
    pub cycle_time: Picos,
    /// The bits carried side by side in a cycle, above zero. A serial network: 1.
    pub bits_per_cycle: u32,
    /// The cycles of one word, above zero. Octets on a serial network: 8.
    pub cycles_per_word: u32,
    /// Time added to every word.
    pub word_overhead: Picos,
    /// The largest block in words; 0: a message is one block however long it is. Ethernet: 1518 octets.
    pub words_per_block: u32,
    /// Time added to every block: its header and trailer.
    pub block_overhead: Picos,
}

impl Framing {
    /// One bit a cycle, words of an octet, no overhead, no blocks.
    ///
    /// The cycle is rounded to the nearest picosecond; a rate of 0 gives a cycle of [`Picos::NEVER`].
    #[must_use]
    pub fn serial(bits_per_second: u64) -> Framing {
        let nearest = (1_000_000_000_000 + bits_per_second / 2).checked_div(bits_per_second);
        Framing {
            cycle_time: nearest.map_or(Picos::NEVER, Picos),
            bits_per_cycle: 1,
            cycles_per_word: 8,
            word_overhead: Picos::ZERO,
            words_per_block: 0,
            block_overhead: Picos::ZERO,
        }
    }

    /// Whether blocks can be made and take time.
    ///
    /// # Errors
    ///
    /// [`DeviceError::Zero`] for a cycle, a word or its bits; [`DeviceError::BlockSize`] for a block below one byte or
    /// above 2^63 bits.
    pub fn check(&self) -> Result<(), DeviceError> {
        above_zero("cycle time", self.cycle_time)?;
        if self.bits_per_cycle == 0 {
            return Err(DeviceError::Zero { parameter: "bits per cycle" });
        }
        if self.cycles_per_word == 0 {
            return Err(DeviceError::Zero { parameter: "cycles per word" });
        }
        let bits = self.word_bits() * u128::from(self.words_per_block);
        if self.words_per_block > 0 && !(8..=1 << 63).contains(&bits) {
            return Err(DeviceError::BlockSize { bits });
        }
        Ok(())
    }

    /// The bytes of the largest block: whole bytes only. `u64::MAX` without blocks.
    #[must_use]
    pub fn block_bytes(&self) -> u64 {
        if self.words_per_block == 0 {
            return u64::MAX;
        }
        u64::try_from(self.word_bits() * u128::from(self.words_per_block) / 8).unwrap_or(u64::MAX)
    }

    /// The time of one block with so many bytes, overhead included. Saturates at [`Picos::NEVER`].
    #[must_use]
    pub fn block_time(&self, bytes: u64) -> Picos {
        let words = (u128::from(bytes) * 8).div_ceil(self.word_bits().max(1));
        let word = self.cycle_time.times(u64::from(self.cycles_per_word)) + self.word_overhead;
        let words = u64::try_from(words).map_or(Picos::NEVER, |words| word.times(words));
        words + self.block_overhead
    }

    fn word_bits(&self) -> u128 {
        u128::from(self.bits_per_cycle) * u128::from(self.cycles_per_word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_whole_and_overheads_add_up() {
        let bus = Framing {
            bits_per_cycle: 32,
            cycles_per_word: 2,
            word_overhead: Picos(5),
            words_per_block: 4,
            block_overhead: Picos(7),
            cycle_time: Picos(10),
        };
        assert_eq!(bus.check(), Ok(()));
        assert_eq!(bus.block_bytes(), 32);
        assert_eq!(bus.block_time(0), Picos(7));
        assert_eq!(bus.block_time(1), Picos(2 * 10 + 5 + 7));
        assert_eq!(bus.block_time(9), Picos(2 * 25 + 7));
        assert_eq!(Framing { cycle_time: Picos::NEVER, ..bus }.block_time(u64::MAX), Picos::NEVER);
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let good = Framing::serial(10_000_000);
        assert_eq!(good.cycle_time, Picos(100_000));
        assert_eq!(good.check(), Ok(()));
        let zero = |parameter| Err(DeviceError::Zero { parameter });
        assert_eq!(Framing { cycle_time: Picos::ZERO, ..good }.check(), zero("cycle time"));
        assert_eq!(Framing { bits_per_cycle: 0, ..good }.check(), zero("bits per cycle"));
        assert_eq!(Framing { cycles_per_word: 0, ..good }.check(), zero("cycles per word"));
        let small = Framing { cycles_per_word: 1, words_per_block: 7, ..good };
        assert_eq!(small.check(), Err(DeviceError::BlockSize { bits: 7 }));
    }
}

//! How many frames of one link are handled together.

/// Frames of one link that are handled in one go, and whose answers are written together. A few at first, so that nobody waits for
/// long; more, where a burst costs system calls, is whole and has more behind it: those who come later wait for the earlier ones in any case.
///
/// ```
/// let mut burst = quintet_link::Burst::default();
/// assert_eq!(burst.frames(), 64);
/// burst.ended(true);
/// assert_eq!(burst.frames(), 128);
/// burst.ended(false);
/// assert_eq!(burst.frames(), 64);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Burst(usize);

impl Default for Burst {
    fn default() -> Self {
        Burst(Self::FIRST)
    }
}

impl Burst {
    /// Frames of a burst after which nothing is known of those behind it.
    const FIRST: usize = 64;
    /// Frames at most.
    const LONGEST: usize = 256;

    /// How many frames the next one may have.
    #[inline]
    #[must_use]
    pub fn frames(self) -> usize {
        self.0
    }

    /// One has ended. `goes_on`: it was whole, and there are frames behind it.
    #[inline]
    pub fn ended(&mut self, goes_on: bool) {
        self.0 = if goes_on { Self::LONGEST.min(2 * self.0) } else { Self::FIRST };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_grows_while_frames_come_and_begins_anew_behind_a_pause() {
        let mut burst = Burst::default();
        let lengths: Vec<usize> = [true, true, true, true, false, true]
            .into_iter()
            .map(|goes_on| {
                burst.ended(goes_on);
                burst.frames()
            })
            .collect();
        assert_eq!(lengths, [128, 256, 256, 256, 64, 128]);
    }
}

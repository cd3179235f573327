//! Numbers that wrap.

/// The number of a frame in its session and direction. Compared as RFC 1982 (section 3.2) compares serial numbers: two
/// numbers less than half the circle apart have an order.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Sequence(pub(crate) u32);

impl Sequence {
    /// The number `n` frames later.
    pub(crate) fn plus(self, n: usize) -> Sequence {
        Sequence(self.0.wrapping_add(u32::try_from(n).expect("a window holds fewer than 2^32 frames")))
    }

    /// The following number.
    pub(crate) fn next(self) -> Sequence {
        Sequence(self.0.wrapping_add(1))
    }

    /// How many frames later this number is than `other`; negative if earlier.
    pub(crate) fn ahead_of(self, other: Sequence) -> i64 {
        i64::from(self.0.wrapping_sub(other.0).cast_signed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_holds_across_the_wrap() {
        assert_eq!(Sequence(3).ahead_of(Sequence(u32::MAX)), 4);
        assert_eq!(Sequence(u32::MAX).ahead_of(Sequence(3)), -4);
        assert_eq!(Sequence(u32::MAX).next(), Sequence(0));
        assert_eq!(Sequence(u32::MAX - 1).plus(4), Sequence(2));
    }
}

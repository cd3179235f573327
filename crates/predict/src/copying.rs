//! What copying takes, by size.

/// How long the data of a frame take to copy at one end of a link, by their size.
///
/// Sizes with their times, and straight lines between them: data that stay in a processor's caches are copied faster than
/// data that do not, and a line between two sizes is somewhere between both. Below the smallest size and above the largest a
/// byte costs what it costs there. Longer data never take less time.
///
/// ```
/// use quintet_predict::Copying;
///
/// let copying = Copying::by_size([(1_000, 100e-9), (3_000, 500e-9)]);
/// assert_eq!(copying.seconds(2_000), 300e-9);
/// assert_eq!(copying.seconds(500), 50e-9);
/// assert_eq!(copying.seconds(6_000), 1_000e-9);
/// ```
#[derive(Clone, PartialEq, Debug)]
pub struct Copying {
    /// By ascending size, none of no bytes.
    sizes: Vec<Size>,
}

/// A size, and how long it takes.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Size {
    bytes: u64,
    seconds: f64,
}

impl Copying {
    /// So many bytes a second, whatever the size.
    #[must_use]
    pub fn at_rate(bytes_per_second: f64) -> Copying {
        Copying::by_size([(1, 1.0 / bytes_per_second)])
    }

    /// Sizes in bytes and their times in seconds, in any order; of a size that comes twice, the longer time. A time below that
    /// of a smaller size is taken to be as long, and one below 0, or none that is a number, to be 0. No sizes: copying costs
    /// nothing.
    #[must_use]
    pub fn by_size(times: impl IntoIterator<Item = (u64, f64)>) -> Copying {
        let mut sizes: Vec<Size> =
            times.into_iter().map(|(bytes, seconds)| Size { bytes: bytes.max(1), seconds }).collect();
        sizes.sort_by(|a, b| a.bytes.cmp(&b.bytes).then(b.seconds.total_cmp(&a.seconds)));
        sizes.dedup_by_key(|size| size.bytes);
        let mut least = 0.0;
        for size in &mut sizes {
            size.seconds = size.seconds.max(least);
            least = size.seconds;
        }
        Copying { sizes }
    }

    /// The same with another time for a size. Smaller sizes keep theirs: it takes as long as these at least, as larger sizes do.
    pub(crate) fn with(&self, bytes: u64, seconds: f64) -> Copying {
        let others = self.sizes.iter().filter(|size| size.bytes != bytes);
        Copying::by_size(others.map(|size| (size.bytes, size.seconds)).chain([(bytes, seconds)]))
    }

    /// How long so many bytes take, in seconds.
    #[must_use]
    pub fn seconds(&self, bytes: u64) -> f64 {
        let (below, above) = self.sizes.split_at(self.sizes.partition_point(|size| size.bytes < bytes));
        match (below.last(), above.first()) {
            (Some(below), Some(above)) => below.towards(*above, bytes),
            (Some(only), None) | (None, Some(only)) => only.scaled(bytes),
            (None, None) => 0.0,
        }
    }

    /// What each of so many bytes takes, in seconds.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "costs have fewer digits")]
    pub fn each_byte(&self, bytes: u64) -> f64 {
        let bytes = bytes.max(1);
        self.seconds(bytes) / bytes as f64
    }
}

#[expect(clippy::cast_precision_loss, reason = "costs have fewer digits")]
impl Size {
    /// Of a size between this and a larger one.
    fn towards(self, other: Size, bytes: u64) -> f64 {
        let way = (bytes - self.bytes) as f64 / (other.bytes - self.bytes) as f64;
        self.seconds * (1.0 - way) + other.seconds * way
    }

    /// In proportion.
    fn scaled(self, bytes: u64) -> f64 {
        self.seconds * (bytes as f64 / self.bytes as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TIMES: [(u64, f64); 3] = [(4_096, 200e-9), (65_536, 3e-6), (1 << 20, 80e-6)];

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-12 * b.abs()
    }

    #[test]
    fn a_size_takes_what_it_was_said_to() {
        let copying = Copying::by_size(TIMES);
        for (bytes, seconds) in TIMES {
            assert_eq!(copying.seconds(bytes), seconds);
        }
    }

    #[test]
    fn between_two_sizes_is_a_straight_line() {
        let copying = Copying::by_size(TIMES);
        let middle = copying.seconds(u64::midpoint(4_096, 65_536));
        assert!(near(middle, 1.6e-6), "{middle}");
        let quarter = copying.seconds(65_536 + ((1 << 20) - 65_536) / 4);
        assert!(near(quarter, 3e-6 + 77e-6 / 4.0), "{quarter}");
    }

    #[test]
    fn beyond_both_ends_a_byte_costs_what_it_costs_there() {
        let copying = Copying::by_size(TIMES);
        for bytes in [1, 64, 4_095] {
            assert!(near(copying.each_byte(bytes), 200e-9 / 4_096.0), "{bytes}");
        }
        assert!(near(copying.seconds(1 << 28), 80e-6 * 256.0));
        assert_eq!(copying.seconds(0), 0.0);
        assert!(near(copying.each_byte(0), 200e-9 / 4_096.0), "as of the smallest data");
    }

    #[test]
    fn a_rate_is_the_same_for_every_size() {
        let copying = Copying::at_rate(8e9);
        for bytes in [1, 100, 4_096, 1 << 20, 1 << 28] {
            assert!(near(copying.each_byte(bytes), 1.0 / 8e9), "{bytes}");
        }
    }

    #[test]
    fn a_larger_size_that_took_less_takes_as_long() {
        let copying = Copying::by_size([(1_000, 2e-6), (2_000, 1e-6), (3_000, f64::NAN), (4_000, 3e-6)]);
        assert_eq!(
            [1_000, 2_000, 3_000, 4_000].map(|bytes| copying.seconds(bytes)),
            [2e-6, 2e-6, 2e-6, 3e-6]
        );
        assert_eq!(Copying::by_size([(1_000, -1.0)]).seconds(1_000), 0.0);
        assert_eq!(Copying::by_size([(1_000, 1.0), (1_000, 2.0)]).seconds(1_000), 2.0);
    }

    #[test]
    fn no_sizes_cost_nothing() {
        assert_eq!(Copying::by_size([]).seconds(1 << 20), 0.0);
    }

    #[test]
    fn another_time_of_a_size_leaves_the_smaller_sizes_alone() {
        let copying = Copying::by_size(TIMES);
        let more = copying.with(65_536, 100e-6);
        assert_eq!([4_096, 65_536, 1 << 20].map(|bytes| more.seconds(bytes)), [200e-9, 100e-6, 100e-6]);
        let less = copying.with(65_536, 100e-9);
        assert_eq!([4_096, 65_536, 1 << 20].map(|bytes| less.seconds(bytes)), [200e-9, 200e-9, 80e-6]);
    }

    proptest! {
        #[test]
        fn more_bytes_never_take_less(
            times in proptest::collection::vec((0u64..1 << 22, -1e-6f64..1e-3), 0..8),
            mut sizes in proptest::collection::vec(0u64..1 << 23, 2..20),
        ) {
            let copying = Copying::by_size(times.clone());
            sizes.extend(times.iter().map(|(bytes, _)| *bytes));
            sizes.sort_unstable();
            let seconds: Vec<f64> = sizes.iter().map(|bytes| copying.seconds(*bytes)).collect();
            // What rounding may add to a line that does not rise.
            let rising = seconds.is_sorted_by(|less, more| *less <= *more * (1.0 + 1e-12));
            prop_assert!(rising && seconds.iter().all(|seconds| *seconds >= 0.0), "{copying:?} {sizes:?} {seconds:?}");
        }

        #[test]
        fn between_two_sizes_lies_between_their_times(
            (small, large) in (1u64..1 << 20, 1u64..1 << 20),
            (short, long) in (0.0f64..1e-3, 0.0f64..1e-3),
            way in 0.0f64..=1.0,
        ) {
            prop_assume!(small < large && short <= long);
            let copying = Copying::by_size([(large, long), (small, short)]);
            #[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "in range")]
            let bytes = small + ((large - small) as f64 * way) as u64;
            let seconds = copying.seconds(bytes);
            prop_assert!((short * (1.0 - 1e-12)..=long * (1.0 + 1e-12)).contains(&seconds), "{bytes}: {seconds}");
        }
    }
}

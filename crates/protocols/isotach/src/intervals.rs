//! How far apart in time things came: how many at which distance, in classes that grow with what they hold.

use core::fmt;
use core::time::Duration;
use quintet_contract::Span;

/// Classes of each doubling: a class holds what is an eighth longer than its shortest, at most.
const PER_DOUBLING: usize = 8;
/// Bits that say which of them.
const BITS: u32 = PER_DOUBLING.ilog2();
/// What is longer than 68 seconds is in the last class.
const CLASSES: usize = PER_DOUBLING * 34;

/// Lengths of time, of which it is kept how many there were of each class, the number of all, the shortest and the longest. It has a fixed size.
#[derive(Clone, PartialEq, Eq)]
pub struct Intervals {
    classes: [u64; CLASSES],
    count: u64,
    shortest: Span,
    longest: Span,
}

/// Lengths of time between two bounds, and how many there were.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IntervalClass {
    /// None is shorter.
    pub from: Duration,
    /// None is longer.
    pub to: Duration,
    /// How many.
    pub count: u64,
}

impl Default for Intervals {
    fn default() -> Intervals {
        Intervals { classes: [0; CLASSES], count: 0, shortest: Span::ZERO, longest: Span::ZERO }
    }
}

/// Which class a length belongs to. Those below [`PER_DOUBLING`] nanoseconds have one each.
fn class_of(Span(ns): Span) -> usize {
    if ns < PER_DOUBLING as u64 {
        return ns as usize;
    }
    let doubling = ns.ilog2() - BITS;
    let within = (ns >> doubling) as usize - PER_DOUBLING;
    ((doubling as usize + 1) * PER_DOUBLING + within).min(CLASSES - 1)
}

/// The shortest of a class, in nanoseconds.
const fn shortest_of(class: usize) -> u64 {
    if class < PER_DOUBLING {
        return class as u64;
    }
    ((PER_DOUBLING + class % PER_DOUBLING) as u64) << (class / PER_DOUBLING - 1)
}

impl Intervals {
    /// One more.
    pub(crate) fn add(&mut self, length: Span) {
        self.shortest = if self.count == 0 { length } else { self.shortest.min(length) };
        self.longest = self.longest.max(length);
        self.count += 1;
        self.classes[class_of(length)] += 1;
    }

    /// How many there were.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The shortest; no time if there was none.
    #[must_use]
    pub fn shortest(&self) -> Duration {
        self.shortest.into()
    }

    /// The longest; no time if there was none.
    #[must_use]
    pub fn longest(&self) -> Duration {
        self.longest.into()
    }

    /// So long were half of them at most: [`quantile`](Intervals::quantile) of 0.5.
    #[must_use]
    pub fn median(&self) -> Duration {
        self.quantile(0.5)
    }

    /// So long was this part of them at most, 0 to 1: an eighth too long, or less, as the longest of a class stands for all of it. No time if there was none.
    #[must_use]
    pub fn quantile(&self, part: f64) -> Duration {
        let rank = ((part * self.count as f64).ceil() as u64).max(1);
        let mut counted = 0;
        let found = self.classes().find(|class| {
            counted += class.count;
            counted >= rank
        });
        found.map_or(Duration::ZERO, |class| class.to)
    }

    /// The classes that are not empty, the shorter lengths first.
    pub fn classes(&self) -> impl Iterator<Item = IntervalClass> + '_ {
        let counted = self.classes.iter().enumerate().filter(|(_, count)| **count > 0);
        counted.map(|(class, count)| {
            let last = Span(shortest_of(class + 1) - 1);
            let to = if class == CLASSES - 1 { self.longest } else { last.min(self.longest) };
            IntervalClass {
                from: Span(shortest_of(class)).max(self.shortest).into(),
                to: to.into(),
                count: *count,
            }
        })
    }
}

impl fmt::Debug for Intervals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.classes()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(lengths: impl IntoIterator<Item = u64>) -> Intervals {
        let mut intervals = Intervals::default();
        lengths.into_iter().for_each(|ns| intervals.add(Span(ns)));
        intervals
    }

    const fn ns(ns: u64) -> Duration {
        Duration::from_nanos(ns)
    }

    #[test]
    fn each_length_is_in_the_class_that_begins_with_it_or_before_and_ends_an_eighth_later_at_most() {
        let around =
            (0..36).flat_map(|power| [(1u64 << power) - 1, 1 << power, (1 << power) + 1, 3 << power]);
        for length in (0..5000).chain(around) {
            let class = class_of(Span(length));
            let (from, next) = (shortest_of(class), shortest_of(class + 1));
            assert!((from..next).contains(&length) || class == CLASSES - 1, "{length}: {from} to {next}");
            assert!(next - from <= 1 + from / 8, "{from} to {next}");
        }
        assert_eq!(class_of(Span(u64::MAX)), CLASSES - 1);
    }

    #[test]
    fn quantiles_are_an_eighth_too_long_at_most_and_never_beyond_the_longest() {
        let intervals = of((1..=1000).map(|length| length * 1000));
        assert_eq!(
            (intervals.count(), intervals.shortest(), intervals.longest()),
            (1000, ns(1_000), ns(1_000_000))
        );
        for (part, exact) in [(0.0, 1_000), (0.5, 500_000), (0.99, 990_000), (1.0, 1_000_000)] {
            let found = intervals.quantile(part);
            assert!(found >= ns(exact) && found <= ns(exact + exact / 8), "{part}: {found:?}");
        }
        assert_eq!(of([7_000_000]).median(), ns(7_000_000), "the only one");
        assert_eq!(of([u64::MAX, 1]).quantile(1.0), ns(u64::MAX));
        assert_eq!(intervals.classes().map(|class| class.count).sum::<u64>(), 1000);
        assert!(intervals.classes().zip(intervals.classes().skip(1)).all(|(one, next)| one.to < next.from));
    }

    #[test]
    fn of_none_there_is_no_time() {
        let none = Intervals::default();
        assert_eq!((none.count(), none.median(), none.shortest(), none.longest()), (0, ns(0), ns(0), ns(0)));
        assert_eq!(none.classes().count(), 0);
    }
}

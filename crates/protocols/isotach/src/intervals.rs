//! How far apart in time things came: how many at which distance, in classes that grow with what they hold.

use core::fmt;
use core::time::Duration;
use quintet_contract::Span;
use std::collections::BTreeMap;

/// Classes of each doubling: a class holds what is an eighth longer than its shortest, at most.
const PER_DOUBLING: usize = 8;
/// Bits that say which of them.
const BITS: u32 = PER_DOUBLING.ilog2();
/// What stands for the most in a histogram.
const LONGEST_BAR: usize = 30;
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

    /// Those that came since `earlier` was asked of the same member. Of these the shortest and the longest are known as well as their classes are: to an eighth.
    #[must_use]
    pub fn since(&self, earlier: &Intervals) -> Intervals {
        let classes: [u64; CLASSES] =
            core::array::from_fn(|class| self.classes[class].saturating_sub(earlier.classes[class]));
        let mut held = (0..CLASSES).filter(|class| classes[*class] > 0);
        let Some(first) = held.next() else { return Intervals::default() };
        let last = held.next_back().unwrap_or(first);
        Intervals {
            classes,
            count: classes.iter().sum(),
            shortest: self.bounds(first).0,
            longest: self.bounds(last).1,
        }
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
            let (from, to) = self.bounds(class);
            IntervalClass { from: from.into(), to: to.into(), count: *count }
        })
    }

    /// The shortest and the longest that there can be in a class.
    fn bounds(&self, class: usize) -> (Span, Span) {
        let last = Span(shortest_of(class + 1) - 1);
        let to = if class == CLASSES - 1 { self.longest } else { last.min(self.longest) };
        (Span(shortest_of(class)).max(self.shortest), to)
    }
}

/// A histogram, as lines: one for each doubling of the length, between those in which there were any, with how many there were. Nothing if there were none.
impl fmt::Display for Intervals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut doublings = BTreeMap::<u32, u64>::new();
        for (class, count) in self.classes.iter().enumerate().filter(|(_, count)| **count > 0) {
            *doublings.entry(shortest_of(class).max(1).ilog2()).or_default() += count;
        }
        let most = doublings.values().max().copied().unwrap_or(1);
        let ends = doublings.keys().next().zip(doublings.keys().next_back());
        for doubling in ends.into_iter().flat_map(|(first, last)| *first..=*last) {
            let count = doublings.get(&doubling).copied().unwrap_or(0);
            let bar = "#".repeat((count as u128 * LONGEST_BAR as u128).div_ceil(most.into()) as usize);
            let (from, to) = (shown(1 << doubling), shown(2 << doubling));
            writeln!(f, "{from:>7} to {to:>7}  {bar:LONGEST_BAR$}  {count}")?;
        }
        Ok(())
    }
}

/// A length in the unit in which it has at most five figures.
fn shown(ns: u64) -> String {
    match ns {
        0..10_000 => format!("{ns} ns"),
        10_000..10_000_000 => format!("{} us", ns / 1_000),
        _ => format!("{} ms", ns / 1_000_000),
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
    fn those_since_then_are_the_others_and_as_long_as_their_classes_tell() {
        let before = [1_000, 1_000, 9_000_000];
        let since = [1_000, 60_000, 61_000];
        let all = of(before.into_iter().chain(since));
        let found = all.since(&of(before));
        assert_eq!(found.classes().map(|class| class.count).collect::<Vec<_>>(), [1, 2]);
        assert_eq!((found.count(), found.shortest()), (3, ns(1_000)));
        assert!(found.longest() >= ns(61_000) && found.longest() <= ns(61_000 * 9 / 8), "{found:?}");
        assert_eq!(all.since(&all), Intervals::default());
        assert_eq!(all.since(&Intervals::default()), all);
    }

    #[test]
    fn a_histogram_has_a_line_for_each_doubling_between_the_first_and_the_last() {
        let lengths = of([20_000, 30_000, 32_000, 9_000_000, 70_000, 70_000, 1_000]);
        let lines = lengths.to_string();
        let line = |lengths: &str, bar: usize, count| format!("{lengths}  {:30}  {count}", "#".repeat(bar));
        let found: Vec<&str> = lines.lines().collect();
        assert_eq!(found[0], line(" 512 ns to 1024 ns", 10, 1));
        assert_eq!(found[5], line("  16 us to   32 us", 30, 3));
        assert_eq!(found[6], line("  32 us to   65 us", 0, 0));
        assert_eq!((found.len(), found[14]), (15, &line("8388 us to   16 ms", 10, 1)[..]));
    }

    #[test]
    fn of_none_there_is_no_time() {
        let none = Intervals::default();
        assert_eq!(none.to_string(), "");
        assert_eq!((none.count(), none.median(), none.shortest(), none.longest()), (0, ns(0), ns(0), ns(0)));
        assert_eq!(none.classes().count(), 0);
    }
}

//! How far another machine's clock is off, from frames alone.
//!
//! A frame never comes before it was sent. So one that went there says how far the other clock is ahead at most, and one that came from there how far it is ahead
//! at least. Two clocks whose rates differ by a constant are a straight line apart, which lies between all of these bounds: of all such lines the one with the most
//! room is taken, and the most by which another one could be off from it is its error (A. Duda et al., Estimating global time in distributed systems, ICDCS 1987).

use quintet_perfetto::Moment;
use std::collections::HashMap;

/// The most by which the rates of two clocks that something disciplines differ, and of most that nothing does.
const MAX_RATE: f64 = 200e-6;
/// Steps of a search for a rate: it is known to less than a billionth of [`MAX_RATE`] then.
const STEPS: usize = 64;

/// How another machine's clock differs from this one's.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Alignment {
    /// A time there, and how much it is ahead then.
    origin: (u64, i128),
    /// How much more it is ahead after a nanosecond there, and at the origin.
    line: Line,
    /// The most by which a time can be off, in nanoseconds, where both clocks ran evenly.
    pub(super) error_ns: u64,
    /// Whether they did: else no line lies between all bounds.
    pub(super) is_even: bool,
}

/// Ahead by `at_origin + rate * t`.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Line {
    at_origin: f64,
    rate: f64,
}

/// When frames went one way or the other, by the clock there, and the bound that follows from each.
struct Bounds {
    /// At most: of frames that went there.
    above: Vec<(f64, f64)>,
    /// At least: of frames that came from there.
    below: Vec<(f64, f64)>,
}

impl Alignment {
    /// From what both sides say of the frames between them. None if there are not frames of both directions.
    pub(super) fn of(here: &[Moment], there: &[Moment]) -> Option<Alignment> {
        let here: HashMap<(u64, bool), u64> =
            here.iter().map(|moment| ((moment.flow, moment.came), moment.at_ns)).collect();
        let pairs =
            there.iter().filter_map(|moment| Some((moment, *here.get(&(moment.flow, !moment.came))?)));
        let pairs: Vec<(&Moment, u64)> = pairs.collect();
        let (first, here_then) = *pairs.iter().min_by_key(|(moment, _)| moment.at_ns)?;
        let origin = (first.at_ns, ahead(first.at_ns, here_then));
        let mut bounds = Bounds { above: Vec::new(), below: Vec::new() };
        for (moment, at_here) in pairs {
            let since = (moment.at_ns - origin.0) as f64;
            let bound = (since, (ahead(moment.at_ns, at_here) - origin.1) as f64);
            if moment.came { bounds.above.push(bound) } else { bounds.below.push(bound) }
        }
        bounds.line(origin)
    }

    /// The time here, by the clock there.
    pub(super) fn here(&self, there_ns: u64) -> u64 {
        let since = (i128::from(there_ns) - i128::from(self.origin.0)) as f64;
        let more = (self.line.at_origin + self.line.rate * since).round() as i128;
        let here = i128::from(there_ns) - self.origin.1 - more;
        u64::try_from(here.max(0)).unwrap_or(u64::MAX)
    }
}

fn ahead(there_ns: u64, here_ns: u64) -> i128 {
    i128::from(there_ns) - i128::from(here_ns)
}

impl Bounds {
    fn line(mut self, origin: (u64, i128)) -> Option<Alignment> {
        let last = self.above.iter().chain(&self.below).map(|(at, _)| *at).fold(0.0, f64::max);
        // Those that no line can touch first do not count.
        self.above = lowest(self.above, 1.0);
        self.below = lowest(self.below, -1.0);
        if self.above.is_empty() || self.below.is_empty() {
            return None;
        }
        let best = highest((-MAX_RATE, MAX_RATE), |rate| self.room(rate));
        let line = Line { at_origin: self.middle(best), rate: best };
        let room = self.room(best);
        let is_even = room >= 0.0;
        let error = if is_even { self.error(line, last) } else { -room };
        Some(Alignment { origin, line, error_ns: error.ceil() as u64, is_even })
    }

    /// The most that a line of this rate may be ahead at the origin, and the least.
    fn range(&self, rate: f64) -> (f64, f64) {
        let of =
            |bounds: &[(f64, f64)]| bounds.iter().map(|(at, bound)| bound - rate * at).collect::<Vec<_>>();
        let most = of(&self.above).into_iter().fold(f64::INFINITY, f64::min);
        let least = of(&self.below).into_iter().fold(f64::NEG_INFINITY, f64::max);
        (most, least)
    }

    /// How far a line of this rate keeps from all bounds, at most; less than nothing if there is none between them.
    fn room(&self, rate: f64) -> f64 {
        let (most, least) = self.range(rate);
        (most - least) / 2.0
    }

    fn middle(&self, rate: f64) -> f64 {
        let (most, least) = self.range(rate);
        f64::midpoint(most, least)
    }

    /// The most by which another line between all bounds is off from this one. That is at one of the ends: at the origin or at the last of the times.
    fn error(&self, line: Line, last: f64) -> f64 {
        let rates = (self.last_with_room(line.rate, -MAX_RATE), self.last_with_room(line.rate, MAX_RATE));
        let off = |at: f64| {
            let here = line.at_origin + line.rate * at;
            let most = |rate: f64| self.range(rate).0 + rate * at;
            let least = |rate: f64| -(self.range(rate).1 + rate * at);
            let (above, below) = (most(highest(rates, most)), least(highest(rates, least)));
            (above - here).max(below + here)
        };
        off(0.0).max(off(last))
    }

    /// The rate nearest to `end` for which there is a line between all bounds, as there is for `good`.
    fn last_with_room(&self, mut good: f64, mut end: f64) -> f64 {
        if self.room(end) >= 0.0 {
            return end;
        }
        for _ in 0..STEPS {
            let between = f64::midpoint(good, end);
            if self.room(between) >= 0.0 { good = between } else { end = between }
        }
        good
    }
}

/// Where between two rates this is highest, which first grows and then falls.
fn highest((mut low, mut high): (f64, f64), what: impl Fn(f64) -> f64) -> f64 {
    for _ in 0..STEPS {
        let third = (high - low) / 3.0;
        let (one, other) = (low + third, high - third);
        if what(one) < what(other) { low = one } else { high = other }
    }
    f64::midpoint(low, high)
}

/// The corners of the convex hull's lower side, or with a sign of -1 of its upper one.
fn lowest(mut points: Vec<(f64, f64)>, sign: f64) -> Vec<(f64, f64)> {
    points.sort_by(|one, other| one.0.total_cmp(&other.0).then((sign * one.1).total_cmp(&(sign * other.1))));
    let mut hull: Vec<(f64, f64)> = Vec::new();
    for point in points {
        while let [.., one, other] = hull[..]
            && sign * turn(one, other, point) <= 0.0
        {
            hull.pop();
        }
        hull.push(point);
    }
    hull
}

/// More than nothing for a turn to the left.
fn turn(one: (f64, f64), other: (f64, f64), next: (f64, f64)) -> f64 {
    (other.0 - one.0) * (next.1 - one.1) - (other.1 - one.1) * (next.0 - one.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Frames there and back, by both clocks: when each was sent by the clock here, how long it took, and whether it went there.
    fn moments(frames: &[(u64, u64, bool)], clock: impl Fn(u64) -> u64) -> (Vec<Moment>, Vec<Moment>) {
        let (mut here, mut there) = (Vec::new(), Vec::new());
        for (flow, (sent, took, goes)) in (0..).zip(frames) {
            let (sent, came) = (*sent, sent + took);
            let moment = |at_ns, came| Moment { flow, at_ns, came };
            here.push(moment(if *goes { sent } else { came }, !goes));
            there.push(moment(clock(if *goes { came } else { sent }), *goes));
        }
        (here, there)
    }

    proptest! {
        #[test]
        fn the_true_time_is_within_the_error(
            frames in prop::collection::vec((0_u64..60_000_000_000, 1_000_u64..10_000_000, any::<bool>()), 2..200),
            ahead in -1_000_000_000_000_i64..1_000_000_000_000,
            rate in -150e-6_f64..150e-6,
        ) {
            const NOW: u64 = 2_000_000_000_000;
            let frames: Vec<_> = frames.iter().map(|(at, took, goes)| (NOW + at, *took, *goes)).collect();
            let clock = |at: u64| {
                let more = ((at - NOW) as f64 * rate).round() as i64;
                at.checked_add_signed(ahead + more).expect("a time")
            };
            let (here, there) = moments(&frames, clock);
            let both = frames.iter().any(|(_, _, goes)| *goes) && frames.iter().any(|(_, _, goes)| !goes);
            let found = Alignment::of(&here, &there);
            prop_assert_eq!(found.is_some(), both);
            if let Some(found) = found {
                prop_assert!(found.is_even);
                for (sent, took, goes) in &frames {
                    let at = if *goes { sent + took } else { *sent };
                    let off = found.here(clock(at)).abs_diff(at);
                    // Times are rounded to nanoseconds three times.
                    prop_assert!(off <= found.error_ns + 3, "{off} beyond {}", found.error_ns);
                }
            }
        }
    }

    #[test]
    fn many_round_trips_leave_an_error_of_half_the_shortest() {
        let frames: Vec<_> = (0..1_000_u64)
            .flat_map(|turn| {
                let at = 5_000_000_000 + turn * 10_000_000;
                [
                    (at, 100_000 + turn % 7 * 50_000, true),
                    (at + 1_000_000, 100_000 + turn % 5 * 50_000, false),
                ]
            })
            .collect();
        let (here, there) = moments(&frames, |at| at + 86_400_000_000_000);
        let found = Alignment::of(&here, &there).expect("both directions");
        assert!((100_000..110_000).contains(&found.error_ns), "{found:?}");
        assert!(found.here(86_410_000_000_000).abs_diff(10_000_000_000) < 10_000, "{found:?}");
    }

    #[test]
    fn a_clock_that_was_stopped_is_no_even_one() {
        let frames = [(10_000, 10, true), (20_000, 10, false), (30_000, 10, true), (40_000, 10, false)];
        let (here, there) = moments(&frames, |at| if at < 25_000 { at } else { at - 5_000 });
        let found = Alignment::of(&here, &there).expect("both directions");
        assert!(!found.is_even && found.error_ns > 1_000, "{found:?}");
    }
}

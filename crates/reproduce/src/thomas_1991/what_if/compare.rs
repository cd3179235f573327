//! One model beside another.

use super::row::{Bound, Estimate};
use super::{Experiment, Factor, Row};
use core::fmt;

/// Less is no difference: a share of the throughput.
const RELEVANT: f64 = 0.01;

/// Rows that differ in nothing but model and numbers of things.
pub(super) struct Group<'a> {
    /// What they share.
    pub(super) case: String,
    pub(super) factor: Factor,
    /// In the order that they had.
    pub(super) rows: Vec<&'a Row>,
}

pub(super) fn groups<'a>(rows: impl IntoIterator<Item = &'a Row>) -> Vec<Group<'a>> {
    let mut groups: Vec<Group<'a>> = Vec::new();
    for row in rows {
        let (case, factor) = (row.experiment.label(), row.experiment.factor);
        match groups.iter_mut().find(|group| group.case == case && group.factor == factor) {
            Some(group) => group.rows.push(row),
            None => groups.push(Group { case, factor, rows: vec![row] }),
        }
    }
    groups
}

/// How much more throughput one row has than another, as a share of the other's: the mean over the seeds of the
/// difference between two runs with the same seed, which have the same background load.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Difference(Estimate);

/// `None` if in one of them no read or job ended.
pub(super) fn difference(one: &Row, other: &Row) -> Option<Difference> {
    one.throughput?;
    let mean = other.throughput?.mean;
    let pairs = one.runs.iter().zip(&other.runs);
    Some(Difference(Estimate::of(pairs.map(|(one, other)| (one - other) / mean))))
}

impl Difference {
    /// Whether zero is outside of its interval; `None` from one seed.
    pub(super) fn is_significant(self) -> Option<bool> {
        self.0.half_width.map(|half_width| self.0.mean.abs() > half_width)
    }

    /// More than a hundredth, and significant as far as that is known.
    pub(super) fn is_ahead(self) -> bool {
        self.0.mean > RELEVANT && self.is_significant() != Some(false)
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:+.1}", 100.0 * self.0.mean)?;
        if let Some(half_width) = self.0.half_width {
            write!(f, " +-{:.1}", 100.0 * half_width)?;
        }
        let significance = match self.is_significant() {
            _ if self.0.half_width == Some(0.0) => "the same with every seed",
            Some(true) => "significant",
            Some(false) => "not significant",
            None => "one seed: significance unknown",
        };
        write!(f, "%, {significance}")
    }
}

/// A difference in words, also if there is none.
pub(super) fn words(difference: Option<Difference>) -> String {
    difference.map_or_else(|| "unknown, for none ended".to_owned(), |difference| difference.to_string())
}

/// Whether a row's throughput is above another's.
pub(super) fn is_above(row: &Row, other: &Row) -> bool {
    difference(row, other).is_some_and(Difference::is_ahead)
}

/// Pairs of rows with as many clients, from few to many.
pub(super) fn pairs<'a>(one: &[&'a Row], other: &[&'a Row]) -> Vec<(&'a Row, &'a Row)> {
    let beside = |row: &Row| other.iter().copied().find(|beside| beside.clients() == row.clients());
    one.iter().filter_map(|row| beside(row).map(|beside| (*row, beside))).collect()
}

/// From which pair on, to the end of the range, the first of each is above the second: its place.
pub(super) fn ahead_from(pairs: &[(&Row, &Row)]) -> Option<usize> {
    let behind = pairs.iter().rposition(|(one, other)| !is_above(one, other));
    let from = behind.map_or(0, |behind| behind + 1);
    (from < pairs.len()).then_some(from)
}

/// The whole number half-way between two that are not next to each other.
pub(super) fn between(low: u16, high: u16) -> Option<u16> {
    (high.saturating_sub(low) > 1).then(|| low.midpoint(high))
}

/// The rows of one model, from few clients to many.
pub(super) fn of_model<'a>(rows: &[&'a Row], model: &str) -> Vec<&'a Row> {
    let mut found: Vec<&Row> = rows.iter().copied().filter(|row| row.experiment.model() == model).collect();
    found.sort_by_key(|row| row.clients());
    found
}

/// The row with the most throughput, and that with the most after it.
pub(super) fn best<'a>(rows: &[&'a Row]) -> Option<(&'a Row, Option<&'a Row>)> {
    let mut rows = rows.to_vec();
    rows.sort_by(|a, b| b.mean().total_cmp(&a.mean()));
    rows.first().filter(|row| row.throughput.is_some()).map(|best| (*best, rows.get(1).copied()))
}

/// Whether the vector processor is what limits a row.
pub(super) fn is_vector_bound(row: &Row) -> bool {
    row.bound() == Bound::Element("vector processor")
}

/// Both factors of an experiment.
pub(super) fn with_both_factors(experiments: &mut Vec<Experiment>, chosen: impl Fn(&Experiment) -> bool) {
    let others = experiments.iter().filter(|experiment| chosen(experiment));
    let others: Vec<Experiment> = others.map(|experiment| experiment.with_factor(Factor::One)).collect();
    experiments.extend(others);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_of_a_range_come_to_an_end() {
        assert_eq!(
            (between(2, 4), between(8, 16), between(2, 3), between(3, 3)),
            (Some(3), Some(12), None, None)
        );
    }

    #[test]
    fn a_difference_is_judged_by_its_interval() {
        let of = |mean, half_width| Difference(Estimate { mean, half_width });
        assert!(of(0.02, Some(0.01)).is_ahead() && of(0.02, None).is_ahead());
        assert!(!of(0.02, Some(0.03)).is_ahead() && !of(0.005, Some(0.0)).is_ahead());
        assert_eq!(of(-0.02, Some(0.003)).to_string(), "-2.0 +-0.3%, significant");
        assert_eq!(of(-0.02, Some(0.0)).to_string(), "-2.0 +-0.0%, the same with every seed");
        assert_eq!(of(0.02, Some(0.03)).to_string(), "+2.0 +-3.0%, not significant");
    }
}

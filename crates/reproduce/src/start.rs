//! What comes of fitting a study's inferred parameters anew.

use crate::cell::Role;
use crate::report::Count;

/// A fit from a start of its own. Roles are in the order of [`Role::ALL`].
#[derive(Clone, PartialEq, Debug)]
pub struct Start {
    /// Which start; 0 has the values that were worked out by hand.
    pub number: u64,
    /// What the fit made least: the sum of squares over the fitted cells, in tolerances.
    pub sum: f64,
    /// Compared cells that are within.
    pub within: [Count; Role::ALL.len()],
    /// Their mean distance from the printed values, in tolerances.
    pub error: [f64; Role::ALL.len()],
    /// The parameters that it came to: name, value, and what that is counted in.
    pub values: Vec<(&'static str, f64, &'static str)>,
}

/// What several starts came to: for each role the fewest and the most cells that are within, and the start whose sum is least. None
/// without a start.
#[must_use]
pub fn spread(starts: &[Start]) -> Option<([[Count; 2]; Role::ALL.len()], &Start)> {
    let least = starts.iter().min_by(|one, other| one.sum.total_cmp(&other.sum))?;
    let of = |role: usize| {
        let counts = || starts.iter().map(|start| start.within[role]);
        let by = |count: &Count| count.within;
        Some([counts().min_by_key(by)?, counts().max_by_key(by)?])
    };
    Some(([of(0)?, of(1)?], least))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Report;

    fn start(number: u64, sum: f64, within: [usize; 2]) -> Start {
        let [fitted, predicted] = within;
        let within = [Count { within: fitted, of: 75 }, Count { within: predicted, of: 181 }];
        Start { number, sum, within, error: [0.5, 0.7], values: Vec::new() }
    }

    #[test]
    fn the_spread_is_of_each_role_and_the_least_sum_is_chosen_whatever_it_predicts() {
        let starts = [start(0, 28.0, [67, 155]), start(1, 27.2, [69, 150]), start(2, 30.0, [68, 146])];
        let (counts, least) = spread(&starts).expect("three starts");
        assert_eq!(counts.map(|counts| counts.map(|count| count.within)), [[67, 69], [146, 155]]);
        assert_eq!(least.number, 1);
        assert_eq!(spread(&[]), None);
    }

    #[test]
    fn a_report_tells_what_the_start_with_the_least_sum_came_to() {
        let values = |load| vec![("load", load, "of the network"), ("delay", 0.5, "ms")];
        let starts = [(0, 28.0, 0.03), (1, 27.2, 0.0412)];
        let mut report = Report::new("a study", 1);
        report.starts = starts
            .map(|(number, sum, load)| Start { values: values(load), ..start(number, sum, [67, 155]) })
            .into();
        let told = "start 1 came to: load 0.04120 of the network; delay 0.5000 ms\n";
        assert!(report.to_string().ends_with(told), "{report}");
    }
}

//! A result.

use super::case::Case;
use super::quiet::Quiet;
use serde_json::{Value, json};
use std::fmt;

/// What a row's ratio is, beside two medians of which it is not the ratio.
const RATIO_IS: &str = "median of those within turns";

/// One round of a case, and what was beside it in the same turn.
pub(super) struct Turn {
    pub(super) ours: f64,
    /// In the order of [`Row::beside`].
    pub(super) beside: Vec<Option<f64>>,
}

/// All rounds of a case.
pub(super) struct Row<'a> {
    pub(super) case: &'a Case,
    /// What was beside it.
    pub(super) beside: Vec<&'static str>,
    pub(super) turns: Vec<Turn>,
    /// Why there is nothing of one of them.
    pub(super) missing: Option<String>,
    /// Whether the machine was quiet; none where that was not looked at.
    pub(super) quiet: Option<Quiet>,
}

/// What a case is compared with: the best of those beside it.
struct Compared {
    name: &'static str,
    value: f64,
    /// The median of the ratios within each turn.
    ratio: f64,
}

impl Row<'_> {
    fn ours(&self) -> Vec<f64> {
        self.turns.iter().map(|turn| turn.ours).collect()
    }

    /// The best of those beside, if one was measured: the one that ours compares worst with.
    fn compared(&self) -> Option<Compared> {
        let all = self.beside.iter().enumerate().filter_map(|(at, name)| self.compared_with(at, name));
        all.reduce(|one, other| {
            let other_is_harder = self.case.better.reaches(one.ratio, other.ratio);
            if other_is_harder { other } else { one }
        })
    }

    fn compared_with(&self, at: usize, name: &'static str) -> Option<Compared> {
        let both = self.turns.iter().filter_map(|turn| Some((turn.ours, turn.beside.get(at).copied()??)));
        let (ratios, values) = both.map(|(ours, beside)| (ours / beside, beside)).unzip();
        Some(Compared { name, value: median(values)?, ratio: median(ratios)? })
    }

    /// Whether what is aimed at was reached; unknown where what to compare with is missing.
    fn met(&self) -> Option<bool> {
        let goal = self.case.goal?;
        let value = if self.beside.is_empty() { median(self.ours())? } else { self.compared()?.ratio };
        Some(self.case.better.reaches(value, goal))
    }

    pub(super) fn as_json(&self) -> Value {
        let (case, ours, compared) = (self.case, self.ours(), self.compared());
        json!({
            "bench": case.group.name(),
            "case": case.name,
            "unit": case.unit.name(),
            "better": case.better.name(),
            "ours": median(ours.clone()),
            "ours_least": ours.iter().copied().reduce(f64::min),
            "ours_most": ours.iter().copied().reduce(f64::max),
            "rounds": self.turns.len(),
            "peer": compared.as_ref().map(|compared| compared.name).or(self.beside.first().copied()),
            "peer_value": compared.as_ref().map(|compared| compared.value),
            "peer_missing": self.missing,
            "ratio": compared.as_ref().map(|compared| compared.ratio),
            "ratio_is": compared.as_ref().map(|_| RATIO_IS),
            "goal": case.goal,
            "goal_met": self.met(),
            "waiting": case.waiting,
            "placement": case.placement,
            "machine": self.quiet.map(Quiet::as_json),
        })
    }

    fn write_goal(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(goal) = self.case.show_goal() else { return Ok(()) };
        let met = match self.met() {
            Some(true) => "met",
            Some(false) => "missed",
            None => "unknown",
        };
        write!(f, "; {goal}: {met}")
    }
}

impl fmt::Display for Row<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (case, ours) = (self.case, self.ours());
        let show = |value| case.unit.show(value);
        let least = ours.iter().copied().fold(f64::MAX, f64::min);
        let most = ours.iter().copied().fold(f64::MIN, f64::max);
        let middle = median(ours).unwrap_or_default();
        write!(
            f,
            "{}/{}: {} ({} to {})",
            case.group.name(),
            case.name,
            show(middle),
            show(least),
            show(most)
        )?;
        if let Some(Compared { name, value, ratio }) = self.compared() {
            write!(f, "; {name} {}; ratio {ratio:.3}, {RATIO_IS}", show(value))?;
        }
        if let Some(why) = &self.missing {
            write!(f, "; peer missing: {why}")?;
        }
        self.write_goal(f)?;
        self.quiet.iter().try_for_each(|quiet| write!(f, "; {quiet}"))
    }
}

/// The middle value, if there is one.
pub(super) fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

/// What so many in a hundred of them are at most, by nearest rank.
pub(super) fn percentile(mut values: Vec<f64>, percent: usize) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let below = (values.len() * percent).div_ceil(100);
    values.get(below.saturating_sub(1)).copied()
}

#[cfg(test)]
mod tests {
    use super::super::case::{Beside, Better, Group, Unit};
    use super::super::peer::{LINES, UCX};
    use super::*;

    fn case(better: Better) -> Case {
        Case::new(Group::Link, "x", Unit::Nanoseconds, better, || Ok(Box::new(|| Ok(1.))))
    }

    fn row<'a>(case: &'a Case, turns: &[(f64, &[Option<f64>])]) -> Row<'a> {
        let turns = turns.iter().map(|(ours, beside)| Turn { ours: *ours, beside: beside.to_vec() });
        Row { case, beside: case.beside.names(), turns: turns.collect(), missing: None, quiet: None }
    }

    #[test]
    fn the_ratio_is_taken_within_turns() {
        let case = case(Better::Lower).beside(Beside::Program(UCX)).goal(0.6);
        let row = row(&case, &[(100., &[Some(200.)]), (1000., &[Some(2000.)]), (300., &[Some(600.)])]);
        let said = "link/x: 300 ns (100 ns to 1.00 us); ucx 600 ns; ratio 0.500, median of those within turns; goal <= 0.6: met";
        assert_eq!(row.to_string(), said);
        assert_eq!(row.as_json()["better"], "lower");
        assert_eq!(row.as_json()["ratio"], 0.5);
    }

    #[test]
    fn a_ratio_that_is_not_that_of_the_medians_says_what_it_is() {
        let case = case(Better::Near).beside(Beside::Program(UCX));
        let row = row(&case, &[(100., &[Some(200.)]), (300., &[Some(250.)]), (200., &[Some(100.)])]);
        let said = "link/x: 200 ns (100 ns to 300 ns); ucx 200 ns; ratio 1.200, median of those within turns";
        assert_eq!(row.to_string(), said);
        assert_eq!(row.as_json()["ratio_is"], "median of those within turns");
        assert_eq!(row.as_json()["machine"], Value::Null);
    }

    #[test]
    fn a_percentile_is_one_of_the_values() {
        let values: Vec<f64> = (1..=200).rev().map(f64::from).collect();
        assert_eq!(percentile(values.clone(), 99), Some(198.));
        assert_eq!(percentile(values, 50), Some(100.));
        assert_eq!((percentile(vec![3.], 99), percentile(Vec::new(), 99)), (Some(3.), None));
    }

    #[test]
    fn the_best_peer_counts() {
        static BOTH: &[super::super::peer::Peer] = &[UCX, LINES];
        let turns: &[(f64, &[Option<f64>])] = &[(100., &[Some(200.), Some(50.)])];
        let lower = case(Better::Lower).beside(Beside::Programs(BOTH));
        assert_eq!(row(&lower, turns).as_json()["peer"], LINES.name);
        let higher = case(Better::Higher).beside(Beside::Programs(BOTH)).goal(0.9);
        assert_eq!(row(&higher, turns).as_json()["peer"], UCX.name);
        assert_eq!(row(&higher, turns).met(), Some(false));
        let one_missing: &[(f64, &[Option<f64>])] = &[(100., &[None, Some(50.)])];
        assert_eq!(row(&higher, one_missing).as_json()["peer"], LINES.name);
    }

    #[test]
    fn a_missing_peer_is_told() {
        let case = case(Better::Lower).beside(Beside::Program(UCX)).goal(1.);
        let mut row = row(&case, &[(5., &[None])]);
        row.missing = Some("ucx: make it".into());
        let said = "link/x: 5.00 ns (5.00 ns to 5.00 ns); peer missing: ucx: make it; goal <= 1: unknown";
        assert_eq!(row.to_string(), said);
        assert_eq!((&row.as_json()["ratio"], &row.as_json()["peer"]), (&Value::Null, &json!("ucx")));
    }

    #[test]
    fn with_nothing_beside_it_the_goal_is_the_figure() {
        let case = case(Better::Lower).goal(2000.);
        assert_eq!(
            row(&case, &[(5., &[])]).to_string(),
            "link/x: 5.00 ns (5.00 ns to 5.00 ns); goal <= 2.00 us: met"
        );
    }
}

//! A result.

use serde_json::{Value, json};
use std::fmt;

/// One round of a case, and the peer's in the same turn.
pub(super) struct Turn {
    pub(super) ours: f64,
    pub(super) peer: Option<f64>,
}

/// All rounds of a case, in nanoseconds.
pub(super) struct Row {
    pub(super) bench: &'static str,
    pub(super) case: &'static str,
    pub(super) peer: Option<&'static str>,
    pub(super) turns: Vec<Turn>,
    /// Why there is nothing of the peer.
    pub(super) missing: Option<String>,
}

impl Row {
    fn ours(&self) -> Vec<f64> {
        self.turns.iter().map(|turn| turn.ours).collect()
    }

    fn peers(&self) -> Vec<f64> {
        self.turns.iter().filter_map(|turn| turn.peer).collect()
    }

    /// The median of the ratios within each turn.
    fn ratio(&self) -> Option<f64> {
        median(self.turns.iter().filter_map(|turn| turn.peer.map(|peer| turn.ours / peer)).collect())
    }

    pub(super) fn as_json(&self) -> Value {
        let ours = self.ours();
        json!({
            "bench": self.bench,
            "case": self.case,
            "unit": "ns",
            "better": "lower",
            "ours": median(ours.clone()),
            "ours_least": ours.iter().copied().reduce(f64::min),
            "ours_most": ours.iter().copied().reduce(f64::max),
            "rounds": self.turns.len(),
            "peer": self.peer,
            "peer_value": median(self.peers()),
            "peer_missing": self.missing,
            "ratio": self.ratio(),
        })
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ours = self.ours();
        let (least, most) =
            (ours.iter().copied().fold(f64::MAX, f64::min), ours.iter().copied().fold(0., f64::max));
        let middle = median(ours).unwrap_or(0.);
        write!(f, "{}/{}: {middle:.0} ns ({least:.0} to {most:.0})", self.bench, self.case)?;
        match (self.peer, median(self.peers()), self.ratio(), &self.missing) {
            (Some(peer), Some(value), Some(ratio), _) => {
                write!(f, "; {peer} {value:.0} ns; ratio {ratio:.3}")
            }
            (Some(peer), _, _, Some(why)) => write!(f, "; peer missing: {peer}: {why}"),
            _ => Ok(()),
        }
    }
}

/// The middle value, if there is one.
pub(super) fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ratio_is_taken_within_turns() {
        let turn = |ours, peer| Turn { ours, peer: Some(peer) };
        let turns = vec![turn(100., 200.), turn(1000., 2000.), turn(300., 600.)];
        let row = Row { bench: "link", case: "x", peer: Some("p"), turns, missing: None };
        assert_eq!(row.ratio(), Some(0.5));
        assert_eq!(row.to_string(), "link/x: 300 ns (100 to 1000); p 600 ns; ratio 0.500");
        assert_eq!(row.as_json()["better"], "lower");
    }

    #[test]
    fn a_missing_peer_is_told() {
        let turns = vec![Turn { ours: 5., peer: None }];
        let row = Row { bench: "a", case: "b", peer: Some("p"), turns, missing: Some("make it".into()) };
        assert_eq!(row.to_string(), "a/b: 5 ns (5 to 5); peer missing: p: make it");
        assert_eq!(row.as_json()["ratio"], Value::Null);
    }
}

//! What is always so of a token manager between two inputs, looked at by itself.

use super::TokenManager;
use crate::codec::Ordered;
use std::collections::{BTreeMap, BTreeSet};

impl TokenManager {
    /// What is not so of this token manager though it is always, as [`Node::broken_invariant`](crate::Node::broken_invariant) says it of nodes.
    #[must_use]
    pub fn broken_invariant(&self) -> Option<&'static str> {
        let all = [
            (self.pulses_have_ended(), "nobody is told of a pulse before it has ended"),
            (
                self.scheduled_once(),
                "an isochron is executed in one pulse, and waits for that where it was counted",
            ),
            (self.markers_are_in_order(), "markers go in the order of their stamps"),
            (
                self.neighbours_are_near(),
                "switches beside each other are in one pulse, or in two that follow each other",
            ),
        ];
        all.into_iter().find(|(is_so, _)| !is_so).map(|(_, text)| text)
    }

    fn pulses_have_ended(&self) -> bool {
        let is_over = |ordered: Ordered| ordered.pulse.0 <= self.clock;
        self.told.all().all(is_over) && !self.calendar.keys().any(|ordered| is_over(*ordered))
    }

    fn scheduled_once(&self) -> bool {
        let isochrons: BTreeSet<_> =
            self.calendar.keys().map(|ordered| (ordered.sender, ordered.rank)).collect();
        let mut counts = BTreeMap::new();
        isochrons.iter().for_each(|(sender, _)| *counts.entry(*sender).or_default() += 1);
        let is_counted = counts.iter().all(|(sender, count)| self.scheduled.of(*sender) == *count);
        isochrons.len() == self.calendar.len() && is_counted
    }

    fn markers_are_in_order(&self) -> bool {
        self.nodes.values().all(|node| node.markers.iter().is_sorted_by(|one, next| one < next))
    }

    fn neighbours_are_near(&self) -> bool {
        self.neighbours.iter().all(|one| one.received.abs_diff(self.clock) <= 1)
    }
}

//! What a node proposes as the next view.

use super::Agreement;
use crate::limits::MAX_NEWCOMERS;
use crate::logical_time::View;
use crate::members::{Joined, Members};
use crate::topology::Topology;
use quintet_contract::NodeId;
use std::collections::{BTreeMap, BTreeSet};

impl Agreement {
    /// Later processes that the next view is to have: all who decide reach them. None where all want to end, and no more than a view may have.
    pub(super) fn admitted(&self, suspects: &BTreeSet<NodeId>) -> BTreeMap<NodeId, u64> {
        if self.is_informed() {
            return BTreeMap::new();
        }
        let others = self.members.nodes().filter(|node| *node != self.me && !suspects.contains(node));
        let known = self.applicants.known_to(&self.members, &others.collect());
        let kept = self.members.newcomers().keys().filter(|node| !suspects.contains(node)).count();
        known.into_iter().take(MAX_NEWCOMERS.saturating_sub(kept)).collect()
    }

    /// The view behind the last one: without its suspects, and with who has asked to be let in. None if nobody is left.
    pub(super) fn successor(&self) -> Option<Members> {
        let suspects = self.suspects();
        let left: Vec<NodeId> = self.members.nodes().filter(|node| !suspects.contains(node)).collect();
        let manager = |node: NodeId| NodeId(self.managers_from.0.saturating_add(node.0));
        let is_gone = |node: NodeId| suspects.contains(&node) || suspects.contains(&self.process_of(node));
        let present = self.members.topology();
        let at_one_switch = || Topology::lan(manager(*left.first()?), &left).ok();
        let topology = if present.switches().iter().any(|switch| is_gone(switch.manager)) {
            at_one_switch()?
        } else {
            present.without(&suspects).filter(|_| !left.is_empty()).or_else(at_one_switch)?
        };
        let admitted = self.admitted(&suspects);
        let topology = topology.with(admitted.keys().copied(), &self.home)?;
        let mut newcomers = self.members.newcomers().clone();
        newcomers.retain(|node, _| left.contains(node));
        let view = View(self.base.0 + 1);
        newcomers.extend(admitted.into_iter().map(|(node, life)| (node, Joined { view, life })));
        Members::new(topology, newcomers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agreement::Outcome;
    use crate::codec::AgreeStep;
    use quintet_contract::Time;

    const NOW: Time = Time(1);
    const ONE: NodeId = NodeId(1);

    /// The views that were agreed on.
    fn agreed(agreement: &mut Agreement) -> Vec<(View, Members)> {
        let view = |outcome| match outcome {
            Outcome::Agreed(view, members) => (view, members),
            other => panic!("{other:?}"),
        };
        agreement.outcomes.drain(..).map(view).collect()
    }

    #[test]
    fn who_asks_is_let_in_as_another_one_than_the_one_that_is_left_out_first() {
        let topology = Topology::lan(NodeId(9), &[NodeId(0), ONE]).expect("it has nodes");
        let mut agreement = Agreement::new(NodeId(0), NodeId(100), View(1), topology.clone());
        agreement.hear(NOW, ONE, View(1), AgreeStep::Leaves);
        agreement.hear(NOW, ONE, View(0), AgreeStep::Asks(5));
        let [(View(2), without), (View(3), with)] = &agreed(&mut agreement)[..] else { panic!("two views") };
        assert_eq!((without.life_of(ONE), with.life_of(ONE), with.since(ONE)), (None, Some(5), View(3)));
        agreement.leave(NOW);
        assert!(!agreement.may_end(&topology), "the process that wanted to end is another one");
        assert!(agreement.said.iter().all(|(_, _, step)| *step != AgreeStep::AllLeave));
        let told: Vec<_> = agreement
            .said
            .drain(..)
            .filter(|(to, _, step)| (*to, step) == (ONE, &AgreeStep::Leaves))
            .collect();
        assert_eq!(told.len(), 1);
        agreement.hear(NOW, ONE, View(3), AgreeStep::Asks(5));
        agreement.hear(NOW, ONE, View(3), AgreeStep::Asks(4));
        assert_eq!(agreed(&mut agreement), [], "it is in the view");
        agreement.hear(NOW, ONE, View(3), AgreeStep::Leaves);
        assert!(!agreement.may_end(&topology), "it has not heard that all want to");
    }

    #[test]
    fn no_view_follows_that_changes_nothing() {
        let [two, three, four] = [2, 3, 4].map(NodeId);
        let home = Topology::lan(NodeId(9), &[ONE, two, three, four]).expect("it has nodes");
        let topology = Topology::lan(NodeId(9), &[ONE, two, three]).expect("it has nodes");
        let mut agreement = Agreement::new(ONE, NodeId(100), View(1), home);
        agreement.members = Members::first(topology);
        let ask = |agreement: &mut Agreement, life: u64| {
            agreement.hear(NOW, four, View(0), AgreeStep::Asks(life));
            for other in [two, three] {
                agreement.hear(NOW, other, View(1), AgreeStep::Joins([(four, life)].into()));
            }
        };
        let said = |agreement: &mut Agreement| -> Vec<AgreeStep> {
            agreement.said.drain(..).filter(|(to, ..)| *to == two).map(|(_, _, step)| step).collect()
        };
        let prepared = |said: Vec<AgreeStep>| {
            said.into_iter().find_map(|step| match step {
                AgreeStep::Prepare(ballot) => Some(ballot),
                _ => None,
            })
        };
        ask(&mut agreement, 5);
        let ballot = prepared(said(&mut agreement)).expect("there is somebody to let in");
        agreement.lose(NOW, four);
        agreement.hear(NOW, two, View(1), AgreeStep::Promise { ballot, accepted: None });
        let is_put_forth = |step: &AgreeStep| matches!(step, AgreeStep::Accept(..) | AgreeStep::Agreed(_));
        assert!(!said(&mut agreement).iter().any(is_put_forth), "who asked is gone again");
        agreement.find(four);
        ask(&mut agreement, 6);
        assert!(prepared(said(&mut agreement)).is_some(), "it asks again");
    }

    #[test]
    fn no_more_are_let_in_than_a_view_may_have_that_joined() {
        let numbered = |all: std::ops::RangeInclusive<u16>| all.map(NodeId).collect::<Vec<_>>();
        let home = Topology::lan(NodeId(0), &numbered(0..=600)).expect("it has nodes");
        let topology = Topology::lan(NodeId(0), &numbered(0..=500)).expect("it has nodes");
        let mut agreement = Agreement::new(NodeId(0), NodeId(0), View(4), home);
        let joined = |node: NodeId| (node, Joined { view: View(3), life: 1 });
        let newcomers = numbered(1..=500).into_iter().map(joined).collect();
        agreement.members = Members::new(topology, newcomers).expect("no more than there may be");
        numbered(501..=600).into_iter().for_each(|node| agreement.applicants.asked_by(node, 1));
        let asking = agreement.applicants.all().expect("some ask");
        numbered(1..=500).into_iter().for_each(|node| agreement.applicants.hear(node, asking.clone()));
        let admitted =
            |agreement: &Agreement, suspects| agreement.admitted(&suspects).into_keys().collect::<Vec<_>>();
        assert_eq!(admitted(&agreement, BTreeSet::new()), numbered(501..=512));
        assert_eq!(admitted(&agreement, [ONE].into()), numbered(501..=513), "one has left room");
        assert_eq!(agreement.successor().map(|members| members.newcomers().len()), Some(MAX_NEWCOMERS));
    }

    #[test]
    fn of_very_many_that_ask_the_lowest_are_told_of() {
        let mut applicants = crate::agreement::applicants::Applicants::default();
        (1..=600).map(NodeId).for_each(|node| applicants.asked_by(node, 1));
        let told = applicants.news().expect("some ask");
        assert_eq!(told.last_key_value(), Some((&NodeId(MAX_NEWCOMERS as u16), &1)));
        applicants.asked_by(NodeId(601), 1);
        assert_eq!((applicants.news(), applicants.all()), (None, Some(told)));
    }
}

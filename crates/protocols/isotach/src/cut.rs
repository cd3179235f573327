//! What a view that ends executes: a prefix of its order, made of all that those who are left know.

use crate::codec::Ordered;
use crate::limits::{MAX_RANKS_APART, MAX_UNEXECUTED};
use crate::logical_time::{Pulse, Rank};
use quintet_contract::NodeId;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// The places of isochrons that a node was told last: of each sender as many as may be missing at others.
#[derive(Default, Debug)]
pub(crate) struct Told(BTreeMap<NodeId, VecDeque<(Rank, Pulse)>>);

impl Told {
    pub(crate) fn add(&mut self, Ordered { pulse, sender, rank }: Ordered) {
        let of_sender = self.0.entry(sender).or_default();
        of_sender.push_back((rank, pulse));
        let oldest = rank.0.saturating_sub(MAX_RANKS_APART);
        while of_sender.pop_front_if(|(told, _)| told.0 < oldest).is_some() {}
    }

    /// Whether it was told of this isochron: a sender's are told in order.
    pub(crate) fn has(&self, sender: NodeId, rank: Rank) -> bool {
        let last = self.0.get(&sender).and_then(VecDeque::back);
        last.is_some_and(|(last, _)| *last >= rank)
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = Ordered> + '_ {
        let of = |(sender, told): (&NodeId, &VecDeque<(Rank, Pulse)>)| {
            let sender = *sender;
            let ordered = move |(rank, pulse)| Ordered { pulse, sender, rank };
            told.iter().copied().map(ordered).collect::<Vec<_>>()
        };
        self.0.iter().flat_map(of)
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

/// What is known of a view's isochrons.
#[derive(Clone, Default, Debug)]
pub(crate) struct Known {
    places: BTreeMap<(NodeId, Rank), Pulse>,
    /// Those that somebody has a part of, and nobody a place so far.
    parts: BTreeSet<(NodeId, Rank)>,
    count: BTreeMap<NodeId, usize>,
}

/// Isochrons of one sender that may be told of: those whose places are kept, those under way, and as many again, as some know more than others.
pub(crate) const MAX_KNOWN: usize = 4 * (MAX_RANKS_APART as usize + MAX_UNEXECUTED);

impl Known {
    /// One more isochron; pulse 0 says that there is a part of it. False if its place is another one than was known, or its sender has too many.
    pub(crate) fn add(&mut self, Ordered { pulse, sender, rank }: Ordered) -> bool {
        let is_new = match pulse {
            Pulse(0) => self.parts.insert((sender, rank)),
            _ => match self.places.entry((sender, rank)) {
                Entry::Occupied(known) if *known.get() != pulse => return false,
                Entry::Occupied(_) => false,
                Entry::Vacant(unknown) => {
                    unknown.insert(pulse);
                    true
                }
            },
        };
        let count = self.count.entry(sender).or_default();
        *count += usize::from(is_new);
        *count <= MAX_KNOWN
    }

    /// What is known, in pieces of a report.
    pub(crate) fn entries(&self) -> Vec<Ordered> {
        let of = |((sender, rank), pulse): (&(NodeId, Rank), &Pulse)| Ordered {
            pulse: *pulse,
            sender: *sender,
            rank: *rank,
        };
        let parts = self.parts.iter().filter(|part| !self.places.contains_key(part));
        self.places.iter().map(of).chain(parts.map(|part| of((part, &Pulse(0))))).collect()
    }

    /// What the view executes, in order. An isochron without a place, of whose sender a later one has a place, had one: it was with all its receivers then.
    /// It goes directly in front of that. All others were executed by nobody who is left, and are not.
    pub(crate) fn prefix(&self) -> Vec<Ordered> {
        let later = |sender: NodeId, rank: Rank| {
            let mut behind = self.places.range((sender, rank)..=(sender, Rank(u64::MAX)));
            behind.next().map(|(_, pulse)| *pulse)
        };
        let known: BTreeSet<_> = self.places.keys().chain(&self.parts).copied().collect();
        let placed = known
            .into_iter()
            .filter_map(|(sender, rank)| later(sender, rank).map(|pulse| Ordered { pulse, sender, rank }));
        let mut prefix: Vec<Ordered> = placed.collect();
        prefix.sort_unstable();
        prefix
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ordered(pulse: u64, sender: u16, rank: u64) -> Ordered {
        Ordered { pulse: Pulse(pulse), sender: NodeId(sender), rank: Rank(rank) }
    }

    #[test]
    fn what_has_no_place_goes_in_front_of_the_next_of_its_sender_or_nowhere() {
        let mut known = Known::default();
        let told = [(0, 1, 3), (7, 1, 5), (6, 2, 1), (0, 1, 6), (0, 2, 1), (9, 1, 8), (0, 3, 1)];
        assert!(told.iter().all(|(pulse, sender, rank)| known.add(ordered(*pulse, *sender, *rank))));
        let expected =
            [ordered(6, 2, 1), ordered(7, 1, 3), ordered(7, 1, 5), ordered(9, 1, 6), ordered(9, 1, 8)];
        assert_eq!(known.prefix(), expected);
        assert!(!known.add(ordered(8, 1, 5)), "another place");
        assert!(known.add(ordered(7, 1, 5)), "the same again");
        assert!(!known.entries().contains(&ordered(0, 2, 1)), "its place says more");
    }

    #[test]
    fn nobody_is_told_of_without_end() {
        let mut known = Known::default();
        let taken = (1..).take_while(|rank| known.add(ordered(*rank, 1, *rank))).count();
        assert_eq!(taken, MAX_KNOWN);
        let mut told = Told::default();
        (1..5000).for_each(|rank| told.add(ordered(rank, 1, rank)));
        told.add(ordered(9, 2, 1));
        assert_eq!(told.all().count() as u64, MAX_RANKS_APART + 2);
    }
}

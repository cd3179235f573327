//! What is kept of isochrons of one sender that are under way, by their ranks.

use crate::logical_time::Rank;
use std::collections::VecDeque;

/// Values by ranks that are put in ascending order and lie close together: as many slots are kept as there are ranks from the first that is there to the last. To put, find and take one is
/// a few instructions, whatever there is.
#[derive(Debug)]
pub(crate) struct Window<T> {
    /// The rank of the first slot, which is filled.
    first: Rank,
    slots: VecDeque<Option<T>>,
    count: usize,
}

impl<T> Default for Window<T> {
    fn default() -> Self {
        Window { first: Rank(0), slots: VecDeque::new(), count: 0 }
    }
}

impl<T> Window<T> {
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// The first that is there.
    pub(crate) fn first(&self) -> Option<Rank> {
        (self.count > 0).then_some(self.first)
    }

    /// Puts one behind all that are there.
    ///
    /// # Panics
    /// It has another place: a defect of the caller.
    pub(crate) fn push(&mut self, rank: Rank, value: T) {
        if self.count == 0 {
            self.first = rank;
        }
        let at = self.slot(rank).filter(|at| *at >= self.slots.len()).expect("ranks ascend");
        self.slots.resize_with(at, || None);
        self.slots.push_back(Some(value));
        self.count += 1;
    }

    pub(crate) fn get(&self, rank: Rank) -> Option<&T> {
        self.slots.get(self.slot(rank)?)?.as_ref()
    }

    pub(crate) fn get_mut(&mut self, rank: Rank) -> Option<&mut T> {
        let at = self.slot(rank)?;
        self.slots.get_mut(at)?.as_mut()
    }

    pub(crate) fn contains(&self, rank: Rank) -> bool {
        self.get(rank).is_some()
    }

    pub(crate) fn take(&mut self, rank: Rank) -> Option<T> {
        let at = self.slot(rank)?;
        let taken = self.slots.get_mut(at)?.take()?;
        self.count -= 1;
        while self.slots.pop_front_if(|slot| slot.is_none()).is_some() {
            self.first.0 += 1;
        }
        Some(taken)
    }

    /// All, ascending.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Rank, &T)> {
        let slots = (self.first.0..).zip(&self.slots);
        slots.filter_map(|(rank, slot)| slot.as_ref().map(|value| (Rank(rank), value)))
    }

    /// Takes all, ascending.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = (Rank, T)> + use<T> {
        let Window { first, slots, .. } = core::mem::take(self);
        (first.0..).zip(slots).filter_map(|(rank, slot)| slot.map(|value| (Rank(rank), value)))
    }

    fn slot(&self, rank: Rank) -> Option<usize> {
        usize::try_from(rank.0.checked_sub(self.first.0)?).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// As an ordered map has it.
    #[test]
    fn what_was_put_is_found_and_taken_in_whatever_order() {
        let (mut window, mut map) = (Window::default(), BTreeMap::new());
        let mut random = quintet_contract::Random::new(1, 1);
        for step in 1..20_000u64 {
            let rank = Rank(step + 1000 * (step / 5000));
            if map.len() < 50 {
                window.push(rank, step);
                map.insert(rank, step);
            }
            let near = Rank(rank.0.saturating_sub(random.below(100)));
            assert_eq!(window.get(near), map.get(&near));
            assert_eq!(window.take(near), map.remove(&near));
            if random.below(1000) == 0 {
                assert_eq!(
                    window.drain().collect::<Vec<_>>(),
                    core::mem::take(&mut map).into_iter().collect::<Vec<_>>()
                );
            }
            let first = map.first_key_value().map(|(rank, _)| *rank);
            assert_eq!((window.len(), window.first()), (map.len(), first));
            assert!(window.iter().eq(map.iter().map(|(rank, value)| (*rank, value))));
        }
    }

    #[test]
    #[should_panic(expected = "ranks ascend")]
    fn what_is_not_behind_all_others_is_refused() {
        let mut window = Window::default();
        window.push(Rank(5), ());
        window.push(Rank(5), ());
    }
}

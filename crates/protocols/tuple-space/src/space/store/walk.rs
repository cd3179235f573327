//! Several tuples of one signature that match, one after the other.

use super::ranged::Way;
use super::{Entry, SearchBudget, Store, number};
use crate::codec::View;
use crate::keyed::HashKey;
use crate::space::collect::Reach;
use core::ops::{ControlFlow, Range};

impl Store {
    /// Shows those that match and can be taken, of these ages and the oldest first, until it is told to stop or has compared so many; and how
    /// many it has compared.
    pub(in crate::space) fn walk(
        &mut self,
        template: &View<'_>,
        ages: Range<u64>,
        limit: usize,
        (budget, key): (&mut SearchBudget, &HashKey),
        show: impl FnMut(u32, &Entry) -> ControlFlow<()>,
    ) -> (Reach, u32) {
        if self.shown == 0 {
            return (Reach::End, 0);
        }
        let way = self.way(template, budget, key);
        self.go(way, template, ages, limit, (budget, key), show)
    }

    /// The same, on that way.
    pub(super) fn go(
        &mut self,
        way: Way,
        template: &View<'_>,
        ages: Range<u64>,
        limit: usize,
        (budget, key): (&mut SearchBudget, &HashKey),
        mut show: impl FnMut(u32, &Entry) -> ControlFlow<()>,
    ) -> (Reach, u32) {
        match way {
            Way::NotReady => (Reach::NotReady, 0),
            Way::ByAge => self.go_by_age(template, ages, limit, (budget, key), show),
            Way::Ordered(index) => {
                let ordered = self.ordered[index].oldest_first(template, key);
                let passed = self.pass(ordered, template, &ages, limit, &mut show);
                // All that it may look at lies before the first that is wanted: those are found by age.
                match passed {
                    (Reach::Before(age), _) if ages.start > 0 && age <= ages.start => {
                        self.go_by_age(template, ages, limit, (budget, key), show)
                    }
                    passed => passed,
                }
            }
        }
    }

    /// Shows those of these ages among the tuples with the template's values.
    fn go_by_age(
        &mut self,
        template: &View<'_>,
        ages: Range<u64>,
        limit: usize,
        (budget, key): (&mut SearchBudget, &HashKey),
        mut show: impl FnMut(u32, &Entry) -> ControlFlow<()>,
    ) -> (Reach, u32) {
        let Some(index) = self.index(template.actuals(), budget, key) else { return (Reach::NotReady, 0) };
        let hash = self.indexes[index].hash(template, key);
        self.pass(self.indexes[index].members(hash, ages.start), template, &ages, limit, &mut show)
    }

    /// Shows those of the candidates that match and are of these ages; it looks at no more than so many.
    fn pass(
        &self,
        candidates: impl Iterator<Item = (u64, u32)>,
        template: &View<'_>,
        ages: &Range<u64>,
        limit: usize,
        show: &mut impl FnMut(u32, &Entry) -> ControlFlow<()>,
    ) -> (Reach, u32) {
        let mut compared = 0;
        for (age, entry) in candidates {
            if age >= ages.end {
                break;
            }
            let is_stopped = compared == limit
                || age >= ages.start
                    && template.matches(&self.view(entry))
                    && show(entry, &self.entries[entry]).is_break();
            if is_stopped {
                return (Reach::Before(age), number(compared));
            }
            compared += 1;
        }
        (Reach::End, number(compared))
    }
}

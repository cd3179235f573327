//! Several tuples of one signature that match, one after the other.

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
        mut show: impl FnMut(u32, &Entry) -> ControlFlow<()>,
    ) -> (Reach, u32) {
        if self.shown == 0 {
            return (Reach::End, 0);
        }
        let Some(index) = self.index(template.actuals(), budget, key) else { return (Reach::NotReady, 0) };
        let hash = self.indexes[index].hash(template, key);
        let mut compared = 0;
        for (age, entry) in self.indexes[index].members(hash, ages.start) {
            if age >= ages.end {
                break;
            }
            let is_stopped = compared == limit
                || template.matches(&self.view(entry)) && show(entry, &self.entries[entry]).is_break();
            if is_stopped {
                return (Reach::Before(age), number(compared));
            }
            compared += 1;
        }
        (Reach::End, number(compared))
    }
}

//! Templates with ranges: which index finds what matches one.
//!
//! Where few tuples have the template's values, they are compared in the order of their age. Where there are more, an ordered index finds the
//! oldest in one of its ranges. Where there is none and none may be made, and behind as many candidates as one turn may compare, the
//! tuples with those values are compared by age again, a step in each turn.

use super::{OrderedIndex, Search, SearchBudget, Store};
use crate::codec::View;
use crate::keyed::HashKey;
use crate::space::collect::Reach;
use crate::space::ordered::MAX_ORDERED_INDEXES;
use crate::space::scan::{Progress, comparisons};
use crate::{ElementType, Signature, Type};
use core::ops::ControlFlow;

/// So many tuples with the same values are compared without an ordered index.
const FEW: usize = 64;

/// How what matches a template is looked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Way {
    /// Among those with its values, by age.
    ByAge,
    /// By the ordered index at that position.
    Ordered(usize),
    NotReady,
}

impl Store {
    /// As [`Store::oldest`].
    #[cold]
    pub(super) fn oldest_in_range(
        &mut self,
        template: &View<'_>,
        progress: &mut Progress,
        budget: &mut SearchBudget,
        key: &HashKey,
    ) -> (Search<u32>, u32) {
        let mut found = None;
        let (stop, compared) = self.go_on(template, progress, budget, key, |entry| {
            found = Some(entry);
            ControlFlow::Break(())
        });
        (found.map_or_else(|| outcome(stop, progress), Search::Found), compared)
    }

    /// As [`Store::count`].
    #[cold]
    pub(super) fn count_in_range(
        &mut self,
        template: &View<'_>,
        progress: &mut Progress,
        budget: &mut SearchBudget,
        key: &HashKey,
    ) -> (Search<u32>, u32) {
        let mut matching = 0;
        let (stop, compared) = self.go_on(template, progress, budget, key, |_| {
            matching += 1;
            ControlFlow::Continue(())
        });
        progress.matching += matching;
        (outcome(stop, progress), compared)
    }

    /// Shows what matches from the mark on, as far as one turn may go. An ordered index is used at the start only: it finds what is old from the
    /// beginning on.
    fn go_on(
        &mut self,
        template: &View<'_>,
        progress: &Progress,
        budget: &mut SearchBudget,
        key: &HashKey,
        mut show: impl FnMut(u32) -> ControlFlow<()>,
    ) -> (Reach, u32) {
        let way = if progress.mark == 0 { self.way(template, budget, key) } else { Way::ByAge };
        let limit = comparisons(budget.step, template);
        self.go(way, template, progress.mark..u64::MAX, limit, (budget, key), |entry, _| show(entry))
    }

    /// How to look for what matches a template.
    pub(super) fn way(&mut self, template: &View<'_>, budget: &mut SearchBudget, key: &HashKey) -> Way {
        if !template.has_ranges() {
            return Way::ByAge;
        }
        let alike = match template.actuals() {
            0 => self.shown,
            actuals => {
                let Some(index) = self.index(actuals, budget, key) else { return Way::NotReady };
                let hash = self.indexes[index].hash(template, key);
                self.indexes[index].number(hash)
            }
        };
        if alike <= FEW.min(budget.step) {
            return Way::ByAge;
        }
        match self.ordered_index(template, budget, key) {
            None => Way::ByAge,
            Some(index) if self.ordered[index].is_ready() => Way::Ordered(index),
            Some(_) => Way::NotReady,
        }
    }

    /// The ordered index to use: of all values of the template and its first range, or a new one if it may be made; else any that serves.
    fn ordered_index(
        &mut self,
        template: &View<'_>,
        budget: &mut SearchBudget,
        key: &HashKey,
    ) -> Option<usize> {
        let (actuals, ranged) = (template.actuals(), template.ranged());
        let serving = |index: &OrderedIndex| index.serves(actuals, ranged);
        let exact = |index: &OrderedIndex| serving(index) && index.fields() == actuals;
        if let Some(position) = self.ordered.iter().position(exact) {
            return Some(position);
        }
        let field = u8::try_from(ranged.trailing_zeros()).expect("a field is below 64");
        let is_number = has_numbers(&self.signature, field)?;
        let may_add = self.may_add(OrderedIndex::weight_of(is_number), budget);
        if self.ordered.len() == MAX_ORDERED_INDEXES || !may_add {
            return self.ordered.iter().position(serving);
        }
        self.ordered.push(OrderedIndex::unready(actuals, field, is_number));
        self.pay_for_indexes(budget);
        let position = self.ordered.len() - 1;
        if self.entries.len() <= budget.step {
            self.build_ordered(position, budget.step, key);
        }
        Some(position)
    }

    /// Checks that every ordered index holds every shown tuple that it covers, and nothing else, and what the tuples pay for.
    pub(super) fn verify_ordered(&self, key: &HashKey) {
        let ordered: u64 = self.ordered.iter().map(OrderedIndex::weight).sum();
        assert_eq!(self.indexes.further() + ordered, self.further, "{}", self.signature);
        for index in &self.ordered {
            let covered = self.entries.iter().filter(|(place, entry)| entry.shown && index.covers(*place));
            index
                .verify(covered.map(|(place, entry)| (place, entry.order, entry.view(&self.signature))), key);
        }
    }
}

/// What a search that found nothing, or a count, comes to.
fn outcome(stop: Reach, progress: &mut Progress) -> Search<u32> {
    match stop {
        Reach::End => Search::Nothing,
        Reach::NotReady => Search::NotReady,
        Reach::Before(age) => {
            progress.mark = age;
            Search::Unfinished
        }
    }
}

/// Whether that field of a signature is a number, or else text or bytes; none if its values have no order.
pub(super) fn has_numbers(signature: &Signature, field: u8) -> Option<bool> {
    match signature.types().nth(field.into())? {
        Type::Text | Type::Binary => Some(false),
        Type::Scalar(ElementType::Bool) | Type::Array { .. } => None,
        Type::Scalar(_) => Some(true),
    }
}

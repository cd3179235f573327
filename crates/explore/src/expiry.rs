//! Which tuples of a run expire, and what is known of when they do.

use crate::item::Item;
use crate::plan::Plan;
use quintet_contract::{Span, Time};
use quintet_tuple_space::EXPIRY_BYTES;

/// In how long: soon, while others ask for it, and not within any run.
const SPANS: [Span; 3] = [Span::from_millis(2), Span::from_millis(15), Span::from_secs(10_000)];
/// Of so many tuples one expires.
const ONE_OF: u64 = 3;

/// Whether tuples of a run expire. Which of them do follows from their numbers, so that no choice is made for it.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Expiring(pub(crate) bool);

impl Expiring {
    /// In how long after it was put a tuple expires.
    pub(crate) fn of(self, item: Item) -> Option<Span> {
        let which = usize::try_from(item.number / ONE_OF % SPANS.len() as u64).expect("a few");
        (self.0 && item.number.is_multiple_of(ONE_OF)).then_some(SPANS[which])
    }

    /// Bytes for which it counts in the space.
    pub(crate) fn bytes(self, item: Item) -> u64 {
        item.bytes() + self.of(item).map_or(0, |_| EXPIRY_BYTES)
    }
}

/// When a tuple expires, as far as clients can know.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Expiry {
    /// Not before.
    pub(crate) earliest: Time,
    /// Not later; none: nobody said when it was put.
    pub(crate) latest: Option<Time>,
}

impl Expiry {
    /// Of a tuple whose put was sent, and answered.
    pub(crate) fn of(plan: &Plan, item: Item, sent: Time, answered: Option<Time>) -> Option<Expiry> {
        let span = plan.expiring().of(item)?;
        let latest = answered.map(|answered| answered + plan.longest(span));
        Some(Expiry { earliest: sent + plan.shortest(span), latest })
    }
}

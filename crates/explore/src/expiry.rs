//! Which tuples of a run expire, and what is known of when they do.

use crate::item::Item;
use crate::plan::Plan;
use quintet_contract::{Span, Time};
use quintet_tuple_space::EXPIRY_BYTES;

/// In how long: soon, while others ask for it, and not within any run.
const SPANS: [Span; 3] = [Span::from_millis(2), Span::from_millis(15), Span::from_secs(10_000)];

/// In how long those tuples of a run expire that do: every second one, so that no choice is made for it.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Expiring(Option<Span>);

impl Expiring {
    /// In a run with this key: none in three of four.
    pub(crate) fn in_run(key: u64) -> Expiring {
        let which = usize::try_from(key / 4 % SPANS.len() as u64).expect("a few");
        Expiring((key % 4 == 1).then_some(SPANS[which]))
    }

    /// In how long after it was put a tuple expires.
    pub(crate) fn of(self, item: Item) -> Option<Span> {
        self.0.filter(|_| !item.number.is_multiple_of(2))
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

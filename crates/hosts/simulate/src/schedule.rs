//! The queue of pending events: earliest first, first scheduled first among equals.

use quintet_contract::{Span, Time};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Simulated time in picoseconds. 213 days fit.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(crate) struct Picos(pub(crate) u64);

impl Picos {
    pub(crate) fn after(self, span: Span) -> Picos {
        Picos(self.0.saturating_add(span.0.saturating_mul(1_000)))
    }

    /// As protocols see it: rounded down to whole nanoseconds.
    pub(crate) fn time(self) -> Time {
        Time(self.0 / 1_000)
    }

    /// The first picosecond at which `time` has been reached.
    pub(crate) fn reaching(time: Time) -> Picos {
        Picos(time.0.saturating_mul(1_000))
    }
}

/// Pending events of type `E`.
pub(crate) struct Schedule<E> {
    heap: BinaryHeap<Reverse<Entry<E>>>,
    scheduled: u64,
}

struct Entry<E> {
    at: Picos,
    order: u64,
    event: E,
}

impl<E> Schedule<E> {
    pub(crate) fn new() -> Self {
        Schedule { heap: BinaryHeap::new(), scheduled: 0 }
    }

    pub(crate) fn add(&mut self, at: Picos, event: E) {
        self.scheduled += 1;
        self.heap.push(Reverse(Entry { at, order: self.scheduled, event }));
    }

    pub(crate) fn next_at(&self) -> Option<Picos> {
        self.heap.peek().map(|Reverse(entry)| entry.at)
    }

    pub(crate) fn pop(&mut self) -> Option<(Picos, E)> {
        self.heap.pop().map(|Reverse(entry)| (entry.at, entry.event))
    }
}

impl<E> PartialEq for Entry<E> {
    fn eq(&self, other: &Self) -> bool {
        self.order == other.order
    }
}

impl<E> Eq for Entry<E> {}

impl<E> PartialOrd for Entry<E> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<E> Ord for Entry<E> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.order).cmp(&(other.at, other.order))
    }
}

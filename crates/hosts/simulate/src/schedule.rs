//! The queue of pending events: earliest first, first scheduled first among equals.
//!
//! | file | holds |
//! | --- | --- |
//! | `buckets.rs` | the order: times and slots, in a monotone radix queue; read its head first |
//! | `slots.rs` | the events themselves, which stay where they are while their times move |

mod buckets;
mod slots;
#[cfg(test)]
mod tests;

use crate::picos::Picos;
use buckets::Buckets;
use slots::Slots;

/// Pending events of type `E`: earliest first, first scheduled first among equals.
///
/// Time never runs back: an event scheduled before the last one popped takes place at the time of that one.
/// [`add`](Schedule::add) costs a constant time and [`pop`](Schedule::pop) a constant time on average, whether a
/// thousand events are pending or a million; a single `pop` may sort a large part of them. At most 2^32 - 1 events can
/// be pending at once.
///
/// ```
/// use quintet_simulate::{Picos, Schedule};
///
/// let mut schedule = Schedule::new();
/// schedule.add(Picos(20), "second");
/// schedule.add(Picos(10), "first");
/// schedule.add(Picos(20), "third");
/// assert_eq!(schedule.next_at(), Some(Picos(10)));
/// let order: Vec<_> = std::iter::from_fn(|| schedule.pop()).map(|(_, event)| event).collect();
/// assert_eq!(order, ["first", "second", "third"]);
/// ```
#[derive(Debug)]
pub struct Schedule<E> {
    order: Buckets,
    events: Slots<E>,
}

impl<E> Schedule<E> {
    /// Without events; the time is zero.
    #[must_use]
    pub fn new() -> Self {
        Schedule { order: Buckets::new(), events: Slots::new() }
    }

    /// Schedules `event` at `at`, or at the time of the event popped last if that is later.
    ///
    /// # Panics
    /// If 2^32 - 1 events are pending already.
    pub fn add(&mut self, at: Picos, event: E) {
        self.add_with(at, || event);
    }

    /// The same; the event is made where it will lie, which is quicker than to bring it there.
    #[inline]
    pub(crate) fn add_with(&mut self, at: Picos, event: impl FnOnce() -> E) {
        let slot = self.events.put(event);
        self.order.add(at.0, slot);
    }

    /// When the next event takes place.
    #[must_use]
    pub fn next_at(&self) -> Option<Picos> {
        self.order.next_at().map(Picos)
    }

    /// Takes the next event out, with its time.
    pub fn pop(&mut self) -> Option<(Picos, E)> {
        let (at, slot) = self.order.pop()?;
        Some((Picos(at), self.events.take(slot)))
    }

    /// Events pending.
    #[must_use]
    pub fn len(&self) -> usize {
        self.events.len()
    }

    /// Whether no event is pending.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<E> Default for Schedule<E> {
    fn default() -> Self {
        Schedule::new()
    }
}

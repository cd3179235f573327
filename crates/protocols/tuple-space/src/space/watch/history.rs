//! The events that are kept.

use super::arrivals::Arrivals;
use crate::codec::{Change, View};
use bytes::Bytes;
use quintet_contract::Time;
use std::collections::VecDeque;

/// What an event takes beside its tuple.
const EVENT_BYTES: u64 = 96;

/// Something that happened to a tuple.
#[derive(Clone, Debug)]
pub(super) struct Kept {
    pub(super) change: Change,
    pub(super) age: u64,
    pub(super) head: Box<[u8]>,
    pub(super) bulk: Bytes,
}

/// The last events, each with a number above that of the one before.
#[derive(Debug)]
pub(super) struct History {
    /// Of the last event, or one above it up to which there is no other.
    number: u64,
    /// Numbers are this far apart, so that those of two managers of one space are never the same.
    stride: u64,
    /// None: nobody watches.
    kept: Option<Events>,
}

#[derive(Debug, Default)]
pub(super) struct Events {
    /// With their numbers, which go up.
    pub(super) list: VecDeque<(u64, Kept)>,
    pub(super) bytes: u64,
    /// They are kept at least so long.
    pub(super) until: Time,
    /// Behind this number, and every later one, events are kept, unless it is known better of some.
    pub(super) oldest: u64,
    pub(super) arrivals: Arrivals,
}

impl Kept {
    fn bytes(&self) -> u64 {
        (self.head.len() + self.bulk.len()) as u64 + EVENT_BYTES
    }

    /// The tuple.
    pub(super) fn view(&self) -> View<'_> {
        View::checked_tuple(&self.head, &self.bulk)
    }

    /// Whether it is about a tuple of these.
    pub(super) fn is_matched_by(&self, template: &View<'_>) -> bool {
        // A signature says itself where it ends.
        let signature = template.signature();
        self.head.starts_with(signature)
            && template.matches(&View::stored(&self.head, &self.bulk, signature.len()))
    }
}

impl Events {
    pub(super) fn push(&mut self, number: u64, kept: Kept) {
        self.bytes += kept.bytes();
        self.list.push_back((number, kept));
    }

    /// Gives up the oldest while they have too many bytes, all but one.
    fn shrink(&mut self, limit: u64) {
        while self.bytes > limit && self.list.len() > 1 {
            let Some((number, first)) = self.list.pop_front() else { return };
            self.bytes -= first.bytes();
            self.oldest = self.oldest.max(number);
            self.arrivals.lose(&first, number);
        }
    }
}

impl History {
    /// Without events, behind that number.
    pub(super) fn new(number: u64) -> History {
        History { number, stride: 1, kept: None }
    }

    pub(super) fn of(number: u64, kept: Option<Events>) -> History {
        History { number, stride: 1, kept }
    }

    /// One of so many, each with numbers of a remainder of its own.
    pub(super) fn spread(&mut self, me: u8, stride: u64) {
        self.number = self.number - self.number % stride + u64::from(me);
        self.stride = stride;
    }

    pub(super) fn kept(&self) -> Option<&Events> {
        self.kept.as_ref()
    }

    pub(super) fn kept_mut(&mut self) -> Option<&mut Events> {
        self.kept.as_mut()
    }

    #[inline]
    pub(super) fn is_kept(&self) -> bool {
        self.kept.is_some()
    }

    /// The number up to which all has happened.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// Behind this number, and every later one, events are kept, unless it is known better of some.
    pub(super) fn oldest(&self) -> u64 {
        self.kept.as_ref().map_or(self.number, |kept| kept.oldest)
    }

    /// Gives no number from now on that is not above that one.
    pub(super) fn pass(&mut self, number: u64) {
        // Another manager counts for no longer than anybody.
        if number > self.number && number <= u64::MAX >> 1 {
            self.number += (number - self.number).next_multiple_of(self.stride);
        }
    }

    /// Keeps events from now on, if none are kept so far: what happened meanwhile lies behind a number of its own.
    pub(super) fn keep(&mut self, now: Time) {
        if self.kept.is_none() {
            self.number += self.stride;
            self.kept = Some(Events { oldest: self.number, ..Events::default() });
        }
        let kept = self.kept.get_or_insert_default();
        kept.until = kept.until.max(now + super::KEPT_FOR);
    }

    /// Adds an event, and gives up the oldest while they have too many bytes. Where nobody has watched for long, all go.
    pub(super) fn add(&mut self, now: Time, event: Kept, limit: u64, is_waited_for: bool) {
        let Some(kept) = self.kept.as_mut().filter(|kept| is_waited_for || now <= kept.until) else {
            self.kept = None;
            return;
        };
        self.number += self.stride;
        kept.push(self.number, event);
        kept.shrink(limit);
    }

    /// Takes events away, with their numbers. O(n) of all that are kept.
    pub(super) fn take_where(&mut self, is_taken: impl Fn(&Kept) -> bool) -> Vec<(u64, Kept)> {
        let Some(kept) = &mut self.kept else { return Vec::new() };
        let (taken, stay): (Vec<_>, Vec<_>) =
            core::mem::take(&mut kept.list).into_iter().partition(|(_, event)| is_taken(event));
        kept.list = stay.into();
        kept.bytes -= taken.iter().map(|(_, event)| event.bytes()).sum::<u64>();
        taken
    }

    /// Puts events among those that are kept, each where its number says. O(n log n) of all.
    pub(super) fn insert(&mut self, events: Vec<(u64, Kept)>, limit: u64) {
        let Some(kept) = self.kept.as_mut().filter(|_| !events.is_empty()) else { return };
        kept.bytes += events.iter().map(|(_, event)| event.bytes()).sum::<u64>();
        let mut list = Vec::from(core::mem::take(&mut kept.list));
        list.extend(events);
        list.sort_by_key(|(number, _)| *number);
        kept.list = list.into();
        kept.shrink(limit);
    }

    /// Those behind that number, with theirs.
    pub(super) fn behind(&self, number: u64) -> impl Iterator<Item = (u64, &Kept)> {
        let list = self.kept.as_ref().map(|kept| {
            let skipped = kept.list.partition_point(|(of, _)| *of <= number);
            kept.list.range(skipped..)
        });
        list.into_iter().flatten().map(|(number, kept)| (*number, kept))
    }
}

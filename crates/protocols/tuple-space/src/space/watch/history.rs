//! The events that are kept.

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

/// The last events, each with a number one above that of the one before.
#[derive(Debug)]
pub(super) struct History {
    /// Of the last event.
    number: u64,
    /// None: nobody watches.
    kept: Option<Events>,
}

#[derive(Debug, Default)]
pub(super) struct Events {
    pub(super) list: VecDeque<Kept>,
    pub(super) bytes: u64,
    /// They are kept at least so long.
    pub(super) until: Time,
}

impl Kept {
    fn bytes(&self) -> u64 {
        (self.head.len() + self.bulk.len()) as u64 + EVENT_BYTES
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
    pub(super) fn push(&mut self, kept: Kept) {
        self.bytes += kept.bytes();
        self.list.push_back(kept);
    }
}

impl History {
    /// Without events, behind that number.
    pub(super) fn new(number: u64) -> History {
        History { number, kept: None }
    }

    pub(super) fn of(number: u64, kept: Option<Events>) -> History {
        History { number, kept }
    }

    pub(super) fn kept(&self) -> Option<&Events> {
        self.kept.as_ref()
    }

    #[inline]
    pub(super) fn is_kept(&self) -> bool {
        self.kept.is_some()
    }

    /// The number of the last event.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// Behind this number, and every later one, events are kept.
    pub(super) fn oldest(&self) -> u64 {
        self.number - self.kept.as_ref().map_or(0, |kept| kept.list.len() as u64)
    }

    /// Keeps events from now on, if none are kept so far: what happened meanwhile lies behind a number of its own.
    pub(super) fn keep(&mut self, now: Time) {
        if self.kept.is_none() {
            self.number += 1;
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
        self.number += 1;
        kept.push(event);
        while kept.bytes > limit && kept.list.len() > 1 {
            let Some(first) = kept.list.pop_front() else { return };
            kept.bytes -= first.bytes();
        }
    }

    /// Those behind that number, which is not older than the oldest, with theirs.
    pub(super) fn behind(&self, number: u64) -> impl Iterator<Item = (u64, &Kept)> {
        let first = self.oldest();
        let skipped = usize::try_from(number.saturating_sub(first)).unwrap_or(usize::MAX);
        let list = self.kept.as_ref().map(|kept| kept.list.range(skipped.min(kept.list.len())..));
        list.into_iter().flatten().zip(number + 1..).map(|(kept, number)| (number, kept))
    }
}

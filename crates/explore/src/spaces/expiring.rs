//! Which tuples of a run expire, and what is known of when they do.
//!
//! A tuple does not leave before its time: no clock is faster than [`EARLIEST`] says, and the time of a space that is down, or of a tuple on its way, stands still. How long it
//! stays behind its time is not known of each, but all have left once everybody was left alone. (docs/design/0049-tuples-that-expire.md)

use super::ledger::Ledger;
use super::templates::number_of;
use crate::system::Broken;
use quintet_contract::{Span, Time};
use quintet_linearizability::{Act, Event};
use quintet_tuple_space::{Answer, Change};
use std::collections::{BTreeMap, BTreeSet};

const NOT_BEFORE: &str = "no tuple leaves before its time";
const NOT_BEHIND: &str = "nobody is given what has expired";

/// In how long: soon, while others ask for it, and not within any run.
const SPANS: [Span; 3] = [Span::from_millis(2), Span::from_millis(15), Span::from_secs(10_000)];

/// Longer than any run, and than what expires within one lives.
const LONG: Span = Span::from_secs(1_000);

/// A clock that gains a twentieth passes a span in so much of it, in hundredths.
const EARLIEST: u64 = 95;

/// In histories: what happens to a tuple by itself.
const BY_ITSELF: u32 = 1 << 30;

/// In how long those tuples of a run expire that do: every second one, so that no choice is made for it.
pub(super) fn span_of(seed: u64, number: u32) -> Option<Span> {
    let key = seed / 8;
    let which = usize::try_from(key / 8 % SPANS.len() as u64).expect("a few");
    (matches!(key % 8, 1 | 3) && !number.is_multiple_of(2)).then_some(SPANS[which])
}

/// What is known of tuples that expire.
#[derive(Default, Debug)]
pub(super) struct Expiring {
    now: Time,
    /// By their numbers.
    tuples: BTreeMap<u32, Expiry>,
    /// When all had left whose time had come, by the clock of what was asked and answered.
    over: Option<u64>,
}

/// When a tuple expires.
#[derive(Clone, Copy, Debug)]
struct Expiry {
    /// Not before.
    earliest: Time,
    /// When that had come, by the clock of what was asked and answered.
    since: Option<u64>,
}

impl Expiring {
    /// A tuple is to be put that expires in so long.
    pub(super) fn note(&mut self, number: u32, span: Span) {
        let earliest = self.now + Span(span.0 / 100 * EARLIEST);
        self.tuples.insert(number, Expiry { earliest, since: None });
    }

    /// Whether its time may have come.
    pub(super) fn may_have(&self, number: u32) -> bool {
        self.tuples.get(&number).is_some_and(|expiry| expiry.since.is_some())
    }

    /// Whether the end of a run has to wait for any.
    pub(super) fn is_awaited(&self) -> bool {
        self.over.is_none() && self.tuples.values().any(|expiry| expiry.earliest < self.now + LONG)
    }

    /// Every tuple whose time had come has left, unless somebody has it.
    pub(super) fn end(&mut self, clock: u64) {
        self.over = Some(clock);
    }

    /// Whether what clients were told of events can be.
    ///
    /// # Errors
    /// A tuple has left before its time.
    pub(super) fn hear(&self, answer: &Answer) -> Result<(), Broken> {
        let Answer::Events(events) = answer else { return Ok(()) };
        let expired = events.events.iter().filter(|event| event.change == Change::Expired);
        let mut early =
            expired.filter_map(|event| number_of(&event.tuple)).filter(|number| !self.may_have(*number));
        match early.next() {
            None => Ok(()),
            Some(number) => Err(Broken::new(NOT_BEFORE, format!("tuple {number} is told to have expired"))),
        }
    }

    /// Whether somebody was given what had left for good.
    ///
    /// # Errors
    /// He was.
    pub(super) fn judge(&self, history: &[Event<Act>]) -> Result<(), Broken> {
        let Some(over) = self.over else { return Ok(()) };
        for event in history.iter().filter(|event| event.asked > over) {
            if let Some(number) = found(&event.act).iter().find(|number| self.may_have(**number)) {
                return Err(Broken::new(NOT_BEHIND, format!("tuple {number}: {:?}", event.act)));
            }
        }
        Ok(())
    }

    /// What may have happened to tuples that were put and that nobody was told to have got for good: one that somebody was given had not left.
    pub(super) fn events(&self, history: &[Event<Act>], gone: &BTreeSet<u32>) -> Vec<Event<Act>> {
        let put: BTreeSet<u32> =
            history.iter().flat_map(|event| event.act.puts()).map(|(_, number)| *number).collect();
        let due = self.tuples.iter().filter_map(|(number, expiry)| Some((*number, expiry.since?)));
        due.filter(|(number, _)| put.contains(number) && !gone.contains(number))
            .map(|(number, asked)| Event {
                client: BY_ITSELF | number,
                act: Act::Expire(number),
                asked,
                answered: None,
            })
            .collect()
    }
}

impl Ledger {
    /// What time it is.
    pub(super) fn passes(&mut self, now: Time) {
        self.expiring.now = now;
        for expiry in self.expiring.tuples.values_mut() {
            if expiry.since.is_none() && expiry.earliest <= now {
                self.clock += 1;
                expiry.since = Some(self.clock);
            }
        }
    }
}

/// Which tuples somebody was given.
fn found(act: &Act) -> &[u32] {
    match act {
        Act::Query { found, .. } | Act::Replace { found, .. } => found.as_slice(),
        Act::Collect { found, .. } => found,
        _ => &[],
    }
}

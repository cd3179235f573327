//! Requests of one kind, told apart by the byte behind `settled`.
//!
//! ```text
//! MORE      settled u64 | what u8 | the rest
//! 0 watch   behind which number u64 (all ones: none, it asks only for the number now) | events at most u32 | how it waits u8, span u64
//!           | template, to the end; nothing: all tuples
//! 1 look    where the page begins u64 | tuples at most u32 | template, to the end; nothing: all tuples
//! EVENTS    number u64 | where the next page of tuples begins u64 (all ones: there is none) | n u32 | n events
//! event     number u64 | age u64 | what changed u8 | head length u32 | bulk length u32 | head
//! TOLD      0: too old u8 | oldest number u64 | newest number u64
//! ```
//!
//! The bulk of an answer is that of its last event: no other one has any.

use super::request::{Wait, template};
use super::{MAX_HEAD_BYTES, View};
use crate::Tuple;
use bytes::Bytes;
use core::fmt;
use quintet_wire::{Decode, DecodeError, Encode, Reader, Sink};

/// A watch that asks only for the number now.
const NO_NUMBER: u64 = u64::MAX;
/// There is no next page.
const NO_PAGE: u64 = u64::MAX;

const WATCH: u8 = 0;
const LOOK: u8 = 1;

const TOO_OLD: u8 = 0;

/// What happened to a tuple.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Change {
    /// It came: by an `out`, with an acknowledgement, with a group or by a replacement.
    Put = 0,
    /// A plain take has it: it is gone, unless that take is undone. Or a replacement: it is gone, and what was put in its place comes next.
    Taken = 1,
    /// It is hidden under a lease.
    Leased = 2,
    /// It can be taken again, at its old place: its lease ended, or the take that had it was undone.
    Returned = 3,
    /// Its lease was acknowledged, or the group that took it has happened: it is gone.
    Done = 4,
    /// Its leases ended too often without an acknowledgement: it is gone, and a dead letter comes in its place.
    Failed = 5,
    /// It was there already. Of a page of tuples, and of no event.
    There = 6,
    /// It has expired: it is gone. Where it was under a lease or in delivery, when it would have returned.
    Expired = 7,
}

impl Change {
    /// All of them, in the order of their numbers.
    pub const ALL: [Change; 8] = [
        Change::Put,
        Change::Taken,
        Change::Leased,
        Change::Returned,
        Change::Done,
        Change::Failed,
        Change::There,
        Change::Expired,
    ];

    /// In a word, as programs see it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Change::Put => "put",
            Change::Taken => "taken",
            Change::Leased => "leased",
            Change::Returned => "returned",
            Change::Done => "done",
            Change::Failed => "failed",
            Change::There => "there",
            Change::Expired => "expired",
        }
    }

    /// Whether the tuple can be taken after it.
    #[must_use]
    pub const fn is_there(self) -> bool {
        matches!(self, Change::Put | Change::Returned | Change::There)
    }

    pub(crate) fn of_number(number: u8) -> Option<Change> {
        Change::ALL.get(usize::from(number)).copied()
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Something that happened to a tuple.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TupleEvent {
    /// Its place in the order of all events of the space. Numbers go up, not always by one.
    pub number: u64,
    /// Which tuple: its place in the order in which tuples were put. No two have the same.
    pub age: u64,
    /// What happened.
    pub change: Change,
    /// The tuple.
    pub tuple: Tuple,
}

/// The answer to a watch, or to a look at the tuples that are there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Events {
    /// All that happened up to this number and was asked for is here, or was before. Go on behind it.
    pub number: u64,
    /// Of a look: where the next page begins; none: this was the last.
    pub next: Option<u64>,
    /// In the order in which they happened; of a look, in no particular order.
    pub events: Vec<TupleEvent>,
}

/// What a watch asks for, as the manager reads it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WatchView<'a> {
    /// Events behind this number; none: the number now.
    pub(crate) since: Option<u64>,
    pub(crate) most: u32,
    pub(crate) wait: Wait,
    /// None: all tuples.
    pub(crate) template: Option<View<'a>>,
}

/// What a look asks for, as the manager reads it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LookView<'a> {
    pub(crate) from: u64,
    pub(crate) most: u32,
    pub(crate) template: Option<View<'a>>,
}

/// A request of the kind [`MORE`](super::MORE).
#[derive(Clone, Copy, Debug)]
pub(crate) enum More<'a> {
    Watch(WatchView<'a>),
    Look(LookView<'a>),
}

impl<'a> More<'a> {
    /// Which tuples it is about; none: all.
    pub(crate) fn template(&self) -> Option<&View<'a>> {
        match self {
            More::Watch(watch) => watch.template.as_ref(),
            More::Look(look) => look.template.as_ref(),
        }
    }

    pub(crate) fn decode(reader: &mut Reader<'a>, bulk: &'a Bytes) -> Result<More<'a>, DecodeError> {
        match reader.u8()? {
            WATCH => {
                let since = Some(reader.u64()?).filter(|number| *number != NO_NUMBER);
                let most = at_least_one(reader, "number of events")?;
                let how = reader.u8()?;
                let wait = Wait::read(how, reader)?;
                Ok(More::Watch(WatchView { since, most, wait, template: optional(reader, bulk)? }))
            }
            LOOK => {
                let from = reader.u64()?;
                let most = at_least_one(reader, "number of tuples")?;
                Ok(More::Look(LookView { from, most, template: optional(reader, bulk)? }))
            }
            other => Err(reader.invalid("what is asked for", other, 1)),
        }
    }
}

/// Writes what stands in front of the template of a watch.
pub(crate) fn encode_watch(since: Option<u64>, most: u32, wait: Wait, sink: &mut impl Sink) {
    let (how, span) = wait.parts();
    sink.u8(WATCH);
    sink.u64(since.unwrap_or(NO_NUMBER));
    sink.u32(most);
    sink.u8(how);
    sink.u64(span);
}

/// Writes what stands in front of the template of a look.
pub(crate) fn encode_look(from: u64, most: u32, sink: &mut impl Sink) {
    sink.u8(LOOK);
    sink.u64(from);
    sink.u32(most);
}

fn at_least_one(reader: &mut Reader<'_>, field: &'static str) -> Result<u32, DecodeError> {
    match reader.u32()? {
        0 => Err(reader.invalid(field, 0u32, 4)),
        most => Ok(most),
    }
}

/// The template to the end of the body, if there is one.
fn optional<'a>(reader: &mut Reader<'a>, bulk: &'a Bytes) -> Result<Option<View<'a>>, DecodeError> {
    match (reader.left(), bulk.len()) {
        (0, 0) => Ok(None),
        (0, left) => Err(DecodeError::Trailing { at: 0, left }),
        _ => template(reader, bulk).map(Some),
    }
}

/// Events as they are gathered for an answer.
#[derive(Debug, Default)]
pub(crate) struct EventRows {
    pub(crate) count: u32,
    bytes: Vec<u8>,
    bulk: Bytes,
}

impl EventRows {
    /// What an event takes beside its head.
    const ROW_BYTES: usize = 8 + 8 + 1 + 4 + 4;
    /// What stands in front of the events.
    const FRONT_BYTES: usize = 8 + 8 + 4;

    /// Whether one more finds room whose head is so long.
    pub(crate) fn has_room(&self, head: usize, limit: usize) -> bool {
        self.bulk.is_empty()
            && (self.count == 0 || Self::FRONT_BYTES + self.bytes.len() + Self::ROW_BYTES + head <= limit)
    }

    /// Adds an event for which there is room.
    pub(crate) fn add(&mut self, number: u64, age: u64, change: Change, head: &[u8], bulk: Bytes) {
        let length = |length: usize| u32::try_from(length).expect("a tuple is shorter than 4 GiB");
        self.count += 1;
        self.bytes.u64(number);
        self.bytes.u64(age);
        self.bytes.u8(change as u8);
        self.bytes.u32(length(head.len()));
        self.bytes.u32(length(bulk.len()));
        self.bytes.bytes(head);
        self.bulk = bulk;
    }

    /// The bulk of the last one.
    pub(crate) fn bulk(&self) -> &Bytes {
        &self.bulk
    }
}

const _: () = assert!(
    EventRows::FRONT_BYTES + EventRows::ROW_BYTES <= super::REQUEST_BYTES,
    "an event of the longest tuple fits an answer"
);

/// The body of an answer with events.
pub(crate) struct EventsBody<'a> {
    pub(crate) number: u64,
    pub(crate) next: Option<u64>,
    pub(crate) rows: &'a EventRows,
}

impl Encode for EventsBody<'_> {
    fn encode(&self, sink: &mut impl Sink) {
        sink.u64(self.number);
        sink.u64(self.next.unwrap_or(NO_PAGE));
        sink.u32(self.rows.count);
        sink.bytes(&self.rows.bytes);
    }
}

/// Tells that what is asked for is kept no more.
pub(crate) struct TooOldBody {
    pub(crate) oldest: u64,
    pub(crate) newest: u64,
}

impl Encode for TooOldBody {
    fn encode(&self, sink: &mut impl Sink) {
        sink.u8(TOO_OLD);
        sink.u64(self.oldest);
        sink.u64(self.newest);
    }
}

impl Decode<'_> for TooOldBody {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        match reader.u8()? {
            TOO_OLD => Ok(TooOldBody { oldest: reader.u64()?, newest: reader.u64()? }),
            other => Err(reader.invalid("what is told", other, 1)),
        }
    }
}

impl Events {
    /// Reads the body of an answer, and its bulk, which is shared.
    pub(crate) fn decode(reader: &mut Reader<'_>, bulk: &Bytes) -> Result<Events, DecodeError> {
        let number = reader.u64()?;
        let next = Some(reader.u64()?).filter(|next| *next != NO_PAGE);
        let count = reader.u32()?;
        let mut events = Vec::new();
        for left in (0..count).rev() {
            let (number, age) = (reader.u64()?, reader.u64()?);
            let change = reader.u8()?;
            let change = Change::of_number(change).ok_or_else(|| reader.invalid("change", change, 1))?;
            let head = reader.length("length of a head", MAX_HEAD_BYTES + super::DEAD_LETTER_BYTES)?;
            let own = reader.u32()? as usize;
            let is_whole = own == if left == 0 { bulk.len() } else { 0 };
            if !is_whole {
                return Err(reader.invalid("length of a bulk", own as u64, 4));
            }
            let none = Bytes::new();
            let tuple = Tuple::decode(reader.bytes(head)?, if left == 0 { bulk } else { &none })?;
            events.push(TupleEvent { number, age, change, tuple });
        }
        if count == 0 && !bulk.is_empty() {
            return Err(DecodeError::Trailing { at: 0, left: bulk.len() });
        }
        Ok(Events { number, next, events })
    }
}

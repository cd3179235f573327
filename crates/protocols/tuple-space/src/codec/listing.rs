//! What lies in a space, who waits and who asks: read a page at a time.
//!
//! ```text
//! request   what u8 | where the page begins: part u8, place u64 | rows at most u32 | bytes of a field at most u32 | template, to the end
//! page      where the next one begins: part u8 (255: there is none), place u64 | what u8 | rows u32 | the rows
//! tuple     age u64 | bytes u64 | failed leases u32 | bit 0: is leased, bit 1: expires, u8 | if leased: lease u64, holder u32, held for u64, ends in u64 |
//!           if it expires: in how long u64 | fields
//! waiting   client u32 | age u64 | operation u8 | what for u8 | waits since u64, for u64 | tuples to put u32 | hidden u64 |
//!           has a template u8, if 1: fields
//! client    client u32 | how far u8 | is proved u8, if 1: identity 32 bytes | connected for u64 | waiting u32 | leases u32 |
//!           acknowledged u64 | given up u64 | held for u64
//! ```
//!
//! Rows of partitions and of hot keys stand in `usage.rs`. Spans are nanoseconds, all ones for those without end. Fields are those of `glimpse.rs`. Without a template all tuples are listed.

use super::glimpse::{Glimpse, MAX_GLIMPSE_BYTES, read_fields};
use super::usage::{HotKey, Partition};
use super::{LeaseId, View};
use bytes::Bytes;
use quintet_contract::{Address, Identity, LinkClass, Span};
use quintet_wire::{Decode, DecodeError, Encode, Reader, Sink};

/// What is listed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Subject {
    /// Tuples: those that can be taken and those under a lease.
    Tuples = 0,
    /// Requests that wait.
    Waiting = 1,
    /// Clients that are connected.
    Clients = 2,
    /// Partitions, and how they are used.
    Partitions = 3,
    /// Keys that are asked for most, the hottest first.
    HotKeys = 4,
}

/// Where a page begins. Only the space that gave it knows what it means.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Cursor {
    pub(crate) part: u8,
    pub(crate) place: u64,
}

/// How much of a listing one page shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PageSize {
    /// Rows at most, from 1. A page may have fewer, also none, though more pages follow.
    pub rows: u32,
    /// Bytes of a field's data at most; [`MAX_GLIMPSE_BYTES`] at most.
    pub field_bytes: u32,
}

/// A part of a listing, as the space was at one instant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Page {
    /// What it shows.
    pub rows: Rows,
    /// Where the next page begins; none if this was the last.
    pub next: Option<Cursor>,
}

/// The rows of a page.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Rows {
    /// Of [`Subject::Tuples`].
    Tuples(Vec<ListedTuple>),
    /// Of [`Subject::Waiting`].
    Waiting(Vec<WaitingRequest>),
    /// Of [`Subject::Clients`].
    Clients(Vec<ClientState>),
    /// Of [`Subject::Partitions`].
    Partitions(Vec<Partition>),
    /// Of [`Subject::HotKeys`].
    HotKeys(Vec<HotKey>),
}

/// A tuple as a listing shows it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ListedTuple {
    /// Its place in the order in which tuples were put: an older one has a lower number, and no two have the same.
    pub age: u64,
    /// Bytes that it counts for in the quota.
    pub bytes: u64,
    /// Leases of it that ended without an acknowledgement.
    pub failed: u32,
    /// The lease under which it is.
    pub lease: Option<ListedLease>,
    /// In how long it expires; none: not at all. One under a lease whose time has come says 0, and leaves where it would return.
    pub expires_in: Option<Span>,
    /// Its fields.
    pub fields: Vec<Glimpse>,
}

/// A lease as a listing shows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ListedLease {
    /// Names it.
    pub id: LeaseId,
    /// The client that has it.
    pub holder: Address,
    /// How long it has had it.
    pub held: Span,
    /// In how long it ends unless it is renewed; none: with its holder's session only, or its acknowledgement waits for room.
    pub ends_in: Option<Span>,
}

/// What a request does that waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Operation {
    /// Reads a tuple.
    Read = 0,
    /// Takes one.
    Take = 1,
    /// Takes one under a lease.
    Lease = 2,
    /// Counts.
    Count = 3,
    /// Puts tuples.
    Out = 4,
    /// Acknowledges a lease, and puts results.
    Acknowledge = 5,
}

/// What a request waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Awaited {
    /// A tuple that matches.
    Tuple = 0,
    /// Room in the link to its client.
    Link = 1,
    /// Its turn: it has more to search than one turn may.
    Turn = 2,
    /// Room in the space.
    Room = 3,
}

/// A request that waits, as a listing shows it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WaitingRequest {
    /// Who waits.
    pub client: Address,
    /// Its place in the order of requests and tuples.
    pub age: u64,
    /// What it does.
    pub operation: Operation,
    /// What it waits for.
    pub awaited: Awaited,
    /// How long it has waited. (Not known of one that waits for room without end: zero.)
    pub waited: Span,
    /// How much longer it will; none: without end.
    pub ends_in: Option<Span>,
    /// Tuples that it is to put.
    pub puts: u32,
    /// Tuples with the types of its template that nobody can take now, being under a lease or on their way: some of them may return.
    pub hidden: u64,
    /// What it asks for; none where it puts.
    pub template: Option<Vec<Glimpse>>,
}

/// A client, as a listing shows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ClientState {
    /// Names it: node and port.
    pub client: Address,
    /// How far the link to it reaches.
    pub reach: LinkClass,
    /// Who it has proved to be, if the link asks for a proof.
    pub identity: Option<Identity>,
    /// How long it has been connected.
    pub connected: Span,
    /// Requests of it that wait.
    pub waiting: u32,
    /// Leases that it holds.
    pub leases: u32,
    /// Leases that it has acknowledged so far.
    pub acknowledged: u64,
    /// Leases of it that ended otherwise.
    pub given_up: u64,
    /// How long it held those that it has acknowledged, one after the other.
    pub held: Span,
}

/// A request for a page, as the manager reads it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ListView<'a> {
    pub(crate) subject: Subject,
    pub(crate) from: Cursor,
    pub(crate) size: PageSize,
    /// Of tuples: which; none: all.
    pub(crate) template: Option<View<'a>>,
}

/// In the state of a listed tuple.
const LEASED: u8 = 1;
const EXPIRES: u8 = 2;

/// The part of the page behind the last.
const NO_PART: u8 = 255;

impl PageSize {
    /// Rows that a page has at most.
    pub const MAX_ROWS: u32 = 1000;
}

impl Default for PageSize {
    /// As much as there may be.
    fn default() -> Self {
        let field_bytes = u32::try_from(MAX_GLIMPSE_BYTES).expect("a few bytes");
        PageSize { rows: PageSize::MAX_ROWS, field_bytes }
    }
}

impl Rows {
    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Rows::Tuples(rows) => rows.len(),
            Rows::Waiting(rows) => rows.len(),
            Rows::Clients(rows) => rows.len(),
            Rows::Partitions(rows) => rows.len(),
            Rows::HotKeys(rows) => rows.len(),
        }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<'a> ListView<'a> {
    /// Writes what stands in front of the template.
    pub(crate) fn encode_front(subject: Subject, from: Cursor, size: PageSize, sink: &mut impl Sink) {
        sink.u8(subject as u8);
        from.encode(sink);
        sink.u32(size.rows);
        sink.u32(size.field_bytes);
    }

    pub(crate) fn decode(reader: &mut Reader<'a>, bulk: &'a Bytes) -> Result<Self, DecodeError> {
        let subject = Subject::decode(reader)?;
        let from = Cursor::decode(reader)?;
        let rows = match reader.u32()? {
            rows @ 1..=PageSize::MAX_ROWS => rows,
            other => return Err(reader.invalid("rows of a page", other, 4)),
        };
        let field_bytes = match reader.u32()? {
            bytes if bytes as usize <= MAX_GLIMPSE_BYTES => bytes,
            other => return Err(reader.invalid("bytes of a field", other, 4)),
        };
        let template = match reader.left() {
            0 if bulk.is_empty() => None,
            left if subject == Subject::Tuples => Some(View::template(reader.bytes(left)?, bulk)?),
            left => return Err(DecodeError::Trailing { at: reader.at(), left }),
        };
        Ok(ListView { subject, from, size: PageSize { rows, field_bytes }, template })
    }
}

impl Decode<'_> for Subject {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(match reader.u8()? {
            0 => Subject::Tuples,
            1 => Subject::Waiting,
            2 => Subject::Clients,
            3 => Subject::Partitions,
            4 => Subject::HotKeys,
            other => return Err(reader.invalid("what is listed", other, 1)),
        })
    }
}

/// The byte of a place in which it is written which manager it is of.
pub(crate) const MANAGER_BYTE: usize = 7;

impl Cursor {
    /// Where the listing of what a manager has begins; they are counted from 0.
    #[must_use]
    pub fn of_manager(number: u8) -> Cursor {
        let mut place = [0; 8];
        place[MANAGER_BYTE] = number;
        Cursor { part: 0, place: u64::from_le_bytes(place) }
    }

    /// The manager whose page begins here, if the space has several; else 0.
    #[must_use]
    pub fn manager(self) -> u8 {
        self.place.to_le_bytes()[MANAGER_BYTE]
    }
}

impl Encode for Cursor {
    fn encode(&self, sink: &mut impl Sink) {
        sink.u8(self.part);
        sink.u64(self.place);
    }
}

impl Decode<'_> for Cursor {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Cursor { part: reader.u8()?, place: reader.u64()? })
    }
}

/// Writes what stands in front of a page's rows.
pub(crate) fn write_page_front(next: Option<Cursor>, subject: Subject, rows: u32, sink: &mut impl Sink) {
    next.unwrap_or(Cursor { part: NO_PART, place: 0 }).encode(sink);
    sink.u8(subject as u8);
    sink.u32(rows);
}

impl Decode<'_> for Page {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let next = match Cursor::decode(reader)? {
            Cursor { part: NO_PART, place: 0 } => None,
            Cursor { part: NO_PART, place } => return Err(reader.invalid("end of a listing", place, 8)),
            next => Some(next),
        };
        let subject = Subject::decode(reader)?;
        let count = reader.length("rows of a page", PageSize::MAX_ROWS as usize)?;
        let rows = match subject {
            Subject::Tuples => Rows::Tuples(read_rows(count, reader)?),
            Subject::Waiting => Rows::Waiting(read_rows(count, reader)?),
            Subject::Clients => Rows::Clients(read_rows(count, reader)?),
            Subject::Partitions => Rows::Partitions(read_rows(count, reader)?),
            Subject::HotKeys => Rows::HotKeys(read_rows(count, reader)?),
        };
        Ok(Page { rows, next })
    }
}

fn read_rows<'a, T: Decode<'a>>(count: usize, reader: &mut Reader<'a>) -> Result<Vec<T>, DecodeError> {
    (0..count).map(|_| T::decode(reader)).collect()
}

/// Writes under which lease a listed tuple is, and in how long it expires.
pub(crate) fn write_state(lease: Option<&ListedLease>, expires_in: Option<Span>, sink: &mut impl Sink) {
    let flag = |is_set, bit| if is_set { bit } else { 0 };
    sink.u8(flag(lease.is_some(), LEASED) | flag(expires_in.is_some(), EXPIRES));
    if let Some(lease) = lease {
        lease.encode(sink);
    }
    if let Some(Span(span)) = expires_in {
        sink.u64(span);
    }
}

/// Writes how long something lasts; none: without end.
pub(crate) fn write_end(span: Option<Span>, sink: &mut impl Sink) {
    sink.u64(span.map_or(u64::MAX, |span| span.0));
}

pub(super) fn read_end(reader: &mut Reader<'_>) -> Result<Option<Span>, DecodeError> {
    Ok(Some(Span(reader.u64()?)).filter(|span| span.0 != u64::MAX))
}

fn read_span(reader: &mut Reader<'_>) -> Result<Span, DecodeError> {
    Ok(Span(reader.u64()?))
}

fn read_address(reader: &mut Reader<'_>) -> Result<Address, DecodeError> {
    Ok(Address::from_bits(reader.u32()?))
}

impl Encode for ListedLease {
    fn encode(&self, sink: &mut impl Sink) {
        self.id.encode(sink);
        sink.u32(self.holder.to_bits());
        sink.u64(self.held.0);
        write_end(self.ends_in, sink);
    }
}

impl Decode<'_> for ListedLease {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let (id, holder) = (LeaseId::decode(reader)?, read_address(reader)?);
        Ok(ListedLease { id, holder, held: read_span(reader)?, ends_in: read_end(reader)? })
    }
}

impl Decode<'_> for ListedTuple {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let (age, bytes, failed) = (reader.u64()?, reader.u64()?, reader.u32()?);
        let state = match reader.u8()? {
            state if state & !(LEASED | EXPIRES) == 0 => state,
            other => return Err(reader.invalid("state of a tuple", other, 1)),
        };
        let lease = if state & LEASED != 0 { Some(ListedLease::decode(reader)?) } else { None };
        let expires_in = if state & EXPIRES != 0 { Some(read_span(reader)?) } else { None };
        Ok(ListedTuple { age, bytes, failed, lease, expires_in, fields: read_fields(reader)? })
    }
}

impl Decode<'_> for Operation {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(match reader.u8()? {
            0 => Operation::Read,
            1 => Operation::Take,
            2 => Operation::Lease,
            3 => Operation::Count,
            4 => Operation::Out,
            5 => Operation::Acknowledge,
            other => return Err(reader.invalid("operation that waits", other, 1)),
        })
    }
}

impl Decode<'_> for Awaited {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(match reader.u8()? {
            0 => Awaited::Tuple,
            1 => Awaited::Link,
            2 => Awaited::Turn,
            3 => Awaited::Room,
            other => return Err(reader.invalid("what is waited for", other, 1)),
        })
    }
}

impl Decode<'_> for WaitingRequest {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let (client, age) = (read_address(reader)?, reader.u64()?);
        let (operation, awaited) = (Operation::decode(reader)?, Awaited::decode(reader)?);
        let (waited, ends_in) = (read_span(reader)?, read_end(reader)?);
        let (puts, hidden) = (reader.u32()?, reader.u64()?);
        let has_template = reader.flag("whether there is a template")?;
        let template = if has_template { Some(read_fields(reader)?) } else { None };
        Ok(WaitingRequest { client, age, operation, awaited, waited, ends_in, puts, hidden, template })
    }
}

impl Encode for ClientState {
    fn encode(&self, sink: &mut impl Sink) {
        sink.u32(self.client.to_bits());
        sink.u8(match self.reach {
            LinkClass::Process => 1,
            LinkClass::Machine => 2,
            LinkClass::Network => 3,
        });
        sink.u8(self.identity.is_some().into());
        if let Some(Identity(bytes)) = &self.identity {
            sink.bytes(bytes);
        }
        sink.u64(self.connected.0);
        sink.u32(self.waiting);
        sink.u32(self.leases);
        for number in [self.acknowledged, self.given_up, self.held.0] {
            sink.u64(number);
        }
    }
}

impl Decode<'_> for ClientState {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let client = read_address(reader)?;
        let reach = match reader.u8()? {
            1 => LinkClass::Process,
            2 => LinkClass::Machine,
            3 => LinkClass::Network,
            other => return Err(reader.invalid("reach of a link", other, 1)),
        };
        let is_proved = reader.flag("whether a client is proved")?;
        let identity = if is_proved { Some(Identity(reader.array()?)) } else { None };
        let connected = read_span(reader)?;
        let (waiting, leases) = (reader.u32()?, reader.u32()?);
        let (acknowledged, given_up, held) = (reader.u64()?, reader.u64()?, read_span(reader)?);
        Ok(ClientState { client, reach, identity, connected, waiting, leases, acknowledged, given_up, held })
    }
}

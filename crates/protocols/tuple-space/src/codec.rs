//! What travels between a program and the manager of a space. All numbers are little-endian.
//!
//! ```text
//! tuple     head:  n u8 | n tags (an array's tag is followed by its number of dimensions u8) | n fields
//!           field: bool, integer, float: its bytes
//!                  text, binary:         place u8 | length u32 | the data, or its offset in the bulk u32
//!                  array:                each dimension u64 | place u8 | length u32 | data or offset
//!                  binary, array of a tuple, packed: place u8 | length u32 | offset u32 | packed length u32 | digest of the data, 16 bytes
//!           bulk:  long data, in the order of the fields, each at the next multiple of 64
//! template  n u8 | tags | which fields are actual u64 (bit 0: the first) | n fields | its ranges, if it has any: see `ranges.rs`
//!           a formal and a range have no bytes, but a formal array each dimension u64, all ones where it is free
//! ```
//!
//! The part up to the tags is the [`Signature`](crate::Signature): tuples are sorted by it without being decoded. Data
//! up to [`MAX_IN_PLACE_BYTES`] lies in the head, longer data in the bulk; a tuple with one long field sends that
//! field's bytes as they are.
//!
//! Every request begins with `settled u64`: the sender has received for good the answers to all its takes whose tokens
//! lie below it. Every request but [`CANCEL`], [`RETURN`] and [`RENEW`] is answered exactly once, under its token. The kinds
//! from [`OUT`] up to [`DONE`] are requests: those that have no meaning so far are answered as malformed.
//!
//! | request | body after `settled` | answer |
//! | --- | --- | --- |
//! | [`OUT`] | deadline span u64, then n u32 and n tuples | [`DONE`] |
//! | [`TAKE`] | how it waits u8, span u64, time to live of the lease u64 (0: plain), for a group how long it may last u64, template | [`TUPLE`], [`NO_MATCH`] |
//! | [`READ`] | as [`TAKE`], the lease 0 | the same |
//! | [`CANCEL`] | nothing; the token is that of the request to cancel | none of its own |
//! | [`RETURN`] | nothing; the token is that of the take to undo | none |
//! | [`ACK`] | lease u64, then as [`OUT`] with n from 0 | [`DONE`] |
//! | [`RELEASE`] | lease u64 | [`DONE`] |
//! | [`RENEW`] | nothing | none |
//! | [`COUNT`] | template | [`COUNTED`] |
//! | [`STATUS`] | nothing | [`STATE`] |
//! | [`LIST`] | what is listed, from where on, template: see `listing.rs` | [`LISTED`] |
//! | [`GRANT`] | [`CodeGrants`]; from callers of the space's own node only | [`DONE`] |
//! | [`COMMIT`] | what a group ends with: see `group.rs`; then as [`OUT`] with n from 0 | [`DONE`] |
//! | [`FURTHER`] | which operation, and what it is about: see `further.rs` and `collect.rs` | [`TUPLE`], [`SELECTED`], [`NO_MATCH`]; [`COLLECTED`], [`COUNTED`] |
//! | [`MORE`] | what is asked for u8, and the rest: see `more.rs` | [`EVENTS`], or [`TOLD`] that what is asked for is kept no more |
//! | [`SPACES`] | what is asked of the named spaces: see `spaces.rs` | [`SPACE_ROWS`]; [`DONE`] of a removal |
//! | [`CLIENT_WORD`] | no `settled` in front, but what the client says of itself | [`CLIENT_REPLY`] |
//! | [`ROUTE`] | no `settled` in front: what is asked of the directory, see `route.rs` | [`ROUTES`] |
//! | [`PREPARE`] | a part of what several managers do at one instant, or which is given up: see `prepare.rs` | [`PREPARED`]; [`DONE`] |
//! | [`FENCE`], [`MIGRATE`], [`TRANSFER`] | no `settled` in front: see `managers.rs` | [`DONE`] |
//! | [`NAMED`] | no `settled` in front, but the number of a named space and the kind of a request, which follows | that of the request |
//!
//! Each of the n tuples of a request is head length u32, bulk length u32, head (one that expires says between in how long: `put.rs`); their bulks follow each other in the
//! frame's bulk, each at the next multiple of 64. Where the n tuples are too long for a frame's body, none of them is
//! there: they end the bulk, followed by their length u32. Any request may be answered by [`ERROR`] instead; by one manager
//! of several also by [`MOVED`].

mod answer;
mod carry;
mod collect;
mod fields;
mod further;
mod glimpse;
mod grants;
mod group;
mod listing;
mod managers;
mod more;
mod order_key;
pub(crate) mod packing;
mod prepare;
mod put;
pub(crate) mod ranges;
mod request;
mod route;
mod seek;
mod spaces;
#[cfg(test)]
mod tests;
mod usage;
mod view;
mod write;

pub use answer::{Answer, Attempt, Refusal, SignatureState, State};
pub use collect::Collected;
pub use further::MAX_SELECT_TEMPLATES;
pub use glimpse::{Glimpse, MAX_GLIMPSE_BYTES};
pub use grants::{CodeGrants, FAILED, MAX_CODE_GRANTS, NotGranted, RESERVED_PREFIX, Withheld};
pub use group::{MAX_GROUP_USES, Witness};
pub use listing::{
    Awaited, ClientState, Cursor, ListedLease, ListedTuple, Operation, Page, PageSize, Rows, Subject,
    WaitingRequest,
};
pub use managers::{Class, MAX_CLASSES, MAX_MANAGERS, MAX_MOVED_KEYS, ManagersNews, Relocation, Routes};
pub(crate) use managers::{KeptOf, MANAGERS_BEHAVIOUR, MAX_KEPT_KEYS, MAX_TOLD_KEYS};
pub use more::{Change, Events, TupleEvent};
pub use request::{LeaseId, Wait};
pub use spaces::{
    Policy, SpaceInfo, SpaceName, SpaceNameError, SpaceNumber, SpaceRights, SpaceSettings, SpacesPage,
    SpacesRequest,
};
pub use usage::{HotKey, MAX_PARTITION_NAME_BYTES, MAX_TEMPLATE_SHAPES, Partition, TemplateShape};
pub use write::{Encoded, TooLarge};

pub(crate) use answer::TupleFront;
pub(crate) use carry::{Amount, There, page, page_tuples, word_about};
pub(crate) use collect::{Collect, CollectInto, CollectedBody, CollectedRows};
pub(crate) use further::{Further, FurtherOperation, Replace, Select};
pub(crate) use glimpse::{read_fields, write_fields};
pub(crate) use grants::is_reserved;
pub(crate) use group::{Uses, encode_uses, uses_len};
pub(crate) use listing::{ListView, MANAGER_BYTE, write_end, write_page_front, write_state};
pub(crate) use managers::{Migrate, MovedTuple, Transfer};
pub(crate) use more::{
    EventRows, EventsBody, LookView, More, TooOldBody, WatchView, encode_look, encode_watch,
};
pub(crate) use order_key::{FrontKey, OrderKey};
pub(crate) use prepare::{AskedPart, PartBody, PartView, Prepare, PreparedAt, PreparedBody, give_up_body};
pub(crate) use put::{KeptTuples, Put, PutTuple, PutTuples, TupleLengths};
pub(crate) use request::{Query, RequestView, Settled};
pub(crate) use route::{Load, Outcome, Route};
pub(crate) use seek::{Found, SeekBody, SeekView};
pub(crate) use spaces::NamedFront;
pub(crate) use view::{Layout, View};

use quintet_contract::{Frame, Kind, Token, limits};
use quintet_wire::registry::TUPLE_SPACE;

/// Puts tuples, all or none.
pub const OUT: Kind = TUPLE_SPACE.kind(0);
/// Takes the oldest matching tuple.
pub const TAKE: Kind = TUPLE_SPACE.kind(1);
/// Reads the oldest matching tuple.
pub const READ: Kind = TUPLE_SPACE.kind(2);
/// Ends the wait of an earlier request.
pub const CANCEL: Kind = TUPLE_SPACE.kind(3);
/// Puts a tuple that was taken back to its old place.
pub const RETURN: Kind = TUPLE_SPACE.kind(4);
/// Ends a lease for good and puts the results, at one instant.
pub const ACK: Kind = TUPLE_SPACE.kind(5);
/// Ends a lease and returns the tuple.
pub const RELEASE: Kind = TUPLE_SPACE.kind(6);
/// Extends every lease of the sender.
pub const RENEW: Kind = TUPLE_SPACE.kind(7);
/// Counts the matching tuples.
pub const COUNT: Kind = TUPLE_SPACE.kind(8);
/// Asks how the space is.
pub const STATUS: Kind = TUPLE_SPACE.kind(9);
/// Asks for a page of what lies in the space, of who waits, or of who is connected.
pub const LIST: Kind = TUPLE_SPACE.kind(10);
/// Says who may put what others run, in the place of all that was said of that before.
pub const GRANT: Kind = TUPLE_SPACE.kind(11);
/// Ends a group, all or nothing: removes what it took if what it read is still there, and puts, at one instant; or returns what it took.
pub const COMMIT: Kind = TUPLE_SPACE.kind(12);
/// One of the operations that came after the others: a replacement, a select, a collection.
pub const FURTHER: Kind = TUPLE_SPACE.kind(13);
/// Requests that are told apart by a byte of their own: watches, and looks at what is there.
pub const MORE: Kind = TUPLE_SPACE.kind(14);
/// Creates, opens, removes or lists named spaces: [`SpacesRequest`].
pub const SPACES: Kind = TUPLE_SPACE.kind(15);
/// A request to a named space.
pub const NAMED: Kind = TUPLE_SPACE.kind(40);
/// What a client that comes back says of itself, to whoever keeps its answers: `Word` of `quintet-resume`. A space that ends with its process answers
/// [`ERROR`].
pub const CLIENT_WORD: Kind = TUPLE_SPACE.kind(41);
/// The reply to it: `Reply` of `quintet-resume`.
pub const CLIENT_REPLY: Kind = TUPLE_SPACE.kind(42);

/// To one of several managers: what it is to do of what several do at one instant. It makes sure that it can, and waits for the word of the one of them
/// that brings the parts together.
pub const PREPARE: Kind = TUPLE_SPACE.kind(43);
/// To the manager with the directory: asks where everything is, and may say that a signature is to be somewhere else.
pub const ROUTE: Kind = TUPLE_SPACE.kind(44);
/// To a manager of several: all that was sent before has come; from now on requests are done again, not answered with [`MOVED`].
pub const FENCE: Kind = TUPLE_SPACE.kind(45);
/// From the manager with the directory to another: a signature is to be somewhere else.
pub const MIGRATE: Kind = TUPLE_SPACE.kind(46);
/// From one manager to another: tuples.
pub const TRANSFER: Kind = TUPLE_SPACE.kind(47);

/// The request had its effect. No body.
pub const DONE: Kind = TUPLE_SPACE.kind(16);
/// A tuple: lease u64 (0: none), attempt u32, head; its bulk is the frame's. To a group's read: its age u64, 0u32, its place u64, head.
pub const TUPLE: Kind = TUPLE_SPACE.kind(17);
/// No tuple matched at that instant. No body.
pub const NO_MATCH: Kind = TUPLE_SPACE.kind(18);
/// How many tuples matched: u64.
pub const COUNTED: Kind = TUPLE_SPACE.kind(19);
/// How the space is: [`State`].
pub const STATE: Kind = TUPLE_SPACE.kind(20);
/// The request failed and changed nothing: code u16, text.
pub const ERROR: Kind = TUPLE_SPACE.kind(21);
/// A [`Page`] of a listing.
pub const LISTED: Kind = TUPLE_SPACE.kind(22);
/// Tells who has said who may put what others run of a [`NotGranted`]. It answers nothing, and goes over no link.
pub const NOT_GRANTED: Kind = TUPLE_SPACE.kind(23);
/// The tuple of a select: which of its templates matches u8, from 0, then as [`TUPLE`].
pub const SELECTED: Kind = TUPLE_SPACE.kind(24);
/// What happened in the space, or what is there: [`Events`].
pub const EVENTS: Kind = TUPLE_SPACE.kind(25);
/// Tells what is asked for and is no longer kept.
pub const TOLD: Kind = TUPLE_SPACE.kind(26);
/// Where everything is: [`Routes`].
pub const ROUTES: Kind = TUPLE_SPACE.kind(27);
/// The manager does not have what the request is about; nothing has happened: epoch u64.
pub const MOVED: Kind = TUPLE_SPACE.kind(28);
/// A page of the tuples that match: [`Collected`].
pub const COLLECTED: Kind = TUPLE_SPACE.kind(29);
/// Tells a caller of a manager's own node how it is with the others: [`ManagersNews`]. It answers nothing, and goes over no link.
pub const MANAGERS_NEWS: Kind = TUPLE_SPACE.kind(30);
/// Named spaces: [`SpacesPage`].
pub const SPACE_ROWS: Kind = TUPLE_SPACE.kind(31);
/// A part of what several managers do is prepared: its number u64.
pub const PREPARED: Kind = TUPLE_SPACE.kind(39);

/// Data of a field up to this length lies in the head, longer data in the bulk.
pub const MAX_IN_PLACE_BYTES: usize = 1024;
/// Data in the bulk begins at multiples of this: a cache line, and enough for every vector instruction.
pub const BULK_ALIGNMENT: usize = 64;
/// What a request or an answer may add in front of a head.
pub const REQUEST_BYTES: usize = 64;
/// What a dead letter may add to a head.
pub const DEAD_LETTER_BYTES: usize = 256;
/// The head of a tuple or template.
pub const MAX_HEAD_BYTES: usize = limits::MAX_PAYLOAD_BYTES - REQUEST_BYTES - DEAD_LETTER_BYTES;
/// The text of an error.
pub const MAX_ERROR_TEXT_BYTES: usize = 1024;

/// Marks a free dimension of a formal array.
const FREE_DIMENSION: u64 = u64::MAX;
/// The data follows.
const PLACE_HEAD: u8 = 0;
/// The offset of the data in the bulk follows.
const PLACE_BULK: u8 = 1;
/// The data are packed in the bulk: no length, but a [`packing::PackedFront`] follows.
const PLACE_PACKED: u8 = 2;

/// Whether a frame of this kind is a request that is answered, once, under its token.
#[must_use]
pub fn is_answered(kind: Kind) -> bool {
    match kind {
        NAMED | CLIENT_WORD => true,
        kind => RequestView::is_request(kind) && RequestView::is_answered(kind),
    }
}

/// Below which token the sender of a request has received all answers for good, as the request says.
#[must_use]
pub fn settled(frame: &Frame<'_>) -> Option<Token> {
    let body = match frame.kind {
        NAMED => frame.body.get(NamedFront::BYTES..)?,
        kind if RequestView::is_request(kind) => frame.body,
        _ => return None,
    };
    let (settled, _) = body.split_first_chunk()?;
    Some(Token(u64::from_le_bytes(*settled)))
}

/// The next multiple of [`BULK_ALIGNMENT`].
const fn aligned(offset: usize) -> usize {
    offset.next_multiple_of(BULK_ALIGNMENT)
}

/// The head of a tuple all of whose data lies in the bulk: what spilling can bring any tuple down to.
const SPILLED_BYTES: usize = 1 + 8 + limits::MAX_FIELDS * (2 + 8 * limits::MAX_DIMENSIONS + 1 + 4 + 4);

const _: () = {
    assert!(
        SPILLED_BYTES + ranges::MAX_BYTES <= MAX_HEAD_BYTES,
        "every tuple and template fits, once enough of it lies in the bulk"
    );
    let longest = MAX_HEAD_BYTES + DEAD_LETTER_BYTES + REQUEST_BYTES;
    assert!(longest == limits::MAX_PAYLOAD_BYTES, "a dead letter fits a frame");
    assert!(limits::MAX_FIELDS <= 64, "a set of fields is one word");
    assert!(MAX_IN_PLACE_BYTES * 2 < MAX_HEAD_BYTES);
};

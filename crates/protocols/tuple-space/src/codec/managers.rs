//! What routers and managers say to each other where one space is spread over several managers.
//!
//! ```text
//! ROUTE     see `route.rs`
//! FENCE     nothing
//! MIGRATE   epoch u64 | relocation
//! TRANSFER  epoch u64 | next age of the sender u64 | number of its last event u64 | ends a signature u8, if 1: signature, behind which number its events were kept u64
//!           (all ones: none were), n u32, n times a key u64 and behind which number its events were kept u64 | n u32; in the bulk n bulks, each at the next multiple of 64, then n of:
//!           age u64 (0: it has none yet), failed leases u32, bit 0: is in the reserve, bit 1: expires, bit 2: is told, u8, if it expires: in how long u64,
//!           if it is told: what has happened to it u8, the number of that event u64 (0: it has none yet), bulk length u32, head counted; then the length of that u32
//! ROUTES    epoch u64 | seed u64 | managers u8, and 128 if they are beside the first, each an address as text, empty where there is none | n u32 | n relocations, which lead to this
//!           from all signatures being queues
//! MOVED     epoch u64
//! NEWS      0 u8: all managers are there | 1 u8 | as in ERROR: one of them is gone
//! relocation  class | signature, or 3 u8 | manager u8 | signature | key u64: what has a key of a hash is at that manager
//! class     0 queue, 1 hash, 2 search u8 | field of the key u8, 0 where there is none
//! ```
//!
//! Signatures and texts are counted. A key is the hash of the value of a field, as the seed keys it. A `TRANSFER` with its tuples in the bulk has nothing behind its number in the body.

use super::{BULK_ALIGNMENT, Change, Refusal, View, aligned};
use crate::{Signature, TooLarge};
use bytes::Bytes;
use quintet_contract::Span;
use quintet_contract::limits::{MAX_BULK_BYTES, MAX_FIELDS};
use quintet_wire::{Decode, DecodeError, Encode, Reader, Sink};

/// What managers do with each other, and with the programs that ask them. Another number is refused when two meet, as one would not understand the other later.
/// 0 is what said no number: it had neither parts nor, later, selects among several. 1 had no watches. 2 refused collections into another space.
pub(crate) const MANAGERS_BEHAVIOUR: u32 = 3;
/// Managers that one space may be spread over.
pub const MAX_MANAGERS: usize = 16;
/// Signatures of which a directory says more than that they are queues.
pub const MAX_CLASSES: usize = 256;
/// Keys of hashes that may be at another manager than their value says.
pub const MAX_MOVED_KEYS: usize = 256;
/// Keys that a manager tells of in one period.
pub(crate) const MAX_TOLD_KEYS: usize = 8;
/// Keys of which it is said apart how much is kept of what has happened.
pub(crate) const MAX_KEPT_KEYS: usize = 256;
/// An address of a manager, as text.
const MAX_ADDRESS_BYTES: usize = 1024;
/// Tuples of one transfer.
const MAX_MOVED_TUPLES: usize = 1 << 24;
/// In the state of a tuple on its way.
const IN_RESERVE: u8 = 1;
const EXPIRES: u8 = 2;
const IS_TOLD: u8 = 4;
/// Beside the number of managers: who is told reaches them beside the first.
const ARE_BESIDE: u8 = 128;
/// No events were kept.
const KEPT_NONE: u64 = u64::MAX;
/// Where a change begins with it, it is that of a key.
const MOVED_KEY: u8 = 3;

/// How a signature's tuples are spread over the managers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Class {
    /// At one manager, which the signature says: what every signature begins as.
    Queue,
    /// At all of them, each tuple where the value of its field of this number says: so far every template has given that field.
    Hash(u8),
    /// At one manager, as a queue, and for good: it was a hash, and a template did not give the key.
    Search,
}

/// How it is with the other managers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ManagersNews {
    /// All are there.
    Complete,
    /// One of them is gone, or is not of the same space: why the space is over.
    Lost(Refusal),
}

/// Where everything is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Routes {
    /// Counts the changes.
    pub epoch: u64,
    /// Keys the hash that says where a tuple is.
    pub seed: u64,
    /// Where each manager listens, the first one first; texts that the host understands.
    pub addresses: Vec<String>,
    /// Whoever is told this reaches them beside the first, wherever they listen: a kernel stands between, which listens so.
    pub are_beside: bool,
    /// The signatures that are no queues, and behind the hashes the keys that were moved.
    pub relocations: Vec<Relocation>,
}

/// A change of where tuples are.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Relocation {
    /// A signature has another class.
    Class(Signature, Class),
    /// What has a key of a hash is at this manager, wherever its value says.
    Key {
        /// A hash.
        signature: Signature,
        /// The hash of the value of its key field.
        key: u64,
        /// Where it is.
        manager: u8,
    },
}

impl Relocation {
    /// Whose tuples it is about.
    pub(crate) fn signature(&self) -> &Signature {
        match self {
            Relocation::Class(signature, _) | Relocation::Key { signature, .. } => signature,
        }
    }

    /// The key, if it is about the tuples of one key only.
    pub(crate) fn key(&self) -> Option<u64> {
        match self {
            Relocation::Class(..) => None,
            Relocation::Key { key, .. } => Some(*key),
        }
    }
}

/// From an epoch on tuples are somewhere else.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Migrate {
    pub(crate) epoch: u64,
    pub(crate) relocation: Relocation,
}

/// A tuple on its way from one manager to another, or something that has happened to one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct MovedTuple {
    pub(crate) age: u64,
    pub(crate) failed: u32,
    pub(crate) is_reserve: bool,
    /// What is left of its time when it leaves; none: it does not expire.
    pub(crate) expires_in: Option<Span>,
    /// What has happened to it, which is told where it comes to; none: it moves, and nothing is told.
    pub(crate) change: Option<Change>,
    /// The number of that event if it was told already, and is to be kept: then there is no tuple.
    pub(crate) number: u64,
    pub(crate) head: Bytes,
    pub(crate) bulk: Bytes,
}

/// What a manager keeps of the events of a signature.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct KeptOf {
    /// Behind this number all,
    pub(crate) oldest: u64,
    /// but of these keys behind another one.
    pub(crate) keys: Vec<(u64, u64)>,
}

impl KeptOf {
    /// Behind which number all of a key are kept.
    pub(crate) fn of_key(&self, key: Option<u64>) -> u64 {
        let known = self.keys.iter().find(|(of, _)| Some(*of) == key);
        known.map_or(self.oldest, |(_, oldest)| *oldest)
    }

    /// Behind which number all are kept, whatever their key.
    pub(crate) fn of_all(&self) -> u64 {
        self.keys.iter().map(|(_, oldest)| *oldest).fold(self.oldest, u64::max)
    }

    /// The event of this number is not kept any more, nor is one before it.
    pub(crate) fn lose(&mut self, number: u64) {
        let keys = self.keys.iter_mut().map(|(_, oldest)| oldest);
        keys.chain([&mut self.oldest]).for_each(|oldest| *oldest = number.max(*oldest));
    }
}

/// Tuples on their way.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Transfer {
    /// That of the sender.
    pub(crate) epoch: u64,
    /// All ages that the sender has given are below it, those of tuples that it keeps included: later ones are to be above.
    pub(crate) next_age: u64,
    /// No event of the sender has a number above it so far: later ones are to be above.
    pub(crate) number: u64,
    /// All that the sender had of this signature is here, and of its events as much, if it kept any.
    pub(crate) ends: Option<(Signature, Option<KeptOf>)>,
    pub(crate) tuples: Vec<MovedTuple>,
}

impl Encode for Class {
    fn encode(&self, sink: &mut impl Sink) {
        let (tag, field) = match self {
            Class::Queue => (0, 0),
            Class::Hash(field) => (1, *field),
            Class::Search => (2, 0),
        };
        sink.u8(tag);
        sink.u8(field);
    }
}

impl Decode<'_> for Class {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let (tag, field) = (reader.u8()?, reader.u8()?);
        Class::of(tag, field, reader)
    }
}

impl Class {
    fn of(tag: u8, field: u8, reader: &Reader<'_>) -> Result<Class, DecodeError> {
        Ok(match (tag, field) {
            (0, 0) => Class::Queue,
            (1, field) if usize::from(field) < MAX_FIELDS => Class::Hash(field),
            (2, 0) => Class::Search,
            (0..=2, field) => return Err(reader.invalid("field of a class", field, 1)),
            (tag, _) => return Err(reader.invalid("class of a signature", tag, 2)),
        })
    }
}

/// A class that this signature can have: its key is one of its fields.
fn class_of(tag: u8, field: u8, reader: &mut Reader<'_>) -> Result<(Class, Signature), DecodeError> {
    let (class, signature) = (Class::of(tag, field, reader)?, Signature::decode(reader)?);
    match class {
        Class::Hash(field) if field >= signature.0[0] => {
            Err(reader.invalid("field of a class", field, signature.0.len()))
        }
        _ => Ok((class, signature)),
    }
}

impl Encode for Relocation {
    fn encode(&self, sink: &mut impl Sink) {
        match self {
            Relocation::Class(signature, class) => {
                class.encode(sink);
                sink.counted(&signature.0);
            }
            Relocation::Key { signature, key, manager } => {
                sink.u8(MOVED_KEY);
                sink.u8(*manager);
                sink.counted(&signature.0);
                sink.u64(*key);
            }
        }
    }
}

impl Decode<'_> for Relocation {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        match (reader.u8()?, reader.u8()?) {
            (MOVED_KEY, manager) if usize::from(manager) < MAX_MANAGERS => {
                Ok(Relocation::Key { signature: Signature::decode(reader)?, key: reader.u64()?, manager })
            }
            (MOVED_KEY, manager) => Err(reader.invalid("manager of a key", manager, 1)),
            (tag, field) => {
                class_of(tag, field, reader).map(|(class, signature)| Relocation::Class(signature, class))
            }
        }
    }
}

impl Encode for ManagersNews {
    fn encode(&self, sink: &mut impl Sink) {
        match self {
            ManagersNews::Complete => sink.u8(0),
            ManagersNews::Lost(why) => {
                sink.u8(1);
                why.encode(sink);
            }
        }
    }
}

impl Decode<'_> for ManagersNews {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(match reader.flag("whether a manager is gone")? {
            false => ManagersNews::Complete,
            true => ManagersNews::Lost(Refusal::decode(reader)?),
        })
    }
}

impl Encode for Routes {
    fn encode(&self, sink: &mut impl Sink) {
        sink.u64(self.epoch);
        sink.u64(self.seed);
        let managers = u8::try_from(self.addresses.len()).expect("at most MAX_MANAGERS");
        sink.u8(managers | if self.are_beside { ARE_BESIDE } else { 0 });
        self.addresses.iter().for_each(|address| sink.counted(address.as_bytes()));
        sink.u32(u32::try_from(self.relocations.len()).expect("there are bounds for both"));
        self.relocations.iter().for_each(|relocation| relocation.encode(sink));
    }
}

impl Decode<'_> for Routes {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let (epoch, seed) = (reader.u64()?, reader.u64()?);
        let first = reader.u8()?;
        let (managers, are_beside) = (first & !ARE_BESIDE, first & ARE_BESIDE != 0);
        if !(1..=MAX_MANAGERS).contains(&usize::from(managers)) {
            return Err(reader.invalid("number of managers", first, 1));
        }
        let mut address = || reader.text("address of a manager", MAX_ADDRESS_BYTES).map(str::to_owned);
        let addresses = (0..managers).map(|_| address()).collect::<Result<_, _>>()?;
        let number = reader.length("number of relocations", MAX_CLASSES + MAX_MOVED_KEYS)?;
        let relocations = (0..number).map(|_| Relocation::decode(reader)).collect::<Result<_, _>>()?;
        Ok(Routes { epoch, seed, addresses, are_beside, relocations })
    }
}

impl Encode for Migrate {
    fn encode(&self, sink: &mut impl Sink) {
        sink.u64(self.epoch);
        self.relocation.encode(sink);
    }
}

impl Decode<'_> for Migrate {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Migrate { epoch: reader.u64()?, relocation: Relocation::decode(reader)? })
    }
}

impl Transfer {
    /// Its body and its bulk.
    ///
    /// # Errors
    /// The tuples are too long for one.
    pub(crate) fn to_parts(&self) -> Result<(Vec<u8>, Bytes), TooLarge> {
        let mut body = Vec::new();
        body.u64(self.epoch);
        body.u64(self.next_age);
        body.u64(self.number);
        body.u8(self.ends.is_some().into());
        if let Some((signature, kept)) = &self.ends {
            body.counted(&signature.0);
            let keys = kept.as_ref().map_or(&[][..], |kept| &kept.keys);
            body.u64(kept.as_ref().map_or(KEPT_NONE, |kept| kept.oldest));
            body.u32(u32::try_from(keys.len()).expect("at most MAX_KEPT_KEYS"));
            keys.iter().flat_map(|(key, oldest)| [key, oldest]).for_each(|word| body.u64(*word));
        }
        body.u32(u32::try_from(self.tuples.len()).expect("they lie in memory, in chunks"));
        Ok((body, lay_out_moved(&self.tuples)?))
    }

    /// Reads it, and checks each tuple.
    ///
    /// # Errors
    /// What is wrong with the bytes.
    pub(crate) fn decode(body: &[u8], bulk: &Bytes) -> Result<Transfer, DecodeError> {
        let mut reader = Reader::new(body);
        let (epoch, next_age, number) = (reader.u64()?, reader.u64()?, reader.u64()?);
        let ends = match reader.flag("whether a signature ends")? {
            true => Some((Signature::decode(&mut reader)?, kept_of(&mut reader)?)),
            false => None,
        };
        let count = reader.length("number of tuples", MAX_MOVED_TUPLES)?;
        reader.finish()?;
        let tuples = if count == 0 && bulk.is_empty() { Vec::new() } else { moved_tuples(count, bulk)? };
        Ok(Transfer { epoch, next_age, number, ends, tuples })
    }
}

/// Tuples as they lie in a bulk; none take nothing.
///
/// # Errors
/// They are too long for one.
pub(super) fn lay_out_moved(tuples: &[MovedTuple]) -> Result<Bytes, TooLarge> {
    let (mut bulk, mut heads) = (Vec::new(), Vec::new());
    for tuple in tuples {
        if !tuple.bulk.is_empty() {
            bulk.resize(bulk.len().next_multiple_of(BULK_ALIGNMENT), 0);
            bulk.extend_from_slice(&tuple.bulk);
        }
        tuple.encode_front(&mut heads);
    }
    if !tuples.is_empty() {
        bulk.extend_from_slice(&heads);
        bulk.u32(u32::try_from(heads.len()).expect("chunks are short"));
    }
    match bulk.len() {
        bytes if bytes > MAX_BULK_BYTES => {
            Err(TooLarge::Request { tuples: tuples.len(), bytes, limit: MAX_BULK_BYTES })
        }
        _ => Ok(bulk.into()),
    }
}

impl MovedTuple {
    /// What it counts for where it comes to be.
    pub(crate) fn stored_bytes(&self) -> u64 {
        let expiry = if self.expires_in.is_some() { crate::EXPIRY_BYTES } else { 0 };
        (self.head.len() + self.bulk.len()) as u64 + crate::TUPLE_BYTES + expiry
    }

    /// All of it but its bulk.
    fn encode_front(&self, heads: &mut Vec<u8>) {
        heads.u64(self.age);
        heads.u32(self.failed);
        let expires = if self.expires_in.is_some() { EXPIRES } else { 0 };
        let is_told = if self.change.is_some() { IS_TOLD } else { 0 };
        heads.u8(u8::from(self.is_reserve) | expires | is_told);
        if let Some(Span(span)) = self.expires_in {
            heads.u64(span);
        }
        if let Some(change) = self.change {
            heads.u8(change as u8);
            heads.u64(self.number);
        }
        heads.u32(u32::try_from(self.bulk.len()).expect("a bulk is shorter than 4 GiB"));
        heads.counted(&self.head);
    }
}

/// What the sender had kept of the events of a signature; none: nothing.
fn kept_of(reader: &mut Reader<'_>) -> Result<Option<KeptOf>, DecodeError> {
    let oldest = reader.u64()?;
    let count = reader.length("number of keys", MAX_KEPT_KEYS)?;
    let keys = (0..count).map(|_| Ok((reader.u64()?, reader.u64()?))).collect::<Result<_, _>>()?;
    Ok((oldest != KEPT_NONE).then_some(KeptOf { oldest, keys }))
}

/// So many tuples, which lie in a bulk; each is checked.
pub(super) fn moved_tuples(number: usize, bulk: &Bytes) -> Result<Vec<MovedTuple>, DecodeError> {
    let truncated = DecodeError::Truncated { at: bulk.len(), needed: size_of::<u32>(), left: 0 };
    let (front, len) = bulk.split_last_chunk().ok_or(truncated)?;
    let len = u32::from_le_bytes(*len) as usize;
    let start = front.len().checked_sub(len);
    let start = start.ok_or(DecodeError::Truncated { at: 0, needed: len, left: front.len() })?;
    let (mut reader, mut bulk_end) = (Reader::new(&front[start..]), 0);
    // Each takes more bytes than none: their number is no reason to allocate.
    let mut tuples = Vec::new();
    for _ in 0..number {
        tuples.push(moved_tuple(&mut reader, &bulk.slice(..start), &mut bulk_end)?);
    }
    reader.finish()?;
    match start - bulk_end {
        0 => Ok(tuples),
        left => Err(DecodeError::Trailing { at: bulk_end, left }),
    }
}

fn moved_tuple(reader: &mut Reader<'_>, bulk: &Bytes, end: &mut usize) -> Result<MovedTuple, DecodeError> {
    let (age, failed) = (reader.u64()?, reader.u32()?);
    let flags = match reader.u8()? {
        flags if flags & !(IN_RESERVE | EXPIRES | IS_TOLD) == 0 => flags,
        other => return Err(reader.invalid("state of a tuple", other, 1)),
    };
    let is_reserve = flags & IN_RESERVE != 0;
    let expires_in = if flags & EXPIRES != 0 { Some(Span(reader.u64()?)) } else { None };
    let (change, number) = if flags & IS_TOLD != 0 { told(reader)? } else { (None, 0) };
    let bulk_len = reader.length("length of a tuple's bulk", MAX_BULK_BYTES)?;
    let head = reader.counted("length of a head", super::MAX_HEAD_BYTES + super::DEAD_LETTER_BYTES)?;
    let at = if bulk_len == 0 { *end } else { aligned(*end) };
    let left = bulk.len().saturating_sub(at);
    if bulk_len > left {
        return Err(DecodeError::Truncated { at, needed: bulk_len, left });
    }
    *end = at + bulk_len;
    let bulk = bulk.slice(at..*end);
    View::tuple(head, &bulk)?;
    let head = Bytes::copy_from_slice(head);
    Ok(MovedTuple { age, failed, is_reserve, expires_in, change, number, head, bulk })
}

/// What has happened to a tuple, and the number of that.
fn told(reader: &mut Reader<'_>) -> Result<(Option<Change>, u64), DecodeError> {
    let change = reader.u8()?;
    match Change::of_number(change).filter(|change| *change != Change::There) {
        Some(change) => Ok((Some(change), reader.u64()?)),
        None => Err(reader.invalid("what has happened to a tuple", change, 1)),
    }
}

//! Reads a file back: what is whole, what is torn by a crash, what is damaged.
//!
//! Torn is what a crash leaves of a batch that was not synced: the file ends within a record, or a sector of the record was never written
//! and reads as zeros, and nothing behind it belongs to a later batch. It is cut off; nobody was told of it. All else that cannot be read
//! is damage, and so is whatever cannot be read in the part that was put in place as a whole: bytes that were durable have changed. Then nothing is guessed (Alagappan and others, "Protocol-Aware Recovery for Consensus-Based
//! Storage", 2018: a log cut at a damaged entry loses what was acknowledged).

use super::header::{self, HEADER_BYTES};
use super::record::MAX_RECORD_BYTES;
use super::{Life, RECORD_HEADER_BYTES, Record};
use crate::raft::Restored;
use core::fmt;
use quintet_wire::Decode;

/// What a disk writes whole or not at all.
const SECTOR_BYTES: usize = 512;

/// What a file holds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Recovered {
    /// The last life that began.
    pub(crate) life: Option<Life>,
    /// What the agreement goes on with; none if nothing was agreed.
    pub(crate) state: Option<Restored>,
    /// Up to where the file is whole.
    pub(crate) length: usize,
}

/// Why a file cannot be read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Unreadable {
    /// What was durable has changed.
    Damage {
        /// Where the record begins that cannot be read.
        offset: usize,
        problem: String,
    },
    /// A later version has written it, in this format.
    Format(u32),
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unreadable::Damage { offset, problem } => {
                write!(f, "the log is damaged at byte {offset}: {problem}")
            }
            Unreadable::Format(format) => write!(
                f,
                "the log is of format {format}, and this version reads formats 1 and 2: start the version that has written it, or a later one"
            ),
        }
    }
}

/// Reads a file.
pub(crate) fn read(bytes: &[u8]) -> Result<Recovered, Unreadable> {
    let sealed = header::sealed(bytes)?;
    let mut found = Recovered { life: None, state: None, length: sealed.map_or(0, |_| HEADER_BYTES) };
    while found.length < bytes.len() {
        let offset = found.length;
        match whole_record(bytes, offset) {
            Ok((body, end)) => {
                let damaged =
                    |problem: &dyn fmt::Display| Unreadable::Damage { offset, problem: problem.to_string() };
                let record = Record::decode_all(body).map_err(|error| damaged(&error))?;
                found.take(record).map_err(|problem| damaged(&problem))?;
                found.length = end;
            }
            // A file in which nothing can be read is none that a crash has torn: it was put in place as a whole.
            Err(_) if offset >= sealed.unwrap_or(1) && is_torn(bytes, offset) => break,
            Err(problem) => return Err(Unreadable::Damage { offset, problem: problem.to_owned() }),
        }
    }
    Ok(found)
}

impl Recovered {
    fn take(&mut self, record: Record) -> Result<(), &'static str> {
        let state = self.state.get_or_insert_default();
        match record {
            Record::Life(life) => self.life = Some(life),
            Record::Vote { term, voted_for } => (state.term, state.voted_for) = (term, voted_for),
            Record::Entry { index, entry } => {
                let kept = index.checked_sub(state.snapshot.0 + 1).ok_or("an entry before the view")?;
                let kept = usize::try_from(kept).unwrap_or(usize::MAX);
                if kept > state.entries.len() {
                    return Err("an entry without the one before it");
                }
                state.entries.truncate(kept);
                state.entries.push(entry);
            }
            Record::Snapshot { index, term, view } => {
                state.snapshot = (index, term, view);
                state.entries.clear();
            }
        }
        Ok(())
    }
}

/// The body of the record at a place, and where it ends.
fn whole_record(bytes: &[u8], at: usize) -> Result<(&[u8], usize), &'static str> {
    let (counted, end) = counted(bytes, at).ok_or("the length of a record is none")?;
    let counted = counted.ok_or("the file ends within a record")?;
    let check = u32::from_le_bytes(counted.0);
    if crc32fast::hash(counted.1) != check {
        return Err("the check of a record does not fit it");
    }
    Ok((&counted.1[8..], end))
}

/// What a record's check covers, with the check, if the file goes so far; and where it ends. None if its length is none.
type Counted<'a> = (Option<([u8; 4], &'a [u8])>, usize);

fn counted(bytes: &[u8], at: usize) -> Option<Counted<'_>> {
    let rest = bytes.get(at..)?;
    let Some(header) = rest.first_chunk::<8>() else { return Some((None, bytes.len())) };
    let [a, b, c, d, check @ ..] = *header;
    let length = u32::from_le_bytes([a, b, c, d]) as usize;
    if length <= RECORD_HEADER_BYTES - 8 || length > MAX_RECORD_BYTES {
        return None;
    }
    let end = at + 8 + length;
    Some((bytes.get(at + 8..end).map(|counted| (check, counted)), end))
}

/// Whether the record at a place, which cannot be read, is what a crash left of a batch that was not synced.
fn is_torn(bytes: &[u8], at: usize) -> bool {
    let (cut_short, end) = match counted(bytes, at) {
        Some((counted, end)) => (counted.is_none(), end),
        None => (false, at + 8),
    };
    (cut_short || has_unwritten_sector(bytes, at, end)) && !has_later_batch(bytes, at)
}

/// Whether the part of some sector that lies between two places reads as zeros.
fn has_unwritten_sector(bytes: &[u8], from: usize, to: usize) -> bool {
    let mut at = from;
    while at < to.min(bytes.len()) {
        let next = (at / SECTOR_BYTES + 1) * SECTOR_BYTES;
        let end = next.min(bytes.len());
        if bytes[at..end].iter().all(|byte| *byte == 0) {
            return true;
        }
        at = next;
    }
    false
}

/// Whether a record behind a place is of a batch that began behind it: then that place was durable.
fn has_later_batch(bytes: &[u8], at: usize) -> bool {
    (at + 1..bytes.len()).any(|place| {
        let Some((Some((_, counted)), _)) = counted(bytes, place) else { return false };
        let Some(batch) = counted.first_chunk::<8>() else { return false };
        let batch = u64::from_le_bytes(*batch);
        batch > at as u64 && batch <= place as u64 && whole_record(bytes, place).is_ok()
    })
}

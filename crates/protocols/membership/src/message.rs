//! What members say to each other. All numbers are little-endian.
//!
//! ```text
//! every message   incarnation u64, term u64: of who says it
//! VOTE            asks first u8 (1: asks whether it would get the vote, 0: asks for it), last index u64, its term u64, committed u64
//! VOTED           asks first u8, given u8
//! APPEND          index before u64, its term u64, committed u64, round u64, n u32, n entries
//! APPENDED        fits u8, index u64, round u64
//! SNAPSHOT        index u64, its term u64, round u64 (0: of one that does not lead), the view
//! GONE            the incarnation of which it is said u64 (all ones: every one)
//! ```
//!
//! No number reaches [`MAX_NUMBER`], so that none overflows.

use crate::change::Entry;
use crate::codec::{APPEND, APPENDED, GONE, SNAPSHOT, VOTE, VOTED};
use crate::view::View;
use quintet_contract::{Incarnation, Kind};
use quintet_wire::{Decode, DecodeError, Encode, Reader, Sink};

/// Above every term, index and round of a good peer: a change a microsecond reaches it after nine years.
pub(crate) const MAX_NUMBER: u64 = 1 << 48;
/// The round of a view that is not a leader's: leaders count from 1.
pub(crate) const NO_LEADERS: u64 = 0;
/// Entries of one message; their bytes fit a frame.
pub(crate) const MAX_ENTRIES: usize = 256;

/// A message, with what every one begins with.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Message {
    /// The life of the member that says it.
    pub(crate) incarnation: Incarnation,
    /// Its term; of a question whether it would get votes, the next one.
    pub(crate) term: u64,
    pub(crate) what: What,
}

/// What is said.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum What {
    /// Asks for a vote, or whether it would get it.
    Vote { asks_first: bool, last: u64, last_term: u64, committed: u64 },
    /// Answers that.
    Voted { asks_first: bool, given: bool },
    /// The leader's entries behind one that the follower is thought to have; none: a sign of life.
    Append { before: u64, before_term: u64, committed: u64, round: u64, entries: Vec<Entry> },
    /// Whether the entry before was there, and up to which index the logs agree; else, up to which the follower's is committed.
    Appended { fits: bool, index: u64, round: u64 },
    /// What all entries up to an index led to.
    Snapshot { index: u64, index_term: u64, round: u64, view: View },
    /// The receiver's life is over: it was removed, or a later life of it has come.
    Gone { incarnation: Incarnation },
}

impl Message {
    /// The kind under which it travels.
    pub(crate) fn kind(&self) -> Kind {
        match self.what {
            What::Vote { .. } => VOTE,
            What::Voted { .. } => VOTED,
            What::Append { .. } => APPEND,
            What::Appended { .. } => APPENDED,
            What::Snapshot { .. } => SNAPSHOT,
            What::Gone { .. } => GONE,
        }
    }

    /// Reads the body of a frame of this kind.
    pub(crate) fn decode(kind: Kind, body: &[u8]) -> Result<Message, DecodeError> {
        let reader = &mut Reader::new(body);
        let (incarnation, term) = (Incarnation(reader.u64()?), number(reader, "term")?);
        let what = match kind {
            VOTE => What::Vote {
                asks_first: reader.flag("asks first")?,
                last: number(reader, "last index")?,
                last_term: number(reader, "last term")?,
                committed: number(reader, "committed")?,
            },
            VOTED => What::Voted { asks_first: reader.flag("asks first")?, given: reader.flag("given")? },
            APPEND => append(reader)?,
            APPENDED => What::Appended {
                fits: reader.flag("fits")?,
                index: number(reader, "index")?,
                round: number(reader, "round")?,
            },
            SNAPSHOT => What::Snapshot {
                index: number(reader, "index")?,
                index_term: number(reader, "term of the index")?,
                round: number(reader, "round")?,
                view: View::decode(reader)?,
            },
            GONE => What::Gone { incarnation: Incarnation(reader.u64()?) },
            Kind(other) => return Err(reader.invalid("kind", other, 0)),
        };
        reader.clone().finish()?;
        Ok(Message { incarnation, term, what })
    }
}

fn append(reader: &mut Reader<'_>) -> Result<What, DecodeError> {
    let (before, before_term) = (number(reader, "index before")?, number(reader, "term before")?);
    let (committed, round) = (number(reader, "committed")?, number(reader, "round")?);
    let mut entries = Vec::new();
    for _ in 0..reader.length("number of entries", MAX_ENTRIES)? {
        let entry = Entry::decode(reader)?;
        if entry.term >= MAX_NUMBER {
            return Err(reader.invalid("term of an entry", entry.term, 0));
        }
        entries.push(entry);
    }
    Ok(What::Append { before, before_term, committed, round, entries })
}

/// A number below [`MAX_NUMBER`].
pub(crate) fn number(reader: &mut Reader<'_>, field: &'static str) -> Result<u64, DecodeError> {
    let value = reader.u64()?;
    if value >= MAX_NUMBER {
        return Err(reader.invalid(field, value, 8));
    }
    Ok(value)
}

impl Encode for Message {
    fn encode(&self, sink: &mut impl Sink) {
        sink.u64(self.incarnation.0);
        sink.u64(self.term);
        match &self.what {
            What::Vote { asks_first, last, last_term, committed } => {
                sink.u8((*asks_first).into());
                for value in [last, last_term, committed] {
                    sink.u64(*value);
                }
            }
            What::Voted { asks_first, given } => {
                sink.u8((*asks_first).into());
                sink.u8((*given).into());
            }
            What::Append { before, before_term, committed, round, entries } => {
                for value in [before, before_term, committed, round] {
                    sink.u64(*value);
                }
                sink.u32(u32::try_from(entries.len()).expect("at most MAX_ENTRIES"));
                entries.iter().for_each(|entry| entry.encode(sink));
            }
            What::Appended { fits, index, round } => {
                sink.u8((*fits).into());
                sink.u64(*index);
                sink.u64(*round);
            }
            What::Snapshot { index, index_term, round, view } => {
                for value in [index, index_term, round] {
                    sink.u64(*value);
                }
                view.encode(sink);
            }
            What::Gone { incarnation } => sink.u64(incarnation.0),
        }
    }
}

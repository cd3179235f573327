//! What members say to each other. All numbers are little-endian.
//!
//! ```text
//! every message   incarnation u64, term u64: of who says it
//! vote            asks first u8 (1: asks whether it would get the vote, 0: asks for it), last index u64, its term u64, committed u64
//! voted           asks first u8, given u8
//! append          index before u64, its term u64, committed u64, round u64, n u32, n entries
//! appended        fits u8, index u64, round u64
//! snapshot        index u64, its term u64, round u64 (0: of one that does not lead), the view
//! gone            the incarnation of which it is said u64 (all ones: every one)
//! ```
//!
//! No number reaches [`MAX_NUMBER`], so that none overflows.

use crate::agreed::{Agreed, Entry};
use quintet_contract::{Incarnation, Kind};
use quintet_wire::{Decode, DecodeError, Encode, Reader, Sink};

/// Above every term, index and round of a good peer: a change a microsecond reaches it after nine years.
pub const MAX_NUMBER: u64 = 1 << 48;
/// The round of a view that is not a leader's: leaders count from 1.
pub const NO_LEADERS: u64 = 0;
/// Entries of one message; their bytes fit a frame.
pub const MAX_ENTRIES: usize = 256;

/// A message, with what every one begins with.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Message<V: Agreed> {
    /// The life of the member that says it.
    pub incarnation: Incarnation,
    /// Its term; of a question whether it would get votes, the next one.
    pub term: u64,
    /// What is said.
    pub what: What<V>,
}

/// What is said.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum What<V: Agreed> {
    /// Asks for a vote, or whether it would get it.
    Vote {
        /// Whether it only asks what would be answered.
        asks_first: bool,
        /// The index of its last entry.
        last: u64,
        /// The term of that.
        last_term: u64,
        /// Up to which index all is committed, as far as it knows.
        committed: u64,
    },
    /// Answers that.
    Voted {
        /// Whether it was only asked what would be answered.
        asks_first: bool,
        /// Whether the vote is given, or would be.
        given: bool,
    },
    /// The leader's entries behind one that the follower is thought to have; none: a sign of life.
    Append {
        /// The index of the entry before.
        before: u64,
        /// Its term.
        before_term: u64,
        /// Up to which index all is committed.
        committed: u64,
        /// Counts what the leader sends.
        round: u64,
        /// What comes next.
        entries: Vec<Entry<V::Change>>,
    },
    /// Answers that.
    Appended {
        /// Whether the entry before was there.
        fits: bool,
        /// Up to which index the logs agree; else, up to which the follower's is committed.
        index: u64,
        /// The leader's count.
        round: u64,
    },
    /// What all entries up to an index led to.
    Snapshot {
        /// The index.
        index: u64,
        /// Its term.
        index_term: u64,
        /// The leader's count.
        round: u64,
        /// What they led to.
        view: V,
    },
    /// The receiver's life is over: it was removed, or a later life of it has come.
    Gone {
        /// Of which life that is said.
        incarnation: Incarnation,
    },
}

impl<V: Agreed> Message<V> {
    /// The kind under which it travels.
    ///
    /// # Panics
    /// The group has none for what is said.
    #[must_use]
    pub fn kind(&self) -> Kind {
        let place = match self.what {
            What::Vote { .. } => 0,
            What::Voted { .. } => 1,
            What::Append { .. } => 2,
            What::Appended { .. } => 3,
            What::Snapshot { .. } => 4,
            What::Gone { .. } => 5,
        };
        V::KINDS[place]
    }

    /// Reads the body of a frame of this kind.
    ///
    /// # Errors
    /// It is none.
    pub fn decode(kind: Kind, body: &[u8]) -> Result<Message<V>, DecodeError> {
        let reader = &mut Reader::new(body);
        let message = Message::decode_from(kind, reader)?;
        reader.clone().finish()?;
        Ok(message)
    }

    /// Reads such a body, behind which something else may stand.
    ///
    /// # Errors
    /// It is none.
    pub fn decode_from(kind: Kind, reader: &mut Reader<'_>) -> Result<Message<V>, DecodeError> {
        let (incarnation, term) = (Incarnation(reader.u64()?), number(reader, "term")?);
        let what = match V::KINDS.iter().position(|known| *known == kind) {
            Some(0) => What::Vote {
                asks_first: reader.flag("asks first")?,
                last: number(reader, "last index")?,
                last_term: number(reader, "last term")?,
                committed: number(reader, "committed")?,
            },
            Some(1) => What::Voted { asks_first: reader.flag("asks first")?, given: reader.flag("given")? },
            Some(2) => append(reader)?,
            Some(3) => What::Appended {
                fits: reader.flag("fits")?,
                index: number(reader, "index")?,
                round: number(reader, "round")?,
            },
            Some(4) => What::Snapshot {
                index: number(reader, "index")?,
                index_term: number(reader, "term of the index")?,
                round: number(reader, "round")?,
                view: V::decode(reader)?,
            },
            Some(5) => What::Gone { incarnation: Incarnation(reader.u64()?) },
            _ => return Err(reader.invalid("kind", kind.0, 0)),
        };
        Ok(Message { incarnation, term, what })
    }
}

fn append<V: Agreed>(reader: &mut Reader<'_>) -> Result<What<V>, DecodeError> {
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
pub fn number(reader: &mut Reader<'_>, field: &'static str) -> Result<u64, DecodeError> {
    let value = reader.u64()?;
    if value >= MAX_NUMBER {
        return Err(reader.invalid(field, value, 8));
    }
    Ok(value)
}

impl<V: Agreed> Encode for Message<V> {
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

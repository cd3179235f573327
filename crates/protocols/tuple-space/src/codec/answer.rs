//! The bodies of answers.

use super::fields::check_signature;
use super::{
    COLLECTED, COUNTED, Collected, DONE, ERROR, EVENTS, Events, LISTED, LeaseId, MAX_ERROR_TEXT_BYTES,
    MAX_HEAD_BYTES, MAX_SELECT_TEMPLATES, MOVED, NO_MATCH, Page, ROUTES, Routes, SELECTED, SPACE_ROWS, STATE,
    SpacesPage, TOLD, TUPLE, TooOldBody, Witness,
};
use crate::{Signature, Tuple};
use bytes::Bytes;
use core::fmt;
use quintet_contract::Kind;
use quintet_errors::Code;
use quintet_wire::{Decode, DecodeError, Encode, Reader, Sink};

/// The answer to a request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    /// It had its effect.
    Done,
    /// A tuple, and its lease if one was asked for.
    Tuple(Tuple, Option<Attempt>),
    /// A tuple that a group has read, and which it was.
    Witnessed(Tuple, Witness),
    /// The tuple of a select: which of its templates it matches, counted from 0, and its lease if one was asked for.
    Selected(usize, Tuple, Option<Attempt>),
    /// No tuple matched at that instant.
    NoMatch,
    /// How many tuples matched.
    Count(u64),
    /// How the space is.
    State(Box<State>),
    /// A part of a listing.
    Page(Page),
    /// Named spaces.
    Spaces(SpacesPage),
    /// Where everything is.
    Routes(Box<Routes>),
    /// The manager does not have what the request is about; nothing has happened. The epoch in which that is so.
    Moved(u64),
    /// A page of the tuples that match.
    Collected(Collected),
    /// What happened in the space, or what is there.
    Events(Events),
    /// Events behind the number that was asked for are kept no more.
    TooOld {
        /// Behind this number, and every later one, they are.
        oldest: u64,
        /// The number of the last event.
        newest: u64,
    },
    /// It failed and changed nothing.
    Error(Refusal),
}

/// A tuple held under a lease.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Attempt {
    /// Names the lease.
    pub lease: LeaseId,
    /// How often the tuple has been leased, this time included: 1 is the first.
    pub attempt: u32,
}

/// Why a request failed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refusal {
    /// Which error.
    pub code: Code,
    /// What is particular to this time, and what to do.
    pub text: String,
}

/// How the space is.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct State {
    /// Tuples that can be taken.
    pub tuples: u64,
    /// Bytes of the tuples and of those under a lease, with what each takes beside its own: they count for the quota.
    pub bytes: u64,
    /// Bytes of further indexes, beyond two a signature: they count for the quota as well.
    pub index_bytes: u64,
    /// Tuples under a lease or in delivery.
    pub hidden: u64,
    /// Takes and reads that wait.
    pub waiters: u64,
    /// Leases held.
    pub leases: u64,
    /// Requests that wait for room.
    pub parked: u64,
    /// Leases that ended without an acknowledgement, so far.
    pub redone: u64,
    /// Dead letters made so far.
    pub dead_letters: u64,
    /// Signatures known.
    pub signatures: u64,
    /// One row for each of the first [`State::MAX_ROWS`] signatures.
    pub rows: Vec<SignatureState>,
    /// Of a space with several managers, keys that were moved to another manager for what is asked of them: a router tells it, no manager does.
    pub moved_keys: u64,
}

/// The tuples of one signature.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SignatureState {
    /// The types of their fields.
    pub signature: Signature,
    /// Tuples that can be taken.
    pub tuples: u64,
    /// Tuples under a lease or in delivery.
    pub hidden: u64,
    /// Takes and reads that wait.
    pub waiters: u64,
}

/// What stands before the head in a [`TUPLE`] answer.
#[derive(Clone, Copy, Debug)]
pub(crate) enum TupleFront {
    /// Of a plain take or a read.
    Plain,
    Leased(Attempt),
    Witnessed(Witness),
}

impl State {
    /// Rows a [`State`] has at most.
    pub const MAX_ROWS: usize = 64;
}

impl Answer {
    /// Reads an answer. Long data is shared with `bulk`.
    ///
    /// # Errors
    /// What is wrong with the bytes; [`DecodeError::Invalid`] for a kind that is no answer.
    pub fn decode(kind: Kind, body: &[u8], bulk: &Bytes) -> Result<Answer, DecodeError> {
        let mut reader = Reader::new(body);
        let answer = match kind {
            DONE => Answer::Done,
            NO_MATCH => Answer::NoMatch,
            COUNTED => Answer::Count(reader.u64()?),
            STATE => Answer::State(Box::new(State::decode(&mut reader)?)),
            LISTED => Answer::Page(Page::decode(&mut reader)?),
            SPACE_ROWS => Answer::Spaces(SpacesPage::decode(&mut reader)?),
            ROUTES => Answer::Routes(Box::new(Routes::decode(&mut reader)?)),
            MOVED => Answer::Moved(reader.u64()?),
            ERROR => Answer::Error(Refusal::decode(&mut reader)?),
            COLLECTED => Answer::Collected(Collected::decode(&mut reader, bulk)?),
            EVENTS => Answer::Events(Events::decode(&mut reader, bulk)?),
            TOLD => {
                let TooOldBody { oldest, newest } = TooOldBody::decode(&mut reader)?;
                Answer::TooOld { oldest, newest }
            }
            TUPLE => {
                let front = TupleFront::decode(&mut reader)?;
                let tuple = Tuple::decode(reader.bytes(reader.left())?, bulk)?;
                match front {
                    TupleFront::Plain => Answer::Tuple(tuple, None),
                    TupleFront::Leased(attempt) => Answer::Tuple(tuple, Some(attempt)),
                    TupleFront::Witnessed(witness) => Answer::Witnessed(tuple, witness),
                }
            }
            SELECTED => {
                let which = usize::from(reader.u8()?);
                if which >= MAX_SELECT_TEMPLATES {
                    return Err(reader.invalid("number of a template", which as u64, 1));
                }
                let lease = match TupleFront::decode(&mut reader)? {
                    TupleFront::Plain => None,
                    TupleFront::Leased(attempt) => Some(attempt),
                    TupleFront::Witnessed(witness) => {
                        return Err(reader.invalid("attempt of a select", witness.age, 12));
                    }
                };
                Answer::Selected(which, Tuple::decode(reader.bytes(reader.left())?, bulk)?, lease)
            }
            Kind(value) => return Err(DecodeError::Invalid { at: 0, field: "kind", value: value.into() }),
        };
        reader.finish()?;
        Ok(answer)
    }
}

impl Refusal {
    /// A refusal; the text is cut to [`MAX_ERROR_TEXT_BYTES`].
    #[must_use]
    pub fn new(code: Code, text: impl Into<String>) -> Refusal {
        let mut text = text.into();
        text.truncate(text.floor_char_boundary(MAX_ERROR_TEXT_BYTES));
        Refusal { code, text }
    }
}

impl Encode for Refusal {
    fn encode(&self, sink: &mut impl Sink) {
        sink.u16(self.code as u16);
        sink.counted(self.text.as_bytes());
    }
}

impl Decode<'_> for Refusal {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let number = reader.u16()?;
        let code = Code::from_number(number).ok_or_else(|| reader.invalid("error code", number, 2))?;
        Ok(Refusal { code, text: reader.text("text of an error", MAX_ERROR_TEXT_BYTES)?.into() })
    }
}

impl Encode for TupleFront {
    fn encode(&self, sink: &mut impl Sink) {
        let (name, attempt) = match self {
            TupleFront::Plain => (0, 0),
            TupleFront::Leased(held) => (held.lease.0, held.attempt),
            TupleFront::Witnessed(witness) => (witness.age, 0),
        };
        sink.u64(name);
        sink.u32(attempt);
        if let TupleFront::Witnessed(witness) = self {
            sink.u64(witness.place);
        }
    }
}

impl Decode<'_> for TupleFront {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let (lease, attempt) = (reader.u64()?, reader.u32()?);
        match (lease, attempt) {
            (0, 0) => Ok(TupleFront::Plain),
            (0, _) => Err(reader.invalid("attempt", attempt, 4)),
            (age, 0) => Ok(TupleFront::Witnessed(Witness { age, place: reader.u64()? })),
            _ => Ok(TupleFront::Leased(Attempt { lease: LeaseId(lease), attempt })),
        }
    }
}

impl Encode for State {
    fn encode(&self, sink: &mut impl Sink) {
        for number in [self.tuples, self.bytes, self.hidden, self.waiters, self.leases] {
            sink.u64(number);
        }
        for number in [self.parked, self.redone, self.dead_letters, self.signatures, self.index_bytes] {
            sink.u64(number);
        }
        sink.u32(u32::try_from(self.rows.len()).expect("at most MAX_ROWS rows"));
        for row in &self.rows {
            sink.counted(&row.signature.0);
            for number in [row.tuples, row.hidden, row.waiters] {
                sink.u64(number);
            }
        }
        if self.moved_keys > 0 {
            sink.u64(self.moved_keys);
        }
    }
}

impl Decode<'_> for State {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let mut state = State {
            tuples: reader.u64()?,
            bytes: reader.u64()?,
            hidden: reader.u64()?,
            waiters: reader.u64()?,
            leases: reader.u64()?,
            parked: reader.u64()?,
            redone: reader.u64()?,
            dead_letters: reader.u64()?,
            signatures: reader.u64()?,
            index_bytes: reader.u64()?,
            rows: Vec::new(),
            moved_keys: 0,
        };
        for _ in 0..reader.length("number of rows", State::MAX_ROWS)? {
            state.rows.push(SignatureState {
                signature: Signature::decode(reader)?,
                tuples: reader.u64()?,
                hidden: reader.u64()?,
                waiters: reader.u64()?,
            });
        }
        // Only a client's own router tells it.
        if reader.left() > 0 {
            state.moved_keys = reader.u64()?;
        }
        Ok(state)
    }
}

impl Decode<'_> for Signature {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let bytes = reader.counted("length of a signature", MAX_HEAD_BYTES)?;
        match bytes.len() - check_signature(bytes)? {
            0 => Ok(Signature(bytes.into())),
            left => Err(DecodeError::Trailing { at: bytes.len() - left, left }),
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.text)
    }
}

impl core::error::Error for Refusal {}

//! Answers.

use super::{ANSWER, NO_PAYLOAD, read_payload, read_wait, write_wait};
use crate::refusal::Refusal;
use bytes::Bytes;
use quintet_contract::{Address, Kind, Outbox, SendError, Span, Token};
use quintet_wire::{Decode, DecodeError, Encode, Reader, Sink};

/// What a broker answers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    /// It was done.
    Done,
    /// A handler is there.
    Registered {
        /// Its number, which no other of this broker gets.
        handler: u64,
    },
    /// A call, for the handler that asked.
    Delivered {
        /// Its number.
        call: u64,
        /// How long its caller still waits; none: for ever.
        wait: Option<Span>,
        /// Whether no reply is wanted.
        is_one_way: bool,
        /// Any bytes.
        payload: Bytes,
    },
    /// What a handler has replied.
    Replied(Bytes),
    /// It was refused, or has failed.
    Error(Refusal),
}

impl Answer {
    fn payload(&self) -> &Bytes {
        match self {
            Answer::Delivered { payload, .. } | Answer::Replied(payload) => payload,
            _ => &NO_PAYLOAD,
        }
    }

    /// Sends it.
    ///
    /// # Errors
    /// As [`Outbox::begin`].
    pub fn send(&self, out: &mut dyn Outbox, to: Address, token: Token) -> Result<(), SendError> {
        super::send(out, to, ANSWER, token, self, self.payload())
    }

    /// Reads an answer.
    ///
    /// # Errors
    /// What is wrong with the bytes, of the body or of the bulk; [`DecodeError::Invalid`] for a kind that is no answer.
    pub fn decode(kind: Kind, body: &[u8], bulk: &Bytes) -> Result<Answer, DecodeError> {
        if kind != ANSWER {
            return Err(DecodeError::Invalid { at: 0, field: "kind", value: kind.0.into() });
        }
        let mut reader = Reader::new(body);
        let answer = match reader.u8()? {
            0 => Answer::Done,
            1 => Answer::Registered { handler: reader.u64()? },
            2 => Answer::Delivered {
                call: reader.u64()?,
                wait: read_wait(&mut reader)?,
                is_one_way: reader.flag("whether a call is one-way")?,
                payload: read_payload(&mut reader, bulk)?,
            },
            3 => Answer::Replied(read_payload(&mut reader, bulk)?),
            4 => Answer::Error(Refusal::decode(&mut reader)?),
            other => return Err(reader.invalid("tag of an answer", other, 1)),
        };
        if answer.payload().is_empty() && !bulk.is_empty() {
            return Err(reader.invalid("length of the bulk", bulk.len() as u64, 0));
        }
        reader.finish()?;
        Ok(answer)
    }
}

/// Without the payload.
impl Encode for Answer {
    fn encode(&self, sink: &mut impl Sink) {
        match self {
            Answer::Done => sink.u8(0),
            Answer::Registered { handler } => {
                sink.u8(1);
                sink.u64(*handler);
            }
            Answer::Delivered { call, wait, is_one_way, payload: _ } => {
                sink.u8(2);
                sink.u64(*call);
                write_wait(*wait, sink);
                sink.u8(u8::from(*is_one_way));
            }
            Answer::Replied(_) => sink.u8(3),
            Answer::Error(refusal) => {
                sink.u8(4);
                refusal.encode(sink);
            }
        }
    }
}

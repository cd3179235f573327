//! Requests.

use super::{AWAIT, CALL, CANCEL, LEAVE, NEXT, NO_PAYLOAD, Place, REGISTER, REPLY};
use super::{read_payload, read_wait, write_wait};
use crate::config::HandlerLimits;
use bytes::Bytes;
use quintet_contract::{Address, Kind, Outbox, SendError, Span, Token};
use quintet_wire::refusal::MAX_TEXT_BYTES;
use quintet_wire::{Decode, DecodeError, Encode, Reader, Sink};

/// What a program asks of a broker.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Request {
    /// A handler is there from now on, until it leaves or its session ends.
    Register {
        /// Its name, and the rank of its process.
        place: Place,
        /// What it takes.
        limits: HandlerLimits,
    },
    /// Waits until a handler is there.
    Await {
        /// Where.
        place: Place,
        /// For how long; none: for ever.
        wait: Option<Span>,
    },
    /// Calls a handler.
    Call {
        /// Which.
        place: Place,
        /// Until when a reply is wanted; none: for ever. A one-way call waits for ever.
        wait: Option<Span>,
        /// Whether no reply is wanted.
        is_one_way: bool,
        /// Any bytes.
        payload: Bytes,
    },
    /// A handler asks for its next call.
    Next {
        /// Which handler.
        handler: u64,
        /// How long it waits for one; none: for ever.
        wait: Option<Span>,
    },
    /// A call is done with.
    Reply {
        /// Which.
        call: u64,
        /// How it ended.
        handled: Handled,
    },
    /// A handler takes no more calls. Those that it was given it may still answer.
    Leave {
        /// Which.
        handler: u64,
    },
    /// The request with this token is not wanted any more: it is answered as cancelled, unless it was answered before.
    Cancel,
}

/// How the handling of a call ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Handled {
    /// With this reply.
    Replied(Bytes),
    /// With an error, in its own words; cut to [`MAX_TEXT_BYTES`] where it is sent.
    Failed(String),
    /// It was not begun: another handler may have it.
    GivenBack,
}

impl Request {
    /// The kind of the frame that says this.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self {
            Request::Register { .. } => REGISTER,
            Request::Await { .. } => AWAIT,
            Request::Call { .. } => CALL,
            Request::Next { .. } => NEXT,
            Request::Reply { .. } => REPLY,
            Request::Leave { .. } => LEAVE,
            Request::Cancel => CANCEL,
        }
    }

    fn payload(&self) -> &Bytes {
        match self {
            Request::Call { payload, .. } | Request::Reply { handled: Handled::Replied(payload), .. } => {
                payload
            }
            _ => &NO_PAYLOAD,
        }
    }

    /// Sends it.
    ///
    /// # Errors
    /// As [`Outbox::begin`].
    pub fn send(&self, out: &mut dyn Outbox, to: Address, token: Token) -> Result<(), SendError> {
        super::send(out, to, self.kind(), token, self, self.payload())
    }

    /// Reads a request.
    ///
    /// # Errors
    /// What is wrong with the bytes, of the body or of the bulk; [`DecodeError::Invalid`] for a kind that is no request.
    pub fn decode(kind: Kind, body: &[u8], bulk: &Bytes) -> Result<Request, DecodeError> {
        let mut reader = Reader::new(body);
        let request = Request::read(kind, &mut reader, bulk)?;
        if request.payload().is_empty() && !bulk.is_empty() {
            return Err(reader.invalid("length of the bulk", bulk.len() as u64, 0));
        }
        reader.finish()?;
        Ok(request)
    }

    fn read(kind: Kind, reader: &mut Reader<'_>, bulk: &Bytes) -> Result<Request, DecodeError> {
        Ok(match kind {
            REGISTER => {
                Request::Register { place: Place::decode(reader)?, limits: HandlerLimits::decode(reader)? }
            }
            AWAIT => Request::Await { place: Place::decode(reader)?, wait: read_wait(reader)? },
            CALL => Request::Call {
                place: Place::decode(reader)?,
                wait: read_wait(reader)?,
                is_one_way: reader.flag("whether a call is one-way")?,
                payload: read_payload(reader, bulk)?,
            },
            NEXT => Request::Next { handler: reader.u64()?, wait: read_wait(reader)? },
            REPLY => Request::Reply { call: reader.u64()?, handled: Handled::read(reader, bulk)? },
            LEAVE => Request::Leave { handler: reader.u64()? },
            CANCEL => Request::Cancel,
            other => return Err(DecodeError::Invalid { at: 0, field: "kind", value: other.0.into() }),
        })
    }
}

impl Handled {
    fn read(reader: &mut Reader<'_>, bulk: &Bytes) -> Result<Handled, DecodeError> {
        match reader.u8()? {
            0 => Ok(Handled::Replied(read_payload(reader, bulk)?)),
            1 => Ok(Handled::Failed(reader.text("text of a failure", MAX_TEXT_BYTES)?.to_owned())),
            2 => Ok(Handled::GivenBack),
            other => Err(reader.invalid("how a call ended", other, 1)),
        }
    }
}

/// Without the payload.
impl Encode for Request {
    fn encode(&self, sink: &mut impl Sink) {
        match self {
            Request::Register { place, limits } => {
                place.encode(sink);
                limits.encode(sink);
            }
            Request::Await { place, wait } => {
                place.encode(sink);
                write_wait(*wait, sink);
            }
            Request::Call { place, wait, is_one_way, payload: _ } => {
                place.encode(sink);
                write_wait(*wait, sink);
                sink.u8(u8::from(*is_one_way));
            }
            Request::Next { handler, wait } => {
                sink.u64(*handler);
                write_wait(*wait, sink);
            }
            Request::Reply { call, handled } => {
                sink.u64(*call);
                match handled {
                    Handled::Replied(_) => sink.u8(0),
                    Handled::Failed(text) => {
                        sink.u8(1);
                        sink.counted(&text.as_bytes()[..text.floor_char_boundary(MAX_TEXT_BYTES)]);
                    }
                    Handled::GivenBack => sink.u8(2),
                }
            }
            Request::Leave { handler } => sink.u64(*handler),
            Request::Cancel => {}
        }
    }
}

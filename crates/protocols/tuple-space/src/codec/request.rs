//! The bodies of requests.

use super::{
    ACK, CANCEL, COMMIT, COUNT, CodeGrants, DONE, FURTHER, Further, GRANT, LIST, ListView, MORE, More, OUT,
    Put, READ, RELEASE, RENEW, RETURN, SPACES, STATUS, TAKE, Uses, View,
};
use bytes::Bytes;
use quintet_contract::{Frame, Kind, Span, Token};
use quintet_wire::{Decode, DecodeError, Encode, Reader, Sink};

/// How long a request waits for a tuple.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wait {
    /// Not at all: it is answered from what the space holds at that instant.
    AtOnce,
    /// For at most this long.
    For(Span),
    /// Until there is one.
    Forever,
}

impl Wait {
    pub(crate) fn parts(self) -> (u8, u64) {
        match self {
            Wait::AtOnce => (0, 0),
            Wait::For(span) => (1, span.0),
            Wait::Forever => (2, 0),
        }
    }

    /// Reads the rest of what says how to wait, whose first byte is `how`.
    pub(crate) fn read(how: u8, reader: &mut Reader<'_>) -> Result<Wait, DecodeError> {
        match (how, reader.u64()?) {
            (0, 0) => Ok(Wait::AtOnce),
            (1, span) => Ok(Wait::For(Span(span))),
            (2, 0) => Ok(Wait::Forever),
            (0 | 2, span) => Err(reader.invalid("span of a request without deadline", span, 8)),
            (how, _) => Err(reader.invalid("manner of waiting", how, 9)),
        }
    }
}

/// Added to how a request waits where it is a group's.
const FOR_GROUP: u8 = 0x10;

/// The word every request begins with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settled(pub(crate) u64);

impl Encode for Settled {
    fn encode(&self, sink: &mut impl Sink) {
        sink.u64(self.0);
    }
}

/// What [`TAKE`] and [`READ`] ask for, as the manager reads it after `settled`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Query<'a> {
    pub(crate) wait: Wait,
    /// For how long the tuple is leased unless renewed; none for a plain take and for a read.
    pub(crate) lease: Option<Span>,
    /// It is a group's. How long that may last: what it takes returns by then; `u64::MAX` for a read, and without end.
    pub(crate) group: Option<Span>,
    pub(crate) template: View<'a>,
}

impl<'a> Query<'a> {
    /// Writes what stands in front of the template.
    pub(crate) fn encode_front(wait: Wait, lease: Option<Span>, group: Option<Span>, sink: &mut impl Sink) {
        let (how, span) = wait.parts();
        sink.u8(if group.is_some() { how | FOR_GROUP } else { how });
        sink.u64(span);
        // 0 stands for a plain take: the shortest lease lives a nanosecond.
        sink.u64(lease.map_or(0, |ttl| ttl.0.max(1)));
        if let (Some(_), Some(limit)) = (lease, group) {
            sink.u64(limit.0);
        }
    }

    /// How it waits, for how long the tuple is leased, and how long its group may last.
    pub(super) fn decode_front(
        reader: &mut Reader<'_>,
    ) -> Result<(Wait, Option<Span>, Option<Span>), DecodeError> {
        let how = reader.u8()?;
        let wait = Wait::read(how & !FOR_GROUP, reader)?;
        let lease = Some(reader.u64()?).filter(|ttl| *ttl != 0).map(Span);
        let group = match (how & FOR_GROUP, lease) {
            (0, _) => None,
            (_, Some(_)) => Some(Span(reader.u64()?)),
            (_, None) => Some(Span(u64::MAX)),
        };
        Ok((wait, lease, group))
    }

    fn decode(reader: &mut Reader<'a>, bulk: &'a Bytes) -> Result<Self, DecodeError> {
        let (wait, lease, group) = Query::decode_front(reader)?;
        Ok(Query { wait, lease, group, template: template(reader, bulk)? })
    }
}

/// The template to the end of the body.
pub(super) fn template<'a>(reader: &mut Reader<'a>, bulk: &'a Bytes) -> Result<View<'a>, DecodeError> {
    View::template(reader.bytes(reader.left())?, bulk)
}

/// A request as the manager reads it: everything checked, nothing copied.
#[derive(Clone, Debug)]
pub(crate) enum RequestView<'a> {
    Out(Put<'a>),
    Take(Query<'a>),
    Read(Query<'a>),
    Cancel,
    Return,
    Ack(LeaseId, Put<'a>),
    Release(LeaseId),
    Renew,
    Count(View<'a>),
    Status,
    List(ListView<'a>),
    Grant(CodeGrants),
    Commit(Uses<'a>, Put<'a>),
    Further(Further<'a>),
    More(More<'a>),
}

impl<'a> RequestView<'a> {
    /// Whether a frame of this kind is a request, known or not.
    pub(crate) fn is_request(kind: Kind) -> bool {
        (OUT..DONE).contains(&kind)
    }

    /// Whether a request of this kind is answered under its own name. The token of the others names another request.
    pub(crate) fn is_answered(kind: Kind) -> bool {
        !matches!(kind, CANCEL | RETURN | RENEW)
    }

    /// Whether a request of this kind is for one space, which a [`NAMED`](super::NAMED) says: the others are for all.
    pub(crate) fn is_of_one_space(kind: Kind) -> bool {
        RequestView::is_request(kind) && RequestView::is_answered(kind) && !matches!(kind, GRANT | SPACES)
    }

    /// Whether more lies in a frame's bulk than data that is only compared, hashed and passed on: a template, or the heads of tuples.
    pub(crate) fn relies_on_bulk(frame: &Frame<'_>) -> bool {
        match frame.kind {
            TAKE | READ | COUNT | LIST | FURTHER | MORE => true,
            OUT => frame.body.len() == HEADLESS_OUT_BYTES,
            ACK => frame.body.len() == HEADLESS_OUT_BYTES + size_of::<LeaseId>(),
            COMMIT => {
                Uses::len_in(frame.body).is_some_and(|uses| frame.body.len() == HEADLESS_OUT_BYTES + uses)
            }
            _ => false,
        }
    }

    /// Reads a request, and the token below which the sender's takes are settled.
    pub(crate) fn decode(frame: &Frame<'a>) -> Result<(Token, RequestView<'a>), DecodeError> {
        let mut reader = Reader::new(frame.body);
        let settled = Token(reader.u64()?);
        let request = RequestView::decode_rest(frame, &mut reader)?;
        reader.finish()?;
        let takes_bulk =
            matches!(frame.kind, OUT | TAKE | READ | ACK | COUNT | LIST | COMMIT | FURTHER | MORE);
        if !takes_bulk && !frame.bulk.is_empty() {
            return Err(DecodeError::Trailing { at: 0, left: frame.bulk.len() });
        }
        Ok((settled, request))
    }

    fn decode_rest(frame: &Frame<'a>, reader: &mut Reader<'a>) -> Result<RequestView<'a>, DecodeError> {
        Ok(match frame.kind {
            OUT => {
                let put = Put::decode(reader, frame.bulk)?;
                if put.tuples.is_empty() {
                    return Err(reader.invalid("number of tuples", 0u32, 4));
                }
                RequestView::Out(put)
            }
            TAKE => {
                let query = Query::decode(reader, frame.bulk)?;
                if query.group.is_some() && query.lease.is_none() {
                    return Err(reader.invalid("lease of a group's take", 0u64, 8));
                }
                RequestView::Take(query)
            }
            READ => {
                let query = Query::decode(reader, frame.bulk)?;
                match query.lease {
                    None => RequestView::Read(query),
                    Some(ttl) => return Err(reader.invalid("lease of a read", ttl.0, 8)),
                }
            }
            CANCEL => RequestView::Cancel,
            RETURN => RequestView::Return,
            ACK => RequestView::Ack(LeaseId::decode(reader)?, Put::decode(reader, frame.bulk)?),
            RELEASE => RequestView::Release(LeaseId::decode(reader)?),
            RENEW => RequestView::Renew,
            COUNT => RequestView::Count(template(reader, frame.bulk)?),
            STATUS => RequestView::Status,
            LIST => RequestView::List(ListView::decode(reader, frame.bulk)?),
            GRANT => RequestView::Grant(CodeGrants::decode(reader)?),
            COMMIT => RequestView::Commit(Uses::decode(reader)?, Put::decode(reader, frame.bulk)?),
            FURTHER => RequestView::Further(Further::decode(reader, frame.bulk)?),
            MORE => RequestView::More(More::decode(reader, frame.bulk)?),
            Kind(other) => return Err(reader.invalid("kind", other, 0)),
        })
    }
}

/// The body of an [`OUT`] whose tuples' heads lie in the bulk: settled, deadline, count.
const HEADLESS_OUT_BYTES: usize = 8 + 8 + 4;

/// Names a lease. No two leases of one manager's life have the same; it is never 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LeaseId(pub u64);

impl Encode for LeaseId {
    fn encode(&self, sink: &mut impl Sink) {
        sink.u64(self.0);
    }
}

impl Decode<'_> for LeaseId {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        reader.u64().map(LeaseId)
    }
}

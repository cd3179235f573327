//! The asking side, without I/O: requests into an outbox. Answers are read with [`Answer::decode`](crate::codec::Answer::decode).

use crate::codec::{
    ACK, BULK_ALIGNMENT, CANCEL, COMMIT, COUNT, CodeGrants, Cursor, Encoded, GRANT, LIST, LeaseId, ListView,
    NAMED, NamedFront, OUT, PageSize, Query, READ, RELEASE, RENEW, REQUEST_BYTES, RETURN, RequestView,
    SPACES, STATUS, Settled, SpaceNumber, SpacesRequest, Subject, TAKE, TooLarge, TupleLengths, Wait,
    Witness, encode_uses, uses_len,
};
use crate::{Template, Tuple};
use bytes::Bytes;
use core::fmt;
use quintet_contract::{
    Address, Kind, Outbox, SendError, Span, Token,
    limits::{MAX_BULK_BYTES, MAX_PAYLOAD_BYTES},
};
use quintet_errors::Code;
use quintet_wire::{Encode, Sink, encode_to_vec, send};

/// A span that never ends.
const WITHOUT_END: Span = Span(u64::MAX);

/// What a program asks of a space.
#[derive(Clone, Copy, Debug)]
pub enum Request<'a> {
    /// Puts the tuples, all or none. Waits for room for at most `deadline`.
    Out {
        /// How long it may wait; none: without end.
        deadline: Option<Span>,
        /// At least one.
        tuples: &'a [Tuple],
    },
    /// Takes the oldest matching tuple.
    Take {
        /// How long to wait for one.
        wait: Wait,
        /// For a leased take, how long the lease lives unless renewed.
        lease: Option<Span>,
        /// What to take.
        template: &'a Template,
    },
    /// Reads the oldest matching tuple, which stays.
    Read {
        /// How long to wait for one.
        wait: Wait,
        /// What to read.
        template: &'a Template,
    },
    /// Ends the wait of the request with the same token.
    Cancel,
    /// Undoes the plain take with the same token, which is not settled yet.
    Return,
    /// Ends a lease for good and puts `tuples`, at one instant. Waits for room as `Out` does.
    Ack {
        /// The lease.
        lease: LeaseId,
        /// How long it may wait; none: without end.
        deadline: Option<Span>,
        /// The results, if any.
        tuples: &'a [Tuple],
    },
    /// Ends a lease; the tuple returns to its place.
    Release {
        /// The lease.
        lease: LeaseId,
    },
    /// Extends every lease of the sender by its time to live from now.
    Renew,
    /// Counts the matching tuples.
    Count {
        /// What to count.
        template: &'a Template,
    },
    /// Asks how the space is.
    Status,
    /// Asks for a page of a listing.
    List {
        /// What is listed.
        subject: Subject,
        /// Where the page begins: [`Cursor::default`], then where the last one says.
        from: Cursor,
        /// How much it shows.
        size: PageSize,
        /// Of tuples: which; none: all.
        template: Option<&'a Template>,
    },
    /// Takes the oldest matching tuple for a group: hidden under a lease whose end, but by [`Request::Commit`], is no failure.
    Hold {
        /// How long to wait for one.
        wait: Wait,
        /// How long the lease lives unless renewed.
        lease: Span,
        /// How long it lives at most; none: without end.
        limit: Option<Span>,
        /// What to take.
        template: &'a Template,
    },
    /// Reads the oldest matching tuple for a group: the answer says which it was.
    Witness {
        /// How long to wait for one.
        wait: Wait,
        /// What to read.
        template: &'a Template,
    },
    /// Ends a group: removes what it took and puts `tuples`, at one instant at which all that it read is still there. Waits for room as
    /// `Out` does.
    Commit {
        /// What it took, going up; at most [`MAX_GROUP_USES`](crate::MAX_GROUP_USES).
        leases: &'a [LeaseId],
        /// What it read; as many at most.
        witnesses: &'a [Witness],
        /// How long it may wait; none: without end.
        deadline: Option<Span>,
        /// What it puts, if anything.
        tuples: &'a [Tuple],
    },
    /// Ends a group, of which nothing happens: what it took and still has returns to its place.
    Abort {
        /// What it took, going up; at most [`MAX_GROUP_USES`](crate::MAX_GROUP_USES).
        leases: &'a [LeaseId],
    },
    /// Says who may put what others run. Callers of the space's own node may say it.
    Grant {
        /// In the place of all that was said of that before; before the first time everybody may.
        grants: &'a CodeGrants,
    },
    /// Creates, opens, removes or lists named spaces.
    Spaces(&'a SpacesRequest),
}

/// Why a request was not sent. Nothing of it was.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RequestError {
    /// It is above a limit and can never be sent.
    TooLarge(TooLarge),
    /// The link did not take it.
    Link(SendError),
}

impl RequestError {
    /// The code under which it is reported; none if the request may simply be sent again when there is room.
    #[must_use]
    pub fn code(&self) -> Option<Code> {
        match self {
            RequestError::TooLarge(_) | RequestError::Link(SendError::TooLong { .. }) => Some(Code::TooLarge),
            RequestError::Link(SendError::Unreachable) => Some(Code::Unreachable),
            RequestError::Link(SendError::Full) => None,
        }
    }
}

impl Request<'_> {
    /// The kind of frame it travels in.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self {
            Request::Out { .. } => OUT,
            Request::Take { .. } | Request::Hold { .. } => TAKE,
            Request::Read { .. } | Request::Witness { .. } => READ,
            Request::Cancel => CANCEL,
            Request::Return => RETURN,
            Request::Ack { .. } => ACK,
            Request::Release { .. } => RELEASE,
            Request::Renew => RENEW,
            Request::Count { .. } => COUNT,
            Request::Status => STATUS,
            Request::List { .. } => LIST,
            Request::Grant { .. } => GRANT,
            Request::Commit { .. } | Request::Abort { .. } => COMMIT,
            Request::Spaces(_) => SPACES,
        }
    }

    /// Sends it to the manager at `to`. `settled`: the sender has received for good the answers to all its takes whose
    /// tokens lie below it, and will not undo them.
    ///
    /// # Errors
    /// Why it was not sent.
    pub fn send(
        &self,
        out: &mut dyn Outbox,
        to: Address,
        token: Token,
        settled: Token,
    ) -> Result<(), RequestError> {
        Ok(self.planned()?.send(out, to, token, settled)?)
    }

    /// Checks the sizes of what it carries, and gathers its long data. What is wrong with the request shows here; sent after
    /// this, only the link can refuse it.
    ///
    /// # Errors
    /// It can never be sent.
    pub fn planned(&self) -> Result<PlannedRequest<'_>, TooLarge> {
        let plan = self.plan()?;
        let bulk = plan.bulk()?;
        Ok(PlannedRequest { request: self, space: SpaceNumber::UNNAMED, plan, bulk })
    }

    fn plan(&self) -> Result<Plan<'_>, TooLarge> {
        Ok(match self {
            Request::Out { tuples: [tuple], .. } | Request::Ack { tuples: [tuple], .. } => {
                Plan::One(Encoded::tuple(tuple)?)
            }
            Request::Out { tuples, .. } | Request::Ack { tuples, .. } => {
                Plan::several(tuples, REQUEST_BYTES)?
            }
            Request::Commit { leases, witnesses, tuples, .. } => {
                Plan::several(tuples, REQUEST_BYTES + uses_len(leases.len(), witnesses.len()))?
            }
            Request::Take { template, .. }
            | Request::Read { template, .. }
            | Request::Hold { template, .. }
            | Request::Witness { template, .. }
            | Request::Count { template }
            | Request::List { template: Some(template), .. } => match template.head()? {
                Some(head) => Plan::Head(head),
                None => Plan::One(Encoded::template(template)?),
            },
            _ => Plan::Tuples(&[], 0),
        })
    }
}

/// A request that can be sent: its sizes were checked.
pub struct PlannedRequest<'a> {
    request: &'a Request<'a>,
    space: SpaceNumber,
    plan: Plan<'a>,
    bulk: Bytes,
}

impl PlannedRequest<'_> {
    /// The same to a named space. Requests that are about another one, or mean all leases of their sender, reach all spaces anyway.
    #[must_use]
    pub fn to_space(self, number: SpaceNumber) -> Self {
        let is_of_one = RequestView::is_of_one_space(self.request.kind());
        PlannedRequest { space: if is_of_one { number } else { SpaceNumber::UNNAMED }, ..self }
    }

    /// Sends it, as [`Request::send`] does.
    ///
    /// # Errors
    /// Why the link did not take it.
    pub fn send(
        &self,
        out: &mut dyn Outbox,
        to: Address,
        token: Token,
        settled: Token,
    ) -> Result<(), SendError> {
        let PlannedRequest { request, space, plan, bulk } = self;
        let body = Body { request, settled: Settled(settled.0), plan };
        if *space != SpaceNumber::UNNAMED {
            return self.send_named(out, to, token, body);
        }
        if bulk.is_empty() {
            return send(out, to, request.kind(), token, &body);
        }
        out.send_bulk(to, request.kind(), token, &encode_to_vec(&body), bulk.clone())
    }

    fn send_named(
        &self,
        out: &mut dyn Outbox,
        to: Address,
        token: Token,
        body: Body<'_>,
    ) -> Result<(), SendError> {
        let front = NamedFront { space: self.space, kind: self.request.kind() };
        let named = NamedBody { front, body };
        if self.bulk.is_empty() {
            return send(out, to, NAMED, token, &named);
        }
        out.send_bulk(to, NAMED, token, &encode_to_vec(&named), self.bulk.clone())
    }
}

/// What a request carries: planned once where it is one tuple or template, which it nearly always is.
enum Plan<'a> {
    One(Encoded<'a>),
    /// A template that lies encoded.
    Head(&'a [u8]),
    /// Lengths and heads go in the body. With the bytes of the bulk.
    Tuples(&'a [Tuple], usize),
    /// They are too long for a body, and go at the end of the bulk. With the bytes of that.
    ManyTuples(&'a [Tuple], usize),
}

impl<'a> Plan<'a> {
    /// Plans several tuples, or none, behind so many bytes at most.
    fn several(tuples: &'a [Tuple], front: usize) -> Result<Self, TooLarge> {
        let (mut heads, mut bulk) = (0usize, 0usize);
        for tuple in tuples {
            let encoded = Encoded::tuple(tuple)?;
            heads += TupleLengths::BYTES + encoded.encoded_len();
            bulk = bulk.next_multiple_of(BULK_ALIGNMENT) + encoded.bulk_len();
        }
        let fits = front + heads <= MAX_PAYLOAD_BYTES;
        let (bytes, limit) = (if fits { bulk } else { bulk + heads + size_of::<u32>() }, MAX_BULK_BYTES);
        match (bytes > limit, fits) {
            (true, _) => Err(TooLarge::Request { tuples: tuples.len(), bytes, limit }),
            (false, true) => Ok(Plan::Tuples(tuples, bytes)),
            (false, false) => Ok(Plan::ManyTuples(tuples, bytes)),
        }
    }

    /// Gathers the bulk. That of a single tuple stays where it lies, also among others without any.
    fn bulk(&self) -> Result<Bytes, TooLarge> {
        let (tuples, bytes) = match self {
            Plan::One(encoded) => return Ok(encoded.bulk()),
            Plan::Head(_) => return Ok(Bytes::new()),
            Plan::Tuples(tuples, _) if let Some(bulk) = lone_bulk(tuples) => return Ok(bulk),
            Plan::Tuples(tuples, bytes) | Plan::ManyTuples(tuples, bytes) => (tuples, *bytes),
        };
        let mut bulk = Vec::with_capacity(bytes);
        for tuple in *tuples {
            Encoded::tuple(tuple)?.append_bulk(&mut bulk);
        }
        if matches!(self, Plan::ManyTuples(..)) {
            let start = bulk.len();
            tuples.iter().for_each(|tuple| encode_tuple(&planned(tuple), &mut bulk));
            let heads = u32::try_from(bulk.len() - start).expect("a bulk is shorter than 4 GiB");
            bulk.u32(heads);
        }
        Ok(bulk.into())
    }

    fn encode_tuples(&self, deadline: Option<Span>, sink: &mut impl Sink) {
        sink.u64(deadline.map_or(u64::MAX, |span| span.0));
        let count = |tuples: &[Tuple]| u32::try_from(tuples.len()).expect("their heads are below 4 GiB");
        match self {
            Plan::One(encoded) => {
                sink.u32(1);
                encode_tuple(encoded, sink);
            }
            Plan::Tuples(tuples, _) => {
                sink.u32(count(tuples));
                tuples.iter().for_each(|tuple| encode_tuple(&planned(tuple), sink));
            }
            Plan::ManyTuples(tuples, _) => sink.u32(count(tuples)),
            Plan::Head(_) => unreachable!("a template is no tuple"),
        }
    }

    fn encode_template(&self, sink: &mut impl Sink) {
        match self {
            Plan::One(encoded) => encoded.encode(sink),
            Plan::Head(head) => sink.bytes(head),
            Plan::Tuples(..) | Plan::ManyTuples(..) => unreachable!("tuples are no template"),
        }
    }
}

/// The bulk of those tuples, which were planned, if no two of them have any.
fn lone_bulk(tuples: &[Tuple]) -> Option<Bytes> {
    let mut with_bulk = tuples.iter().map(planned).filter(|encoded| encoded.bulk_len() > 0);
    let bulk = with_bulk.next().map_or_else(Bytes::new, |encoded| encoded.bulk());
    with_bulk.next().is_none().then_some(bulk)
}

fn planned(tuple: &Tuple) -> Encoded<'_> {
    Encoded::tuple(tuple).expect("it was planned with the request")
}

fn encode_tuple(encoded: &Encoded<'_>, sink: &mut impl Sink) {
    TupleLengths { head: encoded.encoded_len(), bulk: encoded.bulk_len() }.encode(sink);
    encoded.encode(sink);
}

/// A request with the word in front, sizes checked.
struct Body<'a> {
    request: &'a Request<'a>,
    settled: Settled,
    plan: &'a Plan<'a>,
}

/// The same to a named space.
struct NamedBody<'a> {
    front: NamedFront,
    body: Body<'a>,
}

impl Encode for NamedBody<'_> {
    fn encode(&self, sink: &mut impl Sink) {
        self.front.encode(sink);
        self.body.encode(sink);
    }
}

impl Encode for Body<'_> {
    fn encode(&self, sink: &mut impl Sink) {
        self.settled.encode(sink);
        match self.request {
            Request::Out { deadline, .. } => self.plan.encode_tuples(*deadline, sink),
            Request::Ack { lease, deadline, .. } => {
                lease.encode(sink);
                self.plan.encode_tuples(*deadline, sink);
            }
            Request::Take { wait, lease, .. } => {
                Query::encode_front(*wait, *lease, None, sink);
                self.plan.encode_template(sink);
            }
            Request::Read { wait, .. } => {
                Query::encode_front(*wait, None, None, sink);
                self.plan.encode_template(sink);
            }
            Request::Hold { wait, lease, limit, .. } => {
                Query::encode_front(*wait, Some(*lease), Some(limit.unwrap_or(WITHOUT_END)), sink);
                self.plan.encode_template(sink);
            }
            Request::Witness { wait, .. } => {
                Query::encode_front(*wait, None, Some(WITHOUT_END), sink);
                self.plan.encode_template(sink);
            }
            Request::Commit { leases, witnesses, deadline, .. } => {
                encode_uses(true, leases, witnesses, sink);
                self.plan.encode_tuples(*deadline, sink);
            }
            Request::Abort { leases } => {
                encode_uses(false, leases, &[], sink);
                self.plan.encode_tuples(None, sink);
            }
            Request::Count { .. } => self.plan.encode_template(sink),
            Request::List { subject, from, size, template } => {
                ListView::encode_front(*subject, *from, *size, sink);
                if template.is_some() {
                    self.plan.encode_template(sink);
                }
            }
            Request::Release { lease } => lease.encode(sink),
            Request::Grant { grants } => grants.encode(sink),
            Request::Spaces(asked) => asked.encode(sink),
            Request::Cancel | Request::Return | Request::Renew | Request::Status => {}
        }
    }
}

impl From<TooLarge> for RequestError {
    fn from(error: TooLarge) -> RequestError {
        RequestError::TooLarge(error)
    }
}

impl From<SendError> for RequestError {
    fn from(error: SendError) -> RequestError {
        RequestError::Link(error)
    }
}

impl fmt::Display for RequestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RequestError::TooLarge(error) => error.fmt(f),
            RequestError::Link(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for RequestError {}

#[cfg(test)]
#[path = "client/tests.rs"]
mod tests;

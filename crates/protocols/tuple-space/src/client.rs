//! The asking side, without I/O: requests into an outbox. Answers are read with [`Answer::decode`](crate::codec::Answer::decode).

mod body;
mod packed;
mod parts;
mod plan;

use crate::codec::{
    ACK, CANCEL, COMMIT, COUNT, CodeGrants, Cursor, Encoded, FURTHER, GRANT, LIST, LeaseId, MORE, NAMED,
    NamedFront, OUT, PageSize, READ, RELEASE, RENEW, REQUEST_BYTES, RETURN, ROUTE, RequestView, Route,
    SPACES, STATUS, Settled, SpaceNumber, SpacesRequest, Subject, TAKE, TooLarge, View, Wait, Witness,
    uses_len,
};
use crate::{Signature, Template, Tuple};
use body::{Body, NamedBody};
use bytes::Bytes;
use core::fmt;
use parts::Parts;
use plan::{Expiries, Plan};
use quintet_contract::{Address, Kind, Outbox, SendError, Span, Token};
use quintet_errors::Code;
use quintet_wire::{encode_to_vec, send};

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
        /// In how long after it is put each of these expires, none: not at all; empty: none of them does.
        expiries: &'a [Option<Span>],
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
        /// In how long after it is put each of these expires, none: not at all; empty: none of them does.
        expiries: &'a [Option<Span>],
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
        /// In how long after it is put each of these expires, none: not at all; empty: none of them does.
        expiries: &'a [Option<Span>],
    },
    /// Ends a group, of which nothing happens: what it took and still has returns to its place.
    Abort {
        /// What it took, going up; at most [`MAX_GROUP_USES`](crate::MAX_GROUP_USES).
        leases: &'a [LeaseId],
    },
    /// Takes the oldest matching tuple and puts others in its place, at one instant.
    Replace {
        /// How long to wait for one.
        wait: Wait,
        /// What to take.
        template: &'a Template,
        /// What to put; at least one.
        tuples: &'a [Tuple],
        /// In how long after it is put each of these expires, none: not at all; empty: none of them does.
        expiries: &'a [Option<Span>],
    },
    /// Takes or reads the oldest tuple that matches one of several templates.
    Select {
        /// Whether it is taken.
        takes: bool,
        /// How long to wait for one.
        wait: Wait,
        /// For a leased take, how long the lease lives unless renewed.
        lease: Option<Span>,
        /// At least one, at most [`MAX_SELECT_TEMPLATES`](crate::MAX_SELECT_TEMPLATES).
        templates: &'a [Template],
    },
    /// Takes or reads all tuples that match, a page at a time, the oldest first.
    Collect {
        /// Whether they are taken: each page all or none of it, as a plain take.
        takes: bool,
        /// From which age on: 0, then as the last page says.
        from: u64,
        /// Older than which age: none, which means those that are there now, then as the first page says.
        below: Option<u64>,
        /// Tuples at most, from 1. A page may have fewer, also none, though more pages follow.
        most: u32,
        /// Which.
        template: &'a Template,
    },
    /// Moves or copies all tuples that match to another space of the same server, at one instant.
    CollectInto {
        /// Whether they are moved.
        takes: bool,
        /// The other space.
        into: SpaceNumber,
        /// Which.
        template: &'a Template,
    },
    /// Says who may put what others run. Callers of the space's own node may say it.
    Grant {
        /// In the place of all that was said of that before; before the first time everybody may.
        grants: &'a CodeGrants,
    },
    /// Asks for what happened to tuples behind a number, in its order.
    Watch {
        /// Behind which; none: the number now, and no event.
        since: Option<u64>,
        /// Events at most, from 1. An answer may have fewer, also none, and says behind which number to go on.
        most: u32,
        /// How long to wait for the first; then the answer is that there was none up to a number.
        wait: Wait,
        /// Of which tuples; none: all.
        template: Option<&'a Template>,
    },
    /// Asks for a page of the tuples that can be taken, whole.
    Look {
        /// Where it begins: 0, then where the last one says.
        from: u64,
        /// Tuples at most, from 1.
        most: u32,
        /// Which; none: all.
        template: Option<&'a Template>,
    },
    /// Creates, opens, removes or lists named spaces.
    Spaces(&'a SpacesRequest),
}

/// Asks the manager at `to`, the first of several, where everything is.
///
/// # Errors
/// Why the link did not take it.
pub fn ask_routes(out: &mut dyn Outbox, to: Address, token: Token) -> Result<(), SendError> {
    send(out, to, ROUTE, token, &Route::ASK)
}

/// The wish that the tuples of a template's types be spread over several managers by the value of one of their fields: asked of a router, and answered with
/// [`Answer::Routes`](crate::Answer::Routes) when they are, or are not to be.
#[derive(Clone, Debug)]
pub struct Spread(Vec<u8>);

impl Spread {
    /// By the field of this number, counted from 0.
    ///
    /// # Errors
    /// The template is too long.
    ///
    /// # Panics
    /// If the template has no such field.
    pub fn new(template: &Template, field: u8) -> Result<Spread, TooLarge> {
        assert!(usize::from(field) < template.fields().len(), "a key is one of the fields");
        let (head, bulk) = template.encode()?;
        let view = View::template(&head, &bulk).expect("its own bytes are good");
        let signature = Signature(view.signature().into());
        Ok(Spread(encode_to_vec(&Route::Spread(signature, field))))
    }

    /// Asks for it.
    ///
    /// # Errors
    /// Why the link did not take it.
    pub fn send(&self, out: &mut dyn Outbox, to: Address, token: Token) -> Result<(), SendError> {
        out.send(to, ROUTE, token, &self.0)
    }
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
    /// Whether a template of it has a range, which spaces of earlier versions do not know.
    #[must_use]
    pub fn has_ranges(&self) -> bool {
        match self {
            Request::Take { template, .. }
            | Request::Read { template, .. }
            | Request::Count { template }
            | Request::Hold { template, .. }
            | Request::Witness { template, .. }
            | Request::Replace { template, .. }
            | Request::Collect { template, .. }
            | Request::CollectInto { template, .. } => template.has_ranges(),
            Request::List { template, .. }
            | Request::Watch { template, .. }
            | Request::Look { template, .. } => template.is_some_and(Template::has_ranges),
            Request::Select { templates, .. } => templates.iter().any(Template::has_ranges),
            _ => false,
        }
    }

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
            Request::Replace { .. }
            | Request::Select { .. }
            | Request::Collect { .. }
            | Request::CollectInto { .. } => FURTHER,
            Request::Watch { .. } | Request::Look { .. } => MORE,
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
        let bulk = plan.bulk(self.expiries())?;
        Ok(PlannedRequest { request: self, space: SpaceNumber::UNNAMED, plan, bulk })
    }

    /// Whether what it carries are tuples.
    fn puts(&self) -> bool {
        matches!(self, Request::Out { .. } | Request::Ack { .. } | Request::Commit { .. })
    }

    /// In how long each of the tuples that it carries expires.
    fn expiries(&self) -> Expiries<'_> {
        match self {
            Request::Out { expiries, .. }
            | Request::Ack { expiries, .. }
            | Request::Commit { expiries, .. }
            | Request::Replace { expiries, .. } => Expiries(expiries),
            _ => Expiries(&[]),
        }
    }

    /// Whether a tuple that it puts expires, which spaces of earlier versions do not know.
    #[must_use]
    pub fn has_expiries(&self) -> bool {
        self.expiries().0.iter().any(Option::is_some)
    }

    fn plan(&self) -> Result<Plan<'_>, TooLarge> {
        Ok(match self {
            Request::Out { tuples: [tuple], .. } | Request::Ack { tuples: [tuple], .. } => {
                Plan::One(Encoded::tuple(tuple)?)
            }
            Request::Out { tuples, .. } | Request::Ack { tuples, .. } => {
                Plan::several(tuples, self.expiries(), REQUEST_BYTES)?
            }
            Request::Commit { leases, witnesses, tuples, .. } => {
                let front = REQUEST_BYTES + uses_len(leases.len(), witnesses.len());
                Plan::several(tuples, self.expiries(), front)?
            }
            Request::Take { template, .. }
            | Request::Read { template, .. }
            | Request::Hold { template, .. }
            | Request::Witness { template, .. }
            | Request::Count { template }
            | Request::Collect { template, .. }
            | Request::CollectInto { template, .. }
            | Request::List { template: Some(template), .. }
            | Request::Watch { template: Some(template), .. }
            | Request::Look { template: Some(template), .. } => match template.head()? {
                Some(head) => Plan::Head(head),
                None => Plan::One(Encoded::template(template)?),
            },
            Request::Replace { template, tuples, .. } => {
                Plan::Parts(Parts::plan(core::slice::from_ref(template), tuples, self.expiries())?)
            }
            Request::Select { templates, .. } => Plan::Parts(Parts::plan(templates, &[], self.expiries())?),
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
    /// The same with long data of its tuples packed, where that makes them shorter: for a link that is slower than packing. Tuples that are too
    /// long for a frame's body are many and small, and stay as they are.
    #[must_use]
    pub fn packed(self) -> Self {
        match self.plan.packed(self.request.puts()) {
            Some(packed) => PlannedRequest { bulk: packed.bulk.clone(), plan: Plan::Packed(packed), ..self },
            None => self,
        }
    }

    /// Bytes of its long data.
    #[must_use]
    pub fn bulk_len(&self) -> usize {
        self.bulk.len()
    }

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

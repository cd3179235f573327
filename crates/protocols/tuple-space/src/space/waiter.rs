//! Requests that wait for a tuple.

pub(super) mod saved;

use super::seek::Seeking;
use crate::codec::{KeptTuples, Layout, Select, View, Wait};
use bytes::Bytes;
use quintet_contract::{Address, Span, Time, Token};

/// What a request does with the tuple that answers it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Operation {
    /// It stays.
    Read,
    /// It is gone when the answer is settled.
    Take,
    /// It is hidden under a lease that lives this long unless renewed.
    Lease(Span),
    /// It stays, and the answer says which it is.
    Witness,
    /// It is hidden for a group, under a lease that lives this long unless renewed, and at most so long.
    Hold { ttl: Span, limit: Span },
    /// It stays, and so do all others that match: they are counted.
    Count,
    /// It is gone, and what the request has brought is in its place.
    Replace,
}

impl Operation {
    /// Whether the tuple stays.
    pub(super) fn leaves(self) -> bool {
        matches!(self, Operation::Read | Operation::Witness | Operation::Count)
    }
}

/// Who asks, and for what use.
#[derive(Clone, Copy, Debug)]
pub(super) struct Requester {
    pub(super) address: Address,
    pub(super) token: Token,
    pub(super) operation: Operation,
}

/// What each further template of a select takes beside its own bytes: where it lies, and where it is filed.
const OTHER_TEMPLATE_BYTES: u64 = 256;

/// A template that outlives its frame.
#[derive(Debug)]
pub(super) struct Kept {
    head: Box<[u8]>,
    bulk: Bytes,
    layout: Layout,
}

/// What few requests have beside one template.
#[derive(Debug)]
pub(super) enum More {
    /// The other templates of a select, and where each is filed; not where it would be filed as one before it.
    Select(Vec<(Kept, Option<Filed>)>),
    /// What a replacement puts.
    Replace(KeptTuples),
}

/// A take, read or count without an answer so far.
#[derive(Debug)]
pub(super) struct Waiter {
    pub(super) requester: Requester,
    /// Its age: the oldest is served first.
    pub(super) order: u64,
    pub(super) wait: Wait,
    pub(super) since: Time,
    template: Kept,
    /// Where it is filed; none while it waits for something else than a tuple.
    pub(super) filed: Option<Filed>,
    pub(super) more: Option<Box<More>>,
    /// What it has if it is a part of what several managers do.
    pub(super) part: Option<Box<Seeking>>,
}

/// Where a waiter is filed among those of its signature.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Filed {
    pub(super) store: u32,
    pub(super) fields: u64,
    pub(super) hash: u64,
}

impl Waiter {
    pub(super) fn new(
        requester: Requester,
        order: u64,
        wait: Wait,
        since: Time,
        template: &View<'_>,
        bulk: &Bytes,
    ) -> Self {
        Waiter::of(requester, wait, since, Kept::new(template, bulk)).of_age(order)
    }

    /// A select, without an age so far; none without a template.
    pub(super) fn of_select(requester: Requester, select: &Select<'_>, since: Time) -> Option<Self> {
        let mut templates = select.templates.iter().map(|(template, bulk)| Kept::new(template, bulk));
        let first = templates.next()?;
        let others = templates.map(|template| (template, None)).collect();
        Some(Waiter::of(requester, select.wait, since, first).with(More::Select(others)))
    }

    /// Without an age so far.
    pub(super) fn of(requester: Requester, wait: Wait, since: Time, template: Kept) -> Self {
        Waiter { requester, order: 0, wait, since, template, filed: None, more: None, part: None }
    }

    pub(super) fn of_age(self, order: u64) -> Self {
        Waiter { order, ..self }
    }

    /// With other templates, or what it puts.
    pub(super) fn with(self, more: More) -> Self {
        Waiter { more: Some(Box::new(more)), ..self }
    }

    /// As a part of what several managers do.
    pub(super) fn made_part(self, part: Seeking) -> Self {
        Waiter { part: Some(Box::new(part)), ..self }
    }

    /// When it is answered with an error.
    pub(super) fn deadline(&self) -> Option<Time> {
        match self.wait {
            Wait::For(span) => Some(self.since + span),
            Wait::AtOnce | Wait::Forever => None,
        }
    }

    pub(super) fn template(&self) -> View<'_> {
        self.template.view()
    }

    /// Its templates: that of most requests, the several of a select.
    pub(super) fn templates(&self) -> impl Iterator<Item = &Kept> {
        core::iter::once(&self.template).chain(self.others().iter().map(|(template, _)| template))
    }

    /// The templates of a select behind the first, and where they are filed.
    pub(super) fn others(&self) -> &[(Kept, Option<Filed>)] {
        match self.more.as_deref() {
            Some(More::Select(others)) => others,
            Some(More::Replace(_)) | None => &[],
        }
    }

    /// Wherever it is filed.
    pub(super) fn all_filed(&self) -> impl Iterator<Item = Filed> {
        self.filed.into_iter().chain(self.others().iter().filter_map(|(_, filed)| *filed))
    }

    /// Whether a tuple is one that it asks for.
    #[inline]
    pub(super) fn matches(&self, tuple: &View<'_>) -> bool {
        let fits = |template: &View<'_>| template.signature() == tuple.signature() && template.matches(tuple);
        fits(&self.template()) || self.others().iter().any(|(template, _)| fits(&template.view()))
    }

    /// Which template of a select it is that a tuple matches, the first if it is several; none for other requests.
    pub(super) fn which(&self, tuple: &View<'_>) -> Option<u8> {
        let Some(More::Select(_)) = self.more.as_deref() else { return None };
        let fits = |template: &Kept| {
            template.view().signature() == tuple.signature() && template.view().matches(tuple)
        };
        let which = self.templates().position(fits)?;
        self.part.as_deref().map_or_else(|| u8::try_from(which).ok(), |part| part.which(which))
    }

    /// What it puts in the place of what it takes.
    pub(super) fn replacement(&self) -> Option<&KeptTuples> {
        match self.more.as_deref() {
            Some(More::Replace(tuples)) => Some(tuples),
            Some(More::Select(_)) | None => None,
        }
    }

    /// Bytes for which it counts while it waits.
    pub(super) fn kept_bytes(&self) -> u64 {
        let templates: u64 = self.templates().map(|template| template.view().bytes()).sum();
        let others = self.others().len() as u64 * OTHER_TEMPLATE_BYTES;
        templates + others + self.replacement().map_or(0, |tuples| tuples.borrow().kept_bytes())
    }
}

impl Kept {
    pub(super) fn new(template: &View<'_>, bulk: &Bytes) -> Kept {
        Kept { head: template.head().into(), bulk: bulk.clone(), layout: template.layout() }
    }

    pub(super) fn view(&self) -> View<'_> {
        View::checked(&self.head, &self.bulk, self.layout)
    }

    pub(super) fn bulk(&self) -> &Bytes {
        &self.bulk
    }
}

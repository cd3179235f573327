//! Requests that wait for a tuple.

use crate::codec::{Layout, View, Wait};
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

/// A take, read or count without an answer so far.
#[derive(Debug)]
pub(super) struct Waiter {
    pub(super) requester: Requester,
    /// Its age: the oldest is served first.
    pub(super) order: u64,
    pub(super) wait: Wait,
    pub(super) since: Time,
    template: Box<[u8]>,
    bulk: Bytes,
    layout: Layout,
    /// Where it is filed; none while it waits for something else than a tuple.
    pub(super) filed: Option<Filed>,
}

/// Where a waiter is filed among those of its signature.
#[derive(Clone, Copy, Debug)]
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
        let (layout, template, bulk) = (template.layout(), template.head().into(), bulk.clone());
        Waiter { requester, order, wait, since, template, bulk, layout, filed: None }
    }

    /// When it is answered with an error.
    pub(super) fn deadline(&self) -> Option<Time> {
        match self.wait {
            Wait::For(span) => Some(self.since + span),
            Wait::AtOnce | Wait::Forever => None,
        }
    }

    pub(super) fn template(&self) -> View<'_> {
        View::checked(&self.template, &self.bulk, self.layout)
    }

    pub(super) fn bulk(&self) -> &Bytes {
        &self.bulk
    }
}

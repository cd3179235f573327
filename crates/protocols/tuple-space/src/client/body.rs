//! The bodies of requests as they are written.

use super::plan::Plan;
use super::{Request, WITHOUT_END};
use crate::codec::{
    Collect, FurtherOperation, ListView, NamedFront, Query, Settled, encode_look, encode_uses, encode_watch,
};
use quintet_contract::Span;
use quintet_wire::{Encode, Sink};

/// A request with the word in front, sizes checked.
pub(super) struct Body<'a> {
    pub(super) request: &'a Request<'a>,
    pub(super) settled: Settled,
    pub(super) plan: &'a Plan<'a>,
}

/// The same to a named space.
pub(super) struct NamedBody<'a> {
    pub(super) front: NamedFront,
    pub(super) body: Body<'a>,
}

impl Body<'_> {
    fn encode_tuples(&self, deadline: Option<Span>, sink: &mut impl Sink) {
        self.plan.encode_tuples(deadline, self.request.expiries(), sink);
    }
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
            Request::Out { deadline, .. } => self.encode_tuples(*deadline, sink),
            Request::Ack { lease, deadline, .. } => {
                lease.encode(sink);
                self.encode_tuples(*deadline, sink);
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
                self.encode_tuples(*deadline, sink);
            }
            Request::Abort { leases } => {
                encode_uses(false, leases, &[], sink);
                self.encode_tuples(None, sink);
            }
            Request::Count { .. } => self.plan.encode_template(sink),
            Request::List { subject, from, size, template } => {
                ListView::encode_front(*subject, *from, *size, sink);
                if template.is_some() {
                    self.plan.encode_template(sink);
                }
            }
            Request::Replace { wait, .. } => {
                let (how, span) = wait.parts();
                FurtherOperation::Replace.encode(sink);
                sink.u8(how);
                sink.u64(span);
                self.plan.encode_parts(sink);
            }
            Request::Select { takes, wait, lease, .. } => {
                let operation =
                    if *takes { FurtherOperation::SelectTake } else { FurtherOperation::SelectRead };
                operation.encode(sink);
                Query::encode_front(*wait, *lease, None, sink);
                self.plan.encode_parts(sink);
            }
            Request::Collect { takes, from, below, most, .. } => {
                let takes = if *takes { FurtherOperation::Collect } else { FurtherOperation::CopyCollect };
                takes.encode(sink);
                Collect::encode_front(*from, *below, *most, sink);
                self.plan.encode_template(sink);
            }
            Request::CollectInto { takes, into, .. } => {
                let [moves, copies] = [FurtherOperation::CollectInto, FurtherOperation::CopyCollectInto];
                (if *takes { moves } else { copies }).encode(sink);
                sink.u32(into.0);
                self.plan.encode_template(sink);
            }
            Request::Watch { since, most, wait, template } => {
                encode_watch(*since, *most, *wait, sink);
                if template.is_some() {
                    self.plan.encode_template(sink);
                }
            }
            Request::Look { from, most, template } => {
                encode_look(*from, *most, sink);
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

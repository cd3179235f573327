//! Requests of more than one kind of their own, asked of the manager and of the model.

use super::super::bench::Sent;
use super::super::model::Purpose;
use super::super::model::expiry::expiries as expiries_of;
use super::super::model::listing::Listed;
use super::{Pair, Step};
use crate::{Answer, ListedTuple, Request, Template};

impl Pair {
    pub(super) fn ask_further(&mut self, from: u16, token: u64, settled: u64, step: &Step) -> Vec<Sent> {
        let expiries;
        let request = match step {
            Step::Select(purpose, wait, templates) => {
                let lease = if let Purpose::Lease(ttl) = purpose { Some(*ttl) } else { None };
                Request::Select { takes: *purpose != Purpose::Read, wait: *wait, lease, templates }
            }
            Step::Replace(wait, template, tuples) => {
                expiries = expiries_of(tuples);
                Request::Replace { wait: *wait, template, tuples, expiries: &expiries }
            }
            other => unreachable!("{other:?} is no further operation"),
        };
        let sent = self.bench.ask_settled(from, token, settled, request);
        self.look();
        match step {
            Step::Select(purpose, wait, templates) => {
                self.model.select(from, token, *purpose, *wait, templates);
            }
            Step::Replace(wait, template, tuples) => {
                self.model.replace(from, token, *wait, template, tuples);
            }
            other => unreachable!("{other:?} is no further operation"),
        }
        sent
    }

    pub(super) fn ask_for_page(
        &mut self,
        (from, token, settled): (u16, u64, u64),
        takes: bool,
        goes_on: bool,
        most: u32,
        template: &Template,
    ) -> Vec<Sent> {
        let last = self.page.take().filter(|(page, _)| goes_on && page.next.is_some());
        let (start, below) =
            last.as_ref().map_or((0, None), |(page, _)| (page.next.unwrap(), Some(page.below)));
        let template = last.as_ref().map_or(template, |(_, template)| template);
        let request = Request::Collect { takes, from: start, below, most, template };
        let sent = self.bench.ask_settled(from, token, settled, request);
        self.look();
        let page = sent.iter().find_map(|(to, number, answer)| match answer {
            Answer::Collected(page) if (*to, *number) == (from, token) => Some(page.clone()),
            _ => None,
        });
        self.model.collect((from, token), takes, (start, below), template, page.as_ref());
        if let Some(page) = page {
            assert!(page.tuples.len() <= most as usize, "{page:?} has more than {most} tuples");
            assert!(page.next.is_none_or(|next| next >= start.max(1)), "{page:?} goes back");
            self.collected += u32::from(takes && start > 0 && !page.tuples.is_empty());
            self.page = Some((page, template.clone()));
        }
        sent
    }

    pub(super) fn ask_about_lease(&mut self, from: u16, token: u64, settled: u64, step: &Step) -> Vec<Sent> {
        match step {
            Step::Ack(back, tuples, deadline) => {
                let (lease, deadline) = (self.lease(*back), *deadline);
                self.model.acknowledge(from, token, lease.0, tuples, deadline);
                self.bench.ask_settled(
                    from,
                    token,
                    settled,
                    Request::Ack { lease, deadline, tuples, expiries: &expiries_of(tuples) },
                )
            }
            Step::Release(back) => {
                let lease = self.lease(*back);
                self.model.release(from, token, lease.0);
                self.bench.ask_settled(from, token, settled, Request::Release { lease })
            }
            other => unreachable!("{other:?} names no lease"),
        }
    }
}

/// What a listing shows of a tuple, as the model says it.
pub(super) fn listed(row: ListedTuple) -> Listed {
    let lease = row.lease.map(|lease| (lease.id.0, lease.holder.node.0));
    let values = row.fields.iter().map(|field| field.value().cloned().expect("all are short"));
    (row.age, row.failed, lease, values.collect())
}

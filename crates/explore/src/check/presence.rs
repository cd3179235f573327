//! Which tuples are sure to be in the space, and what is said of them.

use super::account::{Kind, Life, Lives};
use super::holders::Holdings;
use super::records::{Fate, Records, Request};
use super::{Rule, Violation};
use crate::history::{Ask, Outcome};
use crate::item::{Pattern, Seen};
use crate::plan::Plan;
use quintet_contract::Time;
use quintet_errors::Code;
use quintet_tuple_space::Wait;

/// What clients can know of where tuples are.
pub(super) struct Presence<'a> {
    plan: &'a Plan,
    records: &'a Records<'a>,
    lives: &'a Lives<'a>,
    holdings: &'a Holdings<'a>,
    /// Takes that may have got a tuple without anybody knowing.
    lost_takes: Vec<(&'a Request<'a>, Pattern)>,
}

impl<'a> Presence<'a> {
    pub(super) fn new(
        plan: &'a Plan,
        records: &'a Records<'a>,
        lives: &'a Lives<'a>,
        holdings: &'a Holdings<'a>,
    ) -> Presence<'a> {
        let lost_take = |request: &'a Request<'a>| match (&request.fate, request.ask) {
            (Fate::Unknown | Fate::Open, Ask::Take { pattern, .. }) => Some((request, *pattern)),
            _ => None,
        };
        let lost_takes = records.requests.iter().filter_map(lost_take).collect();
        Presence { plan, records, lives, holdings, lost_takes }
    }

    /// The tuples of a life of the manager that a pattern matches, alive.
    pub(super) fn matching(&self, pattern: Pattern, of: &Request<'_>) -> impl Iterator<Item = &'a Life<'a>> {
        let life = of.life;
        self.lives.values().filter(move |tuple| {
            tuple.put.life == life && pattern.matches(Seen { item: tuple.item, is_dead: false })
        })
    }

    /// Whether nobody can have had a tuple at any time from `from` to `to`, if it was put before, and it cannot have expired.
    pub(super) fn is_free(&self, tuple: &Life<'_>, from: Time, to: Time) -> bool {
        let seen = Seen { item: tuple.item, is_dead: false };
        let is_elsewhere = |delivery: &super::account::Delivery<'_>| {
            !matches!(delivery.kind, Kind::Read)
                && delivery.request.sent <= to
                && self.returned(delivery).is_none_or(|at| at > from)
        };
        let may_have = |(take, pattern): &(&Request<'_>, Pattern)| {
            take.life == tuple.put.life && take.sent <= to && pattern.matches(seen)
        };
        let is_in_time = tuple.expiry.is_none_or(|expiry| to < expiry.earliest);
        is_in_time
            && !tuple.may_be_acknowledged(to)
            && !tuple.deliveries.iter().any(is_elsewhere)
            && !self.lost_takes.iter().any(may_have)
    }

    /// From when on a delivered tuple is sure to be back at its old place.
    fn returned(&self, delivery: &super::account::Delivery<'_>) -> Option<Time> {
        let request = delivery.request;
        match delivery.kind {
            Kind::Leased(attempt, _)
                if attempt.attempt < self.plan.space.max_attempts || request.ask.is_hold() =>
            {
                let (session, lease) = (request.session, attempt.lease);
                if self.records.is_left_to_end(session, lease) {
                    self.holdings.get(&(request.life, lease))?.ends_by
                } else {
                    self.records.released_by(session, lease)
                }
            }
            Kind::Plain { returned: Some(true) } if self.plan.keeps_unsettled() => {
                self.records.return_known(request)
            }
            _ => None,
        }
    }

    /// Whether a tuple is sure to be there for all from `from` to `to`.
    pub(super) fn is_there(&self, tuple: &Life<'_>, from: Time, to: Time) -> bool {
        let is_put = matches!(tuple.put.fate, Fate::Answered(at, Outcome::Done) if at <= from);
        is_put && self.is_free(tuple, from, to)
    }

    /// Whether no tuple is there where the space says so, and as many as it counts.
    pub(super) fn check(&self) -> Result<(), Violation> {
        for request in &self.records.requests {
            let Fate::Answered(at, outcome) = &request.fate else { continue };
            match (request.ask, outcome) {
                (Ask::Take { pattern, .. } | Ask::Read { pattern, .. }, Outcome::NoMatch) => {
                    if let Some(tuple) = self.overlooked(request, *pattern, request.sent, *at) {
                        let text = format!("{request}: no match, and {} is there", tuple.item);
                        return Err(Violation::new(Rule::SaysWhatIs, text));
                    }
                }
                (
                    Ask::Take { pattern, wait: Wait::For(span), .. }
                    | Ask::Read { pattern, wait: Wait::For(span), .. },
                    Outcome::Refused(Code::TimedOut),
                ) if self.plan.is_direct() => {
                    let due = request.sent + self.plan.shortest(*span);
                    if let Some(tuple) = self.overlooked(request, *pattern, due, *at) {
                        let text = format!("{request}: its time has passed, and {} is there", tuple.item);
                        return Err(Violation::new(Rule::NoLostWakeUp, text));
                    }
                }
                (Ask::Count { pattern }, Outcome::Count(count)) => {
                    self.check_count(request, *pattern, *at, *count)?;
                }
                // Of a page of several nothing more is known than that what it shows was there.
                (Ask::List { pattern }, Outcome::Listed(listing)) if listing.is_whole => {
                    self.check_count(request, *pattern, *at, listing.shown.len() as u64)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn overlooked(&self, of: &Request<'_>, pattern: Pattern, from: Time, to: Time) -> Option<&'a Life<'a>> {
        self.matching(pattern, of).find(|tuple| self.is_there(tuple, from, to))
    }

    fn check_count(
        &self,
        request: &Request<'_>,
        pattern: Pattern,
        at: Time,
        count: u64,
    ) -> Result<(), Violation> {
        if pattern.is_dead() {
            return Ok(());
        }
        let there = |tuple: &&Life<'_>| self.is_there(tuple, request.sent, at);
        let may_be_there = |tuple: &&Life<'_>| {
            let ends = tuple.finals(self.lives);
            let is_gone = ends.iter().filter_map(|end| end.0).any(|end| end < request.sent);
            let is_over = tuple.expiry.and_then(|expiry| expiry.latest).is_some_and(|at| at < request.sent);
            tuple.put.sent <= at && !tuple.is_refused() && !is_gone && !is_over
        };
        let least = self.matching(pattern, request).filter(there).count() as u64;
        let most = self.matching(pattern, request).filter(may_be_there).count() as u64;
        if (least..=most).contains(&count) {
            return Ok(());
        }
        let text = format!("{request}: {count} match, and {least} to {most} are there");
        Err(Violation::new(Rule::SaysWhatIs, text))
    }
}

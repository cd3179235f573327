//! Leases: who may end one, and that none ends before its time.

use super::account::{Kind, Lives};
use super::records::{Fate, Records, Request};
use super::{Rule, Violation};
use crate::history::{Ask, Outcome, SessionNumber};
use crate::plan::{Plan, Standstill};
use quintet_contract::{Incarnation, Span, Time};
use quintet_errors::Code;
use quintet_tuple_space::LeaseId;
use std::collections::{BTreeMap, BTreeSet};

/// A frame of a link that nothing holds up is handled so soon.
const HANDLED: Span = Span::from_micros(300);
/// A manager that is no later than this ends leases at once, and need not have read what came before.
const LATE: Span = Span::from_micros(1_200);
/// A manager that stood still has read what came meanwhile after so long.
const CAUGHT_UP: Span = Span::from_micros(500);

/// A lease as its holder knows it.
pub(super) struct Holding<'a> {
    pub(super) number: u64,
    take: &'a Request<'a>,
    granted: Time,
    ttl: Span,
    /// It does not end before, unless by its holder.
    pub(super) lives_until: Time,
}

impl Holding<'_> {
    /// Whether this session has it.
    pub(super) fn is_of(&self, session: SessionNumber) -> bool {
        self.take.session == session
    }
}

pub(super) type Holdings<'a> = BTreeMap<(Incarnation, LeaseId), Holding<'a>>;

/// The leases of a history.
pub(super) fn read<'a>(
    plan: &Plan,
    records: &'a Records<'a>,
    lives: &Lives<'a>,
) -> Result<Holdings<'a>, Violation> {
    let mut holdings = Holdings::new();
    for life in lives.values() {
        for delivery in &life.deliveries {
            let Kind::Leased(attempt, ttl) = delivery.kind else { continue };
            let take = delivery.request;
            let lives_until = lives_until(plan, records, take, delivery.at, ttl);
            let holding = Holding { number: life.item.number, take, granted: delivery.at, ttl, lives_until };
            if let Some(other) = holdings.insert((take.life, attempt.lease), holding) {
                let text = format!("{take} and {}: the same lease", other.take);
                return Err(Violation::new(Rule::NothingTwice, text));
            }
        }
    }
    Ok(holdings)
}

/// Nobody but its holder ends a lease, and a holder does not lose it before its end.
pub(super) fn check(records: &Records<'_>, holdings: &Holdings<'_>) -> Result<(), Violation> {
    let mut tried = BTreeSet::new();
    for request in &records.requests {
        let (Ask::Ack { lease, .. } | Ask::Release { lease }) = request.ask else { continue };
        // A holder ends a lease once, unless it had meant another's of the same number before.
        let is_first = tried.insert((request.session, *lease));
        let Some(holding) = holdings.get(&(request.life, *lease)) else { continue };
        let is_holder = holding.is_of(request.session);
        match request.fate {
            // A number that a client knows from an earlier life of the manager may be granted later.
            Fate::Answered(at, Outcome::Refused(Code::LeaseLost))
                if is_holder && is_first && request.sent >= holding.granted && at < holding.lives_until =>
            {
                let (ttl, end) = (holding.ttl, holding.lives_until);
                let text = format!("{request}: the lease of {ttl} was lost at {at}, and lives until {end}");
                return Err(Violation::new(Rule::DeadlinesKept, text));
            }
            Fate::Answered(_, ref outcome)
                if !is_holder && !matches!(outcome, Outcome::Refused(Code::LeaseLost)) =>
            {
                let text = format!("{request}: {outcome}, and it is the lease of {}", holding.take);
                return Err(Violation::new(Rule::OnlyItsHolder, text));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Until when a lease lives at least, by what its holder did: from the take, and from every renewal that came in time.
fn lives_until(plan: &Plan, records: &Records<'_>, take: &Request<'_>, granted: Time, ttl: Span) -> Time {
    let shortest = plan.shortest(ttl);
    let mut first = take.sent + shortest;
    let standstill = plan.prompt(take.client);
    // When the manager ends it at the latest, where that can be known.
    let mut last = granted + ttl;
    // Where one renewal that lies there while the manager stands still is in time, those that lie behind it are.
    let mut is_caught = false;
    for (index, sent) in records.renewals(take.session).filter(|(_, sent)| *sent >= granted) {
        let handled = match standstill {
            Some(standstill) if standstill.covers(sent, HANDLED) => standstill.until + CAUGHT_UP,
            _ => sent + HANDLED,
        };
        let is_known = records.confirmed(take.session, index).is_some_and(|at| at < first);
        let is_prompt = standstill.is_some_and(|standstill| {
            let lies_there = standstill.from <= sent && sent < standstill.until;
            let in_time = sent + HANDLED < first && !standstill.ends_shortly_after(first, last, sent);
            let is_caught_too = is_caught && lies_there;
            is_caught |= in_time && lies_there;
            in_time || is_caught_too
        });
        if is_known || is_prompt {
            first = first.max(sent + shortest);
        }
        last = last.max(handled + ttl);
    }
    first
}

impl Standstill {
    /// Whether what is sent at a time may find the manager standing still.
    fn covers(self, sent: Time, margin: Span) -> bool {
        self.from < sent + margin && sent < self.until + margin
    }

    /// Whether a lease that is due between two times may end at once where it ends, although a renewal from before lies there.
    fn ends_shortly_after(self, first: Time, last: Time, sent: Time) -> bool {
        self.covers(sent, HANDLED) && first < self.until + CAUGHT_UP && last + LATE > self.until
    }
}

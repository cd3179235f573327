//! Leases: who may end one, and that none ends before its time, nor after.

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
    /// It has ended by then, unless by its holder; where that can be known.
    pub(super) ends_by: Option<Time>,
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
            let ends_by = ends_by(plan, records, take, delivery.at, ttl);
            let number = life.item.number;
            let holding = Holding { number, take, granted: delivery.at, ttl, lives_until, ends_by };
            if let Some(other) = holdings.insert((take.life, attempt.lease), holding) {
                let text = format!("{take} and {}: the same lease", other.take);
                return Err(Violation::new(Rule::NothingTwice, text));
            }
        }
    }
    Ok(holdings)
}

/// Nobody but its holder ends a lease, and a holder loses it at its end, not before and not after.
pub(super) fn check(records: &Records<'_>, holdings: &Holdings<'_>) -> Result<(), Violation> {
    let mut tried = BTreeSet::new();
    for request in &records.requests {
        let (Ask::Ack { lease, .. } | Ask::Release { lease }) = request.ask else {
            check_group(records, request, holdings, &mut tried)?;
            continue;
        };
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
            Fate::Answered(_, ref outcome)
                if is_holder && is_first && !matches!(outcome, Outcome::Refused(Code::LeaseLost)) =>
            {
                let Some(end) = holding.ends_by.filter(|end| request.sent > *end) else { continue };
                let text =
                    format!("{request}: {outcome}, and the lease of {} has ended by {end}", holding.ttl);
                return Err(Violation::new(Rule::DeadlinesKept, text));
            }
            _ => {}
        }
    }
    Ok(())
}

/// The end of a group is that of all of its leases.
fn check_group(
    records: &Records<'_>,
    request: &Request<'_>,
    holdings: &Holdings<'_>,
    tried: &mut BTreeSet<(SessionNumber, LeaseId)>,
) -> Result<(), Violation> {
    let (Ask::Commit { leases, .. } | Ask::Abort { leases }) = request.ask else { return Ok(()) };
    let are_first =
        leases.iter().filter(|lease| tried.insert((request.session, **lease))).count() == leases.len();
    let held = leases.iter().map(|lease| holdings.get(&(request.life, *lease)));
    let Some(held) = held.collect::<Option<Vec<_>>>().filter(|_| are_first) else { return Ok(()) };
    let Fate::Answered(at, outcome) = &request.fate else { return Ok(()) };
    let is_lost = matches!(outcome, Outcome::Refused(Code::LeaseLost));
    let lives = |holding: &&Holding<'_>| {
        holding.is_of(request.session) && request.sent >= holding.granted && *at < holding.lives_until
    };
    if is_lost && held.iter().all(lives) && records.lasted(request.session) {
        let text = format!("{request}: a lease was lost at {at}, and all of them live longer");
        return Err(Violation::new(Rule::DeadlinesKept, text));
    }
    let has_ended = |holding: &&&Holding<'_>| holding.ends_by.is_some_and(|end| request.sent > end);
    if let (Outcome::Done, Some(ended)) = (outcome, held.iter().find(has_ended))
        && request.ask.is_final()
    {
        let text = format!("{request}: done, and the lease of {} has ended", ended.take);
        return Err(Violation::new(Rule::AllOrNothing, text));
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
            Some(standstill) if standstill.covers(sent, HANDLED) => standstill.caught_up(),
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

/// By when a lease has ended that its holder did not end, by what that did; where it can be known.
fn ends_by(plan: &Plan, records: &Records<'_>, take: &Request<'_>, granted: Time, ttl: Span) -> Option<Time> {
    let standstill = plan.prompt(take.client)?;
    let handled =
        |sent| if standstill.covers(sent, HANDLED) { standstill.caught_up() } else { sent + HANDLED };
    let end_from = |begin: Time| match begin + ttl {
        // It is put off by as long as the manager is late, and by its time to live at most.
        end if standstill.covers(end, CAUGHT_UP) => standstill.caught_up() + ttl,
        end => end,
    };
    let renewals = records.renewals(take.session);
    Some(renewals.fold(end_from(granted), |end, (_, sent)| {
        // Then it had ended.
        if sent > end { end } else { end.max(end_from(handled(sent))) }
    }))
}

impl Standstill {
    /// When what came during it has been handled.
    fn caught_up(self) -> Time {
        self.until + CAUGHT_UP
    }

    /// Whether what is sent at a time may find the manager standing still.
    fn covers(self, sent: Time, margin: Span) -> bool {
        self.from < sent + margin && sent < self.until + margin
    }

    /// Whether a lease that is due between two times may end at once where it ends, although a renewal from before lies there.
    fn ends_shortly_after(self, first: Time, last: Time, sent: Time) -> bool {
        self.covers(sent, HANDLED) && first < self.until + CAUGHT_UP && last + LATE > self.until
    }
}

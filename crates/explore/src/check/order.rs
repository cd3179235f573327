//! Who comes first: the oldest tuple, the request that waited longest, the put that waits for room.

use super::account::Life;
use super::presence::Presence;
use super::records::{Fate, Records, Request};
use super::{Rule, SLACK, Violation};
use crate::history::{Ask, Outcome};
use crate::item::{Pattern, Seen};
use crate::plan::Plan;
use quintet_contract::Time;
use quintet_errors::Code;

pub(super) fn check(plan: &Plan, records: &Records<'_>, presence: &Presence<'_>) -> Result<(), Violation> {
    let waiting: Vec<_> = records.requests.iter().filter(|request| request.ask.pattern().is_some()).collect();
    for request in &records.requests {
        let Fate::Answered(at, outcome) = &request.fate else { continue };
        match (request.ask, outcome) {
            (_, Outcome::Tuple(seen, _) | Outcome::Witnessed(seen, _)) => {
                if let Some(pattern) = request.ask.pattern().filter(|_| !seen.is_dead) {
                    check_oldest(request, *seen, pattern, *at, presence)?;
                }
                if plan.is_direct() {
                    check_turn(plan, records, &waiting, request, *seen, *at)?;
                }
            }
            (Ask::Out { .. }, Outcome::Done) => check_room(plan, records, request, *at)?,
            _ => {}
        }
    }
    Ok(())
}

/// A take or read gets the oldest tuple that matches.
fn check_oldest(
    request: &Request<'_>,
    seen: Seen,
    pattern: Pattern,
    at: Time,
    presence: &Presence<'_>,
) -> Result<(), Violation> {
    let mut others = presence.matching(pattern, request);
    let Some(got) = presence.matching(pattern, request).find(|tuple| tuple.item == seen.item) else {
        return Ok(());
    };
    let from = request.sent.max(got.put.sent);
    let older = others.find(|other| is_older(other, got) && presence.is_free(other, from, at));
    older.map_or(Ok(()), |older| {
        let text = format!("{request}: {}, and {} is older and was there", got.item, older.item);
        Err(Violation::new(Rule::OldestFirst, text))
    })
}

/// Whether a tuple is sure to have been put before another, which was put.
fn is_older(tuple: &Life<'_>, than: &Life<'_>) -> bool {
    let (a, b) = (tuple.put, than.put);
    if a.index == b.index {
        return tuple.item.number < than.item.number;
    }
    let Fate::Answered(put, Outcome::Done) = a.fate else { return false };
    let both_out = matches!((a.ask, b.ask), (Ask::Out { .. }, Ask::Out { .. }));
    put < b.sent || both_out && a.session == b.session && a.index < b.index
}

/// A tuple goes to the request that waits for it longest.
fn check_turn(
    plan: &Plan,
    records: &Records<'_>,
    waiting: &[&Request<'_>],
    request: &Request<'_>,
    seen: Seen,
    at: Time,
) -> Result<(), Violation> {
    let passed_by = waiting.iter().find(|other| {
        other.sent < request.sent
            && other.ask.pattern().is_some_and(|pattern| pattern.matches(seen))
            && records.comes_before(other, request)
            && waits_until(plan, records, other, at)
    });
    passed_by.map_or(Ok(()), |other| {
        let text = format!("{request}: {}, for which this one waits longer: {other}", seen.item);
        Err(Violation::new(Rule::OldestFirst, text))
    })
}

/// No put passes another that waits for room, nor an acknowledgement.
fn check_room(plan: &Plan, records: &Records<'_>, put: &Request<'_>, at: Time) -> Result<(), Violation> {
    let passed_by = records.requests.iter().take_while(|other| other.sent < put.sent).find(|other| {
        matches!(other.ask, Ask::Out { .. } | Ask::Ack { .. } | Ask::Commit { .. })
            && records.comes_before(other, put)
            && waits_until(plan, records, other, at)
    });
    passed_by.map_or(Ok(()), |other| {
        let text = format!("{put}: done, and this one still waits for room: {other}");
        Err(Violation::new(Rule::OldestFirst, text))
    })
}

/// Whether a request is sure to have had no answer from the manager at a time.
fn waits_until(plan: &Plan, records: &Records<'_>, request: &Request<'_>, time: Time) -> bool {
    match &request.fate {
        Fate::Open => records.lasted(request.session),
        Fate::Unknown => false,
        Fate::Answered(_, Outcome::Refused(Code::Cancelled)) => {
            records.cancelled(request).is_some_and(|sent| sent > time)
        }
        Fate::Answered(_, Outcome::Refused(Code::TimedOut | Code::SpaceFull)) => {
            request.ask.patience().is_some_and(|span| request.sent + plan.shortest(span) > time)
        }
        // What nothing holds up comes so soon.
        Fate::Answered(at, _) => request.is_steady(plan) && *at > time + SLACK,
    }
}

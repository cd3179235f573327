//! The account of every tuple: where it came from, who got it, and where it is.

use super::holders::{self, Holdings};
use super::presence::Presence;
use super::records::{Fate, Records, Request};
use super::{Rule, SLACK, Violation};
use super::{groups, order};
use crate::expiry::Expiry;
use crate::history::{Ask, Listing, Outcome};
use crate::item::{Item, Pattern, Seen};
use crate::plan::Plan;
use quintet_contract::{Span, Time};
use quintet_tuple_space::Attempt;
use std::collections::BTreeMap;

/// A tuple's life.
pub(super) struct Life<'a> {
    pub(super) item: Item,
    pub(super) put: &'a Request<'a>,
    /// To takes and reads, in the order in which these were sent.
    pub(super) deliveries: Vec<Delivery<'a>>,
    /// Acknowledgements of its leases that were not refused.
    acknowledged: Vec<&'a Request<'a>>,
    /// When it expires, if it does.
    pub(super) expiry: Option<Expiry>,
}

/// One answer with this tuple.
pub(super) struct Delivery<'a> {
    pub(super) request: &'a Request<'a>,
    pub(super) at: Time,
    is_dead: bool,
    pub(super) kind: Kind,
}

pub(super) enum Kind {
    Read,
    Plain { returned: Option<bool> },
    Leased(Attempt, Span),
}

/// The end of a tuple, and from when it is known; none where only its consequences show it.
pub(super) struct Final(pub(super) Option<Time>);

pub(super) type Lives<'a> = BTreeMap<u64, Life<'a>>;

pub(crate) fn check(plan: &Plan, records: &Records<'_>, is_whole: bool) -> Result<(), Violation> {
    let mut lives = put(plan, records);
    deliver(records, &mut lives)?;
    let holdings = holders::read(plan, records, &lives)?;
    acknowledge(records, &mut lives, &holdings);
    holders::check(records, &holdings)?;
    let mut missing = Vec::new();
    for life in lives.values() {
        let finals = life.finals(&lives);
        life.check_order(plan.space.max_attempts, records, &finals, &holdings)?;
        life.check_expiry(plan)?;
        let was_put = matches!(life.put.fate, Fate::Answered(..)) || has_happened(life.put, &lives);
        let is_remembered = life.put.life == records.last_life();
        if was_put
            && is_remembered
            && finals.is_empty()
            && !life.is_refused()
            && !life.is_excused(plan, records)
        {
            missing.push(life);
        }
    }
    if is_whole {
        excuse(records, &missing)?;
    }
    let presence = Presence::new(plan, records, &lives, &holdings);
    presence.check()?;
    groups::check(records, &lives, &presence)?;
    order::check(plan, records, &presence)
}

fn put<'a>(plan: &Plan, records: &'a Records<'a>) -> Lives<'a> {
    let mut lives = Lives::new();
    for request in &records.requests {
        for item in request.ask.items() {
            let answered = if let Fate::Answered(at, Outcome::Done) = request.fate { Some(at) } else { None };
            let expiry = Expiry::of(plan, *item, request.sent, answered);
            let (deliveries, acknowledged) = (Vec::new(), Vec::new());
            let life = Life { item: *item, put: request, deliveries, acknowledged, expiry };
            lives.insert(item.number, life);
        }
    }
    lives
}

fn deliver<'a>(records: &'a Records<'a>, lives: &mut Lives<'a>) -> Result<(), Violation> {
    for request in &records.requests {
        let (at, seen, attempt) = match &request.fate {
            Fate::Answered(at, Outcome::Tuple(seen, attempt)) => (at, seen, *attempt),
            Fate::Answered(at, Outcome::Witnessed(seen, _)) => (at, seen, None),
            Fate::Answered(at, Outcome::Listed(listing)) => {
                deliver_listed(request, *at, listing, lives)?;
                continue;
            }
            _ => continue,
        };
        let life =
            lives.get_mut(&seen.item.number).filter(|life| life.item == seen.item && !life.is_refused());
        let (pattern, kind) = match (request.ask, attempt) {
            (Ask::Read { pattern, .. }, _) => (*pattern, Kind::Read),
            (Ask::Take { pattern, lease: Some(ttl), .. }, Some(attempt)) => {
                (*pattern, Kind::Leased(attempt, *ttl))
            }
            (Ask::Take { pattern, .. }, _) => (*pattern, Kind::Plain { returned: records.returned(request) }),
            _ => continue,
        };
        match life {
            Some(life) if pattern.matches(*seen) && life.put.life == request.life => {
                life.deliveries.push(Delivery { request, at: *at, is_dead: seen.is_dead, kind });
            }
            _ => return Err(invented(request, *seen)),
        }
    }
    Ok(())
}

/// Enters what a listing shows as reads of what can be taken. What it says is leased is somewhere else, or was a moment before.
fn deliver_listed<'a>(
    request: &'a Request<'a>,
    at: Time,
    listing: &Listing,
    lives: &mut Lives<'a>,
) -> Result<(), Violation> {
    let Ask::List { pattern } = request.ask else { return Ok(()) };
    let listed = listing.shown.iter().map(|seen| (seen, true));
    for (seen, is_shown) in listed.chain(listing.leased.iter().map(|seen| (seen, false))) {
        let life = lives
            .get_mut(&seen.item.number)
            .filter(|life| life.item == seen.item && !life.is_refused() && life.put.life == request.life);
        let life = life.filter(|_| pattern.matches(*seen)).ok_or_else(|| invented(request, *seen))?;
        if is_shown {
            life.deliveries.push(Delivery { request, at, is_dead: false, kind: Kind::Read });
        }
    }
    Ok(())
}

fn invented(request: &Request<'_>, seen: Seen) -> Violation {
    let text =
        format!("{request}: {}, which was not put in this life of the manager, or does not match", seen.item);
    Violation::new(Rule::NothingInvented, text)
}

/// Enters the acknowledgements of holders that were not refused.
fn acknowledge<'a>(records: &'a Records<'a>, lives: &mut Lives<'a>, holdings: &Holdings<'a>) {
    for request in &records.requests {
        let is_refused = matches!(request.fate, Fate::Answered(_, Outcome::Refused(_)));
        for lease in request.ask.ended().iter().filter(|_| request.ask.is_final() && !is_refused) {
            let holding = holdings.get(&(request.life, *lease)).filter(|held| held.is_of(request.session));
            if let Some(life) = holding.and_then(|holding| lives.get_mut(&holding.number)) {
                life.acknowledged.push(request);
            }
        }
    }
}

/// Whether the tuples of a put are known to have been in the space although nobody said so.
fn has_happened(put: &Request<'_>, lives: &Lives<'_>) -> bool {
    let seen = |item: &Item| lives.get(&item.number).is_some_and(|life| !life.deliveries.is_empty());
    put.ask.items().iter().any(seen)
}

impl Life<'_> {
    /// Whether the put was refused, so that the tuple may never be seen.
    pub(super) fn is_refused(&self) -> bool {
        matches!(self.put.fate, Fate::Answered(_, Outcome::Refused(_)))
    }

    /// Whether an acknowledgement that was not refused was sent by then. A client may have meant another lease of that number, of an earlier life of the
    /// manager, and have said before it knew of its own.
    pub(super) fn may_be_acknowledged(&self, by: Time) -> bool {
        self.acknowledged.iter().any(|request| request.sent <= by)
    }

    /// Everything that ended it for good: there may be one.
    pub(super) fn finals(&self, lives: &Lives<'_>) -> Vec<Final> {
        let plain = self.deliveries.iter().filter_map(|delivery| match delivery.kind {
            Kind::Plain { returned: None } => Some(Final(Some(delivery.at))),
            _ => None,
        });
        let acknowledged = self.acknowledged.iter().filter_map(|request| match request.fate {
            Fate::Answered(at, _) => Some(Final(Some(at))),
            _ => has_happened(request, lives).then_some(Final(None)),
        });
        plain.chain(acknowledged).collect()
    }

    fn check_order(
        &self,
        most: u32,
        records: &Records<'_>,
        finals: &[Final],
        holdings: &Holdings<'_>,
    ) -> Result<(), Violation> {
        let twice = |text: String| Err(Violation::new(Rule::NothingTwice, format!("{}: {text}", self.item)));
        if finals.len() > 1 {
            return twice(format!("it was taken for good {} times", finals.len()));
        }
        if let Some(end) = finals.first().and_then(|end| end.0)
            && let Some(late) = self.deliveries.iter().find(|delivery| delivery.request.sent > end)
        {
            return twice(format!("it was gone at {end}, and then came {}", late.request));
        }
        let mut attempts = BTreeMap::new();
        for delivery in &self.deliveries {
            let Kind::Leased(attempt, _) = delivery.kind else { continue };
            if !delivery.is_dead && attempt.attempt > most {
                return twice(format!("it was leased as attempt {} of {most}", attempt.attempt));
            }
            // The end of a group's lease counts no attempt.
            let counts = !delivery.request.ask.is_hold();
            if counts && attempts.insert((delivery.is_dead, attempt.attempt), attempt.lease).is_some() {
                return twice(format!("it was leased twice as attempt {}", attempt.attempt));
            }
            if let Some(other) = self.intruder(records, delivery, attempt, holdings) {
                return twice(format!(
                    "{}, under whose lease it was, and {}",
                    delivery.request, other.request
                ));
            }
        }
        if attempts.values().is_sorted() { Ok(()) } else { twice("later attempts have older leases".into()) }
    }

    /// Nobody sees it after its time, unless as a dead letter.
    fn check_expiry(&self, plan: &Plan) -> Result<(), Violation> {
        let Some(latest) = self.expiry.and_then(|expiry| expiry.latest) else { return Ok(()) };
        let is_late = |delivery: &&Delivery<'_>| {
            // What nothing holds up comes so soon after it was given.
            let is_given_late = delivery.request.is_steady(plan) && delivery.at > latest + SLACK;
            !delivery.is_dead && (delivery.request.sent > latest || is_given_late)
        };
        self.deliveries.iter().find(is_late).map_or(Ok(()), |late| {
            let text = format!("{}: it had expired by {latest}, and then came {}", self.item, late.request);
            Err(Violation::new(Rule::DeadlinesKept, text))
        })
    }

    /// A delivery to another while a lease that cannot have ended held the tuple.
    fn intruder(
        &self,
        records: &Records<'_>,
        holder: &Delivery<'_>,
        held: Attempt,
        holdings: &Holdings<'_>,
    ) -> Option<&Delivery<'_>> {
        let session = holder.request.session;
        if records.is_released(session, held.lease) || !records.lasted(session) {
            return None;
        }
        let end = holdings.get(&(holder.request.life, held.lease))?.lives_until;
        self.deliveries.iter().find(|other| {
            let is_later = match other.kind {
                Kind::Read => other.request.sent > holder.at,
                Kind::Plain { returned } => returned.is_none(),
                Kind::Leased(attempt, _) => attempt.lease > held.lease,
            };
            is_later && other.at < end
        })
    }

    /// Whether the manager may have removed it without anybody knowing.
    fn is_excused(&self, plan: &Plan, records: &Records<'_>) -> bool {
        let last = records.requests.last().map_or(Time::ZERO, |request| request.sent);
        if self.expiry.is_some_and(|expiry| expiry.earliest <= last) {
            return true;
        }
        let lost_return = self.deliveries.iter().any(|delivery| match delivery.kind {
            Kind::Plain { returned: Some(is_sure) } => !is_sure || !plan.keeps_unsettled(),
            _ => false,
        });
        lost_return || self.acknowledged.iter().any(|request| !matches!(request.fate, Fate::Answered(..)))
    }
}

/// Finds for every missing tuple a take of its own that may have got it: one whose session ended before its answer came.
fn excuse(records: &Records<'_>, missing: &[&Life<'_>]) -> Result<(), Violation> {
    let takes: Vec<(&Request<'_>, Pattern)> = records
        .requests
        .iter()
        .filter(|request| matches!(request.fate, Fate::Unknown) && request.life == records.last_life())
        .filter_map(|request| match request.ask {
            Ask::Take { pattern, lease: None, .. } => Some((request, *pattern)),
            _ => None,
        })
        .collect();
    let mut taken = vec![None; takes.len()];
    for (index, life) in missing.iter().enumerate() {
        if !assign(index, missing, &takes, &mut taken, &mut vec![false; takes.len()]) {
            let text =
                format!("{}, put by {}: it is not in the space and nobody took it", life.item, life.put);
            return Err(Violation::new(Rule::NothingLost, text));
        }
    }
    Ok(())
}

/// Gives a tuple a take, moving others to other takes where that helps (Kuhn, "The Hungarian Method", 1955).
fn assign(
    index: usize,
    missing: &[&Life<'_>],
    takes: &[(&Request<'_>, Pattern)],
    taken: &mut [Option<usize>],
    tried: &mut [bool],
) -> bool {
    let seen = Seen { item: missing[index].item, is_dead: false };
    for at in 0..takes.len() {
        if tried[at] || !takes[at].1.matches(seen) {
            continue;
        }
        tried[at] = true;
        let is_free = match taken[at] {
            None => true,
            Some(other) => assign(other, missing, takes, taken, tried),
        };
        if is_free {
            taken[at] = Some(index);
            return true;
        }
    }
    false
}

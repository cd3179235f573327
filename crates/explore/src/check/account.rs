//! The account of every tuple: where it came from, who got it, and where it is.

use super::records::{Fate, Records, Request};
use super::{Rule, Violation};
use crate::history::{Ask, Outcome};
use crate::item::{Item, Pattern, Seen};
use crate::plan::Plan;
use quintet_contract::{Incarnation, Span, Time};
use quintet_errors::Code;
use quintet_tuple_space::{Attempt, LeaseId};
use std::collections::BTreeMap;

/// A tuple's life.
struct Life<'a> {
    item: Item,
    put: &'a Request<'a>,
    /// To takes and reads, in the order in which these were sent.
    deliveries: Vec<Delivery<'a>>,
    /// Acknowledgements of its leases that were not refused.
    acknowledged: Vec<&'a Request<'a>>,
}

/// One answer with this tuple.
struct Delivery<'a> {
    request: &'a Request<'a>,
    at: Time,
    is_dead: bool,
    kind: Kind,
}

enum Kind {
    Read,
    Plain { returned: Option<bool> },
    Leased(Attempt, Span),
}

/// The end of a tuple, and from when it is known; none where only its consequences show it.
struct Final(Option<Time>);

type Lives<'a> = BTreeMap<u64, Life<'a>>;

pub(crate) fn check(plan: &Plan, records: &Records<'_>, is_whole: bool) -> Result<(), Violation> {
    let mut lives = put(records);
    deliver(records, &mut lives)?;
    let leases = acknowledge(records, &mut lives)?;
    check_lost_leases(plan, records, &leases)?;
    let mut missing = Vec::new();
    for life in lives.values() {
        let finals = life.finals(&lives);
        life.check_order(plan, records, &finals)?;
        let was_put = matches!(life.put.fate, Fate::Answered(..)) || has_happened(life.put, &lives);
        let is_remembered = life.put.life == records.last_life();
        if was_put && is_remembered && finals.is_empty() && !life.is_refused() && !life.is_excused(plan) {
            missing.push(life);
        }
    }
    if is_whole { excuse(records, &missing) } else { Ok(()) }
}

fn put<'a>(records: &'a Records<'a>) -> Lives<'a> {
    let mut lives = Lives::new();
    for request in &records.requests {
        for item in request.ask.items() {
            let life = Life { item: *item, put: request, deliveries: Vec::new(), acknowledged: Vec::new() };
            lives.insert(item.number, life);
        }
    }
    lives
}

fn deliver<'a>(records: &'a Records<'a>, lives: &mut Lives<'a>) -> Result<(), Violation> {
    for request in &records.requests {
        let Fate::Answered(at, Outcome::Tuple(seen, attempt)) = &request.fate else { continue };
        let life =
            lives.get_mut(&seen.item.number).filter(|life| life.item == seen.item && !life.is_refused());
        let (pattern, kind) = match (request.ask, attempt) {
            (Ask::Read { pattern, .. }, _) => (*pattern, Kind::Read),
            (Ask::Take { pattern, lease: Some(ttl), .. }, Some(attempt)) => {
                (*pattern, Kind::Leased(*attempt, *ttl))
            }
            (Ask::Take { pattern, .. }, _) => (*pattern, Kind::Plain { returned: records.returned(request) }),
            _ => continue,
        };
        match life {
            Some(life) if pattern.matches(*seen) && life.put.life == request.life => {
                life.deliveries.push(Delivery { request, at: *at, is_dead: seen.is_dead, kind });
            }
            _ => {
                let text = format!(
                    "{request}: {}, which was not put in this life of the manager, or does not match",
                    seen.item
                );
                return Err(Violation::new(Rule::NothingInvented, text));
            }
        }
    }
    Ok(())
}

/// Each lease's tuple, take and time to live.
type Leases<'a> = BTreeMap<(Incarnation, LeaseId), (u64, &'a Request<'a>, Span)>;

fn acknowledge<'a>(records: &'a Records<'a>, lives: &mut Lives<'a>) -> Result<Leases<'a>, Violation> {
    let mut leases = Leases::new();
    for life in lives.values() {
        for delivery in &life.deliveries {
            let Kind::Leased(attempt, ttl) = delivery.kind else { continue };
            let lease = (life.item.number, delivery.request, ttl);
            if let Some((_, other, _)) = leases.insert((delivery.request.life, attempt.lease), lease) {
                let text = format!("{} and {other}: the same lease", delivery.request);
                return Err(Violation::new(Rule::NothingTwice, text));
            }
        }
    }
    for request in &records.requests {
        let Ask::Ack { lease, .. } = request.ask else { continue };
        let is_refused = matches!(request.fate, Fate::Answered(_, Outcome::Refused(_)));
        let life = leases.get(&(request.life, *lease)).and_then(|(number, ..)| lives.get_mut(number));
        if let Some(life) = life.filter(|_| !is_refused) {
            life.acknowledged.push(request);
        }
    }
    Ok(leases)
}

/// A holder may not lose a lease before it ends. (It acknowledges or releases each once, in the session of the lease.)
fn check_lost_leases(plan: &Plan, records: &Records<'_>, leases: &Leases<'_>) -> Result<(), Violation> {
    for request in &records.requests {
        let Fate::Answered(at, Outcome::Refused(Code::LeaseLost)) = request.fate else { continue };
        let (Ask::Ack { lease, .. } | Ask::Release { lease }) = request.ask else { continue };
        let Some((_, take, ttl)) = leases.get(&(request.life, *lease)) else { continue };
        if at < take.sent + plan.shortest(*ttl) {
            let text = format!("{request}: the lease was lost at {at}, before it ended");
            return Err(Violation::new(Rule::DeadlinesKept, text));
        }
    }
    Ok(())
}

/// Whether the tuples of a put are known to have been in the space although nobody said so.
fn has_happened(put: &Request<'_>, lives: &Lives<'_>) -> bool {
    let seen = |item: &Item| lives.get(&item.number).is_some_and(|life| !life.deliveries.is_empty());
    put.ask.items().iter().any(seen)
}

impl Life<'_> {
    /// Whether the put was refused, so that the tuple may never be seen.
    fn is_refused(&self) -> bool {
        matches!(self.put.fate, Fate::Answered(_, Outcome::Refused(_)))
    }

    /// Everything that ended it for good: there may be one.
    fn finals(&self, lives: &Lives<'_>) -> Vec<Final> {
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

    fn check_order(&self, plan: &Plan, records: &Records<'_>, finals: &[Final]) -> Result<(), Violation> {
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
            let Kind::Leased(attempt, ttl) = delivery.kind else { continue };
            if attempts.insert((delivery.is_dead, attempt.attempt), attempt.lease).is_some() {
                return twice(format!("it was leased twice as attempt {}", attempt.attempt));
            }
            if let Some(other) = self.intruder(records, delivery, attempt, plan.shortest(ttl)) {
                return twice(format!(
                    "{}, under whose lease it was, and {}",
                    delivery.request, other.request
                ));
            }
        }
        if attempts.values().is_sorted() { Ok(()) } else { twice("later attempts have older leases".into()) }
    }

    /// A delivery to another while a lease that cannot have ended held the tuple.
    fn intruder(
        &self,
        records: &Records<'_>,
        holder: &Delivery<'_>,
        held: Attempt,
        ttl: Span,
    ) -> Option<&Delivery<'_>> {
        if records.is_released(holder.request.life, held.lease) || !records.lasted(holder.request.session) {
            return None;
        }
        let end = holder.request.sent + ttl;
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
    fn is_excused(&self, plan: &Plan) -> bool {
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

//! Groups: what they have read is there when they happen, and they are refused only where it is not.

use super::account::{Life, Lives};
use super::presence::Presence;
use super::records::{Fate, Records, Request};
use super::{Rule, Violation};
use crate::history::{Ask, Outcome};
use quintet_contract::Incarnation;
use quintet_errors::Code;
use std::collections::BTreeMap;

/// The number of the tuple of each age that a group has read, in each life of the manager.
type Read = BTreeMap<(Incarnation, u64), u64>;

pub(super) fn check(
    records: &Records<'_>,
    lives: &Lives<'_>,
    presence: &Presence<'_>,
) -> Result<(), Violation> {
    let read = read(records)?;
    for request in &records.requests {
        let (Ask::Commit { witnesses, .. }, Fate::Answered(at, outcome)) = (request.ask, &request.fate)
        else {
            continue;
        };
        let named = witnesses.iter().filter_map(|witness| read.get(&(request.life, witness.age)));
        let tuples: Vec<&Life<'_>> = named.filter_map(|number| lives.get(number)).collect();
        let is_gone = |tuple: &&&Life<'_>| {
            tuple.finals(lives).iter().filter_map(|end| end.0).any(|end| end < request.sent)
        };
        if let (Outcome::Done, Some(gone)) = (outcome, tuples.iter().find(is_gone)) {
            let text = format!("{request}: it has happened, and {}, which it had read, was gone", gone.item);
            return Err(Violation::new(Rule::AllOrNothing, text));
        }
        let is_there = |tuple: &&Life<'_>| presence.is_there(tuple, request.sent, *at);
        let are_known = tuples.len() == witnesses.len();
        if matches!(outcome, Outcome::Refused(Code::Conflict)) && are_known && tuples.iter().all(is_there) {
            let text = format!("{request}: refused, and all that it had read is there");
            return Err(Violation::new(Rule::AllOrNothing, text));
        }
    }
    Ok(())
}

/// No two tuples have one age.
fn read(records: &Records<'_>) -> Result<Read, Violation> {
    let mut read = Read::new();
    for request in &records.requests {
        let Fate::Answered(_, Outcome::Witnessed(seen, witness)) = &request.fate else { continue };
        let number = *read.entry((request.life, witness.age)).or_insert(seen.item.number);
        if number != seen.item.number {
            return Err(two_of_one_age(request, number));
        }
    }
    Ok(read)
}

fn two_of_one_age(request: &Request<'_>, number: u64) -> Violation {
    let text = format!("{request}: the age of its tuple was that of tuple {number} before");
    Violation::new(Rule::NothingInvented, text)
}

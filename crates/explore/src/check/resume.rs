//! Sessions over links that may be cut: none is lost while its link is gone for less than the time to resume.

use super::{Rule, Violation};
use crate::fault::Fault;
use crate::history::{Event, History, What};
use crate::plan::Plan;
use quintet_contract::{Span, Time};

/// A link that was there for less than this may have been gone before the handshake over it had ended.
pub(crate) const HANDSHAKE: Span = Span::from_millis(10);

pub(super) fn check(plan: &Plan, history: &History) -> Result<(), Violation> {
    for (index, own) in plan.clients.iter().enumerate() {
        let client = crate::network::number(index);
        if own.retains() && is_promised(plan, history, client) {
            let is_end = |event: &&Event| matches!(event.what, What::Down(_));
            // What ends before it began was refused, and is no session that could go on.
            let seen = history.events.iter().filter(|event| event.client == client);
            if let Some(end) = seen.skip_while(|event| !matches!(event.what, What::Up(..))).find(is_end) {
                let text = format!("{end}, although its link was never gone for {}", plan.resume_window);
                return Err(Violation::new(Rule::SessionsOutliveCuts, text));
            }
        }
    }
    Ok(())
}

/// Whether a client's first session lasts to the end: neither side forgets, and no link comes too late. One that the manager began may be
/// known to the client only, if the link broke before its WELCOME had come: then it is over when the manager asks for another.
fn is_promised(plan: &Plan, history: &History, client: u16) -> bool {
    let absences = absences(history, client);
    let is_short = |(from, until): &(Time, Time)| until.since(*from) < plan.resumed_within();
    let first_met = absences.first().is_none_or(|(from, _)| *from > Time::ZERO + HANDSHAKE);
    let is_met = first_met || !plan.dialled().any(|dialled| dialled == client);
    plan.remembers(client) && is_met && absences.iter().all(is_short)
}

/// When the link of a client was gone; or one of the two processes, which breaks it.
fn absences(history: &History, client: u16) -> Vec<(Time, Time)> {
    let (mut absences, mut missing): (Vec<(Time, Time)>, i32) = (Vec::new(), 0);
    for event in &history.events {
        let What::Fault(fault) = &event.what else { continue };
        if fault.who().is_none_or(|who| who != 0 && who != client) {
            continue;
        }
        match fault {
            Fault::Break { .. } | Fault::Crash { .. } => {
                let is_later = absences.last().is_none_or(|(_, end)| event.at > *end + HANDSHAKE);
                if missing == 0 && is_later {
                    absences.push((event.at, event.at));
                }
                missing += 1;
            }
            Fault::Replace { .. } | Fault::Restart { .. } => {
                missing -= 1;
                if let Some((_, end)) = absences.last_mut() {
                    *end = event.at;
                }
            }
            _ => {}
        }
    }
    absences
}

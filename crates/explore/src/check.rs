//! What must hold of a history.
//!
//! The checker knows only what clients saw. Where a session ended before an answer came, it cannot know whether the request
//! had its effect; every rule leaves room for exactly that. What it compares are facts about order that clients can know: a
//! request sent after another's answer was received was handled after it. Its times are true ones, whatever clients' clocks say;
//! the manager's clock may run fast or slow, and what it times is shorter or longer by as much.
//!
//! A manager that starts again without memory promises nothing about what its last life had, except that none of it comes
//! back: a request belongs to the life of the manager to which its session is, and only that life's tuples may answer it.

mod account;
mod groups;
mod holders;
mod order;
mod presence;
mod records;
mod resume;

use crate::fault::Fault;
use crate::history::{Ask, Event, History, Outcome, QUIET, What};
use crate::network::{KEEP_ALIVE, SILENCE_LIMIT};
use crate::plan::{ClientPlan, Plan};
use quintet_contract::{DownCause, Span};
use quintet_errors::Code;
use quintet_tuple_space::Wait;
use records::{Fate, Records, Request};
pub(crate) use resume::HANDSHAKE;
use std::fmt;

/// After so long a manager that stands still is noticed: a ping after the keep-alive time, the limit of silence, and some slack.
const NOTICED: Span = Span(KEEP_ALIVE.0 + SILENCE_LIMIT.0 + 10_000_000);
/// An answer that nothing held up comes so soon after it was due.
const SLACK: Span = Span::from_millis(1);
/// The same where many requests take turns to be searched for, a few tuples at a time.
const STEPS_SLACK: Span = Span::from_millis(10);

/// What a tuple space promises, as far as the explorer checks it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rule {
    /// A tuple whose put was acknowledged is in the space, or was taken for good, or may have been on its way to a client
    /// whose session ended.
    NothingLost,
    /// No tuple is taken twice, nor given to anyone while another holds it; a tuple that comes again comes with a later lease
    /// and attempt.
    NothingTwice,
    /// What comes out was put in, as it is, by a put that was not refused, and matches.
    NothingInvented,
    /// Every request is answered exactly once, by an answer of its sort.
    AnsweredOnce,
    /// No request fails before its deadline and no lease before its end; where nothing holds up an answer, none comes late, and no lease
    /// lives on; no tuple is there before it was put or after it has expired.
    DeadlinesKept,
    /// The space's own counts agree with what is in it, and are zero when it was emptied.
    CountsReturn,
    /// When all is quiet nobody waits for a tuple or for room that is there.
    NoLostWakeUp,
    /// Nobody is cut off: not for breaking the protocol, nor as silent while all is quiet.
    NobodyCutOff,
    /// A take or read gets the oldest tuple that matches; a tuple goes to the request that waits for it longest; no put passes one
    /// that waits for room, nor an acknowledgement.
    OldestFirst,
    /// Nothing matches where the space says so, and as many as it counts.
    SaysWhatIs,
    /// Nobody but its holder ends a lease.
    OnlyItsHolder,
    /// A group happens at one instant at which all that it took is its own and all that it read is there; and is refused for what is gone only
    /// if something is.
    AllOrNothing,
    /// When all is quiet, what was lent has come back: credit, room for answers, memory of what waited and of what was kept.
    BooksBalance,
    /// A session goes on over the next link if that comes within the time to resume, and is over on both sides after it.
    SessionsOutliveCuts,
    /// Without faults everything is answered after a while.
    ComesToRest,
}

/// A rule that does not hold.
#[derive(Debug)]
pub(crate) struct Violation {
    pub(crate) rule: Rule,
    pub(crate) text: String,
}

impl Violation {
    pub(crate) fn new(rule: Rule, text: impl Into<String>) -> Violation {
        Violation { rule, text: text.into() }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Rule::NothingLost => "nothing acknowledged is lost",
            Rule::NothingTwice => "nothing is delivered twice",
            Rule::NothingInvented => "what comes out was put in and matches",
            Rule::AnsweredOnce => "every request is answered once",
            Rule::DeadlinesKept => "deadlines are kept",
            Rule::CountsReturn => "the space's counts are right",
            Rule::NoLostWakeUp => "nobody waits for what is there",
            Rule::NobodyCutOff => "nobody is cut off",
            Rule::OldestFirst => "the oldest comes first",
            Rule::SaysWhatIs => "what the space says is so",
            Rule::OnlyItsHolder => "only its holder ends a lease",
            Rule::AllOrNothing => "a group happens whole or not at all",
            Rule::BooksBalance => "what was lent comes back",
            Rule::SessionsOutliveCuts => "sessions outlive cuts, for as long as they may",
            Rule::ComesToRest => "everything is answered after a while",
        })
    }
}

/// Checks a history. `is_whole`: the run came to its end, with the space emptied.
pub(crate) fn history(plan: &Plan, history: &History, is_whole: bool) -> Result<(), Violation> {
    check_events(plan, history)?;
    check_silence(plan, history)?;
    resume::check(plan, history)?;
    let records = Records::read(history);
    for request in &records.requests {
        check_answer(request, is_whole)?;
        check_deadline(plan, request)?;
        check_cancel(plan, &records, request)?;
    }
    account::check(plan, &records, is_whole)
}

/// What is wrong whenever it happens.
fn check_events(plan: &Plan, history: &History) -> Result<(), Violation> {
    let mut is_quiet = false;
    for event in &history.events {
        let (rule, text) = match &event.what {
            What::Stray { .. } => (Rule::AnsweredOnce, event.to_string()),
            What::Unsendable { .. } => (Rule::AnsweredOnce, event.to_string()),
            What::Down(DownCause::Misbehaved) => (Rule::NobodyCutOff, event.to_string()),
            // Nobody says goodbye in a run: a link that was closed was closed by a side that found the other's frames broken, and
            // had no room to say so, or heard nothing for too long of one that stood still or whose frames did not arrive.
            What::Down(DownCause::Closed)
                if !plan.stands_still(event.client) && !plan.is_half_broken(event.client) =>
            {
                (Rule::NobodyCutOff, event.to_string())
            }
            // Both sides answer each other's pings. (On a bad link several may be lost one after the other.)
            What::Down(_)
                if is_quiet
                    && plan.is_good(event.client)
                    && !plan.stands_still(event.client)
                    && !may_be_unheard(plan, event.client) =>
            {
                (Rule::NobodyCutOff, format!("{event}, although all is quiet"))
            }
            What::Phase(QUIET) => {
                is_quiet = true;
                continue;
            }
            What::Answered { outcome: Outcome::Garbage(_), .. } => (Rule::AnsweredOnce, event.to_string()),
            _ => continue,
        };
        return Err(Violation::new(rule, text));
    }
    Ok(())
}

/// Whether a client says HELLO anew after it was stopped, over a link that may lose that for a while: the last of its tries, each after twice as long as the one before, may
/// come when the time to resume its session has passed.
fn may_be_unheard(plan: &Plan, client: u16) -> bool {
    let retransmits = plan.clients.get(usize::from(client) - 1).is_some_and(ClientPlan::retransmits);
    let loses = |fault: &Fault| match fault {
        Fault::Cut { who, .. } => *who == client,
        Fault::Partition { apart } => apart.contains(&client),
        _ => false,
    };
    retransmits && plan.is_stopped(client) && plan.faults.iter().any(|(_, fault)| loses(fault))
}

/// A client learns in time of a manager that stands still.
fn check_silence(plan: &Plan, history: &History) -> Result<(), Violation> {
    for client in (1..=plan.clients.len()).map(|number| u16::try_from(number).expect("a handful")) {
        let Some(standstill) = plan.prompt(client).filter(|_| plan.has_right_clock(client)) else { continue };
        let latest = standstill.from + NOTICED;
        if standstill.until <= latest {
            continue;
        }
        let own = history.events.iter().filter(|event| event.client == client && event.at <= latest);
        let is_change = |what: &What| matches!(what, What::Up(..) | What::Down(_));
        let last = own.rev().find(|event| is_change(&event.what));
        if let Some(Event { what: What::Up(..), at, .. }) = last
            && *at <= standstill.from
        {
            let text = format!(
                "the manager stands still from {} on, and client {client} has not noticed by {latest}",
                standstill.from
            );
            return Err(Violation::new(Rule::DeadlinesKept, text));
        }
    }
    Ok(())
}

/// Whether the answer is of the sort that the request asks for.
fn check_answer(request: &Request<'_>, is_whole: bool) -> Result<(), Violation> {
    let outcome = match &request.fate {
        Fate::Answered(_, outcome) => outcome,
        Fate::Unknown => return Ok(()),
        Fate::Open if is_whole => {
            return Err(Violation::new(Rule::AnsweredOnce, format!("{request}: never answered")));
        }
        Fate::Open => return Ok(()),
    };
    let is_right = match (request.ask, outcome) {
        (
            Ask::Out { .. } | Ask::Ack { .. } | Ask::Release { .. } | Ask::Commit { .. } | Ask::Abort { .. },
            Outcome::Done,
        )
        | (Ask::Read { wait: Wait::AtOnce, .. } | Ask::Take { wait: Wait::AtOnce, .. }, Outcome::NoMatch)
        | (Ask::Count { .. }, Outcome::Count(_))
        | (Ask::List { .. }, Outcome::Listed(_))
        | (Ask::Status, Outcome::State(_)) => true,
        (Ask::Take { lease, .. }, Outcome::Tuple(_, held)) => lease.is_some() == held.is_some(),
        (Ask::Read { for_group, .. }, Outcome::Tuple(_, held)) => held.is_none() && !for_group,
        (Ask::Read { for_group, .. }, Outcome::Witnessed(..)) => *for_group,
        (ask, Outcome::Refused(code)) => may_refuse(ask, *code),
        _ => false,
    };
    if is_right { Ok(()) } else { Err(Violation::new(Rule::AnsweredOnce, format!("{request}: {outcome}"))) }
}

/// Whether a request may fail like this.
fn may_refuse(ask: &Ask, code: Code) -> bool {
    match ask {
        Ask::Take { wait, .. } | Ask::Read { wait, .. } => match code {
            Code::TimedOut => matches!(wait, Wait::For(_)),
            Code::Cancelled => true,
            _ => false,
        },
        Ask::Out { within, .. } | Ask::Ack { within, .. } | Ask::Commit { within, .. } => match code {
            Code::SpaceFull => within.is_some(),
            Code::LeaseLost => ask.is_final(),
            Code::Conflict => matches!(ask, Ask::Commit { witnesses, .. } if !witnesses.is_empty()),
            Code::TooLarge | Code::Cancelled => true,
            _ => false,
        },
        Ask::Release { .. } => code == Code::LeaseLost,
        Ask::Count { .. } => code == Code::Cancelled,
        _ => false,
    }
}

/// What was called off is answered before anything that was asked later. (Without messages, answers that the link has no room for are
/// overtaken.)
fn check_cancel(plan: &Plan, records: &Records<'_>, request: &Request<'_>) -> Result<(), Violation> {
    let known = records.cancel_known(request).filter(|_| plan.has_messages);
    let is_late = known.is_some_and(|known| match request.fate {
        Fate::Answered(at, _) => at > known,
        Fate::Open => true,
        Fate::Unknown => false,
    });
    if !is_late {
        return Ok(());
    }
    let text = format!("{request}: it was called off, and what was asked later is answered before");
    Err(Violation::new(Rule::OldestFirst, text))
}

fn check_deadline(plan: &Plan, request: &Request<'_>) -> Result<(), Violation> {
    let (Fate::Answered(at, outcome), Some(patience)) = (&request.fate, request.ask.patience()) else {
        return Ok(());
    };
    let (earliest, due) = (request.sent + plan.shortest(patience), request.sent + patience);
    let slack = if plan.searches_in_steps() { STEPS_SLACK } else { SLACK };
    let has_expired = matches!(outcome, Outcome::Refused(Code::TimedOut | Code::SpaceFull));
    let word = if has_expired && *at < earliest {
        "too early"
    } else if request.is_steady(plan) && *at > due + slack {
        "too late"
    } else {
        return Ok(());
    };
    Err(Violation::new(Rule::DeadlinesKept, format!("{request}: {outcome}, {word}, at {at}")))
}

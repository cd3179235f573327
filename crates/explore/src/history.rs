//! What happened in a run, as its clients saw it.

use crate::fault::Fault;
use crate::item::{Item, Pattern, Seen};
use quintet_contract::{DownCause, Incarnation, Span, Time, Token};
use quintet_errors::Code;
use quintet_tuple_space::{Attempt, LeaseId, State, Wait, Witness};
use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;

/// The time to live of a lease that ends with its session only.
pub(crate) const ENDLESS: Span = Span(u64::MAX);

/// The phase from which on nothing happens but what the run itself has the clients do.
pub(crate) const QUIET: &str = "all is quiet: does anybody wait for what is there?";

/// A request as a client makes it.
#[derive(Clone, Debug)]
pub(crate) enum Ask {
    Out {
        items: Vec<Item>,
        within: Option<Span>,
    },
    Take {
        pattern: Pattern,
        wait: Wait,
        lease: Option<Span>,
        for_group: bool,
    },
    Read {
        pattern: Pattern,
        wait: Wait,
        for_group: bool,
    },
    Cancel,
    Return,
    Ack {
        lease: LeaseId,
        items: Vec<Item>,
        within: Option<Span>,
    },
    Release {
        lease: LeaseId,
    },
    /// The end of a group that took and read these.
    Commit {
        leases: Vec<LeaseId>,
        witnesses: Vec<Witness>,
        items: Vec<Item>,
        within: Option<Span>,
    },
    Abort {
        leases: Vec<LeaseId>,
    },
    Renew,
    Count {
        pattern: Pattern,
    },
    List {
        pattern: Pattern,
    },
    Status,
}

/// An answer as a client got it.
#[derive(Clone, Debug)]
pub(crate) enum Outcome {
    Done,
    Tuple(Seen, Option<Attempt>),
    Witnessed(Seen, Witness),
    NoMatch,
    Count(u64),
    Listed(Listing),
    State(Box<State>),
    Refused(Code),
    /// Nothing that a manager may answer, or a tuple that no run puts.
    Garbage(String),
}

/// A page of a listing, as a client got it.
#[derive(Clone, Debug)]
pub(crate) struct Listing {
    /// Those that can be taken.
    pub(crate) shown: Vec<Seen>,
    /// Those under a lease.
    pub(crate) leased: Vec<Seen>,
    /// Nothing more is to be listed.
    pub(crate) is_whole: bool,
}

/// One life of one client's session; no two have the same number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct SessionNumber(pub(crate) u32);

/// Something that happened to a client, or that it did.
#[derive(Clone, Debug)]
pub(crate) enum What {
    /// Connected to this life of the manager.
    Up(SessionNumber, Incarnation),
    Down(DownCause),
    /// A request was accepted for sending.
    Sent {
        session: SessionNumber,
        token: Token,
        ask: Ask,
    },
    /// The request sent in the event of this index was answered.
    Answered {
        request: usize,
        outcome: Outcome,
    },
    /// Its session ended before it was answered.
    Unknown {
        request: usize,
    },
    /// An answer came for which there is no request.
    Stray {
        token: Token,
    },
    /// A request was refused for good on this side.
    Unsendable {
        text: String,
    },
    Fault(Fault),
    Phase(&'static str),
}

/// An event of a history.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    pub(crate) at: Time,
    /// 0 is none of them: the manager or the run itself.
    pub(crate) client: u16,
    pub(crate) what: What,
}

/// Everything that happened in a run, in order.
#[derive(Default, Debug)]
pub(crate) struct History {
    pub(crate) events: Vec<Event>,
    /// The true time, which clients do not know.
    pub(crate) now: Time,
    items: u64,
    sessions: u32,
    /// A client was cut off for breaking the protocol: nothing good comes of the run any more.
    pub(crate) is_cut_off: bool,
    /// The leases that clients were granted, in order, and the session of each.
    leases: Vec<(SessionNumber, LeaseId)>,
}

/// The history of a run, into which all its clients write.
pub(crate) type SharedHistory = Rc<RefCell<History>>;

impl History {
    /// Adds an event; its index.
    pub(crate) fn add(&mut self, client: u16, what: What) -> usize {
        self.is_cut_off |= matches!(what, What::Down(DownCause::Misbehaved));
        self.events.push(Event { at: self.now, client, what });
        self.events.len() - 1
    }

    /// A number for a new tuple.
    pub(crate) fn item_number(&mut self) -> u64 {
        self.items += 1;
        self.items
    }

    pub(crate) fn granted(&mut self, session: SessionNumber, lease: LeaseId) {
        self.leases.push((session, lease));
    }

    /// The leases that were last granted in other sessions than this one, the last first. (A manager that starts again grants the
    /// same numbers again.)
    pub(crate) fn leases_of_others(&self, session: SessionNumber) -> impl Iterator<Item = LeaseId> {
        let others = self.leases.iter().rev().filter(move |(other, _)| *other != session);
        others.map(|(_, lease)| *lease).filter(move |lease| !self.leases.contains(&(session, *lease)))
    }

    pub(crate) fn session_number(&mut self) -> SessionNumber {
        self.sessions += 1;
        SessionNumber(self.sessions)
    }

    /// How many requests clients sent before they were told to make no more.
    pub(crate) fn operations_of_work(&self) -> usize {
        let work = self.events.iter().take_while(|event| !matches!(event.what, What::Phase(_)));
        work.filter(|event| matches!(event.what, What::Sent { .. })).count()
    }

    /// The last `count` events as text, one a line.
    pub(crate) fn last(&self, count: usize) -> Vec<String> {
        let first = self.events.len().saturating_sub(count);
        self.events[first..]
            .iter()
            .enumerate()
            .map(|(index, event)| format!("{:5}  {event}", first + index))
            .collect()
    }
}

impl Ask {
    /// Whether it is answered under its own token.
    pub(crate) fn is_answered(&self) -> bool {
        !matches!(self, Ask::Cancel | Ask::Return | Ask::Renew)
    }

    /// Whether it may rightly wait for ever.
    pub(crate) fn is_endless(&self) -> bool {
        match self {
            Ask::Take { wait, .. } | Ask::Read { wait, .. } => *wait == Wait::Forever,
            Ask::Out { within, .. } | Ask::Ack { within, .. } | Ask::Commit { within, .. } => {
                within.is_none()
            }
            _ => false,
        }
    }

    /// For how long it may wait at the manager, if that is bounded.
    pub(crate) fn patience(&self) -> Option<Span> {
        match self {
            Ask::Take { wait, .. } | Ask::Read { wait, .. } => match wait {
                Wait::AtOnce => Some(Span::ZERO),
                Wait::For(span) => Some(*span),
                Wait::Forever => None,
            },
            Ask::Out { within, .. } | Ask::Ack { within, .. } | Ask::Commit { within, .. } => *within,
            _ => Some(Span::ZERO),
        }
    }

    /// Whether it is a take without a lease.
    pub(crate) fn is_plain_take(&self) -> bool {
        matches!(self, Ask::Take { lease: None, .. })
    }

    /// The tuple that it asks for.
    pub(crate) fn pattern(&self) -> Option<Pattern> {
        match self {
            Ask::Take { pattern, .. } | Ask::Read { pattern, .. } => Some(*pattern),
            _ => None,
        }
    }

    /// What it puts.
    pub(crate) fn items(&self) -> &[Item] {
        match self {
            Ask::Out { items, .. } | Ask::Ack { items, .. } | Ask::Commit { items, .. } => items,
            _ => &[],
        }
    }
}

impl Ask {
    /// The leases that it ends, for good or not.
    pub(crate) fn ended(&self) -> &[LeaseId] {
        match self {
            Ask::Ack { lease, .. } | Ask::Release { lease } => std::slice::from_ref(lease),
            Ask::Commit { leases, .. } | Ask::Abort { leases } => leases,
            _ => &[],
        }
    }

    /// Whether what it ends is gone for good.
    pub(crate) fn is_final(&self) -> bool {
        matches!(self, Ask::Ack { .. } | Ask::Commit { .. })
    }

    /// Whether it takes under a lease of a group.
    pub(crate) fn is_hold(&self) -> bool {
        matches!(self, Ask::Take { for_group: true, .. })
    }
}

/// How long something waits, in words.
struct Patience(Option<Span>);

impl fmt::Display for Patience {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(Span::ZERO) => f.write_str("at once"),
            Some(span) => write!(f, "within {span}"),
            None => f.write_str("without end"),
        }
    }
}

fn write_items(f: &mut fmt::Formatter<'_>, items: &[Item]) -> fmt::Result {
    for (index, item) in items.iter().enumerate() {
        write!(f, "{}{item}", if index == 0 { " " } else { ", " })?;
    }
    Ok(())
}

impl fmt::Display for Ask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let patience = Patience(self.patience());
        match self {
            Ask::Out { items, .. } => {
                f.write_str("out")?;
                write_items(f, items)?;
                write!(f, " {patience}")
            }
            Ask::Take { pattern, lease: Some(ttl), for_group: true, .. } => {
                write!(f, "take {pattern:?} for a group under a lease of {ttl} {patience}")
            }
            Ask::Take { pattern, lease: Some(ttl), .. } => {
                let ttl = if *ttl == ENDLESS { "any length".to_owned() } else { ttl.to_string() };
                write!(f, "take {pattern:?} under a lease of {ttl} {patience}")
            }
            Ask::Take { pattern, .. } => write!(f, "take {pattern:?} {patience}"),
            Ask::Read { pattern, for_group: true, .. } => {
                write!(f, "read {pattern:?} for a group {patience}")
            }
            Ask::Read { pattern, .. } => write!(f, "read {pattern:?} {patience}"),
            Ask::Cancel => f.write_str("cancel"),
            Ask::Return => f.write_str("return"),
            Ask::Ack { lease, items, .. } => {
                write!(f, "acknowledge lease {}", lease.0)?;
                write_items(f, items)?;
                write!(f, " {patience}")
            }
            Ask::Release { lease } => write!(f, "release lease {}", lease.0),
            Ask::Commit { leases, witnesses, items, .. } => {
                let leases: Vec<_> = leases.iter().map(|lease| lease.0).collect();
                let ages: Vec<_> = witnesses.iter().map(|witness| witness.age).collect();
                write!(f, "commit the group that took leases {leases:?} and read ages {ages:?}, out")?;
                write_items(f, items)?;
                write!(f, " {patience}")
            }
            Ask::Abort { leases } => {
                let leases: Vec<_> = leases.iter().map(|lease| lease.0).collect();
                write!(f, "abort the group that took leases {leases:?}")
            }
            Ask::Renew => f.write_str("renew"),
            Ask::Count { pattern } => write!(f, "count {pattern:?}"),
            Ask::List { pattern } => write!(f, "list {pattern:?}"),
            Ask::Status => f.write_str("status"),
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Outcome::Done => f.write_str("done"),
            Outcome::Tuple(seen, lease) => {
                write!(f, "{}{}", if seen.is_dead { "dead letter: " } else { "" }, seen.item)?;
                lease.map_or(Ok(()), |held| write!(f, ", lease {}, attempt {}", held.lease.0, held.attempt))
            }
            Outcome::Witnessed(seen, witness) => write!(f, "{}, age {}", seen.item, witness.age),
            Outcome::NoMatch => f.write_str("no match"),
            Outcome::Count(count) => write!(f, "{count} match"),
            Outcome::Listed(listing) => {
                let more = if listing.is_whole { "" } else { ", and more may follow" };
                write!(f, "{} can be taken, {} are leased{more}", listing.shown.len(), listing.leased.len())
            }
            Outcome::State(state) => write!(
                f,
                "{} tuples, {} bytes, {} hidden, {} waiters, {} leases, {} parked",
                state.tuples, state.bytes, state.hidden, state.waiters, state.leases, state.parked
            ),
            Outcome::Refused(code) => write!(f, "refused: {code}"),
            Outcome::Garbage(text) => write!(f, "garbage: {text}"),
        }
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:>12}  ", self.at)?;
        match (self.client, &self.what) {
            (0, What::Fault(fault)) if fault.who().is_some() => f.write_str("manager     ")?,
            (0, What::Fault(_)) => f.write_str("network     ")?,
            (0, _) => f.write_str("run         ")?,
            (client, _) => write!(f, "client {client:<4} ")?,
        }
        match &self.what {
            What::Up(session, life) => {
                write!(f, "is connected (session {}, the manager's life {})", session.0, life.0)
            }
            What::Down(cause) => write!(f, "is disconnected: {cause:?}"),
            What::Sent { token, ask, .. } => write!(f, "asks [{}] {ask}", token.0),
            What::Answered { request, outcome } => write!(f, "is answered (event {request}): {outcome}"),
            What::Unknown { request } => write!(f, "never learns the answer (event {request})"),
            What::Stray { token } => write!(f, "gets an answer to [{}], which it did not ask", token.0),
            What::Unsendable { text } => write!(f, "cannot send: {text}"),
            What::Fault(fault) => write!(f, "{fault}"),
            What::Phase(phase) => f.write_str(phase),
        }
    }
}

//! A history by requests.

use crate::fault::Fault;
use crate::history::{Ask, Event, History, Outcome, SessionNumber, What};
use crate::plan::Plan;
use quintet_contract::{Incarnation, Time, Token};
use quintet_tuple_space::LeaseId;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// What became of a request.
pub(crate) enum Fate<'a> {
    /// It is not answered so far.
    Open,
    /// Nobody knows: its session ended before it was answered.
    Unknown,
    Answered(Time, &'a Outcome),
}

/// A request that is answered under its own token.
pub(crate) struct Request<'a> {
    /// The index of its event.
    pub(crate) index: usize,
    pub(crate) client: u16,
    pub(crate) session: SessionNumber,
    /// The manager's, to which its session is.
    pub(crate) life: Incarnation,
    pub(crate) token: Token,
    pub(crate) sent: Time,
    pub(crate) ask: &'a Ask,
    pub(crate) fate: Fate<'a>,
}

/// All of them, in the order in which they were sent.
#[derive(Default)]
pub(crate) struct Records<'a> {
    pub(crate) requests: Vec<Request<'a>>,
    /// Where each stands in `requests`, by the index of its event.
    places: BTreeMap<usize, usize>,
    /// Takes that were returned, and the index of the event.
    returns: BTreeMap<(SessionNumber, Token), usize>,
    /// Sessions that ended, seen from the client.
    ended: BTreeSet<SessionNumber>,
    /// The last request of each session that was answered.
    last_answered: BTreeMap<SessionNumber, usize>,
    /// The session in which each client is.
    current: BTreeMap<u16, SessionNumber>,
    /// The manager's life to which each session is.
    lives: BTreeMap<SessionNumber, Incarnation>,
    /// How often the manager has lost its memory.
    losses: u64,
    /// Leases that their holders released, or tried to.
    released: BTreeSet<(Incarnation, LeaseId)>,
}

impl<'a> Records<'a> {
    pub(crate) fn read(history: &'a History) -> Records<'a> {
        let mut records = Records::default();
        for (index, event) in history.events.iter().enumerate() {
            records.add(index, event);
        }
        records
    }

    fn add(&mut self, index: usize, event: &'a Event) {
        match &event.what {
            What::Up(session, life) => {
                self.end(event.client);
                self.current.insert(event.client, *session);
                self.lives.insert(*session, *life);
            }
            What::Fault(Fault::Restart { who: 0, remembers: false }) => self.losses += 1,
            What::Fault(Fault::Crash { who: 1.., remembers: false, .. }) | What::Down(_) => {
                self.end(event.client)
            }
            What::Sent { session, token, ask: Ask::Return } => {
                self.returns.insert((*session, *token), index);
            }
            What::Sent { session, token, ask } if ask.is_answered() => {
                let life = self.lives[session];
                if let Ask::Release { lease } = ask {
                    self.released.insert((life, *lease));
                }
                let (client, session, token, sent) = (event.client, *session, *token, event.at);
                self.places.insert(index, self.requests.len());
                self.requests.push(Request {
                    index,
                    client,
                    session,
                    life,
                    token,
                    sent,
                    ask,
                    fate: Fate::Open,
                });
            }
            What::Answered { request, outcome } => {
                let request = &mut self.requests[self.places[request]];
                request.fate = Fate::Answered(event.at, outcome);
                let last = self.last_answered.entry(request.session).or_default();
                *last = request.index.max(*last);
            }
            What::Unknown { request } => self.requests[self.places[request]].fate = Fate::Unknown,
            _ => {}
        }
    }

    fn end(&mut self, client: u16) {
        self.ended.extend(self.current.remove(&client));
    }

    /// Whether a session lasted to the end of the history.
    pub(crate) fn lasted(&self, session: SessionNumber) -> bool {
        !self.ended.contains(&session)
    }

    pub(crate) fn is_released(&self, life: Incarnation, lease: LeaseId) -> bool {
        self.released.contains(&(life, lease))
    }

    /// The manager's life at the end of the history.
    pub(crate) fn last_life(&self) -> Incarnation {
        Incarnation(1 + self.losses)
    }

    /// Whether the tuple that answered this take was returned; and if so, whether the manager is sure to know.
    pub(crate) fn returned(&self, take: &Request<'_>) -> Option<bool> {
        let index = *self.returns.get(&(take.session, take.token))?;
        let overtaken = self.last_answered.get(&take.session).is_some_and(|last| *last > index);
        Some(overtaken || self.lasted(take.session))
    }
}

impl Request<'_> {
    /// Whether nothing of the run can have held up its answer.
    pub(crate) fn is_steady(&self, plan: &Plan) -> bool {
        plan.clients.get(usize::from(self.client) - 1).is_some_and(|client| client.is_steady)
    }
}

impl fmt::Display for Request<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "client {}, event {}: {}", self.client, self.index, self.ask)
    }
}

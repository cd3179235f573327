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
    /// Leases that somebody released, or tried to, in the session of this number; and when that was answered as done.
    released: BTreeMap<(SessionNumber, LeaseId), Option<Time>>,
    /// Leases that somebody acknowledged or released, or tried to, in the session of this number.
    ended_leases: BTreeSet<(SessionNumber, LeaseId)>,
    /// When a request was cancelled first, and the index of the event.
    cancels: BTreeMap<(SessionNumber, Token), (Time, usize)>,
    /// The renewals of a session: the index of the event, and when.
    renewals: BTreeMap<SessionNumber, Vec<(usize, Time)>>,
    /// The answered requests of a session, in the order in which they were sent: the index of the event, and the earliest time at
    /// which this or a later one was answered.
    answered: BTreeMap<SessionNumber, Vec<(usize, Time)>>,
}

impl<'a> Records<'a> {
    pub(crate) fn read(history: &'a History) -> Records<'a> {
        let mut records = Records::default();
        for (index, event) in history.events.iter().enumerate() {
            records.add(index, event);
        }
        records.note_answers();
        records
    }

    fn note_answers(&mut self) {
        for request in &self.requests {
            if let Fate::Answered(at, _) = request.fate {
                self.answered.entry(request.session).or_default().push((request.index, at));
            }
        }
        for answered in self.answered.values_mut() {
            let mut earliest = Time::NEVER;
            for (_, at) in answered.iter_mut().rev() {
                earliest = earliest.min(*at);
                *at = earliest;
            }
        }
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
            What::Sent { session, token, ask: Ask::Cancel } => {
                self.cancels.entry((*session, *token)).or_insert((event.at, index));
            }
            What::Sent { session, ask: Ask::Renew, .. } => {
                self.renewals.entry(*session).or_default().push((index, event.at));
            }
            What::Sent { session, token, ask } if ask.is_answered() => {
                let life = self.lives[session];
                for lease in ask.ended() {
                    self.ended_leases.insert((*session, *lease));
                    if !ask.is_final() {
                        self.released.entry((*session, *lease)).or_default();
                    }
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
                if let (false, Outcome::Done) = (request.ask.is_final(), outcome) {
                    for lease in request.ask.ended() {
                        self.released.insert((request.session, *lease), Some(event.at));
                    }
                }
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

    /// Whether a lease was released in its session, or may have been.
    pub(crate) fn is_released(&self, session: SessionNumber, lease: LeaseId) -> bool {
        self.released.contains_key(&(session, lease))
    }

    /// Whether nobody tried to end a lease in its session.
    pub(crate) fn is_left_to_end(&self, session: SessionNumber, lease: LeaseId) -> bool {
        !self.ended_leases.contains(&(session, lease))
    }

    /// When it was known in its session that a lease had been released.
    pub(crate) fn released_by(&self, session: SessionNumber, lease: LeaseId) -> Option<Time> {
        self.released.get(&(session, lease)).copied().flatten()
    }

    /// When a request was cancelled first.
    pub(crate) fn cancelled(&self, request: &Request<'_>) -> Option<Time> {
        self.cancels.get(&(request.session, request.token)).map(|(at, _)| *at)
    }

    /// When it was known that the manager had a request's cancel.
    pub(crate) fn cancel_known(&self, request: &Request<'_>) -> Option<Time> {
        let (_, index) = self.cancels.get(&(request.session, request.token))?;
        self.confirmed(request.session, *index)
    }

    /// The renewals of a session: the index of the event, and when.
    pub(crate) fn renewals(&self, session: SessionNumber) -> impl Iterator<Item = (usize, Time)> {
        self.renewals.get(&session).into_iter().flatten().copied()
    }

    /// When it was known that the manager had handled what was sent in a session in the event of this index: something sent later
    /// was answered.
    pub(crate) fn confirmed(&self, session: SessionNumber, index: usize) -> Option<Time> {
        let answered = self.answered.get(&session)?;
        let later = answered.partition_point(|(at, _)| *at <= index);
        answered.get(later).map(|(_, at)| *at)
    }

    /// Whether the manager is sure to have handled a request before another.
    pub(crate) fn comes_before(&self, one: &Request<'_>, other: &Request<'_>) -> bool {
        one.life == other.life
            && (one.session == other.session && one.index < other.index
                || self.confirmed(one.session, one.index).is_some_and(|at| at < other.sent))
    }

    /// When it was known that the manager had the return of this take.
    pub(crate) fn return_known(&self, take: &Request<'_>) -> Option<Time> {
        self.confirmed(take.session, *self.returns.get(&(take.session, take.token))?)
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

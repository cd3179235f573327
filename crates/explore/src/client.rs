//! A client: a protocol that asks a manager, keeps the rules of asking, and writes down what it sees. What it wants is
//! decided in `behaviour.rs`.

use crate::behaviour::{Behaviour, Workload};
use crate::expiry::Expiring;
use crate::history::{Ask, Listing, Outcome, SessionNumber, SharedHistory, What};
use crate::item::Item;
use quintet_contract::{
    Address, Frame, Input, Outbox, PeerChange, Protocol, SendError, Span, Stage, Time, Token,
};
use quintet_errors::Code;
use quintet_tuple_space::{
    Answer, Cursor, LeaseId, Page, PageSize, Request, RequestError, Rows, SpaceNumber, Subject, Tuple,
};
use std::collections::{BTreeMap, VecDeque};

/// How much a client has listed: what fits the narrowest link.
const LISTED: PageSize = PageSize { rows: 6, field_bytes: 8 };

/// What a client does for one input.
pub(crate) const STEP: Stage = Stage(0);

/// A request that was sent and not answered.
#[derive(Debug)]
pub(crate) struct Pending {
    /// The index of its event.
    pub(crate) request: usize,
    pub(crate) ask: Ask,
}

/// A client of the space at one address.
#[derive(Debug)]
pub(crate) struct Client {
    pub(crate) number: u16,
    space: Address,
    /// Which of the spaces there.
    pub(crate) number_of_space: SpaceNumber,
    /// Which tuples expire.
    pub(crate) expiring: Expiring,
    history: SharedHistory,
    /// How many requests the layer below lets it have unanswered.
    max_unanswered: usize,
    session: Option<SessionNumber>,
    next_token: u64,
    pub(crate) pending: BTreeMap<Token, Pending>,
    /// Not taken by the link so far, in order.
    pub(crate) queue: VecDeque<(Token, Ask)>,
    pub(crate) workload: Workload,
    /// What a client without a will of its own was answered.
    pub(crate) outcomes: Vec<(Token, Outcome)>,
}

impl Client {
    pub(crate) fn new(
        number: u16,
        space: Address,
        max_unanswered: usize,
        history: SharedHistory,
        workload: Workload,
    ) -> Client {
        Client {
            number,
            space,
            number_of_space: SpaceNumber::UNNAMED,
            expiring: Expiring::default(),
            history,
            max_unanswered,
            session: None,
            next_token: 1,
            pending: BTreeMap::new(),
            queue: VecDeque::new(),
            workload,
            outcomes: Vec::new(),
        }
    }

    pub(crate) fn is_up(&self) -> bool {
        self.session.is_some()
    }

    /// Makes a request as soon as the link takes it.
    pub(crate) fn ask(&mut self, ask: Ask) -> Token {
        let token = Token(self.next_token);
        self.next_token += 1;
        self.queue.push_back((token, ask));
        token
    }

    /// Says something that is not answered itself, about an earlier request or all leases: before requests that wait to be
    /// sent, as those may wait for this one.
    pub(crate) fn say(&mut self, token: Token, ask: Ask) {
        let at = self.queue.iter().position(|(_, ask)| ask.is_answered());
        self.queue.insert(at.unwrap_or(self.queue.len()), (token, ask));
    }

    /// Whether everything it still waits for may rightly take for ever.
    pub(crate) fn is_patient(&self) -> bool {
        let may_send_no_more = self.pending.len() >= self.max_unanswered;
        self.is_up()
            && (self.queue.is_empty() || may_send_no_more)
            && self.pending.values().all(|pending| pending.ask.is_endless())
    }

    /// Cancels what it waits for, and does not ask what it has not asked so far.
    pub(crate) fn call_off(&mut self) {
        self.queue.clear();
        let tokens: Vec<_> = self.pending.keys().copied().collect();
        tokens.into_iter().for_each(|token| self.say(token, Ask::Cancel));
    }

    /// Gives back the leases that would never end.
    pub(crate) fn release_endless(&mut self) {
        for lease in self.workload.take_endless() {
            self.ask(Ask::Release { lease });
        }
    }

    /// The leases last granted to others.
    pub(crate) fn leases_of_others(&self, most: usize) -> Vec<LeaseId> {
        let history = self.history.borrow();
        self.session.map_or(Vec::new(), |session| history.leases_of_others(session).take(most).collect())
    }

    /// Notes that no answer will come any more to what is pending.
    pub(crate) fn give_up(&mut self) {
        let mut history = self.history.borrow_mut();
        for pending in std::mem::take(&mut self.pending).into_values() {
            history.add(self.number, What::Unknown { request: pending.request });
        }
    }

    /// The token below which no take will be returned.
    fn settled(&self) -> Token {
        let pending = self.pending.iter().filter(|(_, pending)| pending.ask.is_plain_take());
        let queued = |ask: &Ask| ask.is_plain_take() || matches!(ask, Ask::Return);
        let queued = self.queue.iter().filter(|(_, ask)| queued(ask)).map(|(token, _)| *token);
        let undecided = self.workload.first_undecided();
        let first = pending.map(|(token, _)| *token).chain(queued).chain(undecided).min();
        first.unwrap_or(Token(self.next_token))
    }

    /// Sends what is queued until the link is full.
    fn pump(&mut self, out: &mut dyn Outbox) {
        let Some(session) = self.session else { return };
        while let Some((token, ask)) = self.queue.front() {
            let (token, sent) = (*token, send(self, ask, *token, out));
            // A link that the other side has closed takes nothing any more, some time before this side is told.
            if let Err(RequestError::Link(SendError::Full | SendError::Unreachable)) = sent {
                return;
            }
            let Some((_, ask)) = self.queue.pop_front() else { return };
            let mut history = self.history.borrow_mut();
            if let Err(error) = sent {
                let text = format!("{ask}: {error}");
                history.add(self.number, What::Unsendable { text });
                continue;
            }
            let request = history.add(self.number, What::Sent { session, token, ask: ask.clone() });
            if ask.is_answered() {
                self.pending.insert(token, Pending { request, ask });
            }
        }
    }

    fn answer(&mut self, now: Time, frame: &Frame<'_>) {
        let mut history = self.history.borrow_mut();
        let Some(Pending { request, ask }) = self.pending.remove(&frame.token) else {
            history.add(self.number, What::Stray { token: frame.token });
            return;
        };
        let outcome = outcome(frame);
        if let (Outcome::Tuple(_, Some(attempt)), Some(session)) = (&outcome, self.session) {
            history.granted(session, attempt.lease);
        }
        history.add(self.number, What::Answered { request, outcome: outcome.clone() });
        drop(history);
        if self.workload.has_will() {
            self.workload.learn(now, frame.token, &ask, &outcome);
        } else {
            self.outcomes.push((frame.token, outcome));
        }
    }

    fn peer(&mut self, change: &PeerChange) {
        self.queue.clear();
        self.workload.forget();
        self.give_up();
        let mut history = self.history.borrow_mut();
        let what = match *change {
            PeerChange::Up { incarnation, .. } => {
                let session = history.session_number();
                self.session = Some(session);
                What::Up(session, incarnation)
            }
            PeerChange::Down(cause) => {
                self.session = None;
                What::Down(cause)
            }
        };
        history.add(self.number, what);
    }
}

/// Sends a request to the manager.
fn send(client: &Client, ask: &Ask, token: Token, out: &mut dyn Outbox) -> Result<(), RequestError> {
    let tuples: Vec<Tuple> = ask.items().iter().map(|item| item.tuple()).collect();
    let tuples = tuples.as_slice();
    let expiries: Vec<Option<Span>> = ask.items().iter().map(|item| client.expiring.of(*item)).collect();
    let expiries = expiries.as_slice();
    let settled = client.settled();
    let mut send = |request: Request<'_>| {
        let planned = request.planned()?.to_space(client.number_of_space);
        Ok(planned.send(out, client.space, token, settled)?)
    };
    match ask {
        Ask::Out { within, .. } => send(Request::Out { deadline: *within, tuples, expiries }),
        Ask::Take { pattern, wait, lease: Some(lease), for_group: true } => {
            let (wait, lease, limit) = (*wait, *lease, None);
            send(Request::Hold { wait, lease, limit, template: &pattern.template() })
        }
        Ask::Take { pattern, wait, lease, .. } => {
            send(Request::Take { wait: *wait, lease: *lease, template: &pattern.template() })
        }
        Ask::Read { pattern, wait, for_group: true } => {
            send(Request::Witness { wait: *wait, template: &pattern.template() })
        }
        Ask::Read { pattern, wait, .. } => send(Request::Read { wait: *wait, template: &pattern.template() }),
        Ask::Cancel => send(Request::Cancel),
        Ask::Return => send(Request::Return),
        Ask::Ack { lease, within, .. } => {
            send(Request::Ack { lease: *lease, deadline: *within, tuples, expiries })
        }
        Ask::Release { lease } => send(Request::Release { lease: *lease }),
        Ask::Commit { leases, witnesses, within, .. } => {
            send(Request::Commit { leases, witnesses, deadline: *within, tuples, expiries })
        }
        Ask::Abort { leases } => send(Request::Abort { leases }),
        Ask::Renew => send(Request::Renew),
        Ask::Count { pattern } => send(Request::Count { template: &pattern.template() }),
        Ask::List { pattern } => send(Request::List {
            subject: Subject::Tuples,
            from: Cursor::default(),
            size: LISTED,
            template: Some(&pattern.template()),
        }),
        Ask::Status => send(Request::Status),
    }
}

/// Reads an answer.
fn outcome(frame: &Frame<'_>) -> Outcome {
    match Answer::decode(frame.kind, frame.body, frame.bulk) {
        Ok(Answer::Done) => Outcome::Done,
        Ok(Answer::Witnessed(tuple, witness)) => match Item::of(&tuple) {
            Some(seen) => Outcome::Witnessed(seen, witness),
            None => Outcome::Garbage(tuple.to_string()),
        },
        Ok(Answer::Tuple(tuple, attempt)) => match Item::of(&tuple) {
            Some(seen) => Outcome::Tuple(seen, attempt),
            None => Outcome::Garbage(tuple.to_string()),
        },
        Ok(Answer::Selected(_, tuple, _)) => Outcome::Garbage(tuple.to_string()),
        Ok(Answer::NoMatch) => Outcome::NoMatch,
        Ok(Answer::Count(count)) => Outcome::Count(count),
        Ok(Answer::State(state)) => Outcome::State(state),
        Ok(Answer::Page(page)) => {
            listing(&page).map_or_else(|| Outcome::Garbage(format!("{page:?}")), Outcome::Listed)
        }
        // No run asks for these.
        Ok(
            answer @ (Answer::Spaces(_)
            | Answer::Collected(_)
            | Answer::Routes(_)
            | Answer::Moved(_)
            | Answer::Events(_)
            | Answer::TooOld { .. }),
        ) => Outcome::Garbage(format!("{answer:?}")),
        Ok(Answer::Error(refusal)) if refusal.code == Code::Malformed => Outcome::Garbage(refusal.text),
        Ok(Answer::Error(refusal)) => Outcome::Refused(refusal.code),
        Err(error) => Outcome::Garbage(error.to_string()),
    }
}

/// Reads a page; none if a tuple is in it that no run puts.
fn listing(page: &Page) -> Option<Listing> {
    let Rows::Tuples(rows) = &page.rows else { return None };
    let mut listing = Listing { shown: Vec::new(), leased: Vec::new(), is_whole: page.next.is_none() };
    for row in rows {
        let part = if row.lease.is_some() { &mut listing.leased } else { &mut listing.shown };
        part.push(Item::of_glimpses(&row.fields)?);
    }
    Some(listing)
}

impl Protocol for Client {
    fn handle(&mut self, now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        out.work(STEP, 1);
        match input {
            Input::Frame(from, frame) if from == self.space => self.answer(now, &frame),
            Input::Peer(_, change) => self.peer(change),
            Input::Started | Input::Wake | Input::Frame(..) | Input::Writable(_) => {}
        }
        if self.is_up() {
            Behaviour { client: self, now }.act();
        }
        self.pump(out);
    }

    fn deadline(&self) -> Option<Time> {
        self.session.and(self.workload.deadline())
    }
}

impl Client {
    /// A number for a tuple that it makes.
    pub(crate) fn item_number(&self) -> u64 {
        self.history.borrow_mut().item_number()
    }
}

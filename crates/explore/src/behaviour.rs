//! What a client wants: requests of its own accord, and what becomes of the tuples it gets.

use crate::client::Client;
use crate::history::{Ask, Outcome};
use crate::item::{Item, Pattern, Shape};
use crate::plan::{ClientPlan, pick};
use quintet_contract::{Random, Span, Time, Token};
use quintet_tuple_space::{LeaseId, Wait};

/// The shortest and the longest time to live of a lease, in microseconds.
const TTL_US: (u64, u64) = (2_000, 30_000);
/// The time between two renewals: a lease that lives shorter is lost now and then.
const RENEWAL: Span = Span::from_millis(3);
/// Requests that wait for the link; beyond it a client makes no new ones.
const MAX_QUEUED: usize = 6;
/// Requests of its own accord that a client has unanswered at one time.
const MAX_PENDING: usize = 8;

/// The longest time to live of a lease.
pub(crate) const LONGEST_LEASE: Span = Span::from_micros(TTL_US.1);

/// The will of a client.
#[derive(Debug)]
pub(crate) struct Mind {
    random: Random,
    /// None: it asks what it is told to.
    plan: Option<ClientPlan>,
    /// Requests that it will still make.
    pub(crate) requests: u32,
    next_request: Time,
    next_renewal: Time,
    paused_until: Time,
    held: Vec<Held>,
    undecided: Vec<Undecided>,
    /// It makes no more requests of its own, renews nothing and returns nothing.
    finishes: bool,
}

/// A lease it holds.
#[derive(Debug)]
struct Held {
    lease: LeaseId,
    fate: Fate,
    /// When that comes.
    at: Time,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fate {
    Acknowledge,
    Release,
    /// Nothing is done with it; renewals keep it alive as long as there are any.
    Abandon,
}

/// A tuple that it may give back.
#[derive(Debug)]
struct Undecided {
    token: Token,
    returns: bool,
    at: Time,
}

impl Mind {
    /// Makes the requests of `plan`, of which `requests` are left.
    pub(crate) fn new(random: Random, plan: ClientPlan, requests: u32, now: Time) -> Mind {
        Mind {
            plan: Some(plan),
            requests,
            next_request: now,
            next_renewal: now,
            paused_until: now,
            ..Mind::without(random)
        }
    }

    /// Asks what it is told to.
    pub(crate) fn obedient() -> Mind {
        Mind::without(Random::new(0, 0))
    }

    fn without(random: Random) -> Mind {
        let start = Time::ZERO;
        Mind {
            random,
            plan: None,
            requests: 0,
            next_request: start,
            next_renewal: start,
            paused_until: start,
            held: Vec::new(),
            undecided: Vec::new(),
            finishes: false,
        }
    }

    pub(crate) fn has_will(&self) -> bool {
        self.plan.is_some()
    }

    pub(crate) fn pause(&mut self, until: Time) {
        self.paused_until = self.paused_until.max(until);
    }

    /// From now on it only waits for what it has asked.
    pub(crate) fn finish(&mut self) {
        self.finishes = true;
        self.paused_until = Time::ZERO;
        self.forget();
    }

    /// The session is over: it holds nothing any more.
    pub(crate) fn forget(&mut self) {
        self.held.clear();
        self.undecided.clear();
    }

    pub(crate) fn first_undecided(&self) -> Option<Token> {
        self.undecided.iter().map(|undecided| undecided.token).min()
    }

    /// Decides what becomes of an answer.
    pub(crate) fn learn(&mut self, now: Time, token: Token, ask: &Ask, outcome: &Outcome) {
        if self.finishes {
            return;
        }
        match (ask, outcome) {
            (Ask::Take { .. }, Outcome::Tuple(_, Some(attempt))) => {
                let fate = *pick(
                    &mut self.random,
                    &[Fate::Acknowledge, Fate::Acknowledge, Fate::Release, Fate::Abandon],
                );
                let at = now + Span(self.random.below(2) * self.random.below(20_000_000));
                if self.held.is_empty() {
                    self.next_renewal = now + RENEWAL;
                }
                self.held.push(Held { lease: attempt.lease, fate, at });
            }
            (Ask::Take { .. }, Outcome::Tuple(_, None)) if self.random.chance(300_000) => {
                let returns = self.random.chance(600_000);
                let at = now + Span(self.random.below(5_000_000));
                self.undecided.push(Undecided { token, returns, at });
            }
            _ => {}
        }
    }

    /// When it wants to act next.
    pub(crate) fn deadline(&self) -> Option<Time> {
        let plan = self.plan.as_ref().filter(|_| !self.finishes)?;
        let request = (self.requests > 0).then_some(self.next_request);
        let renewal = (plan.renews && !self.held.is_empty()).then_some(self.next_renewal);
        let held = self.held.iter().filter(|held| held.fate != Fate::Abandon).map(|held| held.at);
        let undecided = self.undecided.iter().map(|undecided| undecided.at);
        let next = held.chain(undecided).chain(request).chain(renewal).min()?;
        Some(next.max(self.paused_until))
    }

    fn item(&mut self, number: u64) -> Item {
        let shape = match self.random.below(10) {
            0..=5 => Shape::Job(u8::try_from(self.random.below(3)).expect("below 3")),
            6..=7 => Shape::Note,
            // Four of them fit a frame where nothing cuts large data into fragments, and half of the smallest window.
            8 => Shape::Blob(*pick(&mut self.random, &[0, 10, 400, 1100, 1900])),
            _ => Shape::Grid(u8::try_from(self.random.below(5)).expect("below 5")),
        };
        Item { shape, number }
    }

    fn pattern(&mut self) -> Pattern {
        match self.random.below(10) {
            0..=2 => Pattern::Job(u8::try_from(self.random.below(3)).expect("below 3")),
            3..=5 => Pattern::AnyJob,
            6 => Pattern::Note,
            7 => Pattern::Named,
            8 => Pattern::Blob,
            _ => Pattern::Grid,
        }
    }

    fn wait(&mut self) -> Wait {
        match self.random.below(10) {
            0..=2 => Wait::AtOnce,
            3..=6 => Wait::For(Span::from_micros(200 + self.random.below(20_000))),
            _ => Wait::Forever,
        }
    }

    fn within(&mut self) -> Option<Span> {
        match self.random.below(10) {
            0 => Some(Span::ZERO),
            1..=4 => Some(Span::from_micros(200 + self.random.below(20_000))),
            _ => None,
        }
    }
}

/// A client that acts.
pub(crate) struct Behaviour<'a> {
    pub(crate) client: &'a mut Client,
    pub(crate) now: Time,
}

impl Behaviour<'_> {
    /// Does what is due.
    pub(crate) fn act(&mut self) {
        let mind = &self.client.mind;
        if mind.finishes || mind.paused_until > self.now {
            return;
        }
        self.decide();
        self.use_leases();
        self.renew();
        self.make_request();
    }

    fn decide(&mut self) {
        let now = self.now;
        let due: Vec<_> =
            self.client.mind.undecided.extract_if(.., |undecided| undecided.at <= now).collect();
        for undecided in due.into_iter().filter(|undecided| undecided.returns) {
            self.client.say(undecided.token, Ask::Return);
        }
    }

    fn use_leases(&mut self) {
        let now = self.now;
        let is_due = |held: &mut Held| held.fate != Fate::Abandon && held.at <= now;
        let due: Vec<_> = self.client.mind.held.extract_if(.., is_due).collect();
        for Held { lease, fate, .. } in due {
            let ask = match fate {
                Fate::Acknowledge => {
                    let count = self.client.mind.random.below(3);
                    let items = self.items(count);
                    Ask::Ack { lease, items, within: self.client.mind.within() }
                }
                Fate::Release | Fate::Abandon => Ask::Release { lease },
            };
            self.client.ask(ask);
        }
    }

    fn renew(&mut self) {
        let mind = &mut self.client.mind;
        let renews = mind.plan.is_some_and(|plan| plan.renews) && !mind.held.is_empty();
        if renews && mind.next_renewal <= self.now {
            mind.next_renewal = self.now + RENEWAL;
            // A client with nothing but abandoned leases stops one day, so that others get the tuples.
            if mind.held.iter().all(|held| held.fate == Fate::Abandon) && mind.random.chance(100_000) {
                mind.held.clear();
            }
            self.client.say(Token(0), Ask::Renew);
        }
    }

    fn make_request(&mut self) {
        let is_busy = self.client.queue.len() >= MAX_QUEUED || self.client.pending.len() >= MAX_PENDING;
        let mind = &mut self.client.mind;
        let Some(plan) = mind.plan.filter(|_| mind.requests > 0 && mind.next_request <= self.now) else {
            return;
        };
        mind.next_request = self.now + Span(1 + mind.random.below(plan.gap.0));
        mind.requests -= 1;
        // A client that waits for ever for others would never say another word: it gives one of them up.
        if is_busy {
            return self.cancel();
        }
        let burst = if mind.random.chance(100_000) { 3 } else { 1 };
        for _ in 0..burst {
            self.request();
        }
    }

    fn request(&mut self) {
        let mind = &mut self.client.mind;
        let ask = match mind.random.below(100) {
            0..=33 => {
                let count = if mind.random.chance(300_000) { 1 + mind.random.below(4) } else { 1 };
                Ask::Out { items: self.items(count), within: self.client.mind.within() }
            }
            34..=55 => Ask::Take { pattern: mind.pattern(), wait: mind.wait(), lease: None },
            56..=77 => {
                let ttl = Span::from_micros(TTL_US.0 + mind.random.below(TTL_US.1 - TTL_US.0));
                Ask::Take { pattern: mind.pattern(), wait: mind.wait(), lease: Some(ttl) }
            }
            78..=87 => Ask::Read { pattern: mind.pattern(), wait: mind.wait() },
            88..=95 => return self.cancel(),
            96..=97 => Ask::Count { pattern: mind.pattern() },
            _ => Ask::Status,
        };
        self.client.ask(ask);
    }

    /// Calls off a request that waits, whichever.
    fn cancel(&mut self) {
        let tokens: Vec<_> = self.client.pending.keys().copied().collect();
        if !tokens.is_empty() {
            let token = *pick(&mut self.client.mind.random, &tokens);
            self.client.say(token, Ask::Cancel);
        }
    }

    fn items(&mut self, count: u64) -> Vec<Item> {
        (0..count)
            .map(|_| {
                let number = self.client.item_number();
                self.client.mind.item(number)
            })
            .collect()
    }
}

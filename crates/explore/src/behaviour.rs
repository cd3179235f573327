//! What a client wants: requests of its own accord, and what becomes of the tuples it gets.

use crate::client::Client;
use crate::group::{self, Group};
use crate::history::{Ask, ENDLESS, Outcome};
use crate::item::{Item, Pattern};
use crate::plan::ClientPlan;
use quintet_contract::{Span, Time, Token};
use quintet_simulate::Chooser;
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

/// What a client is at: what it decides by, and what it has.
#[derive(Debug)]
pub(crate) struct Workload {
    /// None: it asks what it is told to.
    will: Option<Will>,
    next_request: Time,
    next_renewal: Time,
    /// It is to stand still for so long from its next step on.
    pause: Option<Span>,
    paused_until: Time,
    held: Vec<Held>,
    /// Leases without an end that it has: these it gives back in the end, whatever became of them.
    endless: Vec<LeaseId>,
    undecided: Vec<Undecided>,
    /// What its next group has taken and read so far.
    group: Group,
    /// It makes no more requests of its own, renews nothing and returns nothing.
    finishes: bool,
}

/// What a client decides by.
#[derive(Debug)]
pub(crate) struct Will {
    pub(crate) plan: ClientPlan,
    /// What it asks for.
    pub(crate) wants: Chooser,
    /// What it does with what it gets.
    pub(crate) uses: Chooser,
    /// Requests that it will still make, at most.
    pub(crate) requests: u32,
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

impl Workload {
    /// Asks what its will says; what it is told to, without one.
    pub(crate) fn new(will: Option<Will>) -> Workload {
        Workload {
            will,
            next_request: Time::ZERO,
            next_renewal: Time::ZERO,
            pause: None,
            paused_until: Time::ZERO,
            held: Vec::new(),
            endless: Vec::new(),
            undecided: Vec::new(),
            group: Group::default(),
            finishes: false,
        }
    }

    /// How many requests it would still make.
    pub(crate) fn requests(&self) -> u32 {
        self.will.as_ref().map_or(0, |will| will.requests)
    }

    pub(crate) fn has_will(&self) -> bool {
        self.will.is_some()
    }

    /// It stands still for so long, by its own clock.
    pub(crate) fn pause(&mut self, span: Span) {
        self.pause = Some(self.pause.map_or(span, |before| before.max(span)));
    }

    /// From now on it only waits for what it has asked.
    pub(crate) fn finish(&mut self) {
        self.finishes = true;
        self.pause = None;
        self.paused_until = Time::ZERO;
        self.held.clear();
        self.undecided.clear();
        self.group = Group::default();
    }

    /// The session is over: it holds nothing any more.
    pub(crate) fn forget(&mut self) {
        self.held.clear();
        self.endless.clear();
        self.undecided.clear();
        self.group = Group::default();
    }

    /// The leases without an end that it has, which it has no more.
    pub(crate) fn take_endless(&mut self) -> Vec<LeaseId> {
        std::mem::take(&mut self.endless)
    }

    /// Keeps account of leases without an end.
    fn note_endless(&mut self, ask: &Ask, outcome: &Outcome) {
        match (ask, outcome) {
            (Ask::Take { lease: Some(ENDLESS), .. }, Outcome::Tuple(_, Some(attempt))) => {
                self.endless.push(attempt.lease);
            }
            (Ask::Ack { lease, .. } | Ask::Release { lease }, Outcome::Done) => {
                self.endless.retain(|held| held != lease);
            }
            _ => {}
        }
    }

    pub(crate) fn first_undecided(&self) -> Option<Token> {
        self.undecided.iter().map(|undecided| undecided.token).min()
    }

    /// Decides what becomes of an answer.
    pub(crate) fn learn(&mut self, now: Time, token: Token, ask: &Ask, outcome: &Outcome) {
        self.note_endless(ask, outcome);
        let Some(will) = self.will.as_mut().filter(|_| !self.finishes) else { return };
        match (ask, outcome) {
            (Ask::Take { for_group: true, .. }, Outcome::Tuple(_, Some(attempt))) => {
                if self.held.is_empty() && self.group.is_empty() {
                    self.next_renewal = now + RENEWAL;
                }
                self.group.take(now, attempt.lease, &mut will.uses);
            }
            (Ask::Read { for_group: true, .. }, Outcome::Witnessed(_, witness)) => {
                self.group.read(now, *witness, &mut will.uses);
            }
            (Ask::Commit { leases, .. }, Outcome::Refused(_)) => self.group.refused(leases),
            (Ask::Take { .. }, Outcome::Tuple(_, Some(attempt))) => {
                will.uses.begin();
                let fates = [(2, Fate::Acknowledge), (1, Fate::Release), (1, Fate::Abandon)];
                let fate = *will.uses.weighted(&fates);
                let later = if will.uses.chance(500_000) { will.uses.below(20_000) } else { 0 };
                let at = now + Span::from_micros(later);
                if self.held.is_empty() && self.group.is_empty() {
                    self.next_renewal = now + RENEWAL;
                }
                self.held.push(Held { lease: attempt.lease, fate, at });
            }
            (Ask::Take { .. }, Outcome::Tuple(_, None)) => {
                will.uses.begin();
                if will.uses.chance(300_000) {
                    let returns = will.uses.chance(600_000);
                    let at = now + Span::from_micros(will.uses.below(5_000));
                    self.undecided.push(Undecided { token, returns, at });
                }
            }
            _ => {}
        }
    }

    /// When it wants to act next.
    pub(crate) fn deadline(&self) -> Option<Time> {
        let will = self.will.as_ref().filter(|_| !self.finishes)?;
        let request = (will.requests > 0).then_some(self.next_request);
        let holds = !self.held.is_empty() || self.group.has_leases();
        let renewal = (will.plan.renews && holds).then_some(self.next_renewal);
        let held = self.held.iter().filter(|held| held.fate != Fate::Abandon).map(|held| held.at);
        let undecided = self.undecided.iter().map(|undecided| undecided.at);
        let next = held.chain(undecided).chain(request).chain(renewal).chain(self.group.due()).min()?;
        Some(next.max(self.paused_until))
    }
}

/// One lease in ten has no end; of the others, half live for less than a third of the longest.
fn draw_ttl(chooser: &mut Chooser) -> Span {
    let range = TTL_US.1 - TTL_US.0;
    match chooser.below(range + range / 9) {
        within if within < range => Span::from_micros(TTL_US.0 + within * within / range),
        _ => ENDLESS,
    }
}

fn draw_wait(chooser: &mut Chooser) -> Wait {
    match *chooser.weighted(&[(3, 0), (4, 1), (3, 2)]) {
        0 => Wait::AtOnce,
        1 => Wait::For(Span::from_micros(200 + chooser.below(20_000))),
        _ => Wait::Forever,
    }
}

fn draw_within(chooser: &mut Chooser) -> Option<Span> {
    match *chooser.weighted(&[(5, 0), (4, 1), (1, 2)]) {
        0 => None,
        1 => Some(Span::from_micros(200 + chooser.below(20_000))),
        _ => Some(Span::ZERO),
    }
}

fn draw_items(client: &Client, chooser: &mut Chooser, count: u64) -> Vec<Item> {
    (0..count).map(|_| Item::draw(client.item_number(), chooser)).collect()
}

/// A sort of request.
#[derive(Clone, Copy)]
enum Sort {
    Out,
    Take,
    Lease,
    Read,
    Cancel,
    Count,
    List,
    Status,
    /// To end a lease that another has.
    Meddle,
    /// To take or read for the next group.
    Hold,
    Witness,
}

/// How often each is made.
const SORTS: [(u32, Sort); 9] = [
    (34, Sort::Out),
    (22, Sort::Take),
    (22, Sort::Lease),
    (10, Sort::Read),
    (8, Sort::Cancel),
    (1, Sort::Count),
    (1, Sort::List),
    (2, Sort::Status),
    (2, Sort::Meddle),
];
/// The same where clients form groups.
const SORTS_WITH_GROUPS: [(u32, Sort); 11] = [
    (34, Sort::Out),
    (10, Sort::Take),
    (10, Sort::Lease),
    (6, Sort::Read),
    (8, Sort::Cancel),
    (1, Sort::Count),
    (1, Sort::List),
    (2, Sort::Status),
    (2, Sort::Meddle),
    (24, Sort::Hold),
    (12, Sort::Witness),
];
/// So many leases last granted to others are those that a client may try to end.
const MEDDLED: usize = 4;

/// A client with a will that acts.
pub(crate) struct Behaviour<'a> {
    pub(crate) client: &'a mut Client,
    pub(crate) now: Time,
}

impl Behaviour<'_> {
    /// Does what is due.
    pub(crate) fn act(&mut self) {
        let workload = &mut self.client.workload;
        if let Some(span) = workload.pause.take() {
            workload.paused_until = workload.paused_until.max(self.now + span);
        }
        if workload.finishes || workload.paused_until > self.now {
            return;
        }
        let Some(mut will) = workload.will.take() else { return };
        self.decide();
        self.use_leases(&mut will);
        self.end_groups(&mut will);
        self.renew(&mut will);
        self.make_requests(&mut will);
        self.client.workload.will = Some(will);
    }

    fn decide(&mut self) {
        let now = self.now;
        let due: Vec<_> =
            self.client.workload.undecided.extract_if(.., |undecided| undecided.at <= now).collect();
        for undecided in due.into_iter().filter(|undecided| undecided.returns) {
            self.client.say(undecided.token, Ask::Return);
        }
    }

    fn use_leases(&mut self, will: &mut Will) {
        let now = self.now;
        let is_due = |held: &mut Held| held.fate != Fate::Abandon && held.at <= now;
        let due: Vec<_> = self.client.workload.held.extract_if(.., is_due).collect();
        for Held { lease, fate, .. } in due {
            let ask = match fate {
                Fate::Acknowledge => {
                    will.uses.begin();
                    let count = will.uses.below(5);
                    let items = draw_items(self.client, &mut will.uses, count);
                    Ask::Ack { lease, items, within: draw_within(&mut will.uses) }
                }
                Fate::Release | Fate::Abandon => Ask::Release { lease },
            };
            self.client.ask(ask);
        }
    }

    fn end_groups(&mut self, will: &mut Will) {
        for leases in self.client.workload.group.take_refused() {
            self.client.ask(Ask::Abort { leases });
        }
        let Some(group) = self.client.workload.group.take_due(self.now) else { return };
        will.uses.begin();
        let (leases, witnesses) = group.into_uses();
        match group::draw_end(&mut will.uses) {
            group::End::Commit => {
                let count = will.uses.below(4);
                let items = draw_items(self.client, &mut will.uses, count);
                let within = draw_within(&mut will.uses);
                self.client.ask(Ask::Commit { leases, witnesses, items, within });
            }
            group::End::Abort => {
                self.client.ask(Ask::Abort { leases });
            }
            // What it took returns by itself.
            group::End::None => {}
        }
    }

    fn renew(&mut self, will: &mut Will) {
        let workload = &mut self.client.workload;
        let renews = will.plan.renews && (!workload.held.is_empty() || workload.group.has_leases());
        if renews && workload.next_renewal <= self.now {
            workload.next_renewal = self.now + RENEWAL;
            // A client with nothing but abandoned leases stops one day, so that others get the tuples.
            let is_abandoned = workload.held.iter().all(|held| held.fate == Fate::Abandon);
            if is_abandoned && !workload.group.has_leases() {
                will.uses.begin();
                if !will.uses.chance(900_000) {
                    workload.held.clear();
                }
            }
            self.client.say(Token(0), Ask::Renew);
        }
    }

    /// Makes one request, and more if they come at once.
    fn make_requests(&mut self, will: &mut Will) {
        while will.requests > 0 && self.client.workload.next_request <= self.now {
            will.wants.begin();
            // Certain when it is drawn; a run in which it is left out is one in which the client asks less.
            if !will.wants.chance(1_000_000) {
                will.requests = 0;
                return;
            }
            will.requests -= 1;
            let gap = if will.wants.chance(850_000) { 1 + will.wants.below(will.plan.gap_us) } else { 0 };
            self.client.workload.next_request = self.now + Span::from_micros(gap);
            let sorts = if will.plan.forms_groups { &SORTS_WITH_GROUPS[..] } else { &SORTS };
            self.request(sorts, &mut will.wants);
        }
    }

    fn request(&mut self, sorts: &[(u32, Sort)], wants: &mut Chooser) {
        let is_busy = self.client.queue.len() >= MAX_QUEUED || self.client.pending.len() >= MAX_PENDING;
        // A client that waits for ever for others would never say another word: it gives one of them up.
        let sort = if is_busy { Sort::Cancel } else { *wants.weighted(sorts) };
        let ask = match sort {
            Sort::Out => {
                let count = if wants.chance(300_000) { 1 + wants.below(4) } else { 1 };
                Ask::Out { items: draw_items(self.client, wants, count), within: draw_within(wants) }
            }
            Sort::Take => Ask::Take {
                pattern: Pattern::draw(wants),
                wait: draw_wait(wants),
                lease: None,
                for_group: false,
            },
            Sort::Lease => {
                let lease = Some(draw_ttl(wants));
                Ask::Take { pattern: Pattern::draw(wants), wait: draw_wait(wants), lease, for_group: false }
            }
            Sort::Hold => {
                let lease = Some(Span::from_micros(TTL_US.0 + wants.below(TTL_US.1 - TTL_US.0)));
                Ask::Take { pattern: Pattern::draw(wants), wait: draw_wait(wants), lease, for_group: true }
            }
            Sort::Read | Sort::Witness => {
                let for_group = matches!(sort, Sort::Witness);
                Ask::Read { pattern: Pattern::draw(wants), wait: draw_wait(wants), for_group }
            }
            Sort::Cancel => return self.cancel(wants),
            Sort::Meddle => return self.meddle(wants),
            Sort::Count => Ask::Count { pattern: Pattern::draw(wants) },
            Sort::List => Ask::List { pattern: Pattern::draw(wants) },
            Sort::Status => Ask::Status,
        };
        self.client.ask(ask);
    }

    /// Tries to end a lease of another, which is to fail.
    fn meddle(&mut self, wants: &mut Chooser) {
        let leases = self.client.leases_of_others(MEDDLED);
        if leases.is_empty() {
            return;
        }
        let lease = *wants.pick(&leases);
        let ask = if wants.chance(700_000) {
            Ask::Ack { lease, items: draw_items(self.client, wants, 1), within: draw_within(wants) }
        } else {
            Ask::Release { lease }
        };
        self.client.ask(ask);
    }

    /// Calls off a request that waits, whichever.
    fn cancel(&mut self, wants: &mut Chooser) {
        let tokens: Vec<_> = self.client.pending.keys().copied().collect();
        if !tokens.is_empty() {
            let token = *wants.pick(&tokens);
            self.client.say(token, Ask::Cancel);
        }
    }
}

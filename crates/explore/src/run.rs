//! One run: work under faults, then rest, then an account of every tuple.

mod links;

use crate::behaviour::{LONGEST_LEASE, Will, Workload};
use crate::check::{self, Rule, Violation};
use crate::client::Client;
use crate::fault::{Fault, Who};
use crate::history::{Ask, History, Outcome, QUIET as QUIET_PHASE, SharedHistory, What};
use crate::item::{EVERYTHING, Pattern, Seen};
use crate::network::{INSPECTOR, Network, SPACE, Seeded, number};
use crate::plan::{Clock, Plan, streams};
use links::Links;
use quintet_contract::{NodeId, Span, Time};
use quintet_session::Reliability;
use quintet_simulate::{Choices, LinkModel, Restart};
use quintet_tuple_space::{MAX_INDEX_BYTES, State, Wait};
use std::collections::BTreeMap;

/// For so long a client is left to its work, from the start or its last fault.
const WORK: Span = Span::from_millis(40);
/// After so long without faults every request is answered that does not wait for others.
const REST_LIMIT: Span = Span::from_secs(60);
/// Without faults no frame waits longer for its acknowledgement, where links lose nothing.
const RESUMED: Span = Span::from_secs(2);
/// How often it is looked whether that is so.
const GLANCE: Span = Span::from_millis(5);
/// Longer than any lease lives, and than an exchange takes on a link that loses nothing.
const QUIET: Span = Span(LONGEST_LEASE.0 + 20_000_000);

/// What came of a run.
pub(crate) struct Outcomes {
    pub(crate) plan: Plan,
    pub(crate) violation: Option<Violation>,
    pub(crate) history: History,
    pub(crate) events: u64,
    pub(crate) digest: u64,
    pub(crate) redone: u64,
}

/// Runs what the choices make of it. The run's choices are made when it ends.
pub(crate) fn run(choices: &Choices, events_limit: u64, seeded: Seeded) -> Outcomes {
    let plan = Plan::draw(choices);
    let history = SharedHistory::default();
    let mut run = Run::new(choices, &plan, history.clone(), events_limit, seeded);
    let violation = run.play().err();
    let (events, digest, redone) =
        (run.network.simulation.events(), run.network.simulation.digest(), run.redone);
    drop(run);
    let history = std::mem::take(&mut *history.borrow_mut());
    let violation = check::history(&plan, &history, violation.is_none()).err().or(violation);
    Outcomes { plan, violation, history, events, digest, redone }
}

struct Run<'a> {
    choices: &'a Choices,
    plan: &'a Plan,
    history: SharedHistory,
    network: Network,
    /// The life in which each process is: the manager, then the clients.
    lives: Vec<u64>,
    links: Links,
    events_limit: u64,
    redone: u64,
}

impl<'a> Run<'a> {
    fn new(
        choices: &'a Choices,
        plan: &'a Plan,
        history: SharedHistory,
        events_limit: u64,
        seeded: Seeded,
    ) -> Run<'a> {
        let network = Network::new(plan, choices, history.clone(), seeded);
        let lives = vec![1; plan.clients.len() + 1];
        let links = Links::default();
        let mut run = Run { choices, plan, history, network, lives, links, events_limit, redone: 0 };
        for (index, client) in plan.clients.iter().enumerate() {
            let begins = run.client(index, client.requests);
            run.network.add(begins, client.link, client.reliability, client.clock);
        }
        run
    }

    /// A client at the beginning of a life.
    fn client(&self, index: usize, requests: u32) -> Client {
        let number = number(index);
        let will = Will {
            plan: self.plan.clients[index],
            wants: self.choices.stream(streams::WANTS + u64::from(number)),
            uses: self.choices.stream(streams::USES + u64::from(number)),
            requests,
        };
        let most = self.plan.max_unanswered();
        Client::new(number, SPACE, most, self.history.clone(), Workload::new(Some(will)))
    }

    fn note(&self, client: u16, what: What) {
        self.history.borrow_mut().add(client, what);
    }

    fn play(&mut self) -> Result<(), Violation> {
        self.work()?;
        self.end_work();
        self.come_to_rest()?;
        let most = self.plan.max_unanswered();
        let inspector = Client::new(INSPECTOR, SPACE, most, self.history.clone(), Workload::new(None));
        self.network.add(inspector, LinkModel::default(), Reliability::Link, Clock::default());
        self.advance(GLANCE)?;
        self.find_forgotten_waiters()?;
        self.check_credit()?;
        self.call_off();
        self.come_to_rest()?;
        self.settle();
        self.come_to_rest()?;
        self.check_credit()?;
        self.account()?;
        self.network.check_space_books()
    }

    fn work(&mut self) -> Result<(), Violation> {
        for (at, fault) in &self.plan.faults {
            self.network.run_to(Time::ZERO + *at, self.events_limit);
            self.note(fault.who().unwrap_or(0), What::Fault(fault.clone()));
            if let Fault::Replace { who } = fault {
                self.check_taken_over(*who)?;
                self.check_given_up(*who)?;
            }
            self.suffer(fault);
            self.check_overtaken()?;
        }
        let end = self.network.simulation.now() + WORK;
        self.network.run_to(end, self.events_limit);
        self.check_overtaken()
    }

    fn suffer(&mut self, fault: &Fault) {
        match fault {
            Fault::Pause { who, span } => self.network.client_mut(*who).workload.pause(*span),
            Fault::Crash { who, notice, remembers } => {
                if *who != 0 && !remembers {
                    self.network.client_mut(*who).give_up();
                }
                self.network.simulation.crash(NodeId(*who), *notice);
            }
            Fault::Restart { who, remembers: true } => {
                self.network.simulation.restart(NodeId(*who), Restart::WithMemory);
            }
            Fault::Restart { who, .. } => self.start_again(*who),
            Fault::Cut { who, to_space, to_client } => self.cut(*who, *to_space, *to_client),
            Fault::Heal { who } => self.cut(*who, false, false),
            Fault::Break { who, to_space, to_client } => self.break_link(*who, *to_space, *to_client),
            Fault::Notice { who, at_space } => self.tell(*who, *at_space),
            Fault::Dial { who, at_space } => self.dial(*who, *at_space),
            Fault::Replace { who } => self.replace(*who),
            Fault::Partition { apart } => self.divide(apart),
            Fault::Mend => self.network.simulation.partition(&[]),
            Fault::Slow { who, per_mille } => self.network.set_slowness(NodeId(*who), *per_mille),
            Fault::Freeze { who, span } => self.network.freeze(*who, *span, self.events_limit),
            Fault::Thaw { .. } => {}
        }
    }

    /// A crashed process begins another life.
    fn start_again(&mut self, who: Who) {
        self.lives[usize::from(who)] += 1;
        let life = self.lives[usize::from(who)];
        if who == 0 {
            return self.network.restart_manager(life);
        }
        let index = usize::from(who) - 1;
        let requests = self.network.client_mut(who).workload.requests();
        let begins = self.client(index, requests);
        self.network.restart(begins, &self.plan.clients[index], life);
    }

    fn divide(&mut self, apart: &[Who]) {
        let is_apart = |who: &Who| apart.contains(who);
        let all = 0..=number(self.plan.clients.len() - 1);
        let (far, near): (Vec<Who>, Vec<Who>) = all.partition(is_apart);
        let nodes = |group: Vec<Who>| group.into_iter().map(NodeId).collect::<Vec<_>>();
        self.network.simulation.partition(&[&nodes(near), &nodes(far)]);
    }

    /// No client makes new requests. (Every fault of a plan ends before the work does.)
    fn end_work(&mut self) {
        self.note(0, What::Phase("the clients only wait from now on"));
        for index in 0..self.plan.clients.len() {
            self.network.client_mut(number(index)).workload.finish();
        }
    }

    /// Runs until nothing happens to any client for longer than a lease lives.
    fn come_to_rest(&mut self) -> Result<(), Violation> {
        let end = self.network.simulation.now() + REST_LIMIT;
        loop {
            let mut kept_since = BTreeMap::new();
            let before = self.history.borrow().events.len();
            while let Some(unrest) = self.unrest() {
                self.check_resumed(&mut kept_since)?;
                if self.history.borrow().is_cut_off {
                    return Err(Violation::new(Rule::NobodyCutOff, "a client has broken the protocol"));
                }
                self.network.dial_again(&self.plan.clients);
                self.advance(GLANCE)?;
                self.require(self.network.simulation.now() < end, unrest)?;
            }
            self.advance(QUIET)?;
            if self.unrest().is_none() && self.history.borrow().events.len() == before {
                return Ok(());
            }
            self.require(self.network.simulation.now() < end, "the clients still get answers")?;
        }
    }

    /// Where frames are kept for the next link, none of them is under way for long. `since`: from when on some are, for each client.
    fn check_resumed(&self, since: &mut BTreeMap<u16, Time>) -> Result<(), Violation> {
        let now = self.network.simulation.now();
        for (index, _) in self.plan.clients.iter().enumerate().filter(|(_, client)| client.retains()) {
            let number = number(index);
            if !self.network.is_joined(number) || self.network.is_idle(number) {
                since.remove(&number);
            } else if now.since(*since.entry(number).or_insert(now)) > RESUMED {
                let text =
                    format!("for {RESUMED} client {number} or the manager has kept a frame for the other");
                return Err(Violation::new(Rule::SessionsOutliveCuts, text));
            }
        }
        Ok(())
    }

    /// Why not every client waits only for what may take for ever, or what is under way.
    fn unrest(&mut self) -> Option<&'static str> {
        (0..self.plan.clients.len()).map(number).find_map(|number| {
            let client = self.network.client_mut(number);
            if !client.is_up() {
                Some("a client has no session")
            } else if !client.is_patient() {
                Some("a client waits for an answer, or to send a request")
            } else if !self.network.is_joined(number) {
                Some("a client has a session that the manager does not have")
            } else if !self.network.is_idle(number) {
                Some("a frame has not been acknowledged")
            } else {
                None
            }
        })
    }

    fn require(&self, holds: bool, text: &str) -> Result<(), Violation> {
        let text = || format!("{REST_LIMIT} after the last fault {text}");
        if holds { Ok(()) } else { Err(Violation::new(Rule::ComesToRest, text())) }
    }

    fn advance(&mut self, span: Span) -> Result<(), Violation> {
        let end = self.network.simulation.now() + span;
        self.network.run_to(end, self.events_limit);
        if self.network.simulation.events() >= self.events_limit {
            let text = format!("{} events by {}", self.events_limit, self.network.simulation.now());
            return Err(Violation::new(Rule::ComesToRest, text));
        }
        Ok(())
    }

    /// What the inspector is answered.
    fn inspect(&mut self, asks: Vec<Ask>) -> Result<Vec<Outcome>, Violation> {
        let count = asks.len();
        let inspector = self.network.client_mut(INSPECTOR);
        inspector.outcomes.clear();
        for ask in asks {
            inspector.ask(ask);
        }
        self.network.prompt(INSPECTOR);
        let end = self.network.simulation.now() + REST_LIMIT;
        while self.network.client_mut(INSPECTOR).outcomes.len() < count {
            self.advance(Span::from_micros(250))?;
            self.require(self.network.simulation.now() < end, "the inspector was not answered")?;
        }
        let mut outcomes = std::mem::take(&mut self.network.client_mut(INSPECTOR).outcomes);
        outcomes.sort_by_key(|(token, _)| *token);
        Ok(outcomes.into_iter().map(|(_, outcome)| outcome).collect())
    }

    fn state(&mut self) -> Result<State, Violation> {
        match self.inspect(vec![Ask::Status])?.pop() {
            Some(Outcome::State(state)) => Ok(*state),
            other => Err(Violation::new(Rule::AnsweredOnce, format!("a status is answered by {other:?}"))),
        }
    }

    /// Whether everything lent between the manager and any client is with one of them, and nothing is kept that has arrived.
    fn check_credit(&self) -> Result<(), Violation> {
        (0..self.plan.clients.len()).map(number).try_for_each(|client| {
            self.network.check_credit(client)?;
            self.network.check_kept(client)
        })
    }

    /// Nobody may wait for a tuple that is there, nor for room that is there.
    fn find_forgotten_waiters(&mut self) -> Result<(), Violation> {
        self.note(0, What::Phase(QUIET_PHASE));
        let expiring = self.plan.expiring();
        let mut wanted: Vec<Pattern> = Vec::new();
        let mut puts = Vec::new();
        for index in 0..self.plan.clients.len() {
            for pending in self.network.client_mut(number(index)).pending.values() {
                match &pending.ask {
                    Ask::Take { pattern, .. } | Ask::Read { pattern, .. } => wanted.push(*pattern),
                    ask => puts.push((
                        ask.items().len() as u64,
                        ask.items().iter().map(|item| expiring.bytes(*item)).sum(),
                    )),
                }
            }
        }
        wanted.sort_unstable();
        wanted.dedup();
        let counts = self.inspect(wanted.iter().map(|pattern| Ask::Count { pattern: *pattern }).collect())?;
        for (pattern, count) in wanted.iter().zip(counts) {
            if !matches!(count, Outcome::Count(0)) {
                let text = format!("a request for {pattern:?} waits, and the space says to it: {count}");
                return Err(Violation::new(Rule::NoLostWakeUp, text));
            }
        }
        let state = self.state()?;
        let fits = |(tuples, bytes): &(u64, u64)| {
            state.tuples + state.leases + tuples <= self.plan.space.max_tuples
                && state.bytes + state.index_bytes + bytes + tuples * MAX_INDEX_BYTES
                    <= self.plan.space.max_bytes
        };
        if !puts.is_empty() && puts.iter().all(fits) {
            let text = format!("{} puts wait for room, and every one would fit", puts.len());
            return Err(Violation::new(Rule::NoLostWakeUp, text));
        }
        Ok(())
    }

    /// Every client cancels what it waits for.
    fn call_off(&mut self) {
        self.note(0, What::Phase("the clients call off what they wait for"));
        for index in 0..self.plan.clients.len() {
            self.network.client_mut(number(index)).call_off();
            self.network.prompt(number(index));
        }
    }

    /// Every client gives back the leases that would never end, and says that it keeps what it took: any request of one that waits
    /// for nothing says so.
    fn settle(&mut self) {
        for index in 0..self.plan.clients.len() {
            self.network.client_mut(number(index)).release_endless();
            self.network.client_mut(number(index)).ask(Ask::Status);
            self.network.prompt(number(index));
        }
    }

    /// Takes everything out and compares it with the manager's own books.
    fn account(&mut self) -> Result<(), Violation> {
        self.note(0, What::Phase("the space is emptied"));
        let before = self.state()?;
        self.redone = before.redone;
        let unfinished = before.hidden + before.waiters + before.leases + before.parked;
        if unfinished != 0 {
            let text =
                format!("nothing is unfinished, and the space says: {}", Outcome::State(Box::new(before)));
            return Err(Violation::new(Rule::CountsReturn, text));
        }
        let (tuples, bytes) = self.drain()?;
        // The bytes of dead letters are the manager's own: only their sum with those of other tuples could be compared.
        let bytes_differ = bytes.is_some_and(|bytes| bytes != before.bytes);
        if tuples != before.tuples || bytes_differ {
            let bytes = bytes.map_or("some".into(), |bytes| bytes.to_string());
            let said = Outcome::State(Box::new(before));
            let text = format!("{tuples} tuples of {bytes} bytes were taken out, and the space said: {said}");
            return Err(Violation::new(Rule::CountsReturn, text));
        }
        let after = self.state()?;
        if after.tuples + after.bytes + after.hidden + after.leases + after.waiters + after.parked != 0 {
            let text = format!("the space was emptied and says: {}", Outcome::State(Box::new(after)));
            return Err(Violation::new(Rule::CountsReturn, text));
        }
        Ok(())
    }

    /// Takes out every tuple: how many, and of how many bytes unless there were dead letters.
    fn drain(&mut self) -> Result<(u64, Option<u64>), Violation> {
        let (mut tuples, mut bytes) = (0, Some(0));
        let mut left = EVERYTHING.to_vec();
        while !left.is_empty() {
            let take = |pattern: &Pattern| Ask::Take {
                pattern: *pattern,
                wait: Wait::AtOnce,
                lease: None,
                for_group: false,
            };
            let outcomes = self.inspect(left.iter().map(take).collect())?;
            let mut taken = outcomes.into_iter();
            left.retain(|_| {
                let Some(Outcome::Tuple(Seen { item, is_dead }, None)) = taken.next() else { return false };
                tuples += 1;
                bytes = bytes.filter(|_| !is_dead).map(|bytes| bytes + self.plan.expiring().bytes(item));
                true
            });
        }
        Ok((tuples, bytes))
    }
}

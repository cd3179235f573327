//! One run: requests under faults, then rest.

mod links;
mod lives;

use super::history::{History, What};
use super::panics::caught;
use super::plan::{Fault, Plan};
use super::strike::Strike;
use super::watched::{Answers, Callers, STEP, Watched};
use super::{Birth, Broken, Call, PORT_CALLERS, System, Verdict};
use crate::plan::streams;
use lives::Due;
use quintet_contract::{Address, Bytes, NodeId, OwnedFrame, Port, Span, Time, Token};
use quintet_simulate::{Choices, Chooser, Distribution, Picos, Simulation};
use std::ops::Range;

/// The rule of those who panic.
pub(super) const NO_PANIC: &str = "nothing panics";
/// The rule of those who have events without end.
const ENDS: &str = "a run comes to its end";
/// What a step costs, where nodes may stand still: a node that does so takes so many times as long for its next one.
const STEP_COST: Span = Span::from_micros(1);
/// The slowness of a node that is as fast as usual, in thousandths.
const USUAL: u64 = 1_000;
/// So long nothing is looked for in the end.
const TURN: Span = Span::from_millis(5);

/// What came of a run.
pub(super) struct Outcomes {
    pub(super) broken: Option<Broken>,
    /// Why it is open whether something was, if it is.
    pub(super) open: Option<String>,
    /// What the choices made of it.
    pub(super) plan: String,
    pub(super) nodes: u16,
    pub(super) faults: usize,
    pub(super) requests: u64,
    pub(super) answers: u64,
    pub(super) events: u64,
    /// The events of its part in which something may go wrong.
    pub(super) steps: Range<u64>,
    pub(super) digest: u64,
    /// Empty unless it was to be kept.
    pub(super) history: Vec<String>,
}

/// Runs what the choices make of it. The run's choices are made when it ends.
pub(super) fn run<S: System>(
    system: &S,
    choices: &Choices,
    events_limit: u64,
    keeps_history: bool,
) -> Outcomes {
    let plan = Plan::draw(choices, system);
    let history = History::new(keeps_history);
    let mut counted = Counted::default();
    let found = caught(|| {
        let mut run = Run::new(system, choices, &plan, history.clone(), events_limit);
        let played = caught(|| run.play());
        counted = run.counted();
        played
    });
    let (broken, open) = match found.and_then(|played| played) {
        Ok(Ok(Verdict::Holds)) => (None, None),
        Ok(Ok(Verdict::Open(why))) => (None, Some(why)),
        Ok(Err(broken)) => (Some(broken), None),
        Err(panic) => (Some(Broken::new(NO_PANIC, panic)), None),
    };
    let Counted { requests, answers, events, quiet, steps, strikes, digest } = counted;
    let drawn = plan.faults.iter().filter(|(_, fault)| !fault.is_end()).count();
    let (faults, steps) = (drawn + strikes, quiet + 1..steps + 1);
    let history = if keeps_history { history.lines(system) } else { Vec::new() };
    let (nodes, plan) = (plan.nodes, plan.to_string());
    Outcomes { broken, open, plan, nodes, faults, requests, answers, events, steps, digest, history }
}

/// What was counted in a run, up to a panic if that ended it. Nothing if not even its nodes could be made.
#[derive(Clone, Copy, Default)]
struct Counted {
    requests: u64,
    answers: u64,
    events: u64,
    /// Events before the first after which something may go wrong, and up to the last.
    quiet: u64,
    steps: u64,
    /// Faults that were given for an event.
    strikes: usize,
    digest: u64,
}

/// A run as it is at one moment.
pub struct View<'a, P> {
    simulation: &'a Simulation,
    hosted: &'a [Life],
    protocol: core::marker::PhantomData<fn() -> P>,
}

impl<'a, P: 'static + quintet_contract::Protocol> View<'a, P> {
    /// The simulated time.
    #[must_use]
    pub fn now(&self) -> Time {
        self.simulation.now()
    }

    /// The nodes that are up, in the order of their numbers.
    pub fn nodes(&self) -> impl Iterator<Item = (NodeId, &'a P)> {
        self.hosted
            .iter()
            .filter(|life| life.is_up)
            .filter_map(|life| Some((life.node, self.protocol(life.node)?)))
    }

    /// What a node runs; none while it is down.
    #[must_use]
    pub fn node(&self, node: NodeId) -> Option<&'a P> {
        let is_up = self.hosted.iter().any(|life| life.node == node && life.is_up);
        is_up.then(|| self.protocol(node)).flatten()
    }

    /// What is on a node's disk: while it is up, with all that it has begun to write.
    #[must_use]
    pub fn disk(&self, node: NodeId) -> &'a [u8] {
        self.simulation.disk_bytes(node)
    }

    fn protocol(&self, node: NodeId) -> Option<&'a P> {
        let port = self.hosted.iter().find(|life| life.node == node)?.port;
        let watched = self.simulation.get::<Watched<P>>(Address { node, port });
        watched.map(|watched| &watched.protocol)
    }
}

/// A node, as the run sees it.
#[derive(Clone, Copy, Debug)]
struct Life {
    node: NodeId,
    port: Port,
    number: u64,
    is_up: bool,
    /// When its peers have been told how it went down last.
    told: Time,
    /// It went down as its process ended by itself.
    has_exited: bool,
    next_request: Time,
    requests_left: u64,
    /// Links that were made for it when they were needed.
    dialled: u64,
}

struct Run<'a, S: System> {
    system: &'a S,
    plan: &'a Plan,
    simulation: Simulation,
    history: History,
    answers: Answers,
    ledger: S::Ledger,
    lives: Vec<Life>,
    wants: Vec<Chooser>,
    losses: Chooser,
    counted: Counted,
    events_limit: u64,
    /// Pairs of nodes that have links when they need them, the one that makes them first, and whether they have had one.
    dialling: Vec<(NodeId, NodeId, bool)>,
    /// Pairs of nodes whose links hosts make again.
    redialled: Vec<(NodeId, NodeId)>,
    next_dial: Time,
    /// Who is refused where it dials.
    dials: Chooser,
    /// What hosts are to do, or to find.
    due: Vec<(Time, Due)>,
    /// What goes wrong after an event that has not happened yet.
    strike: Option<&'a Strike>,
    /// Ways that keep frames back.
    held: Vec<(NodeId, NodeId)>,
}

impl<'a, S: System> Run<'a, S> {
    fn new(
        system: &'a S,
        choices: &Choices,
        plan: &'a Plan,
        history: History,
        events_limit: u64,
    ) -> Run<'a, S> {
        let life = |node| Life {
            node,
            port: system.port_of(node),
            number: 1,
            is_up: true,
            told: Time::ZERO,
            has_exited: false,
            next_request: Time::ZERO,
            requests_left: plan.requests,
            dialled: 0,
        };
        let wants = |node: NodeId| choices.stream(streams::WANTS + u64::from(node.0));
        let mut run = Run {
            system,
            plan,
            simulation: Simulation::explored(plan.seed, choices.clone()),
            history,
            answers: Answers::default(),
            ledger: S::Ledger::default(),
            lives: plan.ids().map(life).collect(),
            wants: plan.ids().map(wants).collect(),
            losses: choices.stream(streams::LOSSES),
            counted: Counted::default(),
            events_limit,
            dialling: Vec::new(),
            redialled: Vec::new(),
            dials: choices.stream(streams::DIALS),
            due: Vec::new(),
            strike: plan.strike.as_ref(),
            next_dial: Time::ZERO,
            held: Vec::new(),
        };
        for (node, (offset, drift)) in plan.ids().zip(&plan.clocks) {
            let (here, born) = (run.address(node), run.born(node, 1));
            run.simulation.add(here, born);
            let answers = run.answers.clone();
            run.simulation.add(Address { port: PORT_CALLERS, ..here }, Callers { node, answers });
            run.simulation.set_clock(node, *offset, *drift);
            run.simulation.choose_disk(node, choices.stream(streams::USES + u64::from(node.0)));
            run.set_costs(node);
        }
        for (here, there) in plan.ids().flat_map(|a| (a.0 + 1..=plan.nodes).map(move |b| (a, NodeId(b)))) {
            run.join(here, there);
        }
        for index in 0..run.lives.len() {
            run.put_off(index);
        }
        run
    }

    fn address(&self, node: NodeId) -> Address {
        Address { node, port: self.system.port_of(node) }
    }

    /// A node's protocol at the beginning of a life.
    fn born(&self, node: NodeId, life: u64) -> Watched<S::Node> {
        let birth = Birth { node, nodes: self.plan.nodes, life, seed: self.plan.seed };
        Watched { protocol: self.system.node(&birth), node, history: self.history.clone() }
    }

    /// Where a node may stand still in a step, steps take time.
    fn set_costs(&mut self, node: NodeId) {
        if self.system.faults().pauses {
            let cost = Distribution::Constant(STEP_COST.0 as f64 * 1e3);
            self.simulation.set_costs(self.address(node), [(STEP, cost)].into_iter().collect());
        }
    }

    fn counted(&self) -> Counted {
        let (events, digest) = (self.simulation.events(), self.simulation.digest());
        Counted { events, digest, ..self.counted }
    }

    fn play(&mut self) -> Result<Verdict, Broken> {
        let mut faults = self.plan.faults.iter().peekable();
        loop {
            let fault = faults.peek().map(|(at, _)| Time::ZERO + *at);
            let request = self.next_request();
            let asked = request.map(|(_, at)| at);
            let Some(next) = asked.into_iter().chain(fault).min() else { break };
            let next = self.next_due().map_or(next, |due| due.min(next));
            self.run_to(next)?;
            self.do_due();
            if let Some((_, fault)) = faults.next_if(|(at, _)| Time::ZERO + *at <= next) {
                match fault {
                    Fault::Down { node, remembers: true, .. } => self.let_work_end(*node)?,
                    Fault::Up { node, .. } => self.let_peers_know(*node)?,
                    _ => {}
                }
                self.suffer(fault);
            } else if let Some((index, _)) = request.filter(|(_, at)| *at <= next) {
                self.ask(index);
            }
            self.look()?;
        }
        self.settle()?;
        self.strike = None;
        self.counted.steps = self.simulation.events();
        loop {
            self.system.passes(self.simulation.now(), &mut self.ledger);
            let asked = self.system.in_the_end(&mut self.ledger)?;
            if asked.is_empty() {
                break;
            }
            for (node, frame) in asked {
                self.counted.requests += 1;
                self.simulation.inject(self.address(node), frame);
            }
            self.settle()?;
        }
        self.system.verdict(&self.view(), &self.ledger)
    }

    /// Leaves the nodes alone, for as long as something is under way.
    fn settle(&mut self) -> Result<(), Broken> {
        let mut end = self.simulation.now() + self.system.settles_within();
        while self.simulation.now() < end && (self.is_struck() || !self.system.has_settled(&self.ledger)) {
            if self.is_struck() {
                end = self.simulation.now() + self.system.settles_within();
            }
            let next = (self.simulation.now() + TURN).min(end);
            self.run_to(self.next_due().map_or(next, |due| due.min(next)))?;
            self.do_due();
            self.redial();
        }
        Ok(())
    }

    fn view(&self) -> View<'_, S::Node> {
        View { simulation: &self.simulation, hosted: &self.lives, protocol: core::marker::PhantomData }
    }

    /// Lets happen what happens up to then, and looks after each event whether what must hold does.
    fn run_to(&mut self, end: Time) -> Result<(), Broken> {
        while let Some(at) = self.simulation.next_at().filter(|at| *at <= Picos::reaching(end)) {
            self.history.set_now(at.time());
            if at.time() >= self.next_dial && self.has_dialling() {
                self.dial();
            }
            let goes_on = self.simulation.step();
            self.look()?;
            if self.simulation.now() < Time::ZERO + self.system.begins_after() {
                self.counted.quiet = self.simulation.events();
            } else {
                self.may_be_struck()?;
            }
            if !goes_on || self.simulation.events() >= self.events_limit {
                let found = format!("{} events by {}", self.simulation.events(), self.simulation.now());
                return Err(Broken::new(ENDS, found));
            }
        }
        self.simulation.run_for(end.since(self.simulation.now()));
        self.history.set_now(self.simulation.now());
        Ok(())
    }

    fn look(&mut self) -> Result<(), Broken> {
        let answers = std::mem::take(&mut *self.answers.borrow_mut());
        for (node, answer) in answers {
            self.counted.answers += 1;
            self.history.note(Some(node), || What::Answered(answer.clone()));
            self.system.passes(self.simulation.now(), &mut self.ledger);
            self.system.answered(node, answer.borrow(), &mut self.ledger)?;
        }
        self.see_exits();
        self.system.always(&self.view(), &self.ledger)
    }

    /// Whose caller asks next, and when.
    fn next_request(&self) -> Option<(usize, Time)> {
        let waiting = self.lives.iter().enumerate().filter(|(_, life)| life.requests_left > 0);
        let times = waiting.map(|(index, life)| (life.next_request, index));
        times.min().map(|(at, index)| (index, at))
    }

    /// Draws when a node's caller asks next; never, if it asks no more.
    fn put_off(&mut self, index: usize) {
        let (life, wants) = (&mut self.lives[index], &mut self.wants[index]);
        wants.begin();
        // Certain when it is drawn; a run in which it is left out is one in which less is asked.
        if !wants.chance(1_000_000) {
            life.requests_left = 0;
            return;
        }
        let begin = Time::ZERO + self.system.begins_after();
        life.next_request =
            self.simulation.now().max(begin) + Span::from_micros(1 + wants.below(self.plan.gap_us));
    }

    fn ask(&mut self, index: usize) {
        let Life { node, is_up, .. } = self.lives[index];
        self.lives[index].requests_left -= 1;
        if is_up {
            let token = Token(self.counted.requests + 1);
            let call = Call { node, nodes: self.plan.nodes, token, seed: self.plan.seed };
            self.system.passes(self.simulation.now(), &mut self.ledger);
            if let Some(request) = self.system.request(call, &mut self.ledger, &mut self.wants[index]) {
                self.counted.requests += 1;
                let (body, bulk) = (Bytes::from(request.body), Bytes::new());
                let frame = OwnedFrame { kind: request.kind, token, body, bulk };
                self.simulation.inject(self.address(node), frame);
            }
        }
        if self.lives[index].requests_left > 0 {
            self.put_off(index);
        }
    }

    /// Lets a node do what has come to it. A process that is stopped has that before it still; here it would know of it, and what it told others and its callers would be lost.
    fn let_work_end(&mut self, node: NodeId) -> Result<(), Broken> {
        while self.simulation.is_at_work(node)
            && let Some(next) = self.simulation.next_at()
        {
            self.run_to(next.time())?;
        }
        Ok(())
    }

    /// Lets the peers of a node hear that it is down, if they have not: one that stood still went down late, and the end of a link is told before the next one is there.
    fn let_peers_know(&mut self, node: NodeId) -> Result<(), Broken> {
        let told = self.life(node).told;
        if told > self.simulation.now() { self.run_to(told) } else { Ok(()) }
    }

    fn suffer(&mut self, fault: &Fault) {
        self.history.note(None, || What::Fault(fault.to_string()));
        let doubted = fault.doubted(self.plan.nodes);
        if !doubted.is_empty() {
            self.system.befalls(&doubted, &mut self.ledger);
        }
        match fault {
            Fault::Down { node, notice, remembers } => self.end(*node, *notice, *remembers),
            Fault::Up { node, remembers } => self.begin_again(*node, *remembers),
            Fault::Pause { node, span } => self.slow_down(*node, span.0 * USUAL / STEP_COST.0),
            Fault::GoOn { node } => self.slow_down(*node, USUAL),
            Fault::Divide { apart } => {
                let (far, near): (Vec<_>, Vec<_>) = self.plan.ids().partition(|node| apart.contains(node));
                for (one, other) in near.iter().flat_map(|one| far.iter().map(move |other| (*one, *other))) {
                    self.cut(one, other);
                    self.cut(other, one);
                }
            }
            Fault::Cut { from, to } => self.cut(*from, *to),
            Fault::Mend => self.mend(),
        }
    }

    /// Every step of a node takes so many thousandths of its usual time.
    fn slow_down(&mut self, node: NodeId, per_mille: u64) {
        for processor in self.simulation.processors_of(node) {
            self.simulation.set_slowness(processor, per_mille);
        }
    }
}

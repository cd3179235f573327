//! A modelled process: its protocol instances, its inbox, and what it is at.

use crate::arrival::{Arrival, News, Waiting};
use crate::frame_costs::{Reception, Rested};
use crate::hosted::Hosted;
use crate::ids::{ProcessorId, RouteId};
use crate::module::{mark_of, modelled_bytes};
use crate::node_clock::NodeClock;
use crate::outbox::{Costs, Environment, SimulatedOutbox, Step};
use crate::picos::Picos;
use crate::processor::Processor;
use crate::statistics::Tally;
use quintet_contract::{Address, Incarnation, Input, NodeId, Port, Stamps, Time};
use std::collections::VecDeque;

pub(crate) struct Instance {
    pub(crate) protocol: Box<dyn Hosted>,
    pub(crate) costs: Costs,
    /// The earliest wake that is scheduled and has not fired.
    pub(crate) wake_at: Option<Time>,
    /// The way of the frame sent last: the next one often goes the same.
    last_way: Option<(NodeId, RouteId)>,
}

impl Instance {
    /// When to wake it, if no wake is scheduled by then: one is from now on.
    pub(crate) fn next_wake(&mut self) -> Option<Time> {
        let deadline = (*self.protocol).wakes_at()?;
        if self.wake_at.is_some_and(|wake| wake <= deadline) {
            return None;
        }
        self.wake_at.replace(deadline);
        Some(deadline)
    }
}

/// What a node is at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Phase {
    /// Nothing to do.
    Idle,
    /// In the queue of its processor, or on it.
    Busy,
}

/// What was counted at a node.
#[derive(Clone, Debug, Default)]
pub struct NodeStatistics {
    /// Inputs after which it did something: worked or sent.
    pub activations: u64,
    /// From a frame's arrival until it was handled, in seconds.
    pub waiting: Tally,
    /// From a frame's arrival until what it caused was done, in seconds.
    pub response: Tally,
    /// Between the ends of two activations that follow each other, in seconds.
    pub interval: Tally,
    /// When the last activation ended.
    pub last_end: Option<Picos>,
}

/// A process. A crash ends it; a restart brings a larger incarnation.
pub(crate) struct Node {
    pub(crate) id: NodeId,
    pub(crate) incarnation: Incarnation,
    pub(crate) alive: bool,
    pub(crate) processor: ProcessorId,
    pub(crate) clock: NodeClock,
    /// In the order of their ports.
    pub(crate) instances: Vec<(Port, Instance)>,
    pub(crate) inbox: VecDeque<Waiting>,
    pub(crate) phase: Phase,
    /// Since when it had nothing to do, or had last.
    pub(crate) idle_since: Picos,
    /// How long it had nothing to do before the first input that waits.
    pub(crate) rested: Picos,
    pub(crate) job: Job,
    pub(crate) statistics: NodeStatistics,
}

/// The rest of what one input began.
pub(crate) struct Job {
    /// Still to be done. In reverse order: the next step is the last.
    pub(crate) steps: Vec<Step>,
    /// When the frame came that it answers to.
    since: Option<Picos>,
    /// Whether there was anything to do.
    acted: bool,
}

impl Job {
    /// The way of each frame that it has not sent so far. That has its room there already.
    pub(crate) fn unsent(&self) -> Vec<RouteId> {
        let routes = self.steps.iter().filter_map(|step| match step {
            Step::Send(parcel) => parcel.label.route,
            Step::Work(_) | Step::Disconnect(_) | Step::Poke(_) => None,
        });
        routes.collect()
    }

    /// When each activation of a module was ready that has not reached this mark, where it is to be made still.
    pub(crate) fn ahead_of(&self, mark: u32) -> impl Iterator<Item = Picos> {
        let marks = self.steps.iter().filter_map(|step| match step {
            Step::Send(parcel) => mark_of(&parcel.frame()),
            Step::Work(_) | Step::Disconnect(_) | Step::Poke(_) => None,
        });
        marks.filter(move |(number, _)| *number == mark).map(|(_, ready)| ready)
    }

    fn none() -> Job {
        Job { steps: Vec::new(), since: None, acted: false }
    }
}

impl Node {
    pub(crate) fn new(id: NodeId, processor: ProcessorId) -> Self {
        Node {
            id,
            incarnation: Incarnation(1),
            alive: true,
            processor,
            clock: NodeClock::default(),
            instances: Vec::new(),
            inbox: VecDeque::new(),
            phase: Phase::Idle,
            idle_since: Picos::ZERO,
            rested: Picos::ZERO,
            job: Job::none(),
            statistics: NodeStatistics::default(),
        }
    }

    pub(crate) fn place(&mut self, port: Port, protocol: Box<dyn Hosted>) {
        let instance = Instance { protocol, costs: Costs::new(), wake_at: None, last_way: None };
        match self.instances.binary_search_by_key(&port, |(port, _)| *port) {
            Ok(place) => self.instances[place].1 = instance,
            Err(place) => self.instances.insert(place, (port, instance)),
        }
    }

    pub(crate) fn ports(&self) -> impl Iterator<Item = Port> {
        self.instances.iter().map(|(port, _)| *port)
    }

    pub(crate) fn instance(&self, port: Port) -> Option<&Instance> {
        self.instances.iter().find(|(at, _)| *at == port).map(|(_, instance)| instance)
    }

    pub(crate) fn instance_mut(&mut self, port: Port) -> Option<&mut Instance> {
        self.instances.iter_mut().find(|(at, _)| *at == port).map(|(_, instance)| instance)
    }

    /// It had nothing to do until now.
    pub(crate) fn turn_busy(&mut self, now: Picos) {
        self.phase = Phase::Busy;
        self.rested = now - self.idle_since;
    }

    /// Ends its life: what it was at and what waits is gone.
    pub(crate) fn die(&mut self) {
        self.alive = false;
        self.inbox.clear();
        self.job = Job::none();
    }

    /// Begins the node's next life. Wakes scheduled in the last one are void.
    pub(crate) fn revive(&mut self) {
        self.incarnation.0 += 1;
        self.alive = true;
        for (_, instance) in &mut self.instances {
            instance.wake_at = None;
        }
    }

    /// Lets an input be handled; the job is what it began. When to wake the instance next, if no wake is scheduled by
    /// then.
    pub(crate) fn begin_job(
        &mut self,
        input: &Waiting,
        processor: &mut Processor,
        environment: &mut Environment<'_>,
    ) -> Option<Time> {
        let now = environment.now;
        let &Waiting { ref arrival, since, .. } = input;
        let is_frame = matches!(arrival, Arrival::Frame(..));
        if is_frame {
            self.statistics.waiting.add((now - since).as_seconds());
        }
        self.job.since = is_frame.then_some(since);
        let rested = std::mem::take(&mut self.rested);
        if let Arrival::Frame(parcel) = arrival
            && let Some(route) = parcel.label.route
            && let Some(costs) = &environment.routes[route].costs
        {
            let rested = Rested { node: rested, processor: processor.rested(now) };
            let frame = Reception { bytes: modelled_bytes(&parcel.frame()), waited: now - since, rested };
            let work = costs.receiving(frame, processor);
            self.job.steps.extend((work > Picos::ZERO).then_some(Step::Work(work)));
        }
        let wake = self.handle(input, processor, environment);
        self.job.acted = !self.job.steps.is_empty();
        self.job.steps.reverse();
        wake
    }

    /// Lets an instance handle an input. When to wake it next, if no wake is scheduled by then.
    fn handle(
        &mut self,
        &Waiting { port, ref arrival, since }: &Waiting,
        processor: &mut Processor,
        environment: &mut Environment<'_>,
    ) -> Option<Time> {
        let (_, instance) = self.instances.iter_mut().find(|(at, _)| *at == port)?;
        let time = self.clock.read(environment.now);
        let mut out = SimulatedOutbox {
            from: Address { node: self.id, port },
            environment,
            last_way: &mut instance.last_way,
            costs: &instance.costs,
            processor,
            steps: &mut self.job.steps,
            begun: None,
        };
        let came = self.clock.shows(since);
        let mut stamps = None;
        if let Some(input) =
            input(arrival, came, &mut stamps, &*instance.protocol, &mut instance.wake_at, time)
        {
            (*instance.protocol).receive(since, time, input, &mut out);
        }
        instance.next_wake()
    }

    /// The job is done. Whether another input waits; otherwise there is nothing to do.
    pub(crate) fn end_job(&mut self, now: Picos) -> bool {
        if self.job.acted {
            self.count_activation(now);
        }
        if self.inbox.is_empty() {
            (self.phase, self.idle_since) = (Phase::Idle, now);
        }
        self.phase == Phase::Busy
    }

    fn count_activation(&mut self, now: Picos) {
        let statistics = &mut self.statistics;
        statistics.activations += 1;
        if let Some(since) = self.job.since {
            statistics.response.add((now - since).as_seconds());
        }
        if let Some(last) = statistics.last_end.replace(now) {
            statistics.interval.add((now - last).as_seconds());
        }
    }
}

/// The arrival as the protocol sees it; `stamps`: room for those of a frame. None for a wake whose deadline has moved since: it would be early.
fn input<'a>(
    arrival: &'a Arrival,
    came: Time,
    stamps: &'a mut Option<Stamps>,
    protocol: &dyn Hosted,
    wake_at: &mut Option<Time>,
    now: Time,
) -> Option<Input<'a>> {
    Some(match arrival {
        Arrival::Started => Input::Started,
        Arrival::Wake => {
            *wake_at = None;
            protocol.wakes_at().filter(|deadline| *deadline <= now)?;
            Input::Wake
        }
        Arrival::Frame(parcel) => Input::Frame(parcel.label.from, parcel.received(came, stamps)),
        Arrival::News(news) => match **news {
            News::Writable(to) => Input::Writable(to),
            News::Peer(peer, ref change) => Input::Peer(peer, change),
        },
    })
}

//! A modelled process: its protocol instances, and the threads that run them.

use crate::arrival::{Arrival, News, Waiting};
use crate::frame_costs::{Reception, Rested};
use crate::hosted::{Came, Hosted};
use crate::ids::RouteId;
use crate::node_clock::NodeClock;
use crate::outbox::{Costs, Environment, SimulatedOutbox, Step};
use crate::picos::Picos;
use crate::processor::Processor;
use crate::statistics::Tally;
use crate::thread::{Job, NodeThreads, Thread};
use quintet_contract::{Address, Incarnation, Input, NodeId, Port, Stamps, Time};

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
    pub(crate) clock: NodeClock,
    /// In the order of their ports.
    pub(crate) instances: Vec<(Port, Instance)>,
    pub(crate) threads: NodeThreads,
    pub(crate) statistics: NodeStatistics,
}

impl Node {
    pub(crate) fn new(id: NodeId, threads: NodeThreads) -> Self {
        Node {
            id,
            incarnation: Incarnation(1),
            alive: true,
            clock: NodeClock::default(),
            instances: Vec::new(),
            threads,
            statistics: NodeStatistics::default(),
        }
    }

    /// Places an instance. It takes the place of one that there is at that port.
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

    /// Begins the node's next life. Wakes scheduled in the last one are void.
    pub(crate) fn revive(&mut self) {
        self.incarnation.0 += 1;
        self.alive = true;
        for (_, instance) in &mut self.instances {
            instance.wake_at = None;
        }
    }

    /// Lets a thread of it handle an input; its job is what that began. When to wake the instance next, if no wake is scheduled by
    /// then.
    pub(crate) fn begin_job(
        &mut self,
        thread: &mut Thread,
        input: &Waiting,
        behind: usize,
        processor: &mut Processor,
        environment: &mut Environment<'_>,
    ) -> Option<Time> {
        let now = environment.now;
        let &Waiting { ref arrival, since, .. } = input;
        let is_frame = matches!(arrival, Arrival::Frame(..));
        if is_frame {
            self.statistics.waiting.add((now - since).as_seconds());
        }
        let job = &mut thread.job;
        job.since = is_frame.then_some(since);
        let rested = std::mem::take(&mut thread.rested);
        if let Arrival::Frame(parcel) = arrival
            && let Some(route) = parcel.label.route
            && let Some(costs) = &environment.routes[route].costs
        {
            let rested = Rested { thread: rested, processor: processor.rested(now) };
            let frame = Reception { load: costs.load(&parcel.frame()), waited: now - since, rested };
            let work = costs.receiving(frame, processor);
            job.steps.extend((work > Picos::ZERO).then_some(Step::Work(work)));
        }
        let wake = self.handle(input, behind, &mut job.steps, processor, environment);
        job.acted = !job.steps.is_empty();
        job.steps.reverse();
        wake
    }

    /// Lets an instance go on in the middle of a thread's job, and adds what that begins to the rest of it. When to wake the instance next,
    /// if no wake is scheduled by then.
    pub(crate) fn go_on_with_job(
        &mut self,
        job: &mut Job,
        input: &Waiting,
        behind: usize,
        processor: &mut Processor,
        environment: &mut Environment<'_>,
    ) -> Option<Time> {
        let mut rest = std::mem::take(&mut job.steps);
        let wake = self.handle(input, behind, &mut job.steps, processor, environment);
        job.steps.reverse();
        rest.append(&mut job.steps);
        job.steps = rest;
        wake
    }

    /// Lets an instance handle an input. When to wake it next, if no wake is scheduled by then.
    #[inline(always)]
    fn handle(
        &mut self,
        &Waiting { port, ref arrival, since }: &Waiting,
        behind: usize,
        steps: &mut Vec<Step>,
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
            steps,
            begun: None,
        };
        let came = self.clock.shows(since);
        let mut stamps = None;
        if let Some(input) =
            input(arrival, came, &mut stamps, &*instance.protocol, &mut instance.wake_at, time)
        {
            let came = Came { at: since, to: out.from, behind };
            (*instance.protocol).receive(came, time, input, &mut out);
        }
        instance.next_wake()
    }

    /// What an input began is done that came as a frame at `since`, if it did.
    pub(crate) fn count_activation(&mut self, since: Option<Picos>, now: Picos) {
        let statistics = &mut self.statistics;
        statistics.activations += 1;
        if let Some(since) = since {
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

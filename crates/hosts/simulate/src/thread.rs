//! What of a node takes turns: the inputs of its instances are handled one after the other, each to its end.
//!
//! A node on one processor is one thread. On several, what one thread runs, others may do something beside; an instance belongs to one
//! thread, so it is never on two processors at once. Only one that handles several inputs at once has a team of threads: the leader, which
//! runs nothing and keeps what waits until one of the others has nothing to do.

use crate::arrival::Waiting;
use crate::ids::{NodePlace, ProcessorId, RouteId, ThreadPlace};
use crate::module::mark_of;
use crate::outbox::Step;
use crate::picos::Picos;
use core::ops::{Index, IndexMut};
use quintet_contract::Port;
use std::collections::VecDeque;

/// What a thread is at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Phase {
    /// Nothing to do.
    Idle,
    /// In the queue of its processor, or of all that it may run on; or on one.
    Busy,
}

/// One of a node's threads.
pub(crate) struct Thread {
    pub(crate) node: NodePlace,
    /// Where it runs, or ran last.
    pub(crate) processor: ProcessorId,
    /// Those of larger priority run first.
    pub(crate) priority: u8,
    /// Whether it runs on any processor of its node that is free.
    pub(crate) roams: bool,
    /// Whether frames of its own node pass those of others that wait.
    pub(crate) own_first: bool,
    /// Of a leader: its team.
    pub(crate) team: Vec<ThreadPlace>,
    /// How many that may be; 0: it is no leader.
    pub(crate) most: usize,
    /// Of one of a team.
    pub(crate) leader: Option<ThreadPlace>,
    pub(crate) inbox: VecDeque<Waiting>,
    pub(crate) phase: Phase,
    /// Since when it had nothing to do, or had last.
    pub(crate) idle_since: Picos,
    /// How long it had nothing to do before the first input that waits.
    pub(crate) rested: Picos,
    pub(crate) job: Job,
}

/// The rest of what one input began.
pub(crate) struct Job {
    /// Still to be done. In reverse order: the next step is the last.
    pub(crate) steps: Vec<Step>,
    /// When the frame came that it answers to.
    pub(crate) since: Option<Picos>,
    /// Whether there was anything to do.
    pub(crate) acted: bool,
}

impl Job {
    /// The way of each frame that it has not sent so far. That has its room there already.
    pub(crate) fn unsent(&self) -> impl Iterator<Item = RouteId> {
        self.steps.iter().filter_map(|step| match step {
            Step::Send(parcel) => parcel.label.route,
            Step::Work(_) | Step::Disconnect(_) | Step::Poke(_) => None,
        })
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

impl Thread {
    fn new(node: NodePlace, processor: ProcessorId, roams: bool) -> Thread {
        Thread {
            node,
            processor,
            priority: 0,
            roams,
            own_first: false,
            team: Vec::new(),
            most: 0,
            leader: None,
            inbox: VecDeque::new(),
            phase: Phase::Idle,
            idle_since: Picos::ZERO,
            rested: Picos::ZERO,
            job: Job::none(),
        }
    }

    /// One more input waits: behind all others, or, if it may pass, behind those only that `passes` says the same of.
    pub(crate) fn wait(&mut self, input: Waiting, passes: impl Fn(&Waiting) -> bool) {
        if !self.own_first || !passes(&input) {
            return self.inbox.push_back(input);
        }
        let place = self.inbox.iter().position(|other| !passes(other));
        self.inbox.insert(place.unwrap_or(self.inbox.len()), input);
    }

    /// It had nothing to do until now.
    pub(crate) fn turn_busy(&mut self, now: Picos) {
        self.phase = Phase::Busy;
        self.rested = now - self.idle_since;
    }

    /// Its job is done. Whether another input waits; otherwise there is nothing to do.
    pub(crate) fn end_job(&mut self, now: Picos) -> bool {
        if self.inbox.is_empty() {
            (self.phase, self.idle_since) = (Phase::Idle, now);
        }
        self.phase == Phase::Busy
    }

    /// What it was at and what waits is gone.
    pub(crate) fn die(&mut self) {
        self.inbox.clear();
        self.job = Job::none();
    }
}

/// All threads of a run.
#[derive(Default)]
pub(crate) struct Threads(Vec<Thread>);

/// Which threads a node has, and which of them runs which instance.
pub(crate) struct NodeThreads {
    /// The one that every node has, and most have alone.
    first: ThreadPlace,
    spread: Option<Box<Spread>>,
}

/// What a node has besides that is not on one processor.
#[derive(Default)]
struct Spread {
    /// Those on which an instance runs that is not bound to one; empty: such instances are the first thread's.
    processors: Vec<ProcessorId>,
    /// Threads besides the first.
    threads: Vec<ThreadPlace>,
    /// Which thread runs the instance at a port, for all that the first one does not; in the order of ports.
    ports: Vec<(Port, ThreadPlace)>,
}

impl Threads {
    /// The threads of a new node: one, on this processor.
    pub(crate) fn of_node(&mut self, node: NodePlace, processor: ProcessorId) -> NodeThreads {
        NodeThreads { first: self.add(Thread::new(node, processor, false)), spread: None }
    }

    fn add(&mut self, thread: Thread) -> ThreadPlace {
        let place = u32::try_from(self.0.len()).expect("memory ends before 2^32 threads");
        self.0.push(thread);
        ThreadPlace(place)
    }

    /// Puts a node's first thread, and what roams, on one processor.
    pub(crate) fn put(&mut self, of: &mut NodeThreads, processor: ProcessorId) {
        self[of.first].processor = processor;
        if let Some(spread) = of.spread.as_mut().filter(|spread| !spread.processors.is_empty()) {
            spread.processors = vec![processor];
        }
    }

    /// Assigns an instance to a thread of its node: to the one bound to a processor, if one is named. It keeps the one that it has.
    pub(crate) fn assign(&mut self, of: &mut NodeThreads, port: Port, bound_to: Option<ProcessorId>) {
        let (node, on_first) = (self[of.first].node, self[of.first].processor);
        let (processor, roams) = match (bound_to, of.roamed()) {
            (None, []) => return,
            (None, [first, ..]) => (*first, true),
            (Some(processor), _) => (processor, false),
        };
        if of.of(port) != of.first || !roams && processor == on_first {
            return;
        }
        let spread = of.spread.get_or_insert_default();
        let is_shared = |place: &&ThreadPlace| !self[**place].roams && self[**place].processor == processor;
        let shared = spread.threads.iter().find(is_shared).copied().filter(|_| !roams);
        let thread = shared.unwrap_or_else(|| self.add(Thread::new(node, processor, roams)));
        spread.give(port, thread);
    }

    /// Assigns an instance to a team of at most so many threads, which roam.
    pub(crate) fn assign_to_team(&mut self, of: &mut NodeThreads, port: Port, most: usize) {
        let (node, processor) = (self[of.first].node, self[of.first].processor);
        let leader = self.add(Thread { most, ..Thread::new(node, processor, true) });
        of.spread.get_or_insert_default().give(port, leader);
    }

    /// Who handles an input that comes now for a thread: itself, or of a team one that has nothing to do. None: it waits with the leader.
    pub(crate) fn free(&mut self, place: ThreadPlace, of: &mut NodeThreads) -> Option<ThreadPlace> {
        let &Thread { node, processor, priority, most, ref team, .. } = &self[place];
        if most == 0 {
            return Some(place);
        }
        let idle = team.iter().find(|member| self[**member].phase == Phase::Idle).copied();
        if idle.is_some() || team.len() == most {
            return idle;
        }
        let member = self.add(Thread { priority, leader: Some(place), ..Thread::new(node, processor, true) });
        self[place].team.push(member);
        of.spread.get_or_insert_default().threads.push(member);
        Some(member)
    }

    /// One of a team is done, and takes over what has waited with its leader for longest.
    pub(crate) fn take_over(&mut self, place: ThreadPlace) {
        let waiting = self[place].leader.and_then(|leader| self[leader].inbox.pop_front());
        self[place].inbox.extend(waiting);
    }

    /// A thread, or a leader and its team in the order in which their inputs came: what a team has waiting came before.
    pub(crate) fn with_team(&self, place: ThreadPlace) -> impl Iterator<Item = &Thread> {
        self[place].team.iter().copied().chain([place]).map(|place| &self[place])
    }

    /// All processors on which a node's threads are, or may be, in order.
    pub(crate) fn processors(&self, of: &NodeThreads) -> Vec<ProcessorId> {
        let mut all: Vec<_> =
            of.all().map(|place| self[place].processor).chain(of.roamed().iter().copied()).collect();
        all.sort_unstable();
        all.dedup();
        all
    }
}

impl NodeThreads {
    /// What is assigned from now on and not bound roams these processors.
    pub(crate) fn spread(&mut self, processors: &[ProcessorId]) {
        self.spread.get_or_insert_default().processors = processors.to_vec();
    }

    /// The one that runs the instance at a port.
    #[inline]
    pub(crate) fn of(&self, port: Port) -> ThreadPlace {
        match &self.spread {
            None => self.first,
            Some(spread) => spread.thread_of(port).unwrap_or(self.first),
        }
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = ThreadPlace> {
        let others = self.spread.iter().flat_map(|spread| &spread.threads);
        std::iter::once(self.first).chain(others.copied())
    }

    /// The processors that roaming ones roam.
    pub(crate) fn roamed(&self) -> &[ProcessorId] {
        self.spread.as_ref().map_or(&[], |spread| &spread.processors)
    }
}

impl Spread {
    /// Has the instance at a port run by a thread.
    fn give(&mut self, port: Port, thread: ThreadPlace) {
        if !self.threads.contains(&thread) {
            self.threads.push(thread);
        }
        let place = self.ports.partition_point(|(other, _)| *other < port);
        self.ports.insert(place, (port, thread));
    }

    fn thread_of(&self, port: Port) -> Option<ThreadPlace> {
        let found = self.ports.binary_search_by_key(&port, |(at, _)| *at);
        found.ok().map(|place| self.ports[place].1)
    }
}

impl Index<ThreadPlace> for Threads {
    type Output = Thread;
    fn index(&self, place: ThreadPlace) -> &Thread {
        &self.0[place.0 as usize]
    }
}

impl IndexMut<ThreadPlace> for Threads {
    fn index_mut(&mut self, place: ThreadPlace) -> &mut Thread {
        &mut self.0[place.0 as usize]
    }
}

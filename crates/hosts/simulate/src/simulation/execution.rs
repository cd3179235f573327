//! How processors run threads: one at a time, each for a time slice, step by step.

use super::Simulation;
use super::events::Event;
use crate::arrival::{Arrival, Waiting};
use crate::ids::{NodePlace, ProcessorId, ThreadPlace};
use crate::outbox::{Environment, Step};
use crate::parcel::Parcel;
use crate::picos::Picos;
use crate::thread::{Phase, Thread};
use quintet_contract::Port;

impl Simulation {
    /// Gives an idle processor to the threads that are ready, until one holds it.
    fn dispatch(&mut self, id: ProcessorId) {
        if self.processors[id.0].current.is_none() {
            self.resume(id);
        }
    }

    /// The current thread goes on, and others after it, until one holds the processor.
    fn resume(&mut self, id: ProcessorId) {
        while let Some(current) = self.processors[id.0].current.or_else(|| self.take_up(id)) {
            if self.go_on(id, current) {
                return self.processors[id.0].keep_busy(self.now);
            }
        }
    }

    /// Gives an idle processor to the thread that is ready first. None if there is none, and the processor rests.
    fn take_up(&mut self, id: ProcessorId) -> Option<ThreadPlace> {
        let place = self.next_ready(id)?;
        let thread = &mut self.threads[place];
        self.processors[id.0].occupy(place, self.now);
        let next = if thread.job.steps.is_empty() { thread.inbox.pop_front() } else { None };
        if thread.roams {
            self.claim(id, place);
        }
        if let Some(input) = next {
            self.begin(id, place, input);
        }
        Some(place)
    }

    /// Hands an input to the thread that it is for, at once or by way of its inbox.
    pub(super) fn enter(&mut self, mut place: ThreadPlace, port: Port, arrival: Arrival) {
        let input = Waiting { port, arrival, since: self.now };
        let mut thread = &mut self.threads[place];
        if thread.roams {
            let node = &mut self.nodes[thread.node];
            let Some(free) = self.threads.free(place, &mut node.threads) else {
                return self.threads[place].inbox.push_back(input);
            };
            place = free;
            self.seek(place);
            thread = &mut self.threads[place];
        }
        let id = thread.processor;
        let processor = &mut self.processors[id.0];
        if thread.phase == Phase::Idle && processor.is_free() {
            thread.turn_busy(self.now);
            processor.occupy(place, self.now);
            self.begin(id, place, input);
            self.resume(id);
        } else if self.queue(place, input) {
            let preempts = self.processors[id.0].model.preempts;
            let taken = if preempts { self.preempt(place) } else { None };
            self.dispatch(taken.unwrap_or(id));
        }
    }

    /// Takes a processor for a thread that is ready from the one of least priority, if that is below its own. None has it then.
    #[cold]
    fn preempt(&mut self, place: ThreadPlace) -> Option<ProcessorId> {
        let thread = &self.threads[place];
        let mine = [thread.processor];
        let may = if thread.roams { self.nodes[thread.node].threads.roamed() } else { &mine };
        // Free ones, and those that a device keeps busy, are left alone.
        let priority = |id: &ProcessorId| {
            let processor = &self.processors[id.0];
            let current = processor.current.filter(|_| processor.since.is_some());
            current.map(|current| self.threads[current].priority)
        };
        if may.iter().any(|id| self.processors[id.0].current.is_none()) {
            return None;
        }
        let below = may.iter().filter_map(|id| Some((priority(id)?, *id)));
        let (_, id) = below.filter(|(other, _)| *other < thread.priority).min()?;
        self.pause_work(id);
        let processor = &mut self.processors[id.0];
        processor.generation += 1;
        let current = processor.current.take()?;
        let Thread { priority, roams, node, .. } = self.threads[current];
        if !roams {
            processor.line_up_first(current, priority);
            return Some(id);
        }
        for other in self.nodes[node].threads.roamed() {
            self.processors[other.0].line_up_first(current, priority);
        }
        Some(id)
    }

    /// Has a roaming thread run on the first processor that is free, if it has nothing to do and there is one.
    #[cold]
    fn seek(&mut self, place: ThreadPlace) {
        let thread = &mut self.threads[place];
        if thread.phase == Phase::Idle {
            let mut roamed = self.nodes[thread.node].threads.roamed().iter();
            let free = roamed.find(|id| self.processors[id.0].is_free());
            thread.processor = free.copied().unwrap_or(thread.processor);
        }
    }

    /// The processor that takes in a message from a device for a roaming thread: none overtakes one that waits until some processor is
    /// idle.
    #[cold]
    fn door_of(&mut self, place: ThreadPlace, port: Port) -> ProcessorId {
        self.seek(place);
        let thread = &self.threads[place];
        let is_before = |(node, input): &(NodePlace, Waiting)| *node == thread.node && input.port == port;
        let mut roamed = self.nodes[thread.node].threads.roamed().iter();
        let behind = roamed.find(|id| self.processors[id.0].door.iter().any(is_before));
        behind.copied().unwrap_or(thread.processor)
    }

    /// Puts an input into a thread's inbox. Whether the thread has become ready by that.
    fn queue(&mut self, place: ThreadPlace, input: Waiting) -> bool {
        let thread = &mut self.threads[place];
        let node = &self.nodes[thread.node];
        thread.wait(
            input,
            |input| matches!(&input.arrival, Arrival::Frame(parcel) if parcel.label.from.node == node.id),
        );
        if thread.phase == Phase::Busy {
            return false;
        }
        thread.turn_busy(self.now);
        if thread.roams {
            self.line_up(place);
        } else {
            self.processors[thread.processor.0].line_up(place, thread.priority);
        }
        true
    }

    /// The thread that is ready first; while there is none, messages that wait for that come in.
    fn next_ready(&mut self, id: ProcessorId) -> Option<ThreadPlace> {
        loop {
            let processor = &mut self.processors[id.0];
            if let Some(place) = processor.next() {
                return Some(place);
            }
            let Some((node, input)) = processor.door.pop_front() else {
                processor.rest(self.now);
                return None;
            };
            let threads = &mut self.nodes[node].threads;
            let place = threads.of(input.port);
            match self.threads.free(place, threads) {
                Some(free) => drop(self.queue(free, input)),
                None => self.threads[place].inbox.push_back(input),
            }
        }
    }

    /// A roaming thread is ready, behind those that are, wherever it may run.
    #[cold]
    fn line_up(&mut self, place: ThreadPlace) {
        let Thread { node, priority, .. } = self.threads[place];
        for id in self.nodes[node].threads.roamed() {
            self.processors[id.0].line_up(place, priority);
        }
    }

    /// A processor runs a roaming thread from now on: no other one does.
    #[cold]
    fn claim(&mut self, id: ProcessorId, place: ThreadPlace) {
        let thread = &mut self.threads[place];
        thread.processor = id;
        for other in self.nodes[thread.node].threads.roamed().iter().filter(|other| **other != id) {
            self.processors[other.0].withdraw(place);
        }
    }

    /// A roaming thread that gave a processor back is ready again. If that goes on with another one, an idle one takes it.
    #[cold]
    fn move_on(&mut self, id: ProcessorId, place: ThreadPlace) {
        let is_next = !self.processors[id.0].has_ready();
        self.line_up(place);
        if is_next {
            return;
        }
        let roamed = self.nodes[self.threads[place].node].threads.roamed().iter();
        let mut others = roamed.filter(|other| **other != id);
        if let Some(idle) = others.find(|other| self.processors[other.0].current.is_none()) {
            self.prod(*idle);
        }
    }

    /// Lets a thread that is not in the middle of one handle an input.
    fn begin(&mut self, id: ProcessorId, place: ThreadPlace, input: Waiting) {
        self.handle(id, place, input, true);
    }

    /// What a module did before is done, by the current thread of a processor: it goes on at once.
    #[cold]
    pub(super) fn proceed(&mut self, id: ProcessorId, parcel: Box<Parcel>) {
        let Some(place) = self.processors[id.0].current else { return };
        let port = parcel.label.from.port;
        let input = Waiting { port, arrival: Arrival::Frame(parcel), since: self.now };
        self.handle(id, place, input, false);
    }

    /// Lets a thread handle an input: to begin a job, or in the midst of one.
    #[inline(always)]
    fn handle(&mut self, id: ProcessorId, place: ThreadPlace, input: Waiting, begins: bool) {
        let behind = self.behind(place);
        let thread = &mut self.threads[place];
        let (place, port) = (thread.node, input.port);
        let (processor, node) = (&mut self.processors[id.0], &mut self.nodes[place]);
        let mut environment = Environment {
            now: self.now,
            routes: &mut self.routes,
            parcels: &mut self.parcels,
            cells: &mut self.cells,
            services: &self.services,
        };
        let wake = if begins {
            node.begin_job(thread, &input, behind, processor, &mut environment)
        } else {
            node.go_on_with_job(&mut thread.job, &input, behind, processor, &mut environment)
        };
        if let Arrival::Frame(parcel) = input.arrival {
            self.parcels.keep(parcel);
        }
        if let Some(time) = wake {
            self.wake_at(place, port, time);
        }
    }

    /// Inputs that wait behind the one that a thread handles.
    fn behind(&self, place: ThreadPlace) -> usize {
        let thread = &self.threads[place];
        thread.inbox.len() + thread.leader.map_or(0, |leader| self.threads[leader].inbox.len())
    }

    /// Lets the current thread go on until it holds the processor until an event, or gives it back. True if it holds it.
    fn go_on(&mut self, id: ProcessorId, place: ThreadPlace) -> bool {
        loop {
            let thread = &mut self.threads[place];
            if let Some(Step::Work(left)) = thread.job.steps.last()
                && *left > Picos::ZERO
            {
                let processor = &mut self.processors[id.0];
                let Some(until) = processor.execute(self.now, *left) else {
                    let roams = thread.roams;
                    processor.give_back(place, (!roams).then_some(thread.priority));
                    if roams {
                        self.move_on(id, place);
                    }
                    return false;
                };
                let generation = processor.generation;
                self.schedule.add_with(until, || Event::Advance(id, generation));
                return true;
            }
            match thread.job.steps.pop() {
                None => {
                    if thread.leader.is_some() {
                        self.threads.take_over(place);
                    }
                    let thread = &mut self.threads[place];
                    let (more, roams, priority) = (thread.end_job(self.now), thread.roams, thread.priority);
                    if thread.job.acted {
                        self.nodes[thread.node].count_activation(thread.job.since, self.now);
                    }
                    self.processors[id.0].give_back(place, (more && !roams).then_some(priority));
                    if more && roams {
                        self.move_on(id, place);
                    }
                    return false;
                }
                Some(Step::Work(_)) => {}
                Some(Step::Disconnect(link)) => {
                    let node = thread.node;
                    self.disconnect(node, link.0, link.1);
                }
                Some(Step::Poke(write)) => self.cells.write(self.now, &write.0, write.1),
                Some(Step::Send(parcel)) => {
                    if self.transmit(parcel, id) {
                        // A device carries it, and the processor waits for that.
                        return true;
                    }
                }
            }
        }
    }

    /// The end of a step, or of a time slice, has come.
    pub(super) fn advance_at(&mut self, id: ProcessorId, generation: u64) {
        if self.processors[id.0].generation == generation {
            self.pause_work(id);
            self.resume(id);
        }
    }

    /// Lets a processor go on at once, whatever it is at.
    pub(super) fn prod(&mut self, id: ProcessorId) {
        let processor = &mut self.processors[id.0];
        processor.generation += 1;
        self.schedule.add(self.now, Event::Advance(id, processor.generation));
    }

    /// Takes off what was worked since the current step was begun or resumed.
    fn pause_work(&mut self, id: ProcessorId) {
        let processor = &mut self.processors[id.0];
        let Some((current, since)) = processor.current.zip(processor.since.take()) else { return };
        let worked = self.now - since;
        if let Some(left) = self.work_left(current) {
            *left = *left - worked;
        }
    }

    /// Whether a message from a device may enter its node now. One that may not waits at the door, or is lost.
    pub(super) fn admit(&mut self, place: ThreadPlace, port: Port, arrival: &Arrival) -> bool {
        let thread = &self.threads[place];
        let id = if thread.roams { self.door_of(place, port) } else { thread.processor };
        let node = self.threads[place].node;
        let has_limit = self.processors[id.0].model.queue_limit < usize::MAX;
        let is_full = has_limit && self.is_full(place, port, id);
        let processor = &mut self.processors[id.0];
        if is_full {
            processor.lost += 1;
            return false;
        }
        if processor.current.is_none() {
            return true;
        }
        if !processor.model.input_controller {
            if let Arrival::Frame(parcel) = arrival {
                let arrival = Arrival::Frame(parcel.clone());
                processor.door.push_back((node, Waiting { port, arrival, since: self.now }));
            }
            return false;
        }
        self.interrupt(id);
        true
    }

    /// Whether a message from a device would have to wait, and as many wait for its node as may. O(those that wait).
    #[cold]
    fn is_full(&self, place: ThreadPlace, port: Port, id: ProcessorId) -> bool {
        let (thread, processor) = (&self.threads[place], &self.processors[id.0]);
        let node = &self.nodes[thread.node];
        let backlog = node.instance(port).map(|instance| instance.protocol.backlog()).unwrap_or_default();
        let is_idle = if thread.roams {
            node.threads.roamed().iter().any(|id| self.processors[id.0].is_free())
        } else {
            thread.phase == Phase::Idle && processor.is_free()
        };
        if is_idle && !backlog.is_blocked {
            return false;
        }
        let waits = |thread: &Thread| {
            // What is told of links and of time waits in the same place.
            let inbox =
                thread.inbox.iter().filter(|input| matches!(input.arrival, Arrival::Frame(_))).count();
            let put_off = backlog.begins.map_or(0, |mark| thread.job.ahead_of(mark).count());
            inbox + put_off * backlog.of_each
        };
        let inboxes: usize = self.threads.with_team(place).map(waits).sum();
        inboxes + backlog.messages + processor.door.len() >= processor.model.queue_limit
    }

    /// A message interrupts what a processor executes.
    fn interrupt(&mut self, id: ProcessorId) {
        let processor = &self.processors[id.0];
        let cost = processor.model.interrupt;
        let Some(current) = processor.current.filter(|_| processor.since.is_some()) else { return };
        if cost == Picos::ZERO {
            return;
        }
        self.pause_work(id);
        if let Some(left) = self.work_left(current) {
            *left += cost;
        }
        self.resume(id);
    }

    /// What is left of the work that a thread is at.
    fn work_left(&mut self, place: ThreadPlace) -> Option<&mut Picos> {
        match self.threads[place].job.steps.last_mut() {
            Some(Step::Work(left)) => Some(left),
            _ => None,
        }
    }
}

//! How processors run their nodes: one at a time, each for a time slice, step by step.

use super::Simulation;
use super::events::Event;
use crate::arrival::{Arrival, Waiting};
use crate::ids::{NodePlace, ProcessorId};
use crate::node::Phase;
use crate::outbox::{Environment, Step};
use crate::picos::Picos;
use quintet_contract::Port;

impl Simulation {
    /// Gives an idle processor to the nodes that are ready, until one holds it.
    pub(super) fn dispatch(&mut self, id: ProcessorId) {
        if self.processors[id.0].current.is_none() {
            self.resume(id);
        }
    }

    /// The current node goes on, and others after it, until one holds the processor.
    fn resume(&mut self, id: ProcessorId) {
        while let Some(current) = self.processors[id.0].current.or_else(|| self.take_up(id)) {
            if self.go_on(id, current) {
                return self.processors[id.0].keep_busy(self.now);
            }
        }
    }

    /// Gives an idle processor to the node that is ready first. None if there is none, and the processor rests.
    fn take_up(&mut self, id: ProcessorId) -> Option<NodePlace> {
        let place = self.next_ready(id)?;
        let (processor, node) = (&mut self.processors[id.0], &mut self.nodes[place]);
        processor.occupy(place, self.now);
        if node.job.steps.is_empty()
            && let Some(input) = node.inbox.pop_front()
        {
            self.begin(id, place, input);
        }
        Some(place)
    }

    /// Hands an input to its node, at once or by way of its inbox.
    pub(super) fn enter(&mut self, place: NodePlace, port: Port, arrival: Arrival) {
        let node = &mut self.nodes[place];
        let id = node.processor;
        let processor = &mut self.processors[id.0];
        if node.phase == Phase::Idle && processor.is_free() {
            node.turn_busy(self.now);
            processor.occupy(place, self.now);
            self.begin(id, place, Waiting { port, arrival, since: self.now });
            self.resume(id);
        } else if let Some(processor) = self.queue(place, port, arrival, self.now) {
            self.dispatch(processor);
        }
    }

    /// Puts an input into its node's inbox. Gives the processor if the node has become ready by that.
    fn queue(&mut self, place: NodePlace, port: Port, arrival: Arrival, since: Picos) -> Option<ProcessorId> {
        let node = Some(&mut self.nodes[place]).filter(|node| node.alive)?;
        node.inbox.push_back(Waiting { port, arrival, since });
        if node.phase == Phase::Busy {
            return None;
        }
        node.turn_busy(self.now);
        self.processors[node.processor.0].ready.push_back(place);
        Some(node.processor)
    }

    /// The node that is ready first; while there is none, messages that wait for that come in.
    fn next_ready(&mut self, id: ProcessorId) -> Option<NodePlace> {
        loop {
            let processor = &mut self.processors[id.0];
            if let Some(node) = processor.ready.pop_front() {
                return Some(node);
            }
            let Some((place, Waiting { port, arrival, since })) = processor.door.pop_front() else {
                processor.rest(self.now);
                return None;
            };
            self.queue(place, port, arrival, since);
        }
    }

    /// Lets a node that is not in the middle of one handle an input.
    fn begin(&mut self, id: ProcessorId, place: NodePlace, input: Waiting) {
        let (processor, node) = (&mut self.processors[id.0], &mut self.nodes[place]);
        let port = input.port;
        let mut environment = Environment {
            now: self.now,
            routes: &mut self.routes,
            parcels: &mut self.parcels,
            cells: &mut self.cells,
            services: &self.services,
        };
        let wake = node.begin_job(&input, processor, &mut environment);
        if let Arrival::Frame(parcel) = input.arrival {
            self.parcels.keep(parcel);
        }
        if let Some(time) = wake {
            self.wake_at(place, port, time);
        }
    }

    /// Lets the current node go on until it holds the processor until an event, or gives it back. True if it holds it.
    fn go_on(&mut self, id: ProcessorId, place: NodePlace) -> bool {
        loop {
            let (processor, node) = (&mut self.processors[id.0], &mut self.nodes[place]);
            match node.job.steps.pop() {
                None => {
                    let more = node.end_job(self.now);
                    processor.give_back(place, more);
                    return false;
                }
                Some(Step::Work(Picos::ZERO)) => {}
                Some(Step::Work(left)) => {
                    node.job.steps.push(Step::Work(left));
                    let Some(until) = processor.execute(self.now, left) else {
                        processor.give_back(place, true);
                        return false;
                    };
                    let generation = processor.generation;
                    self.schedule.add_with(until, || Event::Advance(id, generation));
                    return true;
                }
                Some(Step::Disconnect(link)) => self.disconnect(place, link.0, link.1),
                Some(Step::Poke(write)) => self.cells.write(self.now, &write.0, write.1),
                Some(Step::Send(parcel)) => {
                    if self.transmit(parcel) {
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
        let Some((node, since)) = processor.current.zip(processor.since.take()) else { return };
        if let Some(Step::Work(left)) = self.nodes[node].job.steps.last_mut() {
            *left = *left - (self.now - since);
        }
    }

    /// Whether a message from a device may enter its node now. One that may not waits at the door, or is lost.
    pub(super) fn admit(&mut self, place: NodePlace, port: Port, arrival: &Arrival) -> bool {
        let node = &self.nodes[place];
        let (id, waiting) = (node.processor, node.inbox.len());
        let processor = &mut self.processors[id.0];
        if waiting + processor.door.len() >= processor.model.queue_limit {
            processor.lost += 1;
            return false;
        }
        if processor.current.is_none() {
            return true;
        }
        if !processor.model.input_controller {
            if let Arrival::Frame(parcel) = arrival {
                let arrival = Arrival::Frame(parcel.clone());
                processor.door.push_back((place, Waiting { port, arrival, since: self.now }));
            }
            return false;
        }
        self.interrupt(id);
        true
    }

    /// A message interrupts what a processor executes.
    fn interrupt(&mut self, id: ProcessorId) {
        let processor = &self.processors[id.0];
        let cost = processor.model.interrupt;
        let Some(node) = processor.current.filter(|_| processor.since.is_some()) else { return };
        if cost == Picos::ZERO {
            return;
        }
        self.pause_work(id);
        if let Some(Step::Work(left)) = self.nodes[node].job.steps.last_mut() {
            *left += cost;
        }
        self.resume(id);
    }
}

//! How processors run their nodes: one at a time, each for a time slice, step by step.

use super::Simulation;
use super::events::Event;
use crate::node::{Arrival, Phase, Waiting};
use crate::nodes::Place;
use crate::outbox::Step;
use crate::picos::Picos;
use crate::processor::{Current, ProcessorId};
use quintet_contract::Port;

/// How a node's turn on its processor went on.
enum Turn {
    /// It has the processor until an event.
    Holds,
    /// What it was at is done.
    Done,
    /// Its time slice is over and others are ready.
    Yields,
}

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
            let turn = self.go_on(id, current);
            let processor = &mut self.processors[id.0];
            match turn {
                Turn::Holds => return processor.toil(self.now),
                Turn::Done => self.finish(id, current.node),
                Turn::Yields => {
                    processor.current = None;
                    processor.ready.push_back(current.node);
                }
            }
        }
    }

    /// Gives an idle processor to the node that is ready first. None if there is none, and the processor rests.
    fn take_up(&mut self, id: ProcessorId) -> Option<Current> {
        let node = self.next_ready(id)?;
        let processor = &mut self.processors[id.0];
        let current = processor.occupy(node, self.now);
        let resting = &mut self.nodes[node];
        if resting.job.steps.is_empty()
            && let Some(input) = resting.inbox.pop_front()
        {
            self.begin(id, node, input);
        }
        Some(current)
    }

    /// Whether neither a node nor its processor has anything to do.
    pub(super) fn is_idle(&self, place: Place) -> bool {
        let node = &self.nodes[place];
        node.phase == Phase::Idle && self.processors[node.processor.0].is_free()
    }

    /// Lets an idle node on an idle processor handle an input.
    pub(super) fn handle_at_once(&mut self, place: Place, input: Waiting) {
        let node = &mut self.nodes[place];
        let id = node.processor;
        node.turn_busy(self.now);
        self.processors[id.0].occupy(place, self.now);
        self.begin(id, place, input);
        self.resume(id);
    }

    /// The node that is ready first; while there is none, messages that wait for that come in.
    fn next_ready(&mut self, id: ProcessorId) -> Option<Place> {
        loop {
            let processor = &mut self.processors[id.0];
            if let Some(node) = processor.ready.pop_front() {
                return Some(node);
            }
            let Some((place, waiting)) = processor.door.pop_front() else {
                processor.rest(self.now);
                return None;
            };
            self.queue(place, waiting);
        }
    }

    /// Lets a node that is not in the middle of one handle an input.
    fn begin(&mut self, id: ProcessorId, place: Place, input: Waiting) {
        let (now, processor, node) = (self.now, &mut self.processors[id.0], &mut self.nodes[place]);
        let port = input.port;
        if let Some(time) = node.begin_job(now, input, &mut self.routes, processor) {
            self.wake_at(place, port, time);
        }
    }

    /// Lets the current node go on until it holds the processor or gives it back.
    fn go_on(&mut self, id: ProcessorId, current: Current) -> Turn {
        loop {
            let node = &mut self.nodes[current.node];
            if let Some(&Step::Work(left)) = node.job.steps.last()
                && left > Picos::ZERO
            {
                return self.work(id, current, left);
            }
            match node.job.steps.pop() {
                None => return Turn::Done,
                Some(Step::Work(_)) => {}
                Some(Step::Disconnect(peer)) => self.disconnect(current.node, peer),
                Some(Step::Send(to, parcel)) => {
                    if self.transmit(to, parcel) {
                        // A device carries it, and the processor waits for that.
                        return Turn::Holds;
                    }
                }
            }
        }
    }

    /// Works until the end of the step or of the time slice.
    fn work(&mut self, id: ProcessorId, current: Current, left: Picos) -> Turn {
        let now = self.now;
        let processor = &mut self.processors[id.0];
        let mut slice_ends = current.slice_ends;
        if slice_ends <= now {
            if !processor.ready.is_empty() {
                return Turn::Yields;
            }
            slice_ends = processor.slice_from(now);
        }
        processor.generation += 1;
        processor.current = Some(Current { since: Some(now), slice_ends, ..current });
        let until = (now + left).min(slice_ends);
        self.schedule.add(until, Event::Advance(id, processor.generation));
        Turn::Holds
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
        let Some(Current { node, since: Some(since), .. }) = processor.current else { return };
        if let Some(current) = &mut processor.current {
            current.since = None;
        }
        if let Some(Step::Work(left)) = self.nodes[node].job.steps.last_mut() {
            *left = *left - (self.now - since);
        }
    }

    fn finish(&mut self, id: ProcessorId, place: Place) {
        let processor = &mut self.processors[id.0];
        processor.current = None;
        let node = &mut self.nodes[place];
        node.end_job(self.now);
        if node.inbox.is_empty() {
            node.phase = Phase::Idle;
            node.idle_since = self.now;
        } else {
            processor.ready.push_back(place);
        }
    }

    /// Whether a message from a device may enter its node now. One that may not waits at the door, or is lost.
    pub(super) fn admit(&mut self, place: Place, port: Port, arrival: &Arrival) -> bool {
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
        let cost = self.processors[id.0].model.interrupt;
        let Some(Current { node, since: Some(_), .. }) = self.processors[id.0].current else { return };
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

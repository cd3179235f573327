//! Processing elements: what runs the threads of the nodes that are placed on them, one at a time.

use crate::arrival::Waiting;
use crate::ids::{NodePlace, ThreadPlace};
use crate::picos::{Picos, nearest};
use crate::statistics::Level;
use quintet_contract::Random;
use std::collections::VecDeque;

/// A processing element's parameters.
///
/// The default is the abstract processor that every node has to itself unless it is placed: a cycle of one picosecond,
/// no time slices, and input and output that cost it nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ProcessorModel {
    /// The time of one cycle.
    pub cycle: Picos,
    /// How long a node runs before another that is ready gets its turn; `None`: to the end of what it does. Of a node on several
    /// processors, what runs here of it.
    pub time_slice: Option<Picos>,
    /// Whether it takes messages from transfer devices while it executes. Without, they wait until it is idle, and go
    /// before everything else then.
    pub input_controller: bool,
    /// Whether it executes on while a transfer device carries what it sends. Without, it is busy until the message is
    /// there.
    pub output_controller: bool,
    /// What each message to a transfer device costs before it is given to the device.
    pub io_setup: Picos,
    /// What each message from a transfer device costs if it comes while the processor executes.
    pub interrupt: Picos,
    /// Messages from transfer devices that may wait for a node on it, also behind one that has no room for what it sends; those beyond
    /// are lost. One that is begun at once does not wait.
    pub queue_limit: usize,
    /// Whether a node that becomes ready takes it from one of lower priority at once, which goes on later where it was. Without, it
    /// begins when what is executed is done, or its time slice is over.
    pub preempts: bool,
}

impl Default for ProcessorModel {
    fn default() -> Self {
        ProcessorModel {
            cycle: Picos(1),
            time_slice: None,
            input_controller: true,
            output_controller: true,
            io_setup: Picos::ZERO,
            interrupt: Picos::ZERO,
            queue_limit: usize::MAX,
            preempts: false,
        }
    }
}

/// A processor in a run.
#[derive(Debug)]
pub(crate) struct Processor {
    pub(crate) model: ProcessorModel,
    /// Picoseconds of one cycle.
    cycle: f64,
    /// What cycles are multiplied with: more than 1 for a slow processor.
    slowness: f64,
    pub(crate) random: Random,
    /// Threads that have something to do, with their priorities, in order. One that roams is in the queues of all processors of its node.
    ready: VecDeque<(ThreadPlace, u8)>,
    /// The thread that it runs.
    pub(crate) current: Option<ThreadPlace>,
    /// Since when the work at hand is executed; `None` while a device carries what was sent.
    pub(crate) since: Option<Picos>,
    pub(crate) slice_ends: Picos,
    /// Messages that wait until it is idle.
    pub(crate) door: VecDeque<(NodePlace, Waiting)>,
    pub(crate) busy: Level,
    /// Since when it was idle last.
    idle_since: Picos,
    /// Messages that found the queue full.
    pub(crate) lost: u64,
    /// Distinguishes the end that is scheduled from those that were before it.
    pub(crate) generation: u64,
}

impl Processor {
    pub(crate) fn new(model: ProcessorModel, random: Random, now: Picos) -> Processor {
        Processor {
            model,
            cycle: model.cycle.0 as f64,
            slowness: 1.0,
            random,
            ready: VecDeque::new(),
            current: None,
            since: None,
            slice_ends: Picos::ZERO,
            door: VecDeque::new(),
            busy: Level::new(now, 0.0),
            idle_since: now,
            lost: 0,
            generation: 0,
        }
    }

    /// Whether no thread has it and none is ready.
    pub(crate) fn is_free(&self) -> bool {
        self.current.is_none() && self.ready.is_empty()
    }

    /// A thread has it from now on.
    pub(crate) fn occupy(&mut self, thread: ThreadPlace, now: Picos) {
        (self.current, self.since) = (Some(thread), None);
        self.slice_ends = self.slice_from(now);
    }

    /// The thread that had it does not have it any more. With a priority it stands in line again, here.
    pub(crate) fn give_back(&mut self, thread: ThreadPlace, ready: Option<u8>) {
        self.current = None;
        if let Some(priority) = ready {
            self.line_up(thread, priority);
        }
    }

    /// A thread is ready, behind those of its priority.
    pub(crate) fn line_up(&mut self, thread: ThreadPlace, priority: u8) {
        if self.ready.back().is_none_or(|(_, last)| *last >= priority) {
            return self.ready.push_back((thread, priority));
        }
        let place = self.ready.partition_point(|(_, other)| *other >= priority);
        self.ready.insert(place, (thread, priority));
    }

    /// A thread from which it was taken is ready, before the others of its priority.
    pub(crate) fn line_up_first(&mut self, thread: ThreadPlace, priority: u8) {
        let place = self.ready.partition_point(|(_, other)| *other > priority);
        self.ready.insert(place, (thread, priority));
    }

    /// The thread that is ready and comes next.
    pub(crate) fn next(&mut self) -> Option<ThreadPlace> {
        self.ready.pop_front().map(|(thread, _)| thread)
    }

    /// Whether one is ready.
    pub(crate) fn has_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// A thread runs elsewhere.
    pub(crate) fn withdraw(&mut self, thread: ThreadPlace) {
        self.ready.retain(|(ready, _)| *ready != thread);
    }

    /// Executes for so long, or to the end of the time slice: until when. None if that is over and other threads are ready.
    pub(crate) fn execute(&mut self, now: Picos, left: Picos) -> Option<Picos> {
        if self.slice_ends <= now {
            if !self.ready.is_empty() {
                return None;
            }
            self.slice_ends = self.slice_from(now);
        }
        self.generation += 1;
        self.since = Some(now);
        Some((now + left).min(self.slice_ends))
    }

    /// Lets its cycles take `per_mille` thousandths of their time.
    pub(crate) fn slow_down(&mut self, per_mille: u64) {
        self.slowness = per_mille as f64 / 1e3;
    }

    /// How long `cycles` take.
    pub(crate) fn time_of(&self, cycles: f64) -> Picos {
        Picos(nearest(cycles * self.cycle * self.slowness))
    }

    /// It is busy from now on.
    pub(crate) fn keep_busy(&mut self, now: Picos) {
        if self.busy.current() == 0.0 {
            self.busy.set(now, 1.0);
        }
    }

    /// It is idle from now on.
    pub(crate) fn rest(&mut self, now: Picos) {
        if self.busy.current() > 0.0 {
            self.busy.set(now, 0.0);
            self.idle_since = now;
        }
    }

    /// How long it has been idle.
    pub(crate) fn rested(&self, now: Picos) -> Picos {
        if self.busy.current() > 0.0 { Picos::ZERO } else { now - self.idle_since }
    }

    pub(crate) fn slice_from(&self, now: Picos) -> Picos {
        self.model.time_slice.map_or(Picos::NEVER, |slice| now + slice)
    }
}

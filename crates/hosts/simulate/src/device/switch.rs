//! A switch with full duplex ports, and a plain link.

mod parameters;

pub use parameters::{Forwarding, SwitchParameters, WhenFull};

use super::Device;
use super::error::DeviceError;
use super::job::Job;
use super::message::{Alarm, DropCause, Effects, Message, Station, Timer};
use super::meter::{DeviceStatistics, Meter};
use super::network::PortStatistics;
use super::network::port::PortMeter;
use crate::picos::Picos;
use std::collections::VecDeque;

/// A block inside the switch.
#[derive(Clone, Copy, Debug)]
struct Block {
    to: Station,
    ticket: u64,
    bytes: u64,
    last: bool,
    /// It cannot have left before.
    whole_at: Picos,
}

#[derive(Clone, Debug, Default)]
struct Port {
    /// Messages at the station; the first one is being sent, or waits for room.
    waiting: VecDeque<Job>,
    /// Whether the block being sent was dropped already.
    lost: bool,
    /// Blocks of this input that are in, but may not leave yet.
    entered: VecDeque<Block>,
    /// Blocks for this output; the first one is leaving.
    leaving: VecDeque<Block>,
    buffered: u128,
    /// Inputs that wait for room in this output.
    paused: VecDeque<Station>,
    /// Of what leaves.
    meter: PortMeter,
}

/// Full duplex ports, one for each station, joined by a crossbar that never blocks: a block waits for its output port
/// alone. Each station sends its messages in order, one block after another.
#[derive(Debug)]
pub struct Switch {
    parameters: SwitchParameters,
    stations: u16,
    ports: Vec<Port>,
    buffered: u128,
    meter: Meter,
}

impl Switch {
    /// An idle switch.
    ///
    /// # Errors
    ///
    /// Those of [`SwitchParameters::check`].
    pub fn new(parameters: SwitchParameters) -> Result<Switch, DeviceError> {
        let stations = parameters.check()?;
        Ok(Switch {
            stations,
            ports: vec![Port::default(); usize::from(stations)],
            buffered: 0,
            parameters,
            meter: Meter::new(u32::from(stations)),
        })
    }

    /// The output and the size of the block an input would send next.
    fn next_block(&self, input: Station) -> Option<(Station, u64)> {
        let job = self.ports[input.index()].waiting.front()?;
        Some((job.message.to, job.block_bytes(self.parameters.framing.block_bytes())))
    }

    fn has_room(&self, output: Station, bytes: u64) -> bool {
        self.ports[output.index()].buffered + u128::from(bytes) <= u128::from(self.parameters.buffer_bytes)
    }

    /// An input is free: it sends its next block, or waits behind others for room.
    fn proceed(&mut self, now: Picos, input: Station, effects: &mut Effects<'_>) {
        let Some((output, bytes)) = self.next_block(input) else { return };
        if self.parameters.when_full == WhenFull::Pause {
            let paused = &self.ports[output.index()].paused;
            if !paused.is_empty() || !self.has_room(output, bytes) {
                return self.ports[output.index()].paused.push_back(input);
            }
        }
        self.send(now, input, output, bytes, effects);
    }

    fn send(&mut self, now: Picos, input: Station, output: Station, bytes: u64, effects: &mut Effects<'_>) {
        if self.parameters.when_full == WhenFull::Pause {
            self.fill(now, output, bytes);
        }
        let framing = self.parameters.port(input.index());
        let port = &mut self.ports[input.index()];
        if let Some(job) = port.waiting.front_mut() {
            job.begin(now, now, &mut self.meter);
        }
        let time = framing.block_time(bytes);
        let enough = match self.parameters.forwarding {
            Forwarding::StoreAndForward => time,
            Forwarding::CutThrough { header_bytes: 0 } => Picos::ZERO,
            Forwarding::CutThrough { header_bytes } => framing.block_time(header_bytes.min(bytes)).min(time),
        };
        // What is set first comes first: a block enters before its end lets the next one start.
        let end = now + time;
        effects.set(now + enough, Alarm::Enter, input, end.0);
        effects.set(end, Alarm::End, input, 0);
    }

    fn fill(&mut self, now: Picos, output: Station, bytes: u64) {
        let port = &mut self.ports[output.index()];
        port.buffered += u128::from(bytes);
        port.meter.buffer(now, port.buffered);
        self.buffered += u128::from(bytes);
        self.meter.buffered(now, u64::try_from(self.buffered).unwrap_or(u64::MAX));
    }

    /// A block whose last bit comes at `end` is in far enough: it is buffered or lost.
    fn enter(&mut self, now: Picos, input: Station, end: Picos, effects: &mut Effects<'_>) {
        let Some((to, bytes)) = self.next_block(input) else { return };
        if self.parameters.when_full == WhenFull::Drop {
            if !self.has_room(to, bytes) {
                self.ports[to.index()].meter.counts.dropped += 1;
                return self.lose(now, input, effects);
            }
            self.fill(now, to, bytes);
        }
        let largest = self.parameters.framing.block_bytes();
        let port = &mut self.ports[input.index()];
        let Some(job) = port.waiting.front() else { return };
        let (ticket, last) = (job.message.ticket, job.is_last(largest));
        let whole_at = end + self.parameters.latency;
        port.entered.push_back(Block { to, ticket, bytes, last, whole_at });
        effects.set(now + self.parameters.latency, Alarm::Ready, input, 0);
    }

    fn lose(&mut self, now: Picos, input: Station, effects: &mut Effects<'_>) {
        let port = &mut self.ports[input.index()];
        port.lost = true;
        if let Some(job) = port.waiting.front() {
            job.abandon(now, &mut self.meter);
            effects.dropped(job.message.ticket, DropCause::BufferFull);
        }
    }

    /// The last bit of an input's block is in.
    fn end(&mut self, now: Picos, input: Station, effects: &mut Effects<'_>) {
        let largest = self.parameters.framing.block_bytes();
        let port = &mut self.ports[input.index()];
        let lost = core::mem::take(&mut port.lost);
        let done = port.waiting.front_mut().is_some_and(|job| lost || job.advance(largest));
        if done {
            port.waiting.pop_front();
        }
        self.proceed(now, input, effects);
    }

    /// The oldest block of an input may leave.
    fn ready(&mut self, now: Picos, input: Station, effects: &mut Effects<'_>) {
        let Some(block) = self.ports[input.index()].entered.pop_front() else { return };
        let port = &mut self.ports[block.to.index()];
        port.meter.queue(now, 1);
        port.leaving.push_back(block);
        if port.leaving.len() == 1 {
            self.leave(now, block.to, effects);
        }
    }

    /// An output is free: its next block begins to leave.
    fn leave(&mut self, now: Picos, output: Station, effects: &mut Effects<'_>) {
        let port = &mut self.ports[output.index()];
        let Some(block) = port.leaving.front() else { return };
        port.meter.begin(now);
        self.meter.carry(now);
        let end = now + self.parameters.port(output.index()).block_time(block.bytes);
        effects.set(end.max(block.whole_at), Alarm::Leave, output, 0);
    }

    /// A block has left an output.
    fn left(&mut self, now: Picos, output: Station, effects: &mut Effects<'_>) {
        let port = &mut self.ports[output.index()];
        let Some(block) = port.leaving.pop_front() else { return };
        port.buffered -= u128::from(block.bytes);
        port.meter.buffer(now, port.buffered);
        port.meter.end(now, block.bytes);
        self.buffered -= u128::from(block.bytes);
        self.meter.buffered(now, u64::try_from(self.buffered).unwrap_or(u64::MAX));
        self.meter.rest(now);
        self.meter.carried(block.bytes);
        if block.last {
            self.meter.delivered();
            effects.delivered(block.ticket);
        }
        self.leave(now, output, effects);
        self.resume(now, output, effects);
    }

    /// An output has room again: the inputs that waited for it go on, in order, while it lasts.
    fn resume(&mut self, now: Picos, output: Station, effects: &mut Effects<'_>) {
        while let Some(&input) = self.ports[output.index()].paused.front() {
            let bytes = self.next_block(input).map_or(0, |(_, bytes)| bytes);
            if !self.has_room(output, bytes) {
                return;
            }
            self.ports[output.index()].paused.pop_front();
            self.send(now, input, output, bytes, effects);
        }
    }

    /// Why the switch can never carry the message, if it cannot.
    fn refusal(&self, message: Message, job: &Job) -> Option<DropCause> {
        if message.from.0.max(message.to.0) >= self.stations {
            return Some(DropCause::NoStation);
        }
        let bytes = job.block_bytes(self.parameters.framing.block_bytes());
        (bytes > self.parameters.buffer_bytes).then_some(DropCause::BufferFull)
    }
}

impl Device for Switch {
    fn request(&mut self, now: Picos, message: Message, effects: &mut Effects<'_>) {
        let job = Job::new(now, message, &mut self.meter);
        if let Some(why) = self.refusal(message, &job) {
            job.abandon(now, &mut self.meter);
            return effects.dropped(message.ticket, why);
        }
        let port = &mut self.ports[message.from.index()];
        port.waiting.push_back(job);
        if port.waiting.len() == 1 {
            self.proceed(now, message.from, effects);
        }
    }

    fn wake(&mut self, now: Picos, timer: Timer, effects: &mut Effects<'_>) {
        match timer.what {
            Alarm::Enter => self.enter(now, timer.station, Picos(timer.stamp), effects),
            Alarm::End => self.end(now, timer.station, effects),
            Alarm::Ready => self.ready(now, timer.station, effects),
            _ => self.left(now, timer.station, effects),
        }
    }

    fn stations(&self) -> u16 {
        self.stations
    }

    fn statistics(&self, now: Picos) -> DeviceStatistics {
        self.meter.statistics(now)
    }

    fn port(&self, now: Picos, index: usize) -> Option<PortStatistics> {
        self.ports.get(index).map(|port| port.meter.statistics(now))
    }

    fn reset_statistics(&mut self, now: Picos) {
        self.meter.reset(now);
        self.ports.iter_mut().for_each(|port| port.meter.reset(now));
    }
}

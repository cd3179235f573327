//! A bus that serves requests in the order in which they come.

use super::Device;
use super::error::DeviceError;
use super::framing::Framing;
use super::job::Job;
use super::message::{Alarm, DropCause, Effects, Message, Timer};
use super::meter::{DeviceStatistics, Meter};
use crate::picos::Picos;
use std::collections::VecDeque;

/// What a bus is made of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BusParameters {
    /// Words and blocks.
    pub framing: Framing,
    /// The number of stations, above zero.
    pub stations: u16,
}

impl BusParameters {
    /// Whether such a bus can be.
    ///
    /// # Errors
    ///
    /// [`DeviceError::NoStations`], and those of [`Framing::check`].
    pub fn check(&self) -> Result<(), DeviceError> {
        self.framing.check()?;
        if self.stations == 0 { Err(DeviceError::NoStations) } else { Ok(()) }
    }
}

/// First come, first served: the bus carries one block at a time; a message that has further blocks queues again behind
/// the others. No arbitration time, no propagation.
#[derive(Debug)]
pub struct Bus {
    parameters: BusParameters,
    /// The first one is being sent.
    queue: VecDeque<Job>,
    meter: Meter,
}

impl Bus {
    /// An idle bus.
    ///
    /// # Errors
    ///
    /// Those of [`BusParameters::check`].
    pub fn new(parameters: BusParameters) -> Result<Bus, DeviceError> {
        parameters.check()?;
        Ok(Bus { parameters, queue: VecDeque::new(), meter: Meter::new(1) })
    }

    fn send(&mut self, now: Picos, effects: &mut Effects<'_>) {
        if let Some(job) = self.queue.front_mut() {
            job.begin(now, now, &mut self.meter);
            self.meter.carry(now);
            let end = now + job.block_time(&self.parameters.framing);
            effects.set(end, Alarm::End, job.message.from, 0);
        }
    }
}

impl Device for Bus {
    fn request(&mut self, now: Picos, message: Message, effects: &mut Effects<'_>) {
        let job = Job::new(now, message, &mut self.meter);
        if message.from.0.max(message.to.0) >= self.parameters.stations {
            job.abandon(now, &mut self.meter);
            return effects.dropped(message.ticket, DropCause::NoStation);
        }
        self.queue.push_back(job);
        if self.queue.len() == 1 {
            self.send(now, effects);
        }
    }

    fn wake(&mut self, now: Picos, _timer: Timer, effects: &mut Effects<'_>) {
        let Some(mut job) = self.queue.pop_front() else { return };
        self.meter.rest(now);
        if job.carried(self.parameters.framing.block_bytes(), &mut self.meter) {
            self.meter.delivered();
            effects.delivered(job.message.ticket);
        } else {
            self.queue.push_back(job);
        }
        self.send(now, effects);
    }

    fn stations(&self) -> u16 {
        self.parameters.stations
    }

    fn statistics(&self, now: Picos) -> DeviceStatistics {
        self.meter.statistics(now)
    }

    fn reset_statistics(&mut self, now: Picos) {
        self.meter.reset(now);
    }
}

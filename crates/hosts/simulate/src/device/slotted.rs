//! CSMA/CD in slots with the optimal retransmission policy.

use super::Device;
use super::error::{DeviceError, above_zero};
use super::framing::Framing;
use super::job::Job;
use super::message::{Alarm, DropCause, Effects, Message, Station, Timer};
use super::meter::{DeviceStatistics, Meter};
use crate::picos::Picos;
use std::collections::VecDeque;

/// What slotted contention is made of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SlottedParameters {
    /// Words and blocks. The theory wants blocks no shorter than a slot; shorter ones free the medium early.
    pub framing: Framing,
    /// The number of stations, above zero.
    pub stations: u16,
    /// The time in which a collision is noticed and cleared, above zero. Metcalfe and Boggs 1976: 16 us.
    pub slot_time: Picos,
}

impl SlottedParameters {
    /// Whether such a medium can be.
    ///
    /// # Errors
    ///
    /// [`DeviceError::NoStations`], [`DeviceError::Zero`] for the slot, and those of [`Framing::check`].
    pub fn check(&self) -> Result<(), DeviceError> {
        self.framing.check()?;
        above_zero("slot time", self.slot_time)?;
        if self.stations == 0 { Err(DeviceError::NoStations) } else { Ok(()) }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// Nobody wants the medium.
    Idle,
    /// In a slot that nobody or more than one station uses.
    Slot,
    /// The station acquired the medium.
    Sending(Station),
}

/// Ethernet under the optimal policy (Metcalfe and Boggs, *Ethernet: Distributed packet switching for local computer
/// networks*, CACM 19(7), 1976, section 6): time is cut into slots after each transmission, and each of Q stations that
/// wait sends in a slot with probability 1/Q. If exactly one does, its block takes the medium from the start of that
/// slot. With Q always queued and blocks of time B, the medium is busy for B / (B + W slots), W = (1 - A) / A and
/// A = (1 - 1/Q)^(Q-1). No message is dropped.
#[derive(Debug)]
pub struct Slotted {
    parameters: SlottedParameters,
    queues: Vec<VecDeque<Job>>,
    waiting: Vec<Station>,
    phase: Phase,
    meter: Meter,
}

impl Slotted {
    /// A silent medium.
    ///
    /// # Errors
    ///
    /// Those of [`SlottedParameters::check`].
    pub fn new(parameters: SlottedParameters) -> Result<Slotted, DeviceError> {
        parameters.check()?;
        Ok(Slotted {
            parameters,
            queues: vec![VecDeque::new(); usize::from(parameters.stations)],
            waiting: Vec::with_capacity(usize::from(parameters.stations)),
            phase: Phase::Idle,
            meter: Meter::new(1),
        })
    }

    /// A slot begins. O(stations that wait).
    fn slot(&mut self, now: Picos, effects: &mut Effects<'_>) {
        let waiting = self.waiting.len() as u64;
        let mut senders = 0;
        let mut winner = None;
        for &station in &self.waiting {
            if effects.random.below(waiting) == 0 {
                senders += 1;
                winner = Some(station);
            }
        }
        match winner {
            Some(station) if senders == 1 => self.send(now, station, effects),
            _ if waiting == 0 => self.phase = Phase::Idle,
            _ => {
                self.phase = Phase::Slot;
                if senders > 1 {
                    self.meter.carry(now);
                    self.meter.spoil(now);
                }
                effects.set(now + self.parameters.slot_time, Alarm::Slot, Station(0), 0);
            }
        }
    }

    fn send(&mut self, now: Picos, station: Station, effects: &mut Effects<'_>) {
        let Some(job) = self.queues[station.index()].front_mut() else { return };
        self.phase = Phase::Sending(station);
        job.begin(now, now, &mut self.meter);
        self.meter.carry(now);
        effects.set(now + job.block_time(&self.parameters.framing), Alarm::End, station, 0);
    }

    fn complete(&mut self, station: Station, effects: &mut Effects<'_>) {
        let queue = &mut self.queues[station.index()];
        let Some(job) = queue.front_mut() else { return };
        if job.carried(self.parameters.framing.block_bytes(), &mut self.meter) {
            self.meter.delivered();
            effects.delivered(job.message.ticket);
            queue.pop_front();
        }
        if queue.is_empty() {
            self.waiting.retain(|waiting| *waiting != station);
        }
    }
}

impl Device for Slotted {
    fn request(&mut self, now: Picos, message: Message, effects: &mut Effects<'_>) {
        let job = Job::new(now, message, &mut self.meter);
        if message.from.0.max(message.to.0) >= self.parameters.stations {
            job.abandon(now, &mut self.meter);
            return effects.dropped(message.ticket, DropCause::NoStation);
        }
        let queue = &mut self.queues[message.from.index()];
        queue.push_back(job);
        if queue.len() == 1 {
            self.waiting.push(message.from);
        }
        if self.phase == Phase::Idle {
            self.slot(now, effects);
        }
    }

    fn wake(&mut self, now: Picos, _timer: Timer, effects: &mut Effects<'_>) {
        self.meter.silence(now);
        if let Phase::Sending(station) = self.phase {
            self.complete(station, effects);
        }
        self.slot(now, effects);
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

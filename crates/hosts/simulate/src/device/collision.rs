//! CSMA/CD as NETWORK II.5 describes it: no cable, but a window in which requests collide.

use super::Device;
use super::back_off::BackOff;
use super::error::{DeviceError, above_zero};
use super::framing::Framing;
use super::job::Job;
use super::message::{Alarm, DropCause, Effects, Message, Station, Timer};
use super::meter::{DeviceStatistics, Meter};
use crate::picos::Picos;
use std::collections::VecDeque;

/// What a station does that finds the medium busy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Contention {
    /// It comes back after a whole number of units, drawn evenly from `low` to below `high`; and again, while it finds
    /// the medium busy. The simulations of Thomas 1991 draw from 0 to below 1024; they do not name the unit.
    Interval {
        /// The least number of units.
        low: u32,
        /// The number of units below which all draws lie: above `low`, and above 1.
        high: u32,
        /// The time of one unit, above zero.
        unit: Picos,
    },
    /// It sends as soon as the medium is free: 1-persistent. Two that wait will collide.
    Defer,
}

/// What a bus with collisions is made of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CollisionParameters {
    /// Words and blocks.
    pub framing: Framing,
    /// The number of stations, above zero.
    pub stations: u16,
    /// A request within this time of another's start collides with it; 0: none ever does. Thomas 1991: 9.6 us.
    pub collision_window: Picos,
    /// What a station does that finds the medium busy.
    pub contention: Contention,
    /// What a station does after a collision.
    pub back_off: BackOff,
    /// How long those in a collision keep the medium from when it was noticed. 10 Mb/s: 3.2 us.
    pub jam_time: Picos,
}

impl CollisionParameters {
    /// Whether such a medium can be.
    ///
    /// # Errors
    ///
    /// [`DeviceError::NoStations`], [`DeviceError::ContentionInterval`], [`DeviceError::Zero`] for a unit, and those of
    /// [`Framing::check`] and [`BackOff::check`].
    pub fn check(&self) -> Result<(), DeviceError> {
        self.framing.check()?;
        self.back_off.check()?;
        if self.stations == 0 {
            return Err(DeviceError::NoStations);
        }
        if let Contention::Interval { low, high, unit } = self.contention {
            above_zero("unit of the contention interval", unit)?;
            if high <= low || high < 2 {
                return Err(DeviceError::ContentionInterval { low, high });
            }
        }
        Ok(())
    }
}

/// A station's messages, the first of which contends, and the alarm it waits for.
#[derive(Clone, Debug, Default)]
struct Place {
    queue: VecDeque<Job>,
    stamp: u64,
}

#[derive(Clone, Copy, Debug)]
enum Medium {
    Free,
    Carrying { by: Station, since: Picos },
    Jammed { since: Picos },
}

/// CSMA/CD without a cable (NETWORK II.5, the *collision* protocol): every station hears every other at once, except
/// that a request within the collision window of another's start does not hear it, and both collide. No interframe gap:
/// put it into the block overhead. A collision is noticed when the second request comes.
#[derive(Debug)]
pub struct Collision {
    parameters: CollisionParameters,
    places: Vec<Place>,
    medium: Medium,
    /// Which end of the medium's state is awaited.
    stamp: u64,
    deferring: VecDeque<Station>,
    meter: Meter,
}

impl Collision {
    /// A silent medium.
    ///
    /// # Errors
    ///
    /// Those of [`CollisionParameters::check`].
    pub fn new(parameters: CollisionParameters) -> Result<Collision, DeviceError> {
        parameters.check()?;
        Ok(Collision {
            places: vec![Place::default(); usize::from(parameters.stations)],
            parameters,
            medium: Medium::Free,
            stamp: 0,
            deferring: VecDeque::new(),
            meter: Meter::new(1),
        })
    }

    /// The first message of a station wants the medium now.
    fn attempt(&mut self, now: Picos, station: Station, effects: &mut Effects<'_>) {
        let Some(job) = self.places[station.index()].queue.front() else { return };
        let window = self.parameters.collision_window;
        match self.medium {
            Medium::Free => {
                let end = now + job.block_time(&self.parameters.framing);
                self.meter.carry(now);
                self.medium = Medium::Carrying { by: station, since: now };
                self.await_end(end, station, effects);
            }
            Medium::Carrying { by, since } if now - since < window => {
                self.meter.spoil(now);
                self.jam(now, since, station, effects);
                self.collide(now, by, effects);
                self.collide(now, station, effects);
            }
            Medium::Jammed { since } if now - since < window => {
                self.jam(now, since, station, effects);
                self.collide(now, station, effects);
            }
            _ => self.contend(now, station, effects),
        }
    }

    fn await_end(&mut self, end: Picos, station: Station, effects: &mut Effects<'_>) {
        self.stamp += 1;
        effects.set(end, Alarm::End, station, self.stamp);
    }

    fn jam(&mut self, now: Picos, since: Picos, station: Station, effects: &mut Effects<'_>) {
        self.medium = Medium::Jammed { since };
        self.await_end(now + self.parameters.jam_time, station, effects);
    }

    /// The station found the medium busy.
    fn contend(&mut self, now: Picos, station: Station, effects: &mut Effects<'_>) {
        match self.parameters.contention {
            Contention::Interval { low, high, unit } => {
                let units = u64::from(low) + effects.random.below(u64::from(high - low));
                self.return_at(now + unit.times(units), station, effects);
            }
            Contention::Defer => self.deferring.push_back(station),
        }
    }

    fn return_at(&mut self, at: Picos, station: Station, effects: &mut Effects<'_>) {
        let place = &mut self.places[station.index()];
        place.stamp += 1;
        effects.set(at, Alarm::Try, station, place.stamp);
    }

    /// The station's block collided: it comes back after the jam and its back-off, or gives the message up.
    fn collide(&mut self, now: Picos, station: Station, effects: &mut Effects<'_>) {
        let queue = &mut self.places[station.index()].queue;
        let Some(job) = queue.front_mut() else { return };
        job.collisions += 1;
        let wait = self.parameters.back_off.draw(job.collisions, effects.random);
        if wait.is_none() {
            job.abandon(now, &mut self.meter);
            effects.dropped(job.message.ticket, DropCause::RetryLimit);
            queue.pop_front();
        }
        let back = now + self.parameters.jam_time + wait.unwrap_or(Picos::ZERO);
        self.return_at(back, station, effects);
    }

    /// A block was carried to its end.
    fn complete(&mut self, now: Picos, station: Station, since: Picos, effects: &mut Effects<'_>) {
        let queue = &mut self.places[station.index()].queue;
        let Some(job) = queue.front_mut() else { return };
        job.begin(now, since, &mut self.meter);
        if job.carried(self.parameters.framing.block_bytes(), &mut self.meter) {
            self.meter.delivered();
            effects.delivered(job.message.ticket);
            queue.pop_front();
        }
    }

    /// The medium has become free.
    fn release(&mut self, now: Picos, effects: &mut Effects<'_>) {
        self.meter.silence(now);
        let was = core::mem::replace(&mut self.medium, Medium::Free);
        if let Medium::Carrying { by, since } = was {
            self.complete(now, by, since, effects);
            self.attempt(now, by, effects);
        }
        for _ in 0..self.deferring.len() {
            let Some(station) = self.deferring.pop_front() else { return };
            self.attempt(now, station, effects);
        }
    }
}

impl Device for Collision {
    fn request(&mut self, now: Picos, message: Message, effects: &mut Effects<'_>) {
        let job = Job::new(now, message, &mut self.meter);
        if message.from.0.max(message.to.0) >= self.parameters.stations {
            job.abandon(now, &mut self.meter);
            return effects.dropped(message.ticket, DropCause::NoStation);
        }
        let place = &mut self.places[message.from.index()];
        place.queue.push_back(job);
        let quiet = place.queue.len() == 1;
        if quiet {
            self.attempt(now, message.from, effects);
        }
    }

    fn wake(&mut self, now: Picos, timer: Timer, effects: &mut Effects<'_>) {
        match timer.what {
            Alarm::End if timer.stamp == self.stamp => self.release(now, effects),
            Alarm::Try if timer.stamp == self.places[timer.station.index()].stamp => {
                self.attempt(now, timer.station, effects);
            }
            _ => {}
        }
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

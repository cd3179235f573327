//! CSMA/CD on a cable (IEEE 802.3): stations at positions, a signal that takes its time.

mod carrier;
mod parameters;

pub use parameters::{EthernetParameters, FrameFormat};

use super::Device;
use super::error::{DeviceError, connected};
use super::job::Job;
use super::message::{Alarm, DropCause, Effects, Message, Station, Timer};
use super::meter::{DeviceStatistics, Meter};
use crate::picos::Picos;
use carrier::Carrier;
use std::collections::VecDeque;

/// A station's messages, the first of which contends, and the alarm it waits for.
#[derive(Clone, Debug, Default)]
struct Place {
    queue: VecDeque<Job>,
    stamp: u64,
}

/// Ethernet on one cable, half duplex. A station that has a frame waits until its own place on the cable was silent for
/// the interframe gap and sends (1-persistent). Stations that start before they hear each other collide; each hears it
/// when the other's signal arrives, finishes its preamble, jams, backs off and tries again. Any pair of stations on one
/// cable is as far apart as their positions; repeaters are not modelled. A message arrives when the last bit of its last
/// frame reaches the receiver. The capture effect of the back-off (a station that just sent starts again at 0) is
/// there, as in the standard.
#[derive(Debug)]
pub struct Ethernet {
    parameters: EthernetParameters,
    stations: u16,
    places: Vec<Place>,
    carrier: Carrier,
    /// Stations that hear a transmission whose end is open.
    deferring: VecDeque<Station>,
    meter: Meter,
}

impl Ethernet {
    /// A silent cable.
    ///
    /// # Errors
    ///
    /// Those of [`EthernetParameters::check`].
    pub fn new(parameters: EthernetParameters) -> Result<Ethernet, DeviceError> {
        parameters.check()?;
        let stations = connected(parameters.positions_metres.len())?;
        Ok(Ethernet {
            stations,
            places: vec![Place::default(); usize::from(stations)],
            carrier: Carrier::new(parameters.places(), parameters.interframe_gap, parameters.gap_first_part),
            parameters,
            deferring: VecDeque::new(),
            meter: Meter::new(1),
        })
    }

    /// The first message of a station wants the cable: now, or as soon as it may.
    fn attempt(&mut self, now: Picos, station: Station, effects: &mut Effects<'_>) {
        let Some(&job) = self.places[station.index()].queue.front() else { return };
        match self.carrier.free_at(now, station) {
            Some(at) if at == now => self.start(now, station, &job, effects),
            Some(at) => self.set(at, Alarm::Try, station, effects),
            None => self.deferring.push_back(station),
        }
    }

    /// Sets the one alarm that the station waits for; earlier ones are stale.
    fn set(&mut self, at: Picos, what: Alarm, station: Station, effects: &mut Effects<'_>) {
        let place = &mut self.places[station.index()];
        place.stamp += 1;
        effects.set(at, what, station, place.stamp);
    }

    fn start(&mut self, now: Picos, station: Station, job: &Job, effects: &mut Effects<'_>) {
        let frame = self.parameters.frame;
        let end = now + self.parameters.bit_time.times(frame.bits(job.block_bytes(frame.data_bytes())));
        if self.carrier.prune(now) {
            self.meter.carry(now);
        }
        self.set(end, Alarm::End, station, effects);
        let places = &self.places;
        self.carrier.start(now, station, end, |who, at| {
            effects.set(at, Alarm::Collide, who, places[who.index()].stamp);
        });
    }

    /// A sender hears another.
    fn collide(&mut self, now: Picos, station: Station, effects: &mut Effects<'_>) {
        let preamble = self.parameters.bit_time.times(u64::from(self.parameters.frame.preamble_bits));
        let Some(sent) = self.carrier.of(station) else { return };
        sent.jamming = true;
        sent.end = now.max(sent.start + preamble) + self.parameters.jam_time;
        let end = sent.end;
        self.meter.spoil(now);
        self.set(end, Alarm::End, station, effects);
    }

    /// A transmission is over.
    fn end(&mut self, now: Picos, station: Station, effects: &mut Effects<'_>) {
        let Some(sent) = self.carrier.of(station) else { return };
        sent.over = true;
        let (start, jammed) = (sent.start, sent.jamming);
        if self.carrier.prune(now) {
            self.meter.silence(now);
        }
        if jammed {
            self.back_off(now, station, effects);
        } else {
            self.complete(now, station, start, effects);
            self.attempt(now, station, effects);
        }
        for _ in 0..self.deferring.len() {
            let Some(waiting) = self.deferring.pop_front() else { return };
            self.attempt(now, waiting, effects);
        }
    }

    fn back_off(&mut self, now: Picos, station: Station, effects: &mut Effects<'_>) {
        let queue = &mut self.places[station.index()].queue;
        let Some(job) = queue.front_mut() else { return };
        job.collisions += 1;
        if let Some(wait) = self.parameters.back_off.draw(job.collisions, effects.random) {
            return self.set(now + wait, Alarm::Try, station, effects);
        }
        job.abandon(now, &mut self.meter);
        effects.dropped(job.message.ticket, DropCause::RetryLimit);
        queue.pop_front();
        self.attempt(now, station, effects);
    }

    fn complete(&mut self, now: Picos, station: Station, start: Picos, effects: &mut Effects<'_>) {
        let queue = &mut self.places[station.index()].queue;
        let Some(job) = queue.front_mut() else { return };
        job.begin(now, start, &mut self.meter);
        if job.carried(self.parameters.frame.data_bytes(), &mut self.meter) {
            let message = job.message;
            queue.pop_front();
            let arrival = now + self.carrier.delay(station, message.to);
            effects.set(arrival, Alarm::Arrive, message.to, message.ticket);
        }
    }
}

impl Device for Ethernet {
    fn request(&mut self, now: Picos, message: Message, effects: &mut Effects<'_>) {
        let job = Job::new(now, message, &mut self.meter);
        if message.from.0.max(message.to.0) >= self.stations {
            job.abandon(now, &mut self.meter);
            return effects.dropped(message.ticket, DropCause::NoStation);
        }
        let place = &mut self.places[message.from.index()];
        place.queue.push_back(job);
        if place.queue.len() == 1 {
            self.attempt(now, message.from, effects);
        }
    }

    fn wake(&mut self, now: Picos, timer: Timer, effects: &mut Effects<'_>) {
        if timer.what == Alarm::Arrive {
            self.meter.delivered();
            return effects.delivered(timer.stamp);
        }
        if self.places[timer.station.index()].stamp != timer.stamp {
            return;
        }
        match timer.what {
            Alarm::Try => self.attempt(now, timer.station, effects),
            Alarm::Collide => self.collide(now, timer.station, effects),
            _ => self.end(now, timer.station, effects),
        }
    }

    fn stations(&self) -> u16 {
        self.stations
    }

    fn statistics(&self, now: Picos) -> DeviceStatistics {
        self.meter.statistics(now)
    }

    fn reset_statistics(&mut self, now: Picos) {
        self.meter.reset(now);
    }
}

//! The timed token ring (FDDI).

mod parameters;
mod token;

pub use parameters::RingParameters;

use super::Device;
use super::error::DeviceError;
use super::job::Job;
use super::message::{Alarm, Class, DropCause, Effects, Message, Station, Timer};
use super::meter::{DeviceStatistics, Meter};
use crate::picos::Picos;
use std::collections::VecDeque;
use token::RotationTimer;

#[derive(Clone, Debug)]
struct Place {
    timer: RotationTimer,
    synchronous: VecDeque<Job>,
    asynchronous: VecDeque<Job>,
}

impl Place {
    fn is_quiet(&self) -> bool {
        self.synchronous.is_empty() && self.asynchronous.is_empty()
    }

    fn queue(&mut self, class: Class) -> &mut VecDeque<Job> {
        match class {
            Class::Synchronous => &mut self.synchronous,
            Class::Asynchronous => &mut self.asynchronous,
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Token {
    /// It left a station at this time and goes round, past stations that have nothing to send. It is awaited at `next`.
    Passing { from: Station, left: Picos, next: Picos },
    /// A station sends a block. What is left of its synchronous allocation and for asynchronous blocks.
    Held { by: Station, class: Class, synchronous: Picos, asynchronous: Picos },
}

/// The timed token protocol of FDDI (ANSI X3.139-1987; Jain, *Performance analysis of FDDI token ring networks*, 1990).
/// The token goes from station to station in the order of the connection list. A station that holds it sends
/// synchronous blocks within its allocation, then asynchronous ones for as long as the token is early; a block begun is
/// finished. It releases the token after its last block. A block arrives when its last bit is sent: the way around the
/// ring is counted with the token alone.
///
/// An idle ring costs nothing: the token's place is computed when a message comes.
#[derive(Debug)]
pub struct Ring {
    parameters: RingParameters,
    stations: u16,
    places: Vec<Place>,
    token: Token,
    /// Which visit of the token is awaited.
    stamp: u64,
    meter: Meter,
}

impl Ring {
    /// An idle ring. The token leaves the last station at time 0 and all timers start then.
    ///
    /// # Errors
    ///
    /// Those of [`RingParameters::check`].
    pub fn new(parameters: RingParameters) -> Result<Ring, DeviceError> {
        let stations = parameters.check()?;
        let place = Place {
            timer: RotationTimer::new(parameters.target_rotation_time),
            synchronous: VecDeque::new(),
            asynchronous: VecDeque::new(),
        };
        Ok(Ring {
            places: vec![place; parameters.synchronous_allocations.len()],
            parameters,
            stations,
            token: Token::Passing { from: Station(stations - 1), left: Picos::ZERO, next: Picos::NEVER },
            stamp: 0,
            meter: Meter::new(1),
        })
    }

    /// How many stations the token passes from `from` until it reaches `to`: 1 to n.
    fn hops(&self, from: Station, to: Station) -> u64 {
        let stations = u64::from(self.stations);
        (u64::from(to.0) + stations - u64::from(from.0) - 1) % stations + 1
    }

    /// If the token is under way, a station that has something to send expects it, earlier perhaps than another.
    fn expect(&mut self, now: Picos, station: Station, effects: &mut Effects<'_>) {
        let Token::Passing { from, left, next } = self.token else { return };
        let (hop, stations) = (self.parameters.token_passing_time, u64::from(self.stations));
        let hops = self.hops(from, station);
        let past = (now - left).0.div_ceil(hop.0.max(1));
        let rounds = past.saturating_sub(hops).div_ceil(stations);
        let at = left + hop.times(hops + rounds * stations);
        if at < next {
            self.token = Token::Passing { from, left, next: at };
            self.stamp += 1;
            effects.set(at, Alarm::Token, station, self.stamp);
        }
    }

    /// The token leaves a station. O(stations).
    fn release(&mut self, now: Picos, from: Station, effects: &mut Effects<'_>) {
        self.token = Token::Passing { from, left: now, next: Picos::NEVER };
        let next = (from.0 + 1..self.stations)
            .chain(0..=from.0)
            .find(|&station| !self.places[usize::from(station)].is_quiet());
        if let Some(station) = next {
            self.expect(now, Station(station), effects);
        }
    }

    /// The token reaches a station that has something to send: the others saw it pass. O(stations).
    fn arrive(&mut self, now: Picos, station: Station, effects: &mut Effects<'_>) {
        let Token::Passing { from, left, .. } = self.token else { return };
        let (hop, target) = (self.parameters.token_passing_time, self.parameters.target_rotation_time);
        let stations = u64::from(self.stations);
        let rotation = hop.times(stations);
        let before = ((now - left).0 / hop.0.max(1)).saturating_sub(1);
        for index in 0..stations.min(before) {
            let first = index + 1;
            let passed = (u64::from(from.0) + first) % stations;
            let rounds = (before - first) / stations + 1;
            let passed = usize::try_from(passed).expect("an index below the number of stations");
            self.places[passed].timer.pass(left + hop.times(first), rounds, rotation, target);
        }
        let asynchronous = self.places[station.index()].timer.visit(now, target);
        let synchronous = self.parameters.synchronous_allocations[station.index()];
        self.serve(now, station, synchronous, asynchronous, effects);
    }

    /// The station that holds the token sends its next block, or releases the token.
    fn serve(
        &mut self,
        now: Picos,
        by: Station,
        synchronous: Picos,
        asynchronous: Picos,
        effects: &mut Effects<'_>,
    ) {
        let framing = &self.parameters.framing;
        let place = &mut self.places[by.index()];
        let urgent =
            place.synchronous.front().map(|job| job.block_time(framing)).filter(|&time| time <= synchronous);
        let (class, time) = match (urgent, place.asynchronous.front()) {
            (Some(time), _) => (Class::Synchronous, time),
            (None, Some(job)) if asynchronous > Picos::ZERO => (Class::Asynchronous, job.block_time(framing)),
            _ => return self.release(now, by, effects),
        };
        if let Some(job) = place.queue(class).front_mut() {
            job.begin(now, now, &mut self.meter);
        }
        let (synchronous, asynchronous) = match class {
            Class::Synchronous => (synchronous - time, asynchronous),
            Class::Asynchronous => (synchronous, asynchronous - time),
        };
        self.token = Token::Held { by, class, synchronous, asynchronous };
        self.meter.carry(now);
        self.stamp += 1;
        effects.set(now + time, Alarm::End, by, self.stamp);
    }

    fn end(&mut self, now: Picos, effects: &mut Effects<'_>) {
        let Token::Held { by, class, synchronous, asynchronous } = self.token else { return };
        self.meter.rest(now);
        let queue = self.places[by.index()].queue(class);
        if let Some(job) = queue.front_mut()
            && job.carried(self.parameters.framing.block_bytes(), &mut self.meter)
        {
            self.meter.delivered();
            effects.delivered(job.message.ticket);
            queue.pop_front();
        }
        self.serve(now, by, synchronous, asynchronous, effects);
    }

    /// Why the ring can never carry the message, if it cannot.
    fn refusal(&self, message: Message, job: &Job) -> Option<DropCause> {
        if message.from.0.max(message.to.0) >= self.stations {
            return Some(DropCause::NoStation);
        }
        let allocation = self.parameters.synchronous_allocations[message.from.index()];
        let urgent = message.class == Class::Synchronous;
        (urgent && job.block_time(&self.parameters.framing) > allocation).then_some(DropCause::NoAllocation)
    }
}

impl Device for Ring {
    fn request(&mut self, now: Picos, message: Message, effects: &mut Effects<'_>) {
        let job = Job::new(now, message, &mut self.meter);
        if let Some(why) = self.refusal(message, &job) {
            job.abandon(now, &mut self.meter);
            return effects.dropped(message.ticket, why);
        }
        let place = &mut self.places[message.from.index()];
        let quiet = place.is_quiet();
        place.queue(message.class).push_back(job);
        if quiet {
            self.expect(now, message.from, effects);
        }
    }

    fn wake(&mut self, now: Picos, timer: Timer, effects: &mut Effects<'_>) {
        match timer.what {
            _ if timer.stamp != self.stamp => {}
            Alarm::Token => self.arrive(now, timer.station, effects),
            _ => self.end(now, effects),
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

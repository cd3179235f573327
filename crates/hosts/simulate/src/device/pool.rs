//! Servers side by side, before which there is one queue.

use super::Device;
use super::error::DeviceError;
use super::job::Job;
use super::message::{Alarm, DropCause, Effects, Message, Station, Timer};
use super::meter::{DeviceStatistics, Meter};
use crate::picos::Picos;
use std::collections::{BTreeSet, VecDeque};

/// What a pool is made of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PoolParameters {
    /// How many servers it has, above zero and below 65,535.
    pub servers: u16,
}

impl PoolParameters {
    /// Whether such a pool can be.
    ///
    /// # Errors
    ///
    /// [`DeviceError::NoStations`] without servers, [`DeviceError::TooManyStations`] for 65,535 of them.
    pub fn check(&self) -> Result<(), DeviceError> {
        match self.servers {
            0 => Err(DeviceError::NoStations),
            u16::MAX => Err(DeviceError::TooManyStations { found: usize::from(u16::MAX) + 1 }),
            _ => Ok(()),
        }
    }

    /// The station that stands for whichever server is free. Those before it are the servers.
    #[must_use]
    pub const fn any(&self) -> Station {
        Station(self.servers)
    }
}

/// Servers that each work on one message at a time, for as long as [`Message::work`] says. A message is for one of them or for
/// whichever is free; a server that becomes free takes that which came first of those that it may take.
#[derive(Debug)]
pub struct Pool {
    parameters: PoolParameters,
    idle: BTreeSet<u16>,
    /// What each server works on.
    serving: Vec<Option<Job>>,
    /// What waits for each server, and behind those for any, each with its number in the order of coming.
    waiting: Vec<VecDeque<(u64, Job)>>,
    came: u64,
    meter: Meter,
}

impl Pool {
    /// An idle pool.
    ///
    /// # Errors
    ///
    /// Those of [`PoolParameters::check`].
    pub fn new(parameters: PoolParameters) -> Result<Pool, DeviceError> {
        parameters.check()?;
        let servers = usize::from(parameters.servers);
        Ok(Pool {
            parameters,
            idle: (0..parameters.servers).collect(),
            serving: (0..servers).map(|_| None).collect(),
            waiting: vec![VecDeque::new(); servers + 1],
            came: 0,
            meter: Meter::new(u32::from(parameters.servers)),
        })
    }

    fn serve(&mut self, now: Picos, server: u16, mut job: Job, effects: &mut Effects<'_>) {
        job.begin(now, now, &mut self.meter);
        self.meter.carry(now);
        effects.set(now + job.message.work, Alarm::End, Station(server), 0);
        self.serving[usize::from(server)] = Some(job);
    }

    /// What a server that has become free works on next.
    fn next(&mut self, server: u16) -> Option<Job> {
        let came = |queue: &VecDeque<(u64, Job)>| queue.front().map_or(u64::MAX, |(came, _)| *came);
        let (own, any) = (usize::from(server), self.parameters.any().index());
        let first = if came(&self.waiting[own]) < came(&self.waiting[any]) { own } else { any };
        self.waiting[first].pop_front().map(|(_, job)| job)
    }
}

impl Device for Pool {
    fn request(&mut self, now: Picos, message: Message, effects: &mut Effects<'_>) {
        let job = Job::new(now, message, &mut self.meter);
        let any = self.parameters.any();
        if message.to > any || message.from > any {
            job.abandon(now, &mut self.meter);
            return effects.dropped(message.ticket, DropCause::NoStation);
        }
        let free = if message.to == any {
            self.idle.first().copied()
        } else {
            self.idle.get(&message.to.0).copied()
        };
        if let Some(server) = free {
            self.idle.remove(&server);
            return self.serve(now, server, job, effects);
        }
        self.came += 1;
        self.waiting[message.to.index()].push_back((self.came, job));
    }

    fn wake(&mut self, now: Picos, timer: Timer, effects: &mut Effects<'_>) {
        let server = timer.station.0;
        let Some(mut job) = self.serving[timer.station.index()].take() else { return };
        self.meter.rest(now);
        job.carried(u64::MAX, &mut self.meter);
        self.meter.delivered();
        effects.delivered(job.message.ticket);
        match self.next(server) {
            Some(job) => self.serve(now, server, job, effects),
            None => drop(self.idle.insert(server)),
        }
    }

    fn stations(&self) -> u16 {
        self.parameters.servers + 1
    }

    fn statistics(&self, now: Picos) -> DeviceStatistics {
        self.meter.statistics(now)
    }

    fn reset_statistics(&mut self, now: Picos) {
        self.meter.reset(now);
    }
}

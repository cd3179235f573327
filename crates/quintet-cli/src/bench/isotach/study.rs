//! What the study of Isotach 1.0 measured, between processes of this machine.

use super::super::link::Over;
use super::cost;
use super::latency::{read, round_trip};
use super::load::{self, AWAY, CROWD};
use super::member::Waits;
use super::net::Net;
use super::stream::{stream, task};
use super::task::Way;
use quintet::Error;
use quintet_reproduce::isotach_1_0;
use quintet_reproduce::isotach_1_0::live::{Experiment, Link, Others, Run};

/// In contention, as in the study.
const SENDERS: u16 = 4;

/// How much is done in a turn.
#[derive(Clone, Copy)]
pub(crate) struct Length {
    /// Of one run.
    pub(crate) round_trips: usize,
    /// Of one run.
    pub(crate) messages: usize,
}

/// Isonets that live as long as all runs, so that these take turns.
pub(crate) struct Nets {
    shm: Net,
    tcp: Net,
    /// A receiver, its senders, and one that exchanges messages with it, over shared memory.
    many: Net,
    /// Two on one processor, and others that send on another, as hosts have their own.
    apart: Net,
    /// Those for what sends take of a processor.
    asleep: Net,
}

impl Nets {
    /// Starts all members.
    ///
    /// # Errors
    /// The system refused, or a member did not come.
    pub(crate) fn start() -> Result<Nets, Error> {
        let (shm, tcp) = (Net::start(Over::Shm, 2)?, Net::start(Over::Tcp, 2)?);
        let many = Net::start(Over::Shm, load::MEMBERS)?;
        let apart = Net::start_pair_apart(Over::Shm, load::AWAY_FIRST, load::MEMBERS)?;
        let asleep = Net::start_waiting(Over::Shm, cost::MEMBERS, Waits::Asleep)?;
        Ok(Nets { shm, tcp, many, apart, asleep })
    }

    /// The value of a run in its unit.
    ///
    /// # Errors
    /// A member is gone.
    pub(crate) fn measure(&self, run: &Run, length: Length) -> Result<f64, Error> {
        let (way, bytes, messages) = (way(run), run.data(), length.messages);
        let pair = match run.link {
            Link::Shm => &self.shm,
            Link::Tcp => &self.tcp,
        };
        match run.experiment {
            Experiment::RoundTrip => Ok(round_trip(pair, way, bytes, length.round_trips)? / 1e3),
            Experiment::Stream => stream(pair, 1, way, bytes, messages).map(megabits),
            Experiment::Contention => stream(&self.many, SENDERS, way, bytes, messages).map(megabits),
            Experiment::Send => {
                let spent = pair.this.time_of_begins(&task(way, bytes, messages, 1))?;
                Ok(spent.as_secs_f64() * 1e6 / messages as f64)
            }
            Experiment::Cost(sent) => {
                let taken = cost::cost(&self.asleep, (sent, run.way), bytes, messages)?;
                Ok(taken.as_secs_f64() * 1e6)
            }
            Experiment::Read => read(pair, length.round_trips).map(|nanoseconds| nanoseconds / 1e3),
            Experiment::ContendedRoundTrip => {
                Ok(CROWD.round_trip(&self.many, (way, Some(way)), bytes, messages)? / 1e3)
            }
            Experiment::Beside(others) => {
                let _here = self.apart.pinned()?;
                AWAY.plain_stream(&self.apart, way_of(others), bytes, messages).map(megabits)
            }
            Experiment::RoundTripBeside(others) => {
                let _here = self.apart.pinned()?;
                Ok(AWAY.round_trip(&self.apart, (way, way_of(others)), bytes, messages)? / 1e3)
            }
        }
    }
}

fn way(run: &Run) -> Way {
    match run.way {
        isotach_1_0::Way::Raw | isotach_1_0::Way::Plain => Way::Plain,
        isotach_1_0::Way::Agreed | isotach_1_0::Way::Safe => Way::Isochrons(run.size),
    }
}

/// None: they send nothing.
fn way_of(others: Others) -> Option<Way> {
    match others {
        Others::Rest => None,
        Others::Plain => Some(Way::Plain),
        Others::Isochrons => Some(Way::Isochrons(1)),
    }
}

/// Megabits a second.
fn megabits(bytes_per_second: f64) -> f64 {
    bytes_per_second * 8.0 / 1e6
}

//! What two members get done while others send: for the study and for cases.

use super::net::Net;
use super::stream::task;
use super::task::Way;
use quintet::Error;
use std::time::{Duration, Instant};

/// Members of an isonet with each of these loads.
pub(super) const MEMBERS: u16 = 6;
/// Parts of a stream as long as each of those that are sent meanwhile; they go on until the first of these is done.
const PARTS: usize = 10;
/// Round trips of a part, and parts of them where nobody sends meanwhile.
const TRIPS: usize = 5;
const PARTS_AT_REST: usize = 100;

/// Who sends meanwhile, to whom, and who of the others exchanges messages with this process.
#[derive(Clone, Copy)]
pub(super) struct Load {
    senders: &'static [u16],
    receiver: u16,
    pub(super) asked: u16,
}

/// Four members send to member 0, as in contention, and one more exchanges messages with it.
pub(super) const CROWD: Load = Load { senders: &[1, 2, 3, 4], receiver: 0, asked: 5 };
/// Two members that have nothing to do with members 0 and 1, which are measured. The token manager is in the process of member 0.
pub(super) const APART: Load = Load { senders: &[2], receiver: 3, asked: 1 };
/// The same, where members 4 and 5 are measured, and have nothing to do with the token manager either.
pub(super) const AWAY: Load = Load { asked: AWAY_FIRST + 1, ..APART };
pub(super) const AWAY_FIRST: u16 = 4;

impl Load {
    /// Does `part` again and again while each sender sends so many messages of so many bytes in such a way, or so many times while nobody does; how often, and how long that took.
    fn during(
        self,
        net: &Net,
        way: Option<Way>,
        (bytes, count): (usize, usize),
        at_rest: usize,
        mut part: impl FnMut() -> Result<(), Error>,
    ) -> Result<(usize, Duration), Error> {
        if let Some(way) = way {
            return net.this.act_beside(self.senders, &task(way, bytes, count, self.receiver), part);
        }
        let started = Instant::now();
        (0..at_rest).try_for_each(|_| part())?;
        Ok((at_rest, started.elapsed()))
    }

    /// The mean of the round trips of this member and the one that is asked meanwhile, in nanoseconds.
    ///
    /// # Errors
    /// A member is gone.
    pub(super) fn round_trip(
        self,
        net: &Net,
        (way, of_others): (Way, Option<Way>),
        bytes: usize,
        count: usize,
    ) -> Result<f64, Error> {
        let part = || net.this.ping(way, self.asked, bytes, TRIPS);
        let (parts, took) = self.during(net, of_others, (bytes, count), PARTS_AT_REST, part)?;
        Ok(took.as_nanos() as f64 / (parts * TRIPS) as f64)
    }

    /// Plain messages of this member to the one that is asked meanwhile, in bytes a second.
    ///
    /// # Errors
    /// A member is gone.
    pub(super) fn plain_stream(
        self,
        net: &Net,
        of_others: Option<Way>,
        bytes: usize,
        count: usize,
    ) -> Result<f64, Error> {
        let messages = count.div_ceil(PARTS);
        let task_of_part = task(Way::Plain, bytes, messages, self.asked);
        let part = || net.this.perform(&task_of_part).map(drop);
        let (parts, took) = self.during(net, of_others, (bytes, count), PARTS, part)?;
        Ok((bytes * messages * parts) as f64 / took.as_secs_f64())
    }
}

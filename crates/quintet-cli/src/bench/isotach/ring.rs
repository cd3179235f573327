//! A message that goes round all members, each of whom sends it on in an isochron: beside processes that pass a word on and sleep on a futex.

use super::super::case::{Beside, Better, Case, Group, Prepare, Round, Unit};
use super::super::link::Over;
use super::super::peer::{Peer, Statistic};
use super::member::{send_isochron, tell};
use super::net::Net;
use super::{PLACEMENT, WAITING};
use quintet::{Error, IsonetBuilder};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::Sender;
use std::time::Instant;

/// Goes to the next member.
pub(super) const ROUND: u32 = 8;
/// How often it goes round in a round of the measurement, and before.
const LAPS: usize = 500;
const WARM_UP: usize = 50;
/// Each step of an isochron may go by the token manager.
const GOAL: f64 = 2.;

macro_rules! case {
    ($members:literal) => {
        (
            concat!("isochron-ring-", $members, "-shm"),
            Peer {
                statistic: Statistic::Mean,
                ..Peer::new("limit-futex-ring", "limit_futex_ring", concat!("ring-", $members))
                    .with(&["--members", stringify!($members)])
            },
            || prepare($members),
        )
    };
}

pub(super) fn cases() -> Vec<Case> {
    let cases: [(_, _, Prepare); 2] = [case!(4), case!(8)];
    cases
        .map(|(name, limit, prepare)| {
            Case::new(Group::Isotach, name, Unit::Nanoseconds, Better::Lower, prepare)
                .beside(Beside::Program(limit))
                .goal(GOAL)
                .under(WAITING, PLACEMENT)
                .on_all_processors()
        })
        .into()
}

/// The mean of the times in which it has come round.
fn prepare(members: u16) -> Result<Round, Error> {
    let net = Net::start(Over::Shm, members)?;
    net.this.send_round(WARM_UP)?;
    Ok(net.rounds(|net| {
        let started = Instant::now();
        net.this.send_round(LAPS)?;
        Ok(started.elapsed().as_nanos() as f64 / LAPS as f64)
    }))
}

/// How often the message is still to come round, at the first member.
#[derive(Default)]
pub(super) struct Laps(AtomicUsize);

impl Laps {
    pub(super) fn begin(&self, laps: usize) {
        self.0.store(laps, Relaxed);
    }

    /// Whether it has come round for the last time.
    fn are_over(&self) -> bool {
        self.0.fetch_sub(1, Relaxed) <= 1
    }
}

/// Sends the message on, and tells at the first member when it has come round often enough.
pub(super) fn passing_on(
    builder: IsonetBuilder,
    (me, members): (u16, u16),
    laps: &Arc<Laps>,
    done: &Sender<()>,
) -> IsonetBuilder {
    let (laps, done) = (Arc::clone(laps), done.clone());
    builder.handler(ROUND, move |message| {
        if me == 0 && laps.are_over() {
            return tell(&done);
        }
        send_isochron(message, (me + 1) % members, ROUND);
    })
}

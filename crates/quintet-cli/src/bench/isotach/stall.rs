//! What the end of a member costs the others: the longest time between two isochrons of one that is left, when another is killed. It learns of that by the hang-up of the
//! link; behind a network, or of who stands still, it learns after the silence that it waits for.

use super::super::case::{Better, Case, Group, Round, Unit};
use super::super::link::Over;
use super::net::Net;
use super::{PLACEMENT, WAITING};
use quintet::Error;
use quintet::isotach::View;
use std::time::{Duration, Instant};

/// Isochrons before it is killed, and in the view after.
const COUNT: usize = 200;
const MEMBERS: u16 = 4;
/// In nanoseconds.
const GOAL: f64 = 100e6;

pub(super) fn cases() -> Vec<Case> {
    // Each round loses a member: the next one has an isonet of its own.
    let prepare = || Ok(Box::new(|| Ok(stall(&Net::start(Over::Shm, MEMBERS)?)?.as_nanos() as f64)) as Round);
    let case = Case::new(Group::Isotach, "isochron-stall-4-shm", Unit::Nanoseconds, Better::Lower, prepare);
    vec![case.goal(GOAL).under(WAITING, PLACEMENT).on_all_processors()]
}

fn stall(net: &Net) -> Result<Duration, Error> {
    let mut first = View(0);
    for _ in 0..COUNT {
        first = net.this.execute_at_all()?;
    }
    net.kill(MEMBERS - 1)?;
    let (mut last, mut longest, mut after) = (Instant::now(), Duration::ZERO, 0);
    while after < COUNT {
        after += usize::from(net.this.execute_at_all()? > first);
        let now = Instant::now();
        longest = longest.max(now.duration_since(last));
        last = now;
    }
    Ok(longest)
}

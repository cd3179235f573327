//! What the end of a member costs the others: the longest time between two isochrons of one that is left, when another is killed or stands still. Of who is killed it learns by the
//! hang-up of the link, over TCP by that of the link and that nobody listens any more where it leads; of who stands still, after the silence that it waits for.

use super::super::case::{Better, Case, Group, Prepare, Round, Unit};
use super::super::link::Over;
use super::net::Net;
use super::{PLACEMENT, WAITING};
use quintet::Error;
use quintet::isotach::View;
use rustix::process::Signal;
use std::time::{Duration, Instant};

/// Isochrons before it is lost, and in the view after.
const COUNT: usize = 200;
const MEMBERS: u16 = 4;
/// Of who is killed, in nanoseconds.
const GOAL: f64 = 100e6;
/// Of who stands still: the silence that is waited for, and the time between two signs of life.
const GOAL_OF_SILENCE: f64 = 1_250e6;

pub(super) fn cases() -> Vec<Case> {
    vec![
        case("isochron-stall-4-shm", GOAL, || rounds(Over::Shm, Signal::KILL)),
        case("isochron-stall-4-tcp", GOAL, || rounds(Over::Tcp, Signal::KILL)),
        case("isochron-stall-silent-4-tcp", GOAL_OF_SILENCE, || rounds(Over::Tcp, Signal::STOP)),
    ]
}

fn case(name: &'static str, goal: f64, prepare: Prepare) -> Case {
    let case = Case::new(Group::Isotach, name, Unit::Nanoseconds, Better::Lower, prepare);
    case.goal(goal).under(WAITING, PLACEMENT).on_all_processors()
}

/// Each round loses a member: the next one has an isonet of its own.
#[allow(clippy::unnecessary_wraps, reason = "as other cases are prepared, which may fail")]
fn rounds(over: Over, signal: Signal) -> Result<Round, Error> {
    Ok(Box::new(move || Ok(stall(&Net::start(over, MEMBERS)?, signal)?.as_nanos() as f64)))
}

/// The last member is lost: the one to which no other has made its link.
fn stall(net: &Net, signal: Signal) -> Result<Duration, Error> {
    let mut first = View(0);
    for _ in 0..COUNT {
        first = net.this.execute_at_all()?;
    }
    net.signal(MEMBERS - 1, signal)?;
    let (mut last, mut longest, mut after) = (Instant::now(), Duration::ZERO, 0);
    while after < COUNT {
        after += usize::from(net.this.execute_at_all()? > first);
        let now = Instant::now();
        longest = longest.max(now.duration_since(last));
        last = now;
    }
    Ok(longest)
}

//! What the end of members costs the others: the longest time between two isochrons of one that is left, when another is killed or stands still, or two are at once. Of who is killed it learns by the
//! hang-up of the link, over TCP by that of the link and that nobody listens any more where it leads; of who stands still, after the silence that it waits for.

use super::super::case::{Better, Case, Group, Prepare, Round, Unit};
use super::super::link::Over;
use super::machines::Machines;
use super::member::Member;
use super::net::Net;
use super::{PLACEMENT, WAITING};
use quintet::Error;
use quintet::isotach::View;
use quintet_testbed::Child;
use rustix::process::Signal;
use std::time::{Duration, Instant};

/// Isochrons before they are lost, and in the view after.
const COUNT: usize = 200;
/// Of who is killed, in nanoseconds.
const GOAL: f64 = 100e6;
/// Of who stands still: the silence that is waited for, and the time between two signs of life.
const GOAL_OF_SILENCE: f64 = 1_250e6;

/// In whose process the token manager is.
const MANAGER: u16 = 0;
/// To which no other has made its link, of four members and of five.
const LAST_OF_4: u16 = 3;
const LAST_OF_5: u16 = 4;

macro_rules! killed {
    ($name:literal, $over:ident, $members:literal, $lost:expr) => {
        case($name, GOAL, || rounds(Over::$over, $members, &$lost, Signal::KILL))
    };
}

macro_rules! stopped {
    ($name:literal, $lost:expr) => {
        case($name, GOAL_OF_SILENCE, || rounds(Over::Tcp, 4, &$lost, Signal::STOP))
    };
}

pub(super) fn cases() -> Vec<Case> {
    vec![
        killed!("isochron-stall-4-shm", Shm, 4, [LAST_OF_4]),
        killed!("isochron-stall-4-tcp", Tcp, 4, [LAST_OF_4]),
        stopped!("isochron-stall-silent-4-tcp", [LAST_OF_4]),
        killed!("isochron-stall-manager-4-shm", Shm, 4, [MANAGER]),
        killed!("isochron-stall-manager-4-tcp", Tcp, 4, [MANAGER]),
        stopped!("isochron-stall-manager-silent-4-tcp", [MANAGER]),
        killed!("isochron-stall-two-5-shm", Shm, 5, [LAST_OF_5 - 1, LAST_OF_5]),
        killed!("isochron-stall-two-5-tcp", Tcp, 5, [LAST_OF_5 - 1, LAST_OF_5]),
        killed!("isochron-stall-two-manager-5-shm", Shm, 5, [MANAGER, LAST_OF_5]),
        killed!("isochron-stall-two-manager-5-tcp", Tcp, 5, [MANAGER, LAST_OF_5]),
        case("isochron-stall-3-machines-tls", GOAL, || between_machines(|lost| lost.kill().map(drop))),
        case("isochron-stall-silent-3-machines-tls", GOAL_OF_SILENCE, || {
            between_machines(|lost| lost.freeze())
        }),
    ]
}

fn case(name: &'static str, goal: f64, prepare: Prepare) -> Case {
    let case = Case::new(Group::Isotach, name, Unit::Nanoseconds, Better::Lower, prepare);
    case.goal(goal).under(WAITING, PLACEMENT).on_all_processors()
}

/// Each round loses members: the next one has an isonet of its own. This process is the first member that is left.
#[allow(clippy::unnecessary_wraps, reason = "as other cases are prepared, which may fail")]
fn rounds(over: Over, members: u16, lost: &'static [u16], signal: Signal) -> Result<Round, Error> {
    let me = (0..members).find(|member| !lost.contains(member)).unwrap_or_default();
    Ok(Box::new(move || {
        let net = Net::start_as(over, me, members)?;
        let lose = || lost.iter().try_for_each(|member| net.signal(*member, signal));
        Ok(stall(&net.this, lost, lose)?.as_nanos() as f64)
    }))
}

/// One of three members is lost, each on a machine of its own.
#[allow(clippy::unnecessary_wraps, reason = "as other cases are prepared, which may fail")]
fn between_machines(lose: fn(&mut Child) -> std::io::Result<()>) -> Result<Round, Error> {
    Ok(Box::new(move || Machines::start(3)?.stall(lose)))
}

/// Until as many isochrons as before have been executed in a view without those that are lost.
pub(super) fn stall(
    this: &Member,
    lost: &[u16],
    lose: impl FnOnce() -> Result<(), Error>,
) -> Result<Duration, Error> {
    let mut first = View(0);
    for _ in 0..COUNT {
        first = this.execute_at_all()?;
    }
    lose()?;
    let (mut last, mut longest, mut after) = (Instant::now(), Duration::ZERO, 0);
    while after < COUNT {
        let is_without = this.execute_at_all()? > first && !this.sees_any(lost);
        after += usize::from(is_without);
        let now = Instant::now();
        longest = longest.max(now.duration_since(last));
        last = now;
    }
    Ok(longest)
}

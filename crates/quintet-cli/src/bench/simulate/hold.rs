//! The hold model: an event is taken out and scheduled again after a random time (Jones, "An empirical comparison of
//! priority-queue and event-set implementations", Comm. ACM 29, 1986).

use super::super::case::{Beside, Better, Case, Group, Round, Unit};
use quintet::Error;
use quintet_contract::Random;
use quintet_simulate::{Distribution, Picos, Schedule};
use std::hint::black_box;
use std::time::Instant;

/// Holds of a round.
const HOLDS: u64 = 2_000_000;
/// Mean increment in seconds.
const MEAN: f64 = 1e-6;
/// Increments that are drawn before, so that drawing them is not timed; a power of two.
const INCREMENTS: usize = 1 << 16;
const THOUSAND: u64 = 1_000;
const MILLION: u64 = 1_000_000;

pub(super) fn cases() -> Vec<Case> {
    let case =
        |name, prepare| Case::new(Group::Simulate, name, Unit::PerSecond("holds"), Better::Higher, prepare);
    let thousand = || prepare(THOUSAND);
    vec![
        case("hold-1e3", thousand).goal(5e6),
        case("hold-1e6", || prepare(MILLION))
            .beside(Beside::Itself { name: "hold-1e3", prepare: thousand })
            .goal(0.25),
    ]
}

/// Holds a second while so many events are pending; the increments are exponential. Begins after two holds an event.
fn prepare(pending: u64) -> Result<Round, Error> {
    let mut random = Random::new(1986, 0);
    let increment = Distribution::Exponential { mean: MEAN };
    let increments: Vec<Picos> =
        (0..INCREMENTS).map(|_| Picos::from_seconds(increment.sample(&mut random))).collect();
    let mut schedule = Schedule::new();
    for event in 0..pending {
        schedule.add(increments[event as usize % INCREMENTS], event);
    }
    hold(&mut schedule, &increments, 2 * pending);
    Ok(Box::new(move || {
        let started = Instant::now();
        black_box(hold(&mut schedule, &increments, HOLDS));
        let taken = started.elapsed().as_secs_f64();
        super::check(schedule.len() as u64, pending)?;
        Ok(HOLDS as f64 / taken)
    }))
}

/// So many holds; the last time.
fn hold(schedule: &mut Schedule<u64>, increments: &[Picos], holds: u64) -> Picos {
    let mut last = Picos::ZERO;
    for number in 0..holds {
        let Some((at, event)) = schedule.pop() else { return last };
        schedule.add(at + increments[number as usize % INCREMENTS], event);
        last = at;
    }
    last
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hold_keeps_all_events_and_lets_time_pass() {
        let increments = vec![Picos(7); INCREMENTS];
        let mut schedule = Schedule::new();
        (0..3).for_each(|event| schedule.add(Picos::ZERO, event));
        assert_eq!(hold(&mut schedule, &increments, 7), Picos(14));
        assert_eq!(schedule.len(), 3);
    }
}

//! How fast broken promises are searched for.

use super::case::{Better, Case, Group, Round, Unit};
use quintet::{Code, Error};
use quintet_explore::{Options, explore};
use std::time::Instant;

/// Schedules of a round.
const SCHEDULES: u64 = 500;

pub(super) fn cases() -> Vec<Case> {
    vec![Case::new(Group::Explore, "schedules", Unit::PerSecond("schedules"), Better::Higher, prepare)]
}

/// What `quintet explore tuple-space` runs; each round other seeds.
fn prepare() -> Result<Round, Error> {
    let mut next = 0;
    Ok(Box::new(move || {
        let options = Options::of(next..next + SCHEDULES);
        next += SCHEDULES;
        let started = Instant::now();
        let report = explore(&options, &mut |_| {});
        let taken = started.elapsed().as_secs_f64();
        match report.failure {
            Some(failure) => Err(Error::new(Code::Mismatch, failure.text)),
            None => Ok(report.schedules as f64 / taken),
        }
    }))
}

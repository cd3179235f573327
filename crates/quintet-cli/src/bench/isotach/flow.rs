//! Much of the same, some of it under way at the same time.

use quintet::Error;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// So many of something, `window` of them under way at the same time; how long each takes is noted where that is wanted.
///
/// # Errors
/// What one of them cannot be begun or ended for.
pub(super) fn flow<T>(
    count: usize,
    window: usize,
    latencies: &mut Option<Vec<Duration>>,
    mut begin: impl FnMut() -> Result<T, Error>,
    finish: impl Fn(T) -> Result<(), Error>,
) -> Result<(), Error> {
    let is_timed = latencies.is_some();
    let mut finish = |(started, begun): (Option<Instant>, T)| {
        finish(begun)?;
        if let (Some(latencies), Some(started)) = (latencies.as_mut(), started) {
            latencies.push(started.elapsed());
        }
        Ok(())
    };
    let mut under_way = VecDeque::new();
    for _ in 0..count {
        if under_way.len() >= window {
            under_way.pop_front().map_or(Ok(()), &mut finish)?;
        }
        under_way.push_back((is_timed.then(Instant::now), begin()?));
    }
    under_way.into_iter().try_for_each(finish)
}

/// Does that; its time is added where it is wanted, and else the clock is not read.
pub(super) fn timed<T>(spent: &mut Option<Duration>, begin: impl FnOnce() -> T) -> T {
    let Some(spent) = spent else { return begin() };
    let started = Instant::now();
    let begun = begin();
    *spent += started.elapsed();
    begun
}

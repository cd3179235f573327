//! What waiting costs: the processor time of a served space whose only client does nothing.

use crate::bench::case::Round;
use crate::bench::space::served::Served;
use crate::connection::refused;
use quintet::Error;
use std::time::{Duration, Instant};
use std::{fs, io};

/// How long a round looks: long enough that several of its rare wake-ups fall into it.
const WATCHED: Duration = Duration::from_secs(5);

pub(super) fn prepare() -> Result<Round, Error> {
    let served = Served::start()?;
    let client = served.connect()?;
    let process = served.process();
    Ok(served.rounds(move || {
        // Stays connected.
        let _ = &client;
        share(process)
    }))
}

/// The share of one processor that all threads of a process took.
pub(in crate::bench) fn share(process: u32) -> Result<f64, Error> {
    let doing = refused("read a process's processor time");
    let (before, started) = (processor_time(process).map_err(&doing)?, Instant::now());
    std::thread::sleep(WATCHED);
    let (after, watched) = (processor_time(process).map_err(&doing)?, started.elapsed());
    Ok(after.saturating_sub(before).as_secs_f64() / watched.as_secs_f64())
}

/// What the scheduler counts of all threads. `stat` counts ticks of 10 ms, more than all that is measured here.
fn processor_time(process: u32) -> io::Result<Duration> {
    let mut time = Duration::ZERO;
    for thread in fs::read_dir(format!("/proc/{process}/task"))? {
        let counts = fs::read_to_string(thread?.path().join("schedstat"))?;
        let unknown = || io::Error::other(format!("schedstat says {counts:?}"));
        time += time_run(&counts).ok_or_else(unknown)?;
    }
    Ok(time)
}

/// The first number: nanoseconds on a processor.
fn time_run(counts: &str) -> Option<Duration> {
    counts.split_whitespace().next()?.parse().ok().map(Duration::from_nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_number_is_the_time() {
        assert_eq!(time_run("1500 20 3\n"), Some(Duration::from_nanos(1500)));
        assert_eq!(time_run(""), None);
    }
}

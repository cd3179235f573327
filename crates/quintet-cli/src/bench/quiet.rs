//! Whether the machine was quiet while a case was measured: a prediction of a busy machine says little about either.
//!
//! Before, between and after the rounds of a turn a fixed loop runs on each of the first two processors, on which the sides of
//! a case are. What it takes beyond the processor time that it uses, others had; what it uses beyond the fastest loop, a neighbour
//! on the same core, the clock or the host took. What a host gave to other machines stands in `/proc/stat` besides.

use crate::pinning::{Pin, allowed};
use quintet::Error;
use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};
use std::fmt;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Steps of the loop: a few milliseconds.
const STEPS: u64 = 4_000_000;
/// The processors that are looked at.
const PROCESSORS: usize = 2;
/// Above these shares of the time, and above this ratio of the slowest and the fastest loop, a machine is not quiet.
const MOST_LOST: f64 = 0.02;
const MOST_STOLEN: f64 = 0.01;
const MOST_SPREAD: f64 = 1.15;

/// One run of the loop.
#[derive(Clone, Copy, Debug)]
struct Probe {
    wall: Duration,
    used: Duration,
}

/// Looks at the machine from time to time.
pub(super) struct Watch {
    processors: Vec<usize>,
    /// In turn of [`Watch::processors`].
    probes: Vec<Probe>,
    /// Of the whole machine, in ticks: stolen and all. None where the system does not tell.
    began: Option<(u64, u64)>,
}

/// What was seen.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Quiet {
    /// The share of the loops' time in which something else had their processor.
    lost: f64,
    /// The slowest loop's processor time by the fastest one's, on the processor where they differ most.
    spread: f64,
    /// The share of the machine's time that its host gave to others; none where the system does not tell.
    stolen: Option<f64>,
}

impl Watch {
    /// # Errors
    /// The system refused.
    pub(super) fn start() -> Result<Watch, Error> {
        let processors = allowed()?.into_iter().take(PROCESSORS).collect();
        Ok(Watch { processors, probes: Vec::new(), began: ticks() })
    }

    /// Looks once.
    ///
    /// # Errors
    /// The system refused.
    pub(super) fn look(&mut self) -> Result<(), Error> {
        for processor in &self.processors {
            let _pin = Pin::to(*processor)?;
            self.probes.push(probe());
        }
        Ok(())
    }

    /// What was seen since it began.
    pub(super) fn end(self) -> Quiet {
        let stolen = self.began.zip(ticks()).and_then(|((stolen, all), (stolen_now, all_now))| {
            let passed = all_now.checked_sub(all).filter(|passed| *passed > 0)?;
            Some(stolen_now.saturating_sub(stolen) as f64 / passed as f64)
        });
        Quiet::of(&self.probes, self.processors.len(), stolen)
    }
}

impl Quiet {
    /// Of probes that took turns on so many processors.
    fn of(probes: &[Probe], processors: usize, stolen: Option<f64>) -> Quiet {
        let sum = |of: fn(&Probe) -> Duration| probes.iter().map(of).sum::<Duration>().as_secs_f64();
        let (wall, used) = (sum(|probe| probe.wall), sum(|probe| probe.used));
        let spread_on = |processor: usize| {
            let of_it = probes.iter().skip(processor).step_by(processors.max(1));
            let used: Vec<f64> = of_it.map(|probe| probe.used.as_secs_f64()).collect();
            let fastest = used.iter().copied().fold(f64::MAX, f64::min);
            used.iter().copied().fold(0.0, f64::max) / fastest.max(f64::MIN_POSITIVE)
        };
        let lost = if wall > 0.0 { ((wall - used) / wall).max(0.0) } else { 0.0 };
        let spread = (0..processors.max(1)).map(spread_on).fold(1.0, f64::max);
        Quiet { lost, spread, stolen }
    }

    fn is_quiet(self) -> bool {
        self.lost <= MOST_LOST && self.spread <= MOST_SPREAD && self.stolen.unwrap_or(0.0) <= MOST_STOLEN
    }

    pub(super) fn as_json(self) -> Value {
        json!({"quiet": self.is_quiet(), "lost": self.lost, "spread": self.spread, "stolen": self.stolen})
    }
}

impl fmt::Display for Quiet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stolen = self.stolen.map(|share| format!(", {:.1}% went to others of its host", 100.0 * share));
        let seen = format!(
            "a fixed loop lost {:.1}% of its time and took up to {:.2} times its least{}",
            100.0 * self.lost,
            self.spread,
            stolen.unwrap_or_default()
        );
        match self.is_quiet() {
            true => write!(f, "machine quiet ({seen})"),
            false => write!(f, "MACHINE NOT QUIET, the figures say little ({seen})"),
        }
    }
}

/// Runs the loop where this thread is.
fn probe() -> Probe {
    let used = || Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default();
    let (began, began_used) = (Instant::now(), used());
    let mut state = 1_u64;
    for step in 0..STEPS {
        state = black_box(state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(step));
    }
    Probe { wall: began.elapsed(), used: used().saturating_sub(began_used) }
}

/// Of all processors since the system began: ticks that the host gave to others, and all.
fn ticks() -> Option<(u64, u64)> {
    stolen_of(&std::fs::read_to_string("/proc/stat").ok()?)
}

/// The line `cpu`: user, nice, system, idle, waiting for a disk, interrupts, soft interrupts, stolen; what follows is part of user.
fn stolen_of(text: &str) -> Option<(u64, u64)> {
    let line = text.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let ticks: Vec<u64> = line.split_whitespace().take(8).map_while(|word| word.parse().ok()).collect();
    Some((*ticks.get(7)?, ticks.iter().sum()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn probe(wall_ms: u64, used_ms: u64) -> Probe {
        Probe { wall: Duration::from_millis(wall_ms), used: Duration::from_millis(used_ms) }
    }

    #[test]
    fn loops_that_take_what_they_use_were_alone() {
        // Two processors of different paces, in turn.
        let quiet =
            Quiet::of(&[probe(100, 100), probe(150, 150), probe(102, 101), probe(151, 150)], 2, Some(0.0));
        assert!(quiet.is_quiet(), "{quiet}");
        assert!(
            quiet.to_string().starts_with("machine quiet (a fixed loop lost 0.4% of its time"),
            "{quiet}"
        );
    }

    #[test]
    fn each_way_to_lose_time_makes_a_machine_busy() {
        let alone = [probe(100, 100), probe(100, 100)];
        let interrupted = Quiet::of(&[probe(100, 100), probe(110, 100)], 1, None);
        let slowed = Quiet::of(&[probe(100, 100), probe(130, 130)], 1, None);
        let stolen = Quiet::of(&alone, 1, Some(0.05));
        for busy in [interrupted, slowed, stolen] {
            assert!(!busy.is_quiet(), "{busy:?}");
            assert!(busy.to_string().starts_with("MACHINE NOT QUIET"), "{busy}");
            assert_eq!(busy.as_json()["quiet"], false);
        }
        assert!(Quiet::of(&alone, 1, None).is_quiet());
    }

    #[test]
    fn the_systems_count_is_read_with_and_without_guests() {
        let text = "cpu  10 1 5 80 2 1 1 7 3 0\ncpu0 1 1 1 1 1 1 1 1 1 1\n";
        assert_eq!(stolen_of(text), Some((7, 107)));
        assert_eq!(stolen_of("cpu  10 1 5 80\n"), None);
        assert_eq!(stolen_of("intr 5\n"), None);
    }

    #[test]
    fn a_look_has_a_probe_of_each_processor() -> Result<(), Error> {
        let mut watch = Watch::start()?;
        watch.look()?;
        watch.look()?;
        assert_eq!(watch.probes.len(), 2 * watch.processors.len());
        assert!(watch.probes.iter().all(|probe| probe.used > Duration::ZERO));
        Ok(())
    }
}

//! Peer: NeXosim, a discrete-event simulator of asynchronous models: an M/M/1 queue on one thread, load 0.8.
//!
//! A round is one run of `--iterations` customers; the figure is customers a second. A source schedules each customer and
//! sends it to the server's model, which keeps those that wait and schedules the end of each service.

mod options;
mod queue;

use options::Options;
use std::error::Error;
use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Instant;

const USAGE: u8 = 64;
const BROKEN: u8 = 70;
const CASE: &str = "mm1";

fn main() -> ExitCode {
    let options = match Options::parse(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(error) => return fail(&*error, USAGE),
    };
    match measure(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(&*error, BROKEN),
    }
}

fn fail(error: &dyn Error, status: u8) -> ExitCode {
    let _ = writeln!(io::stderr(), "{error}");
    ExitCode::from(status)
}

fn measure(options: &Options) -> Result<(), Box<dyn Error>> {
    if options.only_case.as_deref().is_some_and(|case| case != CASE) {
        return Ok(());
    }
    if let Some(cpu) = options.cpu {
        let mut processors = rustix::thread::CpuSet::new();
        processors.set(cpu);
        rustix::thread::sched_setaffinity(None, &processors)?;
    }
    for _ in 0..options.rounds {
        queue::simulate(options.warmup)?;
        let started = Instant::now();
        let served = queue::simulate(options.iterations)?;
        let rate = options.iterations as f64 / started.elapsed().as_secs_f64();
        if served != options.iterations {
            return Err(format!("{served} of {} customers were served", options.iterations).into());
        }
        for statistic in ["mean", "p50"] {
            let line = format!(
                r#"{{"peer": "nexosim", "case": "{CASE}", "unit": "customers/s", "statistic": "{statistic}", "value": {rate:.3}}}"#
            );
            writeln!(io::stdout(), "{line}")?;
        }
    }
    Ok(())
}

//! Counts primes by live tuples: the master asks for one a range, and takes them as they come.
//!
//! `cargo run --release -p quintet --example primes`: two threads make them. `quintet run -n 4 target/release/examples/primes`: processes do, also of several
//! machines with `--hosts`, and whichever of them is killed, each tuple comes once.

use quintet::{Error, Evals, Job, Lab, Space, template, tuple};
use std::process::ExitCode;
use std::thread;

const RANGES: i64 = 50;
const LENGTH: i64 = 2000;
/// Primes below 100,000.
const PRIMES: i64 = 9592;

fn main() -> ExitCode {
    match run() {
        Ok(None) => {}
        Ok(Some(PRIMES)) => println!("main job: ok, {PRIMES} primes below {}", RANGES * LENGTH),
        Ok(Some(found)) => {
            println!("main job: FAILED, {found} primes below {}, and not {PRIMES}", RANGES * LENGTH);
            return ExitCode::FAILURE;
        }
        Err(error) => {
            println!("main job: FAILED, {error}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

/// The master gives the number of primes. A worker gives none.
fn run() -> Result<Option<i64>, Error> {
    let (job, lab) = (Job::from_environment()?, Lab::from_environment()?);
    let evals =
        Evals::new().function("primes", |from: i64, to: i64| tuple!["primes", from, to, primes(from, to)]);
    if job.rank.is_some() {
        evals.serve(&lab.space())?;
        return Ok(None);
    }
    let threads = if job.workers == 0 { 2 } else { 0 };
    thread::scope(|scope| {
        for _ in 0..threads {
            let (evals, space) = (&evals, lab.space());
            scope.spawn(move || evals.serve(&space));
        }
        let found = count(&lab.space());
        lab.close(); // The threads end with it.
        found.map(Some)
    })
}

fn count(space: &Space) -> Result<i64, Error> {
    for range in 0..RANGES {
        space.eval_on_workers("primes", [(range * LENGTH).into(), ((range + 1) * LENGTH).into()])?;
    }
    let mut found = 0;
    for _ in 0..RANGES {
        let made = space.take(&template!["primes", ?i64, ?i64, ?i64])?;
        found += i64::try_from(made[3].clone())?;
    }
    Ok(found)
}

fn primes(from: i64, to: i64) -> i64 {
    let is_prime = |n: &i64| *n >= 2 && (2..).take_while(|d| d * d <= *n).all(|d| n % d != 0);
    (from..to).filter(is_prime).map(|_| 1).sum()
}

//! Looks keys up in a table that one process has: workers call the master's handler, and sum up what it replies.
//!
//! ```sh
//! cargo run --release -p quintet --example key_lookup                    # workers are threads of this process
//! quintet run -n 4 target/release/examples/key_lookup                    # workers are processes
//! ```
//!
//! The sum is compared with that of the table.

use quintet::{Call, Error, HandlerLimits, Job, Lab, template, tuple};
use std::thread;
use std::time::Duration;

const KEYS: u32 = 1000;
const THREADS: u32 = 4;
const TABLE: &str = "squares";
const LONG: Duration = Duration::from_secs(60);

fn main() -> Result<(), Error> {
    let (job, lab) = (Job::from_environment()?, Lab::from_environment()?);
    match job.rank {
        Some(rank) => work(&lab, rank, job.workers),
        None => master(&lab, job.workers),
    }
}

fn master(lab: &Lab, workers: u32) -> Result<(), Error> {
    let table: Vec<u64> = (0..u64::from(KEYS)).map(|key| key * key).collect();
    let handler = lab.messaging().handle(TABLE, HandlerLimits::default())?;
    // Without workers threads of the master look keys up.
    let threads = if workers == 0 { THREADS } else { 0 };
    let total = thread::scope(|scope| {
        scope.spawn(|| handler.serve(|call| look_up(&table, call)));
        for number in 0..threads {
            scope.spawn(move || work(lab, number, threads));
        }
        let total = collect(lab, workers + threads);
        handler.leave()?;
        total
    })?;
    assert_eq!(total, table.iter().sum::<u64>(), "the sum of the table");
    println!("main job: ok, {} workers looked {KEYS} keys up", workers + threads);
    Ok(())
}

/// Handles one call: a key is replied to with its value. Runs on the thread that serves.
fn look_up(table: &[u64], call: &Call) -> Result<Vec<u8>, &'static str> {
    let key: [u8; 4] = call.payload()[..].try_into().map_err(|_| "a key has four bytes")?;
    let value = table.get(u32::from_le_bytes(key) as usize).ok_or("no such key")?;
    Ok(value.to_le_bytes().into())
}

fn work(lab: &Lab, number: u32, workers: u32) -> Result<(), Error> {
    let table = lab.messaging().to(TABLE);
    table.wait_for_handler(LONG)?;
    let mut sum = 0;
    for key in (number..KEYS).step_by(workers as usize) {
        let reply = table.call_within(key.to_le_bytes().to_vec(), LONG)?;
        sum += u64::from_le_bytes(reply[..].try_into().expect("the table replies with eight bytes"));
    }
    lab.space().out(tuple!["sum", sum])
}

/// The sum of what the workers put.
fn collect(lab: &Lab, workers: u32) -> Result<u64, Error> {
    let mut total = 0;
    for _ in 0..workers {
        let sum = lab.space().take(&template!["sum", ?u64])?;
        total += u64::try_from(sum[1].clone()).expect("the template says so");
    }
    Ok(total)
}

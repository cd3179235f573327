//! quintet_job - what part this process has in a job
//!
//! `quintet run -n 4 ./a.out` starts a program five times: once as the master, which puts tasks and takes results, and four times as
//! a worker, which takes tasks and puts results. A program learns by `quintet_job_rank` which of them it is; only a program that
//! asks is started as a worker. Workers end when they return from main, or are ended after the master.
//!
//! The environment names the job's space: `quintet_lab_connect` with a NULL address goes there. Run without `quintet run`, a program is
//! a master without workers, its lab is in its own process, and its threads may be the workers.
//!
//! Both functions read the variables `QUINTET_RANK` and `QUINTET_WORKERS` anew.

use crate::boundary::{guarded, place};
use crate::error::quintet_status;
use core::mem::MaybeUninit;
use quintet::Job;

/// The worker's number, from 0; -1 in the master, and outside a job.
///
/// Fails with `QUINTET_BAD_VALUE` if the environment says what is no number.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_job_rank(rank: Option<&mut MaybeUninit<i64>>) -> quintet_status {
    guarded(|| {
        let rank = place(rank, "rank", -1)?;
        *rank = Job::from_environment()?.rank.map_or(-1, i64::from);
        Ok(())
    })
}

/// How many workers the job has; 0 outside a job.
///
/// Fails with `QUINTET_BAD_VALUE` if the environment says what is no number.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_job_workers(workers: Option<&mut MaybeUninit<u32>>) -> quintet_status {
    guarded(|| {
        let workers = place(workers, "workers", 0)?;
        *workers = Job::from_environment()?.workers;
        Ok(())
    })
}

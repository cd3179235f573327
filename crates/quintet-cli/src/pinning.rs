//! Processors.

use crate::connection::refused;
use quintet::Error;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// The processors that this process may use.
pub(crate) fn allowed() -> Result<Vec<usize>, Error> {
    let set = sched_getaffinity(None).map_err(|errno| refused("ask for processors")(errno.into()))?;
    Ok((0..CpuSet::MAX_CPU).filter(|processor| set.is_set(*processor)).collect())
}

/// Keeps this thread, and those it starts, on one processor.
pub(crate) fn stay_on(processor: usize) -> Result<(), Error> {
    let mut set = CpuSet::new();
    set.set(processor);
    sched_setaffinity(None, &set).map_err(|errno| refused("stay on a processor")(errno.into()))
}

//! Processors.

use crate::connection::refused;
use quintet::Error;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// The processors that this process may use.
pub(crate) fn allowed() -> Result<Vec<usize>, Error> {
    let set = sched_getaffinity(None).map_err(|errno| refused("ask for processors")(errno.into()))?;
    Ok((0..CpuSet::MAX_CPU).filter(|processor| set.is_set(*processor)).collect())
}

/// Keeps this thread, and those and the processes it starts meanwhile, on one processor until it is dropped.
#[must_use = "dropped, it frees the thread"]
pub(crate) struct Pin {
    before: CpuSet,
}

impl Pin {
    /// # Errors
    /// The system refused.
    pub(crate) fn to(processor: usize) -> Result<Pin, Error> {
        let doing = refused("stay on a processor");
        let before = sched_getaffinity(None).map_err(|errno| doing(errno.into()))?;
        let mut only = CpuSet::new();
        only.set(processor);
        sched_setaffinity(None, &only).map_err(|errno| doing(errno.into()))?;
        Ok(Pin { before })
    }
}

impl Drop for Pin {
    fn drop(&mut self) {
        // What was allowed before is allowed now, unless the system's set shrank meanwhile; then it stays here.
        let _ = sched_setaffinity(None, &self.before);
    }
}

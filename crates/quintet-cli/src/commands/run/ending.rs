//! How everybody is ended: asked, and after a second made to.

use super::child::Child;
use super::job::Job;
use rustix::process::Signal;
use std::time::{Duration, Instant};

/// How long a child may take to end by itself.
const GRACE: Duration = Duration::from_secs(1);
/// How long the rest may take: the end of processes that were killed, the last lines in pipes.
const REST: Duration = Duration::from_millis(500);

impl Job<'_> {
    /// Ends every child and reads what they said last. Takes less than two seconds.
    pub(super) fn end(&mut self) {
        let interrupted = self.interrupts > 0;
        for worker in &self.workers {
            worker.signal_group(Signal::TERM);
            // One that is stopped hears nothing.
            worker.signal_group(Signal::CONT);
        }
        if !self.master.ended && !interrupted {
            self.master.signal_group(Signal::TERM);
        }
        self.handle_until(Instant::now() + GRACE, |job| job.children().all(|child| child.ended));
        if interrupted || !self.master.ended {
            self.master.signal_group(Signal::KILL);
        }
        self.workers.iter().for_each(|worker| worker.signal_group(Signal::KILL));
        let done = |job: &Self| job.open_outputs == 0 && job.children().all(|child| child.ended);
        self.handle_until(Instant::now() + REST, done);
    }

    fn children(&self) -> impl Iterator<Item = &Child> {
        self.workers.iter().chain([&self.master])
    }

    /// Errors of the space no longer matter.
    fn handle_until(&mut self, limit: Instant, done: impl Fn(&Self) -> bool) {
        while !done(self) && self.next(Some(limit)).unwrap_or(true) {}
    }
}

//! How everybody is ended: asked, and after a second made to.

use super::child::Child;
use super::job::Job;
use rustix::process::Signal;
use std::time::{Duration, Instant};

/// How long a master that was interrupted has its workers: without them it would say that its tasks wait.
const HEAD_START: Duration = Duration::from_millis(300);
/// How long a child may take to end by itself.
const GRACE: Duration = Duration::from_secs(1);
/// How long the rest may take: the end of processes that were killed, the next of the last words in pipes.
const REST: Duration = Duration::from_millis(500);
/// How long all of the last words may take.
const LAST_WORDS: Duration = Duration::from_secs(30);

impl Job<'_> {
    /// Ends every child and reads what they said last. Takes two seconds at most, and more only while words come.
    pub(super) fn end(&mut self) {
        self.is_ending = true;
        let interrupted = self.interrupts > 0;
        if interrupted {
            self.handle_until(Instant::now() + HEAD_START, |job| job.master.ended);
        }
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
        let done = |job: &Self| {
            job.open_outputs == 0 && job.children().all(|child| child.ended) && job.launch.printer.is_silent()
        };
        let limit = Instant::now() + LAST_WORDS;
        let mut heard = None;
        while !done(self) && heard != Some(self.launch.printer.pieces()) && Instant::now() < limit {
            heard = Some(self.launch.printer.pieces());
            self.handle_until(Instant::now() + REST, done);
        }
    }

    pub(super) fn children(&self) -> impl Iterator<Item = &Child> {
        self.workers.iter().chain([&self.master])
    }

    /// Errors of the space no longer matter.
    fn handle_until(&mut self, limit: Instant, done: impl Fn(&Self) -> bool) {
        while !done(self) && self.next(Some(limit)).unwrap_or(true) {}
    }
}

//! The loop of a job: what happens to children and tasks, and what follows.

use super::child::{Child, Who};
use super::display::Display;
use super::happening::{Event, Happening, What, put, take_events, watch, watch_signals};
use super::killing::{Killing, in_words};
use super::launch::Launch;
use super::ledger::{Ledger, Redone};
use super::summary::{Ended, Summary};
use quintet::{Code, Error, Lab};
use rustix::process::Signal;
use std::ffi::OsString;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// How long the last events may take to come.
const LAST_EVENTS: Duration = Duration::from_secs(1);

/// A job under way.
pub(super) struct Job<'a> {
    pub(super) launch: &'a Launch,
    lab: &'a Lab,
    /// Given away with the first `RecvTimeoutError`: the senders live in threads.
    happenings: Receiver<Happening>,
    pub(super) master: Child,
    /// By rank.
    pub(super) workers: Vec<Child>,
    /// Captured outputs that are open.
    pub(super) open_outputs: usize,
    ledger: Ledger,
    killing: Killing,
    /// The task that was redone because of the kill.
    proof: Option<Redone>,
    display: Display,
    pub(super) interrupts: u32,
    all_events_seen: bool,
}

/// Runs a job to its end. When this returns, no child is left.
pub(super) fn run(
    launch: &Launch,
    lab: &Lab,
    command_line: &[OsString],
    kill_one: bool,
) -> Result<Summary, Error> {
    let (tell, happenings) = channel();
    watch_signals(tell.clone())?;
    take_events(lab, tell.clone());
    let mut workers = (0..launch.workers).map(|rank| launch.worker(rank)).collect::<Result<Vec<_>, _>>()?;
    let mut master = launch.master(command_line)?;
    let mut open_outputs = watch(&mut master, &launch.printer, &tell);
    open_outputs += workers.iter_mut().map(|worker| watch(worker, &launch.printer, &tell)).sum::<usize>();
    let mut job = Job {
        launch,
        lab,
        happenings,
        master,
        workers,
        open_outputs,
        ledger: Ledger::default(),
        killing: if kill_one { Killing::Waiting } else { Killing::NotAsked },
        proof: None,
        display: Display::new(&launch.printer),
        interrupts: 0,
        all_events_seen: false,
    };
    let outcome = job.work();
    job.end();
    job.display.finish();
    outcome?;
    job.summary()
}

impl Job<'_> {
    /// Until the master has ended and its last event was seen, or the job is interrupted.
    fn work(&mut self) -> Result<(), Error> {
        while !self.master.ended && self.interrupts == 0 {
            self.next(None)?;
            if !self.workers.is_empty()
                && self.workers.iter().all(|worker| worker.ended)
                && !self.master.ended
            {
                return Err(Error::new(Code::PeerDied, "all workers ended before their master"));
            }
        }
        if self.interrupts > 0 {
            return Err(Error::new(Code::Cancelled, "interrupted; everything was ended"));
        }
        put(self.lab, What::End, 0)?;
        let limit = Instant::now() + LAST_EVENTS;
        while !self.all_events_seen && self.next(Some(limit))? {}
        Ok(())
    }

    /// Handles what happens next. False if nothing did until `limit`.
    pub(super) fn next(&mut self, limit: Option<Instant>) -> Result<bool, Error> {
        let left = limit.map_or(Duration::MAX, |limit| limit.saturating_duration_since(Instant::now()));
        let happening = match self.happenings.recv_timeout(left) {
            Ok(happening) => happening,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return Ok(false),
        };
        match happening {
            Happening::Event(event) => self.event(&event)?,
            Happening::Ended(who, how) => self.ended(who, &how),
            Happening::Silent => self.open_outputs -= 1,
            Happening::Interrupt(signal) => self.interrupted(signal),
            Happening::SpaceGone(error) => return Err(error),
        }
        Ok(true)
    }

    fn event(&mut self, event: &Event) -> Result<(), Error> {
        if let Some(redone) = self.ledger.add(event) {
            self.launch.printer.say(&in_words(&redone, self.killing));
            if self.killing.caused(&redone) {
                self.proof.get_or_insert(redone);
            }
        }
        self.display.update(&self.ledger);
        let worker = usize::try_from(event.rank).ok().and_then(|rank| self.workers.get(rank));
        match (event.what, worker) {
            (What::Holding, Some(worker)) => self.killing.held(worker, event.rank, self.lab)?,
            (What::Marker, Some(worker)) => self.killing.marker(worker, event.rank, &self.ledger),
            (What::End, _) => self.all_events_seen = true,
            _ => {}
        }
        Ok(())
    }

    fn ended(&mut self, who: Who, how: &str) {
        let Some(child) = self.child(who) else { return };
        child.ended = true;
        let Who::Worker(rank) = who else { return };
        let left = self.workers.iter().filter(|worker| !worker.ended).count();
        if self.master.ended || self.interrupts > 0 {
            return;
        }
        let next = if left == 0 { "none is left".to_owned() } else { format!("the job goes on with {left}") };
        self.launch.printer.say(&format!("worker {rank} ended with {how}; {next}"));
    }

    fn child(&mut self, who: Who) -> Option<&mut Child> {
        match who {
            Who::Master => Some(&mut self.master),
            Who::Worker(rank) => self.workers.iter_mut().find(|worker| worker.who == Who::Worker(rank)),
        }
    }

    /// The first time everybody is asked to end, the second time everybody is ended.
    fn interrupted(&mut self, signal: Signal) {
        self.interrupts += 1;
        if self.interrupts > 1 {
            self.master.signal_group(Signal::KILL);
        } else if self.master.has_own_group() || signal != Signal::INT {
            // Otherwise ctrl-C at the terminal has reached it already; twice would disturb its tidying.
            self.master.signal_group(signal);
        }
    }

    fn summary(&mut self) -> Result<Summary, Error> {
        let master = self.master.reap()?;
        let victim = self.killing.victim();
        let workers =
            self.workers.iter_mut().map(|worker| Ok(Ended { who: worker.who, status: worker.reap()? }));
        Ok(Summary {
            master,
            workers: workers.collect::<Result<_, Error>>()?,
            submitted: self.ledger.submitted(),
            done: self.ledger.done(),
            redone: self.ledger.redone(),
            kill_asked: self.killing != Killing::NotAsked,
            victim,
            proof: self.proof.clone(),
        })
    }
}

//! The loop of a job: what happens to children and tasks, and what follows.

use super::child::{self, Child, Who};
use super::display::Display;
use super::happening::{Event, Happening, What, put, take_events, watch};
use super::killing::{Killing, in_words};
use super::launch::Launch;
use super::ledger::{Ledger, Redone};
use super::restarts::Restarts;
use super::summary::{Ended, Summary};
use quintet::{Code, Error, Lab};
use rustix::process::{Signal, getpid, kill_process};
use std::process::ExitStatus;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

/// How long the last events may take to come.
const LAST_EVENTS: Duration = Duration::from_secs(1);

/// A job under way.
pub(super) struct Job<'a> {
    pub(super) launch: &'a Launch,
    lab: &'a Lab,
    tell: Sender<Happening>,
    happenings: Receiver<Happening>,
    pub(super) master: Child,
    /// By rank.
    pub(super) workers: Vec<Child>,
    /// Captured outputs that are open.
    pub(super) open_outputs: usize,
    ledger: Ledger,
    killing: Killing,
    restarts: Restarts,
    /// The task that was redone because of the kill.
    proof: Option<Redone>,
    display: Display,
    pub(super) interrupts: u32,
    pub(super) is_ending: bool,
    all_events_seen: bool,
}

/// Runs a job to its end. When this returns, no child is left.
pub(super) fn run(
    launch: &Launch,
    lab: &Lab,
    kill_one: bool,
    tell: Sender<Happening>,
    happenings: Receiver<Happening>,
) -> Result<Summary, Error> {
    take_events(lab, tell.clone());
    let mut workers = (0..launch.workers).map(|rank| launch.worker(rank)).collect::<Result<Vec<_>, _>>()?;
    let mut master = launch.master()?;
    let mut open_outputs = watch(&mut master, &launch.printer, &tell);
    open_outputs += workers.iter_mut().map(|worker| watch(worker, &launch.printer, &tell)).sum::<usize>();
    let mut job = Job {
        launch,
        lab,
        tell,
        happenings,
        master,
        workers,
        open_outputs,
        ledger: Ledger::default(),
        killing: if kill_one { Killing::Waiting } else { Killing::NotAsked },
        restarts: Restarts::new(launch.restarts),
        proof: None,
        display: Display::new(&launch.printer),
        interrupts: 0,
        is_ending: false,
        all_events_seen: false,
    };
    job.note_counts();
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
            let left = self.workers.iter().filter(|worker| !worker.ended).count() + self.restarts.due();
            if !self.workers.is_empty() && left == 0 && !self.master.ended && !self.all_have_done_their_work()
            {
                return Err(Error::new(Code::PeerDied, "all workers ended before their master"));
            }
        }
        if self.interrupts > 0 {
            return Err(Error::new(Code::Cancelled, "interrupted"));
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
            Happening::Ended(who, how) => self.ended(who, how)?,
            Happening::Silent => self.open_outputs -= 1,
            Happening::Said => {}
            Happening::Interrupt(signal) => self.interrupted(signal),
            Happening::Pause => self.pause(),
            Happening::Resume => self.resume(),
            Happening::SpaceGone(error) => return Err(error),
            Happening::Seen(sight) => self.launch.hosts.see(&sight, self.launch.lease),
            Happening::MachineGone(name, workers, error) => {
                self.restarts.are_lost(workers);
                self.launch.printer.say(&format!("{name} is lost to this job: {}", error.text()));
            }
        }
        self.note_counts();
        Ok(true)
    }

    fn note_counts(&self) {
        let workers = self.workers.iter().filter(|worker| !worker.ended).count();
        self.launch.counts.note([
            workers as u64,
            self.restarts.made(),
            self.ledger.submitted(),
            self.ledger.done(),
            self.ledger.redone() as u64,
        ]);
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
            (What::Holding, Some(worker)) if worker.is_here() || self.all_are_elsewhere() => {
                self.killing.held(worker, event.rank, self.lab)?;
            }
            (What::Marker, Some(worker)) => {
                self.killing.marker(worker, event.rank, &self.ledger);
                self.restart(event.rank)?;
            }
            (What::Done, Some(worker)) if !worker.is_here() => {
                let others =
                    self.workers.iter().filter(|worker| !worker.ended && worker.rank() != Some(event.rank));
                self.killing.done(event.rank, &self.ledger, others.count());
            }
            (What::End, _) => self.all_events_seen = true,
            _ => {}
        }
        Ok(())
    }

    fn ended(&mut self, who: Who, how: ExitStatus) -> Result<(), Error> {
        let Some(child) = self.child(who) else { return Ok(()) };
        child.end(how);
        let Who::Worker(rank) = who else { return Ok(()) };
        if self.is_over() || self.launch.own_workers && how.success() {
            return Ok(());
        }
        let place = i64::try_from(rank).unwrap_or(i64::MAX);
        let again = !how.success() && self.killing.victim() != Some(place) && self.may_restart(place)?;
        let left = self.workers.iter().filter(|worker| !worker.ended).count() + self.restarts.due();
        let next = match left {
            _ if again => "it is started again".to_owned(),
            0 => "none is left".to_owned(),
            _ => format!("the job goes on with {left}"),
        };
        self.launch.printer.say(&format!("worker {rank} ended with {}; {next}", child::in_words(how)));
        if again {
            put(self.lab, What::Marker, place)?;
        }
        Ok(())
    }

    /// Whether no worker is on this machine, where it is known for certain when one stands still.
    fn all_are_elsewhere(&self) -> bool {
        !self.workers.iter().any(Child::is_here)
    }

    /// Whether the workers are programs that end when they have done their work, and all of them did.
    fn all_have_done_their_work(&self) -> bool {
        self.launch.own_workers && self.workers.iter().all(|worker| worker.is_content)
    }

    /// Whether one more worker may be started again; if so, that is due.
    fn may_restart(&mut self, place: i64) -> Result<bool, Error> {
        // After one answer, the space's thread has looked at every link since the worker ended. What the worker held may be counted
        // in the next answer only: the limit has room for one such task of each worker.
        let returned = self.lab.space().status()?.redone;
        Ok(self.restarts.ask(place, returned))
    }

    /// The marker came: everything that the worker said before it ended is in the ledger.
    fn restart(&mut self, place: i64) -> Result<(), Error> {
        let rank = usize::try_from(place).unwrap_or(usize::MAX);
        if self.is_over() || !self.restarts.take(place) || rank >= self.workers.len() {
            return Ok(());
        }
        self.ledger.is_replaced(place);
        let mut worker = self.launch.worker(rank as u64)?;
        self.open_outputs += watch(&mut worker, &self.launch.printer, &self.tell);
        self.workers[rank] = worker;
        Ok(())
    }

    /// Whether it does not matter any more if a worker ends.
    fn is_over(&self) -> bool {
        self.master.ended || self.interrupts > 0 || self.is_ending
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

    /// Stops everybody, then this process: nobody is silent to somebody who runs.
    fn pause(&self) {
        self.children().for_each(|child| child.signal_group(Signal::STOP));
        // A process may always stop itself.
        let _ = kill_process(getpid(), Signal::STOP);
    }

    /// Lets everybody go on, save a worker that was stopped for another reason.
    fn resume(&self) {
        let stopped = self.killing.stopped().and_then(|rank| u64::try_from(rank).ok()).map(Who::Worker);
        let children = self.children().filter(|child| Some(child.who) != stopped);
        children.for_each(|child| child.signal_group(Signal::CONT));
    }

    fn summary(&mut self) -> Result<Summary, Error> {
        let master = self.master.reap()?;
        let victim = self.killing.victim();
        let workers = self.workers.iter_mut().map(|worker| {
            let machine = worker.machine().or(self.launch.hosts.here()).map(str::to_owned);
            Ok(Ended { who: worker.who, machine, status: worker.reap()? })
        });
        Ok(Summary {
            master,
            workers: workers.collect::<Result<_, Error>>()?,
            restarts: self.restarts.made(),
            submitted: self.ledger.submitted(),
            done: self.ledger.done(),
            redone: self.ledger.redone(),
            kill_asked: self.killing != Killing::NotAsked,
            victim,
            proof: self.proof.clone(),
        })
    }
}

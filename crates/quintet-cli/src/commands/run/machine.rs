//! Another machine that runs workers of a job: its agent starts them, and tells what they say and how they end.

use super::child::Who;
use super::display::{Printer, Stream};
use super::happening::Happening;
use super::pieces::Pieces;
use crate::commands::cluster::refused;
use bytes::Bytes;
use quintet::{Code, Error};
use quintet_agent::Client;
use quintet_contract::Span;
use quintet_launch::{Answer, End, FileHash, JobFile, Request, Start, What};
use rustix::process::Signal;
use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// How long an agent may take for what it does at once: to start a process, say.
const ANSWER_LIMIT: Duration = Duration::from_secs(30);
/// How long one request waits for the next happening.
const NEXT: Duration = Duration::from_secs(60);
/// How long everything of a job may take to be gone.
const END_LIMIT: Duration = Duration::from_secs(5);
/// What is said of a process whose machine is lost, as wait(2) has it: it was killed.
const LOST: i32 = 9;

/// Another machine.
pub(super) struct Machine {
    name: String,
    client: Client,
    job: u128,
    printer: Printer,
    tell: Sender<Happening>,
    /// By their numbers at the agent.
    workers: Mutex<BTreeMap<u64, Worker>>,
    is_followed: AtomicBool,
    is_lost: AtomicBool,
}

/// A worker on another machine, and what it has said that is no whole line.
struct Worker {
    rank: u64,
    output: Pieces,
    error: Pieces,
}

/// A process on another machine.
pub(super) struct There {
    machine: Arc<Machine>,
    process: u64,
    status: ExitStatus,
}

/// A file of a job, and what it holds.
pub(super) type Sent = (JobFile, Bytes);

impl Machine {
    pub(super) fn new(
        name: &str,
        client: Client,
        job: u128,
        printer: Printer,
        tell: Sender<Happening>,
    ) -> Machine {
        Machine {
            name: name.to_owned(),
            client,
            job,
            printer,
            tell,
            workers: Mutex::default(),
            is_followed: AtomicBool::new(false),
            is_lost: AtomicBool::new(false),
        }
    }

    /// Whether it can be reached no more.
    pub(super) fn is_lost(&self) -> bool {
        self.is_lost.load(Ordering::Acquire)
    }

    /// Its processors.
    pub(super) fn cores(&self) -> Result<usize, Error> {
        match self.ask(&Request::Info, ANSWER_LIMIT)? {
            Answer::Info(info) => Ok(usize::from(info.cores).max(1)),
            _ => Err(self.misunderstood()),
        }
    }

    /// Sends those of the files that it does not keep.
    pub(super) fn send(&self, files: &[Sent]) -> Result<(), Error> {
        let hashes: Vec<FileHash> = files.iter().map(|(file, _)| file.hash).collect();
        if hashes.is_empty() {
            return Ok(());
        }
        let Answer::Missing { hashes: missing } = self.ask(&Request::Have { hashes }, ANSWER_LIMIT)? else {
            return Err(self.misunderstood());
        };
        let is_missing = |sent: &&Sent| missing.contains(&sent.0.hash);
        for (file, contents) in files.iter().filter(is_missing) {
            self.ask(&Request::Store { hash: file.hash, contents: contents.clone() }, ANSWER_LIMIT)?;
        }
        Ok(())
    }

    /// Starts a worker.
    pub(super) fn start(self: &Arc<Self>, rank: u64, start: Start) -> Result<There, Error> {
        // Held until the worker is known: what it says may come before the answer that names it.
        let mut workers = self.workers();
        let request = Request::Start { job: self.job, start: Box::new(start) };
        let Answer::Started { process, .. } = self.ask(&request, ANSWER_LIMIT)? else {
            return Err(self.misunderstood());
        };
        workers.insert(process, Worker { rank, output: Pieces::default(), error: Pieces::default() });
        drop(workers);
        if !self.is_followed.swap(true, Ordering::AcqRel) {
            let machine = Arc::clone(self);
            thread::spawn(move || machine.follow());
        }
        Ok(There { machine: Arc::clone(self), process, status: ExitStatus::from_raw(LOST) })
    }

    /// Ends everything of the job there. A machine that is lost does so by itself.
    pub(super) fn end(&self) {
        if !self.is_lost() {
            // If it fails, the agent ends it with this command's session.
            let _ = self.ask(&Request::End { job: self.job }, END_LIMIT);
        }
    }

    /// Passes on what happens, until nothing more does.
    fn follow(&self) {
        let request = Request::Next { job: self.job, wait: Span::from(NEXT) };
        let error = loop {
            match self.ask(&request, NEXT + ANSWER_LIMIT) {
                Ok(Answer::Happened(happenings)) => {
                    for happening in happenings {
                        self.happened(happening.process, happening.what);
                    }
                }
                Ok(_) => break self.misunderstood(),
                Err(error) => break error,
            }
        };
        self.is_lost.store(true, Ordering::Release);
        let left = std::mem::take(&mut *self.workers());
        // A job that is over has no process left to wait for.
        if !left.is_empty() {
            let _ = self.tell.send(Happening::MachineGone(self.name.clone(), error));
        }
        for worker in left.into_values() {
            self.ended(worker, ExitStatus::from_raw(LOST));
        }
    }

    fn happened(&self, process: u64, what: What) {
        let mut workers = self.workers();
        match what {
            What::Output { stream, bytes } => {
                let Some(worker) = workers.get_mut(&process) else { return };
                let (pieces, stream) = match stream {
                    quintet_launch::Stream::Output => (&mut worker.output, Stream::Output),
                    quintet_launch::Stream::Error => (&mut worker.error, Stream::Error),
                };
                let prefix = prefix(worker.rank, &self.name);
                pieces.add(&bytes, |piece| self.printer.piece(stream, &prefix, piece));
            }
            What::Ended(end) => {
                let Some(worker) = workers.remove(&process) else { return };
                drop(workers);
                // The layout of wait(2).
                self.ended(
                    worker,
                    ExitStatus::from_raw(match end {
                        End::Exited(status) => i32::from(status) << 8,
                        End::Killed(signal) => i32::from(signal),
                    }),
                );
            }
        }
    }

    fn ended(&self, worker: Worker, how: ExitStatus) {
        let prefix = prefix(worker.rank, &self.name);
        worker.output.finish(|piece| self.printer.piece(Stream::Output, &prefix, piece));
        worker.error.finish(|piece| self.printer.piece(Stream::Error, &prefix, piece));
        // The job may be over without it.
        let _ = self.tell.send(Happening::Ended(Who::Worker(worker.rank), how));
    }

    fn ask(&self, request: &Request, limit: Duration) -> Result<Answer, Error> {
        self.client.ask_launcher(request, limit).map_err(|error| {
            let error = refused(error);
            Error::new(error.code(), format!("{}: {}", self.name, error.text()))
        })
    }

    fn misunderstood(&self) -> Error {
        Error::new(Code::Malformed, format!("{}: its agent answers something else than was asked", self.name))
    }

    fn workers(&self) -> MutexGuard<'_, BTreeMap<u64, Worker>> {
        self.workers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl There {
    /// Sends it, or it and what it has started, a signal. Nothing happens if it has ended, or its machine is lost.
    pub(super) fn signal(&self, signal: Signal, to_group: bool) {
        let number = u8::try_from(signal.as_raw()).unwrap_or_default();
        let request = Request::Signal { process: self.process, signal: number, to_group };
        if !self.machine.is_lost() {
            self.machine.client.tell_launcher(&request);
        }
    }

    /// It has ended in this way.
    pub(super) fn end(&mut self, how: ExitStatus) {
        self.status = how;
    }

    /// How it has ended.
    pub(super) fn status(&self) -> ExitStatus {
        self.status
    }
}

fn prefix(rank: u64, machine: &str) -> String {
    format!("[worker {rank} on {machine}] ")
}

//! Another machine that runs workers of a job: its agent starts them, and tells what they say and how they end.

use super::child::Who;
use super::display::{Printer, Stream};
use super::files::Sent;
use super::happening::Happening;
use super::pieces::Pieces;
use crate::commands::cluster::refused;
use quintet::Error;
use quintet_agent::{AgentError, Client};
use quintet_contract::Span;
use quintet_launch::limits::MAX_HASHES;
use quintet_launch::{Answer, End, FileHash, Request, Start, What};
use rustix::process::Signal;
use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

/// How long an agent may take to keep a file, and a second more for each MiB of it.
const ANSWER_LIMIT: Duration = Duration::from_secs(30);
/// How long it may take to start a process, to pass a signal on, or to say how its machine is. The job waits meanwhile.
const PROMPT_LIMIT: Duration = Duration::from_secs(10);
/// How long one request waits for the next happening.
const NEXT: Duration = Duration::from_secs(60);
/// How long everything of a job may take to be gone.
const END_LIMIT: Duration = Duration::from_secs(5);
/// What is said of a process whose machine is lost, as wait(2) has it: it was killed.
const LOST: i32 = 9;

/// What Python says, among other words, of a package of ours that it does not find.
const NO_PACKAGE: [&[u8]; 2] =
    [b"finding module specification for 'quintet.worker'", b"No module named quintet.worker"];

/// Another machine.
pub(super) struct Machine {
    name: String,
    client: Client,
    job: u128,
    printer: Printer,
    tell: Sender<Happening>,
    /// The ranks of the workers that run there, by their numbers at the agent.
    workers: Mutex<BTreeMap<u64, u64>>,
    is_followed: AtomicBool,
    /// The agent's session is over, and with it everything of the job there.
    is_lost: AtomicBool,
    /// Why no worker is started there any more.
    left_out: OnceLock<String>,
}

/// What a worker on another machine has said that is no whole line.
struct Said {
    prefix: String,
    output: Pieces,
    error: Pieces,
}

/// A process on another machine.
pub(super) struct There {
    machine: Arc<Machine>,
    process: u64,
    status: ExitStatus,
}

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
            left_out: OnceLock::new(),
        }
    }

    /// Why no worker is started there any more, if that is so.
    pub(super) fn left_out(&self) -> Option<&str> {
        self.left_out.get().map(String::as_str)
    }

    /// No worker is started there any more; those that run there go on. The first reason counts, and is told.
    fn leave_out(&self, why: &str) {
        if self.left_out.set(format!("{}: {why}", self.name)).is_ok() && !self.is_lost() {
            self.printer.say(&format!("{}: {why}; no more workers are started there", self.name));
        }
    }

    /// Whether it can be reached no more.
    fn is_lost(&self) -> bool {
        self.is_lost.load(Ordering::Acquire)
    }

    /// Its processors; one, and it is left out, if it does not say.
    pub(super) fn cores(&self) -> usize {
        let answer = self.ask(&Request::Info, PROMPT_LIMIT);
        let cores = answer.and_then(|answer| match answer {
            Answer::Info(info) => Ok(usize::from(info.cores)),
            _ => Err(misunderstood()),
        });
        cores.map_err(|error| self.leave_out(error.text())).unwrap_or_default().max(1)
    }

    /// Sends those of the files that it does not keep. A machine that does not take them is left out.
    pub(super) fn send(&self, files: &[Sent]) {
        if let Err(error) = self.try_send(files) {
            self.leave_out(error.text());
        }
    }

    fn try_send(&self, files: &[Sent]) -> Result<(), Error> {
        for files in files.chunks(MAX_HASHES) {
            let hashes: Vec<FileHash> = files.iter().map(|(file, _)| file.hash).collect();
            let Answer::Missing { hashes: missing } = self.ask(&Request::Have { hashes }, ANSWER_LIMIT)?
            else {
                return Err(misunderstood());
            };
            let is_missing = |sent: &&Sent| missing.contains(&sent.0.hash);
            for (file, contents) in files.iter().filter(is_missing) {
                let limit = ANSWER_LIMIT + Duration::from_secs((contents.len() >> 20) as u64);
                self.ask(&Request::Store { hash: file.hash, contents: contents.clone() }, limit)?;
            }
        }
        Ok(())
    }

    /// Starts a worker. A machine that refuses, is lost or does not answer is left out from then on.
    pub(super) fn start(self: &Arc<Self>, rank: u64, start: Start) -> Option<There> {
        // Held until the worker is known: what it says, and the end of them all, may come before the answer that names it.
        let mut workers = self.workers();
        if self.is_lost() {
            return None;
        }
        let request = Request::Start { job: self.job, start: Box::new(start) };
        let answer = self.client.ask_launcher(&request, PROMPT_LIMIT);
        let process = match answer.and_then(number_of_started) {
            Ok(process) => process,
            Err(error) => {
                self.is_not_started(error);
                return None;
            }
        };
        workers.insert(process, rank);
        drop(workers);
        if !self.is_followed.swap(true, Ordering::AcqRel) {
            let machine = Arc::clone(self);
            thread::spawn(move || machine.follow());
        }
        Some(There { machine: Arc::clone(self), process, status: ExitStatus::from_raw(LOST) })
    }

    fn is_not_started(&self, error: AgentError) {
        if !matches!(error, AgentError::NotLaunched(_)) {
            // The worker may run all the same, or soon, and nobody would look after it.
            self.client.tell_launcher(&Request::End { job: self.job });
        }
        self.leave_out(refused(error).text());
    }

    /// Ends everything of the job there. A machine that is lost does so by itself.
    pub(super) fn end(&self) {
        if !self.is_lost() {
            // If it fails, the agent ends it with this command's session.
            let _ = self.ask(&Request::End { job: self.job }, END_LIMIT);
        }
    }

    /// Passes on what happens, until nothing more does. What comes next is asked for when that is done, so that little waits here.
    fn follow(&self) {
        let request = Request::Next { job: self.job, wait: Span::from(NEXT) };
        let mut said = BTreeMap::new();
        let error = loop {
            match self.client.ask_launcher(&request, NEXT + ANSWER_LIMIT) {
                Ok(Answer::Happened(happenings)) => {
                    for happening in happenings {
                        self.happened(happening.process, happening.what, &mut said);
                    }
                }
                Ok(_) => break misunderstood(),
                Err(error) => break refused(error),
            }
        };
        self.is_lost.store(true, Ordering::Release);
        self.leave_out(error.text());
        let left = std::mem::take(&mut *self.workers());
        // A job that is over has no process left to wait for.
        if !left.is_empty() {
            let _ = self.tell.send(Happening::MachineGone(self.name.clone(), left.len() as u64, error));
        }
        for (process, rank) in left {
            self.ended(rank, said.remove(&process), ExitStatus::from_raw(LOST));
        }
    }

    /// `said`: what is no whole line so far, by process. Nothing is locked while who reads is waited for.
    fn happened(&self, process: u64, what: What, said: &mut BTreeMap<u64, Said>) {
        let known = self.workers().get(&process).copied();
        let Some(rank) = known else { return };
        match what {
            What::Output { stream, bytes } => {
                let said = said.entry(process).or_insert_with(|| Said {
                    prefix: format!("[worker {rank} on {}] ", self.name),
                    output: Pieces::default(),
                    error: Pieces::default(),
                });
                let (pieces, stream) = match stream {
                    quintet_launch::Stream::Output => (&mut said.output, Stream::Output),
                    quintet_launch::Stream::Error => (&mut said.error, Stream::Error),
                };
                pieces.add(&bytes, |piece| {
                    self.look_for_no_package(piece);
                    self.printer.piece(stream, &said.prefix, piece);
                });
            }
            What::Ended(end) => {
                self.workers().remove(&process);
                // The layout of wait(2).
                let how = ExitStatus::from_raw(match end {
                    End::Exited(status) => i32::from(status) << 8,
                    End::Killed(signal) => i32::from(signal),
                });
                self.ended(rank, said.remove(&process), how);
            }
        }
    }

    /// Where Python has no package of ours, no worker will ever run.
    fn look_for_no_package(&self, piece: &[u8]) {
        let says = |words: &&[u8]| piece.windows(words.len()).any(|window| window == *words);
        if NO_PACKAGE.iter().any(says) {
            self.leave_out(
                "its Python has no package quintet: install it there, or name a Python that has it with --python",
            );
        }
    }

    fn ended(&self, rank: u64, said: Option<Said>, how: ExitStatus) {
        if let Some(Said { prefix, output, error }) = said {
            output.finish(|piece| self.printer.piece(Stream::Output, &prefix, piece));
            error.finish(|piece| self.printer.piece(Stream::Error, &prefix, piece));
        }
        // The job may be over without it.
        let _ = self.tell.send(Happening::Ended(Who::Worker(rank), how));
    }

    fn ask(&self, request: &Request, limit: Duration) -> Result<Answer, Error> {
        self.client.ask_launcher(request, limit).map_err(refused)
    }

    fn workers(&self) -> MutexGuard<'_, BTreeMap<u64, u64>> {
        self.workers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn misunderstood() -> Error {
    refused(AgentError::Malformed("an answer of its agent"))
}

fn number_of_started(answer: Answer) -> Result<u64, AgentError> {
    match answer {
        Answer::Started { process, .. } => Ok(process),
        _ => Err(AgentError::Malformed("an answer of its agent")),
    }
}

impl There {
    /// Sends it, or it and what it has started, a signal. Nothing happens if it has ended, or its machine is lost.
    pub(super) fn signal(&self, signal: Signal, to_group: bool) {
        if !self.machine.is_lost() {
            self.machine.client.tell_launcher(&self.request(signal, to_group));
        }
    }

    /// Sends it alone a signal, and returns when it has it, or has ended, or its machine does not answer.
    pub(super) fn signal_and_wait(&self, signal: Signal) {
        if !self.machine.is_lost() {
            // Whoever does not answer is lost soon, of which the job hears.
            let _ = self.machine.ask(&self.request(signal, false), PROMPT_LIMIT);
        }
    }

    /// The machine where it runs.
    pub(super) fn machine(&self) -> &str {
        &self.machine.name
    }

    fn request(&self, signal: Signal, to_group: bool) -> Request {
        let signal = u8::try_from(signal.as_raw()).unwrap_or_default();
        Request::Signal { process: self.process, signal, to_group }
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

//! Another machine that runs workers of a job: its agent starts them, and tells what they say and how they end.

mod errand;
mod kernel;
mod parts;
mod service;

use super::child::Who;
use super::display::{Printer, Stream};
use super::files::Sent;
use super::happening::Happening;
use super::pieces::Pieces;
use super::sight::Sight;
use crate::commands::cluster::refused;
use errand::Errands;
use kernel::MachineKernel;
use quintet::{Code, Error, LinkAddress};
use quintet_agent::{AgentError, Client};
use quintet_contract::{NodeId, Span};
use quintet_launch::limits::MAX_HASHES;
use quintet_launch::{Answer, End, FileHash, Reason, Request, Start, What};
use quintet_membership::Suspicion;
use rustix::process::Signal;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// How long an agent may take to keep a file, and a second more for each MiB of it.
const ANSWER_LIMIT: Duration = Duration::from_secs(30);
/// How long it may take to start a process, to pass a signal on, or to say how its machine is. The job waits meanwhile.
const PROMPT_LIMIT: Duration = Duration::from_secs(10);
/// How long one request waits for the next happening.
const NEXT: Duration = Duration::from_secs(60);
/// How long everything of a job may take to be gone.
pub(super) const END_LIMIT: Duration = Duration::from_secs(5);
/// Between two requests to an agent that has no room for one.
pub(super) const BUSY_PAUSE: Duration = Duration::from_millis(200);
/// What is said of a process whose machine is lost, as wait(2) has it: it was killed.
const LOST: i32 = 9;

/// What Python says, among other words, of a package of ours that it does not find.
const NO_PACKAGE: [&[u8]; 2] =
    [b"finding module specification for 'quintet.worker'", b"No module named quintet.worker"];

/// Another machine.
pub(super) struct Machine {
    name: String,
    listen: Option<LinkAddress>,
    node: NodeId,
    /// How long it may be silent before its session is over.
    patience: Duration,
    client: Client,
    job: u128,
    printer: Printer,
    tell: Sender<Happening>,
    /// The ranks of the workers that run there, by their numbers at the agent.
    workers: Mutex<BTreeMap<u64, u64>>,
    /// Other processes of the job there.
    errands: Errands,
    /// Where workers there leave their parts of the trace and their histograms, once that was asked for; none if there is no such place.
    parts: OnceLock<Option<PathBuf>>,
    /// Through which processes there ask the space, once one was started.
    kernel: OnceLock<MachineKernel>,
    is_followed: AtomicBool,
    /// Whether it did not seem to be there, by what was seen last.
    is_suspected: AtomicBool,
    /// The agent's session is over, or the job there.
    loss: OnceLock<Loss>,
    /// Why no worker is started there any more.
    left_out: OnceLock<String>,
}

/// How a machine was lost to a job.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Loss {
    /// Its agent has ended what it ran of the job.
    Ended,
    /// It is not reached: its agent does that when it has heard nothing of this command for long enough.
    Unreached,
}

/// What came of the start of a worker.
pub(super) enum Started {
    Running(There),
    /// There is no room at the moment, and why.
    Busy(String),
    /// The machine starts no more workers.
    LeftOut,
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
    /// `patience`: how long it may be silent before its session is over.
    pub(super) fn new(
        (name, node): (&str, NodeId),
        listen: Option<LinkAddress>,
        (client, patience): (Client, Duration),
        job: u128,
        printer: Printer,
        tell: Sender<Happening>,
    ) -> Machine {
        Machine {
            name: name.to_owned(),
            listen,
            node,
            patience,
            client,
            job,
            printer,
            tell,
            workers: Mutex::default(),
            errands: Errands::default(),
            parts: OnceLock::new(),
            kernel: OnceLock::new(),
            is_followed: AtomicBool::new(false),
            is_suspected: AtomicBool::new(false),
            loss: OnceLock::new(),
            left_out: OnceLock::new(),
        }
    }

    /// Where processes there can be reached by those on other machines, at ports that they are given.
    pub(super) fn listen(&self) -> Option<&LinkAddress> {
        self.listen.as_ref()
    }

    /// What it is called.
    pub(super) fn name(&self) -> &str {
        &self.name
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
        self.loss.get().is_some()
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

    /// Starts a worker. A machine that refuses, is lost or does not answer is left out from then on; one that has no room is not.
    pub(super) fn start(self: &Arc<Self>, rank: u64, start: Start) -> Started {
        if self.has_lost_kernel() {
            self.leave_out("its kernel has ended");
            return Started::LeftOut;
        }
        // Held until the worker is known: what it says, and the end of them all, may come before the answer that names it.
        let mut workers = self.workers();
        if self.is_lost() {
            return Started::LeftOut;
        }
        let request = Request::Start { job: self.job, start: Box::new(start) };
        let answer = self.client.ask_launcher(&request, PROMPT_LIMIT);
        let process = match answer.and_then(number_of_started) {
            Ok(process) => process,
            Err(error) if is_busy(&error) => return Started::Busy(refused(error).text().to_owned()),
            Err(error) => {
                self.is_not_started(error);
                return Started::LeftOut;
            }
        };
        workers.insert(process, rank);
        drop(workers);
        self.follow_if_new();
        Started::Running(There { machine: Arc::clone(self), process, status: ExitStatus::from_raw(LOST) })
    }

    /// Hears from now on what happens in the job there.
    fn follow_if_new(self: &Arc<Self>) {
        if !self.is_followed.swap(true, Ordering::AcqRel) {
            let machine = Arc::clone(self);
            thread::spawn(move || machine.follow());
        }
    }

    fn is_not_started(&self, error: AgentError) {
        if !matches!(error, AgentError::NotLaunched(_)) {
            // The worker may run all the same, or soon, and nobody would look after it.
            self.client.tell_launcher(&Request::End { job: self.job });
        }
        self.leave_out(refused(error).text());
    }

    /// Ends everything of the job there. Whether all of it is known to have ended: else the agent does that by itself, with the session.
    pub(super) fn end(&self) -> bool {
        match self.loss.get() {
            Some(loss) => *loss == Loss::Ended,
            None => self.client.ask_launcher(&Request::End { job: self.job }, END_LIMIT).is_ok(),
        }
    }

    /// Says whether it seems to be there, where that has changed. Nothing follows from it: a machine that is silent may be heard again, with
    /// its workers where they were, until its session is over. `lease`: how long it may hold tasks then.
    pub(super) fn see(&self, sight: &Sight, lease: Duration) {
        let suspicion = sight.suspicion(self.node);
        let was_suspected = self.is_suspected.swap(suspicion.is_some(), Ordering::AcqRel);
        // Of one whose agent has ended in order, the session tells that at once.
        if self.is_lost() || self.workers().is_empty() || was_suspected == suspicion.is_some() {
            return;
        }
        let what = match suspicion {
            None => return self.printer.say(&format!("{} is heard again", self.name)),
            Some(Suspicion::Silent) => "is silent",
            Some(Suspicion::Died) => "has lost its link",
            Some(_) => return,
        };
        self.printer.say(&format!(
            "{} {what}: unless it is heard again within {} s, it is lost to this job; tasks that it holds are done again when their leases have \
             run out, after {} s at most",
            self.name,
            self.patience.as_secs_f64().ceil(),
            lease.as_secs_f64().ceil()
        ));
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
                Ok(_) => break AgentError::Malformed("an answer of its agent"),
                Err(error) => break error,
            }
        };
        // Where its session goes on, nobody would look after what it runs.
        self.client.tell_launcher(&Request::End { job: self.job });
        self.lose(error, said);
    }

    /// Nothing more is heard of the job there.
    fn lose(&self, error: AgentError, mut said: BTreeMap<u64, Said>) {
        let has_ended =
            matches!(error, AgentError::NotLaunched(_) | AgentError::Lost { code: Code::Closed, .. });
        let _ = self.loss.set(if has_ended { Loss::Ended } else { Loss::Unreached });
        let error = refused(error);
        self.leave_out(error.text());
        self.errands.lose();
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
        let Some(rank) = known else { return self.errands.happened(process, what) };
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

    /// Asks its launcher, again and again where that has no room for the request.
    fn ask(&self, request: &Request, limit: Duration) -> Result<Answer, Error> {
        let until = Instant::now() + limit;
        loop {
            match self.client.ask_launcher(request, limit) {
                Err(error) if is_busy(&error) && Instant::now() < until => thread::sleep(BUSY_PAUSE),
                other => return other.map_err(refused),
            }
        }
    }

    fn workers(&self) -> MutexGuard<'_, BTreeMap<u64, u64>> {
        self.workers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn as_path(bytes: Vec<u8>) -> PathBuf {
    OsString::from_vec(bytes).into()
}

/// Whether it may succeed soon, for who asks again.
fn is_busy(error: &AgentError) -> bool {
    matches!(error, AgentError::NotLaunched(refusal) if refusal.reason == Reason::Busy)
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

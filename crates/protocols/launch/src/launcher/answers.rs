//! What the host answers.

use super::errands::{Asker, Purpose};
use super::job::Job;
use super::requests::unknown_job;
use super::{Launcher, answer};
use crate::codec::{Answer, Info, ProcessInfo, What};
use crate::limits::PIECE_BYTES;
use crate::refusal::{Reason, Refusal};
use bytes::Bytes;
use quintet_contract::{Frame, Outbox};
use quintet_wire::Decode;
use quintet_wire::registry::PROCESS_ANSWER;
use quintet_wire::services::process::{End, ProcessAnswer, ProcessRequest, RunningProcess, Stream};

impl Launcher {
    pub(super) fn take_host(&mut self, frame: Frame<'_>, out: &mut dyn Outbox) {
        let Some(purpose) = self.errands.take(frame.token) else { return };
        let said = match frame.kind {
            PROCESS_ANSWER => ProcessAnswer::decode_all(frame.body).map_err(|error| error.to_string()),
            _ => Err("it could not read what it was asked".to_owned()),
        };
        let said = said.unwrap_or_else(|error| ProcessAnswer::failed(format!("the host: {error}")));
        self.take_answer(purpose, said, Reason::Failed, out);
    }

    /// Does what follows from an answer of the host. One that says that it failed is for this reason.
    pub(super) fn take_answer(
        &mut self,
        purpose: Purpose,
        said: ProcessAnswer,
        reason: Reason,
        out: &mut dyn Outbox,
    ) {
        match (purpose, said) {
            (Purpose::Start(asker, process), ProcessAnswer::Started { folder }) => {
                self.started(asker, process, folder, out);
            }
            (Purpose::Start(asker, process), said) => {
                self.forget_start(process, out);
                reply(asker, &Answer::Error(refusal(said, reason)), out);
            }
            (Purpose::Read(process, stream), ProcessAnswer::Output { bytes, is_last }) => {
                self.take_output(process, stream, bytes, is_last, out);
            }
            (Purpose::Read(process, stream), _) => self.take_output(process, stream, Vec::new(), true, out),
            (Purpose::Wait(process), ProcessAnswer::Ended(end)) => self.take_end(process, end, out),
            (Purpose::Wait(process), said) => self.lose(process, &refusal(said, reason), out),
            (Purpose::End(job), said) => self.finish_job(job, said, reason, out),
            (Purpose::Load(asker), ProcessAnswer::Load { cores, load }) => {
                reply(asker, &Answer::Info(self.info(cores, load)), out);
            }
            (Purpose::Running(asker), ProcessAnswer::Running { processes, is_last }) => {
                let processes = processes.into_iter().map(|running| self.process_info(running)).collect();
                reply(asker, &Answer::Running { processes, is_last }, out);
            }
            (Purpose::PassOn(asker), ProcessAnswer::Missing { hashes }) => {
                reply(asker, &Answer::Missing { hashes }, out);
            }
            (Purpose::PassOn(asker) | Purpose::Store(asker, _), ProcessAnswer::Done) => {
                reply(asker, &Answer::Done, out);
            }
            (
                Purpose::PassOn(asker)
                | Purpose::Store(asker, _)
                | Purpose::Load(asker)
                | Purpose::Running(asker),
                said,
            ) => reply(asker, &Answer::Error(refusal(said, reason)), out),
        }
    }

    fn started(&mut self, asker: Asker, process: u64, folder: Vec<u8>, out: &mut dyn Outbox) {
        let job = self.processes.get(&process).and_then(|process| self.jobs.get_mut(&process.job));
        if let Some(job) = job {
            job.has_begun = true;
            if !job.is_ending() {
                self.errands.ask(Purpose::Wait(process), &ProcessRequest::Wait { process }, Bytes::new());
                Stream::ALL.into_iter().for_each(|stream| self.read(process, stream));
            }
        }
        reply(asker, &Answer::Started { process, folder }, out);
    }

    /// A process was not started. A job that none was ever of is none.
    fn forget_start(&mut self, process: u64, out: &mut dyn Outbox) {
        let Some(id) = self.processes.remove(&process).map(|process| process.job) else { return };
        let is_empty = !self.processes.values().any(|process| process.job == id);
        let is_none = |job: &Job| is_empty && !job.has_begun && !job.is_ending();
        if self.jobs.get(&id).is_some_and(is_none)
            && let Some(Job { next: Some((who, token, _)), .. }) = self.jobs.remove(&id)
        {
            answer((who, token), &Answer::Error(unknown_job(id)), out);
        }
    }

    fn read(&mut self, process: u64, stream: Stream) {
        let at_most = u32::try_from(PIECE_BYTES).unwrap_or(u32::MAX);
        let request = ProcessRequest::Read { process, stream, at_most };
        self.errands.ask(Purpose::Read(process, stream), &request, Bytes::new());
    }

    fn take_output(
        &mut self,
        process: u64,
        stream: Stream,
        bytes: Vec<u8>,
        is_last: bool,
        out: &mut dyn Outbox,
    ) {
        let Some(found) = self.processes.get_mut(&process) else { return };
        let id = found.job;
        let Some(job) = self.jobs.get_mut(&id).filter(|job| !job.is_ending()) else { return };
        // A read is answered when there is something, or nothing any more.
        let is_last = is_last || bytes.is_empty();
        if !bytes.is_empty() {
            job.note(process, What::Output { stream, bytes });
        }
        if is_last && let Some(end) = found.close(stream) {
            job.note(process, What::Ended(end));
        }
        self.tell(id, out);
    }

    fn take_end(&mut self, process: u64, end: End, out: &mut dyn Outbox) {
        let Some(found) = self.processes.get_mut(&process) else { return };
        let id = found.job;
        let Some(job) = self.jobs.get_mut(&id).filter(|job| !job.is_ending()) else { return };
        if let Some(end) = found.note_end(end) {
            job.note(process, What::Ended(end));
        }
        self.tell(id, out);
    }

    /// Nobody knows what became of a process: its job is ended.
    fn lose(&mut self, process: u64, why: &Refusal, out: &mut dyn Outbox) {
        if let Some(job) = self.processes.get(&process).map(|process| process.job) {
            self.begin_ending(
                job,
                &format!("what became of process {process} is not known: {}", why.text),
                out,
            );
        }
    }

    /// Tells who waits what has happened in a job, if anything has, and has the streams read on of which that is told.
    pub(super) fn tell(&mut self, id: u128, out: &mut dyn Outbox) {
        let Some(job) = self.jobs.get_mut(&id).filter(|job| job.has_untold()) else { return };
        let Some((who, token, _)) = job.next.take() else { return };
        let batch = job.batch();
        for happening in &batch {
            let process = happening.process;
            match &happening.what {
                What::Output { stream, .. } => {
                    if self.processes.get(&process).is_some_and(|process| process.is_open(*stream)) {
                        self.read(process, *stream);
                    }
                }
                What::Ended(_) => drop(self.processes.remove(&process)),
            }
        }
        answer((who, token), &Answer::Happened(batch), out);
    }

    /// Nothing of a job is left, but for its folder where the host says so.
    fn finish_job(&mut self, id: u128, said: ProcessAnswer, reason: Reason, out: &mut dyn Outbox) {
        let Some(mut job) = self.jobs.remove(&id) else { return };
        self.processes.retain(|_, process| process.job != id);
        let told = match said {
            ProcessAnswer::Done => Answer::Done,
            said => Answer::Error(refusal(said, reason)),
        };
        for asker in job.take_ends() {
            answer(asker, &told, out);
        }
    }

    /// With what is known here of one that the host was asked to start.
    fn process_info(&self, running: RunningProcess) -> ProcessInfo {
        let known = running.process.and_then(|number| self.processes.get(&number));
        let job = known.and_then(|process| self.jobs.get(&process.job));
        ProcessInfo {
            running,
            name: known.map(|process| process.name.clone()).unwrap_or_default(),
            restarts: known.map_or(0, |process| process.restarts),
            owner: job.and_then(|job| self.rights.identity(job.owner)),
        }
    }

    fn info(&self, cores: u16, load: u32) -> Info {
        let running = self.processes.values().filter(|process| !process.has_ended()).count();
        let count = |count| u32::try_from(count).unwrap_or(u32::MAX);
        let (processes, jobs) = (count(running), count(self.jobs.len()));
        Info { cores, load, processes, jobs, version: self.config.version.clone() }
    }
}

fn reply(asker: Asker, what: &Answer, out: &mut dyn Outbox) {
    if let Some(asker) = asker {
        answer(asker, what, out);
    }
}

/// Why the host did not do what it was asked.
fn refusal(said: ProcessAnswer, reason: Reason) -> Refusal {
    match said {
        ProcessAnswer::Failed { is_missing_file: true, text } => Refusal::new(Reason::MissingFile, text),
        ProcessAnswer::Failed { text, .. } => Refusal::new(reason, text),
        _ => Refusal::new(Reason::Failed, "the host has answered another request than it was asked"),
    }
}

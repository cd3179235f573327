//! What peers ask for.

use super::errands::Purpose;
use super::job::{Job, Process};
use super::rights::Need;
use super::{Launcher, answer};
use crate::codec::{Answer, Request};
use crate::limits::{MAX_FILE_BYTES, MAX_JOBS, MAX_PROCESSES};
use crate::refusal::{Reason, Refusal};
use bytes::Bytes;
use quintet_contract::{Address, Outbox, Time, Token};
use quintet_wire::encode_to_vec;
use quintet_wire::services::process::{ProcessRequest, Start};

/// Who asks, and under which token.
type From = (Address, Token);

impl Launcher {
    /// Takes a request: answers it, has the host asked, or lets it wait.
    pub(super) fn take_request(
        &mut self,
        now: Time,
        from: From,
        request: Request,
        out: &mut dyn Outbox,
    ) -> Result<(), Refusal> {
        let asker = Some(from);
        self.rights.check(from.0, need(&request))?;
        match request {
            Request::Have { hashes } => self.pass_on(from, &ProcessRequest::Have { hashes }),
            Request::Store { hash, contents } => {
                self.check_room(contents.len())?;
                let purpose = Purpose::Store(asker, contents.len());
                self.errands.ask(purpose, &ProcessRequest::Store { hash }, contents);
                Ok(())
            }
            Request::Start { job, start } => self.start(from, job, &start),
            Request::Next { job, wait } => self.await_next(from, job, now + wait, wait.0 == 0, out),
            Request::Signal { process, signal, to_group } => {
                self.signal(from, &ProcessRequest::Signal { process, signal, to_group }, process, out)
            }
            Request::End { job } => self.end(from, job, out),
            Request::Info => {
                self.check_room(0)?;
                self.errands.ask(Purpose::Load(asker), &ProcessRequest::Load, Bytes::new());
                Ok(())
            }
            Request::Running { after } => {
                self.check_room(0)?;
                self.errands.ask(Purpose::Running(asker), &ProcessRequest::Running { after }, Bytes::new());
                Ok(())
            }
            Request::Grants { grants } => {
                self.rights.set(grants);
                let has_lost = |rights: &super::Rights, job: &Job| {
                    let need = if job.has_code { Need::Code } else { Need::Run };
                    rights.check(job.owner, need).is_err()
                };
                self.end_those(has_lost, "who began it has lost the grant", out);
                answer(from, &Answer::Done, out);
                Ok(())
            }
        }
    }

    fn pass_on(&mut self, from: From, request: &ProcessRequest) -> Result<(), Refusal> {
        self.check_room(0)?;
        self.errands.ask(Purpose::PassOn(Some(from)), request, Bytes::new());
        Ok(())
    }

    /// Whether the host may be asked for one more thing, with so many bytes of a file.
    fn check_room(&self, bytes: usize) -> Result<(), Refusal> {
        if bytes > MAX_FILE_BYTES {
            let text = format!("a file of {bytes} bytes is above the limit of {MAX_FILE_BYTES}");
            return Err(Refusal::new(Reason::TooLarge, text));
        }
        match self.errands.has_room(bytes) {
            true => Ok(()),
            false => Err(busy("as many requests wait for the machine as may")),
        }
    }

    fn start(&mut self, from: From, id: u128, start: &Start) -> Result<(), Refusal> {
        self.check_room(0)?;
        start.check().map_err(|error| Refusal::new(Reason::BadStart, error.to_string()))?;
        match self.jobs.get(&id) {
            None if self.jobs.len() >= MAX_JOBS.min(self.config.max_jobs as usize) => {
                return Err(busy(&format!("there are {} jobs, as many as may be", self.jobs.len())));
            }
            None => {}
            Some(job) => check_owner(id, job, from.0).and_then(|()| check_alive(id, job))?,
        }
        if self.processes.len() >= MAX_PROCESSES.min(self.config.max_processes as usize) {
            return Err(busy(&format!("there are {} processes, as many as may be", self.processes.len())));
        }
        let process = self.next_process;
        self.next_process += 1;
        let job = self.jobs.entry(id).or_insert_with(|| Job::new(from.0));
        job.has_code |= start.brings_code();
        let restarts = job.count_start(&start.name);
        self.processes.insert(process, Process::new(id, &start.name, restarts));
        let request = ProcessRequest::Start { process, job: id };
        self.errands.ask(Purpose::Start(Some(from), process), &request, encode_to_vec(start).into());
        Ok(())
    }

    fn await_next(
        &mut self,
        from: From,
        id: u128,
        until: Time,
        is_now: bool,
        out: &mut dyn Outbox,
    ) -> Result<(), Refusal> {
        let job = self.jobs.get_mut(&id).ok_or_else(|| unknown_job(id))?;
        check_owner(id, job, from.0)?;
        check_alive(id, job)?;
        if job.next.is_some() {
            let text = format!("another request asks for what happens next in the job {id:032x}");
            return Err(Refusal::new(Reason::AlreadyAsked, text));
        }
        if is_now && !job.has_untold() {
            answer(from, &Answer::Happened(Vec::new()), out);
            return Ok(());
        }
        job.next = Some((from.0, from.1, until));
        self.tell(id, out);
        Ok(())
    }

    fn signal(
        &mut self,
        from: From,
        request: &ProcessRequest,
        process: u64,
        out: &mut dyn Outbox,
    ) -> Result<(), Refusal> {
        let unknown = || Refusal::new(Reason::Unknown, format!("no process {process} runs here"));
        let found = self.processes.get(&process).ok_or_else(unknown)?;
        let (id, has_ended) = (found.job, found.has_ended());
        let job = self.jobs.get(&id).ok_or_else(unknown)?;
        check_owner(id, job, from.0)?;
        check_alive(id, job)?;
        if has_ended {
            answer(from, &Answer::Done, out);
            return Ok(());
        }
        self.pass_on(from, request)
    }

    fn end(&mut self, from: From, id: u128, out: &mut dyn Outbox) -> Result<(), Refusal> {
        let Some(job) = self.jobs.get(&id) else {
            answer(from, &Answer::Done, out);
            return Ok(());
        };
        // The machine's own callers may end what is anybody's.
        if from.0.node != self.config.node {
            check_owner(id, job, from.0)?;
        }
        self.begin_ending(id, "somebody asked for that", out);
        match self.jobs.get_mut(&id).is_some_and(|job| job.await_end(from.0, from.1)) {
            true => Ok(()),
            false => Err(busy("as many requests wait for the end of this job as may")),
        }
    }
}

/// What a request needs.
fn need(request: &Request) -> Need {
    match request {
        Request::Have { .. } | Request::Store { .. } => Need::Code,
        Request::Start { start, .. } if start.brings_code() => Need::Code,
        Request::Start { .. } => Need::Run,
        // Jobs and processes are those of who asks, who could start them.
        Request::Next { .. } | Request::Signal { .. } | Request::End { .. } => Need::Nothing,
        // What goes on here is no secret among the members.
        Request::Info | Request::Running { .. } => Need::Nothing,
        Request::Grants { .. } => Need::Own,
    }
}

fn check_owner(id: u128, job: &Job, who: Address) -> Result<(), Refusal> {
    if job.owner == who {
        return Ok(());
    }
    Err(Refusal::new(Reason::Taken, format!("the job {id:032x} belongs to {}, not to {who}", job.owner)))
}

fn check_alive(id: u128, job: &Job) -> Result<(), Refusal> {
    if job.is_ending() {
        return Err(Refusal::new(Reason::Ending, format!("the job {id:032x} is being ended: begin another")));
    }
    Ok(())
}

pub(super) fn unknown_job(id: u128) -> Refusal {
    Refusal::new(Reason::Unknown, format!("there is no job {id:032x} here: it has ended, or was never begun"))
}

fn busy(what: &str) -> Refusal {
    Refusal::new(Reason::Busy, format!("{what}: ask again in a moment"))
}

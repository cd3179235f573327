//! The launcher of a node.

mod answers;
mod errands;
mod job;
mod requests;
mod rights;
#[cfg(test)]
mod tests;

use crate::codec::{Answer, NOT_GRANTED, REQUEST, Request};
use crate::config::LauncherConfig;
use crate::not_granted::NotGranted;
use crate::refusal::{Reason, Refusal};
use bytes::Bytes;
use errands::{Errands, Purpose};
use job::{Job, Process};
use quintet_contract::{
    Address, Frame, Input, Meter, Metric, Outbox, PeerChange, Protocol, Time, Token, tell_all,
};
use quintet_wire::registry::PORT_CALLERS;
use quintet_wire::send;
use quintet_wire::services::process::{ProcessAnswer, ProcessRequest};
use rights::Rights;
use std::collections::BTreeMap;

static METRICS: [Metric; 3] = [
    Metric::gauge("quintet_launcher_jobs", "Jobs that were begun and are not gone"),
    Metric::gauge(
        "quintet_launcher_processes",
        "Processes of jobs that were started, or are to be, and whose end nobody was told",
    ),
    Metric::counter(
        "quintet_launcher_processes_started",
        "Processes of jobs that were asked for and not refused at once",
    ),
];

/// Starts processes for peers, watches them, and ends them.
///
/// It stands at [`PORT_LAUNCH`](quintet_wire::registry::PORT_LAUNCH) of its node, above sessions and messaging. The processes are those of its
/// node's host.
///
/// # What it promises
/// - A job belongs to the session that began it. When that is over, all of the job is ended, and so it is when it is asked to end: the answer
///   to `End` comes when nothing of it is left.
/// - Every request is answered once, as long as its session lives.
/// - What a process says is told in the order in which it said it, each stream for itself; its end is told after all of that.
/// - A program that nobody listens to is stopped at its pipe: no more than a piece of each stream is kept.
/// - Who was not granted it starts nothing. A request that is refused has changed nothing.
#[derive(Debug)]
pub struct Launcher {
    config: LauncherConfig,
    rights: Rights,
    jobs: BTreeMap<u128, Job>,
    processes: BTreeMap<u64, Process>,
    errands: Errands,
    /// The next process' number.
    next_process: u64,
}

impl Launcher {
    /// A launcher without jobs.
    #[must_use]
    pub fn new(config: LauncherConfig) -> Launcher {
        Launcher {
            rights: Rights::new(config.node),
            jobs: BTreeMap::new(),
            processes: BTreeMap::new(),
            errands: Errands::new(config.node),
            next_process: 1,
            config,
        }
    }

    /// Processes that were started, or are to be, and whose end nobody was told.
    #[must_use]
    pub fn processes(&self) -> usize {
        self.processes.len()
    }

    /// Jobs that were begun and are not gone.
    #[must_use]
    pub fn jobs(&self) -> usize {
        self.jobs.len()
    }

    fn take_frame(&mut self, now: Time, from: Address, frame: Frame<'_>, out: &mut dyn Outbox) {
        if from == self.errands.host() {
            return self.take_host(frame, out);
        }
        // What is no request is nobody's mistake of whom an answer would be understood.
        if frame.kind != REQUEST {
            return;
        }
        let taken = match Request::decode(frame.kind, frame.body, frame.bulk) {
            Err(error) => Err(Refusal::new(Reason::Malformed, error.to_string())),
            Ok(request) => self.take_request(now, (from, frame.token), request, out),
        };
        if let Err(refusal) = taken {
            if refusal.reason == Reason::NotGranted {
                let (identity, refusal) = (self.rights.identity(from), refusal.clone());
                let callers = Address { port: PORT_CALLERS, ..self.errands.host() };
                // Where nobody calls, nobody is to be told.
                let _ = send(out, callers, NOT_GRANTED, Token(0), &NotGranted { identity, refusal });
            }
            answer((from, frame.token), &Answer::Error(refusal), out);
        }
    }

    fn take_peer(&mut self, peer: Address, change: &PeerChange, out: &mut dyn Outbox) {
        match change {
            PeerChange::Up { link, .. } => self.rights.up(peer, *link),
            PeerChange::Down(_) => {
                self.rights.down(peer);
                self.errands.forget(peer);
                self.jobs.values_mut().for_each(|job| job.forget(peer));
                self.end_those(|_, job| job.owner == peer, "its session is over", out);
            }
        }
    }

    /// Ends all jobs of which this is true.
    fn end_those(&mut self, which: impl Fn(&Rights, &Job) -> bool, why: &str, out: &mut dyn Outbox) {
        let chosen = self.jobs.iter().filter(|(_, job)| which(&self.rights, job));
        for job in chosen.map(|(job, _)| *job).collect::<Vec<_>>() {
            self.begin_ending(job, why, out);
        }
    }

    /// Has the host end a job, once. Who waits for what happens next in it learns why.
    fn begin_ending(&mut self, id: u128, why: &str, out: &mut dyn Outbox) {
        let Some(job) = self.jobs.get_mut(&id).filter(|job| !job.is_ending()) else { return };
        job.begin_ending();
        if let Some((who, token, _)) = job.next.take() {
            let text = format!("the job {id:032x} is being ended: {why}");
            answer((who, token), &Answer::Error(Refusal::new(Reason::Ending, text)), out);
        }
        self.errands.ask(Purpose::End(id), &ProcessRequest::End { job: id }, Bytes::new());
    }

    /// Sends the host what it is asked. Where there is no host, that is its answer.
    fn send_errands(&mut self, out: &mut dyn Outbox) {
        // An answer may lead to further errands, each of them to fewer.
        loop {
            let refused = self.errands.send(out);
            if refused.is_empty() {
                return;
            }
            for token in refused {
                let Some(purpose) = self.errands.take(token) else { continue };
                let text = "this node starts no processes";
                self.take_answer(purpose, ProcessAnswer::failed(text), Reason::NoProcesses, out);
            }
        }
    }

    /// Tells those who wait that nothing has happened in their time.
    fn tell_late(&mut self, now: Time, out: &mut dyn Outbox) {
        for job in self.jobs.values_mut() {
            if let Some((who, token, _)) = job.next.take_if(|(_, _, until)| *until <= now) {
                answer((who, token), &Answer::Happened(Vec::new()), out);
            }
        }
    }
}

/// Answers a request. Room for it was reserved with the request; where its link is gone, so is who asked.
fn answer((to, token): (Address, Token), what: &Answer, out: &mut dyn Outbox) {
    let _ = send(out, to, what.kind(), token, what);
}

impl Protocol for Launcher {
    fn handle(&mut self, now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        match input {
            Input::Frame(from, frame) => self.take_frame(now, from, frame, out),
            Input::Peer(peer, change) => self.take_peer(peer, change, out),
            Input::Started | Input::Wake | Input::Writable(_) => {}
        }
        self.tell_late(now, out);
        self.send_errands(out);
    }

    fn deadline(&self) -> Option<Time> {
        let untils = self.jobs.values().filter_map(|job| job.next.map(|(_, _, until)| until));
        untils.min().filter(|until| *until < Time::NEVER)
    }

    fn measure(&self, meter: &mut Meter<'_>) {
        let values = [self.jobs.len() as u64, self.processes.len() as u64, self.next_process - 1];
        tell_all(&METRICS, values, meter);
    }
}

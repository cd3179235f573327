//! A node's processes, modelled: programs that take a while to start, say something piece by piece, and end.
//!
//! It is a protocol at [`PORT_PROCESS`](quintet_wire::registry::PORT_PROCESS) of a node: add it as every other, and say in the
//! [`ServiceModel`](crate::ServiceModel) that nodes have processes. What a process does is drawn from the seed when it starts. It says bytes that count
//! up, so that who reads them sees whether one is missing; once its pipe is full it stands still until somebody reads.

use quintet_contract::{Address, Frame, Input, Outbox, Protocol, Random, Span, Time, Token};
use quintet_wire::registry::{PROCESS_ANSWER, PROCESS_REQUEST, SERVICE_REFUSED};
use quintet_wire::services::process::{
    End, FileHash, MAX_RUNNING, ProcessAnswer, ProcessRequest, RunningProcess, Start, Stream,
};
use quintet_wire::{Decode, send};
use std::collections::{BTreeMap, BTreeSet};

/// Bytes that a pipe holds, as Linux' do.
const PIPE_BYTES: u64 = 64 * 1024;
/// The signal that nobody survives, and the one that none of these do.
const DEADLY: [u8; 2] = [9, 15];

/// How processes behave.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ProcessModel {
    /// Starts that fail, per million.
    pub failures_per_million: u32,
    /// The longest time that a start and the end of a job take.
    pub longest: Span,
    /// Pieces that a process says at most.
    pub most_pieces: u64,
    /// Bytes of a piece at most.
    pub most_bytes: u64,
    /// The longest pause between two pieces.
    pub longest_pause: Span,
}

impl Default for ProcessModel {
    /// None fails; up to 5 ms, up to 20 pieces of 8,000 bytes, pauses of up to 2 ms.
    fn default() -> Self {
        ProcessModel {
            failures_per_million: 0,
            longest: Span::from_millis(5),
            most_pieces: 20,
            most_bytes: 8000,
            longest_pause: Span::from_millis(2),
        }
    }
}

/// The processes of one node.
#[derive(Debug)]
pub struct Processes {
    model: ProcessModel,
    random: Random,
    stored: BTreeSet<FileHash>,
    processes: BTreeMap<u64, Process>,
    /// What happens when; with a number, so that what comes at one time comes in its order.
    due: BTreeMap<(Time, u64), Due>,
    next: u64,
    /// Requests are begun one after the other: until then it is busy.
    busy_until: Time,
}

/// What is asked, by whom.
type Asker = (Address, Token);

#[derive(Debug)]
enum Due {
    /// An answer.
    Answer(Asker, ProcessAnswer),
    /// A process goes on.
    Step(u64),
    /// Somebody waits for what a process says, or for its end.
    Look(u64),
    /// Nothing of a job is left.
    Gone(u128, Asker),
}

#[derive(Debug)]
struct Process {
    job: u128,
    pieces: u64,
    /// Bytes said on each stream, and read from it.
    said: [u64; 2],
    read: [u64; 2],
    reads: [Option<(Asker, u64)>; 2],
    wait: Option<Asker>,
    end: Option<End>,
    /// What it could not say so far: the stream and how much.
    stuck: Option<(usize, u64)>,
}

impl Processes {
    /// No processes.
    #[must_use]
    pub fn new(model: ProcessModel, seed: u64) -> Processes {
        Processes {
            model,
            random: Random::new(seed, 0x70_726f63),
            stored: BTreeSet::new(),
            processes: BTreeMap::new(),
            due: BTreeMap::new(),
            next: 0,
            busy_until: Time::ZERO,
        }
    }

    /// Processes that run: their numbers and jobs.
    pub fn running(&self) -> impl Iterator<Item = (u64, u128)> {
        let running = self.processes.iter().filter(|(_, process)| process.end.is_none());
        running.map(|(number, process)| (*number, process.job))
    }

    /// Bytes that a process has said on a stream.
    #[must_use]
    pub fn said(&self, process: u64, stream: Stream) -> Option<u64> {
        Some(self.processes.get(&process)?.said[index(stream)])
    }

    /// The byte that a process says at a place of a stream.
    #[must_use]
    pub fn byte(process: u64, place: u64) -> u8 {
        u8::try_from((process + place) % 251).unwrap_or_default()
    }

    fn plan(&mut self, at: Time, due: Due) {
        self.due.insert((at, self.next), due);
        self.next += 1;
    }

    fn some_time(&mut self, longest: Span) -> Span {
        Span(self.random.below(longest.0 + 1))
    }

    /// Begins a request. Its answer, if that can be told now or is known to come at some time.
    fn take(&mut self, now: Time, asker: Asker, request: ProcessRequest) {
        let takes = match &request {
            ProcessRequest::Start { .. } | ProcessRequest::End { .. } | ProcessRequest::Store { .. } => {
                self.some_time(self.model.longest)
            }
            _ => Span::ZERO,
        };
        self.busy_until = self.busy_until.max(now) + takes;
        let at = self.busy_until;
        let answer = match request {
            ProcessRequest::Have { mut hashes } => {
                hashes.retain(|hash| !self.stored.contains(hash));
                ProcessAnswer::Missing { hashes }
            }
            ProcessRequest::Store { hash } => {
                self.stored.insert(hash);
                ProcessAnswer::Done
            }
            ProcessRequest::Load => ProcessAnswer::Load { cores: 1, load: 100 },
            ProcessRequest::Running { after } => self.tell_running(after),
            ProcessRequest::Start { .. } => unreachable!("starts come with their bulk"),
            ProcessRequest::Read { process, stream, at_most } => {
                let Some(found) = self.processes.get_mut(&process) else {
                    return self.unknown(at, asker, process);
                };
                found.reads[index(stream)] = Some((asker, at_most.into()));
                return self.plan(at, Due::Look(process));
            }
            ProcessRequest::Wait { process } => {
                let Some(found) = self.processes.get_mut(&process) else {
                    return self.unknown(at, asker, process);
                };
                found.wait = Some(asker);
                return self.plan(at, Due::Look(process));
            }
            ProcessRequest::Signal { process, signal, .. } => {
                let found = self.processes.get_mut(&process).filter(|found| found.end.is_none());
                if let Some(found) = found.filter(|_| DEADLY.contains(&signal)) {
                    found.end = Some(End::Killed(signal));
                }
                self.plan(at, Due::Look(process));
                ProcessAnswer::Done
            }
            ProcessRequest::End { job } => return self.plan(at, Due::Gone(job, asker)),
        };
        self.plan(at, Due::Answer(asker, answer));
    }

    /// What runs. Numbers of the system are those of the processes.
    fn tell_running(&self, after: u32) -> ProcessAnswer {
        let running = self.running().filter_map(|(process, job)| Some((u32::try_from(process).ok()?, job)));
        let mut processes: Vec<RunningProcess> = running
            .filter(|(pid, _)| *pid > after)
            .take(MAX_RUNNING + 1)
            .map(|(pid, job)| RunningProcess {
                process: Some(pid.into()),
                pid,
                count: 1,
                state: b'R',
                age: 0,
                cpu: 0,
                memory: 0,
                rank: None,
                job: format!("{job:032x}"),
                command: String::new(),
            })
            .collect();
        let is_last = processes.len() <= MAX_RUNNING;
        processes.truncate(MAX_RUNNING);
        ProcessAnswer::Running { processes, is_last }
    }

    fn unknown(&mut self, at: Time, asker: Asker, process: u64) {
        self.plan(at, Due::Answer(asker, ProcessAnswer::failed(format!("no process {process}"))));
    }

    fn start(&mut self, now: Time, asker: Asker, number: u64, job: u128, start: &Start) {
        self.busy_until = self.busy_until.max(now) + self.some_time(self.model.longest);
        let at = self.busy_until;
        let missing = start.files.iter().find(|file| !self.stored.contains(&file.hash));
        let failed = match missing {
            Some(file) => Some(ProcessAnswer::Failed { is_missing_file: true, text: file.hash.to_string() }),
            None if self.random.chance(self.model.failures_per_million) => {
                Some(ProcessAnswer::failed("by chance"))
            }
            None => None,
        };
        if let Some(failed) = failed {
            return self.plan(at, Due::Answer(asker, failed));
        }
        let pieces = self.random.below(self.model.most_pieces + 1);
        let (said, read, reads) = ([0; 2], [0; 2], [None; 2]);
        let process = Process { job, pieces, said, read, reads, wait: None, end: None, stuck: None };
        self.processes.insert(number, process);
        let folder = format!("/jobs/{job:032x}").into_bytes();
        self.plan(at, Due::Answer(asker, ProcessAnswer::Started { folder }));
        self.plan(at, Due::Step(number));
    }

    /// A process says its next piece, or ends, or stands still where its pipe is full; who waits for it is answered.
    fn step(&mut self, now: Time, number: u64, out: &mut dyn Outbox) {
        let (bytes, on) = (1 + self.random.below(self.model.most_bytes), self.random.below(2) == 0);
        let pause = self.some_time(self.model.longest_pause);
        let Some(process) = self.processes.get_mut(&number).filter(|process| process.end.is_none()) else {
            return;
        };
        let (stream, bytes) = process.stuck.take().unwrap_or((usize::from(on), bytes));
        if process.pieces == 0 {
            process.end = Some(End::Exited(Processes::byte(number, 0)));
        } else if process.room(stream) < bytes {
            process.stuck = Some((stream, bytes));
        } else {
            (process.said[stream], process.pieces) = (process.said[stream] + bytes, process.pieces - 1);
        }
        let goes_on = process.end.is_none() && process.stuck.is_none();
        process.tell(number, out);
        if goes_on {
            self.plan(now + pause, Due::Step(number));
        }
    }

    /// Who waits for a process is answered. One that stood still goes on, where there is room now.
    fn look(&mut self, now: Time, number: u64, out: &mut dyn Outbox) {
        let Some(process) = self.processes.get_mut(&number) else { return };
        process.tell(number, out);
        let stuck = process.stuck.filter(|_| process.end.is_none());
        if stuck.is_some_and(|(stream, bytes)| process.room(stream) >= bytes) {
            self.plan(now, Due::Step(number));
        }
    }

    fn gone(&mut self, job: u128, asker: Asker, out: &mut dyn Outbox) {
        for (_, process) in self.processes.extract_if(.., |_, process| process.job == job) {
            let open = process.reads.into_iter().flatten().map(|(asker, _)| asker).chain(process.wait);
            open.for_each(|asker| say(asker, &ProcessAnswer::failed("its job has ended"), out));
        }
        say(asker, &ProcessAnswer::Done, out);
    }

    fn take_frame(&mut self, now: Time, from: Address, frame: Frame<'_>, out: &mut dyn Outbox) {
        let request = ProcessRequest::decode_all(frame.body).ok().filter(|_| frame.kind == PROCESS_REQUEST);
        match request {
            Some(ProcessRequest::Start { process, job }) => {
                let start = Start::decode_all(frame.bulk).expect("it was checked");
                self.start(now, (from, frame.token), process, job, &start);
            }
            Some(request) => self.take(now, (from, frame.token), request),
            // Nobody asks a model for what it cannot read and waits for room for the answer.
            None => drop(out.send(from, SERVICE_REFUSED, frame.token, &[])),
        }
    }
}

impl Process {
    /// Bytes that a pipe of it has room for.
    fn room(&self, stream: usize) -> u64 {
        PIPE_BYTES - (self.said[stream] - self.read[stream])
    }

    /// Answers those who wait for what is there.
    fn tell(&mut self, number: u64, out: &mut dyn Outbox) {
        for stream in 0..2 {
            let there = self.said[stream] - self.read[stream];
            let is_over = self.end.is_some();
            let Some((asker, at_most)) = self.reads[stream].take_if(|_| there > 0 || is_over) else {
                continue;
            };
            let bytes = there.min(at_most);
            let from = self.read[stream];
            self.read[stream] += bytes;
            let bytes = (from..self.read[stream]).map(|place| Processes::byte(number, place)).collect();
            let is_last = is_over && self.read[stream] == self.said[stream];
            say(asker, &ProcessAnswer::Output { bytes, is_last }, out);
        }
        if let Some(end) = self.end
            && let Some(asker) = self.wait.take()
        {
            say(asker, &ProcessAnswer::Ended(end), out);
        }
    }
}

fn index(stream: Stream) -> usize {
    usize::from(stream == Stream::Error)
}

/// Within a node there is room.
fn say((to, token): Asker, answer: &ProcessAnswer, out: &mut dyn Outbox) {
    let _ = send(out, to, PROCESS_ANSWER, token, answer);
}

impl Protocol for Processes {
    fn handle(&mut self, now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        if let Input::Frame(from, frame) = input {
            self.take_frame(now, from, frame, out);
        }
        while let Some(entry) = self.due.first_entry().filter(|entry| entry.key().0 <= now) {
            match entry.remove() {
                Due::Answer(asker, answer) => say(asker, &answer, out),
                Due::Step(number) => self.step(now, number, out),
                Due::Look(number) => self.look(now, number, out),
                Due::Gone(job, asker) => self.gone(job, asker, out),
            }
        }
    }

    fn deadline(&self) -> Option<Time> {
        self.due.first_key_value().map(|((at, _), _)| *at)
    }
}

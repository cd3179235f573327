//! Processes under test, and what they answer.

use bytes::Bytes;
use quintet_process::{Config, Processes};
use quintet_testbed::TempDir;
use quintet_wire::encode_to_vec;
use quintet_wire::services::process::{
    End, FileHash, JobFile, ProcessAnswer, ProcessRequest, Program, Start, Stream,
};
use ring::digest::{SHA256, digest};
use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// So long anything may take.
const LIMIT: Duration = Duration::from_secs(60);

pub(crate) const JOB: u128 = 0xab;

/// Processes in a folder of their own.
pub(crate) struct Bench {
    pub(crate) folder: PathBuf,
    pub(crate) processes: Processes<u64>,
    bell: OwnedFd,
    next: u64,
    answered: Vec<(u64, ProcessAnswer)>,
    /// Removed behind all that, if it is its own.
    _own: Option<TempDir>,
}

impl Bench {
    pub(crate) fn new() -> Bench {
        Bench::with(|config| config)
    }

    pub(crate) fn with(change: impl FnOnce(Config) -> Config) -> Bench {
        let own = TempDir::new().expect("a fresh folder");
        let bench = Bench::within(own.path(), change);
        Bench { _own: Some(own), ..bench }
    }

    /// In a folder that somebody else removes.
    pub(crate) fn within(folder: &Path, change: impl FnOnce(Config) -> Config) -> Bench {
        let processes = Processes::open(change(Config::new(folder.join("agent")))).expect("a fresh folder");
        let bell = eventfd(0, EventfdFlags::NONBLOCK).expect("a descriptor");
        let alarm = bell.try_clone().expect("a descriptor");
        // Whatever hangs is woken, and fails.
        std::thread::spawn(move || {
            std::thread::sleep(LIMIT);
            rustix::io::write(&alarm, &1u64.to_ne_bytes()).expect("the counter is not full");
        });
        Bench { folder: folder.to_owned(), _own: None, processes, bell, next: 1, answered: Vec::new() }
    }

    pub(crate) fn agent(&self) -> PathBuf {
        self.folder.join("agent")
    }

    pub(crate) fn job_folder(&self) -> PathBuf {
        let mut lives = self.agent().join("jobs").read_dir().expect("it is there");
        let life = lives.next().expect("one life").expect("it can be read");
        life.path().join(format!("{JOB:032x}"))
    }

    pub(crate) fn begin(&mut self, request: ProcessRequest, bulk: &[u8]) -> u64 {
        let asker = self.next;
        self.next += 1;
        self.processes.take(asker, request, &Bytes::copy_from_slice(bulk));
        asker
    }

    /// The answer to a request, once it is there.
    pub(crate) fn answer(&mut self, asker: u64) -> ProcessAnswer {
        let limit = Instant::now() + LIMIT;
        loop {
            self.answered.extend(self.processes.answers());
            if let Some(at) = self.answered.iter().position(|(of, _)| *of == asker) {
                return self.answered.remove(at).1;
            }
            assert!(Instant::now() < limit, "nothing happens");
            self.processes.wait(self.bell.as_fd()).expect("the system lets it wait");
        }
    }

    /// Whether a request is not answered now.
    pub(crate) fn is_open(&mut self, asker: u64) -> bool {
        self.answered.extend(self.processes.answers());
        self.answered.iter().all(|(of, _)| *of != asker)
    }

    pub(crate) fn ask(&mut self, request: ProcessRequest) -> ProcessAnswer {
        let asker = self.begin(request, &[]);
        self.answer(asker)
    }

    pub(crate) fn try_start(&mut self, process: u64, start: &Start) -> ProcessAnswer {
        let asker = self.begin(ProcessRequest::Start { process, job: JOB }, &encode_to_vec(start));
        self.answer(asker)
    }

    pub(crate) fn start(&mut self, process: u64, start: &Start) {
        let answer = self.try_start(process, start);
        assert!(matches!(answer, ProcessAnswer::Started { .. }), "{answer:?}");
    }

    /// Why a start is refused.
    pub(crate) fn refused(&mut self, start: &Start) -> String {
        match self.try_start(99, start) {
            ProcessAnswer::Failed { text, .. } => text,
            other => panic!("it is refused, not answered {other:?}"),
        }
    }

    pub(crate) fn store(&mut self, contents: &[u8]) -> FileHash {
        let hash = hash(contents);
        let asker = self.begin(ProcessRequest::Store { hash }, contents);
        assert_eq!(self.answer(asker), ProcessAnswer::Done);
        hash
    }

    /// All that a process says on a stream.
    pub(crate) fn listen(&mut self, process: u64, stream: Stream) -> Vec<u8> {
        let mut heard = Vec::new();
        loop {
            match self.ask(ProcessRequest::Read { process, stream, at_most: 4096 }) {
                ProcessAnswer::Output { bytes, is_last } => {
                    heard.extend(bytes);
                    if is_last {
                        return heard;
                    }
                }
                other => panic!("{other:?}"),
            }
        }
    }

    /// The first line that a process says, while it runs on.
    pub(crate) fn line(&mut self, process: u64) -> String {
        let mut heard = Vec::new();
        while !heard.ends_with(b"\n") {
            let stream = Stream::Output;
            match self.ask(ProcessRequest::Read { process, stream, at_most: 1 }) {
                ProcessAnswer::Output { bytes, is_last: false } => heard.extend(bytes),
                other => panic!("{other:?} after {:?}", String::from_utf8_lossy(&heard)),
            }
        }
        String::from_utf8(heard).expect("text").trim().to_owned()
    }

    pub(crate) fn end_of(&mut self, process: u64) -> End {
        match self.ask(ProcessRequest::Wait { process }) {
            ProcessAnswer::Ended(end) => end,
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn end_job(&mut self) {
        assert_eq!(self.ask(ProcessRequest::End { job: JOB }), ProcessAnswer::Done);
    }
}

pub(crate) fn hash(contents: &[u8]) -> FileHash {
    FileHash(digest(&SHA256, contents).as_ref().try_into().expect("32 bytes"))
}

/// A shell that does this.
pub(crate) fn shell(script: &str) -> Start {
    let arguments = vec![b"-c".to_vec(), script.as_bytes().to_vec()];
    Start { arguments, ..Start::new("shell", Program::Path(b"/bin/sh".to_vec())) }
}

pub(crate) fn with_file(start: Start, path: &[u8], hash: FileHash) -> Start {
    let mut files = start.files;
    files.push(JobFile { path: path.to_vec(), hash, mode: 0o640 });
    Start { files, ..start }
}

/// Returns when a process has ended that was killed.
pub(crate) fn await_end(process: &str) {
    let limit = Instant::now() + LIMIT;
    while runs(process) {
        assert!(Instant::now() < limit, "{process} goes on");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Whether a process runs. One that has ended and that nobody has heard of does not.
pub(crate) fn runs(process: &str) -> bool {
    let about = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let state = about.rsplit(") ").next().and_then(|rest| rest.chars().next());
    state.is_some_and(|state| !matches!(state, 'Z' | 'X'))
}

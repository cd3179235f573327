//! A host without descriptors to look for processes with: nobody is said to be gone meanwhile. The limit is that of a process, so this test is one of its own.

use bytes::Bytes;
use quintet_process::{Config, Processes};
use quintet_testbed::TempDir;
use quintet_wire::encode_to_vec;
use quintet_wire::services::process::{ProcessAnswer, ProcessRequest, Program, Start, Stream};
use rustix::event::{EventfdFlags, eventfd};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

const JOB: u128 = 1;
/// Longer than it takes to end a job.
const AWHILE: Duration = Duration::from_millis(300);
const LIMIT: Duration = Duration::from_secs(60);

fn runs(process: &str) -> bool {
    let about = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    about.rsplit(") ").next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with(['Z', 'X']))
}

#[test]
fn a_job_is_over_only_when_all_processes_were_looked_at() {
    let folder = TempDir::new().expect("a fresh folder");
    let mut processes = Processes::open(Config::new(folder.join("agent"))).expect("a fresh folder");
    let bell = eventfd(0, EventfdFlags::NONBLOCK).expect("a descriptor");
    let mut answer = |request: Option<ProcessRequest>, bulk: Vec<u8>, limit: Duration| {
        let until = Instant::now() + limit;
        request.into_iter().for_each(|request| processes.take((), request, &Bytes::from(bulk.clone())));
        loop {
            match processes.answers().pop() {
                Some((_, answer)) => return Some(answer),
                None if Instant::now() > until => return None,
                None => processes.wait(bell.as_fd()).expect("it may wait for so few"),
            }
        }
    };
    let words = vec![b"-c".to_vec(), b"setsid sh -c 'echo $$; exec sleep 1000' & wait".to_vec()];
    let start = Start { arguments: words, ..Start::new("", Program::Path(b"/bin/sh".to_vec())) };
    let started = answer(Some(ProcessRequest::Start { process: 1, job: JOB }), encode_to_vec(&start), LIMIT);
    assert!(matches!(started, Some(ProcessAnswer::Started { .. })), "{started:?}");
    let read = ProcessRequest::Read { process: 1, stream: Stream::Output, at_most: 100 };
    let Some(ProcessAnswer::Output { bytes, .. }) = answer(Some(read), Vec::new(), LIMIT) else {
        panic!("it says who descends from it")
    };
    let descendant = String::from_utf8(bytes).expect("text").trim().to_owned();
    let all = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: Some(2), ..all }).expect("fewer are always allowed");
    let early = answer(Some(ProcessRequest::End { job: JOB }), Vec::new(), AWHILE);
    setrlimit(Resource::Nofile, all).expect("as many as before");
    assert_eq!((early, runs(&descendant)), (None, true), "nobody could look for it");
    assert_eq!(answer(None, Vec::new(), LIMIT), Some(ProcessAnswer::Done));
    assert!(!runs(&descendant));
}

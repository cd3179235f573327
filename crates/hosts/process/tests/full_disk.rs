//! A disk that is full: modelled by the longest file that this process may write, so this test is a process of its own.

use bytes::Bytes;
use quintet_process::{Config, Processes};
use quintet_testbed::TempDir;
use quintet_wire::encode_to_vec;
use quintet_wire::services::process::{FileHash, JobFile, ProcessAnswer, ProcessRequest, Program, Start};
use ring::digest::{SHA256, digest};
use rustix::process::{Resource, getrlimit, setrlimit};
use std::sync::Arc;

const LIMIT: usize = 100_000;

fn hash(contents: &[u8]) -> FileHash {
    FileHash(digest(&SHA256, contents).as_ref().try_into().expect("32 bytes"))
}

fn ask(processes: &mut Processes<()>, request: ProcessRequest, bulk: Vec<u8>) -> ProcessAnswer {
    processes.take((), request, &Bytes::from(bulk));
    processes.answers().pop().expect("it is answered at once").1
}

#[test]
fn what_finds_no_room_is_refused_and_removed() {
    let folder = TempDir::new().expect("a fresh folder");
    let agent = folder.path().join("agent");
    let mut processes = Processes::open(Config::new(&agent)).expect("a fresh folder");
    let (short, long) = (vec![1; LIMIT / 2], vec![2; 2 * LIMIT]);
    for contents in [&short, &long] {
        let request = ProcessRequest::Store { hash: hash(contents) };
        assert_eq!(ask(&mut processes, request, contents.clone()), ProcessAnswer::Done);
    }
    // A process that writes more gets a signal, unless it handles that: then the write fails.
    signal_hook::flag::register(25, Arc::default()).expect("SIGXFSZ can be handled");
    let limit = getrlimit(Resource::Fsize);
    setrlimit(Resource::Fsize, rustix::process::Rlimit { current: Some(LIMIT as u64), ..limit })
        .expect("lower");
    let file = |path: &str, contents: &[u8]| JobFile { path: path.into(), hash: hash(contents), mode: 0o600 };
    let files = vec![file("a/short", &short), file("b/long", &long)];
    let start = Start { files, ..Start::new("", Program::Path(b"/bin/true".to_vec())) };
    let started = ask(&mut processes, ProcessRequest::Start { process: 1, job: 1 }, encode_to_vec(&start));
    let longer = vec![3; 2 * LIMIT];
    let stored = ask(&mut processes, ProcessRequest::Store { hash: hash(&longer) }, longer);
    setrlimit(Resource::Fsize, limit).expect("the hard limit was left");
    let ProcessAnswer::Failed { text, is_missing_file: false } = started else { panic!("{started:?}") };
    assert!(text.contains("b/long") && text.contains("os error 27"), "{text}");
    let life =
        agent.join("jobs").read_dir().expect("it is there").next().expect("one life").expect("readable");
    assert_eq!(life.path().read_dir().expect("it is there").count(), 0, "what was written is removed");
    assert!(matches!(stored, ProcessAnswer::Failed { .. }), "{stored:?}");
    assert_eq!(agent.join("files").read_dir().expect("it is there").count(), 2, "the two that were kept");
}

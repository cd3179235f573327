//! Limits, and hosts that refuse.

use super::bench::*;
use crate::codec::Grant;
use crate::launcher::*;
use crate::limits::MAX_FILE_BYTES;
use quintet_contract::{Effects, Identity, LinkClass, SendError};
use quintet_wire::services::process::{End, FileHash, RunningProcess, Stream};

#[test]
fn what_cannot_be_right_is_refused_before_the_host_hears_of_it() {
    let mut bench = Bench::new();
    for path in [&b"../a"[..], b"/a", b"a//b", b""] {
        assert_eq!(bench.refused(A, &start_with_file(path)), Reason::BadStart);
    }
    let contents = vec![0; MAX_FILE_BYTES + 1].into();
    let store = Request::Store { hash: FileHash([0; 32]), contents };
    assert_eq!(bench.refused(A, &store), Reason::TooLarge);
    let token = Token(1);
    bench.give(Input::Frame(A, Frame::new(REQUEST, token, &[99])));
    assert!(matches!(bench.answer_to(token), Answer::Error(Refusal { reason: Reason::Malformed, .. })));
}

#[test]
fn limits_hold_and_give_way_when_something_ends() {
    let config = LauncherConfig { max_jobs: 1, max_processes: 2, ..LauncherConfig::new(ME, "1") };
    let mut bench = Bench::with(config).up(A, LinkClass::Machine, None);
    let process = bench.started(A);
    let Request::Start { start: plan, .. } = start() else { unreachable!() };
    assert_eq!(bench.refused(A, &Request::Start { job: 8, start: plan }), Reason::Busy);
    bench.started(A);
    assert_eq!(bench.refused(A, &start()), Reason::Busy);
    bench.ends(process, End::Exited(0));
    Stream::ALL.into_iter().for_each(|stream| bench.say(process, stream, b"", true));
    bench.next_of(LONG);
    bench.started(A);
}

#[test]
fn files_on_their_way_to_the_host_are_bounded_but_one_always_goes() {
    let mut bench = Bench::new();
    let store = |bytes: usize| Request::Store { hash: FileHash([0; 32]), contents: vec![0; bytes].into() };
    for _ in 0..2 {
        let token = bench.ask(A, &store(MAX_FILE_BYTES));
        assert!(bench.is_open(token));
    }
    assert_eq!(bench.refused(A, &store(1)), Reason::Busy);
    bench.host(|request| matches!(request, ProcessRequest::Store { .. }), &ProcessAnswer::Done);
    let token = bench.ask(A, &store(1));
    assert!(bench.is_open(token));
}

#[test]
fn a_process_that_is_not_started_leaves_no_job_and_says_why() {
    let mut bench = Bench::new();
    let first = bench.ask(A, &start());
    let next = bench.ask(A, &NEXT);
    bench.host(is_start, &ProcessAnswer::failed("no such program: sleep"));
    let Answer::Error(refusal) = bench.answer_to(first) else { panic!("it failed") };
    assert_eq!((refusal.reason, &refusal.text[..]), (Reason::Failed, "no such program: sleep"));
    assert!(matches!(bench.answer_to(next), Answer::Error(Refusal { reason: Reason::Unknown, .. })));
    assert_eq!((bench.launcher.jobs(), bench.launcher.processes()), (0, 0));
    let missing = bench.ask(A, &start());
    bench.host(is_start, &ProcessAnswer::Failed { is_missing_file: true, text: "x".to_owned() });
    assert!(matches!(bench.answer_to(missing), Answer::Error(Refusal { reason: Reason::MissingFile, .. })));
    bench.started(A);
    bench.ask(A, &start());
    bench.host(is_start, &ProcessAnswer::failed("no such program: sleep"));
    assert_eq!((bench.launcher.jobs(), bench.launcher.processes()), (1, 1), "the other goes on");
}

#[test]
fn a_process_of_which_the_host_knows_nothing_ends_its_job() {
    let mut bench = Bench::new();
    bench.started(A);
    let next = bench.ask(A, &NEXT);
    bench.host(|request| matches!(request, ProcessRequest::Wait { .. }), &ProcessAnswer::failed("unknown"));
    assert!(matches!(bench.answer_to(next), Answer::Error(Refusal { reason: Reason::Ending, .. })));
    bench.host(is_end, &ProcessAnswer::Done);
    assert_eq!(bench.launcher.jobs(), 0);
}

#[test]
fn processes_are_told_with_whose_they_are_and_how_often_they_were_started_again() {
    let proof = Identity([5; 32]);
    let mut bench = Bench::new().up(B, LinkClass::Network, Some(5));
    let grants = [(proof, Grant { run: true, code: false })].into();
    bench.ask(OWN, &Request::Grants { grants });
    let (first, again) = (bench.started(A), bench.started(A));
    let Request::Start { start: plan, .. } = start() else { unreachable!() };
    let token = bench.ask(B, &Request::Start { job: 9, start: plan });
    bench.host(is_start, &ProcessAnswer::Started { folder: b"/jobs/9".to_vec() });
    let Answer::Started { process: of_b, .. } = bench.answer_to(token) else { panic!("it is granted") };
    let row = |pid: u32, process: Option<u64>| RunningProcess {
        process,
        pid,
        count: 1,
        state: b'S',
        age: 1,
        cpu: 2,
        memory: 3,
        rank: None,
        job: "a job".to_owned(),
        command: "sleep".to_owned(),
    };
    let token = bench.ask(B, &Request::Running { after: 6 });
    let rows = [Some(first), Some(again), Some(of_b), None].into_iter();
    let processes = (7..).zip(rows).map(|(pid, process)| row(pid, process)).collect();
    let is_it = |request: &ProcessRequest| *request == ProcessRequest::Running { after: 6 };
    bench.host(is_it, &ProcessAnswer::Running { processes, is_last: false });
    let Answer::Running { processes, is_last: false } = bench.answer_to(token) else { panic!("it is told") };
    let seen: Vec<_> =
        processes.iter().map(|one| (one.running.pid, &one.name[..], one.restarts, one.owner)).collect();
    let expected = [
        (7, "worker 1", 0, None),
        (8, "worker 1", 1, None),
        (9, "worker 1", 0, Some(proof)),
        (10, "", 0, None),
    ];
    assert_eq!(seen, expected);
    let mut strange = Bench::new().up(B, LinkClass::Network, Some(6));
    assert_eq!(strange.refused(B, &Request::Running { after: 0 }), Reason::NotGranted);
}

#[test]
fn the_machine_is_told_with_what_runs_there() {
    let mut bench = Bench::new();
    bench.started(A);
    let process = bench.started(A);
    bench.ends(process, End::Exited(0));
    let token = bench.ask(A, &Request::Info);
    bench.host(|request| *request == ProcessRequest::Load, &ProcessAnswer::Load { cores: 4, load: 150 });
    let Answer::Info(info) = bench.answer_to(token) else { panic!("it is told") };
    assert_eq!((info.cores, info.load, info.processes, info.jobs), (4, 150, 1, 1));
    assert_eq!(info.version, "1.2.3");
}

/// A host that has no room, or no processes.
struct Closed(SendError, Effects);

impl Outbox for Closed {
    fn begin(
        &mut self,
        to: Address,
        kind: quintet_contract::Kind,
        token: Token,
        at_most: usize,
    ) -> Result<&mut [u8], SendError> {
        if to == HOST { Err(self.0) } else { self.1.begin(to, kind, token, at_most) }
    }

    fn commit(&mut self, len: usize) {
        self.1.commit(len);
    }

    fn send_bulk(
        &mut self,
        to: Address,
        kind: quintet_contract::Kind,
        token: Token,
        head: &[u8],
        bulk: Bytes,
    ) -> Result<(), SendError> {
        if to == HOST { Err(self.0) } else { self.1.send_bulk(to, kind, token, head, bulk) }
    }

    fn disconnect(&mut self, _peer: Address, _how: quintet_contract::Disconnect) {}
}

#[test]
fn a_node_without_processes_says_so_and_keeps_nothing() {
    let mut bench = Bench::new();
    let mut out = Closed(SendError::Unreachable, Effects::default());
    for request in [start(), Request::Info, Request::Have { hashes: Vec::new() }] {
        let frame = request.frame(Token(5));
        bench.launcher.handle(Time::ZERO, Input::Frame(A, frame.borrow()), &mut out);
        let sent = out.1.frames();
        let [(to, said)] = &sent[..] else { panic!("{sent:?}") };
        let answer = Answer::decode(said.kind, &said.body);
        assert!(
            matches!(answer, Ok(Answer::Error(Refusal { reason: Reason::NoProcesses, .. }))),
            "{answer:?}"
        );
        assert_eq!((*to, bench.launcher.jobs(), bench.launcher.processes()), (A, 0, 0));
    }
}

#[test]
fn what_the_host_has_no_room_for_goes_when_it_has_in_its_order() {
    let mut bench = Bench::new();
    let mut out = Closed(SendError::Full, Effects::default());
    for request in [start(), END] {
        let frame = request.frame(Token(5));
        bench.launcher.handle(Time::ZERO, Input::Frame(A, frame.borrow()), &mut out);
    }
    assert_eq!(out.1.frames(), []);
    bench.give(Input::Writable(HOST));
    assert!(is_start(&bench.asked[0].1) && is_end(&bench.asked[1].1) && bench.asked.len() == 2);
}

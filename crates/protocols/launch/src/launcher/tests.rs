//! What is asked of the host, and what peers are told, one input at a time.

mod bench;
mod host;
mod rights;

use super::*;
use crate::fuzzing;
use crate::limits::{MAX_BATCH_BYTES, PIECE_BYTES};
use bench::*;
use proptest::prelude::*;
use quintet_contract::{LinkClass, Span};
use quintet_wire::Encode;
use quintet_wire::services::process::{End, Stream};

#[test]
fn what_a_process_says_and_how_it_ends_is_told_in_that_order() {
    let mut bench = Bench::new();
    let process = bench.started(A);
    let next = bench.ask(A, &NEXT);
    assert!(bench.is_open(next), "nothing has happened");
    bench.say(process, Stream::Output, b"one", false);
    assert_eq!(bench.answer_to(next), Answer::Happened(vec![said(process, Stream::Output, b"one")]));
    bench.ends(process, End::Exited(3));
    bench.say(process, Stream::Error, b"", true);
    bench.say(process, Stream::Output, b"two", true);
    let last = [said(process, Stream::Output, b"two"), ended(process, End::Exited(3))];
    assert_eq!(bench.next_of(LONG), last);
    assert_eq!(
        (bench.launcher.processes(), bench.launcher.jobs()),
        (0, 1),
        "the job is there until it is ended"
    );
    assert_eq!(bench.refused(A, &Request::Signal { process, signal: 9, to_group: true }), Reason::Unknown);
}

#[test]
fn an_end_that_comes_after_all_output_is_told_by_itself() {
    let mut bench = Bench::new();
    let process = bench.started(A);
    bench.say(process, Stream::Output, b"", true);
    bench.say(process, Stream::Error, b"", true);
    assert_eq!(bench.next_of(Span::ZERO), []);
    bench.ends(process, End::Killed(9));
    assert_eq!(bench.next_of(LONG), [ended(process, End::Killed(9))]);
}

#[test]
fn a_stream_is_read_on_only_when_what_it_said_was_told() {
    let mut bench = Bench::new();
    let process = bench.started(A);
    bench.say(process, Stream::Output, b"one", false);
    assert!(!bench.is_read(process, Stream::Output) && bench.is_read(process, Stream::Error));
    bench.next_of(Span::ZERO);
    assert!(bench.is_read(process, Stream::Output));
    assert_eq!(
        bench.asked.iter().filter(|(_, request)| matches!(request, ProcessRequest::Read { .. })).count(),
        2
    );
}

#[test]
fn a_batch_is_bounded_and_what_is_left_comes_with_the_next() {
    let mut bench = Bench::new();
    let processes: Vec<u64> = (0..3).map(|_| bench.started(A)).collect();
    let piece = vec![1; PIECE_BYTES];
    for process in &processes {
        bench.say(*process, Stream::Output, &piece, false);
        bench.say(*process, Stream::Error, &piece, false);
    }
    let first = bench.next_of(LONG);
    assert_eq!(first.len(), 4);
    assert!(Answer::Happened(first).encoded_len() <= MAX_BATCH_BYTES);
    assert_eq!(bench.next_of(LONG).len(), 2);
    assert_eq!(bench.next_of(Span::ZERO), []);
}

#[test]
fn who_waits_is_told_that_nothing_happened_in_its_time() {
    let mut bench = Bench::new();
    bench.started(A);
    assert_eq!(bench.launcher.deadline(), None);
    let next = bench.ask(A, &NEXT);
    assert_eq!(bench.refused(A, &NEXT), Reason::AlreadyAsked);
    let due = Time::ZERO + LONG;
    assert_eq!(bench.launcher.deadline(), Some(due));
    bench.now = due;
    bench.give(Input::Wake);
    assert_eq!(bench.answer_to(next), Answer::Happened(Vec::new()));
    let forever = bench.ask(A, &Request::Next { job: JOB, wait: Span(u64::MAX) });
    assert_eq!((bench.launcher.deadline(), bench.is_open(forever)), (None, true));
}

#[test]
fn a_job_is_over_when_the_host_says_so_and_all_who_wait_are_told() {
    let mut bench = Bench::new();
    let process = bench.started(A);
    let next = bench.ask(A, &NEXT);
    let (first, second) = (bench.ask(A, &END), bench.ask(A, &END));
    assert!(matches!(bench.answer_to(next), Answer::Error(Refusal { reason: Reason::Ending, .. })));
    assert!(bench.is_open(first) && bench.is_open(second));
    assert_eq!(
        bench.asked.iter().filter(|(_, request)| is_end(request)).count(),
        1,
        "the host is asked once"
    );
    for request in [start(), NEXT, Request::Signal { process, signal: 15, to_group: false }] {
        assert_eq!(bench.refused(A, &request), Reason::Ending);
    }
    bench.say(process, Stream::Output, b"late", false);
    bench.ends(process, End::Killed(9));
    bench.host(is_end, &ProcessAnswer::Done);
    assert_eq!((bench.answer_to(first), bench.answer_to(second)), (Answer::Done, Answer::Done));
    assert_eq!((bench.launcher.jobs(), bench.launcher.processes()), (0, 0));
    let again = bench.ask(A, &END);
    assert_eq!(bench.answer_to(again), Answer::Done, "there is none");
    assert_eq!(bench.refused(A, &NEXT), Reason::Unknown);
    assert!(bench.started(A) > process, "no number is given twice");
}

#[test]
fn a_folder_that_stays_is_told_and_the_job_is_over() {
    let mut bench = Bench::new();
    bench.started(A);
    let end = bench.ask(A, &END);
    bench.host(is_end, &ProcessAnswer::failed("remove /jobs/7: permission denied"));
    let Answer::Error(refusal) = bench.answer_to(end) else { panic!("it failed") };
    assert_eq!((refusal.reason, &refusal.text[..]), (Reason::Failed, "remove /jobs/7: permission denied"));
    assert_eq!(bench.launcher.jobs(), 0);
}

#[test]
fn with_the_session_of_its_owner_a_job_ends_and_nobody_else_is_answered_for_it() {
    let mut bench = Bench::new();
    let process = bench.started(A);
    let open = [bench.ask(A, &NEXT), bench.ask(A, &start()), bench.ask(A, &Request::Info)];
    bench.down(A);
    let mut bench = bench.up(A, LinkClass::Machine, None);
    assert_eq!(bench.refused(A, &start()), Reason::Ending);
    bench.host(is_start, &ProcessAnswer::Started { folder: Vec::new() });
    bench.host(|request| *request == ProcessRequest::Load, &ProcessAnswer::Load { cores: 1, load: 0 });
    bench.say(process, Stream::Output, b"late", false);
    assert!(!bench.asked.iter().any(|(_, request)| matches!(request, ProcessRequest::Wait { process: 2 })));
    bench.host(is_end, &ProcessAnswer::Done);
    assert!(open.iter().all(|token| bench.is_open(*token)), "those who asked are gone");
    assert_eq!((bench.launcher.jobs(), bench.launcher.processes()), (0, 0));
    bench.started(A);
}

#[test]
fn the_end_of_one_session_is_nothing_to_the_jobs_of_others() {
    let mut bench = Bench::new().up(B, LinkClass::Machine, None);
    bench.started(A);
    bench.down(B);
    assert!(!bench.asked.iter().any(|(_, request)| is_end(request)));
    let other = Address { port: quintet_contract::Port(9), ..A };
    bench.down(other);
    assert!(!bench.asked.iter().any(|(_, request)| is_end(request)));
}

proptest! {
    /// Whatever peers ask, whoever goes and in whichever order the host answers: every request is answered once at most, with good bytes, and
    /// nothing is kept of those who are gone.
    #[test]
    fn whatever_happens_nothing_is_kept_of_those_who_are_gone(
        choices in prop::collection::vec((any::<u8>(), any::<u8>(), any::<prop::sample::Index>()), 0..80),
    ) {
        let bodies = fuzzing::bodies();
        let mut script = Vec::new();
        for (action, who, which) in choices {
            let (len, rest) = which.get(&bodies).1.split_first().expect("a length");
            let (body, bulk) = rest.split_at(usize::from(*len));
            let (body, bulk) = if action % 8 == 3 { (&b""[..], &b""[..]) } else { (body, bulk) };
            script.extend([action, who]);
            for part in [body, bulk] {
                script.extend(u16::try_from(part.len()).expect("short").to_le_bytes());
                script.extend(part);
            }
        }
        fuzzing::drive(&script);
    }

    #[test]
    fn any_bytes_do_no_harm(bytes: Vec<u8>) {
        fuzzing::drive(&bytes);
        fuzzing::decode(&bytes);
    }
}

#[test]
fn the_stored_inputs_do_no_harm() {
    fuzzing::seeds().iter().for_each(|(_, bytes)| fuzzing::drive(bytes));
    fuzzing::bodies().iter().for_each(|(_, bytes)| fuzzing::decode(bytes));
}

//! Real processes: what they say, how they end, and that nothing is left of them.

mod bench;
mod files;
mod killed;
mod refusals;

use bench::{Bench, JOB, await_end, runs, shell};
use quintet_process::Config;
use quintet_wire::services::process::{
    Directory, End, ProcessAnswer, ProcessRequest, Program, Start, Stream,
};
use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;

#[test]
fn what_a_process_says_and_how_it_ends() {
    let mut bench = Bench::new();
    bench.start(1, &shell("echo out; echo err >&2; exit 3"));
    assert_eq!(bench.listen(1, Stream::Output), b"out\n");
    assert_eq!(bench.end_of(1), End::Exited(3));
    assert_eq!(bench.listen(1, Stream::Error), b"err\n", "it can be read after the end");
    bench.end_job();
}

#[test]
fn long_output_comes_whole_to_who_reads_it_piece_by_piece() {
    let mut bench = Bench::new();
    bench.start(1, &shell("seq 1 60000"));
    let expected: String = (1..=60_000).map(|number| format!("{number}\n")).collect();
    assert_eq!(bench.listen(1, Stream::Output), expected.as_bytes());
    assert_eq!(bench.end_of(1), End::Exited(0));
}

#[test]
fn who_waits_is_answered_when_something_happens_and_not_before() {
    let mut bench = Bench::new();
    bench.start(1, &shell("trap 'echo got it; exit 5' TERM; echo ready; while :; do sleep 0.01; done"));
    assert_eq!(bench.line(1), "ready");
    let wait = bench.begin(ProcessRequest::Wait { process: 1 }, &[]);
    let read = ProcessRequest::Read { process: 1, stream: Stream::Output, at_most: 100 };
    let read = bench.begin(read, &[]);
    assert!(bench.is_open(wait) && bench.is_open(read));
    let signal = ProcessRequest::Signal { process: 1, signal: 15, to_group: false };
    assert_eq!(bench.ask(signal.clone()), ProcessAnswer::Done);
    let said = ProcessAnswer::Output { bytes: b"got it\n".to_vec(), is_last: false };
    assert_eq!(bench.answer(read), said);
    assert_eq!(bench.answer(wait), ProcessAnswer::Ended(End::Exited(5)));
    assert_eq!(bench.ask(signal), ProcessAnswer::Done, "it has ended");
    let unknown = ProcessRequest::Signal { process: 1, signal: 60, to_group: false };
    assert!(matches!(bench.ask(unknown), ProcessAnswer::Failed { .. } | ProcessAnswer::Done));
}

#[test]
fn a_signal_to_the_group_reaches_what_a_process_has_started() {
    let mut bench = Bench::new();
    bench.start(1, &shell("sleep 1000 & echo $!; wait"));
    let child = bench.line(1);
    assert!(runs(&child));
    bench.ask(ProcessRequest::Signal { process: 1, signal: 9, to_group: true });
    assert_eq!(bench.end_of(1), End::Killed(9));
    assert_eq!(bench.listen(1, Stream::Output), b"");
    await_end(&child);
}

#[test]
fn with_a_process_its_group_ends_and_who_left_that_keeps_nobody_waiting() {
    let mut bench = Bench::new();
    let leaves = "setsid sh -c 'echo $$; echo > left; exec sleep 1000' & read x < left";
    bench.start(1, &shell(&format!("mkfifo left; sleep 1000 & echo $!; {leaves}")));
    let (stays, leaves) = (bench.line(1), bench.line(1));
    assert_eq!(bench.end_of(1), End::Exited(0));
    assert_eq!(bench.listen(1, Stream::Output), b"", "though who left holds the pipe");
    await_end(&stays);
    assert!(runs(&leaves), "it is the job's to end");
    bench.end_job();
    assert!(!runs(&leaves));
}

#[test]
fn the_end_of_a_job_ends_all_that_descends_from_it_and_removes_its_folder() {
    let mut bench = Bench::new();
    bench.start(
        1,
        &shell("trap '' TERM HUP; echo x > file; setsid sh -c 'setsid sleep 1000 & echo $!; wait' & wait"),
    );
    let descendant = bench.line(1);
    bench.start(2, &shell("sleep 1000"));
    assert!(bench.job_folder().join("file").exists() && runs(&descendant));
    let (wait, end) =
        (bench.begin(ProcessRequest::Wait { process: 2 }, &[]), ProcessRequest::End { job: JOB });
    let (first, second) = (bench.begin(end.clone(), &[]), bench.begin(end.clone(), &[]));
    assert_eq!((bench.answer(first), bench.answer(second)), (ProcessAnswer::Done, ProcessAnswer::Done));
    assert!(matches!(
        bench.answer(wait),
        ProcessAnswer::Ended(End::Killed(9)) | ProcessAnswer::Failed { .. }
    ));
    assert!(!runs(&descendant) && !bench.job_folder().exists());
    assert_eq!(bench.ask(end), ProcessAnswer::Done, "there is none");
    bench.start(3, &shell("exit 0"));
    assert_eq!(bench.end_of(3), End::Exited(0));
}

#[test]
fn the_job_of_another_host_on_this_machine_is_left_alone() {
    let (mut one, mut other) = (Bench::new(), Bench::new());
    one.start(1, &shell("echo $$; sleep 1000"));
    other.start(1, &shell("echo $$; sleep 1000"));
    let (of_one, of_other) = (one.line(1), other.line(1));
    one.end_job();
    assert!(!runs(&of_one) && runs(&of_other), "they have one number");
    other.end_job();
}

#[test]
fn when_the_host_ends_its_processes_have_ended() {
    let mut bench = Bench::new();
    bench.start(1, &shell("setsid sleep 1000 & echo $!; wait"));
    let descendant = bench.line(1);
    let folder = bench.job_folder();
    drop(bench);
    assert!(!runs(&descendant) && !folder.exists());
}

#[test]
fn a_process_has_the_stated_environment_and_nothing_else() {
    let mut bench = Bench::with(|config| {
        let environment = vec![("PATH".into(), "/usr/bin:/bin".into()), ("HOME".into(), "/".into())];
        Config { environment, ..config }
    });
    let given = vec![(b"A".to_vec(), b"b c".to_vec()), (b"HOME".to_vec(), b"/tmp".to_vec())];
    bench.start(1, &Start { environment: given, ..Start::new("env", Program::Path(b"env".to_vec())) });
    let said = String::from_utf8(bench.listen(1, Stream::Output)).expect("text");
    let (jobs, others): (BTreeSet<&str>, _) =
        said.lines().partition(|line| line.starts_with("QUINTET_JOBS="));
    assert_eq!(others, BTreeSet::from(["PATH=/usr/bin:/bin", "HOME=/tmp", "A=b c"]));
    assert!(jobs.len() == 1 && said.contains(&format!("-{JOB:032x}")), "{said}");
    bench.end_job();
}

#[test]
fn a_process_begins_where_it_was_told_to() {
    let mut bench = Bench::new();
    let folder = bench.job_folder().canonicalize().unwrap_or_else(|_| bench.job_folder());
    bench.start(1, &shell("pwd -P; cat"));
    assert_eq!(bench.listen(1, Stream::Output), format!("{}\n", folder.display()).into_bytes());
    assert_eq!(bench.end_of(1), End::Exited(0), "its input is empty");
    bench.start(2, &Start { directory: Directory::Path(b"/".to_vec()), ..shell("pwd -P") });
    assert_eq!(bench.listen(2, Stream::Output), b"/\n");
    assert_eq!(bench.job_folder().metadata().expect("it is there").mode() & 0o777, 0o700);
}

#[test]
fn programs_are_started_through_the_words_in_front() {
    let mut bench =
        Bench::with(|config| Config { through: vec!["/usr/bin/env".into(), "B=1".into()], ..config });
    bench.start(1, &shell("echo $B"));
    assert_eq!(bench.listen(1, Stream::Output), b"1\n");
}

#[test]
fn the_machine_is_told() {
    let ProcessAnswer::Load { cores, .. } = Bench::new().ask(ProcessRequest::Load) else {
        panic!("it is told")
    };
    assert!(cores > 0);
}

#[test]
fn what_runs_is_told_with_all_of_its_group_and_of_which_job_it_is() {
    let mut bench = Bench::new();
    let mut plan = shell("sleep 1000 & echo $$; head -c 50000000 /dev/zero | tail -c 1 > /dev/null; wait");
    plan.environment =
        vec![(b"QUINTET_JOB".to_vec(), b"tune.py@a:77".to_vec()), (b"QUINTET_RANK".to_vec(), b"3".to_vec())];
    bench.start(1, &plan);
    bench.start(2, &shell("echo $$; sleep 1000"));
    let [first, second]: [u32; 2] = [1, 2].map(|process| bench.line(process).parse().unwrap());
    let (mut rows, mut after) = (Vec::new(), 0);
    loop {
        let said = bench.ask(ProcessRequest::Running { after });
        let ProcessAnswer::Running { processes, is_last } = said else { panic!("{said:?}") };
        after = processes.last().map_or(after, |row| row.pid);
        rows.extend(processes);
        if is_last {
            break;
        }
    }
    assert!(rows.is_sorted_by_key(|row| row.pid), "by their numbers: {rows:?}");
    let row = |pid: u32| rows.iter().find(|row| row.pid == pid).unwrap_or_else(|| panic!("{pid}: {rows:?}"));
    let (one, other) = (row(first), row(second));
    assert_eq!((one.process, &one.job[..], one.rank), (Some(1), "tune.py@a:77", Some(3)));
    assert!(one.count >= 2 && one.command.contains("-c sleep 1000 & echo"), "{one:?}");
    assert!(one.memory > 0 && one.state.is_ascii_alphabetic(), "{one:?}");
    assert_eq!((other.process, other.rank), (Some(2), None));
    assert!(other.job.ends_with(&format!("{JOB:032x}")), "without a name it has its number: {}", other.job);
    bench.end_job();
}

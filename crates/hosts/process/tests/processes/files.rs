//! Files that are sent along, and kept.

use crate::bench::{Bench, hash, shell, with_file};
use quintet_process::Config;
use quintet_testbed::TempDir;
use quintet_wire::services::process::{JobFile, ProcessAnswer, ProcessRequest, Program, Start, Stream};
use std::os::unix::fs::MetadataExt;

fn missing(bench: &mut Bench, contents: &[&[u8]]) -> usize {
    let hashes = contents.iter().map(|contents| hash(contents)).collect();
    match bench.ask(ProcessRequest::Have { hashes }) {
        ProcessAnswer::Missing { hashes } => hashes.len(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_program_that_is_sent_along_runs_with_its_files() {
    let mut bench = Bench::new();
    assert_eq!(missing(&mut bench, &[b"data\n"]), 1);
    let (script, data) = (bench.store(b"#!/bin/sh\ncat lib/data\n"), bench.store(b"data\n"));
    assert_eq!(missing(&mut bench, &[b"data\n"]), 0);
    let program = JobFile { path: b"bin/run".to_vec(), hash: script, mode: 0o755 };
    let start = Start { files: vec![program], ..Start::new("run", Program::File(b"bin/run".to_vec())) };
    bench.start(1, &with_file(start, b"lib/data", data));
    assert_eq!(bench.listen(1, Stream::Output), b"data\n");
    let mode = |path: &str| bench.job_folder().join(path).metadata().expect("it is there").mode() & 0o777;
    assert_eq!((mode("bin"), mode("bin/run"), mode("lib/data")), (0o700, 0o755, 0o640));
    bench.end_job();
    assert_eq!(missing(&mut bench, &[b"data\n"]), 0, "files outlive the job");
}

#[test]
fn contents_of_another_hash_are_refused() {
    let mut bench = Bench::new();
    let asker = bench.begin(ProcessRequest::Store { hash: hash(b"right") }, b"wrong");
    let ProcessAnswer::Failed { text, .. } = bench.answer(asker) else { panic!("it is refused") };
    assert!(text.contains(&hash(b"right").to_string()), "{text}");
    assert_eq!(missing(&mut bench, &[b"right", b"wrong"]), 2);
    assert_eq!(bench.agent().join("files").read_dir().expect("it is there").count(), 0);
}

#[test]
fn the_file_that_was_not_used_for_longest_goes_and_what_a_job_needs_stays() {
    let mut bench = Bench::with(|config| Config { max_store_bytes: 12, ..config });
    let held = bench.store(b"aaaa");
    bench.store(b"bbbb");
    bench.store(b"cccc");
    bench.start(1, &with_file(shell("sleep 1000"), b"a", held));
    assert_eq!(missing(&mut bench, &[b"bbbb"]), 0, "used again");
    bench.store(b"dddd");
    assert_eq!(missing(&mut bench, &[b"aaaa", b"bbbb", b"dddd"]), 0);
    assert_eq!(missing(&mut bench, &[b"cccc"]), 1);
    bench.store(b"12345678");
    assert_eq!(missing(&mut bench, &[b"aaaa", b"12345678"]), 0);
    let asker = bench.begin(ProcessRequest::Store { hash: hash(b"123456789") }, b"123456789");
    let ProcessAnswer::Failed { text, .. } = bench.answer(asker) else { panic!("there is no room") };
    assert!(text.contains("jobs need"), "{text}");
    bench.end_job();
    bench.store(b"123456789");
    assert_eq!(missing(&mut bench, &[b"aaaa"]), 1);
}

#[test]
fn files_are_found_again_by_the_next_life_and_damaged_ones_are_not_used() {
    let folder = TempDir::new().expect("a fresh folder");
    let mut bench = Bench::within(folder.path(), |config| config);
    let (good, bad) = (bench.store(b"good"), bench.store(b"bad"));
    let files = bench.agent().join("files");
    drop(bench);
    std::fs::write(files.join(bad.to_string()), "evil").expect("room");
    std::fs::write(files.join("left-over"), "").expect("room");
    let mut bench = Bench::within(folder.path(), |config| config);
    assert!(!files.join("left-over").exists());
    assert_eq!(missing(&mut bench, &[b"good"]), 0);
    bench.start(1, &with_file(shell("cat a"), b"a", good));
    assert_eq!(bench.listen(1, Stream::Output), b"good");
    let answer = bench.try_start(2, &with_file(shell("cat b"), b"b", bad));
    assert!(matches!(answer, ProcessAnswer::Failed { is_missing_file: true, .. }), "{answer:?}");
    assert!(!bench.job_folder().join("b").exists());
    bench.store(b"bad");
    bench.start(2, &with_file(shell("cat b"), b"b", bad));
    assert_eq!(bench.listen(2, Stream::Output), b"bad");
}

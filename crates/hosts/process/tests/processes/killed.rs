//! A host that is killed: its companion ends what it had started.

use crate::bench::{Bench, runs, shell};
use quintet_process::{Config, attend};
use quintet_testbed::{Program, TempDir};
use quintet_wire::services::process::ProcessAnswer;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The word behind which the companion's own stand.
const COMPANION: &str = "as-companion";
const LIMIT: Duration = Duration::from_secs(60);
const ROLE: &str = "killed::a_host_that_is_to_be_killed";

/// The companion, in a process of its own; as a test it does nothing.
#[test]
fn companion() {
    let words: Vec<OsString> = std::env::args_os().skip_while(|word| *word != *COMPANION).skip(1).collect();
    if let [name, folder] = &words[..] {
        attend(name.to_str().expect("a name"), Path::new(folder)).expect("the folder can be removed");
    }
}

/// The host, in a process of its own; as a test it does nothing.
#[test]
fn a_host_that_is_to_be_killed() {
    let Some(folder) = quintet_testbed::argument() else { return };
    let this = std::env::current_exe().expect("it runs").into_os_string();
    let words = ["killed::companion", "--exact", COMPANION].map(OsString::from);
    let companion = [this].into_iter().chain(words).collect();
    let mut bench = Bench::within(Path::new(&folder), |config| Config { companion, ..config });
    bench.start(1, &shell("setsid sleep 1000 & echo $!; wait"));
    let descendant = bench.line(1);
    println!("\ndescendant {descendant} in {}", bench.job_folder().display());
    loop {
        std::thread::park();
    }
}

#[test]
fn what_a_killed_host_had_started_is_ended_and_its_folders_are_removed() {
    let own = TempDir::new().expect("a fresh folder");
    let host = Program::this_test(ROLE, own.path()).expect("this test has a file");
    let mut host = host.spawn().expect("it starts");
    let said = host.output().wait_for("descendant ", LIMIT).expect("it says what it has started");
    let (descendant, folder) = said.split_once(" in ").expect("who and where");
    let folder = PathBuf::from(folder);
    assert!(runs(descendant) && folder.exists());
    host.kill().expect("it runs");
    // The next life begins at once, and is none of the companion's.
    let mut next = Bench::within(own.path(), |config| config);
    let started = next.try_start(1, &shell("sleep 1000"));
    let ProcessAnswer::Started { folder: of_next } = started else { panic!("{started:?}") };
    let limit = Instant::now() + LIMIT;
    while runs(descendant) || folder.exists() {
        assert!(Instant::now() < limit, "{descendant} outlives the host");
        std::thread::sleep(Duration::from_millis(5));
    }
    while std::fs::read_dir(own.path().join("agent/jobs")).expect("it is there").count() > 1 {
        assert!(Instant::now() < limit, "the folder of the life that was killed stays");
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(Path::new(OsStr::from_bytes(&of_next)).exists());
}

#[test]
fn a_host_that_may_not_wait_leaves_the_rest_to_its_companion_or_to_the_next_life() {
    let this = std::env::current_exe().expect("it runs").into_os_string();
    let words = ["killed::companion", "--exact", COMPANION].map(OsString::from);
    let companion: Vec<OsString> = [this].into_iter().chain(words).collect();
    for companion in [Vec::new(), companion] {
        let (own, end_limit) = (TempDir::new().expect("a fresh folder"), Duration::ZERO);
        let has_companion = !companion.is_empty();
        let mut bench = Bench::within(own.path(), |config| Config { companion, end_limit, ..config });
        bench.start(1, &shell("setsid sleep 1000 & echo $!; wait"));
        let (descendant, folder) = (bench.line(1), bench.job_folder());
        drop(bench);
        let limit = Instant::now() + LIMIT;
        while has_companion && (runs(&descendant) || folder.exists()) {
            assert!(Instant::now() < limit, "{descendant} outlives the host");
            std::thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(folder.exists(), !has_companion, "it takes longer than the host may wait");
        drop(Bench::within(own.path(), |config| config));
        assert!(!folder.exists());
    }
}

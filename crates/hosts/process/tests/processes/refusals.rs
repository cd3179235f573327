//! Starts that cannot be: why, in words, and that nothing is left of them.

use crate::bench::{Bench, hash, shell, with_file};
use quintet_process::{Config, Processes};
use quintet_testbed::TempDir;
use quintet_wire::services::process::{
    Directory, JobFile, ProcessAnswer, ProcessRequest, Program, Start, Stream,
};
use rustix::thread::{CapabilitySet, capabilities, set_capabilities};
use std::os::unix::fs::PermissionsExt;

fn program(path: &str) -> Start {
    Start::new("program", Program::Path(path.as_bytes().to_vec()))
}

#[test]
fn a_program_that_cannot_be_started_says_which_and_why() {
    let mut bench = Bench::new();
    let (text, script) = (bench.folder.join("text"), bench.folder.join("script"));
    std::fs::write(&text, "x").expect("room");
    std::fs::write(&script, "#!/nowhere/python -u\n").expect("room");
    std::fs::set_permissions(&script, PermissionsExt::from_mode(0o700)).expect("it is ours");
    let (text, script) = (text.display().to_string(), script.display().to_string());
    let cases: [(Start, &[&str]); 5] = [
        (program("/nowhere/x"), &["/nowhere/x", "No such file", "os error 2"]),
        (program("no-such-program-anywhere"), &["no-such-program-anywhere", "PATH"]),
        (program(&text), &[&text, "Permission denied"]),
        (program("/"), &["it is no file"]),
        (program(&script), &[&script, "interpreter /nowhere/python", "No such file"]),
    ];
    for (start, words) in cases {
        let error = bench.refused(&start);
        assert!(words.iter().all(|word| error.contains(word)), "{error}");
        assert!(!bench.job_folder().exists(), "{error}");
    }
    let elsewhere = Start { directory: Directory::Path(b"/nowhere".to_vec()), ..shell("true") };
    assert!(bench.refused(&elsewhere).contains("begin in /nowhere"));
    let missing = Start::new("", Program::File(b"bin/x".to_vec()));
    assert!(bench.refused(&missing).contains("bin/x"));
}

#[test]
fn a_start_that_is_refused_leaves_what_was_there() {
    let mut bench = Bench::new();
    let held = bench.store(b"held");
    bench.start(1, &with_file(shell("sleep 1000"), b"a/held", held));
    let with_more =
        with_file(with_file(program("/nowhere/x"), b"a/more", held), b"b/c/more", hash(b"absent"));
    assert!(bench.refused(&with_more).contains("store it"));
    let folder = bench.job_folder();
    assert!(folder.join("a/held").exists());
    assert!(!folder.join("a/more").exists() && !folder.join("b").exists());
    bench.end_job();
}

#[test]
fn a_file_that_is_not_kept_is_named() {
    let mut bench = Bench::new();
    let answer = bench.try_start(1, &with_file(shell("true"), b"a", hash(b"absent")));
    let ProcessAnswer::Failed { is_missing_file: true, text } = answer else { panic!("{answer:?}") };
    assert!(text.contains(&hash(b"absent").to_string()) && !bench.job_folder().exists());
}

#[test]
fn no_path_leads_out_of_the_folder_not_even_by_a_link_that_the_job_has_made() {
    let mut bench = Bench::new();
    let held = bench.store(b"held");
    for path in [&b"../a"[..], b"/tmp/a", b"a/../../b"] {
        assert!(bench.refused(&with_file(shell("true"), path, held)).contains("path"));
    }
    let outside = TempDir::new().expect("a fresh folder");
    let target = outside.path().display();
    bench.start(1, &shell(&format!("ln -s {target} folder; ln -s {target}/b file; echo done; sleep 1000")));
    assert_eq!(bench.line(1), "done");
    for path in [&b"folder/a"[..], b"file", b"folder"] {
        let error = bench.refused(&with_file(shell("true"), path, held));
        assert!(error.contains(&bench.job_folder().display().to_string()), "{error}");
    }
    assert_eq!(outside.path().read_dir().expect("it is there").count(), 0, "nothing was written there");
    bench.end_job();
    assert!(outside.path().exists(), "nor was anything removed");
}

#[test]
fn another_file_of_a_name_that_is_taken_is_refused() {
    let mut bench = Bench::new();
    let (one, other) = (bench.store(b"one"), bench.store(b"other"));
    bench.start(1, &with_file(shell("sleep 1000"), b"a", one));
    bench.start(2, &with_file(shell("sleep 1000"), b"a", one));
    assert!(bench.refused(&with_file(shell("true"), b"a", other)).contains("another file"));
    assert_eq!(std::fs::read(bench.job_folder().join("a")).expect("it stays"), b"one");
}

#[test]
fn a_folder_that_is_open_to_others_is_refused_and_what_an_earlier_life_left_is_removed() {
    let folder = TempDir::new().expect("a fresh folder");
    let (stale, agent) = (folder.path().join("agent/jobs/x"), folder.path().join("agent"));
    std::fs::create_dir_all(&stale).expect("room");
    std::fs::set_permissions(&agent, PermissionsExt::from_mode(0o755)).expect("it is ours");
    let error = Processes::<u64>::open(Config::new(&agent)).expect_err("others can look into it");
    assert!(error.to_string().contains("mode must be 700"), "{error}");
    for private in [&agent, &agent.join("jobs")] {
        std::fs::set_permissions(private, PermissionsExt::from_mode(0o700)).expect("it is ours");
    }
    let processes = Processes::<u64>::open(Config::new(&agent)).expect("it is private now");
    assert!(!stale.exists());
    let error = Processes::<u64>::open(Config::new(&agent)).expect_err("it is in use");
    assert!(error.to_string().contains("another process uses"), "{error}");
    drop(processes);
    drop(Processes::<u64>::open(Config::new(&agent)).expect("nobody uses it now"));
}

#[test]
fn a_folder_that_a_job_has_closed_to_its_own_user_keeps_no_host_from_starting() {
    // Root may enter every folder; this thread does not any more.
    let mut sets = capabilities(None).expect("they can be asked for");
    sets.effective -= CapabilitySet::DAC_OVERRIDE | CapabilitySet::DAC_READ_SEARCH;
    set_capabilities(None, sets).expect("less is always allowed");
    let folder = TempDir::new().expect("a fresh folder");
    let agent = folder.path().join("agent");
    drop(Processes::<u64>::open(Config::new(&agent)).expect("a fresh folder"));
    let left = agent.join("jobs/life/job");
    std::fs::create_dir_all(left.join("below")).expect("room");
    std::fs::set_permissions(&left, PermissionsExt::from_mode(0o0)).expect("it is ours");
    drop(Processes::<u64>::open(Config::new(&agent)).expect("what was left is removed"));
    assert!(!agent.join("jobs/life").exists());
}

#[test]
fn a_folder_of_which_a_jobs_path_could_not_be_told_is_refused() {
    let folder = TempDir::new().expect("a fresh folder");
    let deep = (0..5).fold(folder.path().to_owned(), |path, _| path.join("a".repeat(200)));
    let error = Processes::<u64>::open(Config::new(deep)).expect_err("its path is too long");
    assert!(error.to_string().contains("is longer than"), "{error}");
}

#[test]
fn requests_about_nobody_are_answered_in_words() {
    let mut bench = Bench::new();
    let read = ProcessRequest::Read { process: 7, stream: Stream::Output, at_most: 1 };
    for request in [read, ProcessRequest::Wait { process: 7 }] {
        let ProcessAnswer::Failed { text, .. } = bench.ask(request) else { panic!("there is none") };
        assert!(text.contains('7'), "{text}");
    }
    let asker = bench.begin(ProcessRequest::Start { process: 1, job: 1 }, b"nonsense");
    assert!(matches!(bench.answer(asker), ProcessAnswer::Failed { .. }));
    let mut set_user = with_file(shell("true"), b"a", hash(b""));
    set_user.files = vec![JobFile { mode: 0o4755, ..set_user.files.remove(0) }];
    assert!(bench.refused(&set_user).contains("mode"));
}

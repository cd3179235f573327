//! `quintet run` with masters and workers that are shell scripts.

use crate::tool::{
    LONG, idle_worker, is_alive, quintet, result, script, start, state, text, wait_until, wait_until_gone,
};
use quintet_testbed::{Child, Program, TempDir};
use rustix::fs::{CWD, Mode, OFlags, fcntl_setfl, mkfifoat};
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::io::{Read, Write};
use std::process::{Command, Stdio};

/// What the job put into the folder for temporary files that it was given.
fn left_in(folder: &TempDir) -> Vec<String> {
    let entries = fs::read_dir(folder.path()).expect("readable");
    entries.map(|entry| entry.expect("readable").file_name().to_string_lossy().into_owned()).collect()
}

#[test]
fn the_status_of_the_master_is_the_commands() {
    let folder = TempDir::new().unwrap();
    let master = script(&folder, "master", "echo workers $QUINTET_WORKERS in $OMP_NUM_THREADS; exit $1");
    for status in [0, 5] {
        let arguments = ["run", "-n", "0", "--", text(&master), &status.to_string()];
        let (code, said) = result(start(arguments, &[("OMP_NUM_THREADS", "7")]));
        assert_eq!(code, status, "{said}");
        // What workers are given, who are many, is not for the master.
        assert!(said.lines().any(|line| line == "workers 0 in 7"), "{said}");
    }
    let killed = script(&folder, "killed", "kill -9 $$");
    assert_eq!(result(quintet(["run", "-n", "0", text(&killed)])).0, 128 + 9);
}

#[test]
fn the_last_object_is_all_of_standard_output() {
    let folder = TempDir::new().unwrap();
    let output = folder.join("output");
    let master = script(&folder, "master", "echo noise");
    let line =
        format!("{} run -n 0 --json {} > {}", env!("CARGO_BIN_EXE_quintet"), text(&master), text(&output));
    let shell = script(&folder, "shell", &line);
    let (code, said) = result(Program::new(&shell).spawn().expect("started"));
    assert_eq!((code, said.contains("noise")), (0, true), "{said}");
    let object: serde_json::Value = serde_json::from_str(&fs::read_to_string(&output).unwrap()).unwrap();
    assert_eq!((&object["exit_status"], &object["tasks"]["done"]), (&0.into(), &0.into()));
}

#[test]
fn a_command_line_that_is_wrong_exits_with_64() {
    assert_eq!(result(quintet(["run", "-n", "many", "x"])).0, 64);
    assert_eq!(result(quintet(["run"])).0, 64);
    assert_eq!(result(quintet(["run", "-n", "1", "--kill-one", "x"])).0, 65, "nobody would go on");
    assert_eq!(result(quintet(["--help"])).0, 0);
}

#[test]
fn workers_that_all_end_end_the_job() {
    let folder = TempDir::new().unwrap();
    let worker = script(&folder, "worker", "echo no module; exit 3");
    let master = script(&folder, "master", "exec sleep 1000");
    let (code, said) = result(quintet(["run", "-n", "2", "--python", text(&worker), text(&master)]));
    assert_eq!(code, 69, "{said}");
    assert!(said.contains("[worker 1] no module"), "{said}");
    assert!(said.contains("ended with status 3; none is left"), "{said}");
    // As often as there are workers and attempts at a task.
    assert_eq!(said.matches("ended with status 3; it is started again").count(), 2 + 5, "{said}");
}

#[test]
fn a_worker_that_is_content_is_not_started_again() {
    let folder = TempDir::new().unwrap();
    let worker = script(&folder, "worker", "exit 0");
    let master = script(&folder, "master", "exec sleep 1000");
    let (code, said) = result(quintet(["run", "-n", "1", "--python", text(&worker), text(&master)]));
    assert!(code == 69 && said.contains("worker 0 ended with status 0; none is left"), "{said}");
    assert!(!said.contains("started again"), "{said}");
}

#[test]
fn what_a_worker_says_without_an_end_is_passed_on_while_it_runs() {
    let folder = TempDir::new().unwrap();
    let written = folder.join("written");
    let line = format!("head -c 100000 /dev/zero | tr '\\0' x\n: > {}\nexec sleep 1000", text(&written));
    let worker = script(&folder, "worker", &line);
    let master = script(&folder, "master", "exec sleep 1000");
    let job = quintet(["run", "-n", "1", "--python", text(&worker), text(&master)]);
    let piece = job.output().wait_for("[worker 0] ", LONG).expect("it comes before the worker ends");
    assert_eq!(piece.len(), 64 << 10);
    wait_until(|| written.exists());
    send(&job, Signal::TERM);
    let (_, said) = result(job);
    assert_eq!(said.matches('x').count(), 100_000);
}

/// A job of twelve idle workers under these limits.
fn limited(limits: &str) -> (i32, String) {
    let folder = TempDir::new().unwrap();
    let (worker, master) = (idle_worker(&folder), script(&folder, "master", "echo master may $(ulimit -Sn)"));
    let program = env!("CARGO_BIN_EXE_quintet");
    let line = format!("{limits}\nexec {program} run -n 12 --python {} {}", text(&worker), text(&master));
    result(Program::new(script(&folder, "job", &line)).spawn().expect("started"))
}

#[test]
fn a_job_has_as_many_descriptors_as_the_system_allows_and_its_children_what_they_had() {
    let (code, said) = limited("ulimit -Sn 40");
    assert!(code == 0 && said.contains("master may 40"), "{said}");
    let (code, said) = limited("ulimit -n 80");
    let text =
        "12 workers need 132 descriptors, and this process may have 80: take fewer, or raise the limit";
    assert!(code == 71 && said.contains(text), "{said}");
}

/// The ends of a pipe that takes nothing more.
fn full_pipe() -> (std::io::PipeReader, std::io::PipeWriter) {
    let (reader, mut writer) = std::io::pipe().expect("there is a pipe");
    fcntl_setfl(&writer, OFlags::NONBLOCK).expect("it can be filled");
    while writer.write(&[b'.'; 1]).is_ok() {}
    fcntl_setfl(&writer, OFlags::empty()).expect("who writes waits");
    (reader, writer)
}

#[test]
fn a_job_comes_to_its_end_although_nobody_reads_what_it_says() {
    let (folder, room) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let worker = script(&folder, "worker", "exit 3");
    let (begun, master) = (folder.join("begun"), folder.join("master"));
    script(&folder, "master", &format!("echo $$ > {0}.new; mv {0}.new {0}; exec sleep 1000", text(&begun)));
    let (mut reader, writer) = full_pipe();
    let mut command = Command::new(env!("CARGO_BIN_EXE_quintet"));
    command.args(["run", "-n", "1", "--python", text(&worker), text(&master)]).env("TMPDIR", room.path());
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(writer);
    let mut job = command.spawn().expect("started");
    // It has the other end of the pipe.
    drop(command);
    wait_until(|| begun.exists());
    let master = fs::read_to_string(&begun).unwrap().trim().parse().expect("a number");
    // Of the worker's ends nobody hears; of the last one the job ends.
    wait_until_gone(&[master]);
    wait_until(|| left_in(&room).is_empty());
    let mut said = Vec::new();
    reader.read_to_end(&mut said).expect("it is read");
    assert_eq!(job.wait().expect("it ends").code(), Some(69), "{}", String::from_utf8_lossy(&said));
}

/// The status of a job that is recorded there, and what it says in the end.
fn recorded_at(record: &str) -> (i32, serde_json::Value) {
    let folder = TempDir::new().unwrap();
    let master = script(&folder, "master", "exit 5");
    let program = env!("CARGO_BIN_EXE_quintet");
    let line = format!("exec {program} run -n 0 --json --record {record} {} 2>&-", text(&master));
    let (code, said) = result(Program::new(script(&folder, "job", &line)).spawn().expect("started"));
    (code, serde_json::from_str(&said).unwrap_or_else(|error| panic!("{error}: {said}")))
}

#[test]
fn a_recording_that_cannot_be_written_takes_no_result_away() {
    let (code, object) = recorded_at("/dev/full");
    assert_eq!((code, &object["exit_status"]), (5, &5.into()), "{object}");
    assert_eq!(object["failures"][0]["error"], "Resource");
    let said = object["failures"][0]["text"].as_str().expect("a text");
    assert!(said.starts_with("write the recording: "), "{said}");
    let folder = TempDir::new().unwrap();
    let (code, object) = recorded_at(text(&folder.join("good.rec")));
    assert_eq!((code, &object["failures"]), (5, &serde_json::json!([])));
}

#[test]
fn no_kill_is_an_error_if_one_was_asked_for() {
    let folder = TempDir::new().unwrap();
    let (worker, master) = (idle_worker(&folder), script(&folder, "master", "exit 0"));
    let arguments = ["run", "-n", "2", "--kill-one", "--python", text(&worker), text(&master)];
    let (code, said) = result(quintet(arguments));
    assert_eq!(code, 1, "{said}");
    assert!(said.contains("no worker was seen holding a task"), "{said}");
}

fn send(job: &Child, signal: Signal) {
    let id = Pid::from_raw(i32::try_from(job.id()).unwrap()).unwrap();
    kill_process(id, signal).expect("sent");
}

/// A job that would run for long: its processes, all of whom have begun.
fn long_job(folder: &TempDir, room: &TempDir) -> (Child, Vec<u32>) {
    let worker = idle_worker(folder);
    let master = script(folder, "master", "sleep 1000 & echo grandchild $!\necho idle master $$\nwait");
    let arguments = ["run", "-n", "2", "--python", text(&worker), text(&master)];
    let job = start(arguments, &[("TMPDIR", text(room.path()))]);
    let mut processes = Vec::new();
    while processes.len() < 4 {
        let line = job.output().next_line(LONG).expect("all four speak");
        processes.extend(line.rsplit(' ').next().and_then(|last| last.parse::<u32>().ok()));
    }
    assert!(processes.iter().all(|process| is_alive(*process)));
    (job, processes)
}

#[test]
fn ctrl_c_leaves_nothing_behind() {
    let (folder, room) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    for signal in [Signal::INT, Signal::TERM] {
        let (job, processes) = long_job(&folder, &room);
        send(&job, signal);
        let (code, said) = result(job);
        assert_eq!(code, 130, "{said}");
        wait_until_gone(&processes);
        assert_eq!(left_in(&room), [""; 0]);
    }
}

#[test]
fn a_signal_before_the_job_has_begun_leaves_nothing_behind() {
    let (folder, room) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let (record, master) = (folder.join("record"), script(&folder, "master", "exec sleep 1000"));
    mkfifoat(CWD, &record, Mode::RUSR | Mode::WUSR).expect("a named pipe");
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        // It waits for a reader of its recording, which it begins after it has made its folder.
        let arguments = ["run", "-n", "0", "--record", text(&record), text(&master)];
        let job = start(arguments, &[("TMPDIR", text(room.path()))]);
        wait_until(|| !left_in(&room).is_empty());
        send(&job, signal);
        fs::read(&record).expect("it is read to its end");
        let (code, said) = result(job);
        assert_eq!(code, 130, "{said}");
        assert_eq!(left_in(&room), [""; 0]);
    }
}

#[test]
fn ctrl_z_stops_everybody_and_all_continue_together() {
    let (folder, room) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let (job, mut processes) = long_job(&folder, &room);
    processes.push(job.id());
    for _ in 0..2 {
        send(&job, Signal::TSTP);
        wait_until(|| processes.iter().all(|process| state(*process) == Some('T')));
        send(&job, Signal::CONT);
        wait_until(|| processes.iter().all(|process| state(*process) != Some('T')));
    }
    send(&job, Signal::TERM);
    assert_eq!(result(job).0, 130);
    wait_until_gone(&processes);
}

/// A job whose master and workers have children, in groups of their own too; and all of their processes.
fn large_family(folder: &TempDir, room: &TempDir) -> (Child, Vec<u32>) {
    let children = "sleep 1000 & echo idle $!\nsetsid sh -c 'echo idle $$; exec sleep 1000' &";
    let parent = |name| script(folder, name, &format!("{children}\necho idle $$\nwait"));
    let (worker, master) = (parent("worker"), parent("master"));
    let arguments = ["run", "-n", "2", "--python", text(&worker), text(&master)];
    let job = start(arguments, &[("TMPDIR", text(room.path()))]);
    let mut processes: Vec<u32> = Vec::new();
    while processes.len() < 9 {
        let line = job.output().next_line(LONG).expect("all nine speak");
        processes.extend(line.rsplit(' ').next().and_then(|last| last.parse::<u32>().ok()));
    }
    assert!(processes.iter().all(|process| is_alive(*process)));
    (job, processes)
}

#[test]
fn nothing_outlives_a_job_that_is_interrupted_either() {
    let (folder, room) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let (job, processes) = large_family(&folder, &room);
    send(&job, Signal::TERM);
    assert_eq!(result(job).0, 130);
    assert!(!processes.iter().any(|process| is_alive(*process)), "who left its group is ended, too");
}

#[test]
fn nothing_outlives_a_job_that_is_killed() {
    let (folder, room) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let (mut job, processes) = large_family(&folder, &room);
    assert_eq!(left_in(&room).len(), 1);
    job.kill().expect("killed");
    wait_until_gone(&processes);
    wait_until(|| left_in(&room).is_empty());
}

#[test]
fn nothing_outlives_a_job_in_a_job_that_is_killed() {
    let (folder, room) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let master = script(&folder, "master", "sleep 1000 & echo idle $!\necho idle $$\nwait");
    let (program, room_path) = (env!("CARGO_BIN_EXE_quintet"), text(room.path()));
    let inner = script(&folder, "inner", &format!("exec {program} run -n 0 {}", text(&master)));
    let mut job = start(["run", "-n", "0", text(&inner)], &[("TMPDIR", room_path)]);
    let process = || job.output().wait_for("idle ", LONG).and_then(|number| number.parse().ok());
    let processes = [process().expect("a child speaks"), process().expect("its parent speaks")];
    assert_eq!(left_in(&room).len(), 2);
    job.kill().expect("killed");
    wait_until_gone(&processes);
    wait_until(|| left_in(&room).is_empty());
}

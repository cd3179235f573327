//! `quintet run --trace` and `--histograms`: what viewers read of them.

use crate::protobuf::Fields;
use crate::tool::{LONG, quintet, result, text};
use quintet::{Lab, tuple};
use quintet_perfetto::whole_packets;
use quintet_testbed::TempDir;
use std::collections::BTreeMap;
use std::env;

/// A slice: the process, the track's name, its own, its times, its flows.
#[derive(Debug)]
pub(crate) struct Slice {
    pub(crate) process: String,
    pub(crate) track: String,
    pub(crate) name: String,
    pub(crate) begins: u64,
    pub(crate) ends: Option<u64>,
    pub(crate) flows: Vec<u64>,
}

/// A track: its process, its name.
type Tracks = BTreeMap<u64, (String, String)>;

const BEGIN: u64 = 1;
const END: u64 = 2;

pub(crate) fn slices(file: &[u8]) -> Vec<Slice> {
    let (mut tracks, mut slices, mut open) = (Tracks::new(), Vec::new(), BTreeMap::new());
    for packet in Fields::of(file).all(1).map(Fields::of) {
        packet.all(60).map(Fields::of).for_each(|track| describe(&track, &mut tracks));
        for event in packet.all(11).map(Fields::of) {
            let (at, track) = (packet.numbers[&8], event.numbers[&11]);
            let (process, name) = tracks[&track].clone();
            match event.numbers[&9] {
                BEGIN => {
                    let flows = event.fixed.iter().filter(|(field, _)| *field == 47).map(|(_, flow)| *flow);
                    let name = (event.text(23), name);
                    assert_eq!(open.insert(track, slices.len()), None, "a slice in a slice of {process}");
                    slices.push(Slice {
                        process,
                        track: name.1,
                        name: name.0,
                        begins: at,
                        ends: None,
                        flows: flows.collect(),
                    });
                }
                END => {
                    let begun: &mut Slice = &mut slices[open.remove(&track).expect("it was begun")];
                    assert!(at >= begun.begins, "{begun:?} ends at {at}");
                    begun.ends = Some(at);
                }
                other => panic!("an event of type {other}"),
            }
        }
    }
    slices
}

fn describe(track: &Fields<'_>, tracks: &mut Tracks) {
    let described = match (track.all(3).next(), track.numbers.get(&5)) {
        (Some(process), None) => (Fields::of(process).text(6), String::new()),
        (None, Some(parent)) => (tracks[parent].0.clone(), track.text(2)),
        other => panic!("neither a process nor a part of one: {:?}", other.1),
    };
    assert_eq!(tracks.insert(track.numbers[&1], described), None, "a track is described once");
}

/// A job of this test's own executable: see `own_workers.rs`.
fn traced_job() -> Vec<Slice> {
    let folder = TempDir::new().unwrap();
    let (path, this) = (folder.join("job.pftrace"), env::current_exe().unwrap());
    let part = ["own_workers::part_of_a_job", "--exact", "--nocapture", "--quiet"];
    let arguments =
        ["run", "-n", "2", "--trace", text(&path), text(&this), part[0], part[1], part[2], part[3]];
    let (code, said) = result(quintet(arguments));
    assert_eq!(code, 0, "{said}");
    slices(&std::fs::read(path).expect("it is written"))
}

#[test]
fn each_process_shows_its_operations_and_tasks() {
    let slices = traced_job();
    let of = |process: &str, track: &str, name: &str| {
        let is_it =
            |slice: &&Slice| slice.process.starts_with(process) && slice.track == track && slice.name == name;
        slices.iter().filter(is_it).collect::<Vec<_>>()
    };
    // 20 tasks and an end for each worker; a result for each, and who each worker is.
    assert_eq!(of("master", "operations", "out").len(), 22);
    assert_eq!(of("master", "operations", "take").len(), 22);
    assert_eq!(of("worker", "tasks", "task").len(), 22);
    assert_eq!(of("worker", "operations", "acknowledge").len(), 22);
    for worker in ["worker 0", "worker 1"] {
        let (tasks, acknowledged) = (of(worker, "tasks", "task"), of(worker, "operations", "acknowledge"));
        assert!(!tasks.is_empty() && tasks.len() == acknowledged.len(), "{worker}");
        for (task, acknowledged) in tasks.iter().zip(acknowledged) {
            let ends = acknowledged.ends.expect("it was answered");
            assert!(
                task.begins <= acknowledged.begins && task.ends >= Some(ends),
                "{task:?} {acknowledged:?}"
            );
        }
    }
    // A take waits for its result at the master, longer than the worker has its task.
    let all_end = |slices: Vec<&Slice>| slices.iter().all(|slice| slice.ends.is_some());
    assert!(all_end(of("master", "operations", "take")) && all_end(of("worker", "tasks", "task")));
    assert!(!of("space", "frames", "take").is_empty() && !of("space", "frames", "acknowledge").is_empty());
}

#[test]
fn frames_are_flows_from_one_process_to_another() {
    let slices = traced_job();
    let mut ends: BTreeMap<u64, Vec<&Slice>> = BTreeMap::new();
    for slice in &slices {
        slice.flows.iter().for_each(|flow| ends.entry(*flow).or_default().push(slice));
    }
    let (mut there, mut back, mut half) = (0, 0, 0);
    for ends in ends.values() {
        match &ends[..] {
            [_] => half += 1,
            [one, other] => {
                assert_ne!(one.process, other.process, "{one:?} {other:?}");
                let (first, second) = if one.begins <= other.begins { (one, other) } else { (other, one) };
                assert!(first.process == "space" || second.process == "space", "all speak with the space");
                if second.process == "space" {
                    there += 1
                } else {
                    back += 1
                }
                assert!(second.ends.expect("steps end") >= first.begins, "{first:?} {second:?}");
            }
            more => panic!("a frame goes from one to another: {more:?}"),
        }
    }
    // Requests that were not packed with others, and their answers. The command itself has a connection that is not traced, and what is said last may
    // be read by nobody.
    assert!(there > 40 && back > 40, "{there} there and {back} back, {half} with one end");
    let of_workers =
        slices.iter().filter(|slice| slice.process.starts_with("worker") && slice.track == "frames");
    let (mut whole, mut all) = (0, 0);
    for flow in of_workers.flat_map(|slice| &slice.flows) {
        all += 1;
        whole += usize::from(ends[flow].len() == 2);
    }
    assert!(all > 40 && all - whole <= 4, "{} of {all} frames of workers lead nowhere", all - whole);
}

#[test]
fn where_a_trace_cannot_be_written_no_job_is_begun() {
    let nowhere = "/nobody/is/here/job.pftrace";
    let (code, said) = result(quintet(["run", "-n", "1", "--trace", nowhere, "/bin/echo", "begun"]));
    assert!(code == 71 && said.contains(&format!("{nowhere} cannot be written")), "{code}: {said}");
    assert!(!said.contains("begun"), "{said}");
}

#[test]
fn each_process_keeps_how_long_its_operations_take() {
    let folder = TempDir::new().unwrap();
    let (logs, this) = (folder.join("not/there/yet"), env::current_exe().unwrap());
    let part = ["own_workers::part_of_a_job", "--exact", "--nocapture", "--quiet"];
    let arguments =
        ["run", "-n", "2", "--histograms", text(&logs), text(&this), part[0], part[1], part[2], part[3]];
    let (code, said) = result(quintet(arguments));
    assert_eq!(code, 0, "{said}");
    let names = |entry: std::io::Result<std::fs::DirEntry>| entry.unwrap().file_name().into_string().unwrap();
    let mut files: Vec<String> = std::fs::read_dir(&logs).unwrap().map(names).collect();
    files.sort();
    assert_eq!(files.len(), 3, "{files:?}");
    for (file, begins) in files.iter().zip(["master-", "worker-0-", "worker-1-"]) {
        assert!(file.starts_with(begins) && file.ends_with(".hlog"), "{files:?}");
        let log = std::fs::read_to_string(logs.join(file)).unwrap();
        assert!(log.contains("#[Histogram log format version 1.3]\n"), "{log}");
        let kinds = if begins == "master-" { ["out", "take"] } else { ["take", "acknowledge"] };
        for kind in kinds {
            let line = log.lines().find(|line| line.starts_with(&format!("Tag={kind},"))).expect(&log);
            let fields: Vec<&str> = line.split(',').collect();
            // The tag, the begin, the length, the largest, and the histogram: compressed, in base 64.
            assert!(fields.len() == 5 && fields[3].parse::<f64>().unwrap() > 1_000.0, "{line}");
            assert!(fields[4].starts_with("HISTFAAAA"), "{line}");
        }
    }
}

#[test]
fn a_served_space_writes_its_trace_as_it_goes_on() {
    let folder = TempDir::new().unwrap();
    let (path, socket) = (folder.join("space.pftrace"), folder.join("space"));
    std::fs::write(&path, "an earlier one").unwrap();
    let mut server = quintet(["serve", "--listen", text(&socket), "--trace", text(&path)]);
    assert!(server.output().wait_for("serving at", LONG).is_some(), "{}", server.output().text());
    let lab = Lab::connect(&*socket, 0, LONG).expect("it is served");
    lab.space().out(tuple!["row"]).unwrap();
    // It has written what it did before it answered the next.
    assert_eq!(lab.space().status().unwrap().tuples, 1);
    let seen = slices(whole_packets(&std::fs::read(&path).expect("it is there")));
    assert!(seen.iter().any(|slice| slice.process == "space" && slice.name == "out"), "{seen:?}");
    server.kill().unwrap();
    let nowhere = "/nobody/is/here/space.pftrace";
    let (code, said) = result(quintet(["serve", "--listen", text(&socket), "--trace", nowhere]));
    assert!(code == 71 && said.contains(&format!("{nowhere} cannot be written")), "{code}: {said}");
}

//! A live run again in the simulator's replay, byte for byte, with kills and large data in it.

use quintet::stack::{self, StackConfig};
use quintet::{Array, ArrayOf, Lab, Recorder, ServeConfig, Server, SpaceConfig, template, tuple};
use quintet_simulate::{ReplayError, replay};
use quintet_testbed::{Program, StalledDisk, TempDir, argument};
use std::fs::File;
use std::path::Path;
use std::time::Duration;

const LONG: Duration = Duration::from_secs(30);

#[test]
fn an_embedded_job_replays() {
    let dir = TempDir::new().unwrap();
    let path = dir.join("job.qrec");
    let recorder = Recorder::create(&path).unwrap();
    let space = Lab::embedded_with(SpaceConfig::default(), Some(&recorder)).space();
    for n in 0..100i64 {
        space.out(tuple!["x", n]).unwrap();
        space.take(&template!["x", ?i64]).unwrap();
    }
    space.take_within(&template!["x", ?i64], Duration::from_millis(5)).unwrap_err();
    recorder.finish().unwrap();
    let replayed = replay(File::open(&path).unwrap(), &stack::make).expect("the same, byte for byte");
    assert!(replayed.steps > 200 && replayed.frames >= 201, "{replayed:?}");
}

#[test]
fn calls_of_handlers_replay() {
    let dir = TempDir::new().unwrap();
    let (socket, path) = (dir.join("space"), dir.join("job.qrec"));
    let recorder = Recorder::create(&path).unwrap();
    let config = ServeConfig { recorder: Some(recorder.clone()), ..ServeConfig::default() };
    let server = Server::start(&socket, &config).unwrap();
    let embedded = Lab::embedded_with(SpaceConfig::default(), Some(&recorder));
    for lab in [Lab::connect(&socket, 0, LONG).unwrap(), embedded] {
        let handler = lab.messaging().handle("test", quintet::HandlerLimits::default()).unwrap();
        for length in [3, 100_000] {
            let pending = lab.messaging().to("test").begin_call(vec![7; length], LONG).unwrap();
            handler.next().unwrap().reply("so").unwrap();
            assert_eq!(pending.finish().unwrap(), "so");
        }
    }
    server.stop().unwrap();
    recorder.finish().unwrap();
    let replayed = replay(File::open(&path).unwrap(), &stack::make).expect("the same, byte for byte");
    assert!(replayed.frames > 12 && replayed.bytes > 200_000, "{replayed:?}");
}

#[test]
fn a_served_job_with_a_killed_worker_replays() {
    const NAME: &str = "a_served_job_with_a_killed_worker_replays";
    if let Some(socket) = argument() {
        let space = Lab::connect(Path::new(&socket), 0, LONG).expect("the space is there").space();
        let _lease = space.lease(&template!["task", ?ArrayOf<f64, 1>], None).expect("there is a task");
        println!("holding");
        hold();
    }
    let dir = TempDir::new().unwrap();
    let (socket, path) = (dir.join("space"), dir.join("job.qrec"));
    let recorder = Recorder::create(&path).unwrap();
    let config = ServeConfig { recorder: Some(recorder.clone()), ..ServeConfig::default() };
    let server = Server::start(&socket, &config).unwrap();
    let space = Lab::connect(&socket, 0, LONG).unwrap().space();
    let values: Vec<f64> = (0..200_000).map(f64::from).collect();
    space.out(tuple!["task", Array::from_elements(&[200_000], &values).unwrap()]).unwrap();
    let mut worker = Program::this_test(NAME, &socket).unwrap().spawn().unwrap();
    worker.output().wait_for("holding", LONG).expect("it takes the task");
    worker.kill().unwrap();
    let lease = space.lease(&template!["task", ?ArrayOf<f64, 1>], Some(LONG)).unwrap();
    assert_eq!(lease.attempt(), 2);
    lease.acknowledge(&[tuple!["result", 7i64]]).unwrap();
    server.stop().unwrap();
    recorder.finish().unwrap();
    let recording = std::fs::read(&path).unwrap();
    let replayed = replay(&recording[..], &stack::make).expect("the same, byte for byte");
    assert!(replayed.bytes > 1_600_000 * 2, "the array came and went twice: {replayed:?}");
    // Another configuration is another run: the first answer differs.
    let other_cluster = |name: &str, at, config: &[u8]| {
        let mut config = StackConfig::from_bytes(config)?;
        config.cluster ^= 1;
        stack::make(name, at, &config.to_bytes())
    };
    assert!(matches!(replay(&recording[..], &other_cluster), Err(ReplayError::Different(_))));
    // One of another version is no other run: it is refused, with its version.
    let older = |name: &str, at, config: &[u8]| stack::make(name, at, &[&[0, 0], &config[2..]].concat());
    let error = replay(&recording[..], &older).expect_err("no program reads version 0");
    assert!(error.to_string().contains("of version 0"), "{error}");
}

#[test]
fn clients_are_served_while_the_disk_of_the_recording_stands_still() {
    let (dir, disk) = (TempDir::new().unwrap(), StalledDisk::default());
    let recorder = Recorder::to_writer(disk.clone()).unwrap();
    let config = ServeConfig { recorder: Some(recorder.clone()), ..ServeConfig::default() };
    let server = Server::start(&dir.join("space"), &config).unwrap();
    let space = Lab::connect(&dir.join("space"), 0, LONG).unwrap().space();
    for n in 0..200i64 {
        space.out(tuple!["x", n, vec![7u8; 10_000]]).unwrap();
        space.take(&template!["x", n, ?quintet::Bytes]).unwrap();
    }
    assert!(disk.taken().is_empty());
    disk.go_on();
    server.stop().unwrap();
    recorder.finish().unwrap();
    let replayed = replay(&disk.taken()[..], &stack::make).expect("the same, byte for byte");
    assert!(replayed.steps >= 400, "{replayed:?}");
}

/// Until the test kills this process.
fn hold() -> ! {
    loop {
        std::thread::park();
    }
}

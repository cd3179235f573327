//! A space with a log, served again from the same folder.

use quintet::{
    Bytes, Code, Lab, LogNews, Recorder, ServeConfig, Server, SpaceConfig, SpaceLog, SpaceSettings, Tracer,
    stack, template, tuple,
};
use quintet_simulate::replay;
use quintet_testbed::TempDir;
use std::fs::File;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

fn config(folder: &Path) -> ServeConfig {
    ServeConfig { log: Some(SpaceLog::new(folder)), ..ServeConfig::default() }
}

fn connect(socket: &Path) -> Lab {
    Lab::connect(socket, 0, Duration::from_secs(10)).expect("the space is there")
}

#[test]
fn what_was_acknowledged_is_there_in_the_next_life() {
    let folder = TempDir::new().expect("a temporary directory");
    let (socket, log) = (folder.join("space"), folder.join("log"));
    let server = Server::start(&socket, &config(&log)).expect("a new log");
    let space = connect(&socket).space();
    for number in 0..100i64 {
        space.out(tuple!["task", number]).expect("there is room");
    }
    assert_eq!(space.take(&template!["task", ?i64]).expect("there is one"), tuple!["task", 0i64]);
    let held = space.lease(&template!["task", ?i64], None).expect("there is one");
    held.acknowledge(&[tuple!["done", 1i64]]).expect("it is held");
    let kept = space.lease(&template!["task", ?i64], None).expect("there is one");
    server.stop().expect("it ends");
    let (config, told) = told_of(&log);
    let server = Server::start(&socket, &config).expect("the log is read");
    assert!(matches!(told.lock().expect("no panic")[..], [LogNews::Open { life: 2, torn_bytes: 0, .. }]));
    let space = connect(&socket).space();
    assert_eq!(space.count(&template!["task", ?i64]).expect("it counts"), 97);
    assert_eq!(space.count(&template!["done", 1i64]).expect("it counts"), 1);
    kept.acknowledge(&[tuple!["done", 2i64]]).expect("its holder goes on");
    assert_eq!(space.count(&template!["done", 2i64]).expect("it counts"), 1);
    assert_eq!(space.take(&template!["task", ?i64]).expect("there is one"), tuple!["task", 3i64]);
    server.stop().expect("it ends");
}

/// To serve from that log, and what is told of it.
fn told_of(log: &Path) -> (ServeConfig, Arc<Mutex<Vec<LogNews>>>) {
    let (mut config, told) = (config(log), Arc::<Mutex<Vec<LogNews>>>::default());
    let sink = Arc::clone(&told);
    config.log.as_mut().expect("it has one").told =
        Some(Arc::new(move |news| sink.lock().expect("no panic").push(news.clone())));
    (config, told)
}

#[test]
fn how_far_a_long_log_is_read_is_told_until_all_is() {
    let folder = TempDir::new().expect("a temporary directory");
    let (socket, log) = (folder.join("space"), folder.join("log"));
    let server = Server::start(&socket, &config(&log)).expect("a new log");
    let space = connect(&socket).space();
    let large = Bytes::from(vec![7; 4 << 20]);
    for number in 0..36i64 {
        space.out(tuple!["large", number, large.clone()]).expect("there is room");
    }
    server.stop().expect("it ends");
    let (config, told) = told_of(&log);
    let server = Server::start(&socket, &config).expect("the log is read");
    let told = told.lock().expect("no panic");
    let (last, before) = told.split_last().expect("something is told");
    assert!(matches!(last, LogNews::Open { life: 2, torn_bytes: 0, .. }), "{last:?}");
    let far: Vec<(u64, u64)> = before
        .iter()
        .map(|news| match news {
            LogNews::Reading { read, of } => (*read, *of),
            other => panic!("{other:?} before all is read"),
        })
        .collect();
    assert!(far.len() >= 2 && far.is_sorted_by_key(|(read, _)| *read), "{far:?}");
    assert!(far.iter().all(|(read, of)| read <= of && *of >= 144 << 20), "{far:?}");
    assert_eq!(connect(&socket).space().count(&template!["large", ?i64, ?Bytes]).expect("it counts"), 36);
    drop(server);
}

#[test]
fn named_spaces_of_a_server_with_a_log_are_there_in_its_next_life() {
    let folder = TempDir::new().expect("a temporary directory");
    let (socket, log) = (folder.join("space"), folder.join("log"));
    let server = Server::start(&socket, &config(&log)).expect("a new log");
    let lab = connect(&socket);
    let orders = lab.create_space("orders", &SpaceSettings::default()).expect("the log keeps it");
    orders.out(tuple!["order", 7i64]).expect("it serves");
    lab.create_space("gone", &SpaceSettings::default()).expect("there is room");
    lab.remove_space("gone").expect("it is there");
    server.stop().expect("it ends");
    let server = Server::start(&socket, &config(&log)).expect("the log is read");
    let lab = connect(&socket);
    assert_eq!(lab.spaces().expect("a list").len(), 1);
    let orders = lab.named_space("orders").expect("it is there");
    assert_eq!(orders.take(&template!["order", ?i64]).expect("its tuple also"), tuple!["order", 7i64]);
    let absent = lab.named_space("gone").err().expect("it was removed");
    assert_eq!(absent.code(), Code::NoSuchSpace);
    server.stop().expect("it ends");
}

#[test]
fn what_was_collected_is_gone_or_elsewhere_in_the_next_life() {
    let folder = TempDir::new().expect("a temporary directory");
    let (socket, log) = (folder.join("space"), folder.join("log"));
    let server = Server::start(&socket, &config(&log)).expect("a new log");
    let lab = connect(&socket);
    let (space, archive) =
        (lab.space(), lab.create_space("archive", &SpaceSettings::default()).expect("the log keeps it"));
    let of = |kind: &str, count: i64| (0..count).map(|number| tuple![kind, number]).collect::<Vec<_>>();
    for (kind, count) in [("taken", 2000), ("moved", 1500), ("copied", 5)] {
        space.out_many(&of(kind, count), None).expect("there is room");
    }
    let first = space.collect_pages(&template!["taken", ?i64]).next().expect("a page").expect("it serves");
    assert_eq!(space.collect_into(&archive, &template!["moved", ?i64]), Ok(1500));
    assert_eq!(space.copy_collect_into(&archive, &template!["copied", ?i64]), Ok(5));
    server.stop().expect("it ends");
    let server = Server::start(&socket, &config(&log)).expect("the log is read");
    let lab = connect(&socket);
    let (space, archive) = (lab.space(), lab.named_space("archive").expect("it is there"));
    let [taken, moved, copied] = ["taken", "moved", "copied"].map(|kind| template![kind, ?i64]);
    assert_eq!(space.copy_collect(&taken).expect("it serves"), of("taken", 2000)[first.len()..]);
    assert_eq!((space.count(&moved), space.copy_collect(&copied)), (Ok(0), Ok(of("copied", 5))));
    assert_eq!(
        (archive.collect(&moved), archive.collect(&copied)),
        (Ok(of("moved", 1500)), Ok(of("copied", 5)))
    );
    server.stop().expect("it ends");
}

#[test]
fn recordings_of_a_space_with_a_log_replay_also_of_its_second_life_and_traced() {
    let folder = TempDir::new().expect("a temporary directory");
    let (socket, log) = (folder.join("space"), folder.join("log"));
    for life in ["first", "second"] {
        let path = folder.join(life);
        let recorder = Recorder::create(&path).expect("a file");
        let trace = folder.join(format!("{life}.trace"));
        let tracer = Some(Tracer::create(&trace, "space").expect("a file"));
        let config = ServeConfig { recorder: Some(recorder.clone()), tracer, ..config(&log) };
        let server = Server::start(&socket, &config).expect("its log is read");
        let space = connect(&socket).space();
        for number in 0..50i64 {
            space.out(tuple!["task", number]).expect("there is room");
            space.lease(&template!["task", ?i64], None).expect("one").acknowledge(&[]).expect("it is held");
        }
        space.out(tuple!["left", life]).expect("there is room");
        let group = space.group();
        group.take(&template!["left", life]).expect("it is there");
        group.out(tuple!["done", life]).expect("it goes on");
        group.commit().expect("nobody else takes it");
        space.out_many(&[tuple!["row", 1i64], tuple!["row", 2i64]], None).expect("there is room");
        assert_eq!(space.copy_collect(&template!["row", ?i64]).expect("a page").len(), 2);
        assert_eq!(space.collect(&template!["row", ?i64]).expect("a page").len(), 2);
        server.stop().expect("it ends");
        recorder.finish().expect("it is written");
        let replayed = replay(File::open(&path).expect("it is there"), &stack::make).expect("the same");
        assert!(replayed.frames > 200, "{replayed:?}");
        assert!(trace.metadata().expect("it is there").len() > 1_000);
    }
}

#[test]
fn a_log_is_one_servers_own() {
    let folder = TempDir::new().expect("a temporary directory");
    let log = folder.join("log");
    let first = Server::start(&folder.join("a"), &config(&log)).expect("a new log");
    let error = Server::start(&folder.join("b"), &config(&log)).err().expect("it is in use");
    assert_eq!(error.code(), Code::AddressInUse);
    first.stop().expect("it ends");
    let other = ServeConfig { cluster: 9, ..config(&log) };
    let error = Server::start(&folder.join("b"), &other).err().expect("it is another cluster's");
    assert_eq!(error.code(), Code::BadFile);
    assert!(error.to_string().contains("of cluster 0, not of port"), "{error}");
    Server::start(&folder.join("a"), &config(&log)).expect("it is as it was").stop().expect("it ends");
}

#[test]
fn a_damaged_log_is_named_with_its_place_and_not_touched() {
    let folder = TempDir::new().expect("a temporary directory");
    let (socket, log) = (folder.join("space"), folder.join("log"));
    let server = Server::start(&socket, &config(&log)).expect("a new log");
    connect(&socket).space().out(tuple!["x"]).expect("there is room");
    server.stop().expect("it ends");
    let file = log.join("space.log");
    let mut bytes = std::fs::read(&file).expect("it is there");
    bytes[60] ^= 4;
    std::fs::write(&file, &bytes).expect("it is ours");
    let error = Server::start(&socket, &config(&log)).err().expect("it is damaged");
    assert_eq!(error.code(), Code::BadFile);
    assert!(error.to_string().contains("damaged at byte 24"), "{error}");
    assert_eq!(std::fs::read(&file).expect("it is there"), bytes, "nothing was changed");
}

#[test]
fn a_full_space_goes_on_with_more_room() {
    let folder = TempDir::new().expect("a temporary directory");
    let (socket, log) = (folder.join("space"), folder.join("log"));
    let small = SpaceConfig { max_tuples: 3, ..SpaceConfig::default() };
    let server = Server::start(&socket, &ServeConfig { space: small, ..config(&log) }).expect("a new log");
    let space = connect(&socket).space();
    for number in 0..3i64 {
        space.out(tuple![number]).expect("there is room");
    }
    let full = space.out_many(&[tuple![3i64]], Some(Duration::ZERO)).expect_err("it is full");
    assert_eq!(full.code(), Code::SpaceFull);
    server.stop().expect("it ends");
    let server = Server::start(&socket, &config(&log)).expect("the log is read");
    let space = connect(&socket).space();
    space.out(tuple![3i64]).expect("there is room");
    assert_eq!(space.count(&template![?i64]).expect("it counts"), 4);
    server.stop().expect("it ends");
}

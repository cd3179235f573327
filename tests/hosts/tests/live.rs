//! The same probes on the live host: threads, in-process links, a real disk. What was recorded replays byte for byte.

mod running;

use quintet_contract::{
    Address, CellReader, CellWriter, Input, NodeId, Outbox, OwnedFrame, Port, Protocol, Span, Time, Token,
    cell,
};
use quintet_link::in_process_pair;
use quintet_runtime::{Instance, Node, Recorder, Services};
use quintet_simulate::{ReplayError, replay};
use quintet_testbed::TempDir;
use quintet_tests_hosts::{ANSWER, ASK, Errand, Follower, Leader, Log, REFUSED, Ring, Stamped};
use quintet_wire::registry::{
    DEVICE_LAUNCH, DISK_READ, PORT_CALLERS, PORT_DEVICE, PORT_DISK, SERVICE_REFUSED,
};
use running::Running;
use std::fs::File;
use std::io::Write;

const PROBE: Port = Port(1024);

fn node(id: u16) -> Node {
    Node::new(NodeId(id), Services::none()).expect("an event descriptor is there")
}

#[test]
fn the_token_goes_round_four_threads() {
    const NODES: u16 = 4;
    let mut nodes: Vec<_> = (0..NODES).map(node).collect();
    for id in 0..NODES {
        let next = Address { node: NodeId((id + 1) % NODES), port: PROBE };
        nodes[usize::from(id)].add(PROBE, Instance::new(Ring::new(next, Span::from_micros(10), id == 0)));
    }
    for id in 0..NODES {
        let (next, (near, far)) =
            ((id + 1) % NODES, in_process_pair().expect("two event descriptors are there"));
        let pair = [(PROBE, PROBE)];
        nodes[usize::from(id)].attach(NodeId(next), &pair, near).expect("it can be watched");
        nodes[usize::from(next)].attach(NodeId(id), &pair, far).expect("it can be watched");
    }
    let running: Vec<_> = nodes.into_iter().map(Running::start).collect();
    running[0].ask(PROBE, ASK, 50, (b"", b""));
    let answer = running[0].answer();
    assert_eq!((answer.kind, answer.token), (ANSWER, Token(50)));
    assert!(u64::from_le_bytes(answer.body[..].try_into().expect("eight bytes")) >= 50);
}

#[test]
fn halves_on_two_threads_share_the_latest_value() {
    let (writer, reader) = halves();
    let (mut first, mut second) = (node(1), node(2));
    first.add(PROBE, Instance::new(Leader::new(writer)));
    second.add(PROBE, Instance::new(Follower::new(reader)));
    let (first, second) = (Running::start(first), Running::start(second));
    for count in 1..=100u64 {
        first.ask(PROBE, ASK, count, (b"", b""));
        first.answer();
        second.ask(PROBE, ASK, count, (b"", b""));
        assert_eq!(numbers(&second.answer()), [count, 0, 0]);
    }
}

#[test]
fn halves_that_race_on_two_threads_see_whole_values_that_never_go_back() {
    const ROUNDS: u64 = 50;
    const TIMES: u64 = 2_000;
    let (writer, reader) = halves();
    let (mut first, mut second) = (node(1), node(2));
    first.add(PROBE, Instance::new(Leader::new(writer).times(TIMES)));
    second.add(PROBE, Instance::new(Follower::new(reader).times(TIMES)));
    let (first, second) = (Running::start(first), Running::start(second));
    // Both work off what they were asked, at the same time.
    for round in 1..=ROUNDS {
        first.ask(PROBE, ASK, round, (b"", b""));
        second.ask(PROBE, ASK, round, (b"", b""));
    }
    for _ in 1..=ROUNDS {
        first.answer();
        let [_, torn, went_back] = numbers(&second.answer());
        assert_eq!((torn, went_back), (0, 0));
    }
    second.ask(PROBE, ASK, 0, (b"", b""));
    assert_eq!(numbers(&second.answer()), [ROUNDS * TIMES, 0, 0]);
}

/// A cell of the halves, with its first value.
fn halves() -> (CellWriter<[u64; 2]>, CellReader<[u64; 2]>) {
    cell([0, !0])
}

/// The three numbers of a follower's answer.
fn numbers(answer: &OwnedFrame) -> [u64; 3] {
    let (numbers, _) = answer.body.as_chunks::<8>();
    [0, 1, 2].map(|at| u64::from_le_bytes(numbers[at]))
}

#[test]
fn an_errand_reaches_the_disk_before_it_is_answered() {
    let dir = TempDir::new().expect("a temporary directory");
    let path = dir.join("disk");
    let reverse = Box::new(|input: &[u8]| input.iter().rev().copied().collect());
    let services = Services::none().with_disk(&path).expect("the file opens").with_device(reverse);
    let mut host = Node::new(NodeId(1), services).expect("an event descriptor is there");
    host.add(PROBE, Instance::new(Errand::new(Address::new(1, PROBE.0))));
    let running = Running::start(host);
    running.ask(PROBE, ASK, 7, (b"carry this", b""));
    let answer = running.answer();
    assert_eq!((answer.token, &answer.body[..]), (Token(7), &b"siht yrrac"[..]));
    assert_eq!(std::fs::read(&path).expect("the file is there"), b"carry this");
}

#[test]
fn a_log_is_read_back_from_the_disk_of_its_last_life_without_what_is_torn() {
    let dir = TempDir::new().expect("a temporary directory");
    let path = dir.join("disk");
    let host = || {
        let services = Services::none().with_disk(&path).expect("the file opens");
        let mut host = Node::new(NodeId(1), services).expect("an event descriptor is there");
        host.add(PROBE, Instance::new(Log::new(Address::new(1, PROBE.0))));
        Running::start(host)
    };
    let count =
        |running: &Running| u64::from_le_bytes(running.answer().body[..].try_into().expect("a count"));
    for life in 0..3u64 {
        let running = host();
        running.ask(PROBE, ASK, 0, (b"", b""));
        assert_eq!(count(&running), life * 100, "all that was acknowledged");
        (1..=100).for_each(|token| running.ask(PROBE, ASK, token, (b"a record to be kept", b"")));
        let counts: Vec<u64> = (0..100).map(|_| count(&running)).collect();
        assert!(counts.is_sorted() && counts.last() == Some(&(life * 100 + 100)), "{counts:?}");
        drop(running);
        // As a crash may leave it.
        let mut file = File::options().append(true).open(&path).expect("it was written");
        file.write_all(&[19, 0, 0, 0, 1, 2, 3]).expect("there is room");
    }
}

#[test]
fn what_the_host_lacks_is_refused_at_once() {
    let mut host = node(1);
    host.add(PROBE, Instance::new(Errand::new(Address::new(1, PROBE.0))));
    host.add(Port(1025), Instance::new(Log::new(Address::new(1, 1025))));
    let running = Running::start(host);
    for port in [PROBE, Port(1025)] {
        running.ask(port, ASK, 7, (b"carry this", b""));
        let answer = running.answer();
        assert_eq!((answer.kind, answer.token), (REFUSED, Token(7)));
    }
}

/// Asks the services of its node for what they cannot read, and hands on what they say.
struct Stranger;

impl Protocol for Stranger {
    fn handle(&mut self, _: Time, input: Input<'_>, out: &mut dyn Outbox) {
        let Input::Frame(from, frame) = input else { return };
        let here = |port| Address { node: NodeId(1), port };
        if frame.kind == ASK {
            for (port, kind) in
                [(PORT_DISK, DISK_READ), (PORT_DISK, DEVICE_LAUNCH), (PORT_DEVICE, DEVICE_LAUNCH)]
            {
                out.send(here(port), kind, frame.token, b"?").expect("it was started");
            }
        } else if from.port != PORT_CALLERS {
            out.send(here(PORT_CALLERS), frame.kind, frame.token, frame.body).expect("callers have room");
        }
    }
    fn deadline(&self) -> Option<Time> {
        None
    }
}

#[test]
fn what_a_service_cannot_read_is_refused() {
    let dir = TempDir::new().expect("a temporary directory");
    let services = Services::none().with_disk(&dir.join("disk")).expect("the file opens");
    let services = services.with_device(Box::new(|input: &[u8]| input.to_vec()));
    let mut host = Node::new(NodeId(1), services).expect("an event descriptor is there");
    host.add(PROBE, Instance::new(Stranger));
    let running = Running::start(host);
    running.ask(PROBE, ASK, 7, (b"", b""));
    for _ in 0..3 {
        let answer = running.answer();
        assert_eq!((answer.kind, answer.token), (SERVICE_REFUSED, Token(7)));
    }
}

/// Two nodes that compare their clocks over a link; the first one may be recorded.
fn clocks(recorder: Option<&Recorder>) -> (Running, Running) {
    let (mut first, mut second) = (node(1), node(2));
    let at = |node| Address { node: NodeId(node), port: PROBE };
    let instance = Instance::new(Stamped::new(at(2)));
    first.add(
        PROBE,
        match recorder {
            Some(recorder) => instance.recorded(recorder, at(1), "stamped", b""),
            None => instance,
        },
    );
    second.add(PROBE, Instance::new(Stamped::new(at(1))));
    let (near, far) = in_process_pair().expect("two event descriptors are there");
    first.attach(NodeId(2), &[(PROBE, PROBE)], near).expect("it can be watched");
    second.attach(NodeId(1), &[(PROBE, PROBE)], far).expect("it can be watched");
    (Running::start(first), Running::start(second))
}

#[test]
fn stamps_of_a_live_link_are_recorded_and_replayed() {
    let dir = TempDir::new().expect("a temporary directory");
    let path = dir.join("job.qrec");
    let recorder = Recorder::create(&path).expect("the file can be made");
    let (first, second) = clocks(Some(&recorder));
    for token in 1..=20 {
        first.ask(PROBE, ASK, token, (b"", b""));
        let answer = first.answer();
        let (numbers, _) = answer.body.as_chunks::<8>();
        assert!(i64::from_le_bytes(numbers[0]) >= 0, "no frame arrives before it departs");
    }
    drop((first, second));
    recorder.finish().expect("the disk has room");
    let replayed = replay(File::open(&path).expect("it was recorded"), &make).expect("the same again");
    assert_eq!(replayed.frames, 40);
}

/// Records an errand and two halves, and gives the recording.
fn record(dir: &TempDir) -> std::path::PathBuf {
    let path = dir.join("job.qrec");
    let recorder = Recorder::create(&path).expect("the file can be made");
    let services = Services::none().with_disk(&dir.join("disk")).expect("the file opens");
    let services = services.with_device(Box::new(|input: &[u8]| input.to_ascii_uppercase()));
    let mut host = Node::new(NodeId(1), services).expect("an event descriptor is there");
    let at = |port| Address::new(1, port);
    let (writer, reader) = halves();
    let instance = |port, name, instance: Instance| instance.recorded(&recorder, at(port), name, b"");
    host.add(PROBE, instance(1024, "errand", Instance::new(Errand::new(at(1024)))));
    host.add(Port(1025), instance(1025, "leader", Instance::new(Leader::new(writer))));
    host.add(Port(1026), instance(1026, "follower", Instance::new(Follower::new(reader))));
    let running = Running::start(host);
    for token in 1..=20 {
        for port in [PROBE, Port(1025), Port(1026)] {
            running.ask(port, ASK, token, (b"a recorded request", b""));
            running.answer();
        }
    }
    drop(running);
    recorder.finish().expect("the disk has room");
    path
}

fn make(name: &str, at: Address, _config: &[u8]) -> Result<Box<dyn Protocol>, String> {
    let (writer, reader) = halves();
    Ok(match name {
        "errand" => Box::new(Errand::new(at)),
        "stamped" => Box::new(Stamped::new(Address::new(2, PROBE.0))),
        "leader" => Box::new(Leader::new(writer)),
        "follower" => Box::new(Follower::new(reader)),
        _ => return Err("no probe has this name".to_owned()),
    })
}

#[test]
fn a_recorded_run_replays_byte_for_byte() {
    let dir = TempDir::new().expect("a temporary directory");
    let path = record(&dir);
    let replayed = replay(File::open(&path).expect("it was recorded"), &make).expect("the same again");
    assert_eq!(replayed.instances.len(), 3);
    // 20 rounds: three inputs and three frames of the errand, one each of the halves.
    assert_eq!((replayed.steps, replayed.frames), (3 + 20 * 5, 20 * 5));
    assert!(!replayed.cut_short);
}

#[test]
fn a_replay_notices_another_protocol_damage_and_a_cut() {
    let dir = TempDir::new().expect("a temporary directory");
    let recording = std::fs::read(record(&dir)).expect("it was recorded");
    // A follower whose leader's values are lost would answer otherwise: give the errand to the leader's instance.
    let swapped = |name: &str, at: Address, config: &[u8]| {
        make(if name == "leader" { "errand" } else { name }, at, config)
    };
    assert!(matches!(replay(&recording[..], &swapped), Err(ReplayError::Different(_))));
    let unknown = |_: &str, _: Address, _: &[u8]| Err("nothing is known");
    assert!(matches!(replay(&recording[..], &unknown), Err(ReplayError::UnknownProtocol { .. })));
    let mut damaged = recording.clone();
    damaged[200] ^= 1;
    assert!(matches!(replay(&damaged[..], &make), Err(ReplayError::Damaged { .. })));
    let cut = replay(&recording[..recording.len() - 3], &make).expect("what is there is good");
    assert!(cut.cut_short);
    assert!(matches!(replay(&b"QREC\x09\0\0\0"[..], &make), Err(ReplayError::NotARecording { .. })));
}

//! What a crash or a freeze of a process means to the others: nothing acknowledged is lost, a leased task is done again,
//! nobody waits for the dead.

use quintet::{
    Code, Lab, LinkAddress, LinkConfig, ServeConfig, Server, Template, Tuple, Value, template, tuple,
};
use quintet_link::SharedMemoryListener;
use quintet_testbed::{Child, Program, TempDir, argument};
use std::path::Path;
use std::time::Duration;

const LONG: Duration = Duration::from_secs(30);
const LEASE: Duration = Duration::from_secs(5);
const HOUR: Duration = Duration::from_secs(3600);

fn tasks() -> Template {
    template!["task", ?i64]
}

fn start(test: &str, socket: &Path) -> Child {
    Program::this_test(test, socket).expect("this test's executable is known").spawn().expect("it starts")
}

fn connect(socket: impl AsRef<Path>, lease: Duration) -> quintet::Space {
    Lab::connect(socket.as_ref(), 0, lease).expect("the space is there").space()
}

/// A link that is waited for, for an hour, if it is cut.
fn patient() -> LinkConfig {
    LinkConfig { resume_window: HOUR, ..LinkConfig::default() }
}

/// A link whose silence is noticed within a second.
fn impatient() -> LinkConfig {
    let (keep_alive, silence_limit) = (Duration::from_millis(250), Duration::from_millis(700));
    LinkConfig { keep_alive, silence_limit, ..LinkConfig::default() }
}

/// In a child: serves at the socket that the test named, for ever.
fn serve_as_child() {
    if let Some(socket) = argument() {
        let _server = Server::start(Path::new(&socket), &ServeConfig::default()).expect("it starts");
        println!("serving");
        hold();
    }
}

/// A space in a child that runs `test`, and a connection to it.
fn served_by_child(test: &str, socket: &Path) -> (Child, quintet::Space) {
    let server = start(test, socket);
    server.output().wait_for("serving", LONG).expect("it serves");
    (server, connect(socket, LEASE))
}

fn integer(tuple: &Tuple, field: usize) -> i64 {
    match tuple.values()[field] {
        Value::I64(value) => value,
        ref other => panic!("{other} is no integer"),
    }
}

#[test]
fn the_task_of_a_killed_worker_returns_at_once() {
    const NAME: &str = "the_task_of_a_killed_worker_returns_at_once";
    if let Some(socket) = argument() {
        let address: LinkAddress = socket.parse().unwrap();
        let space = Lab::connect_with(address, 0, HOUR, patient()).expect("the space is there").space();
        let lease = space.lease(&tasks(), None).expect("there is a task");
        println!("holding {}", lease.attempt());
        hold();
    }
    let dir = TempDir::new().unwrap();
    for kind in ["shm", "unix"] {
        let address: LinkAddress = format!("{kind}:{}", dir.join(kind).display()).parse().unwrap();
        let config = ServeConfig { link: patient(), ..ServeConfig::default() };
        let _server = Server::start(&address, &config).unwrap();
        let space = Lab::connect(&address, 0, LEASE).unwrap().space();
        space.out(tuple!["task", 1i64]).unwrap();
        for attempt in 1..=3 {
            let mut worker = start(NAME, Path::new(&address.to_string()));
            let said = worker.output().wait_for("holding", LONG).expect("it takes the task");
            assert_eq!(said, format!(" {attempt}"), "the attempt");
            assert_eq!(space.take_if(&tasks()).unwrap(), None);
            worker.kill().unwrap();
            // Its lease and its session would live for an hour; the space sees the death itself.
            assert_eq!(space.read_within(&tasks(), LONG).unwrap(), tuple!["task", 1i64]);
        }
        assert_eq!(space.lease(&tasks(), None).unwrap().attempt(), 4);
    }
}

#[test]
fn calls_of_a_killed_server_end_at_once_over_a_unix_socket() {
    const NAME: &str = "calls_of_a_killed_server_end_at_once_over_a_unix_socket";
    if let Some(socket) = argument() {
        let config = ServeConfig { link: patient(), ..ServeConfig::default() };
        let _server = Server::start(LinkAddress::Unix(socket.into()), &config).expect("it starts");
        println!("serving");
        hold();
    }
    let dir = TempDir::new().unwrap();
    let socket = dir.join("space");
    let mut server = start(NAME, &socket);
    server.output().wait_for("serving", LONG).expect("it serves");
    let lab = Lab::connect_with(LinkAddress::Unix(socket), 0, LEASE, patient()).unwrap();
    let mut waiting = lab.space().begin().take(&template!["never"]).unwrap();
    server.kill().unwrap();
    let error = waiting.wait(LONG).expect("not only after the window of an hour").expect_err("it is gone");
    assert!(error.code() == Code::PeerDied && error.text().contains("process ended"), "{error}");
}

#[test]
fn a_frozen_worker_loses_its_lease_and_its_result_is_not_put() {
    const NAME: &str = "a_frozen_worker_loses_its_lease_and_its_result_is_not_put";
    if let Some(socket) = argument() {
        let lease =
            connect(socket, Duration::from_millis(300)).lease(&tasks(), None).expect("there is a task");
        println!("holding");
        let mut line = String::new();
        std::io::stdin().read_line(&mut line).expect("the test speaks");
        let error = lease.acknowledge(&[tuple!["result", 1i64]]).expect_err("it was frozen for too long");
        println!("refused {}", error.code().name());
        hold();
    }
    let dir = TempDir::new().unwrap();
    let socket = dir.join("space");
    let _server = Server::start(&socket, &ServeConfig::default()).unwrap();
    let space = connect(&socket, LEASE);
    space.out(tuple!["task", 1i64]).unwrap();
    let mut worker = start(NAME, &socket);
    worker.output().wait_for("holding", LONG).expect("it takes the task");
    worker.freeze().unwrap();
    let lease = space.lease(&tasks(), Some(LONG)).expect("the lease runs out");
    assert_eq!(lease.attempt(), 2);
    worker.thaw().unwrap();
    worker.say("go on").unwrap();
    assert_eq!(worker.output().wait_for("refused", LONG).as_deref(), Some(" LeaseLost"));
    lease.acknowledge(&[tuple!["result", 2i64]]).unwrap();
    assert_eq!(space.take(&template!["result", ?i64]).unwrap(), tuple!["result", 2i64]);
    assert_eq!(space.count(&template!["result", ?i64]).unwrap(), 0);
}

#[test]
fn a_killed_space_fails_every_wait_with_its_reason() {
    const NAME: &str = "a_killed_space_fails_every_wait_with_its_reason";
    serve_as_child();
    let dir = TempDir::new().unwrap();
    let (mut server, space) = served_by_child(NAME, &dir.join("space"));
    let waits: Vec<_> = (0..8)
        .map(|n: i64| {
            let space = space.clone();
            std::thread::spawn(move || {
                space.take(&template!["never", n]).expect_err("the space is killed").code()
            })
        })
        .collect();
    while space.status().unwrap().waiters < 8 {
        std::thread::yield_now();
    }
    server.kill().unwrap();
    for wait in waits {
        assert_eq!(wait.join().expect("it does not panic"), Code::PeerDied);
    }
}

#[test]
fn a_frozen_space_is_noticed() {
    const NAME: &str = "a_frozen_space_is_noticed";
    serve_as_child();
    let dir = TempDir::new().unwrap();
    let socket = dir.join("space");
    let (server, _) = served_by_child(NAME, &socket);
    let space = Lab::connect_with(&socket, 0, LEASE, impatient()).expect("the space is there").space();
    let mut pending = space.begin().take(&template!["never"]).unwrap();
    server.freeze().unwrap();
    let error = pending.wait(LONG).expect("no hang").expect_err("nobody answers");
    assert_eq!(error.code(), Code::PeerSilent);
    assert_eq!(space.out(tuple!["x"]).unwrap_err().code(), Code::PeerSilent);
}

/// Tasks of the long run before each kill; each is at least four operations: out, lease, acknowledgement, take of the result.
const TASKS_A_KILL: i64 = 2_000;
const WORKERS: usize = 3;

#[test]
fn a_long_run_with_kills_loses_nothing_and_doubles_nothing() {
    farm(13);
}

/// `make kill` kills `QUINTET_KILLS` times.
#[test]
#[ignore = "takes minutes: make kill"]
fn workers_of_a_farm_are_killed_again_and_again() {
    farm(std::env::var("QUINTET_KILLS").map_or(20, |kills| kills.parse().expect("a number")));
}

/// Tasks under leases, and workers that are killed and replaced so often: each task has one result.
fn farm(kills: i64) {
    const NAME: &str = "a_long_run_with_kills_loses_nothing_and_doubles_nothing";
    let all = kills * TASKS_A_KILL;
    if let Some(socket) = argument() {
        let space = connect(socket, LEASE);
        loop {
            let lease = space.lease(&tasks(), None).expect("the space lives longer than its workers");
            let id = integer(lease.tuple(), 1);
            let result = tuple!["result", id, i64::from(lease.attempt())];
            lease.acknowledge(&[result]).expect("nobody is frozen here");
        }
    }
    let dir = TempDir::new().expect("a folder");
    let socket = dir.join("space");
    let _server = Server::start(&socket, &ServeConfig::default()).expect("it starts");
    let space = connect(&socket, LEASE);
    let mut workers: Vec<_> = (0..WORKERS).map(|_| start(NAME, &socket)).collect();
    let mut seen = vec![false; usize::try_from(all).expect("it is small")];
    let (mut put, mut redone) = (0, 0);
    for done in 0..all {
        while put < all && put < done + 64 {
            space.out(tuple!["task", put]).expect("it is served");
            put += 1;
        }
        let result = space.take_within(&template!["result", ?i64, ?i64], LONG).expect("every task is done");
        let id = usize::try_from(integer(&result, 1)).expect("ids are not negative");
        assert!(!std::mem::replace(&mut seen[id], true), "task {id} was done twice");
        redone += i64::from(integer(&result, 2) > 1);
        if done % TASKS_A_KILL == TASKS_A_KILL - 1 {
            let victim = usize::try_from(done / TASKS_A_KILL).expect("it is small") % WORKERS;
            workers[victim].kill().expect("killed");
            workers[victim] = start(NAME, &socket);
        }
    }
    assert!(seen.iter().all(|seen| *seen));
    let state = space.status().expect("it is served");
    assert_eq!((state.tuples, state.hidden, state.bytes, state.dead_letters), (0, 0, 0, 0), "{state:?}");
    assert_eq!(
        u64::try_from(redone).expect("it is not negative"),
        state.redone,
        "a redone task is a returned lease"
    );
}

/// Until the test kills this process.
fn hold() -> ! {
    loop {
        std::thread::park();
    }
}

#[test]
fn a_space_that_never_answers_a_connection_is_noticed() {
    let dir = TempDir::new().unwrap();
    let socket = dir.join("space");
    let mut listener = SharedMemoryListener::bind(&socket).expect("the folder is there");
    let connect = move || Lab::connect_with(&socket, 0, LEASE, impatient());
    let connecting = std::thread::spawn(move || connect().err().map(|error| error.code()));
    // It makes the link and says nothing over it.
    let _link = loop {
        if let Some(end) = listener.accept().expect("the bootstrap goes well") {
            break end;
        }
        std::thread::yield_now();
    };
    assert_eq!(connecting.join().expect("it does not panic"), Some(Code::PeerSilent));
}

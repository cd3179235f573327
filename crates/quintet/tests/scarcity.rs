//! Where the system has little to give: links work without `/dev/shm`, and say what they lack instead of dying.

#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use quintet::{Array, ArrayOf, Code, Lab, SHORTEST_LEASE, ServeConfig, Server, template, tuple};
use quintet_testbed::{Program, TempDir, argument};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::path::Path;
use std::time::Duration;

const LEASE: Duration = Duration::from_secs(10);
const LONG: Duration = Duration::from_secs(30);

/// In a mount namespace of its own, so that nothing outside is touched.
const MOUNT: &str = "mount -t tmpfs -o size=64k tmpfs /dev/shm || { echo cannot mount; exit 0; }
head -c 65536 /dev/zero >/dev/shm/full
exec \"$@\"";

/// In a child's environment: the folder in which it plays its part.
const FOLDER: &str = "QUINTET_TEST_FOLDER";

#[test]
fn a_full_dev_shm_does_not_matter() {
    const NAME: &str = "a_full_dev_shm_does_not_matter";
    if let Some(folder) = std::env::var_os(FOLDER) {
        pair_and_array(&Path::new(&folder).join("space"));
        println!("both arrived");
        return;
    }
    let folder = TempDir::new().unwrap();
    let shell = ["-m", "sh", "-c", MOUNT, "sh"].iter().fold(Program::new("unshare"), Program::arg);
    let program = shell.arg(std::env::current_exe().unwrap()).arg(NAME).arg("--exact").arg("--nocapture");
    let Ok(mut child) = program.env(FOLDER, folder.path()).spawn() else {
        return println!("skipped: there is no program unshare");
    };
    let status = child.wait(LONG).unwrap().expect("it ends");
    while child.output().next_line(LONG).is_some() {}
    let said = child.output().text();
    if said.contains("cannot mount") || said.contains("unshare:") {
        return println!("skipped: no mount namespace here: {said}");
    }
    assert!(status.success() && said.contains("both arrived"), "{said}");
}

/// A pair of small tuples and 8 MiB, between two ends of a link over shared memory.
fn pair_and_array(socket: &Path) {
    let left = std::fs::write("/dev/shm/more", [0]).unwrap_err();
    assert_eq!(left.raw_os_error(), Some(rustix::io::Errno::NOSPC.raw_os_error()), "the place is full");
    let _server = Server::start(socket, &ServeConfig::default()).unwrap();
    let (one, other) = (Lab::connect(socket, 0, LEASE).unwrap(), Lab::connect(socket, 0, LEASE).unwrap());
    one.space().out(tuple!["x", 1i64]).unwrap();
    assert_eq!(other.space().take(&template!["x", ?i64]).unwrap(), tuple!["x", 1i64]);
    let values: Vec<f64> = (0..1 << 20).map(f64::from).collect();
    let array = Array::from_elements(&[1 << 20], &values).unwrap();
    one.space().out(tuple!["array", array.clone()]).unwrap();
    assert_eq!(other.space().take(&template!["array", ?ArrayOf<f64, 1>]).unwrap(), tuple!["array", array]);
}

fn forbid_large_files() {
    let maximum = getrlimit(Resource::Fsize).maximum;
    setrlimit(Resource::Fsize, Rlimit { current: Some(4096), maximum }).unwrap();
}

#[test]
fn a_client_that_may_make_no_memory_is_told_and_lives() {
    const NAME: &str = "a_client_that_may_make_no_memory_is_told_and_lives";
    if let Some(socket) = argument() {
        forbid_large_files();
        let error = Lab::connect(Path::new(&socket), 0, LEASE).err().expect("there is no memory");
        println!("refused: {} {}", error.code().name(), error.text());
        return;
    }
    let folder = TempDir::new().unwrap();
    let socket = folder.join("space");
    let _server = Server::start(&socket, &ServeConfig::default()).unwrap();
    let client = Program::this_test(NAME, &socket).unwrap().spawn().unwrap();
    let said = client.output().wait_for("refused:", LONG).expect("it is told, not killed by a signal");
    assert!(said.starts_with(" Resource") && said.contains("ulimit -f"), "{said}");
    Lab::connect(&socket, 0, LEASE).unwrap().space().out(tuple!["x"]).expect("others are served");
}

#[test]
fn a_server_that_may_make_no_memory_refuses_with_the_reason() {
    const NAME: &str = "a_server_that_may_make_no_memory_refuses_with_the_reason";
    if let Some(socket) = argument() {
        forbid_large_files();
        let _server = Server::start(Path::new(&socket), &ServeConfig::default()).unwrap();
        println!("serving");
        loop {
            std::thread::park();
        }
    }
    let folder = TempDir::new().unwrap();
    let socket = folder.join("space");
    let server = Program::this_test(NAME, &socket).unwrap().spawn().unwrap();
    server.output().wait_for("serving", LONG).expect("it serves");
    let error = Lab::connect(&socket, 0, LEASE).err().expect("the server has no memory for the link");
    assert_eq!(error.code(), Code::Resource, "{error}");
}

/// Leaves this process no room for another thread's stack.
fn forbid_stacks() {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let size = status.lines().find_map(|line| line.strip_prefix("VmSize:")?.strip_suffix("kB")).unwrap();
    let kilobytes: u64 = size.trim().parse().unwrap();
    let Rlimit { maximum, .. } = getrlimit(Resource::As);
    let current = Some((kilobytes + 1024) << 10);
    setrlimit(Resource::As, Rlimit { current, maximum }).unwrap();
}

#[test]
fn a_lease_that_no_thread_can_renew_is_not_taken() {
    const NAME: &str = "a_lease_that_no_thread_can_renew_is_not_taken";
    if let Some(socket) = argument() {
        let space = Lab::connect(Path::new(&socket), 0, LEASE).unwrap().space();
        let before = getrlimit(Resource::As);
        forbid_stacks();
        let error = space.lease(&template!["task"], None).err().expect("there is no thread");
        println!("refused: {}", error.code().name());
        setrlimit(Resource::As, before).unwrap();
        let lease = space.lease(&template!["task"], None).expect("there are threads again");
        println!("leased: {}", lease.attempt());
        return;
    }
    let folder = TempDir::new().unwrap();
    let socket = folder.join("space");
    let _server = Server::start(&socket, &ServeConfig::default()).unwrap();
    Lab::connect(&socket, 0, LEASE).unwrap().space().out(tuple!["task"]).unwrap();
    let client = Program::this_test(NAME, &socket).unwrap().spawn().unwrap();
    assert_eq!(client.output().wait_for("refused:", LONG).as_deref(), Some(" Resource"));
    assert_eq!(client.output().wait_for("leased:", LONG).as_deref(), Some(" 1"));
}

#[test]
fn a_lease_too_short_to_be_renewed_is_refused() {
    for lease in [Duration::ZERO, SHORTEST_LEASE - Duration::from_nanos(1)] {
        let error = Lab::connect(Path::new("/nobody/listens"), 0, lease).err().expect("it is too short");
        assert_eq!(error.code(), Code::BadValue);
    }
    let error = Lab::connect(Path::new("/nobody/listens"), 0, SHORTEST_LEASE).err().expect("nobody listens");
    assert_eq!(error.code(), Code::Unreachable);
}

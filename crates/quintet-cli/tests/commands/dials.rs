//! A served space that thousands dial at once: it lives, says to each what becomes of it, and keeps nothing of them.

use crate::tool::{LONG, quintet, text, wait_until};
use quintet::{Code, Lab, LinkAddress, LinkConfig, template, tuple};
use quintet_testbed::{Child, Program, TempDir, argument};
use rustix::process::{Resource, Rlimit, getrlimit, nice, setrlimit};
use std::fs;
use std::io::{BufRead, Read};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::sync::Barrier;
use std::thread;
use std::time::Duration;

/// Who dials at once, unless `QUINTET_DIALS` says otherwise: ten thousand in `make verify`.
const DIALS: usize = 3_000;
/// Processes that dial: one may not have the descriptors for all.
const PROCESSES: usize = 4;
/// Enough for a dial.
const STACK_BYTES: usize = 256 << 10;
const LEASE: Duration = Duration::from_secs(3600);
/// Of a link over a socket, at most.
const DESCRIPTORS_OF_A_LINK: usize = 3;
/// After which somebody dials again who is told that there is no room, or hears nothing: on a busy machine many are, at first.
const PAUSES_MS: [u64; 4] = [100, 200, 400, 800];
/// What of a link's buffers was ever written, and its session.
const MOST_BYTES_OF_A_DIAL: u64 = 32 << 10;
/// After the first wave, at most.
const WAVES_AGAIN: usize = 3;
/// Thousands of threads of clients would have the processors of the machine that they dial to themselves.
const NICENESS_OF_DIALLERS: i32 = 5;

/// How many dial at once, a multiple of the processes.
fn dials() -> usize {
    let asked = std::env::var("QUINTET_DIALS").map_or(DIALS, |asked| asked.parse().expect("a number"));
    asked.next_multiple_of(PROCESSES)
}

/// The address that a test gave this process, if it was started to dial. From here on it may have many descriptors.
fn address_to_dial() -> Option<LinkAddress> {
    let address = argument()?;
    let before = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: before.maximum, ..before }).expect("up to the maximum");
    Some(address.parse().expect("the test wrote an address"))
}

/// In a child: all dial together when the test says so, and what they have got stays until it says so again. The server goes
/// first, as one would that has a machine of its own.
fn dial_together<T: Send>(dial: impl Fn() -> T + Sync, tell: impl Fn(&mut [T])) -> ! {
    nice(NICENESS_OF_DIALLERS).expect("each may be nicer");
    let mut lines = std::io::stdin().lock().lines().map_while(Result::ok);
    let together = Barrier::new(dials() / PROCESSES + 1);
    thread::scope(|scope| {
        let dial = || {
            together.wait();
            dial()
        };
        let builder = || thread::Builder::new().stack_size(STACK_BYTES);
        let dials: Vec<_> = (0..dials() / PROCESSES)
            .map(|_| builder().spawn_scoped(scope, dial).expect("there is room for a thread"))
            .collect();
        println!("ready");
        lines.next();
        together.wait();
        let mut got: Vec<T> = dials.into_iter().map(|dial| dial.join().expect("it does not panic")).collect();
        tell(&mut got);
        lines.next();
    });
    std::process::exit(0);
}

/// A space that serves over a Unix socket and over TCP.
struct Served {
    _folder: TempDir,
    process: Child,
    addresses: Vec<LinkAddress>,
}

impl Served {
    fn start() -> Served {
        let folder = TempDir::new().unwrap();
        let unix = format!("unix:{}", text(&folder.join("unix")));
        let process =
            quintet(["serve", "--cluster", "7", "--json", "--listen", &unix, "--listen", "tcp:127.0.0.1:0"]);
        let ready = process.output().next_line(LONG).expect("it says that it serves");
        let ready: serde_json::Value = serde_json::from_str(&ready).expect("an object");
        let said: Vec<String> = serde_json::from_value(ready["addresses"].clone()).expect("addresses");
        let addresses = said.iter().map(|said| said.parse().expect("it can be dialled")).collect();
        Served { _folder: folder, process, addresses }
    }

    fn descriptors(&self) -> usize {
        fs::read_dir(format!("/proc/{}/fd", self.process.id())).expect("it lives").count()
    }

    /// Bytes that it had in memory at most.
    fn most_bytes(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.process.id())).expect("it lives");
        let most = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.strip_suffix("kB"));
        most.expect("the system counts it").trim().parse::<u64>().expect("a number") << 10
    }
}

/// Processes that run `test`, ready to dial.
fn diallers(test: &str, address: &LinkAddress) -> Vec<Child> {
    let start = |_| Program::this_test(test, address.to_string()).unwrap().spawn().unwrap();
    let diallers: Vec<Child> = (0..PROCESSES).map(start).collect();
    for dialler in &diallers {
        dialler.output().wait_for("ready", LONG).unwrap_or_else(|| panic!("{}", dialler.output().text()));
    }
    diallers
}

fn say(diallers: &mut [Child], what: &str) {
    diallers.iter_mut().for_each(|dialler| dialler.say(what).expect("it reads"));
}

/// What each of them counted under that name.
fn sum(diallers: &[Child], name: &str) -> usize {
    let count = |dialler: &Child| -> usize {
        let said = dialler.output().wait_for(name, LONG);
        let said = said.unwrap_or_else(|| panic!("no end: {}", dialler.output().text()));
        said.trim().parse().expect("a number")
    };
    diallers.iter().map(count).sum()
}

/// A client that was there before is served while `goes_on`, and whoever comes is connected or told.
fn is_served_while(address: &LinkAddress, client: &Lab, goes_on: impl Fn() -> bool) {
    let space = client.space();
    while goes_on() {
        space.out(tuple!["x"]).expect("it is connected");
        assert_eq!(space.take(&template!["x"]).expect("it is connected"), tuple!["x"]);
        comes(address);
    }
}

/// Whether somebody who comes is served. If not he is told why.
fn comes(address: &LinkAddress) -> bool {
    match Lab::connect(address, 7, LEASE) {
        Ok(late) => late.space().count(&template!["x"]).is_ok(),
        Err(error) => {
            assert!(is_clear(&error), "{error}");
            false
        }
    }
}

/// There is no room, or no answer in time: what a caller can act by.
fn is_clear(error: &quintet::Error) -> bool {
    [Code::Resource, Code::PeerSilent].contains(&error.code())
}

/// Dials, and again when told to.
fn dial_until_connected(address: &LinkAddress) -> Result<Lab, quintet::Error> {
    let mut dialled = Lab::connect(address, 7, LEASE);
    for pause in PAUSES_MS {
        if dialled.as_ref().is_err_and(is_clear) {
            thread::sleep(Duration::from_millis(pause));
            dialled = Lab::connect(address, 7, LEASE);
        }
    }
    dialled
}

/// For how many there is a place: the server has as many descriptors as this process may have.
fn places() -> usize {
    let descriptors = getrlimit(Resource::Nofile).maximum.and_then(|most| usize::try_from(most).ok());
    descriptors.map_or(dials(), |most| dials().min(most / DESCRIPTORS_OF_A_LINK))
}

/// One wave of dials by clients. On a busy machine some are in vain at each try, but not most. Nothing of it is left in the end.
fn wave(test: &str, served: &Served, address: &LinkAddress, client: &Lab) {
    let before = served.descriptors();
    let mut diallers = diallers(test, address);
    say(&mut diallers, "dial");
    thread::scope(|scope| {
        let dialled = scope.spawn(|| (sum(&diallers, "connected"), sum(&diallers, "refused")));
        is_served_while(address, client, || !dialled.is_finished());
        let (connected, refused) = dialled.join().expect("all of them end");
        assert_eq!(connected + refused, dials());
        assert!(
            connected >= places() / 4,
            "{connected} connected, of {} for whom there was a place",
            places()
        );
    });
    say(&mut diallers, "leave");
    for dialler in &mut diallers {
        assert!(dialler.wait(LONG).unwrap().is_some_and(|status| status.success()));
    }
    wait_until(|| served.descriptors() <= before);
    wait_until(|| comes(address));
}

#[test]
fn thousands_of_clients_that_dial_at_once_are_connected_or_told_and_leave_nothing() {
    const NAME: &str =
        "dials::thousands_of_clients_that_dial_at_once_are_connected_or_told_and_leave_nothing";
    if let Some(address) = address_to_dial() {
        dial_together(
            || dial_until_connected(&address),
            |got| {
                let errors: Vec<_> = got.iter().filter_map(|got| got.as_ref().err()).collect();
                let unclear = errors.iter().find(|error| !is_clear(error));
                assert!(unclear.is_none(), "{unclear:?}");
                println!("connected {}\nrefused {}", got.len() - errors.len(), errors.len());
            },
        );
    }
    let served = Served::start();
    // Against a silence that the processors' other work explains: the machine has thousands of threads here.
    let patient = LinkConfig { silence_limit: LONG, ..LinkConfig::default() };
    let client = Lab::connect_with(&served.addresses[0], 7, LEASE, patient).expect("it listens");
    wave(NAME, &served, &served.addresses[0], &client);
    let mut most_bytes = served.most_bytes();
    assert!(most_bytes < dials() as u64 * MOST_BYTES_OF_A_DIAL, "{most_bytes} bytes");
    // A wave may be higher than the one before it: more of them dialled at one time. What each leaves behind raises every one.
    let is_no_higher = (0..WAVES_AGAIN).any(|_| {
        wave(NAME, &served, &served.addresses[1], &client);
        let before = std::mem::replace(&mut most_bytes, served.most_bytes());
        most_bytes < before + before / 4
    });
    assert!(is_no_higher, "{most_bytes} bytes, and more with each wave");
}

/// What a stranger hears who says nothing: the code in the preamble with which it is refused.
fn heard(address: &LinkAddress) -> u16 {
    let mut said = Vec::new();
    // Where it ends in disorder, what came before counts.
    let _ = match address {
        LinkAddress::Unix(path) => UnixStream::connect(path).expect("it listens").read_to_end(&mut said),
        LinkAddress::Tcp { port, .. } => {
            TcpStream::connect(("127.0.0.1", *port)).expect("it listens").read_to_end(&mut said)
        }
        other => panic!("nobody serves at {other} here"),
    };
    said.get(6..8).and_then(|code| code.try_into().ok()).map_or(0, u16::from_le_bytes)
}

#[test]
fn thousands_of_strangers_that_say_nothing_are_told_so_and_keep_nobody_out() {
    const NAME: &str = "dials::thousands_of_strangers_that_say_nothing_are_told_so_and_keep_nobody_out";
    if let Some(address) = address_to_dial() {
        dial_together(
            || heard(&address),
            |got| {
                let is_told = |code: &&u16| [Code::Resource as u16, Code::PeerSilent as u16].contains(code);
                println!("told {}", got.iter().filter(is_told).count());
            },
        );
    }
    let served = Served::start();
    let client = Lab::connect(&served.addresses[0], 7, LEASE).expect("it listens");
    for address in &served.addresses {
        let before = served.descriptors();
        let mut diallers = diallers(NAME, address);
        say(&mut diallers, "dial");
        thread::scope(|scope| {
            let told = scope.spawn(|| sum(&diallers, "told"));
            is_served_while(address, &client, || !told.is_finished());
            assert_eq!(told.join().expect("all of them end"), dials(), "{address}");
        });
        wait_until(|| comes(address));
        wait_until(|| served.descriptors() <= before);
    }
}

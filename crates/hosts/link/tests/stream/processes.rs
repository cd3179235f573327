//! Streams between two processes, one of which dies or has nothing left to give.

use quintet_contract::{Address, Frame, Kind, SendError, Token};
use quintet_errors::Code;
use quintet_link::{End, LinkAddress, LinkError, Listener, Route, connect, listen};
use quintet_testbed::{Child, Program, TempDir, argument};
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::io::Read;
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(20);
const ROUTE: Route =
    Route { from: Address::new(1, 2), to: Address::new(3, 4), kind: Kind(0xf0), token: Token(7) };
/// A frame's body: longer than one read takes in.
static BODY: [u8; 50_000] = [7; 50_000];

fn accept(listener: &mut dyn Listener) -> End {
    loop {
        poll(&mut [PollFd::from_borrowed_fd(listener.fd(), PollFlags::IN)], None).expect("poll");
        if let Some(end) = listener.accept().expect("accepted") {
            return end;
        }
    }
}

/// This test's executable, as the process at the other end, running the test called `name`; and this end.
fn start(name: &str, address: &LinkAddress) -> (End, Child) {
    let mut listener = listen(address).expect("bound");
    let program = Program::this_test(name, listener.address().to_string()).expect("the executable is known");
    let child = program.spawn().expect("it starts");
    (accept(&mut *listener), child)
}

fn whole(frame: &Frame<'_>) {
    assert!(frame.body == BODY, "a torn frame was delivered");
}

/// As a child: sends for ever.
#[test]
fn a_peer_killed_in_traffic_leaves_whole_frames_only() {
    if let Some(address) = argument() {
        let address = address.parse().expect("an address");
        let mut end = connect(&address, PATIENCE).expect("connected");
        loop {
            match end.sender.begin(ROUTE, BODY.len()) {
                Ok(room) => room.copy_from_slice(&BODY),
                Err(SendError::Full) => {
                    end.receiver.wait(None);
                    continue;
                }
                Err(other) => panic!("{other}"),
            }
            end.sender.commit(BODY.len());
            end.sender.flush().expect("flushed");
        }
    }
    let folder = TempDir::new().expect("a folder");
    let tcp = LinkAddress::Tcp { host: "127.0.0.1".to_owned(), port: 0 };
    let unix = LinkAddress::Unix(folder.join("socket"));
    // A network may have cut the one, and nothing cuts the other.
    for (address, end_of_it) in [(tcp, LinkError::PeerDied), (unix, LinkError::ProcessEnded)] {
        for enough in [1, 20, 200] {
            let name = "processes::a_peer_killed_in_traffic_leaves_whole_frames_only";
            let (mut end, mut child) = start(name, &address);
            let mut received = 0;
            while received < enough {
                end.receiver.wait(None);
                received += end.receiver.poll(9, &mut |_, frame| whole(&frame)).expect("the peer lives");
            }
            child.kill().expect("killed");
            let error = loop {
                match end.receiver.poll(9, &mut |_, frame| whole(&frame)) {
                    Ok(_) => end.receiver.wait(None),
                    Err(error) => break error,
                }
            };
            assert_eq!(error, end_of_it);
            assert_eq!(end.sender.begin(ROUTE, 1).map(|_| ()), Err(SendError::Unreachable));
        }
    }
}

/// As a child: ends the link as if it were cut, and lives on; or dies.
#[test]
fn a_peer_that_lives_has_cut_its_unix_socket_and_one_that_was_killed_has_not() {
    if let Some(address) = argument() {
        let mut listener = listen(&address.parse().expect("an address")).expect("bound");
        println!("listening");
        let mut first = accept(&mut *listener);
        first.sender.abandon();
        drop(first);
        let _second = accept(&mut *listener);
        println!("both came");
        loop {
            std::thread::park();
        }
    }
    let folder = TempDir::new().expect("a folder");
    let address = LinkAddress::Unix(folder.join("socket"));
    let name = "processes::a_peer_that_lives_has_cut_its_unix_socket_and_one_that_was_killed_has_not";
    let program = Program::this_test(name, address.to_string()).expect("the executable is known");
    let mut child = program.spawn().expect("it starts");
    child.output().wait_for("listening", PATIENCE).expect("it listens");
    let end_of = |mut end: End| loop {
        match end.receiver.poll(9, &mut |_, _| {}) {
            Ok(_) => end.receiver.wait(None),
            Err(error) => break error,
        }
    };
    assert_eq!(end_of(connect(&address, PATIENCE).expect("connected")), LinkError::PeerDied);
    let second = connect(&address, PATIENCE).expect("connected");
    child.output().wait_for("both came", PATIENCE).expect("it takes them");
    let waiting = std::thread::spawn(move || end_of(second));
    child.kill().expect("killed");
    assert_eq!(waiting.join().expect("it does not panic"), LinkError::ProcessEnded);
}

/// As a child: a listener without a descriptor to spare.
#[test]
fn a_listener_out_of_descriptors_says_so() {
    if argument().is_none() {
        let name = "processes::a_listener_out_of_descriptors_says_so";
        let mut child = Program::this_test(name, "").expect("this test").spawn().expect("started");
        let status = child.wait(PATIENCE).expect("waited").expect("it ends by itself");
        assert!(status.success(), "{}", child.output().text());
        return;
    }
    let mut listener =
        listen(&LinkAddress::Tcp { host: "127.0.0.1".to_owned(), port: 0 }).expect("a free port");
    let LinkAddress::Tcp { port, .. } = listener.address() else { panic!("it listens over TCP") };
    let mut peers = [(); 2].map(|()| TcpStream::connect(("127.0.0.1", port)).expect("it listens"));
    let taken = take_all_descriptors();
    for peer in &mut peers {
        let error = listener.accept().map(|_| ()).expect_err("no descriptor is left");
        assert_eq!(error.why.code(), Code::Resource, "{error}");
        let mut told = [0; 16];
        peer.read_exact(&mut told).expect("its peer is told");
        assert_eq!(told[6..8], (Code::Resource as u16).to_le_bytes());
    }
    assert!(listener.accept().expect("nobody is left").is_none());
    drop(taken);
}

/// Leaves this process none but these.
fn take_all_descriptors() -> Vec<OwnedFd> {
    let limits = Rlimit { current: Some(64), ..getrlimit(Resource::Nofile) };
    setrlimit(Resource::Nofile, limits).expect("a lower limit");
    std::iter::repeat_with(|| eventfd(0, EventfdFlags::CLOEXEC)).map_while(Result::ok).collect()
}

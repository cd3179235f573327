//! What a forked child inherits: it harms nobody, and says so where the child uses it.
#![cfg(not(loom))]

mod pair;

use bytes::Bytes;
use pair::{accept, pair};
use quintet_contract::{Address, Frame, Kind, SendError, Token};
use quintet_link::{
    End, LinkAddress, LinkError, Maker, Receiver, Route, SharedMemoryListener, connect, listen,
    shared_memory_connect,
};
use quintet_testbed::TempDir;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, WaitOptions, waitpid};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;
use std::time::Duration;

const ROUTE: Route =
    Route { from: Address::new(1, 2), to: Address::new(3, 4), kind: Kind(0xf0), token: Token(7) };

/// A child that hangs is killed after so many seconds, and has failed.
const PATIENCE: u32 = 20;

/// A copy of this process.
struct Forked(Pid);

/// Forks; the child does this and ends.
fn fork(child: impl FnOnce()) -> Forked {
    // SAFETY: the child goes on in this thread alone. It allocates, which the system's allocator allows after a fork, and
    // takes no lock that another thread of the parent could have held.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        // SAFETY: it sets a timer, whose signal ends the child.
        unsafe { libc::alarm(PATIENCE) };
        let failed = catch_unwind(AssertUnwindSafe(child)).is_err();
        // SAFETY: it ends the child, and does not return.
        unsafe { libc::_exit(failed.into()) }
    }
    Forked(Pid::from_raw(pid).expect("the system forks"))
}

impl Forked {
    fn succeeds(self) {
        let (_, status) =
            waitpid(Some(self.0), WaitOptions::empty()).expect("a child").expect("it has ended");
        assert_eq!(status.exit_status(), Some(0), "{status:?}");
    }
}

fn send(end: &mut End, body: &[u8]) -> Result<(), SendError> {
    end.sender.begin(ROUTE, body.len())?.copy_from_slice(body);
    end.sender.commit(body.len());
    end.sender.flush().expect("the peer is there");
    Ok(())
}

/// The bodies of the next `count` frames.
fn receive(end: &mut End, count: usize) -> Vec<Vec<u8>> {
    let mut bodies = Vec::new();
    while bodies.len() < count {
        end.receiver.wait(None);
        let left = count - bodies.len();
        let mut deliver = |_, frame: Frame<'_>| bodies.push(frame.body.to_vec());
        end.receiver.poll(left, &mut deliver).expect("the link is whole");
    }
    bodies
}

fn is_whole(left: &mut End, right: &mut End) {
    for _ in 0..3 {
        send(left, b"ping").expect("room");
        assert_eq!(receive(right, 1), [b"ping"]);
        send(right, b"pong").expect("room");
        assert_eq!(receive(left, 1), [b"pong"]);
    }
}

fn readable(receiver: &dyn Receiver) -> bool {
    let fd = receiver.fd();
    poll(&mut [PollFd::new(&fd, PollFlags::IN)], Some(&Timespec::default())) == Ok(1)
}

/// Both ends of a link over a Unix socket, and of one over TCP.
fn stream_pairs() -> [(End, End); 2] {
    let folder = TempDir::new().expect("a folder");
    let unix = LinkAddress::Unix(folder.join("socket"));
    let tcp = LinkAddress::Tcp { host: "127.0.0.1".to_owned(), port: 0 };
    [unix, tcp].map(|address| {
        let mut listener = listen(&address).expect("bound");
        let address = listener.address();
        let limit = Duration::from_secs(PATIENCE.into());
        let connecting = thread::spawn(move || connect(&address, limit).expect("connected"));
        let accepted = loop {
            poll(&mut [PollFd::from_borrowed_fd(listener.fd(), PollFlags::IN)], None).expect("poll");
            if let Some(end) = listener.accept().expect("accepted") {
                break end;
            }
        };
        (accepted, connecting.join().expect("it does not panic"))
    })
}

#[test]
fn a_child_that_drops_what_it_inherited_leaves_its_parents_link_whole() {
    drops_what_it_inherited(pair());
    stream_pairs().into_iter().for_each(drops_what_it_inherited);
}

fn drops_what_it_inherited((mut left, mut right): (End, End)) {
    assert!(left.receiver.arm() && right.receiver.arm());
    let mut ends = Some((left, right));
    fork(|| drop(ends.take())).succeeds();
    let (mut left, mut right) = ends.expect("the child took its own copy");
    assert!(!readable(&*left.receiver) && !readable(&*right.receiver), "nobody is woken");
    left.receiver.disarm();
    right.receiver.disarm();
    is_whole(&mut left, &mut right);
    drop(left);
    right.receiver.wait(None);
    assert_eq!(right.receiver.poll(1, &mut |_, _| {}), Err(LinkError::Closed), "its maker's farewell counts");
}

#[test]
fn a_child_that_uses_a_stream_it_inherited_is_told_and_harms_nothing() {
    for (mut left, mut right) in stream_pairs() {
        // So much that the rest of it is unsent when the child comes to be.
        let body = vec![7; 60_000];
        let mut sent = 0;
        while send(&mut left, &body).is_ok() {
            sent += 1;
        }
        fork(|| {
            use_inherited(&mut left);
            use_inherited(&mut right);
        })
        .succeeds();
        let sending = thread::spawn(move || {
            assert_eq!(receive(&mut left, 1), [b"enough"]);
            left
        });
        assert!(receive(&mut right, sent) == vec![body; sent], "the rest is the parent's to send, once");
        send(&mut right, b"enough").expect("room");
        let mut left = sending.join().expect("it does not panic");
        is_whole(&mut left, &mut right);
    }
}

/// Everything that an end can do, in a process that must not.
fn use_inherited(end: &mut End) {
    assert_eq!(end.sender.begin(ROUTE, 1).map(|_| ()), Err(SendError::Unreachable));
    assert_eq!(end.sender.send_bulk(ROUTE, b"x", Bytes::from_static(b"y")), Err(SendError::Unreachable));
    assert!(end.sender.has_room(), "so that nobody waits for room");
    end.sender.flush().expect("nothing was sent");
    end.receiver.wait(None);
    assert!(!end.receiver.arm(), "nobody should sleep there");
    end.receiver.disarm();
    for _ in 0..2 {
        match end.receiver.poll(1, &mut |_, _| panic!("the frames are the parent's")) {
            Err(LinkError::System(what)) => assert!(what.contains("connect anew after the fork"), "{what}"),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_child_that_uses_what_it_inherited_is_told_and_harms_nothing() {
    let (mut left, mut right) = pair();
    let body = vec![7; 5_000];
    let mut sent = 0;
    while send(&mut left, &body).is_ok() {
        sent += 1;
    }
    assert!(left.receiver.arm(), "it sleeps until there is room");
    fork(|| {
        use_inherited(&mut left);
        use_inherited(&mut right);
    })
    .succeeds();
    assert!(!readable(&*left.receiver), "nobody is woken");
    assert_eq!(receive(&mut right, sent), vec![body; sent]);
    assert!(readable(&*left.receiver), "the wake-up for room is the parent's");
    fork(|| use_inherited(&mut left)).succeeds();
    assert!(readable(&*left.receiver), "and a child does not take it away");
    left.receiver.disarm();
    is_whole(&mut left, &mut right);
}

#[test]
fn a_child_has_links_of_its_own() {
    let folder = TempDir::new().expect("a folder");
    let path = folder.join("socket");
    let mut listener = SharedMemoryListener::bind(&path).expect("bound");
    let child = fork(|| {
        let mut end = shared_memory_connect(&path).expect("somebody listens");
        send(&mut end, b"ping").expect("room");
        assert_eq!(receive(&mut end, 1), [b"pong"]);
        fork(|| use_inherited(&mut end)).succeeds();
        send(&mut end, b"bye").expect("room");
    });
    let mut end = accept(&mut listener);
    assert_eq!(receive(&mut end, 1), [b"ping"]);
    send(&mut end, b"pong").expect("room");
    assert_eq!(receive(&mut end, 1), [b"bye"]);
    child.succeeds();
}

#[test]
fn a_child_that_drops_an_inherited_listener_leaves_its_socket() {
    let folder = TempDir::new().expect("a folder");
    let listener = SharedMemoryListener::bind(folder.join("socket")).expect("bound");
    let mut listener = Some(listener);
    fork(|| drop(listener.take())).succeeds();
    let listener = listener.expect("the child took its own copy");
    assert!(listener.path().exists());
    let path = listener.path().to_owned();
    drop(listener);
    assert!(!path.exists(), "its maker removes it");
}

#[test]
fn a_maker_is_no_child_of_it() {
    let maker = Maker::this_process().expect("memory");
    fork(|| {
        assert!(!maker.is_this_process());
        let child = Maker::this_process().expect("memory");
        assert!(child.is_this_process());
        fork(|| assert!(!maker.is_this_process() && !child.is_this_process())).succeeds();
        assert!(!Maker::another_process().expect("memory").is_this_process());
        assert!(child.is_this_process());
    })
    .succeeds();
    assert!(maker.is_this_process());
}

//! Whatever descriptors a peer gives and whatever it does to them: nobody waits for it.

use crate::raw_peer::{MEMORY_BYTES, RawPeer, SEALS, dial, hello, memfd, pair, say, waker};
use quintet_link::SharedMemoryListener;
use quintet_testbed::TempDir;
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::fs::{OFlags, fcntl_setfl};
use rustix::net::sockopt::set_socket_linger;
use rustix::net::{SendFlags, SocketType, send};
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// Longer than anything here takes on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long a peer would like others to wait.
const LINGER: Duration = Duration::from_secs(600);

/// Does this in a thread that may hang.
fn does_not_hang(what: &str, act: impl FnOnce() + Send + 'static) {
    let (done, waiting) = mpsc::channel();
    thread::spawn(move || {
        act();
        // Nobody listens where it took too long.
        let _ = done.send(());
    });
    waiting.recv_timeout(PATIENCE).unwrap_or_else(|error| panic!("{what}: {error}"));
}

/// From here on a write to it waits until somebody reads.
fn fill(descriptor: &OwnedFd) {
    fcntl_setfl(descriptor, OFlags::NONBLOCK).expect("its own");
    let is_event = rustix::io::write(descriptor, &(u64::MAX - 1).to_ne_bytes()) == Ok(8);
    if is_event {
        while rustix::io::write(descriptor, &1u64.to_ne_bytes()).is_ok() {}
    }
    while send(descriptor, &[0; 100], SendFlags::NOSIGNAL).is_ok() {}
    fcntl_setfl(descriptor, OFlags::empty()).expect("its own");
}

type Wakers = (&'static str, fn() -> (OwnedFd, OwnedFd));

/// What a peer could wish to be woken by, and what it keeps.
fn all_wakers() -> [Wakers; 6] {
    let event = || {
        let event = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).expect("an eventfd");
        (event.try_clone().expect("a descriptor"), event)
    };
    let pipe = || {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        (reader.into(), writer.into())
    };
    let full_pipe = || {
        let (reader, mut writer) = std::io::pipe().expect("a pipe");
        fcntl_setfl(&writer, OFlags::NONBLOCK).expect("its own");
        while writer.write(&[0; 4_096]).is_ok() {}
        (reader.into(), writer.into())
    };
    [
        ("an eventfd", event),
        ("a pipe", pipe),
        ("a full pipe", full_pipe),
        ("a socket", waker),
        ("a stream", || pair(SocketType::STREAM)),
        ("datagrams", || pair(SocketType::DGRAM)),
    ]
}

#[test]
fn a_peer_that_cannot_be_woken_holds_up_nobody() {
    for (what, wakers) in all_wakers() {
        does_not_hang(what, move || {
            let folder = TempDir::new().expect("a folder");
            let mut listener = SharedMemoryListener::bind(folder.join("socket")).expect("bound");
            let peer = RawPeer::offer_to_be_woken_by(listener.path(), wakers());
            if let Ok(end) = listener.accept() {
                // Both bells ring; it wants to be woken for everything.
                peer.write(64, &[1, 0, 0, 0, 1, 0, 0, 0]);
                fill(&peer.wakers.1);
                fill(&peer.wakers.0);
                let mut end = end.expect("it has spoken");
                end.receiver.set_spin(Duration::ZERO);
                drop(end);
            }
        });
    }
}

/// A TCP socket that cannot be closed before its peer has read everything, and that peer.
fn lingering() -> (OwnedFd, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let mut near = TcpStream::connect(listener.local_addr().expect("bound")).expect("connected");
    let (far, _) = listener.accept().expect("accepted");
    near.set_nonblocking(true).expect("a socket");
    while near.write(&[0; 65_536]).is_ok() {}
    set_socket_linger(&near, Some(LINGER)).expect("a socket");
    (near.into(), far)
}

/// A listener that hears what `speak` says to it, and takes or refuses it.
fn hears(speak: impl FnOnce(&Path) -> OwnedFd) {
    let folder = TempDir::new().expect("a folder");
    let mut listener = SharedMemoryListener::bind(folder.join("socket")).expect("bound");
    let _socket = speak(listener.path());
    poll(&mut [PollFd::new(&listener, PollFlags::IN)], None).expect("poll");
    drop(listener.accept());
}

#[test]
fn descriptors_that_are_refused_are_closed_by_nobody_who_waits() {
    for count in [1, 2, 3] {
        let (given, _far) = lingering();
        does_not_hang("an offer", move || {
            hears(|path| {
                let socket = dial(path);
                say(&socket, &hello(), &vec![given.as_fd(); count]);
                drop(given);
                socket
            });
        });
    }
    let (given, _far) = lingering();
    does_not_hang("a waker", move || {
        hears(|path| {
            let (socket, memory) = (dial(path), memfd(MEMORY_BYTES, SEALS));
            say(&socket, &hello(), &[memory.as_fd(), given.as_fd()]);
            drop(given);
            socket
        });
    });
}

#[test]
fn descriptors_that_nobody_took_are_closed_by_nobody_who_waits() {
    let (given, _far) = lingering();
    does_not_hang("more than an offer", move || {
        hears(|path| {
            let (socket, memory, (_own, bell)) = (dial(path), memfd(MEMORY_BYTES, SEALS), waker());
            say(&socket, &hello(), &[memory.as_fd(), bell.as_fd()]);
            say(&socket, b"", &[given.as_fd()]);
            drop(given);
            socket
        });
    });
    let (given, _far) = lingering();
    does_not_hang("a waker with something in it", move || {
        hears(|path| {
            let (socket, memory, (own, bell)) = (dial(path), memfd(MEMORY_BYTES, SEALS), waker());
            say(&own, b"x", &[given.as_fd()]);
            say(&socket, &hello(), &[memory.as_fd(), bell.as_fd()]);
            drop((given, own, bell));
            socket
        });
    });
}

//! How two processes find each other, and what becomes of those who do it wrong.

use crate::raw_peer::{MEMORY_BYTES, RawPeer, SEALS, dial, hear, hello, memfd, pair, say, waker};
use quintet_errors::Code;
use quintet_link::{BootstrapError, End, LinkError, SharedMemoryListener, shared_memory_connect};
use quintet_testbed::{Program, TempDir, argument};
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::fs::SealFlags;
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, accept_with, bind, listen, socket_with,
};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Barrier;
use std::thread;
use std::time::Duration;

/// Longer than anybody takes to come on a loaded machine.
const PATIENCE: Timespec = Timespec { tv_sec: 30, tv_nsec: 0 };

fn listening() -> (TempDir, SharedMemoryListener) {
    let folder = TempDir::new().expect("a folder");
    let listener = SharedMemoryListener::bind(folder.join("socket")).expect("bound");
    (folder, listener)
}

fn is_ready(listener: &SharedMemoryListener) -> bool {
    poll(&mut [PollFd::new(listener, PollFlags::IN)], Some(&Timespec::default())) == Ok(1)
}

fn accept(listener: &mut SharedMemoryListener) -> Result<End, BootstrapError> {
    loop {
        let ready = poll(&mut [PollFd::new(&*listener, PollFlags::IN)], Some(&PATIENCE));
        assert_eq!(ready, Ok(1), "somebody comes");
        if let Some(end) = listener.accept()? {
            return Ok(end);
        }
    }
}

/// What the listener says to a peer that offers this.
fn refused(bytes: &[u8], fds: &[BorrowedFd<'_>]) -> BootstrapError {
    let (_folder, mut listener) = listening();
    let socket = dial(listener.path());
    say(&socket, bytes, fds);
    let error = accept(&mut listener).map(|_| ()).expect_err("it is no offer");
    let (answer, given) = hear(&socket);
    assert!(given.is_empty(), "a refused peer is given no memory");
    assert_eq!(answer[6..8], (error.code() as u16).to_le_bytes(), "and is told why");
    assert!(hear(&socket).0.is_empty(), "then the listener closes");
    assert!(error.to_string().contains(listener.path().to_str().expect("text")), "{error}");
    error
}

#[test]
fn accepting_never_waits() {
    let (_folder, mut listener) = listening();
    assert!(!is_ready(&listener));
    assert!(listener.accept().expect("nobody is no error").is_none());
    let silent = dial(listener.path());
    assert!(is_ready(&listener));
    assert!(listener.accept().expect("it has not spoken").is_none());
    assert!(!is_ready(&listener), "a silent peer keeps nobody busy");
    let _peer = RawPeer::offer(listener.path());
    assert!(listener.accept().expect("an offer").is_some(), "nor does it hold up others");
    let (memory, (_own, bell)) = (memfd(MEMORY_BYTES, SEALS), waker());
    say(&silent, &hello(), &[memory.as_fd(), bell.as_fd()]);
    assert!(is_ready(&listener));
    assert!(listener.accept().expect("an offer").is_some());
}

#[test]
fn a_silent_peer_is_dropped_after_its_time_and_told_why() {
    let (_folder, mut listener) = listening();
    listener.set_silence_limit(Duration::from_millis(1));
    let silent = [dial(listener.path()), dial(listener.path())];
    for socket in &silent {
        while poll(&mut [PollFd::new(socket, PollFlags::IN)], Some(&Timespec::default())) == Ok(0) {
            poll(&mut [PollFd::new(&listener, PollFlags::IN)], None).expect("poll");
            assert!(listener.accept().expect("silence is no error").is_none());
        }
        assert_eq!(hear(socket).0[6..8], (Code::PeerSilent as u16).to_le_bytes());
        assert!(hear(socket).0.is_empty(), "then the listener closes");
    }
    assert!(!is_ready(&listener), "nobody is left");
}

/// As a child, for it lowers a limit of its process.
#[test]
fn more_than_there_are_places_for_wait_and_nobody_is_put_out() {
    const CALLERS: usize = 100;
    let Some(_) = argument() else {
        return in_a_child("more_than_there_are_places_for_wait_and_nobody_is_put_out");
    };
    // A quarter of them are places for connections that have not spoken.
    let limits = Rlimit { current: Some(256), ..getrlimit(Resource::Nofile) };
    setrlimit(Resource::Nofile, limits).expect("a lower limit");
    let (_folder, mut listener) = listening();
    let (memory, (_own, bell)) = (memfd(MEMORY_BYTES, SEALS), waker());
    let sockets: Vec<OwnedFd> = (0..CALLERS).map(|_| dial(listener.path())).collect();
    assert!(listener.accept().expect("nobody has spoken").is_none());
    assert!(!is_ready(&listener), "those who wait keep nobody busy");
    for socket in sockets.iter().rev() {
        say(socket, &hello(), &[memory.as_fd(), bell.as_fd()]);
    }
    for _ in 0..CALLERS {
        drop(accept(&mut listener).expect("an offer"));
    }
    assert!(listener.accept().expect("that was all").is_none());
    assert!(sockets.iter().all(|socket| hear(socket).0 == hello()), "everybody was answered");
}

/// Twice what connects within a moment when a job starts.
#[test]
fn three_hundred_that_connect_at_once_are_connected() {
    const CLIENTS: usize = 300;
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).expect("up to the maximum");
    let (_folder, mut listener) = listening();
    let (path, barrier) = (listener.path().to_owned(), Barrier::new(CLIENTS));
    thread::scope(|scope| {
        let connect = || {
            barrier.wait();
            shared_memory_connect(&path).map(|_| ())
        };
        let connecting: Vec<_> = (0..CLIENTS).map(|_| scope.spawn(connect)).collect();
        for _ in 0..CLIENTS {
            drop(accept(&mut listener).expect("an offer"));
        }
        for connected in connecting {
            assert_eq!(connected.join().expect("it does not panic"), Ok(()));
        }
    });
}

#[test]
fn a_peers_word_for_shortage_is_no_shortage_here() {
    let (_folder, mut listener) = listening();
    let peer = dial(listener.path());
    say(&peer, &refusing(Code::Resource as u16), &[]);
    let error = accept(&mut listener).map(|_| ()).expect_err("it is no offer");
    assert_eq!(error.code(), Code::Resource, "the code is the peer's");
    assert!(!error.is_own_shortage());
}

#[test]
fn a_wrong_hello_is_refused() {
    let (memory, (_own, bell)) = (memfd(MEMORY_BYTES, SEALS), waker());
    let fds = [memory.as_fd(), bell.as_fd()];
    let with = |at: usize, value: u8| {
        let mut bytes = hello();
        bytes[at] = value;
        refused(&bytes, &fds)
    };
    assert!(matches!(with(0, b'X'), BootstrapError::Malformed { .. }));
    assert!(matches!(with(4, 1), BootstrapError::OtherVersion { theirs: 1, ours: 5, .. }));
    assert!(matches!(with(8, 1), BootstrapError::Malformed { .. }));
    assert!(matches!(with(16, 1), BootstrapError::Malformed { .. }));
    assert!(matches!(refused(&hello()[..20], &fds), BootstrapError::Malformed { .. }));
    let long: Vec<u8> = hello().into_iter().chain([0]).collect();
    assert!(matches!(refused(&long, &fds), BootstrapError::Malformed { .. }));
}

#[test]
fn wrong_descriptors_are_refused() {
    let (memory, (_own, bell)) = (memfd(MEMORY_BYTES, SEALS), waker());
    let complaint = |fds: &[BorrowedFd<'_>]| refused(&hello(), fds).to_string();
    assert!(complaint(&[]).contains("0 descriptors instead of 2"));
    assert!(complaint(&[memory.as_fd()]).contains("1 descriptors instead of 2"));
    let three = complaint(&[memory.as_fd(), bell.as_fd(), bell.as_fd()]);
    assert!(three.contains("instead of 2"), "{three}");
    assert!(complaint(&[bell.as_fd(), memory.as_fd()]).contains("no memfd"));
    let small = memfd(4096, SEALS);
    assert!(complaint(&[small.as_fd(), bell.as_fd()]).contains("4096 bytes"));
    let unsealed = memfd(MEMORY_BYTES, SealFlags::GROW);
    assert!(complaint(&[unsealed.as_fd(), bell.as_fd()]).contains("lacks seals"));
    let event = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).expect("an eventfd");
    assert!(complaint(&[memory.as_fd(), event.as_fd()]).contains("no socket"));
    let stream = pair(SocketType::STREAM).1;
    assert!(complaint(&[memory.as_fd(), stream.as_fd()]).contains("is a socket of"));
}

#[test]
fn a_peer_that_leaves_early_is_told_of() {
    let (_folder, mut listener) = listening();
    drop(dial(listener.path()));
    assert!(matches!(accept(&mut listener), Err(BootstrapError::Left { .. })));
    let peer = RawPeer::offer(listener.path());
    let mut end = accept(&mut listener).expect("an offer");
    drop(peer);
    end.receiver.wait(None);
    assert_eq!(end.receiver.poll(1, &mut |_, _| {}), Err(LinkError::PeerDied));
}

#[test]
fn nobody_and_somebody_else_are_told_apart() {
    let folder = TempDir::new().expect("a folder");
    let path = folder.join("socket");
    let nobody = shared_memory_connect(&path).map(|_| ()).expect_err("nobody listens");
    assert_eq!(nobody, BootstrapError::NobodyListens { address: (&path).into() });
    assert_eq!(nobody.code(), Code::Unreachable);
    let listener = SharedMemoryListener::bind(&path).expect("bound");
    let second = SharedMemoryListener::bind(&path).map(|_| ()).expect_err("taken");
    assert_eq!(second, BootstrapError::InUse { address: (&path).into() });
    let mode = std::fs::metadata(&path).expect("it is there").permissions().mode();
    assert_eq!(mode & 0o077, 0, "for this user only");
    drop(listener);
    assert!(!path.exists(), "a listener removes its socket");
    let long = folder.join("x".repeat(200));
    assert_eq!(
        SharedMemoryListener::bind(&long).map(|_| ()).expect_err("too long"),
        BootstrapError::PathTooLong { address: (&long).into() }
    );
}

#[test]
fn a_path_may_be_longer_than_a_sockets_address_if_its_folder_is_there() {
    let folder = TempDir::new().expect("a folder");
    let deep = folder.join("x".repeat(100)).join("y".repeat(100));
    let path = deep.join("socket");
    let error = SharedMemoryListener::bind(&path).map(|_| ()).expect_err("no such folder");
    assert_eq!(error, BootstrapError::PathTooLong { address: (&path).into() });
    std::fs::create_dir_all(&deep).expect("made");
    let nobody = shared_memory_connect(&path).map(|_| ()).expect_err("nobody listens");
    assert_eq!(nobody, BootstrapError::NobodyListens { address: (&path).into() });
    let mut listener = SharedMemoryListener::bind(&path).expect("bound");
    assert!(path.exists(), "the socket is where it was asked for");
    let to = path.clone();
    let connecting = thread::spawn(move || shared_memory_connect(to).map(|_| ()));
    let _end = accept(&mut listener).expect("an offer");
    connecting.join().expect("it does not panic").expect("connected");
    let second = SharedMemoryListener::bind(&path).map(|_| ()).expect_err("taken");
    assert_eq!(second, BootstrapError::InUse { address: (&path).into() });
    drop(listener);
    assert!(!path.exists(), "a listener removes its socket");
}

/// A thread of the superuser may take another user's id; other users cannot make this test.
#[test]
fn another_user_is_refused() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let (_folder, mut listener) = listening();
    let path = listener.path().to_owned();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o666)).expect("opened to all");
    let connecting = thread::spawn(move || {
        rustix::thread::set_thread_uid(rustix::process::Uid::from_raw(65_534)).expect("the superuser may");
        shared_memory_connect(path).map(|_| ())
    });
    let error = accept(&mut listener).map(|_| ()).expect_err("another user");
    assert!(matches!(error, BootstrapError::OtherUser { theirs: 65_534, ours: 0, .. }), "{error}");
    assert_eq!(error.code(), Code::NotAllowed);
    let refused = connecting.join().expect("it does not panic").expect_err("refused");
    assert_eq!(refused.code(), Code::NotAllowed);
}

/// A socket that this process may not write to: of the superuser, whose rights do not bind it, or its own without rights.
#[test]
fn a_socket_without_rights_to_it_is_not_allowed() {
    let (_folder, listener) = listening();
    let path = listener.path().to_owned();
    let is_root = rustix::process::geteuid().is_root();
    if !is_root {
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o000)).expect("its own");
    }
    let connecting = thread::spawn(move || {
        if is_root {
            rustix::thread::set_thread_uid(rustix::process::Uid::from_raw(65_534))
                .expect("the superuser may");
        }
        shared_memory_connect(path).map(|_| ())
    });
    let error = connecting.join().expect("it does not panic").expect_err("not allowed");
    assert!(matches!(error, BootstrapError::NotAllowed { .. }), "{error}");
    assert_eq!(error.code(), Code::NotAllowed);
}

/// As a child: a listener without a descriptor to spare.
#[test]
fn a_listener_out_of_descriptors_says_so() {
    if argument().is_none() {
        return in_a_child("a_listener_out_of_descriptors_says_so");
    }
    let (_folder, mut listener) = listening();
    let (memory, bell, socket) = (memfd(MEMORY_BYTES, SEALS), waker().1, dial(listener.path()));
    assert!(listener.accept().expect("it has not spoken").is_none());
    let late = dial(listener.path());
    let taken = take_all_descriptors();
    say(&socket, &hello(), &[memory.as_fd(), bell.as_fd()]);
    for refused in [late, socket] {
        let error = accept(&mut listener).map(|_| ()).expect_err("no descriptor is left");
        assert!(error.is_own_shortage() && error.code() == Code::Resource, "{error}");
        assert_eq!(hear(&refused).0[6..8], (Code::Resource as u16).to_le_bytes(), "its peer is told");
    }
    assert!(!is_ready(&listener), "nor is it kept busy");
    drop(taken);
}

/// Runs the test of this name as a child.
fn in_a_child(name: &str) {
    let program = Program::this_test(&format!("bootstrap::{name}"), "").expect("this test");
    let mut child = program.spawn().expect("started");
    let status = child.wait(Duration::from_secs(20)).expect("waited").expect("it ends by itself");
    assert!(status.success(), "{}", child.output().text());
}

/// Leaves this process none but these.
fn take_all_descriptors() -> Vec<OwnedFd> {
    let limits = Rlimit { current: Some(64), ..getrlimit(Resource::Nofile) };
    setrlimit(Resource::Nofile, limits).expect("a lower limit");
    std::iter::repeat_with(|| eventfd(0, EventfdFlags::CLOEXEC)).map_while(Result::ok).collect()
}

/// A listener that does what its test does, and leaves its file behind.
fn fake_listener(path: &Path) -> OwnedFd {
    let fake = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
        .expect("a socket");
    bind(&fake, &SocketAddrUnix::new(path).expect("short")).expect("bound");
    listen(&fake, 1).expect("listens");
    fake
}

/// Each start is another chance for two to meet between a bind and a listen.
#[test]
fn of_two_that_start_at_once_one_listens() {
    const STARTS: usize = 300;
    let folder = TempDir::new().expect("a folder");
    let (path, barrier) = (folder.join("socket"), Barrier::new(2));
    let start = || {
        barrier.wait();
        let listener = SharedMemoryListener::bind(&path);
        barrier.wait();
        listener
    };
    for n in 0..STARTS {
        if n % 2 == 0 {
            drop(fake_listener(&path));
        }
        let started = thread::scope(|scope| {
            let other = scope.spawn(start);
            [start(), other.join().expect("it does not panic")]
        });
        let refused: Vec<_> = started.iter().filter_map(|started| started.as_ref().err()).collect();
        assert_eq!(refused, [&BootstrapError::InUse { address: (&path).into() }], "start {n}");
        assert!(path.exists(), "the other one listens there");
        drop(started);
        assert!(!path.exists());
    }
}

#[test]
fn a_listener_removes_no_socket_but_its_own() {
    let (_folder, first) = listening();
    std::fs::remove_file(first.path()).expect("removed by hand");
    let second = SharedMemoryListener::bind(first.path()).expect("nothing is there");
    drop(first);
    assert!(second.path().exists());
}

#[test]
fn a_file_that_is_no_socket_stays() {
    let folder = TempDir::new().expect("a folder");
    let [file, link] = ["file", "link"].map(|name| folder.join(name));
    std::fs::write(&file, "precious").expect("there is room");
    std::os::unix::fs::symlink(&file, &link).expect("a new name");
    for path in [&file, &link, &folder.path().to_owned()] {
        let refused = SharedMemoryListener::bind(path).map(|_| ()).expect_err("it is no socket");
        assert!(matches!(refused, BootstrapError::NotASocket { .. }), "{refused}");
        assert_eq!(refused.code(), Code::BadValue);
    }
    assert_eq!(std::fs::read(&link).expect("it is there"), b"precious");
}

#[test]
fn a_dead_listeners_socket_is_replaced() {
    let folder = TempDir::new().expect("a folder");
    let path = folder.join("socket");
    drop(fake_listener(&path));
    assert!(path.exists(), "it left its file behind");
    let mut listener = SharedMemoryListener::bind(&path).expect("replaced");
    let connecting = thread::spawn(move || shared_memory_connect(path).map(|_| ()));
    accept(&mut listener).expect("connected");
    assert_eq!(connecting.join().expect("it does not panic"), Ok(()));
}

/// What a connector says when the listener answers with these bytes.
fn answered(answer: &[u8]) -> BootstrapError {
    let folder = TempDir::new().expect("a folder");
    let path = folder.join("socket");
    let fake = fake_listener(&path);
    let connecting = thread::spawn(move || shared_memory_connect(path).map(|_| ()));
    let socket = accept_with(&fake, SocketFlags::CLOEXEC).expect("accepted");
    let (bytes, fds) = hear(&socket);
    assert_eq!((bytes, fds.len()), (hello(), 2));
    if !answer.is_empty() {
        say(&socket, answer, &[]);
    }
    drop(socket);
    connecting.join().expect("it does not panic").expect_err("no offer")
}

fn refusing(code: u16) -> Vec<u8> {
    let mut bytes = hello();
    bytes[6..8].copy_from_slice(&code.to_le_bytes());
    bytes
}

#[test]
fn a_connector_that_nobody_listened_to_says_why_as_well() {
    for _ in 0..50 {
        let folder = TempDir::new().expect("a folder");
        let path = folder.join("socket");
        let fake = fake_listener(&path);
        let connecting = thread::spawn(move || shared_memory_connect(path).map(|_| ()));
        let socket = accept_with(&fake, SocketFlags::CLOEXEC).expect("accepted");
        say(&socket, &refusing(Code::Resource as u16), &[]);
        drop(socket);
        let refused = connecting.join().expect("it does not panic").expect_err("refused");
        assert!(matches!(refused, BootstrapError::Refused { code: Some(Code::Resource), .. }), "{refused}");
    }
}

#[test]
fn a_connector_says_why_it_was_refused() {
    let refused = answered(&refusing(Code::VersionMismatch as u16));
    assert!(matches!(refused, BootstrapError::Refused { code: Some(Code::VersionMismatch), .. }));
    assert_eq!(refused.code(), Code::VersionMismatch);
    assert!(matches!(answered(&refusing(9_999)), BootstrapError::Refused { code: None, .. }));
    assert!(matches!(answered(b""), BootstrapError::Left { .. }));
    assert!(matches!(answered(b"SSH-2.0-elsewhere"), BootstrapError::Malformed { .. }));
    assert!(matches!(answered(&hello()), BootstrapError::Malformed { .. }), "no descriptors came");
}

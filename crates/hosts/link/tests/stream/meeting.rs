//! How two sides of a stream find each other, and what becomes of those who do it wrong.

use crate::raw::{frame, preamble};
use quintet_errors::Code;
use quintet_link::{
    BootstrapError, Dialer, End, LinkAddress, ListenLimits, Listener, StreamListener, connect, dial, listen,
};
use quintet_testbed::{Program, TempDir, argument};
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::Duration;

/// Long enough for a loaded machine: a test that waits this long has failed.
const PATIENCE: Duration = Duration::from_secs(20);

fn any_port() -> LinkAddress {
    LinkAddress::Tcp { host: "127.0.0.1".to_owned(), port: 0 }
}

fn tcp_listener(limits: ListenLimits) -> (StreamListener, u16) {
    let listener = StreamListener::bind(&any_port(), limits).expect("a free port");
    let LinkAddress::Tcp { port, .. } = listener.address() else { panic!("it listens over TCP") };
    (listener, port)
}

fn bare(port: u16) -> TcpStream {
    TcpStream::connect(("127.0.0.1", port)).expect("it listens")
}

fn is_ready(fd: BorrowedFd<'_>) -> bool {
    poll(&mut [PollFd::from_borrowed_fd(fd, PollFlags::IN)], Some(&Timespec::default())) == Ok(1)
}

fn accept(listener: &mut dyn Listener) -> Result<End, BootstrapError> {
    loop {
        let limit = Timespec::try_from(PATIENCE).expect("short");
        let mut fds = [PollFd::from_borrowed_fd(listener.fd(), PollFlags::IN)];
        assert_eq!(poll(&mut fds, Some(&limit)), Ok(1), "nothing came");
        if let Some(end) = listener.accept()? {
            return Ok(end);
        }
    }
}

fn refusal(listener: &mut dyn Listener) -> BootstrapError {
    accept(listener).map(|_| ()).expect_err("it is refused")
}

/// What a refused peer reads before the other side closes.
fn told(mut peer: impl Read) -> Vec<u8> {
    let mut bytes = Vec::new();
    // Where it wrote more than was read, the system says so at the end.
    let _ = peer.read_to_end(&mut bytes);
    bytes
}

/// Somebody well-behaved gets through.
fn serves(listener: &mut dyn Listener) {
    let address = listener.address();
    let connecting = thread::spawn(move || connect(&address, PATIENCE).map(|_| ()));
    let _end = loop {
        match accept(listener) {
            Ok(end) => break end,
            Err(error) => assert!(matches!(error, BootstrapError::Left { .. }), "{error}"),
        }
    };
    assert_eq!(connecting.join().expect("it does not panic"), Ok(()));
}

#[test]
fn garbage_and_a_browser_are_told_and_harm_nobody() {
    let (mut listener, port) = tcp_listener(ListenLimits::default());
    let request = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(1_000);
    for bytes in [&request[..], b"G", b"QNSX", &[0xff; 4_000]] {
        let mut peer = bare(port);
        peer.write_all(bytes).expect("it listens");
        let error = refusal(&mut listener);
        assert!(matches!(error, BootstrapError::Malformed { .. }), "{error}");
        assert!(error.to_string().contains(&format!("tcp:127.0.0.1:{port}")), "{error}");
        let answer = told(peer);
        assert_eq!(answer[..4], *b"QNST");
        assert_eq!(answer[6..8], (Code::Malformed as u16).to_le_bytes());
    }
    serves(&mut listener);
}

#[test]
fn another_version_is_told_so() {
    let (mut listener, port) = tcp_listener(ListenLimits::default());
    let mut theirs = preamble(1);
    theirs[4] = 2;
    let mut peer = bare(port);
    peer.write_all(&theirs).expect("it listens");
    let error = refusal(&mut listener);
    assert!(matches!(error, BootstrapError::OtherVersion { theirs: 2, ours: 1, .. }), "{error}");
    assert_eq!(told(peer)[6..8], (Code::VersionMismatch as u16).to_le_bytes());
}

#[test]
fn a_dialler_says_why_it_was_refused() {
    let fake = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = fake.local_addr().expect("bound").port();
    let address = LinkAddress::Tcp { host: "127.0.0.1".to_owned(), port };
    let answered = |answer: &[u8]| {
        let address = address.clone();
        let connecting = thread::spawn(move || connect(&address, PATIENCE).map(|_| ()));
        let (mut socket, _) = fake.accept().expect("it dials");
        let mut heard = [0; 16];
        socket.read_exact(&mut heard).expect("it speaks first");
        assert_eq!(heard, preamble(0), "on one machine nothing is checked");
        socket.write_all(answer).expect("it is there");
        drop(socket);
        connecting.join().expect("it does not panic").expect_err("it was refused")
    };
    let mut refusing = preamble(1);
    refusing[6..8].copy_from_slice(&(Code::Resource as u16).to_le_bytes());
    assert!(matches!(answered(&refusing), BootstrapError::Refused { code: Some(Code::Resource), .. }));
    assert!(matches!(answered(b""), BootstrapError::Left { .. }));
    assert!(matches!(answered(b"SSH-2.0-elsewhere"), BootstrapError::Malformed { .. }));
    assert!(answered(&preamble(0)).to_string().contains("same part"), "an echo is no peer");
}

#[test]
fn a_preamble_that_comes_byte_by_byte_is_heard_and_nothing_behind_it_is_lost() {
    let (mut listener, port) = tcp_listener(ListenLimits::default());
    let mut peer = bare(port);
    peer.set_nodelay(true).expect("TCP");
    let hello = preamble(1);
    for byte in hello {
        assert!(listener.accept().expect("nothing is wrong").is_none());
        peer.write_all(&[byte]).expect("it listens");
    }
    let mut end = accept(&mut listener).expect("it is whole");
    drop(peer);
    assert!(end.receiver.poll(1, &mut |_, _| {}).is_ok() || !end.receiver.has_frames());

    let folder = TempDir::new().expect("a folder");
    let path = folder.join("socket");
    let mut listener = listen(&LinkAddress::Unix(path.clone())).expect("bound");
    let mut peer = UnixStream::connect(path).expect("it listens");
    peer.write_all(&[&preamble(0)[..], &frame(0, b"early")].concat()).expect("it listens");
    let mut end = accept(&mut *listener).expect("it is whole");
    end.receiver.wait(None);
    let mut bodies = Vec::new();
    assert_eq!(end.receiver.poll(9, &mut |_, frame| bodies.push(frame.body.to_vec())), Ok(1));
    assert_eq!(bodies, [b"early"]);
}

#[test]
fn who_says_nothing_or_too_little_is_dropped_in_time() {
    let limits = ListenLimits { preamble: Duration::from_millis(1), ..ListenLimits::default() };
    let (mut listener, port) = tcp_listener(limits);
    for said in [&b""[..], b"Q", &preamble(1)[..15]] {
        let mut peer = bare(port);
        peer.write_all(said).expect("it listens");
        let error = refusal(&mut listener);
        assert_eq!(error, BootstrapError::Silent { address: listener.address(), waited: limits.preamble });
        assert_eq!(told(peer)[6..8], (Code::PeerSilent as u16).to_le_bytes());
        assert!(listener.accept().expect("nobody is left").is_none());
        assert!(!is_ready(listener.fd()), "the timer is wound down");
    }
}

#[test]
fn a_thousand_that_say_nothing_leave_room_for_one_that_does() {
    let limits = getrlimit(Resource::Nofile);
    let enough = limits.maximum.map_or(4_096, |maximum| maximum.min(4_096));
    setrlimit(Resource::Nofile, Rlimit { current: Some(enough), ..limits }).expect("a higher limit");
    let (mut listener, port) = tcp_listener(ListenLimits { pending: 64, ..ListenLimits::default() });
    let mut half = bare(port);
    half.write_all(&preamble(1)[..8]).expect("it listens");
    assert!(listener.accept().expect("it is not whole").is_none());
    let silent: Vec<_> = (0..1_000)
        .map(|_| {
            let peer = bare(port);
            assert!(listener.accept().expect("it said nothing").is_none());
            peer
        })
        .collect();
    assert_eq!(told(&silent[0])[6..8], (Code::Resource as u16).to_le_bytes(), "the oldest was dropped");
    half.write_all(&preamble(1)[8..]).expect("it listens");
    accept(&mut listener).expect("who speaks is not dropped for those who do not");
    serves(&mut listener);
}

/// As a child: a listener that takes the connection, and has no descriptors for the rest of a link.
#[test]
fn who_cannot_be_given_a_link_is_told_so_before_it_is_taken() {
    const NAME: &str = "meeting::who_cannot_be_given_a_link_is_told_so_before_it_is_taken";
    if argument().is_none() {
        let mut child = Program::this_test(NAME, "").expect("this test").spawn().expect("started");
        let status = child.wait(PATIENCE).expect("waited").expect("it ends by itself");
        assert!(status.success(), "{}", child.output().text());
        return;
    }
    let folder = TempDir::new().expect("a folder");
    for address in [any_port(), LinkAddress::Unix(folder.join("socket"))] {
        let mut listener = listen(&address).expect("bound");
        let dialer = dial(&listener.address()).expect("it listens");
        let limits = getrlimit(Resource::Nofile);
        let mut taken = take_all_descriptors();
        taken.truncate(taken.len() - 2);
        let error = refusal(&mut *listener);
        drop(taken);
        setrlimit(Resource::Nofile, limits).expect("as before");
        assert!(error.is_own_shortage(), "{error}");
        let refused = outcome(dialer);
        assert!(matches!(refused, BootstrapError::Refused { code: Some(Code::Resource), .. }), "{refused}");
        serves(&mut *listener);
    }
}

/// Leaves this process none but these.
fn take_all_descriptors() -> Vec<OwnedFd> {
    let limits = Rlimit { current: Some(64), ..getrlimit(Resource::Nofile) };
    setrlimit(Resource::Nofile, limits).expect("a lower limit");
    std::iter::repeat_with(|| eventfd(0, EventfdFlags::CLOEXEC)).map_while(Result::ok).collect()
}

/// Why a dial comes to nothing.
fn outcome(mut dialer: Box<dyn Dialer>) -> BootstrapError {
    loop {
        if let Err(error) = dialer.finish() {
            return error;
        }
        let limit = Timespec::try_from(PATIENCE).expect("short");
        let mut fds = [PollFd::from_borrowed_fd(dialer.fd(), PollFlags::IN)];
        assert_eq!(poll(&mut fds, Some(&limit)), Ok(1), "nothing came");
    }
}

#[test]
fn accepting_never_waits_and_a_silent_peer_keeps_nobody_busy() {
    let (mut listener, port) = tcp_listener(ListenLimits::default());
    assert!(!is_ready(listener.fd()));
    assert!(listener.accept().expect("nobody is no error").is_none());
    let _silent = bare(port);
    assert!(listener.accept().expect("it has not spoken").is_none());
    assert!(!is_ready(listener.fd()));
    serves(&mut listener);
}

#[test]
fn a_name_is_resolved_and_each_of_its_addresses_tried() {
    let (mut listener, port) = tcp_listener(ListenLimits::default());
    let address = LinkAddress::Tcp { host: "localhost".to_owned(), port };
    let connecting = thread::spawn(move || connect(&address, PATIENCE).map(|_| ()));
    let _end = accept(&mut listener).expect("it is whole");
    assert_eq!(connecting.join().expect("it does not panic"), Ok(()));
}

#[test]
fn who_asks_for_links_of_another_kind_is_told_so() {
    let folder = TempDir::new().expect("a folder");
    let (stream, memory) = (folder.join("stream"), folder.join("memory"));
    let listened = [LinkAddress::Unix(stream.clone()), LinkAddress::SharedMemory(memory.clone())];
    let _listeners = listened.map(|address| listen(&address).expect("nobody else listens there"));
    for address in [LinkAddress::SharedMemory(stream), LinkAddress::Unix(memory)] {
        let error = dial(&address).map(|_| ()).expect_err("they do not fit");
        assert_eq!((error.code(), error), (Code::BadValue, BootstrapError::OtherKind { address }));
    }
}

#[test]
fn nobody_and_one_who_is_silent_are_told_apart() {
    let folder = TempDir::new().expect("a folder");
    let unix = LinkAddress::Unix(folder.join("socket"));
    assert_eq!(dial(&unix).map(|_| ()), Err(BootstrapError::NobodyListens { address: unix.clone() }));
    let silent = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = silent.local_addr().expect("bound").port();
    let address = LinkAddress::Tcp { host: "127.0.0.1".to_owned(), port };
    let waited = Duration::from_millis(5);
    let error = connect(&address, waited).map(|_| ()).expect_err("it says nothing");
    assert_eq!(error, BootstrapError::Silent { address: address.clone(), waited });
    drop(silent);
    let error = connect(&address, PATIENCE).map(|_| ()).expect_err("nobody listens");
    assert_eq!(error, BootstrapError::NobodyListens { address });
}

#[test]
fn a_dial_goes_on_by_itself_wherever_it_is_looked_at() {
    let folder = TempDir::new().expect("a folder");
    for address in
        [any_port(), LinkAddress::Unix(folder.join("u")), LinkAddress::SharedMemory(folder.join("s"))]
    {
        let mut listener = listen(&address).expect("bound");
        let mut dialer = dial(&listener.address()).expect("it listens");
        let (mut near, mut far) = (None, None);
        while near.is_none() || far.is_none() {
            let mut fds = [listener.fd(), dialer.fd()].map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN));
            poll(&mut fds, None).expect("something comes");
            if far.is_none() {
                far = listener.accept().expect("nothing is wrong");
            }
            if near.is_none() {
                near = dialer.finish().expect("nothing is wrong");
            }
        }
        assert!(dialer.finish().expect("it is over").is_none());
    }
}

#[test]
fn more_dials_than_the_queue_holds_all_get_through() {
    let folder = TempDir::new().expect("a folder");
    for address in
        [any_port(), LinkAddress::Unix(folder.join("u")), LinkAddress::SharedMemory(folder.join("s"))]
    {
        let mut listener = listen(&address).expect("bound");
        let mut dialers: Vec<Box<dyn Dialer>> = Vec::new();
        for _ in 0..20 {
            dialers.push(dial(&listener.address()).expect("it listens"));
        }
        let mut ends = Vec::new();
        while ends.len() < 40 {
            ends.extend(listener.accept().expect("nothing is wrong"));
            for dialer in &mut dialers {
                ends.extend(dialer.finish().expect("nothing is wrong"));
            }
        }
    }
}

#[test]
fn a_unix_socket_is_for_this_user_and_goes_with_its_listener() {
    let folder = TempDir::new().expect("a folder");
    let path = folder.join("socket");
    let address = LinkAddress::Unix(path.clone());
    let listener = listen(&address).expect("bound");
    let mode = std::fs::metadata(&path).expect("it is there").permissions().mode();
    assert_eq!(mode & 0o077, 0, "for this user only");
    let taken = listen(&address).map(|_| ()).expect_err("taken");
    assert_eq!(taken, BootstrapError::InUse { address: address.clone() });
    let other = listen(&LinkAddress::SharedMemory(path.clone())).map(|_| ()).expect_err("taken");
    assert!(matches!(other, BootstrapError::InUse { .. }), "{other}");
    drop(listener);
    assert!(!path.exists());
    drop(std::os::unix::net::UnixListener::bind(&path).expect("bound"));
    assert!(path.exists(), "it left its file behind");
    let mut listener = listen(&address).expect("replaced");
    serves(&mut *listener);
}

/// A thread of the superuser may take another user's id; other users cannot make this test.
#[test]
fn another_user_is_refused_over_tcp_on_this_machine() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let mut listener = listen(&any_port()).expect("bound");
    let address = listener.address();
    let connecting = thread::spawn(move || {
        rustix::thread::set_thread_uid(rustix::process::Uid::from_raw(65_534)).expect("the superuser may");
        connect(&address, PATIENCE).map(|_| ())
    });
    let error = refusal(&mut *listener);
    assert!(matches!(error, BootstrapError::OtherUser { theirs: 65_534, ours: 0, .. }), "{error}");
    let refused = connecting.join().expect("it does not panic").expect_err("refused");
    assert_eq!(refused.code(), Code::NotAllowed, "{refused}");
}

/// A thread of the superuser may take another user's id; other users cannot make this test.
#[test]
fn another_user_is_refused_on_a_unix_socket() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let folder = TempDir::new().expect("a folder");
    let path = folder.join("socket");
    let mut listener = listen(&LinkAddress::Unix(path.clone())).expect("bound");
    for open in [folder.path(), &path] {
        std::fs::set_permissions(open, std::fs::Permissions::from_mode(0o777)).expect("opened to all");
    }
    let connecting = thread::spawn(move || {
        rustix::thread::set_thread_uid(rustix::process::Uid::from_raw(65_534)).expect("the superuser may");
        connect(&LinkAddress::Unix(path), PATIENCE).map(|_| ())
    });
    let error = refusal(&mut *listener);
    assert!(matches!(error, BootstrapError::OtherUser { theirs: 65_534, ours: 0, .. }), "{error}");
    let refused = connecting.join().expect("it does not panic").expect_err("refused");
    assert_eq!(refused.code(), Code::NotAllowed, "{refused}");
}

//! Those who are not let in: what they are told, and what the listener tells of them.

use crate::bare::{self, client, told};
use crate::cluster::{
    PATIENCE, accept, at, authority, connecting, credentials, expired, fault, identity, listener, refusal,
    serves,
};
use quintet_errors::Code;
use quintet_link::{BootstrapError, ListenLimits, Listener, StreamListener, TlsFault};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::fd::BorrowedFd;
use std::thread;
use std::time::Duration;

const OURS: &[&str] = &["quintet/1"];

fn bare_socket(port: u16) -> TcpStream {
    let socket = TcpStream::connect(("127.0.0.1", port)).expect("it listens");
    socket.set_read_timeout(Some(PATIENCE)).expect("a time");
    socket
}

/// What a refused peer reads before the other side closes.
fn read_out(mut peer: TcpStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    let _ = peer.read_to_end(&mut bytes);
    bytes
}

fn is_ready(fd: BorrowedFd<'_>) -> bool {
    poll(&mut [PollFd::from_borrowed_fd(fd, PollFlags::IN)], Some(&Timespec::default())) == Ok(1)
}

#[test]
fn a_client_must_prove_that_it_belongs_to_the_cluster() {
    let authority = authority();
    let stranger = identity(&crate::cluster::authority());
    let (old, good) = (expired(&authority), identity(&authority));
    let (mut listener, port) = listener(&authority, ListenLimits::default());
    let cases = [
        (None, OURS, TlsFault::PeerWithoutCertificate, "CertificateRequired"),
        (Some(&stranger), OURS, TlsFault::PeerOfAnotherCluster, "UnknownCA"),
        (Some(&old), OURS, TlsFault::PeerExpired, "CertificateExpired"),
        (Some(&good), &["h2", "http/1.1"], TlsFault::OtherProtocol, "NoApplicationProtocol"),
        (Some(&good), &[], TlsFault::OtherProtocol, ""),
    ];
    for (identity, protocols, expected, alert) in cases {
        let peer = client(port, identity.map(String::as_str), protocols);
        let peer = thread::spawn(move || told(peer));
        let error = refusal(&mut listener);
        assert!(error.to_string().starts_with(&format!("tls:127.0.0.1:{port}: ")), "{error}");
        assert_eq!(fault(error), expected);
        let (_, ended) = peer.join().expect("it does not panic");
        assert!(ended.contains(alert), "{ended}");
    }
    serves(&mut listener);
}

#[test]
fn a_client_learns_why_it_was_not_let_in() {
    let (ours, theirs) = (authority(), authority());
    let (mut listener, port) = listener(&ours, ListenLimits::default());
    // It finds that out before it shows anything of its own.
    let refused = connecting(at(port, Some(credentials(&identity(&theirs)))));
    assert_eq!(fault(refusal(&mut listener)), TlsFault::OfAnotherCluster);
    let error = refused.join().expect("it does not panic").map(|_| ()).expect_err("another cluster");
    assert_eq!(error.code(), Code::WrongCluster);
    assert!(error.to_string().contains("use identities of one cluster on both sides"), "{error}");
    assert_eq!(fault(error), TlsFault::PeerOfAnotherCluster);
    serves(&mut listener);
}

#[test]
fn a_server_must_prove_that_it_belongs_to_the_cluster() {
    let authority = authority();
    let who = credentials(&identity(&authority));
    let fake = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = fake.local_addr().expect("bound").port();
    let cases = [
        (identity(&crate::cluster::authority()), TlsFault::PeerOfAnotherCluster),
        (expired(&authority), TlsFault::PeerExpired),
    ];
    for (shown, expected) in cases {
        let refused = connecting(at(port, Some(who.clone())));
        bare::serve(fake.accept().expect("it dials").0, &shown);
        let error =
            refused.join().expect("it does not panic").map(|_| ()).expect_err("it is no server of ours");
        assert_eq!(fault(error), expected);
    }
}

#[test]
fn garbage_and_old_versions_harm_nobody() {
    let (mut listener, port) = listener(&authority(), ListenLimits::default());
    for bytes in [&b"GET / HTTP/1.1\r\n\r\n"[..], b"Q", &[0xff; 4_000], &[0; 100]] {
        let mut peer = bare_socket(port);
        peer.write_all(bytes).expect("it listens");
        let error = refusal(&mut listener);
        assert_eq!(error, BootstrapError::OtherKind { address: listener.address() });
        assert_eq!(read_out(peer), [0x15, 3, 3, 0, 2, 2, 10], "an alert of TLS");
    }
    for bytes in [&[0x16; 100][..], &[0x15, 3, 3, 0, 2, 2, 40], &old_hello()] {
        let mut peer = bare_socket(port);
        peer.write_all(bytes).expect("it listens");
        let error = refusal(&mut listener);
        assert!(matches!(fault(error.clone()), TlsFault::Broken(_)), "{error}");
        assert_eq!(error.code(), Code::Malformed);
    }
    serves(&mut listener);
}

/// What a client says that knows TLS 1.2 at most.
fn old_hello() -> Vec<u8> {
    let mut body = vec![3, 3];
    body.extend([7; 32]);
    body.extend([0, 0, 2, 0xc0, 0x2f, 1, 0]);
    let message = [&[1, 0, 0, body.len() as u8][..], &body].concat();
    [&[0x16, 3, 1, 0, message.len() as u8][..], &message].concat()
}

#[test]
fn of_who_is_not_known_a_bounded_number_of_bytes_is_heard() {
    let (mut listener, port) = listener(&authority(), ListenLimits::default());
    let mut peer = bare_socket(port);
    // The first part of a message of 60,000 bytes, which is allowed to be that long.
    let mut records = vec![[&[0x16, 3, 1, 0x40, 0][..], &[1, 0, 0xea, 0x60], &[0; 16_380]].concat()];
    records.extend((0..2).map(|_| [&[0x16, 3, 1, 0x40, 0][..], &[0; 16_384]].concat()));
    let writing = thread::spawn(move || {
        // It is not listened to until the end.
        let _ = peer.write_all(&records.concat());
        peer
    });
    let error = fault(refusal(&mut listener));
    assert_eq!(error, TlsFault::TooMuch { limit: 32 * 1024 });
    writing.join().expect("it does not panic");
    serves(&mut listener);
}

#[test]
fn a_handshake_that_stalls_is_dropped_in_time() {
    let limits = ListenLimits { preamble: Duration::from_millis(1), ..ListenLimits::default() };
    let (mut listener, port) = listener(&authority(), limits);
    for said in [&b""[..], &[0x16], &old_hello()[..20]] {
        let mut peer = bare_socket(port);
        peer.write_all(said).expect("it listens");
        let error = refusal(&mut listener);
        assert_eq!(error, BootstrapError::Silent { address: listener.address(), waited: limits.preamble });
        assert_eq!(read_out(peer), b"", "nothing is said in the clear");
        assert!(listener.accept().expect("nobody is left").is_none());
        assert!(!is_ready(listener.fd()), "the timer is wound down");
    }
}

/// Everything that a member of the cluster says which is let in.
fn said_by_a_member(listener: &mut StreamListener, port: u16, member: &str) -> Vec<u8> {
    let relay = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let relayed = relay.local_addr().expect("it has one").port();
    let said = thread::spawn(move || {
        let (client, _) = relay.accept().expect("it dials");
        let server = bare_socket(port);
        let (mut back, mut answers) = (client.try_clone().expect("room"), server.try_clone().expect("room"));
        let answering = thread::spawn(move || std::io::copy(&mut answers, &mut back));
        let (mut said, mut piece) = (Vec::new(), [0; 4096]);
        while let Ok(count @ 1..) = (&client).read(&mut piece) {
            said.extend_from_slice(&piece[..count]);
            // Behind the end of the link nobody listens.
            let _ = (&server).write_all(&piece[..count]);
        }
        let _ = server.shutdown(Shutdown::Both);
        let _ = answering.join().expect("it does not panic");
        said
    });
    let dialling = connecting(at(relayed, Some(credentials(member))));
    let near = accept(listener).expect("it is a member");
    drop((near, dialling.join().expect("it does not panic").expect("it is let in")));
    said.join().expect("it does not panic")
}

#[test]
fn what_a_member_has_said_lets_nobody_in_who_says_it_again() {
    let authority = authority();
    let (mut listener, port) = listener(&authority, ListenLimits::default());
    let said = said_by_a_member(&mut listener, port, &identity(&authority));
    assert!(said.len() > 500, "its certificate is in it: {} bytes", said.len());
    for (replayed, what) in [(&said[..], "all of it"), (&said[..said.len() / 2], "the half of it")] {
        let mut peer = bare_socket(port);
        peer.write_all(replayed).expect("it listens");
        peer.shutdown(Shutdown::Write).expect("it is there");
        refusal(&mut listener);
        let heard = read_out(peer);
        assert!(heard.len() < 8 * 1024, "{what}: {} bytes", heard.len());
    }
    serves(&mut listener);
}

#[test]
fn who_says_a_good_hello_byte_by_byte_has_no_more_time_for_it_than_others() {
    let authority = authority();
    let (mut listener, port) = listener(&authority, ListenLimits::default());
    let said = said_by_a_member(&mut listener, port, &identity(&authority));
    let limits = ListenLimits { preamble: Duration::from_millis(50), ..ListenLimits::default() };
    let (mut listener, port) = crate::cluster::listener(&authority, limits);
    let mut peer = bare_socket(port);
    let dripping = thread::spawn(move || {
        for byte in said {
            // Until it is not listened to any more.
            if peer.write_all(&[byte]).is_err() {
                return true;
            }
            thread::sleep(Duration::from_millis(5));
        }
        false
    });
    let error = refusal(&mut listener);
    assert_eq!(error, BootstrapError::Silent { address: listener.address(), waited: limits.preamble });
    assert!(dripping.join().expect("it does not panic"), "it was listened to until the end");
}

#[test]
fn one_that_proves_itself_and_says_no_more_is_dropped_in_time() {
    let authority = authority();
    let limits = ListenLimits { preamble: Duration::from_millis(200), ..ListenLimits::default() };
    let (mut listener, port) = listener(&authority, limits);
    let peer = client(port, Some(&identity(&authority)), OURS);
    let peer = thread::spawn(move || told(peer));
    let error = refusal(&mut listener);
    assert_eq!(error, BootstrapError::Silent { address: listener.address(), waited: limits.preamble });
    let (bytes, _) = peer.join().expect("it does not panic");
    if !bytes.is_empty() {
        // Where it was quick enough to be known, it is told why.
        assert_eq!(bytes[6..8], (Code::PeerSilent as u16).to_le_bytes());
    }
}

#[test]
fn a_thousand_that_say_nothing_leave_room_for_one_that_does() {
    let limits = getrlimit(Resource::Nofile);
    let enough = limits.maximum.map_or(4_096, |maximum| maximum.min(4_096));
    setrlimit(Resource::Nofile, Rlimit { current: Some(enough), ..limits }).expect("a higher limit");
    let authority = authority();
    let (mut listener, port) = listener(&authority, ListenLimits { pending: 64, ..ListenLimits::default() });
    let silent: Vec<_> = (0..1_000)
        .map(|_| {
            let peer = bare_socket(port);
            assert!(listener.accept().expect("it said nothing").is_none());
            peer
        })
        .collect();
    assert_eq!(read_out(silent[0].try_clone().expect("a descriptor")), b"", "the oldest was dropped");
    serves(&mut listener);
}

#[test]
fn one_look_takes_a_bounded_number_however_many_come() {
    let authority = authority();
    let (mut listener, port) = listener(&authority, ListenLimits::default());
    let silent: Vec<_> = (0..100).map(|_| bare_socket(port)).collect();
    assert!(listener.accept().expect("they said nothing").is_none());
    assert!(is_ready(listener.fd()), "the rest waits for the next look");
    assert!(listener.accept().expect("they said nothing").is_none());
    assert!(!is_ready(listener.fd()), "all were taken");
    serves(&mut listener);
    drop(silent);
}

#[test]
fn somebody_of_the_cluster_who_speaks_another_language_is_told() {
    let authority = authority();
    let (mut listener, port) = listener(&authority, ListenLimits::default());
    let mut peer = client(port, Some(&identity(&authority)), OURS);
    let peer = thread::spawn(move || {
        peer.write_all(b"GET / HTTP/1.1\r\n\r\n").expect("it listens");
        told(peer)
    });
    let error = refusal(&mut listener);
    assert!(matches!(error, BootstrapError::Malformed { .. }), "{error}");
    let (bytes, _) = peer.join().expect("it does not panic");
    assert_eq!(bytes[..4], *b"QNST");
    assert_eq!(bytes[6..8], (Code::Malformed as u16).to_le_bytes());
    serves(&mut listener);
}

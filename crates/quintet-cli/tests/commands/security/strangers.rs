//! Strangers at every port that agents and a job open: a scan of ports, garbage, requests of other protocols, and announcements of more than any
//! program says. Whatever they do, the agents and the job go on.

use super::all_are_up;
use super::ports::{most_bytes, tcp, unix};
use crate::hosts::lab::Machines;
use crate::tool::{result, script, text, wait_until};
use rustix::net::sockopt::set_socket_linger;
use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// Longer than anybody who says nothing is heard.
const PATIENCE: Duration = Duration::from_secs(30);
/// More than the system keeps for a connection of which nobody reads.
const MORE_THAN_ANYBODY_KEEPS: usize = 64 << 20;
/// What all of this may take of a process that listens, beside what it had.
const MOST_BYTES: u64 = 32 << 20;
/// Strangers that say nothing, at each port, all the time.
const SILENT: usize = 8;

/// A way to a port.
trait Stranger: Read + Write {
    fn hurry(&self);
}

impl Stranger for TcpStream {
    fn hurry(&self) {
        self.set_read_timeout(Some(PATIENCE)).expect("a socket");
        self.set_write_timeout(Some(PATIENCE)).expect("a socket");
    }
}

impl Stranger for UnixStream {
    fn hurry(&self) {
        self.set_read_timeout(Some(PATIENCE)).expect("a socket");
        self.set_write_timeout(Some(PATIENCE)).expect("a socket");
    }
}

/// Bytes that look like nothing.
fn noise(len: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    (0..len).map(|_| next()).collect()
}

/// What strangers begin with.
fn openings() -> Vec<(&'static str, Vec<u8>)> {
    // A record of TLS as long as one can be, of a first message as long as one can say that it is.
    let hello = [&[0x16, 3, 1, 0x40, 0, 1, 0xff, 0xff, 0xff, 3, 3][..], &[0; 16 * 1024 - 6]].concat();
    // Our own preamble, of another version and with all else as large as it can be.
    let preamble = [&b"QNTT"[..], &[0xff; 12]].concat();
    vec![
        ("a byte of TLS", vec![0x16]),
        ("a request of a browser", b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".to_vec()),
        ("a command of Redis", b"*1\r\n$4\r\nPING\r\n".to_vec()),
        ("noise", noise(40 * 1024)),
        ("zeros", vec![0; 40 * 1024]),
        ("a message of TLS without end", hello),
        ("a preamble of our own", preamble),
    ]
}

/// Says that, and hears until it is shown the door.
fn is_shown_the_door(mut stranger: impl Stranger, opening: &[u8], what: &str) {
    stranger.hurry();
    let mut heard = Vec::new();
    // It may be shown the door before it has said all.
    let said = stranger.write_all(opening);
    let end = stranger.read_to_end(&mut heard);
    for failed in [said.err(), end.err()].into_iter().flatten() {
        let is_end = [ErrorKind::ConnectionReset, ErrorKind::BrokenPipe, ErrorKind::ConnectionAborted];
        assert!(is_end.contains(&failed.kind()), "{what}: nobody ended it: {failed}");
    }
    assert!(heard.len() < 64 * 1024, "{what}: a stranger was told {} bytes", heard.len());
}

/// Says the same for ever: somebody has to stop listening.
fn is_not_listened_to_for_ever(mut stranger: impl Stranger, what: &str) {
    stranger.hurry();
    let piece = [0x16, 3, 1, 0x40, 0].into_iter().chain([0; 0x4000]).collect::<Vec<u8>>();
    let said = (0..MORE_THAN_ANYBODY_KEEPS / piece.len()).try_for_each(|_| stranger.write_all(&piece));
    let failed = said.expect_err(what);
    assert!(![ErrorKind::WouldBlock, ErrorKind::TimedOut].contains(&failed.kind()), "{what}: it hangs");
}

/// Everything at a port. What is returned stays there and says nothing.
fn trouble<S: Stranger + std::os::fd::AsFd>(what: &str, connect: &dyn Fn() -> S) -> Vec<S> {
    // A scan of ports: gone at once, with a farewell or without one.
    for is_rude in [false, true] {
        let scan = connect();
        if is_rude {
            // Of a Unix socket it changes nothing.
            let _ = set_socket_linger(&scan, Some(Duration::ZERO));
        }
    }
    for (opening, bytes) in openings() {
        // And gone in the middle of it.
        let mut rude = connect();
        let _ = rude.write_all(&bytes[..bytes.len() / 2]);
        drop(rude);
        if bytes.len() > 1 {
            is_shown_the_door(connect(), &bytes, &format!("{what}: {opening}"));
        }
    }
    is_not_listened_to_for_ever(connect(), &format!("{what}: says the same for ever"));
    (0..SILENT).map(|_| connect()).collect()
}

fn at_all_ports(lab: &Machines, host: Ipv4Addr) -> (Vec<u16>, usize) {
    let ports = tcp(host);
    let _silent: Vec<Vec<TcpStream>> = ports
        .iter()
        .map(|port| {
            let connect = || TcpStream::connect((host, *port)).expect("it listens");
            trouble(&format!("port {port}"), &connect)
        })
        .collect();
    // Those of shared memory carry messages and not bytes: see `unix_of_messages`.
    let (streams, messages): (Vec<_>, Vec<_>) =
        unix(lab.room.path()).into_iter().partition(|path| UnixStream::connect(path).is_ok());
    let _also: Vec<Vec<UnixStream>> = streams
        .iter()
        .map(|path| trouble(text(path), &|| UnixStream::connect(path).expect("it listens")))
        .collect();
    messages.iter().for_each(|path| unix_of_messages(path));
    (ports, streams.len() + messages.len())
}

/// At a socket that takes messages.
fn unix_of_messages(path: &Path) {
    use rustix::net::{
        AddressFamily, SendFlags, SocketAddrUnix, SocketFlags, SocketType, connect, send, socket_with,
    };
    for (opening, bytes) in openings() {
        let socket = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
            .expect("room");
        connect(&socket, &SocketAddrUnix::new(path).expect("a path")).expect("it listens");
        // One that is told to go may not have said all.
        let _ = send(&socket, &bytes, SendFlags::NOSIGNAL);
        let stranger = UnixStream::from(socket);
        stranger.hurry();
        let mut heard = [0; 4096];
        let end = (&stranger).read(&mut heard);
        assert!(!matches!(&end, Err(error) if error.kind() == ErrorKind::WouldBlock), "{opening}: it hangs");
    }
}

#[test]
fn agents_and_a_job_outlive_strangers_at_every_port_that_they_open() {
    let lab = Machines::up(&["a", "b"]);
    let worker = script(&lab.room, "worker", "echo idle $$; exec sleep 1000");
    let go = lab.room.join("go");
    let master =
        script(&lab.room, "master", &format!("until [ -e {} ]; do sleep 0.05; done; exit 7", text(&go)));
    let words = ["run", "--hosts", "a,b", "-n", "2", "--python", text(&worker), text(&master)];
    let job = lab.command("a", &words);
    wait_until(|| job.output().text().matches("idle ").count() == 2);

    let host = |name: &str| -> Ipv4Addr {
        let place = fs::read_to_string(lab.folder(name).join("place")).expect("written");
        place.split_once(':').expect("a place").0.parse().expect("an address")
    };
    let processes = [lab.agent("a").id(), lab.agent("b").id(), job.id()];
    let before = processes.map(most_bytes);
    let (ports, sockets) = at_all_ports(&lab, host("a"));
    // The agent's, that of the cluster's space, and that of the job's.
    assert_eq!(ports.len(), 3, "{ports:?}");
    assert!(sockets >= 3, "two of agents, that of the job: {sockets}");
    at_all_ports(&lab, host("b"));
    for (process, before) in processes.into_iter().zip(before) {
        let more = most_bytes(process) - before;
        assert!(more < MOST_BYTES, "process {process} took {more} bytes more");
    }
    // All go on: the members see each other, and the job ends as it would have.
    for name in ["a", "b"] {
        wait_until(|| all_are_up(&lab, name));
    }
    lab.does("b", &["rotate"]);
    fs::write(&go, "").expect("written");
    let (code, said) = result(job);
    assert_eq!(code, 7, "{said}");
}

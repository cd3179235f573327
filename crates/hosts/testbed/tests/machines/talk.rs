//! A program for machines: it does what its input says, a line at a time, and answers each with a line.

use crate::LONG;
use quintet_testbed::{Child, Machine, Program, argument};
use std::io::{BufRead, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::time::{Duration, Instant};

const PORT: u16 = 7400;
/// Datagrams that are sent until one comes back: a second each.
const TRIES: u32 = 30;

/// The program on a machine.
pub(crate) struct Talker {
    child: Child,
    address: IpAddr,
}

impl Talker {
    pub(crate) fn on(machine: &Machine) -> Talker {
        let program = Program::this_test("talk::a_program_for_machines", machine.address().to_string());
        let child = program.expect("known").on(machine).expect("it is there").spawn().expect("it starts");
        let mut talker = Talker { child, address: machine.address().into() };
        assert_eq!(talker.ask("bind"), "bound");
        talker
    }

    pub(crate) fn process(&self) -> u32 {
        self.child.id()
    }

    /// Has it do something, without waiting.
    pub(crate) fn tell(&mut self, what: &str) {
        self.child.say(what).expect("it reads");
    }

    /// What it answers, if it does in so long.
    pub(crate) fn answer(&self, limit: Duration) -> Option<String> {
        self.child.output().wait_for("> ", limit)
    }

    /// Has it do something.
    pub(crate) fn ask(&mut self, what: &str) -> String {
        self.tell(what);
        self.answer(LONG).unwrap_or_else(|| panic!("{what}: {}", self.child.output().text()))
    }

    /// Sends so many datagrams to another.
    pub(crate) fn send(&mut self, to: &Talker, count: u32) {
        assert_eq!(self.ask(&format!("send {} {count}", to.address)), "sent");
    }

    /// Whether a datagram comes there and back, of many.
    pub(crate) fn reaches(&mut self, other: &Talker) -> bool {
        (0..TRIES).any(|_| !self.misses(other))
    }

    /// Whether a datagram that was sent there has not come back for a second.
    pub(crate) fn misses(&mut self, other: &Talker) -> bool {
        self.ask(&format!("reach {}", other.address)) == "not reached"
    }

    /// How long a datagram takes there and back.
    pub(crate) fn round_trip(&mut self, other: &Talker) -> Duration {
        let said = self.ask(&format!("time {}", other.address));
        Duration::from_nanos(said.parse().unwrap_or_else(|_| panic!("{said}")))
    }

    pub(crate) fn address(&self) -> IpAddr {
        self.address
    }

    /// It is reached at another address from now on.
    pub(crate) fn moved(&mut self, address: IpAddr) {
        self.address = address;
    }
}

/// As a child on a machine.
#[test]
fn a_program_for_machines() {
    let Some(address) = argument() else { return };
    // Of all addresses that the machine has and will have, so that it can be readdressed; on the loopback of its own one.
    let own: IpAddr = address.parse().unwrap();
    let bound: IpAddr = if own.is_loopback() { own } else { [0, 0, 0, 0].into() };
    let socket = UdpSocket::bind((bound, PORT)).unwrap();
    let listener = TcpListener::bind((bound, PORT)).unwrap();
    let echo = socket.try_clone().unwrap();
    let heard = std::sync::Arc::new(std::sync::atomic::AtomicU32::new(0));
    let counted = heard.clone();
    std::thread::spawn(move || echo_datagrams(&echo, &counted));
    std::thread::spawn(move || listener.incoming().flatten().for_each(|stream| swallow(&stream)));
    let mut held = None;
    for line in std::io::stdin().lock().lines() {
        let line = line.unwrap();
        let words: Vec<&str> = line.split(' ').collect();
        let to = words.get(1).and_then(|to| Some(SocketAddr::new(to.parse().ok()?, PORT)));
        let said = match (words[0], to) {
            ("bind", _) => "bound".to_owned(),
            ("name", _) => std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap().trim().to_owned(),
            ("names", _) => std::fs::read_to_string("/etc/hosts").unwrap().replace('\n', ";"),
            ("home", _) => std::env::var("HOME").unwrap(),
            ("heard", _) => heard.load(std::sync::atomic::Ordering::Relaxed).to_string(),
            ("send", Some(to)) => {
                let count: u32 = words[2].parse().unwrap();
                (0..count).for_each(|_| drop(socket.send_to(b"datagram", to)));
                "sent".to_owned()
            }
            ("reach", Some(to)) => reach(bound, to).map_or("not reached", |_| "reached").to_owned(),
            ("time", Some(to)) => reach(bound, to).expect("it comes back").as_nanos().to_string(),
            ("pour", Some(to)) => {
                pour(to, words[2].parse().unwrap()).map_or("broken".to_owned(), |()| "poured".to_owned())
            }
            ("connect", Some(to)) => {
                held = TcpStream::connect_timeout(&to, LONG).ok();
                held.as_ref().map_or("refused", |_| "connected").to_owned()
            }
            ("push", _) => push(held.as_mut()),
            ("fork", _) => fork(),
            ("listen", Some(to)) => {
                let socket = socket.try_clone().unwrap();
                std::thread::spawn(move || tell_of_errors(&socket, to));
                "listening".to_owned()
            }
            _ => panic!("{line}"),
        };
        println!("> {said}");
    }
}

/// Gives everything back that is said, and counts what is not for that.
fn echo_datagrams(socket: &UdpSocket, heard: &std::sync::atomic::AtomicU32) {
    let mut data = [0; 64];
    while let Ok((length, from)) = socket.recv_from(&mut data) {
        if &data[..length] == b"echo" {
            // Whoever asked has left.
            let _ = socket.send_to(b"echo", from);
        } else {
            heard.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        }
    }
}

fn reach(bound: IpAddr, to: SocketAddr) -> Option<Duration> {
    let socket = UdpSocket::bind((bound, 0)).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
    let start = Instant::now();
    socket.send_to(b"echo", to).ok()?;
    let mut data = [0; 64];
    socket.recv_from(&mut data).ok()?;
    Some(start.elapsed())
}

/// Says how many bytes came, at the end.
fn swallow(mut stream: &TcpStream) {
    let (mut data, mut count) = (vec![0; 1 << 16], 0u64);
    while let Ok(length @ 1..) = stream.read(&mut data) {
        count += length as u64;
    }
    // Whoever poured may have left.
    let _ = stream.write_all(&count.to_le_bytes());
}

/// Sends so many bytes, and waits until they came.
fn pour(to: SocketAddr, bytes: u64) -> std::io::Result<()> {
    let mut stream = TcpStream::connect(to)?;
    let data = vec![7; 1 << 16];
    let mut left = bytes;
    while left > 0 {
        left -= stream.write(&data[..data.len().min(left as usize)])? as u64;
    }
    stream.shutdown(std::net::Shutdown::Write)?;
    let mut count = [0; 8];
    stream.read_exact(&mut count)?;
    assert_eq!(u64::from_le_bytes(count), bytes);
    Ok(())
}

/// Writes to the connection that is held until that fails, or not at all if there is none.
fn push(stream: Option<&mut TcpStream>) -> String {
    let Some(stream) = stream else { return "no connection".to_owned() };
    stream.set_write_timeout(Some(Duration::from_millis(10))).unwrap();
    loop {
        match stream.write(b"word") {
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            Err(error) => return format!("{:?}", error.kind()),
            Ok(_) => std::thread::yield_now(),
        }
    }
}

/// Leaves a file in its home folder as soon as its network fails.
fn tell_of_errors(socket: &UdpSocket, to: SocketAddr) {
    while socket.send_to(b"datagram", to).is_ok() {}
    std::fs::write(std::path::Path::new(&std::env::var("HOME").unwrap()).join("told"), "").unwrap();
}

/// Starts a process that nobody waits for, in a session of its own, without this one's environment.
fn fork() -> String {
    let mut command = std::process::Command::new("setsid");
    command.args(["env", "-i", "sleep", "1000"]).stdin(std::process::Stdio::null());
    let child = command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).spawn();
    child.expect("it starts").id().to_string()
}

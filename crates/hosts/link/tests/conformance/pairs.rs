//! Both ends of a link of each kind.

use quintet_link::{
    Checksums, End, Impairment, LinkAddress, Packets, connect, impaired, listen, over_stream,
};
use quintet_testbed::TempDir;
use rustix::event::{PollFd, PollFlags, poll};
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::Duration;

/// Longer than a connection takes.
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) fn in_process() -> (End, End) {
    quintet_link::in_process_pair().expect("the system gives two event descriptors")
}

pub(crate) fn impaired_pair((left, right): (End, End)) -> (End, End) {
    let impair = |end| impaired(end, Impairment::default(), 1).expect("a timer");
    (impair(left), impair(right))
}

pub(crate) fn impaired_shared_memory_pair() -> (End, End) {
    impaired_pair(shared_memory_pair())
}

pub(crate) fn impaired_tcp_pair() -> (End, End) {
    impaired_pair(tcp_pair())
}

pub(crate) fn shared_memory_pair() -> (End, End) {
    let folder = TempDir::new().expect("a folder");
    pair_at(&LinkAddress::SharedMemory(folder.join("socket")))
}

pub(crate) fn unix_pair() -> (End, End) {
    let folder = TempDir::new().expect("a folder");
    pair_at(&LinkAddress::Unix(folder.join("socket")))
}

pub(crate) fn tcp_pair() -> (End, End) {
    pair_at(&LinkAddress::Tcp { host: "127.0.0.1".to_owned(), port: 0 })
}

/// With each frame in two writes.
pub(crate) fn two_packets_pair() -> (End, End) {
    in_two_packets(tcp_pair())
}

pub(crate) fn in_two_packets((mut left, mut right): (End, End)) -> (End, End) {
    for end in [&mut left, &mut right] {
        end.sender.set_packets(Packets::Two);
    }
    (left, right)
}

/// As links between machines are.
pub(crate) fn checked_pair() -> (End, End) {
    let (left, right) = UnixStream::pair().expect("two sockets");
    let end = |socket: UnixStream| over_stream(socket.into(), Checksums::Crc32c).expect("descriptors");
    (end(left), end(right))
}

/// Both ends in this process, as they would lie in two.
pub(crate) fn pair_at(address: &LinkAddress) -> (End, End) {
    let mut listener = listen(address).expect("bound");
    let address = listener.address();
    let connecting = thread::spawn(move || connect(&address, PATIENCE).expect("connected"));
    let accepted = loop {
        poll(&mut [PollFd::from_borrowed_fd(listener.fd(), PollFlags::IN)], None).expect("poll");
        if let Some(end) = listener.accept().expect("accepted") {
            break end;
        }
    };
    (accepted, connecting.join().expect("it does not panic"))
}

//! Who ends says so, also to a peer whose socket is full just then.

use crate::guard::node;
use crate::{PORT, WORD, guard_at};
use quintet_contract::limits::HEADER_BYTES;
use quintet_contract::{Address, Input, NodeId, Outbox, PeerChange, Protocol, Time, Token};
use quintet_link::{Checksums, End, over_stream};
use quintet_runtime::{Calls, Instance};
use rustix::net::sockopt::set_socket_send_buffer_size;
use std::io::Read;
use std::os::unix::net::UnixStream;

const PEER: Address = Address::new(1, 16);
/// More than a socket takes, and less than a link keeps.
const FRAMES: u64 = 800;
/// What stands in place of a frame's length, and is no length.
const FAREWELL: [u8; 4] = [0; 4];

/// Says much to everybody who comes.
struct Talkative;

impl Protocol for Talkative {
    fn handle(&mut self, _now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        if let Input::Peer(peer, PeerChange::Up { .. }) = input {
            (0..FRAMES).for_each(|token| out.send(peer, WORD, Token(token), b"word").expect("room"));
        }
    }

    fn deadline(&self) -> Option<Time> {
        None
    }
}

/// Says more than a link keeps to everybody who comes, as room comes.
struct Persistent {
    left: u64,
}

/// More than a link keeps.
const MANY: u64 = 200_000;

impl Protocol for Persistent {
    fn handle(&mut self, _now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        if let Input::Peer(peer, PeerChange::Up { .. }) | Input::Writable(peer) = input {
            while self.left > 0 && out.send(peer, WORD, Token(self.left), b"word").is_ok() {
                self.left -= 1;
            }
        }
    }

    fn deadline(&self) -> Option<Time> {
        None
    }
}

/// An end whose socket takes little, and the other one.
fn narrow() -> (End, UnixStream) {
    let (near, far) = UnixStream::pair().expect("two sockets are there");
    set_socket_send_buffer_size(&near, 4_096).expect("a size");
    (over_stream(near.into(), Checksums::Without).expect("descriptors are there"), far)
}

fn is_told_of_all(mut far: UnixStream, frames: u64) -> bool {
    let mut told = Vec::new();
    far.read_to_end(&mut told).expect("the other side ends");
    told.len() > frames as usize * HEADER_BYTES && told.ends_with(&FAREWELL)
}

#[test]
fn a_client_that_closes_says_farewell_behind_all_it_sent() {
    let (near, far) = narrow();
    let calls = Calls::linked(guard_at(PORT), Instance::new(Talkative), PEER, near).expect("it is watched");
    std::thread::scope(|scope| {
        scope.spawn(move || {
            calls.close(&[]);
            drop(calls);
        });
        assert!(is_told_of_all(far, FRAMES));
    });
}

#[test]
fn what_the_link_had_no_room_for_goes_before_the_farewell() {
    let (near, far) = narrow();
    let instance = Instance::new(Persistent { left: MANY });
    let calls = Calls::linked(guard_at(PORT), instance, PEER, near).expect("it is watched");
    std::thread::scope(|scope| {
        scope.spawn(move || {
            calls.close(&[]);
            drop(calls);
        });
        assert!(is_told_of_all(far, MANY));
    });
}

#[test]
fn a_node_that_stops_says_farewell_behind_all_it_sent() {
    let (near, far) = narrow();
    let mut node = node();
    node.add(PORT, Instance::new(Talkative));
    node.attach(NodeId(1), &[(PORT, PEER.port)], near).expect("it is watched");
    let handle = node.handle();
    handle.stop();
    std::thread::scope(|scope| {
        scope.spawn(move || node.run().expect("it can wait"));
        assert!(is_told_of_all(far, FRAMES));
    });
}

/// Else the test would not end.
#[test]
fn a_peer_that_reads_nothing_is_not_waited_for_without_end() {
    let (near, _far) = narrow();
    let calls = Calls::linked(guard_at(PORT), Instance::new(Talkative), PEER, near).expect("it is watched");
    calls.close(&[]);
}

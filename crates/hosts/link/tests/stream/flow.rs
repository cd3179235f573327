//! Streams through sockets that take little at a time, and from many threads.

use bytes::Bytes;
use quintet_contract::{Address, Frame, Kind, SendError, Token};
use quintet_link::{Checksums, End, LinkError, Receiver, Route, Sender, over_stream};
use rustix::net::sockopt::{set_socket_recv_buffer_size, set_socket_send_buffer_size};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

/// Two ends whose sockets hold 4 KiB, or the least that the system allows.
fn narrow(checksums: Checksums) -> (End, End) {
    let (left, right) = UnixStream::pair().expect("two sockets");
    let end = |socket: UnixStream| {
        let socket = OwnedFd::from(socket);
        set_socket_send_buffer_size(&socket, 4_096).expect("a size");
        set_socket_recv_buffer_size(&socket, 4_096).expect("a size");
        over_stream(socket, checksums).expect("descriptors")
    };
    (end(left), end(right))
}

fn route(token: u64) -> Route {
    Route { from: Address::new(1, 2), to: Address::new(3, 4), kind: Kind(0xf0), token: Token(token) }
}

/// Bulk of the `n`th frame; its first bytes tell which it is.
fn bulk(n: u64) -> Bytes {
    let len = [1, 5_000, 65_536, 1 << 20][(n % 4) as usize];
    let mut bytes = vec![n as u8; len];
    bytes[len / 2] = !(n as u8);
    bytes.into()
}

fn check(expected: u64, route: Route, frame: &Frame<'_>) {
    assert_eq!(route.token.0, expected);
    assert_eq!(frame.body, expected.to_le_bytes());
    assert!(*frame.bulk == bulk(expected), "the bulk of frame {expected} changed");
}

/// Sends so many frames with bulk and receives as many, on one thread.
fn exchange(mut end: End, frames: u64) {
    let (mut sent, mut received) = (0, 0);
    while sent < frames || received < frames {
        let mut stuck = true;
        while sent < frames {
            match end.sender.send_bulk(route(sent), &sent.to_le_bytes(), bulk(sent)) {
                Ok(()) => sent += 1,
                Err(SendError::Full) => break,
                Err(other) => panic!("{other}"),
            }
            stuck = false;
        }
        end.sender.flush().expect("the peer is there");
        let polled = end.receiver.poll(usize::MAX, &mut |route, frame| {
            check(received, route, &frame);
            received += 1;
        });
        stuck &= polled.expect("the peer is there") == 0;
        if stuck && (received < frames || !end.sender.has_room()) {
            end.receiver.wait(None);
        }
    }
    // What does not fit into the socket goes out while this end merely waits.
    end.sender.begin(route(frames), 0).expect("room");
    end.sender.commit(0);
    end.sender.flush().expect("the peer is there");
    let mut done = false;
    while !done {
        end.receiver.wait(None);
        end.receiver.poll(9, &mut |_, _| done = true).expect("the peer is there");
    }
}

#[test]
fn sixty_four_mebibytes_both_ways_through_narrow_sockets() {
    for checksums in [Checksums::Without, Checksums::Crc32c] {
        let (left, right) = narrow(checksums);
        // Four frames hold about 1.07 MiB.
        let frames = 4 * 60;
        let other = thread::spawn(move || exchange(right, frames));
        exchange(left, frames);
        other.join().expect("it does not panic");
    }
}

#[test]
fn what_did_not_fit_goes_out_while_its_end_merely_waits() {
    let (mut left, mut right) = narrow(Checksums::Without);
    for n in 0..4 {
        left.sender.send_bulk(route(n), &n.to_le_bytes(), bulk(n)).expect("room");
    }
    left.sender.flush().expect("the peer is there");
    let waiting = thread::spawn(move || {
        let mut answered = false;
        while !answered {
            left.receiver.wait(None);
            left.receiver.poll(1, &mut |_, _| answered = true).expect("the peer is there");
        }
    });
    let mut received = 0;
    while received < 4 {
        right.receiver.wait(None);
        let deliver = &mut |route, frame: Frame<'_>| {
            check(received, route, &frame);
            received += 1;
        };
        right.receiver.poll(9, deliver).expect("the peer is there");
    }
    right.sender.begin(route(0), 0).expect("room");
    right.sender.commit(0);
    right.sender.flush().expect("the peer is there");
    waiting.join().expect("it does not panic");
}

#[test]
fn the_rest_of_a_link_that_waits_by_its_descriptor_goes_out() {
    use rustix::event::{PollFd, PollFlags, poll};
    let (mut left, mut right) = narrow(Checksums::Without);
    left.sender.send_bulk(route(3), &3u64.to_le_bytes(), bulk(3)).expect("room");
    left.sender.flush().expect("the peer is there");
    let reading = thread::spawn(move || {
        let mut received = 0;
        while received == 0 {
            right.receiver.wait(None);
            received = right.receiver.poll(1, &mut |route, frame| check(3, route, &frame)).expect("whole");
        }
        drop(right);
    });
    let end = loop {
        if left.receiver.arm() {
            poll(&mut [PollFd::from_borrowed_fd(left.receiver.fd(), PollFlags::IN)], None).expect("poll");
        }
        left.receiver.disarm();
        if let Err(end) = left.receiver.poll(1, &mut |_, _| panic!("nothing is sent")) {
            break end;
        }
    };
    assert_eq!(end, LinkError::Closed);
    reading.join().expect("it does not panic");
}

/// Sends numbered frames; told by `room` when its receiver's wait has ended.
fn send_all(mut sender: Box<dyn Sender>, frames: u64, room: &AtomicU64) {
    for n in 0..frames {
        loop {
            let told = room.load(Ordering::Acquire);
            match sender.begin(route(n), 600) {
                Ok(body) => break body.fill(n as u8),
                Err(SendError::Full) => {
                    sender.flush().expect("the peer is there");
                    while !sender.has_room() && room.load(Ordering::Acquire) == told {
                        thread::yield_now();
                    }
                }
                Err(other) => panic!("{other}"),
            }
        }
        sender.commit(600);
        if n % 3 == 0 {
            sender.flush().expect("the peer is there");
        }
    }
    sender.flush().expect("the peer is there");
}

fn receive_all(receiver: &mut dyn Receiver, frames: u64, room: &AtomicU64) {
    let mut next = 0;
    while next < frames {
        receiver.wait(None);
        room.fetch_add(1, Ordering::Release);
        let deliver = &mut |route: Route, frame: Frame<'_>| {
            assert_eq!(route.token.0, next);
            assert!(frame.body.len() == 600 && frame.body.iter().all(|byte| *byte == next as u8));
            next += 1;
        };
        receiver.poll(7, deliver).expect("the peer is there");
    }
}

#[test]
fn each_half_may_have_a_thread_of_its_own() {
    const FRAMES: u64 = 20_000;
    let (left, right) = narrow(Checksums::Crc32c);
    let done = AtomicU64::new(0);
    thread::scope(|scope| {
        for End { sender, mut receiver } in [left, right] {
            let room = Arc::new(AtomicU64::new(0));
            let (told, done) = (Arc::clone(&room), &done);
            scope.spawn(move || {
                receive_all(&mut *receiver, FRAMES, &told);
                done.fetch_add(1, Ordering::Relaxed);
                // What this end sent last may not have fitted yet.
                while done.load(Ordering::Relaxed) < 2 {
                    let _ = receiver.poll(0, &mut |_, _| {});
                    thread::yield_now();
                }
            });
            scope.spawn(move || send_all(sender, FRAMES, &room));
        }
    });
}

/// Fills the socket. How many frames went.
fn fill(sender: &mut dyn Sender) -> u64 {
    let mut sent = 0;
    while let Ok(room) = sender.begin(route(sent), 1_000) {
        room.fill(1);
        sender.commit(1_000);
        sent += 1;
    }
    sent
}

#[test]
fn who_closes_and_waits_is_heard_through_a_full_socket_and_who_does_not_is_cut() {
    for waits in [true, false] {
        let (mut near, mut far) = narrow(Checksums::Without);
        let sent = fill(&mut *near.sender);
        let limit = if waits { Duration::from_secs(60) } else { Duration::ZERO };
        let closing = thread::spawn(move || {
            near.sender.close_within(limit);
            drop(near);
        });
        if !waits {
            closing.join().expect("it does not panic");
        }
        let (mut got, mut end) = (0, Ok(0));
        while end.is_ok() {
            far.receiver.wait(None);
            end = far.receiver.poll(9, &mut |_, _| got += 1);
        }
        if waits {
            assert_eq!((got, end), (sent, Err(LinkError::Closed)));
        } else {
            assert!(got < sent && end == Err(LinkError::PeerDied));
        }
    }
}

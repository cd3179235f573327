//! An impaired link, used as any link is: by waiting and by its descriptor.
#![cfg(not(loom))]

use core::time::Duration;
use quintet_contract::{Address, Kind, LinkInfo, Token};
use quintet_link::{Checksums, End, Impairment, LinkError, Route, impaired, in_process_pair, over_stream};
use rustix::event::{PollFd, PollFlags, poll};

fn pair(impairment: Impairment) -> (End, End) {
    let (left, right) = in_process_pair().expect("the system gives two event descriptors");
    (left, impaired(right, impairment, 42).expect("a timer"))
}

fn send(end: &mut End, numbers: std::ops::Range<u64>) {
    for number in numbers {
        let token = Token(number);
        let route = Route { from: Address::new(1, 2), to: Address::new(3, 4), kind: Kind(0xf0), token };
        end.sender.begin(route, 8).expect("room").copy_from_slice(&number.to_le_bytes());
        end.sender.commit(8);
    }
    end.sender.flush().expect("the peer is there");
}

/// Everything that comes until the peer's farewell.
fn receive_all(end: &mut End) -> Vec<u64> {
    let mut numbers = Vec::new();
    loop {
        match end.receiver.poll(7, &mut |route, _| numbers.push(route.token.0)) {
            Ok(_) => end.receiver.wait(None),
            Err(error) => {
                assert_eq!(error, LinkError::Closed);
                return numbers;
            }
        }
    }
}

const LATE: Impairment = Impairment {
    delay: Duration::from_millis(2),
    jitter: Duration::from_millis(2),
    drop_per_million: 0,
    duplicate_per_million: 0,
    reorder_per_million: 0,
    reorder_by: Duration::ZERO,
    bytes_per_second: None,
    queue_bytes: None,
};

#[test]
fn late_frames_end_a_wait_when_they_are_due() {
    let (mut left, mut right) = pair(LATE);
    send(&mut left, 0..50);
    let mut numbers = Vec::new();
    while numbers.len() < 50 {
        right.receiver.wait(None);
        right.receiver.poll(100, &mut |route, _| numbers.push(route.token.0)).expect("the peer is there");
    }
    assert_eq!(numbers, (0..50).collect::<Vec<u64>>());
}

#[test]
fn late_frames_make_the_descriptor_readable_when_they_are_due() {
    let (mut left, mut right) = pair(LATE);
    send(&mut left, 0..50);
    let mut numbers = Vec::new();
    while numbers.len() < 50 {
        if right.receiver.arm() {
            let fd = right.receiver.fd();
            poll(&mut [PollFd::new(&fd, PollFlags::IN)], None).expect("poll");
        }
        right.receiver.disarm();
        right.receiver.poll(100, &mut |route, _| numbers.push(route.token.0)).expect("the peer is there");
    }
    assert_eq!(numbers, (0..50).collect::<Vec<u64>>());
}

#[test]
fn the_same_seed_loses_the_same_frames() {
    let survivors = || {
        let (mut left, mut right) = pair(Impairment { drop_per_million: 300_000, ..Impairment::default() });
        send(&mut left, 0..1_000);
        drop(left);
        receive_all(&mut right)
    };
    let first = survivors();
    assert!((600..800).contains(&first.len()), "{} of 1000 survived", first.len());
    assert_eq!(first, survivors());
}

#[test]
fn what_was_under_way_comes_before_the_farewell() {
    let (mut left, mut right) =
        pair(Impairment { delay: Duration::from_secs(3_600), ..Impairment::default() });
    send(&mut left, 0..10);
    assert_eq!(right.receiver.poll(100, &mut |_, _| {}), Ok(0));
    drop(left);
    assert_eq!(receive_all(&mut right), (0..10).collect::<Vec<u64>>());
}

#[test]
fn a_link_made_worse_says_so() {
    let fair = pair(LATE).1.sender.info();
    assert!(!fair.loses_frames, "a late frame is not lost");
    for worse in [
        Impairment { drop_per_million: 1, ..LATE },
        Impairment { duplicate_per_million: 1, ..LATE },
        Impairment { reorder_per_million: 1, ..LATE },
    ] {
        assert_eq!(pair(worse).1.sender.info(), LinkInfo { loses_frames: true, ..fair });
    }
}

#[test]
fn a_link_made_worse_can_be_cut() {
    let (near, far) = std::os::unix::net::UnixStream::pair().expect("two sockets");
    let [mut near, mut far] =
        [near, far].map(|socket| over_stream(socket.into(), Checksums::Without).expect("descriptors"));
    near = impaired(near, LATE, 42).expect("a timer");
    near.sender.abandon();
    drop(near);
    far.receiver.wait(None);
    assert_eq!(far.receiver.poll(1, &mut |_, _| {}), Err(LinkError::PeerDied));
}

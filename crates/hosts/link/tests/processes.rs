//! Two processes over shared memory, one of which dies.
#![cfg(not(loom))]

mod traffic;

use quintet_contract::{Random, SendError};
use quintet_link::{LinkError, shared_memory_connect};
use quintet_testbed::argument;
use std::time::Duration;
use traffic::{LONGEST_BULK, Lengths, start};

/// Frames of all kinds, bulk in pieces among them.
const MIXED: Lengths = Lengths { short: 200, long: 5_000, bulk: LONGEST_BULK as u64 };

/// As a child: sends numbered frames and reads what comes, for ever.
#[test]
fn a_peer_killed_in_traffic_leaves_whole_frames_only() {
    if let Some(path) = argument() {
        let mut end = shared_memory_connect(path).expect("connected");
        let (mut sent, mut read_next) = (0, 0);
        loop {
            match MIXED.send(&mut *end.sender, sent) {
                Ok(()) => sent += 1,
                Err(SendError::Full) => end.receiver.wait(Some(Duration::from_millis(1))),
                Err(other) => panic!("{other}"),
            }
            end.sender.flush().expect("flushed");
            MIXED.read(&mut end, usize::MAX, &mut read_next).expect("the link is whole");
        }
    }
    let mut random = Random::new(2, 2);
    for _ in 0..15 {
        let (mut end, mut child) = start("a_peer_killed_in_traffic_leaves_whole_frames_only");
        let (mut sent, mut next) = (0, 0);
        let enough = random.below(3_000);
        while next < enough {
            MIXED.read(&mut end, usize::MAX, &mut next).expect("the peer lives");
            if MIXED.send(&mut *end.sender, sent).is_ok() {
                sent += 1;
                end.sender.flush().expect("flushed");
            }
        }
        child.kill().expect("killed");
        let error = loop {
            match MIXED.read(&mut end, usize::MAX, &mut next) {
                Ok(_) => end.receiver.wait(None),
                Err(error) => break error,
            }
        };
        assert_eq!(error, LinkError::PeerDied);
        assert_eq!(MIXED.send(&mut *end.sender, sent), Err(SendError::Unreachable));
    }
}

/// As a child: sends one frame and says nothing more.
#[test]
fn a_death_ends_a_sleep_and_is_seen_on_the_descriptor() {
    if let Some(path) = argument() {
        let mut end = shared_memory_connect(path).expect("connected");
        MIXED.send(&mut *end.sender, 0).expect("room");
        end.sender.flush().expect("flushed");
        loop {
            std::thread::park();
        }
    }
    let (mut end, mut child) = start("a_death_ends_a_sleep_and_is_seen_on_the_descriptor");
    let mut next = 0;
    while next == 0 {
        end.receiver.wait(None);
        MIXED.read(&mut end, usize::MAX, &mut next).expect("the peer lives");
    }
    let waiting = std::thread::spawn(move || {
        end.receiver.wait(None);
        let error = MIXED.read(&mut end, usize::MAX, &mut next).expect_err("the peer is dead");
        (end, error)
    });
    child.kill().expect("killed");
    let (mut end, error) = waiting.join().expect("it does not panic");
    assert_eq!(error, LinkError::PeerDied);
    assert!(!end.receiver.arm(), "nobody should sleep on a dead link");
    end.receiver.disarm();

    let (mut end, mut child) = start("a_death_ends_a_sleep_and_is_seen_on_the_descriptor");
    let mut next = 0;
    while next == 0 {
        end.receiver.wait(None);
        MIXED.read(&mut end, usize::MAX, &mut next).expect("the peer lives");
    }
    assert!(end.receiver.arm());
    child.kill().expect("killed");
    let fd = end.receiver.fd();
    let mut fds = [rustix::event::PollFd::new(&fd, rustix::event::PollFlags::IN)];
    assert_eq!(rustix::event::poll(&mut fds, None), Ok(1));
    end.receiver.disarm();
    assert_eq!(MIXED.read(&mut end, usize::MAX, &mut next), Err(LinkError::PeerDied));
}

/// A reader that only polls, and never waits, learns of a death too.
#[test]
fn a_death_is_seen_by_polling_alone() {
    if let Some(path) = argument() {
        let _end = shared_memory_connect(path).expect("connected");
        // No farewell, as when the process is killed.
        std::process::exit(0);
    }
    let (mut end, _child) = start("a_death_is_seen_by_polling_alone");
    let error = loop {
        if let Err(error) = MIXED.read(&mut end, usize::MAX, &mut 0) {
            break error;
        }
    };
    assert_eq!(error, LinkError::PeerDied);
}

/// As a child: an echo that goes on where it was stopped.
#[test]
fn a_frozen_peer_loses_nothing() {
    if let Some(path) = argument() {
        let mut end = shared_memory_connect(path).expect("connected");
        let (mut next, mut answered) = (0, 0);
        while MIXED.read(&mut end, usize::MAX, &mut next).is_ok() {
            while answered < next && MIXED.send(&mut *end.sender, answered).is_ok() {
                answered += 1;
            }
            end.sender.flush().expect("flushed");
            end.receiver.wait(None);
        }
        return;
    }
    let (mut end, mut child) = start("a_frozen_peer_loses_nothing");
    let (mut sent, mut next) = (0, 0);
    for _ in 0..5 {
        child.freeze().expect("it lives");
        while MIXED.send(&mut *end.sender, sent).is_ok() {
            sent += 1;
        }
        end.sender.flush().expect("flushed");
        child.thaw().expect("it lives");
        while next < sent {
            MIXED.read(&mut end, usize::MAX, &mut next).expect("the peer lives");
            end.receiver.wait(Some(Duration::from_millis(20)));
        }
    }
    drop(end);
    let status = child.wait(Duration::from_secs(20)).expect("waited").expect("it ends by itself");
    assert!(status.success(), "{}", child.output().text());
}

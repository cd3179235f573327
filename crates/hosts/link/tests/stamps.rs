//! What links tell besides frames: when each crossed, if that was asked for, and what the link is.
#![cfg(not(loom))]

#[path = "conformance/pairs.rs"]
mod pairs;

use pairs::{
    checked_pair, impaired_shared_memory_pair, impaired_tcp_pair, in_process, shared_memory_pair, tcp_pair,
    two_packets_pair, unix_pair,
};
use quintet_clock::LiveClock;
use quintet_contract::limits::MAX_BODY_BYTES;
use quintet_contract::{Address, Kind, LinkClass, Stamps, Time, Token};
use quintet_link::{End, Receiver, Route};

const ROUTE: Route =
    Route { from: Address::new(1, 2), to: Address::new(3, 4), kind: Kind(0xf0), token: Token(5) };

/// Sends a frame, stamped or not.
fn send(left: &mut End, body: &[u8], stamped: bool) {
    left.sender.begin(ROUTE, body.len()).expect("room").copy_from_slice(body);
    if stamped {
        left.sender.stamp();
    }
    left.sender.commit(body.len());
    left.sender.flush().expect("the peer is there");
}

/// The next frame's body and stamps.
fn receive(receiver: &mut dyn Receiver) -> (Vec<u8>, Option<Stamps>) {
    let mut received = None;
    while receiver.poll(1, &mut |_, frame| received = Some((frame.body.to_vec(), frame.stamps.copied())))
        == Ok(0)
    {
        receiver.wait(None);
    }
    received.expect("the link holds")
}

#[test]
fn a_frame_is_stamped_at_both_ends_if_its_sender_asks_for_it() {
    for pair in [
        in_process,
        shared_memory_pair,
        impaired_shared_memory_pair,
        impaired_tcp_pair,
        unix_pair,
        tcp_pair,
        checked_pair,
        two_packets_pair,
    ] {
        let (mut left, mut right) = pair();
        let clock = LiveClock::start();
        left.sender.set_clock(clock);
        right.receiver.set_clock(clock);
        let mut last = Time::ZERO;
        for (body, stamped) in [(&b""[..], true), (b"short", false), (&[7; MAX_BODY_BYTES], true)] {
            send(&mut left, body, stamped);
            let (received, stamps) = receive(&mut *right.receiver);
            assert!(received == body && stamps.is_some() == stamped);
            if let Some(Stamps { departed, arrived }) = stamps {
                assert!(last <= departed && departed <= arrived && arrived <= clock.now());
                last = arrived;
            }
        }
    }
}

#[test]
fn a_stamp_asked_for_an_abandoned_frame_is_forgotten() {
    for pair in [
        in_process,
        shared_memory_pair,
        impaired_shared_memory_pair,
        impaired_tcp_pair,
        unix_pair,
        tcp_pair,
        checked_pair,
        two_packets_pair,
    ] {
        let (mut left, mut right) = pair();
        left.sender.begin(ROUTE, 1).expect("room");
        left.sender.stamp();
        send(&mut left, b"another", false);
        assert_eq!(receive(&mut *right.receiver), (b"another".to_vec(), None));
    }
}

#[test]
fn a_link_says_how_far_it_reaches() {
    let class = |(left, right): (End, End)| {
        assert_eq!(left.sender.info(), right.sender.info());
        left.sender.info().class
    };
    assert_eq!(class(in_process()), LinkClass::Process);
    assert_eq!(class(shared_memory_pair()), LinkClass::Machine);
    assert_eq!(class(impaired_shared_memory_pair()), LinkClass::Machine);
    assert_eq!(class(unix_pair()), LinkClass::Machine);
    assert_eq!(class(checked_pair()), LinkClass::Network);
}

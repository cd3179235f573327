//! What every link must do: one suite, run on every implementation.

#![cfg(not(loom))]

mod ends;
mod pairs;
mod tls_pairs;

use bytes::Bytes;
use core::time::Duration;
use ends::{
    PATIENCE, ROUTE, drain, end_of, pattern, readable, readable_within, receive, route, send, send_together,
};
use quintet_contract::limits::MAX_BODY_BYTES;
use quintet_contract::{OwnedFrame, SendError, Token};
use quintet_link::{Buffer, End, LinkError, Receiver, Route, Sender};
use std::collections::VecDeque;
use std::thread;

type Pair = fn() -> (End, End);

macro_rules! conformance {
    ($name:ident, $pair:expr) => {
        mod $name {
            conformance!(@tests $pair,
                frames_arrive_in_order_and_whole,
                random_traffic_arrives_as_it_was_sent,
                a_full_link_says_so_and_has_room_after_a_poll,
                room_wakes_the_end_that_was_refused,
                room_for_a_long_frame_is_told_of_though_a_short_one_went_meanwhile,
                a_second_begin_abandons_the_first,
                a_body_may_be_shorter_than_the_room_asked_for,
                the_longest_body_fits_and_a_longer_one_is_refused,
                bulk_arrives_beside_its_body,
                a_buffer_arrives_and_stays_while_it_is_kept,
                the_longest_bulk_fits_and_a_longer_one_is_refused,
                a_poll_stops_at_its_limit,
                a_wait_ends_at_its_limit,
                a_frame_ends_a_sleep,
                a_waker_rung_before_the_wait_ends_it,
                a_waker_ends_a_sleep,
                an_armed_descriptor_becomes_readable,
                arming_beside_frames_says_do_not_sleep_or_the_descriptor_does,
                closing_is_told_after_the_last_frame,
                closing_ends_a_sleep_and_is_seen_on_the_descriptor,
                sending_to_an_end_that_left_is_refused,
                nothing_is_lost_between_two_threads_that_sleep,
            );
        }
    };
    (@tests $pair:expr, $($test:ident),* $(,)?) => {
        $(#[test] fn $test() { super::$test($pair); })*
    };
}

conformance!(in_process, crate::pairs::in_process);
conformance!(shared_memory, crate::pairs::shared_memory_pair);
conformance!(unix, crate::pairs::unix_pair);
conformance!(tcp, crate::pairs::tcp_pair);
conformance!(tls, crate::tls_pairs::tls_pair);
conformance!(tcp_in_two_packets, crate::pairs::two_packets_pair);
conformance!(stream_with_checksums, crate::pairs::checked_pair);
conformance!(shared_memory_impaired_by_nothing, crate::pairs::impaired_shared_memory_pair);
conformance!(tcp_impaired_by_nothing, crate::pairs::impaired_tcp_pair);
conformance!(tls_impaired_by_nothing, crate::tls_pairs::impaired_tls_pair);

/// Of a burst in many records a poll takes a few: what counts how many come at once is not for this one.
mod tls_in_two_packets {
    conformance!(@tests crate::tls_pairs::two_packets_tls_pair,
        frames_arrive_in_order_and_whole,
        random_traffic_arrives_as_it_was_sent,
        a_full_link_says_so_and_has_room_after_a_poll,
        bulk_arrives_beside_its_body,
        the_longest_bulk_fits_and_a_longer_one_is_refused,
        a_frame_ends_a_sleep,
        nothing_is_lost_between_two_threads_that_sleep,
    );
}

fn frames_arrive_in_order_and_whole(pair: Pair) {
    let (mut left, mut right) = pair();
    for n in 0..100usize {
        send(&mut *left.sender, route(n as u64), &pattern(n, n)).expect("room");
    }
    let frames = receive(&mut left, &mut right, 100);
    for (n, (got, frame)) in frames.into_iter().enumerate() {
        assert_eq!(got, route(n as u64));
        assert_eq!((frame.kind, frame.token), (ROUTE.kind, Token(n as u64)));
        assert_eq!(frame.body, pattern(n, n));
        assert!(frame.bulk.is_empty());
    }
    assert!(drain(&mut *left.receiver).is_empty(), "the other direction is another queue");
}

fn random_traffic_arrives_as_it_was_sent(pair: Pair) {
    let (mut left, mut right) = pair();
    let mut random = quintet_contract::Random::new(1, 1);
    let mut expected = VecDeque::new();
    let max_bulk = left.sender.info().max_bulk_bytes.min(100_000);
    for n in 0..3_000 {
        let longest = [0, 40, 300, 5_000, MAX_BODY_BYTES as u64][random.below(5) as usize];
        let len = random.below(longest + 1);
        let body = pattern(n, len as usize);
        let bulk_len = if random.below(4) == 0 { random.below(max_bulk as u64 + 1) as usize } else { 0 };
        let bulk = Bytes::from(pattern(n + 1, bulk_len));
        loop {
            let sent = if bulk_len == 0 {
                send(&mut *left.sender, route(n as u64), &body)
            } else {
                left.sender.send_bulk(route(n as u64), &body, bulk.clone())
            };
            match sent {
                Ok(()) => break expected.push_back((n as u64, body, bulk)),
                Err(SendError::Full) => {
                    check(&mut expected, receive(&mut left, &mut right, 1));
                    check(&mut expected, drain(&mut *right.receiver));
                }
                Err(other) => panic!("{other}"),
            }
        }
    }
    let rest = expected.len();
    check(&mut expected, receive(&mut left, &mut right, rest));
    assert!(expected.is_empty() && drain(&mut *right.receiver).is_empty());
}

fn check(expected: &mut VecDeque<(u64, Vec<u8>, Bytes)>, got: Vec<(Route, OwnedFrame)>) {
    for (route, frame) in got {
        let (token, body, bulk) = expected.pop_front().expect("was sent");
        assert_eq!(route.token.0, token);
        assert!(frame.body == body && frame.bulk == bulk, "frame {token} changed on its way");
    }
}

/// Sends until there is no room; a link that runs on by itself may make some meanwhile.
fn fill(
    sender: &mut dyn Sender,
    mut send: impl FnMut(&mut dyn Sender, u64) -> Result<(), SendError>,
) -> usize {
    let mut sent = 0;
    loop {
        match send(sender, sent as u64) {
            Ok(()) => sent += 1,
            Err(SendError::Full) if sender.has_room() => {}
            Err(SendError::Full) => return sent,
            Err(other) => panic!("{other}"),
        }
        assert!(sent < 10_000_000, "a link is bounded");
    }
}

fn a_full_link_says_so_and_has_room_after_a_poll(pair: Pair) {
    let (mut left, mut right) = pair();
    assert!(left.sender.has_room());
    for len in [10, 1_000, MAX_BODY_BYTES] {
        let body = pattern(0, len);
        let sent = fill(&mut *left.sender, |sender, n| send(sender, route(n), &body));
        assert!(sent >= 2, "only {sent} frames of {len} bytes fit");
        receive(&mut left, &mut right, sent);
        assert!(left.sender.has_room());
        send(&mut *left.sender, ROUTE, &body).expect("room");
        receive(&mut left, &mut right, 1);
    }
}

fn room_wakes_the_end_that_was_refused(pair: Pair) {
    let (mut left, mut right) = pair();
    let body = pattern(0, 5_000);
    fill(&mut *left.sender, |sender, n| send(sender, route(n), &body));
    let reading = thread::spawn(move || {
        drain(&mut *right.receiver);
        right
    });
    while !left.sender.has_room() {
        left.receiver.wait(None);
    }
    send(&mut *left.sender, ROUTE, &body).expect("room");
    reading.join().expect("it does not panic");
}

fn room_for_a_long_frame_is_told_of_though_a_short_one_went_meanwhile(pair: Pair) {
    let (mut left, mut right) = pair();
    let body = pattern(0, 5_000);
    fill(&mut *left.sender, |sender, n| send(sender, route(n), &body));
    // Into what is left.
    assert!(matches!(send(&mut *left.sender, ROUTE, b"x"), Ok(()) | Err(SendError::Full)));
    assert!(left.receiver.arm());
    assert!(!readable_within(&*left.receiver, Duration::ZERO));
    while !drain(&mut *right.receiver).is_empty() {}
    assert!(readable_within(&*left.receiver, PATIENCE), "whoever sleeps is woken");
    left.receiver.disarm();
    assert!(left.sender.has_room());
}

fn a_second_begin_abandons_the_first(pair: Pair) {
    let (mut left, mut right) = pair();
    left.sender.begin(route(1), 1_000).expect("room").fill(0xaa);
    left.sender.begin(route(2), 3).expect("room").copy_from_slice(b"two");
    left.sender.commit(3);
    left.sender.begin(route(3), 500).expect("room").fill(0xbb);
    left.sender.send_bulk(route(4), b"four", Bytes::from_static(b"bulk")).expect("room");
    let frames = receive(&mut left, &mut right, 2);
    let tokens: Vec<u64> = frames.iter().map(|(route, _)| route.token.0).collect();
    assert_eq!(tokens, [2, 4]);
    assert_eq!(frames[0].1.body, &b"two"[..]);
}

fn a_body_may_be_shorter_than_the_room_asked_for(pair: Pair) {
    let (mut left, mut right) = pair();
    // Often enough that the rests of rooms, all of them written to, lie everywhere in a ring.
    for n in 0..2_000usize {
        let (room, len) = (1 + n * 37 % MAX_BODY_BYTES, n * 37 % 613);
        let room = room.max(len);
        let body = pattern(n, room);
        left.sender.begin(route(n as u64), room).expect("room").copy_from_slice(&body);
        left.sender.commit(len);
        if n % 5 == 0 {
            left.sender.send_bulk(route(n as u64), &body[..len], Bytes::from_static(b"bulk")).expect("room");
        }
        left.sender.flush().expect("the peer is there");
        let frames = drain(&mut *right.receiver);
        assert_eq!(frames.len(), 1 + usize::from(n % 5 == 0));
        assert!(frames.iter().all(|(route, frame)| route.token.0 == n as u64 && frame.body == body[..len]));
    }
}

fn the_longest_body_fits_and_a_longer_one_is_refused(pair: Pair) {
    let (mut left, mut right) = pair();
    let body = pattern(1, MAX_BODY_BYTES);
    for _ in 0..20 {
        send(&mut *left.sender, ROUTE, &body).expect("room");
        left.sender.send_bulk(ROUTE, &body, Bytes::from_static(b"bulk")).expect("room");
        let frames = receive(&mut left, &mut right, 2);
        assert!(frames.iter().all(|(_, frame)| frame.body == body));
    }
    let refused = SendError::TooLong { len: MAX_BODY_BYTES + 1, limit: MAX_BODY_BYTES };
    assert_eq!(left.sender.begin(ROUTE, MAX_BODY_BYTES + 1).expect_err("too long"), refused);
    let long = pattern(1, MAX_BODY_BYTES + 1);
    assert_eq!(left.sender.send_bulk(ROUTE, &long, Bytes::new()), Err(refused));
}

fn bulk_arrives_beside_its_body(pair: Pair) {
    let (mut left, mut right) = pair();
    let mut kept = Vec::new();
    for n in 0..200usize {
        let bulk = Bytes::from(pattern(n, n * 300));
        left.sender.send_bulk(route(n as u64), &pattern(n, 11), bulk).expect("room");
        kept.extend(receive(&mut left, &mut right, 1));
    }
    for (n, (_, frame)) in kept.into_iter().enumerate() {
        assert_eq!(frame.body, pattern(n, 11));
        assert!(frame.bulk == pattern(n, n * 300), "kept bulk {n} changed");
    }
}

fn a_buffer_arrives_and_stays_while_it_is_kept(pair: Pair) {
    let (mut left, mut right) = pair();
    let mut kept = VecDeque::new();
    for n in 0..100usize {
        let mut buffer = Buffer::new(64 * 1024 + n).expect("descriptors and memory");
        buffer.copy_from_slice(&pattern(n, 64 * 1024 + n));
        left.sender.send_bulk(route(n as u64), &pattern(n, 11), buffer.freeze()).expect("room");
        kept.extend(receive(&mut left, &mut right, 1).into_iter().map(|(_, frame)| (n, frame)));
        while kept.len() > n % 30 {
            let (n, frame) = kept.pop_front().expect("it is not empty");
            assert_eq!(frame.body, pattern(n, 11));
            assert!(frame.bulk == pattern(n, 64 * 1024 + n), "kept bulk {n} changed");
        }
    }
}

fn the_longest_bulk_fits_and_a_longer_one_is_refused(pair: Pair) {
    let (mut left, mut right) = pair();
    let most = left.sender.info().max_bulk_bytes;
    if most == usize::MAX {
        return;
    }
    // More than this is taken where it can be lent.
    let limit = most.min(1 << 20);
    let bulk = Bytes::from(pattern(5, limit));
    left.sender.send_bulk(ROUTE, b"head", bulk.clone()).expect("room");
    assert_eq!(receive(&mut left, &mut right, 1)[0].1.bulk, bulk);
    if most == limit {
        let refused = left.sender.send_bulk(ROUTE, b"head", Bytes::from(pattern(5, limit + 1)));
        assert_eq!(refused, Err(SendError::TooLong { len: limit + 1, limit }));
    }
    let sent = fill(&mut *left.sender, |sender, _| sender.send_bulk(ROUTE, b"head", bulk.clone()));
    assert!(sent >= 2);
    receive(&mut left, &mut right, sent);
    assert!(left.sender.has_room());
}

fn a_poll_stops_at_its_limit(pair: Pair) {
    let (mut left, mut right) = pair();
    send_together(&mut *left.sender, 0..5);
    right.receiver.wait(None);
    let mut tokens = Vec::new();
    let mut deliver = |route: Route, _: quintet_contract::Frame<'_>| tokens.push(route.token.0);
    assert_eq!(right.receiver.poll(0, &mut deliver), Ok(0));
    assert_eq!(right.receiver.poll(2, &mut deliver), Ok(2));
    assert!(right.receiver.has_frames());
    assert_eq!(right.receiver.poll(9, &mut deliver), Ok(3));
    assert!(!right.receiver.has_frames());
    assert_eq!(right.receiver.poll(9, &mut deliver), Ok(0));
    assert_eq!(tokens, [0, 1, 2, 3, 4]);
}

fn a_wait_ends_at_its_limit(pair: Pair) {
    let (_left, mut right) = pair();
    right.receiver.wait(Some(Duration::ZERO));
    right.receiver.wait(Some(Duration::from_micros(50)));
    assert!(!right.receiver.has_frames());
}

fn a_frame_ends_a_sleep(pair: Pair) {
    let (mut left, mut right) = pair();
    let waiting = thread::spawn(move || {
        right.receiver.wait(None);
        drain(&mut *right.receiver).len()
    });
    send(&mut *left.sender, ROUTE, b"wake").expect("room");
    assert_eq!(waiting.join().expect("it does not panic"), 1);
}

fn a_waker_rung_before_the_wait_ends_it(pair: Pair) {
    let (_left, mut right) = pair();
    let wake = right.receiver.waker();
    wake();
    right.receiver.wait(None);
    wake();
    wake();
    right.receiver.wait(None);
    assert!(!right.receiver.has_frames());
}

fn a_waker_ends_a_sleep(pair: Pair) {
    let (_left, mut right) = pair();
    let wake = right.receiver.waker();
    let waiting = thread::spawn(move || (0..50).for_each(|_| right.receiver.wait(None)));
    while !waiting.is_finished() {
        wake();
        thread::yield_now();
    }
    waiting.join().expect("it does not panic");
}

fn an_armed_descriptor_becomes_readable(pair: Pair) {
    let (mut left, mut right) = pair();
    for _ in 0..3 {
        assert!(right.receiver.arm());
        assert!(!readable(&*right.receiver));
        send(&mut *left.sender, ROUTE, b"x").expect("room");
        assert!(readable_within(&*right.receiver, PATIENCE));
        right.receiver.disarm();
        assert_eq!(drain(&mut *right.receiver).len(), 1);
        assert!(!readable(&*right.receiver), "disarm drains");
    }
    let wake = right.receiver.waker();
    assert!(right.receiver.arm());
    wake();
    assert!(readable(&*right.receiver), "the waker rings the descriptor too");
    right.receiver.disarm();
    assert!(right.receiver.arm());
    right.receiver.disarm();
}

fn arming_beside_frames_says_do_not_sleep_or_the_descriptor_does(pair: Pair) {
    let (mut left, mut right) = pair();
    send(&mut *left.sender, ROUTE, b"x").expect("room");
    assert!(!right.receiver.arm() || readable_within(&*right.receiver, PATIENCE));
    right.receiver.disarm();
    assert_eq!(drain(&mut *right.receiver).len(), 1);
}

fn closing_is_told_after_the_last_frame(pair: Pair) {
    let (mut left, mut right) = pair();
    send_together(&mut *left.sender, 0..3);
    drop(left);
    right.receiver.wait(None);
    assert_eq!(right.receiver.poll(2, &mut |_, _| {}), Ok(2));
    assert_eq!(right.receiver.poll(2, &mut |_, _| {}), Ok(1));
    for _ in 0..2 {
        assert_eq!(end_of(&mut *right.receiver), LinkError::Closed);
    }
    right.receiver.wait(None);
}

fn closing_ends_a_sleep_and_is_seen_on_the_descriptor(pair: Pair) {
    let (left, mut right) = pair();
    assert!(right.receiver.arm());
    drop(left);
    assert!(readable_within(&*right.receiver, PATIENCE));
    right.receiver.disarm();
    let (left, mut right) = pair();
    let waiting = thread::spawn(move || {
        right.receiver.wait(None);
        right.receiver.poll(1, &mut |_, _| {})
    });
    drop(left);
    assert_eq!(waiting.join().expect("it does not panic"), Err(LinkError::Closed));
}

fn sending_to_an_end_that_left_is_refused(pair: Pair) {
    let (mut left, right) = pair();
    drop(right);
    assert_eq!(end_of(&mut *left.receiver), LinkError::Closed);
    assert_eq!(left.sender.begin(ROUTE, 1).map(|_| ()), Err(SendError::Unreachable));
    assert_eq!(left.sender.send_bulk(ROUTE, b"x", Bytes::from_static(b"y")), Err(SendError::Unreachable));
}

/// Two threads hand a counter to and fro; pauses now and then make both fall asleep.
fn nothing_is_lost_between_two_threads_that_sleep(pair: Pair) {
    const ROUNDS: u64 = 3_000;
    let (mut left, mut right) = pair();
    let echo = thread::spawn(move || {
        for expected in 0..ROUNDS {
            let token = one(&mut *right.receiver);
            assert_eq!(token, expected);
            if expected % 7 == 0 {
                thread::yield_now();
            }
            send(&mut *right.sender, route(token), b"pong").expect("room");
        }
    });
    for n in 0..ROUNDS {
        if n % 5 == 0 {
            thread::yield_now();
        }
        send(&mut *left.sender, route(n), b"ping").expect("room");
        assert_eq!(one(&mut *left.receiver), n);
    }
    echo.join().expect("it does not panic");
}

fn one(receiver: &mut dyn Receiver) -> u64 {
    loop {
        let mut token = None;
        receiver.poll(1, &mut |route, _| token = Some(route.token.0)).expect("the link is whole");
        match token {
            Some(token) => return token,
            None => receiver.wait(None),
        }
    }
}

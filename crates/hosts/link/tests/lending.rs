//! Bulk that is lent: nothing is copied, a view stays what it was whoever dies or closes, and memory is used again only when
//! nobody looks at it.
#![cfg(not(loom))]

mod pair;

use bytes::Bytes;
use pair::{accept, pair};
use quintet_contract::{Address, Kind, Random, SendError, Token};
use quintet_link::{
    Buffer, End, LinkError, Route, SharedMemoryListener, before_fork, bulk_bytes_copied,
    shared_memory_connect,
};
use quintet_testbed::{Child, Program, TempDir, argument};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::io::Read;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

const ROUTE: Route =
    Route { from: Address::new(1, 2), to: Address::new(3, 4), kind: Kind(0xf0), token: Token(7) };
/// The length of a bulk that fills its segment.
const LEN: usize = 128 * 1024;
/// Segments that a peer can be lent at a time.
const PLACES: usize = 16;

/// One test at a time: all of them share the pool and the counter of their process.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A buffer full of this byte.
fn full_of(byte: u8, len: usize) -> Buffer {
    let mut buffer = Buffer::new(len).expect("descriptors and memory");
    buffer.fill(byte);
    buffer
}

fn send(from: &mut End, bulk: Bytes) {
    from.sender.send_bulk(ROUTE, b"body", bulk).expect("room");
    from.sender.flush().expect("the peer is there");
}

fn receive(to: &mut End) -> Bytes {
    let mut bulk = None;
    while bulk.is_none() {
        let mut deliver = |_, frame: quintet_contract::Frame<'_>| {
            assert_eq!(frame.body, b"body");
            bulk = Some(frame.bulk.clone());
        };
        to.receiver.poll(1, &mut deliver).expect("the link is whole");
    }
    bulk.expect("there is one")
}

fn pass(from: &mut End, to: &mut End, bulk: Bytes) -> Bytes {
    send(from, bulk);
    receive(to)
}

fn is_full_of(bulk: &[u8], byte: u8) -> bool {
    bulk.iter().all(|found| *found == byte)
}

#[test]
fn a_buffer_crosses_two_links_and_nothing_is_copied() {
    let _alone = alone();
    let ((mut maker, mut near), (mut far, mut taker)) = (pair(), pair());
    let before = bulk_bytes_copied();
    for round in 0..40 {
        let mut buffer = full_of(round, LEN - usize::from(round));
        buffer[0] = 255;
        let stored = pass(&mut maker, &mut near, buffer.freeze());
        let taken = pass(&mut far, &mut taker, stored);
        assert!(taken.len() == LEN - usize::from(round) && taken[0] == 255 && is_full_of(&taken[1..], round));
        let back = pass(&mut taker, &mut far, taken);
        assert!(is_full_of(&back[1..], round));
    }
    assert_eq!(bulk_bytes_copied(), before);
}

/// Bytes that are copied to pass this on.
fn copied_for((left, right): &mut (End, End), bulk: Bytes) -> usize {
    let before = bulk_bytes_copied();
    let len = bulk.len();
    let view = pass(left, right, bulk);
    assert!(view.len() == len && is_full_of(&view, 3));
    usize::try_from(bulk_bytes_copied() - before).expect("few")
}

#[test]
fn bulk_that_lies_elsewhere_is_copied_once_if_it_is_long() {
    let _alone = alone();
    let mut ends = pair();
    let of = |len: usize| Bytes::from(vec![3; len]);
    assert_eq!(copied_for(&mut ends, of(LEN - 1)), LEN - 1);
    assert_eq!(copied_for(&mut ends, full_of(3, LEN).freeze().slice(1..)), LEN - 1);
    assert_eq!(copied_for(&mut ends, of(4096)), 4096);
    assert_eq!(copied_for(&mut ends, of(4095)), 2 * 4095, "through the ring");
    // To lend a small part would keep all of it.
    let half = full_of(3, 2 * LEN).freeze();
    assert_eq!(copied_for(&mut ends, half.slice(..LEN)), 0);
    assert_eq!(copied_for(&mut ends, half.slice(..LEN - 1)), LEN - 1);
}

#[test]
fn long_bulk_is_lent_whole_and_copied_once_at_most() {
    let _alone = alone();
    let mut ends = pair();
    for len in [(1 << 20) + 1, 5 << 20, 16 << 20, 17 << 20, 40 << 20] {
        for _ in 0..3 {
            assert_eq!(copied_for(&mut ends, full_of(3, len).freeze()), 0, "{len}");
            assert_eq!(copied_for(&mut ends, Bytes::from(vec![3; len])), len, "{len}");
        }
    }
    // What one copy would take too much memory for is cut by its sender, unless it lies where it can be lent.
    let longest = 64 << 20;
    assert_eq!(copied_for(&mut ends, Bytes::from(vec![3; longest])), longest);
    let refused = ends.0.sender.send_bulk(ROUTE, b"body", Bytes::from(vec![3; longest + 1]));
    assert_eq!(refused, Err(SendError::TooLong { len: longest + 1, limit: 1 << 20 }));
    assert_eq!(copied_for(&mut ends, full_of(3, longest + 1).freeze()), 0);
}

#[test]
fn copies_of_long_bulk_take_so_much_memory_at_most() {
    let _alone = alone();
    let (mut left, mut right) = pair();
    let of = |len: usize| Bytes::from(vec![3; len]);
    let kept = [24 << 20, 40 << 20].map(|len| pass(&mut left, &mut right, of(len)));
    let refused = left.sender.send_bulk(ROUTE, b"body", of(2 << 20));
    assert_eq!(refused, Err(SendError::TooLong { len: 2 << 20, limit: 1 << 20 }));
    let before = bulk_bytes_copied();
    pass(&mut left, &mut right, of(1 << 20));
    assert_eq!(bulk_bytes_copied() - before, 2 << 20, "through the ring");
    drop(kept);
    pass(&mut left, &mut right, of(2 << 20));
    assert_eq!(bulk_bytes_copied() - before, 4 << 20, "once, as there is room again");
}

#[test]
fn memory_of_long_bulk_goes_back() {
    let _alone = alone();
    let (mut left, mut right) = pair();
    let before = mapped_bytes();
    let views: Vec<Bytes> =
        (0..10).map(|n| pass(&mut left, &mut right, full_of(n, 20 << 20).freeze())).collect();
    assert!(views.iter().enumerate().all(|(n, view)| is_full_of(view, n as u8)));
    assert!(mapped_bytes() >= before + 2 * (200 << 20), "by its maker and its borrower");
    drop(views);
    left.sender.flush().expect("the peer is there");
    assert!(mapped_bytes() <= before + (64 << 20), "what is kept for the next buffers");
}

/// Bytes of segments that this process has mapped.
fn mapped_bytes() -> usize {
    let maps = std::fs::read_to_string("/proc/self/maps").expect("it is there");
    let ranges = maps.lines().filter(|line| line.contains("quintet-bulk"));
    let bytes = ranges.filter_map(|line| line.split(' ').next()?.split_once('-')).map(|(start, end)| {
        let number = |text| usize::from_str_radix(text, 16).expect("an address");
        number(end) - number(start)
    });
    bytes.sum()
}

#[test]
fn a_buffer_too_long_to_be_kept_takes_the_place_of_no_other() {
    let _alone = alone();
    drop(full_of(7, LEN));
    drop(Buffer::new(65 << 20).expect("descriptors and memory"));
    let again = Buffer::new(LEN).expect("it was kept");
    assert!(is_full_of(&again, 7), "a new one is zeros");
}

#[test]
fn copies_leave_places_for_what_is_not_copied() {
    let _alone = alone();
    let (mut left, mut right) = pair();
    let before = bulk_bytes_copied();
    let copies = PLACES as u64 / 2;
    let mut kept = Vec::new();
    for n in 0..PLACES + 2 {
        kept.push(pass(&mut left, &mut right, Bytes::from(vec![n as u8; LEN])));
    }
    let through_the_ring = 2 * (PLACES as u64 + 2 - copies);
    assert_eq!(bulk_bytes_copied() - before, (copies + through_the_ring) * LEN as u64);
    let before = bulk_bytes_copied();
    for n in PLACES + 2..PLACES + 2 + PLACES / 2 {
        kept.push(pass(&mut left, &mut right, full_of(n as u8, LEN).freeze()));
    }
    assert_eq!(bulk_bytes_copied(), before);
    assert!(kept.iter().enumerate().all(|(n, view)| is_full_of(view, n as u8)));
    kept.clear();
    pass(&mut left, &mut right, Bytes::from(vec![1; LEN]));
    assert_eq!(bulk_bytes_copied() - before, LEN as u64, "places came back");
}

/// Lowers how many descriptors this process may have, and with them the places of all its links.
struct Limited(Rlimit);

impl Limited {
    fn to(descriptors: u64) -> Limited {
        let before = getrlimit(Resource::Nofile);
        let lower = Rlimit { current: Some(descriptors), ..before };
        setrlimit(Resource::Nofile, lower).expect("a lower limit");
        Limited(before)
    }
}

impl Drop for Limited {
    fn drop(&mut self) {
        setrlimit(Resource::Nofile, self.0).expect("as it was");
    }
}

#[test]
fn links_that_lend_nothing_leave_places_to_one_that_does() {
    let _alone = alone();
    // Places for four links' ends, were they given out as links are made.
    let _limited = Limited::to(256);
    let idle: Vec<(End, End)> = (0..12).map(|_| pair()).collect();
    let (mut left, mut right) = pair();
    let before = bulk_bytes_copied();
    let kept: Vec<Bytes> =
        (0..PLACES).map(|n| pass(&mut left, &mut right, full_of(n as u8, LEN).freeze())).collect();
    assert_eq!(bulk_bytes_copied(), before);
    assert!(kept.iter().enumerate().all(|(n, view)| is_full_of(view, n as u8)));
    drop(idle);
}

#[test]
fn a_link_made_when_no_place_was_left_gets_some_once_there_are() {
    let _alone = alone();
    // Places for four ends that use all they may.
    let _limited = Limited::to(256);
    let mut busy = [pair(), pair()];
    let mut kept = Vec::new();
    for n in 0..PLACES {
        let bulk = full_of(n as u8, LEN).freeze();
        for (left, right) in &mut busy {
            kept.push(pass(left, right, bulk.clone()));
            kept.push(pass(right, left, bulk.clone()));
        }
    }
    let mut ends = pair();
    assert_eq!(copied_for(&mut ends, full_of(3, LEN).freeze()), 2 * LEN);
    drop((busy, kept));
    assert_eq!(
        copied_for(&mut ends, full_of(3, LEN).freeze()),
        2 * LEN,
        "by which it is known to be lacking"
    );
    assert_eq!(copied_for(&mut ends, full_of(3, LEN).freeze()), 0);
}

#[test]
fn memory_is_used_again_when_every_borrower_has_let_it_go() {
    let _alone = alone();
    let ((mut maker, mut near), (mut far, mut taker)) = (pair(), pair());
    let buffer = full_of(1, LEN);
    let place = buffer.address();
    let stored = pass(&mut maker, &mut near, buffer.freeze());
    let taken = pass(&mut far, &mut taker, stored);
    // Each of these sees one return more, when it flushes.
    let mut others = Vec::new();
    let mut is_used = |ends: &mut [&mut End]| {
        for end in ends {
            end.sender.flush().expect("the peer is there");
        }
        let buffer = full_of(2, LEN);
        let is_used = buffer.address() != place;
        others.push(buffer);
        is_used
    };
    assert!(is_used(&mut [&mut far, &mut maker]), "the taker has a view");
    assert!(is_full_of(&taken, 1));
    drop(taken);
    assert!(is_used(&mut [&mut maker]), "the one between has not looked");
    assert!(is_used(&mut [&mut far]), "the maker has not looked");
    assert!(!is_used(&mut [&mut maker]), "nobody has it");
}

#[test]
fn more_than_there_are_places_for_is_copied() {
    let _alone = alone();
    let (mut left, mut right) = pair();
    let before = bulk_bytes_copied();
    let views: Vec<Bytes> =
        (0..PLACES + 3).map(|n| pass(&mut left, &mut right, full_of(n as u8, LEN).freeze())).collect();
    assert!(views.iter().enumerate().all(|(n, view)| is_full_of(view, n as u8)));
    assert_eq!(bulk_bytes_copied() - before, 2 * 3 * LEN as u64);
    drop(views);
    pass(&mut left, &mut right, full_of(9, LEN).freeze());
    assert_eq!(bulk_bytes_copied() - before, 2 * 3 * LEN as u64, "places came back");
}

/// Writes all memory that the pool would give to the next buffers.
fn scribble() -> Vec<Buffer> {
    (0..3 * PLACES).map(|_| full_of(0xee, LEN)).collect()
}

#[test]
fn a_view_outlives_its_link() {
    let _alone = alone();
    let (mut left, mut right) = pair();
    let view = pass(&mut left, &mut right, full_of(5, LEN).freeze());
    drop(left);
    drop(scribble());
    assert!(is_full_of(&view, 5));
    drop(right);
    drop(scribble());
    assert!(is_full_of(&view, 5));
}

#[test]
fn a_view_outlives_who_lent_it_on() {
    let _alone = alone();
    for closes_first in [false, true] {
        let ((mut maker, near), (far, mut taker)) = (pair(), pair());
        let (mut near, mut far) = (Some(near), Some(far));
        let stored = pass(&mut maker, near.as_mut().expect("open"), full_of(6, LEN).freeze());
        let taken = pass(far.as_mut().expect("open"), &mut taker, stored);
        if closes_first {
            // It goes on with the maker: the return that it gives must not be taken for the taker's.
            far = None;
            drop(pass(&mut maker, near.as_mut().expect("open"), full_of(7, LEN).freeze()));
            maker.sender.flush().expect("the peer is there");
        } else {
            near = None;
        }
        drop(scribble());
        assert!(is_full_of(&taken, 6), "{closes_first}");
        drop((near, far, maker));
        drop(scribble());
        assert!(is_full_of(&taken, 6), "{closes_first}");
    }
}

/// Buffers go from a maker over one in between to two takers, who keep what they got for a while and then look at it.
#[test]
fn whatever_is_kept_stays_as_it_was_sent() {
    let _alone = alone();
    for seed in 0..20 {
        let mut random = Random::new(seed, 8);
        let (mut maker, mut near) = pair();
        let mut takers = [pair(), pair()];
        let mut kept: Vec<(u8, Bytes)> = Vec::new();
        for round in 0..300u32 {
            let byte = round as u8;
            let len = LEN >> random.below(2);
            let stored = pass(&mut maker, &mut near, full_of(byte, len).freeze());
            for (far, taker) in &mut takers {
                if random.below(2) == 0 {
                    kept.push((byte, pass(far, taker, stored.clone())));
                }
            }
            if random.below(3) == 0 {
                kept.push((byte, stored));
            }
            if random.below(40) == 0 {
                takers[random.below(2) as usize] = pair();
            }
            if random.below(80) == 0 {
                (maker, near) = pair();
            }
            while kept.len() > random.below(24) as usize {
                let (byte, bulk) = kept.swap_remove(random.below(kept.len() as u64) as usize);
                assert!(is_full_of(&bulk, byte), "seed {seed}, round {round}");
            }
        }
    }
}

/// A process of this test's own, connected.
fn child(test: &str) -> (End, Child) {
    let folder = TempDir::new().expect("a folder");
    let path = folder.join("socket");
    let mut listener = SharedMemoryListener::bind(&path).expect("bound");
    let child = Program::this_test(test, &path).expect("this program").spawn().expect("started");
    (accept(&mut listener), child)
}

/// As a child: lends one buffer after the other, and keeps what comes back.
#[test]
fn whoever_is_killed_leaves_views_as_they_were() {
    if let Some(path) = argument() {
        let mut end = shared_memory_connect(path).expect("connected");
        let mut kept = Vec::new();
        for byte in 0.. {
            match end.sender.send_bulk(ROUTE, b"body", full_of(byte as u8, LEN).freeze()) {
                Ok(()) => end.sender.flush().expect("flushed"),
                Err(SendError::Full) => thread::yield_now(),
                Err(other) => panic!("{other}"),
            }
            end.receiver.poll(1, &mut |_, frame| kept.push(frame.bulk.clone())).expect("the peer lives");
            kept.drain(..kept.len().saturating_sub(3));
        }
    }
    let _alone = alone();
    for round in 1..5 {
        let (mut end, mut child) = child("whoever_is_killed_leaves_views_as_they_were");
        let mut views = Vec::new();
        for _ in 0..100 * round {
            let view = receive(&mut end);
            views.push((view[0], view));
            match end.sender.send_bulk(ROUTE, b"body", full_of(1, LEN).freeze()) {
                Ok(()) => end.sender.flush().expect("the peer is there"),
                Err(error) => assert_eq!(error, SendError::Full),
            }
            views.drain(..views.len().saturating_sub(5));
        }
        child.kill().expect("killed");
        let error = loop {
            match end.receiver.poll(1, &mut |_, frame| assert!(is_full_of(frame.bulk, frame.bulk[0]))) {
                Ok(_) => end.receiver.wait(None),
                Err(error) => break error,
            }
        };
        assert_eq!(error, LinkError::PeerDied);
        assert!(views.iter().all(|(byte, view)| is_full_of(view, *byte)));
        drop(end);
        assert!(views.iter().all(|(byte, view)| is_full_of(view, *byte)));
    }
}

#[test]
fn a_forked_child_gives_nothing_back_and_has_no_buffers() {
    let _alone = alone();
    let (mut left, mut right) = pair();
    let buffer = full_of(4, LEN);
    let place = buffer.address();
    let view = pass(&mut left, &mut right, buffer.freeze());
    // SAFETY: the child goes on in this thread alone, takes no lock, and ends at once.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        let has_none = Buffer::new(LEN).is_none();
        drop(view);
        // SAFETY: it ends the child, and does not return.
        unsafe { libc::_exit(i32::from(!has_none)) }
    }
    let mut status = 0;
    // SAFETY: it writes the status, which is this function's.
    assert_eq!(unsafe { libc::waitpid(pid, &raw mut status, 0) }, pid);
    assert_eq!(status, 0);
    left.sender.flush().expect("the peer is there");
    let others = scribble();
    assert!(others.iter().all(|other| other.address() != place), "the child gave the parent's view back");
    assert!(is_full_of(&view, 4));
}

#[test]
fn what_a_forked_child_looks_at_is_not_used_again() {
    let _alone = alone();
    let (mut left, mut right) = pair();
    let view = pass(&mut left, &mut right, full_of(4, LEN).freeze());
    let own = full_of(5, LEN).freeze();
    let (mut told, tells) = std::io::pipe().expect("a pipe");
    before_fork();
    // SAFETY: the child goes on in this thread alone, takes no lock, and ends at once.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        drop(tells);
        let waited = told.read(&mut [0; 1]).is_ok_and(|count| count == 0);
        let as_they_were = is_full_of(&view, 4) && is_full_of(&own, 5);
        // SAFETY: it ends the child, and does not return.
        unsafe { libc::_exit(i32::from(!(waited && as_they_were))) }
    }
    drop((view, own));
    left.sender.flush().expect("the peer is there");
    let others = scribble();
    drop(tells);
    let mut status = 0;
    // SAFETY: it writes the status, which is this function's.
    assert_eq!(unsafe { libc::waitpid(pid, &raw mut status, 0) }, pid);
    assert_eq!(status, 0, "the child saw what came later");
    drop(others);
}

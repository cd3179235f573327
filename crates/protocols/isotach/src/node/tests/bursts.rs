//! What a node tells token managers, at the end of a burst.

use super::*;
use crate::codec::{RECEIVED, read_announcements, read_received};

fn kinds(frames: &[(Address, OwnedFrame)]) -> Vec<(Address, Kind)> {
    frames.iter().map(|(to, frame)| (*to, frame.kind)).collect()
}

#[test]
fn what_a_manager_is_told_in_one_burst_goes_in_two_frames_and_what_is_alone_at_once() {
    let mut node = node();
    let frames = part(&mut node, 1, 1, vec![message(0, b"text")]);
    assert_eq!(kinds(&frames), [(MANAGER, RECEIVED)]);
    let frames = submit(&mut node, 1, vec![message(2, b"away")]);
    assert_eq!(kinds(&frames), [(peer(2), PART), (MANAGER, ANNOUNCE)]);
    for rank in 2..=4 {
        assert_eq!(kinds(&part(&mut node, 1, rank, vec![message(0, b"text")])), []);
        let frames = submit(&mut node, rank, vec![message(2, b"away")]);
        assert_eq!(kinds(&frames), [(peer(2), PART)]);
    }
    let frames = end_burst(&mut node);
    let [(MANAGER, announced), (MANAGER, received)] = &frames[..] else { panic!("{frames:?}") };
    let ranks = |ranks: Vec<Rank>| ranks.into_iter().map(|rank| rank.0).collect::<Vec<_>>();
    let (view, announcements) = read_announcements(&announced.body).expect("they are well formed");
    assert_eq!((announced.kind, view), (ANNOUNCE, View(1)));
    assert_eq!(ranks(announcements.into_iter().map(|one| one.rank).collect()), [2, 3, 4]);
    let (view, entries) = read_received(&received.body).expect("they are well formed");
    assert_eq!((received.kind, view), (RECEIVED, View(1)));
    assert!(entries.iter().all(|(sender, _)| *sender == NodeId(1)));
    assert_eq!(ranks(entries.into_iter().map(|(_, rank)| rank).collect()), [2, 3, 4]);
}

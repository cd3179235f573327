//! Long messages go beside the frames that name them, and are copied nowhere.

use super::*;
use crate::codec::{PLAIN, Plain, Submission};
use crate::limits::{MAX_MESSAGE_BYTES, SHORT_MESSAGE_BYTES};

fn long() -> Bytes {
    Bytes::from(vec![3; SHORT_MESSAGE_BYTES + 1])
}

fn send(to: u16, bytes: &Bytes) -> Operation {
    Operation::Send { to: NodeId(to), handler: 7, bytes: bytes.clone() }
}

fn take(node: &mut Node, from: Address, kind: Kind, body: &[u8], bulk: &Bytes) -> Vec<(Address, OwnedFrame)> {
    let mut out = Effects::default();
    let frame = Frame { bulk, ..Frame::new(kind, Token(1), body) };
    node.handle(Time(1), Input::Frame(from, frame), &mut out);
    out.frames()
}

fn submit_all(node: &mut Node, operations: &[Operation]) -> Vec<(Address, OwnedFrame)> {
    let submission = Submission { operations, view: None };
    take(node, CALLERS, SUBMIT, &encode_to_vec(&submission), &submission.bulk())
}

/// Those of a kind for an address.
fn of_kind(frames: &[(Address, OwnedFrame)], at: Address, kind: Kind) -> Vec<&OwnedFrame> {
    let is_it = |(to, frame): &&(Address, OwnedFrame)| *to == at && frame.kind == kind;
    frames.iter().filter(is_it).map(|(_, frame)| frame).collect()
}

#[test]
fn a_long_message_to_several_is_one_bulk_from_its_program_to_all() {
    let (mut node, long) = (node(), long());
    let frames = submit_all(&mut node, &[send(0, &long), message(0, b"short"), send(1, &long)]);
    let [to_other] = of_kind(&frames, peer(1), PART)[..] else { panic!("one has left: {frames:?}") };
    assert!(to_other.bulk.as_ptr() == long.as_ptr() && to_other.body.len() < 32);
    let part = Part::of(to_other.borrow()).expect("it is one");
    assert_eq!(part.operations[..], [send(1, &long)]);
    let frames = markers(&mut node, &[(1, 0, 1)]);
    let [first, second] = of_kind(&frames, CALLERS, DELIVERED)[..] else { panic!("two: {frames:?}") };
    assert!(first.bulk.as_ptr() == long.as_ptr() && second.bulk.is_empty());
    let texts: Vec<Vec<u8>> = told(&frames).into_iter().map(|(_, text)| text).collect();
    assert_eq!(texts, [long.to_vec(), b"short".to_vec()]);
}

#[test]
fn of_several_long_messages_the_longest_goes_beside_the_frame_and_all_come_whole() {
    let (mut node, mut other) = (node(), node_of(1));
    let messages = [17_000, 18_000, 18_000].map(|bytes| Bytes::from(vec![9; bytes]));
    let frames = submit_all(&mut node, &messages.each_ref().map(|bytes| send(1, bytes)));
    let [part] = of_kind(&frames, peer(1), PART)[..] else { panic!("one has left: {frames:?}") };
    assert_eq!((part.bulk.as_ptr(), part.bulk.len()), (messages[1].as_ptr(), 18_000));
    take(&mut other, peer(0), PART, &part.body, &part.bulk);
    let texts: Vec<Vec<u8>> =
        told(&markers(&mut other, &[(1, 0, 1)])).into_iter().map(|(_, text)| text).collect();
    assert_eq!(texts, messages.map(|bytes| bytes.to_vec()));
}

#[test]
fn a_long_plain_message_is_one_bulk_from_its_program_to_the_other() {
    let (mut node, mut other, long) = (node(), node_of(1), long());
    let body = encode_to_vec(&Plain { node: NodeId(1), handler: 7, bytes: &long }.beside(&long));
    let frames = take(&mut node, CALLERS, PLAIN, &body, &long);
    let [sent] = of_kind(&frames, peer(1), PLAIN)[..] else { panic!("it has left: {frames:?}") };
    assert_eq!(sent.bulk.as_ptr(), long.as_ptr());
    let frames = take(&mut other, peer(0), PLAIN, &sent.body, &sent.bulk);
    let [came] = of_kind(&frames, CALLERS, PLAIN)[..] else { panic!("it has come: {frames:?}") };
    assert_eq!(came.bulk.as_ptr(), long.as_ptr());
    let came = Plain::of(came.borrow()).expect("it is one");
    assert_eq!((came.node, came.bytes), (ME, &long[..]));
}

#[test]
fn a_part_whose_bulk_is_missing_too_long_or_nobodys_has_its_sender_cut_off() {
    let long = long();
    let body = |operations: &[Operation]| {
        encode_to_vec(&Part { view: View(1), rank: Rank(1), operations: operations.into() })
    };
    let too_long = Bytes::from(vec![0; MAX_MESSAGE_BYTES + 1]);
    let parts = [
        (body(&[send(0, &long)]), Bytes::new()),
        (body(&[send(0, &long)]), too_long),
        (body(&[message(0, b"short")]), long.clone()),
    ];
    for (body, bulk) in parts {
        let mut node = node();
        take(&mut node, peer(1), PART, &body, &bulk);
        assert_eq!(node.halt(), Some(Halt { node: NodeId(1), cause: HaltCause::Misbehaved }));
    }
    let mut node = node();
    let body = encode_to_vec(&Plain { node: NodeId(1), handler: 7, bytes: b"here, too" });
    take(&mut node, peer(1), PLAIN, &body, &long);
    assert_eq!(node.halt(), Some(Halt { node: NodeId(1), cause: HaltCause::Misbehaved }));
}

#[test]
fn a_submission_whose_bulk_is_nobodys_is_refused_and_the_node_goes_on() {
    let mut node = node();
    let body = encode_to_vec(&Submission { operations: &[message(1, b"short")], view: None });
    assert_eq!(told(&take(&mut node, CALLERS, SUBMIT, &body, &long())), [(REFUSED, vec![])]);
    assert_eq!(node.halt(), None);
}

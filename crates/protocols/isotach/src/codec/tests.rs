use super::*;
use crate::fuzzing;
use crate::limits::{MAX_BATCH_BYTES, MAX_OPERATIONS};
use proptest::prelude::*;
use quintet_contract::NodeId;
use quintet_wire::{Decode, DecodeError};

#[test]
fn every_kind_has_a_name_and_one_class() {
    for kind in (SUBMIT.0..=PROGRAM_STATE.0).map(Kind) {
        assert!(name_of(kind).is_some(), "{}", kind.0);
        assert!(!(is_request(kind) && is_answer(kind)), "{}", kind.0);
        let between = [PART, RECEIVED, EXECUTED, ANNOUNCE, TOKEN, MARKERS, HALTED, CUT, FAREWELL];
        let has_view = between.contains(&kind);
        let frame = Frame::new(kind, quintet_contract::Token(0), &[7, 0, 0, 0, 1]);
        assert_eq!(view_of(frame), has_view.then_some(View(7)));
    }
    assert_eq!((name_of(Kind(SUBMIT.0 - 1)), name_of(Kind(PROGRAM_STATE.0 + 1))), (None, None));
}

#[test]
fn receivers_are_some_and_ascend() {
    let body = |receivers: &[u16]| {
        let nodes = receivers.iter().flat_map(|node| node.to_le_bytes());
        let count = u16::try_from(receivers.len()).expect("few").to_le_bytes();
        [[1, 0, 0, 0].to_vec(), 5u64.to_le_bytes().to_vec(), count.to_vec(), nodes.collect()].concat()
    };
    let read = read_announcements(&body(&[1, 4])).expect("it is one");
    assert_eq!(read.1[0].receivers, [NodeId(1), NodeId(4)]);
    for wrong in [&[][..], &[4, 1], &[1, 1]] {
        assert!(matches!(read_announcements(&body(wrong)), Err(DecodeError::Invalid { .. })), "{wrong:?}");
    }
}

#[test]
fn what_is_too_much_is_refused_before_it_is_read() {
    let many = [&[1, 0, 0, 0][..], &vec![0; MAX_BATCH_BYTES + 1]].concat();
    assert!(matches!(read_markers(&many), Err(DecodeError::TooLarge { field: "bytes of a batch", .. })));
    let operations = (MAX_OPERATIONS as u16 + 1).to_le_bytes();
    let body = [&[1, 0, 0, 0][..], &[0; 8], &operations].concat();
    assert!(matches!(
        Part::decode_all(&body),
        Err(DecodeError::TooLarge { field: "number of operations", .. })
    ));
    let none = [&[1, 0, 0, 0][..], &[0; 8], &[0, 0]].concat();
    assert!(matches!(Part::decode_all(&none), Err(DecodeError::Invalid { .. })), "a part does something");
    let long = Refusal::Misuse("é".repeat(2000));
    let written = quintet_wire::encode_to_vec(&long);
    assert!(written.len() < 1100 && Refusal::decode_all(&written).is_ok(), "cut between characters");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever is cut off or changed of a good body is read again as it is, or refused.
    #[test]
    fn damaged_bodies_never_panic(which in 0usize..34, cut in 0usize..200, at in 0usize..200, byte: u8) {
        let (_, mut body) = fuzzing::bodies().swap_remove(which);
        body.truncate(cut);
        if let Some(damaged) = body.get_mut(at) {
            *damaged = byte;
        }
        fuzzing::decode(&body);
    }

    #[test]
    fn a_node_and_a_manager_bear_anything(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        fuzzing::drive(&bytes);
    }
}

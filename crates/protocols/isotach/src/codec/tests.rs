use super::*;
use crate::fuzzing;
use crate::limits::{
    ANNOUNCEMENT_BYTES, FULL_BATCH_BYTES, MAX_BATCH_BYTES, MAX_NEWCOMERS, MAX_NODES, MAX_OPERATIONS,
    MAX_TOPOLOGY_BYTES, MAX_VALUE_BYTES,
};
use crate::topology::tests::full;
use crate::{Joined, Members, Newcomers, Pulse, Rank, Variable};
use proptest::prelude::*;
use quintet_contract::limits::MAX_PAYLOAD_BYTES;
use quintet_contract::{Bytes, NodeId};
use quintet_wire::{Decode, DecodeError, encode_to_vec};
use std::collections::BTreeMap;

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
    assert_eq!(read.1[0].receivers[..], [NodeId(1), NodeId(4)]);
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
    let part = |body: &[u8]| Part::of(Frame::new(PART, quintet_contract::Token(1), body));
    assert!(matches!(part(&body), Err(DecodeError::TooLarge { field: "number of operations", .. })));
    let none = [&[1, 0, 0, 0][..], &[0; 8], &[0, 0]].concat();
    assert!(matches!(part(&none), Err(DecodeError::Invalid { .. })), "a part does something");
    let long = Refusal::Misuse("é".repeat(2000));
    let written = encode_to_vec(&long);
    assert!(written.len() < 1100 && Refusal::decode_all(&written).is_ok(), "cut between characters");
}

/// The first nodes.
fn nodes(count: usize) -> Vec<NodeId> {
    (0..).map(NodeId).take(count).collect()
}

#[test]
fn what_all_nodes_that_there_may_be_receive_goes_in_a_frame_of_its_own() {
    let announced = |count| Announced { rank: Rank(5), receivers: nodes(count).into() };
    let length = ANNOUNCEMENT_BYTES + 2 * MAX_NODES;
    let mut batch = Batch::default();
    assert!(length > FULL_BATCH_BYTES && batch.has_room(length), "there is nothing in it");
    write_announced(&announced(1), batch.sink());
    let left = FULL_BATCH_BYTES - batch.sink().len();
    assert_eq!([left, left + 1, length].map(|bytes| batch.has_room(bytes)), [true, false, false]);
    batch.clear();
    write_announced(&announced(MAX_NODES), batch.sink());
    assert!(!batch.has_room(1), "it goes alone");
    let body = encode_to_vec(&batch.behind(View(7)));
    batch.clear();
    assert!(body.len() <= MAX_PAYLOAD_BYTES);
    assert_eq!(read_announcements(&body), Ok((View(7), vec![announced(MAX_NODES)])));
    write_announced(&announced(MAX_NODES + 1), batch.sink());
    let too_many = read_announcements(&encode_to_vec(&batch.behind(View(7))));
    assert!(matches!(too_many, Err(DecodeError::Invalid { field: "number of receivers", .. })));
}

#[test]
fn a_token_for_all_nodes_that_there_may_be_is_read() {
    let ordered = Ordered { pulse: Pulse(9), sender: NodeId(3), rank: Rank(2) };
    let token = Token {
        view: View(7),
        number: 8,
        is_complete: true,
        entries: vec![(ordered, nodes(MAX_NODES).into())],
    };
    let mut body = [&7u32.to_le_bytes()[..], &8u64.to_le_bytes(), &[1]].concat();
    let front = body.len();
    write_entry(&ordered, &nodes(MAX_NODES), &mut body);
    assert_eq!((body.len() - front, read_token(&body)), (ANNOUNCEMENT_BYTES + 2 * MAX_NODES, Ok(token)));
    body.resize(front + MAX_BATCH_BYTES + 1, 0);
    assert!(matches!(read_token(&body), Err(DecodeError::TooLarge { field: "bytes of a batch", .. })));
}

#[test]
fn a_copy_with_places_of_all_nodes_that_there_may_be_is_read() {
    let variable = |reserved_by| Copied {
        variable: Variable(1),
        held: CopyState::Value(Bytes::from(vec![7; MAX_VALUE_BYTES])),
        reserved_by,
    };
    let said = |copied| {
        let step = TransferStep::Variables { before: View(1), is_complete: true, copies: vec![copied] };
        Transfer { view: View(2), step }
    };
    let full = said(variable(nodes(MAX_NODES)));
    let body = encode_to_vec(&full);
    assert!(body.len() <= MAX_PAYLOAD_BYTES);
    assert_eq!(Transfer::decode_all(&body), Ok(full));
    let too_many = encode_to_vec(&said(variable(nodes(MAX_NODES + 1))));
    assert!(matches!(Transfer::decode_all(&too_many), Err(DecodeError::Invalid { .. })));
}

#[test]
fn a_view_with_all_that_there_may_be_is_told_in_a_frame() {
    let topology = full(|index| index - 1);
    assert!(topology.to_text().len() <= MAX_TOPOLOGY_BYTES);
    let newcomers = |count: usize| -> Newcomers {
        nodes(count).into_iter().map(|node| (node, Joined { view: View(3), life: u64::MAX })).collect()
    };
    let members =
        Members::new(topology.clone(), newcomers(MAX_NEWCOMERS)).expect("no more than there may be");
    let step = AgreeStep::Promise { ballot: Ballot::default(), accepted: Some((Ballot::default(), members)) };
    let told = Agree { base: View(1), step };
    let body = encode_to_vec(&told);
    assert!(body.len() <= MAX_PAYLOAD_BYTES);
    assert_eq!(Agree::decode_all(&body), Ok(told));
    assert_eq!(Members::new(topology.clone(), newcomers(MAX_NEWCOMERS + 1)), None);
    let text = topology.to_text();
    let next = NextView { view: View(4), topology: &text };
    let body = encode_to_vec(&NextMembers { next, newcomers: newcomers(MAX_NEWCOMERS + 1) });
    assert!(matches!(NextMembers::decode_all(&body), Err(DecodeError::Invalid { .. })));
}

#[test]
fn all_nodes_are_suspected_in_a_frame_and_some_ask_to_be_let_in() {
    let told = |step| encode_to_vec(&Agree { base: View(1), step });
    let asking = |count| nodes(count).into_iter().map(|node| (node, 1)).collect::<BTreeMap<_, _>>();
    for step in [AgreeStep::Suspects(nodes(MAX_NODES)), AgreeStep::Joins(asking(MAX_NEWCOMERS))] {
        let body = told(step.clone());
        assert!(body.len() <= MAX_PAYLOAD_BYTES);
        assert_eq!(Agree::decode_all(&body), Ok(Agree { base: View(1), step }));
    }
    for step in [AgreeStep::Suspects(nodes(MAX_NODES + 1)), AgreeStep::Joins(asking(MAX_NEWCOMERS + 1))] {
        let refused = Agree::decode_all(&told(step));
        assert!(matches!(refused, Err(DecodeError::Invalid { field: "number of nodes", .. })));
    }
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

use super::{Answer, News, Request, Suspect, Suspicion};
use crate::agreement::{Message, What};
use crate::change::{Change, Entry, Joiner};
use crate::kept_space::{MAX_KEPT_SPACES, NewSpace};
use crate::refusal::{Reason, Refusal};
use crate::replacement::Replacement;
use crate::rights::{MAX_ALLOWED, NewRights};
use crate::view::{KEPT_CHANGES, MAX_MEMBERS, View};
use proptest::prelude::*;
use quintet_contract::limits::MAX_PAYLOAD_BYTES;
use quintet_contract::{Identity, Incarnation, NodeId, Span};
use quintet_raft::MAX_NUMBER;
use quintet_wire::{Encode, encode_to_vec};
use std::collections::BTreeSet;

fn joiner(node: u16, name: String) -> Joiner {
    let mut identity = [0; 32];
    identity[..2].copy_from_slice(&node.to_le_bytes());
    Joiner {
        node: NodeId(node),
        name,
        identity: Identity(identity),
        address: "x:1".to_owned(),
        grants: 0,
        ticket: node.into(),
    }
}

/// The longest view that there can be.
fn longest() -> View {
    let mut view = View::default();
    for node in 0..MAX_MEMBERS {
        let node = u16::try_from(node).expect("a few");
        let change = Change::Join(joiner(node, format!("{node:064}")));
        assert!(view.apply(&Entry { term: 1, change }));
    }
    assert_eq!(KEPT_CHANGES, MAX_MEMBERS, "and all of them are kept changes");
    for slot in 0..MAX_KEPT_SPACES {
        // Not as changes: those of machines that come are longer.
        view.add_space(&NewSpace {
            name: format!("{slot:063}"),
            replicas: (0..5).map(NodeId).collect(),
            max_bytes: u64::MAX,
            max_tuples: u64::MAX,
            allow: Some(view.members.keys().copied().take(MAX_ALLOWED).collect()),
        });
    }
    view
}

#[test]
fn the_longest_view_fits_a_frame() {
    let view = longest();
    let what = What::Snapshot { index: 1, index_term: 1, round: 1, view: view.clone() };
    let message = Message { incarnation: Incarnation(1), term: 1, what };
    assert!(message.encoded_len() < MAX_PAYLOAD_BYTES, "{}", message.encoded_len());
    let suspect = Suspect { node: NodeId(u16::MAX), cause: Suspicion::Silent };
    let answer = Answer::Current(Box::new(view), vec![suspect; MAX_MEMBERS]);
    assert!(answer.encoded_len() < MAX_PAYLOAD_BYTES, "{}", answer.encoded_len());
    let bytes = encode_to_vec(&answer);
    assert_eq!(Answer::decode(answer.kind(), &bytes), Ok(answer));
}

#[test]
fn requests_and_answers_come_back() {
    let requests = [
        Request::Join {
            cluster: u128::MAX,
            name: "a".to_owned(),
            identity: Identity([3; 32]),
            address: "x:1".to_owned(),
            grants: 0,
            ticket: 9,
        },
        Request::Leave { node: NodeId(65_535) },
        Request::AddSpace(NewSpace {
            name: "orders".to_owned(),
            replicas: vec![NodeId(1), NodeId(65_535), NodeId(0)],
            max_bytes: u64::MAX,
            max_tuples: 7,
            allow: None,
        }),
        Request::AddSpace(NewSpace {
            name: "theirs".to_owned(),
            replicas: vec![NodeId(1)],
            max_bytes: 1,
            max_tuples: 7,
            allow: Some([NodeId(0), NodeId(65_535)].into()),
        }),
        Request::RemoveSpace { name: "orders".to_owned(), number: u64::MAX },
        Request::ReplaceReplica(Replacement {
            name: "orders".to_owned(),
            number: 7,
            from: NodeId(0),
            to: NodeId(65_535),
        }),
        Request::ReplicaReady { name: "orders".to_owned(), since: u64::MAX },
        Request::SetRights(NewRights {
            name: "orders".to_owned(),
            number: 7,
            granted: [NodeId(0), NodeId(65_535)].into(),
            revoked: BTreeSet::new(),
        }),
        Request::View { agreed: true },
        Request::View { agreed: false },
        Request::Watch { view: 1, news: u64::MAX, wait: Span(3) },
    ];
    for request in requests {
        let bytes = encode_to_vec(&request);
        assert_eq!(Request::decode(request.kind(), &bytes), Ok(request));
    }
    let suspects =
        [Suspicion::Silent, Suspicion::Died, Suspicion::Closed, Suspicion::Misbehaved, Suspicion::Refused]
            .map(|cause| Suspect { node: NodeId(4), cause });
    let answers = [
        Answer::Joined { node: NodeId(3), view: 8 },
        Answer::Done,
        Answer::Changed { view: 3, change: Change::Revive(NodeId(1), Incarnation(4)) },
        Answer::News(News { number: 2, is_stale: true, stale_for: Span(5), suspects: suspects.to_vec() }),
        Answer::Error(Refusal::new(Reason::NameTaken, "é".repeat(600))),
    ];
    for answer in answers {
        let bytes = encode_to_vec(&answer);
        assert_eq!(Answer::decode(answer.kind(), &bytes), Ok(answer.clone()));
        let longer = [&bytes[..], &[0]].concat();
        assert!(Answer::decode(answer.kind(), &longer).is_err(), "nothing is left over");
    }
}

#[test]
fn numbers_that_could_overflow_are_refused() {
    for term in [MAX_NUMBER - 1, MAX_NUMBER, u64::MAX] {
        let message = Message {
            incarnation: Incarnation(1),
            term,
            what: What::Vote { asks_first: false, last: 1, last_term: 1, committed: 1 },
        };
        let read = Message::decode(message.kind(), &encode_to_vec(&message));
        assert_eq!(read.is_ok(), term < MAX_NUMBER);
    }
}

#[test]
fn a_view_whose_parts_do_not_fit_is_refused() {
    let good = encode_to_vec(&Answer::Current(Box::new(longest()), Vec::new()));
    let decode = |bytes: &[u8]| Answer::decode(super::CURRENT, bytes);
    assert!(decode(&good).is_ok());
    let with = |at: usize, value: u8| {
        let mut bytes = good.clone();
        bytes[at] = value;
        decode(&bytes)
    };
    assert!(with(18, 2).is_err(), "more numbers than there are");
    assert!(with(16, 5).is_err(), "members with numbers that were never given");
    assert!(with(21, 1).is_err(), "more members than may be");
    assert!(with(0, 3).is_err(), "more changes than views");
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(mut bytes: Vec<u8>, kind in 0u8..17) {
        bytes.insert(0, kind);
        crate::fuzzing::decode(&bytes);
    }

    #[test]
    fn damaged_inputs_break_no_member(which in 0usize..2, at: proptest::sample::Index, value: u8, cut: proptest::sample::Index) {
        let (_, mut bytes) = crate::fuzzing::seeds().swap_remove(which);
        let place = at.index(bytes.len());
        bytes[place] = value;
        crate::fuzzing::drive(&bytes);
        bytes.truncate(cut.index(bytes.len()));
        crate::fuzzing::drive(&bytes);
    }
}

//! Who may do what with a space that is for some machines.

use super::*;
use crate::kept_space::NewSpace;
use crate::replacement::Replacement;
use crate::rights::NewRights;
use std::collections::BTreeSet;

#[test]
fn a_space_that_is_for_some_machines_is_removed_moved_and_given_to_others_by_these() {
    let mut driven = founder(Vec::new());
    let five = Identity([5; 32]);
    ask(&mut driven, &join("five", five, "b:1"));
    let own = driven.member.config.node;
    let new = NewSpace {
        name: "orders".to_owned(),
        replicas: vec![NodeId(5)],
        max_bytes: 1,
        max_tuples: 1,
        allow: Some([own].into()),
    };
    ask(&mut driven, &Request::AddSpace(new));
    assert_eq!(answered(&driven), Some(Answer::Done));
    let number = driven.member.view().expect("it is open").spaces["orders"].number;
    let (name, fifth) = ("orders".to_owned(), BTreeSet::from([NodeId(5)]));
    let remove = Request::RemoveSpace { name: name.clone(), number };
    let to_itself =
        Request::ReplaceReplica(Replacement { name: name.clone(), number, from: own, to: NodeId(5) });
    let give = |granted: &BTreeSet<NodeId>, revoked| {
        Request::SetRights(NewRights { name: name.clone(), number, granted: granted.clone(), revoked })
    };
    let member = Address { node: NodeId(5), port: PORT_MEMBERSHIP };
    let other = |driven: &mut Driven, from: Address, request: &Request| {
        let body = encode_to_vec(request);
        driven.give(Input::Frame(from, Frame::new(request.kind(), Token(9), &body)));
        let (_, frame) = driven.said.iter().rev().find(|(to, _)| *to == from).expect("it is answered");
        Answer::decode(frame.kind, &frame.body).expect("it can be read")
    };
    let is_refused =
        |answer| matches!(answer, Answer::Error(refusal) if refusal.reason == Reason::NotAllowed);
    // Whether it has proved who it is, or is linked as another member of this machine's user.
    for proved in [Some(five), None] {
        arrives(&mut driven, member, proved);
        for request in [&remove, &to_itself, &give(&fifth, BTreeSet::new())] {
            assert!(is_refused(other(&mut driven, member, request)), "{request:?}");
        }
    }
    ask(&mut driven, &give(&fifth, [own].into()));
    assert_eq!(answered(&driven), Some(Answer::Done));
    ask(&mut driven, &remove);
    assert!(is_refused(answered(&driven).expect("it is answered")), "it has given its right away");
    assert_eq!(other(&mut driven, member, &remove), Answer::Done);
}

use super::{FIRST_CLIENT, KEPT_CHANGES, MAX_MEMBERS, View};
use crate::change::{Change, Entry, Joiner};
use crate::kept_space::{MAX_KEPT_SPACES, NewSpace};
use crate::refusal::Reason;
use crate::replacement::Replacement;
use crate::rights::NewRights;
use quintet_contract::{Identity, Incarnation, NodeId};
use quintet_wire::{Decode, encode_to_vec};

fn joiner(node: u16) -> Joiner {
    let mut identity = [0; 32];
    identity[..2].copy_from_slice(&node.to_le_bytes());
    Joiner {
        node: NodeId(node),
        name: format!("m{node}"),
        identity: Identity(identity),
        address: "x:1".to_owned(),
        grants: 0,
        ticket: node.into(),
    }
}

fn founded() -> View {
    View::founded(joiner(0))
}

fn apply(view: &mut View, change: Change) -> bool {
    view.apply(&Entry { term: 1, change })
}

fn why(view: &View, change: &Change) -> Option<Reason> {
    view.check(change).err().map(|refusal| refusal.reason)
}

#[test]
fn a_number_is_never_given_twice_and_a_machine_may_come_back_under_another() {
    let mut view = founded();
    assert_eq!(view.next_node(), Some(NodeId(1)));
    assert!(apply(&mut view, Change::Join(joiner(1))) && apply(&mut view, Change::Remove(NodeId(1))));
    assert_eq!(why(&view, &Change::Join(joiner(1))), Some(Reason::Full));
    assert_eq!(
        (view.next_node(), view.has_lost(NodeId(1)), view.has_lost(NodeId(2))),
        (Some(NodeId(2)), true, false)
    );
    assert!(apply(&mut view, Change::Join(Joiner { node: NodeId(2), ..joiner(1) })));
    assert_eq!(view.joined_with(joiner(1).identity, 1), Some(NodeId(2)));
    assert_eq!(why(&view, &Change::Join(joiner(FIRST_CLIENT.0))), Some(Reason::Full), "no member has it");
    assert!(apply(&mut view, Change::Join(joiner(FIRST_CLIENT.0 - 1))));
    assert_eq!(view.next_node(), None, "all were given");
    assert_eq!(View::decode_all(&encode_to_vec(&view)), Ok(view.clone()));
}

#[test]
fn what_may_not_be_changed_changes_nothing_and_has_no_number() {
    let mut view = founded();
    assert!(apply(&mut view, Change::Join(joiner(1))));
    let refused = [
        (Change::Remove(NodeId(0)), Reason::LastVoter),
        (Change::Demote(NodeId(0)), Reason::UnknownNode),
        (Change::Promote(NodeId(0)), Reason::UnknownNode),
        (Change::Demote(NodeId(1)), Reason::UnknownNode),
        (Change::Remove(NodeId(9)), Reason::UnknownNode),
        (Change::Revive(NodeId(1), Incarnation(1)), Reason::UnknownNode),
        (Change::Join(Joiner { node: NodeId(2), ..joiner(1) }), Reason::IdentityTaken),
        (Change::Join(Joiner { name: "m1".to_owned(), ..joiner(2) }), Reason::NameTaken),
        (Change::Join(Joiner { name: String::new(), ..joiner(2) }), Reason::BadName),
        (Change::Join(Joiner { name: "x".repeat(65), ..joiner(2) }), Reason::BadName),
    ];
    for (change, reason) in refused {
        assert_eq!(why(&view, &change), Some(reason), "{change:?}");
        let before = view.clone();
        assert!(!apply(&mut view, change));
        assert_eq!((view.number, &view.members), (before.number, &before.members));
        assert_ne!(view.digest, before.digest, "the entry is part of the history");
    }
    assert!(apply(&mut view, Change::Promote(NodeId(1))) && apply(&mut view, Change::Remove(NodeId(0))));
    assert_eq!(view.voters().collect::<Vec<_>>(), [NodeId(1)]);
}

#[test]
fn the_latest_changes_are_kept_under_the_numbers_of_their_views() {
    let mut view = founded();
    assert!(!apply(&mut view, Change::Nothing));
    let last = KEPT_CHANGES as u64 + 5;
    for life in 2..=last {
        assert!(apply(&mut view, Change::Revive(NodeId(0), Incarnation(life))));
    }
    assert_eq!(view.number, last);
    let change = |number| view.change(number).cloned();
    assert_eq!(change(last), Some(Change::Revive(NodeId(0), Incarnation(last))));
    assert_eq!(change(6), Some(Change::Revive(NodeId(0), Incarnation(6))), "the oldest that is kept");
    assert_eq!((change(5), change(last + 1), change(0)), (None, None, None));
}

#[test]
fn a_cluster_has_so_many_members_and_no_more() {
    let mut view = founded();
    for node in 1..MAX_MEMBERS {
        assert!(apply(&mut view, Change::Join(joiner(u16::try_from(node).expect("a few")))));
    }
    assert_eq!(why(&view, &Change::Join(joiner(60_000))), Some(Reason::Full));
}

fn space(name: &str, replicas: &[u16]) -> NewSpace {
    let replicas = replicas.iter().copied().map(NodeId).collect();
    NewSpace { name: name.to_owned(), replicas, max_bytes: 1 << 20, max_tuples: 0, allow: None }
}

/// A view with members 0 to 5, of whom the last is reached by nobody.
fn six() -> View {
    let mut view = founded();
    for node in 1..6 {
        let address = if node == 5 { "" } else { "x:1" };
        let change = Change::Join(Joiner { address: address.to_owned(), ..joiner(node) });
        assert!(apply(&mut view, change));
    }
    view
}

#[test]
fn a_space_has_a_number_of_its_own_and_the_lowest_slot_that_is_free() {
    let mut view = six();
    for name in ["a", "b", "c"] {
        assert!(apply(&mut view, Change::AddSpace(space(name, &[0]))));
    }
    let b = view.spaces["b"].number;
    assert_eq!((b, view.spaces["b"].slot), (view.number - 1, 1));
    assert_eq!(why(&view, &Change::RemoveSpace("b".to_owned(), b + 1)), Some(Reason::NoSuchSpace));
    assert!(apply(&mut view, Change::RemoveSpace("b".to_owned(), b)));
    assert_eq!(why(&view, &Change::RemoveSpace("b".to_owned(), b)), Some(Reason::NoSuchSpace));
    assert!(apply(&mut view, Change::AddSpace(space("b", &[1, 3, 2]))));
    let again = &view.spaces["b"];
    assert_eq!((again.slot, again.number, &again.replicas[..]), (1, view.number, &[1, 3, 2].map(NodeId)[..]));
    assert_eq!(View::decode_all(&encode_to_vec(&view)), Ok(view));
}

#[test]
fn spaces_that_cannot_be_kept_are_refused() {
    let mut view = six();
    let reason = |view: &View, space: NewSpace| why(view, &Change::AddSpace(space));
    for replicas in [&[][..], &[0, 1], &[0, 1, 2, 3], &[0, 1, 1], &[0, 1, 9], &[0, 1, 5]] {
        assert_eq!(reason(&view, space("a", replicas)), Some(Reason::BadReplicas), "{replicas:?}");
    }
    for name in ["", ".", "../x", "a/b", "-a", "a b", &"a".repeat(64)] {
        assert_eq!(reason(&view, space(name, &[0])), Some(Reason::BadSpaceName), "{name:?}");
    }
    for number in 0..MAX_KEPT_SPACES {
        assert!(apply(&mut view, Change::AddSpace(space(&format!("s{number}"), &[0, 1, 2]))));
    }
    assert_eq!(reason(&view, space("s1", &[0])), Some(Reason::SpaceExists));
    assert_eq!(reason(&view, space("more", &[0])), Some(Reason::Full));
}

#[test]
fn a_member_that_keeps_a_space_cannot_go() {
    let mut view = six();
    assert!(apply(&mut view, Change::AddSpace(space("a", &[1, 2, 3]))));
    assert_eq!(why(&view, &Change::Remove(NodeId(2))), Some(Reason::KeepsSpace));
    assert_eq!(why(&view, &Change::Remove(NodeId(4))), None);
    let number = view.spaces["a"].number;
    assert!(apply(&mut view, Change::RemoveSpace("a".to_owned(), number)));
    assert_eq!(why(&view, &Change::Remove(NodeId(2))), None);
}

fn replacement(view: &View, from: u16, to: u16) -> Change {
    let (name, number) = ("a".to_owned(), view.spaces.get("a").map_or(0, |space| space.number));
    Change::ReplaceReplica(Replacement { name, number, from: NodeId(from), to: NodeId(to) })
}

#[test]
fn replicas_are_replaced_one_after_the_other() {
    let mut view = six();
    assert!(apply(&mut view, Change::AddSpace(space("a", &[1, 2, 3]))));
    assert!(apply(&mut view, Change::AddSpace(space("alone", &[1]))));
    let number = view.spaces["a"].number;
    let change = replacement(&view, 2, 4);
    assert!(apply(&mut view, change));
    let since = view.number;
    let kept = &view.spaces["a"];
    assert_eq!((&kept.replicas[..], kept.awaited()), (&[1, 4, 3].map(NodeId)[..], Some(1)));
    assert_eq!((kept.since(0), kept.since(1), kept.number), (number, since, number));
    assert_eq!(View::decode_all(&encode_to_vec(&view)), Ok(view.clone()));
    assert_eq!(why(&view, &Change::Remove(NodeId(2))), None, "it keeps nothing any more");
    // The new one has none of the tuples so far: with another new one there would be two of three such.
    assert_eq!(why(&view, &replacement(&view, 1, 0)), Some(Reason::BadReplicas));
    let mut other = view.clone();
    let change = replacement(&view, 4, 2);
    assert!(apply(&mut other, change), "the one that has no log itself may be");
    assert_eq!(why(&other, &Change::ReplicaReady("a".to_owned(), since)), Some(Reason::NoSuchSpace));
    let is_ready = Change::ReplicaReady("a".to_owned(), since);
    assert!(apply(&mut view, is_ready.clone()));
    assert_eq!(why(&view, &is_ready), Some(Reason::NoSuchSpace), "it is said once");
    assert_eq!(view.spaces["a"].awaited(), None);
    assert_eq!(View::decode_all(&encode_to_vec(&view)), Ok(view.clone()));
    let change = replacement(&view, 1, 0);
    assert!(apply(&mut view, change));
}

#[test]
fn replacements_that_cannot_be_are_refused() {
    let mut view = six();
    assert!(apply(&mut view, Change::AddSpace(space("a", &[1, 2, 3]))));
    for (from, to) in [(0, 4), (9, 4), (1, 2), (1, 1), (1, 9), (1, 5)] {
        let refused = why(&view, &replacement(&view, from, to));
        assert_eq!(refused, Some(Reason::BadReplicas), "{from} by {to}");
    }
    let mut of_before = replacement(&view, 1, 4);
    if let Change::ReplaceReplica(replacement) = &mut of_before {
        replacement.number -= 1;
    }
    assert_eq!(why(&view, &of_before), Some(Reason::NoSuchSpace));
    let mut alone = six();
    assert!(apply(&mut alone, Change::AddSpace(space("a", &[1]))));
    assert_eq!(
        why(&alone, &replacement(&alone, 1, 2)),
        Some(Reason::BadReplicas),
        "its tuples are there only"
    );
}

#[test]
fn a_view_that_says_that_spaces_follow_and_has_none_is_refused() {
    let view = founded();
    let mut bytes = encode_to_vec(&view);
    let at = bytes.len() - encode_to_vec(&Change::Join(joiner(0))).len() - 4;
    assert_eq!(bytes[at..at + 4], 1u32.to_le_bytes(), "one change is kept, and no space follows");
    bytes[at + 3] = 0x80;
    bytes.extend(0u32.to_le_bytes());
    assert!(View::decode_all(&bytes).is_err());
    bytes.truncate(bytes.len() - 4);
    assert!(View::decode_all(&bytes).is_err());
    bytes[at + 3] = 0;
    assert_eq!(View::decode_all(&bytes), Ok(view));
}

#[test]
fn a_space_is_for_members_that_are_named() {
    let mut view = six();
    let of = |name: &str, allow: &[u16]| {
        let allow = Some(allow.iter().copied().map(NodeId).collect());
        Change::AddSpace(NewSpace { allow, ..space(name, &[1, 2, 3]) })
    };
    let many: Vec<u16> = (0..33).collect();
    for allow in [&[][..], &[0, 9], &many] {
        assert_eq!(why(&view, &of("a", allow)), Some(Reason::BadReplicas), "{allow:?}");
    }
    assert!(apply(&mut view, of("a", &[4, 0])));
    assert!(apply(&mut view, Change::AddSpace(space("b", &[0]))));
    assert_eq!(view.spaces["b"].allowed(&view), None);
    let identities = |view: &View| view.spaces["a"].allowed(view);
    let of_members = [NodeId(0), NodeId(4)].map(|node| view.members[&node].identity);
    assert_eq!(identities(&view), Some(of_members.into()));
    assert_eq!(View::decode_all(&encode_to_vec(&view)), Ok(view.clone()));
    assert!(apply(&mut view, Change::Remove(NodeId(4))));
    assert_eq!(identities(&view), Some(of_members[..1].iter().copied().collect()), "it counts no more");
    let same = NewSpace { allow: Some([NodeId(0), NodeId(4)].into()), ..space("a", &[0, 1, 2]) };
    assert!(view.keeps_as(&same));
    assert!(!view.keeps_as(&space("a", &[1, 2, 3])), "that is for all");
}

#[test]
fn who_may_use_a_space_changes_and_those_who_may_alone_change_it() {
    let mut view = six();
    assert!(apply(&mut view, Change::AddSpace(space("all", &[0]))));
    let new = NewSpace { allow: Some([NodeId(0), NodeId(4)].into()), ..space("a", &[1, 2, 3]) };
    assert!(apply(&mut view, Change::AddSpace(new)));
    let numbers = ["all", "a"].map(|name| view.spaces[name].number);
    let rights = |of: usize, granted: &[u16], revoked: &[u16]| NewRights {
        name: ["all", "a"][of].to_owned(),
        number: numbers[of],
        granted: granted.iter().copied().map(NodeId).collect(),
        revoked: revoked.iter().copied().map(NodeId).collect(),
    };
    for (of, granted, revoked) in [(0, &[1][..], &[][..]), (1, &[9], &[]), (1, &[], &[0, 4])] {
        let change = Change::SetRights(rights(of, granted, revoked));
        assert_eq!(why(&view, &change), Some(Reason::BadReplicas), "{change:?}");
    }
    let gone = NewRights { number: 1, ..rights(1, &[1], &[]) };
    assert_eq!(why(&view, &Change::SetRights(gone)), Some(Reason::NoSuchSpace));
    let both = rights(1, &[5], &[0]);
    assert!(!view.has_rights(&both) && apply(&mut view, Change::SetRights(both.clone())));
    assert!(view.has_rights(&both), "said again, it changes nothing");
    assert_eq!(view.spaces["a"].allow, Some([NodeId(4), NodeId(5)].into()));
    assert_eq!(View::decode_all(&encode_to_vec(&view)), Ok(view.clone()));
    let manages = |view: &View, node: u16, name: &str| view.check_manages(NodeId(node), name).is_ok();
    assert!(manages(&view, 5, "a") && manages(&view, 0, "all") && !manages(&view, 0, "a"));
    assert!(apply(&mut view, Change::Remove(NodeId(4))) && !manages(&view, 0, "a"));
    assert!(apply(&mut view, Change::Remove(NodeId(5))) && manages(&view, 0, "a"), "nobody else is left");
    assert!(apply(&mut view, Change::SetRights(rights(1, &[0], &[]))));
    assert_eq!(view.spaces["a"].allow, Some([NodeId(0)].into()), "those that have left are forgotten");
}

//! One member by itself, with a disk: what it says to whom, and when not.

mod rights;

use crate::agreement::{Message, What};
use crate::change::{Change, Entry, Joiner};
use crate::codec::{self, Answer, Request};
use crate::config::{MembershipConfig, Start};
use crate::disk::{Life, Record};
use crate::fuzzing::Driven;
use crate::refusal::Reason;
use crate::view::View;
use quintet_contract::{
    Address, Frame, Identity, Incarnation, Input, Kind, LinkClass, LinkInfo, NodeId, PeerChange, Span, Token,
};
use quintet_raft::NO_LEADERS;
use quintet_wire::encode_to_vec;
use quintet_wire::registry::{PORT_CALLERS, PORT_MEMBERSHIP};

const CALLER: Address = Address { node: NodeId(4), port: PORT_CALLERS };
const LEADER: Address = Address { node: NodeId(0), port: PORT_MEMBERSHIP };

fn learner(disk: Vec<u8>) -> Driven {
    let mut driven = Driven::new(MembershipConfig::new(7, NodeId(4), Start::Joined, 1), disk);
    driven.give(Input::Started);
    driven
}

fn founder(disk: Vec<u8>) -> Driven {
    let start = Start::Found {
        name: "four".to_owned(),
        identity: Identity([4; 32]),
        address: String::new(),
        grants: 0,
        ticket: 0,
    };
    let mut driven = Driven::new(MembershipConfig::new(7, NodeId(4), start, 1), disk);
    driven.give(Input::Started);
    driven.now += Span::from_secs(2);
    driven.give(Input::Wake);
    driven
}

fn hear(driven: &mut Driven, term: u64, incarnation: u64, what: What) {
    let message = Message { incarnation: Incarnation(incarnation), term, what };
    let body = encode_to_vec(&message);
    driven.give(Input::Frame(LEADER, Frame::new(message.kind(), Token(0), &body)));
}

fn ask(driven: &mut Driven, request: &Request) {
    let body = encode_to_vec(request);
    driven.give(Input::Frame(CALLER, Frame::new(request.kind(), Token(3), &body)));
}

fn follow(driven: &mut Driven) {
    let view = View::founded(Joiner {
        node: NodeId(0),
        name: "zero".to_owned(),
        identity: Identity([9; 32]),
        address: String::new(),
        grants: 0,
        ticket: 0,
    });
    hear(driven, 1, 1, What::Snapshot { index: 1, index_term: 0, round: 1, view });
}

fn said(driven: &Driven, kind: Kind) -> Vec<Token> {
    driven.said.iter().filter(|(_, frame)| frame.kind == kind).map(|(_, frame)| frame.token).collect()
}

fn reason(driven: &Driven) -> Option<Reason> {
    driven.member.closed().map(|refusal| refusal.reason)
}

#[test]
fn what_two_lives_hand_on_has_different_tokens() {
    let mut first = learner(Vec::new());
    follow(&mut first);
    ask(&mut first, &Request::View { agreed: true });
    let mut second = learner(first.disk.clone());
    follow(&mut second);
    ask(&mut second, &Request::View { agreed: true });
    let tokens = [said(&first, codec::VIEW), said(&second, codec::VIEW)];
    assert!(tokens.iter().all(|tokens| tokens.len() == 1) && tokens[0] != tokens[1], "{tokens:?}");
}

#[test]
fn nothing_is_said_before_the_life_is_on_the_disk() {
    let mut first = founder(Vec::new());
    ask(&mut first, &Request::Leave { node: NodeId(40) });
    assert_eq!(said(&first, codec::ERROR).len(), 1, "it leads");
    let config = MembershipConfig::new(7, NodeId(4), Start::Joined, 1);
    let mut driven = Driven::new(config, Vec::new());
    driven.has_disk = false;
    driven.give(Input::Started);
    follow(&mut driven);
    ask(&mut driven, &Request::View { agreed: true });
    driven.now += Span::from_secs(2);
    driven.give(Input::Wake);
    assert!(driven.said.is_empty() && driven.member.view().is_none());
}

#[test]
fn what_waits_for_the_disk_is_not_said() {
    let mut driven = learner(Vec::new());
    follow(&mut driven);
    driven.has_disk = false;
    let entries = vec![Entry { term: 1, change: Change::Nothing }];
    hear(&mut driven, 1, 1, What::Append { before: 1, before_term: 0, committed: 1, round: 2, entries });
    assert!(said(&driven, codec::APPENDED).is_empty());
    driven.now += Span::from_secs(10);
    hear(&mut driven, 9, 1, What::Vote { asks_first: false, last: 9, last_term: 9, committed: 9 });
    assert!(said(&driven, codec::VOTED).is_empty());
}

#[test]
fn an_earlier_life_is_told_that_it_is_over_and_a_later_one_is_not() {
    let mut driven = learner(Vec::new());
    follow(&mut driven);
    let revive = Entry { term: 1, change: Change::Revive(NodeId(0), Incarnation(3)) };
    let append =
        |before, entries| What::Append { before, before_term: before - 1, committed: 2, round: 2, entries };
    hear(&mut driven, 1, 3, append(1, vec![revive]));
    assert_eq!(driven.member.view().map(|view| view.number), Some(2));
    hear(&mut driven, 1, 2, append(2, Vec::new()));
    assert_eq!((said(&driven, codec::GONE).len(), said(&driven, codec::APPENDED).len()), (1, 0));
    hear(&mut driven, 1, 4, append(2, Vec::new()));
    assert_eq!((said(&driven, codec::GONE).len(), said(&driven, codec::APPENDED).len()), (0, 1));
    hear(&mut driven, 1, 4, What::Gone { incarnation: Incarnation(2) });
    assert_eq!(reason(&driven), None, "said of another life");
    hear(&mut driven, 1, 4, What::Gone { incarnation: Incarnation(1) });
    assert_eq!(reason(&driven), Some(Reason::Outlived));
    ask(&mut driven, &Request::View { agreed: false });
    let (_, answer) = driven.said.last().expect("every request is answered");
    let answer = Answer::decode(answer.kind, &answer.body);
    assert!(matches!(answer, Ok(Answer::Error(refusal)) if refusal.reason == Reason::Outlived));
}

#[test]
fn a_leader_that_contradicts_what_is_committed_is_not_followed() {
    let mut driven = learner(Vec::new());
    follow(&mut driven);
    let revive = |term, life| Entry { term, change: Change::Revive(NodeId(0), Incarnation(life)) };
    let append =
        |before, before_term, entries| What::Append { before, before_term, committed: 2, round: 2, entries };
    hear(&mut driven, 1, 1, append(1, 0, vec![revive(1, 2)]));
    let before = driven.member.view().cloned();
    hear(&mut driven, 2, 2, append(1, 0, vec![revive(2, 3)]));
    let fits = |driven: &Driven| {
        let (_, answer) = driven.said.last().expect("it answers");
        match Message::decode(answer.kind, &answer.body).map(|message| message.what) {
            Ok(What::Appended { fits, index, .. }) => (fits, index),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(fits(&driven), (false, 2));
    assert_eq!((driven.member.view().cloned(), driven.member.committed()), (before, 2));
    hear(&mut driven, 3, 2, append(2, 1, Vec::new()));
    assert_eq!(fits(&driven), (true, 2), "what was committed is still there");
}

#[test]
fn a_log_of_another_cluster_or_node_and_a_damaged_one_are_refused() {
    let disk = founder(Vec::new()).disk;
    let start = |cluster, node, disk: Vec<u8>| {
        let mut driven = Driven::new(MembershipConfig::new(cluster, NodeId(node), Start::Joined, 1), disk);
        driven.give(Input::Started);
        driven
    };
    assert_eq!(reason(&start(7, 4, disk.clone())), None);
    assert_eq!(reason(&start(8, 4, disk.clone())), Some(Reason::WrongCluster));
    assert_eq!(reason(&start(7, 5, disk.clone())), Some(Reason::WrongCluster));
    let mut damaged = disk.clone();
    damaged[60] ^= 1;
    let damaged = start(7, 4, damaged);
    assert_eq!(reason(&damaged), Some(Reason::Damaged));
    let text = &damaged.member.closed().expect("it was asked").text;
    assert!(text.contains("damaged at byte"), "{text}");
    assert_eq!(reason(&start(7, 4, disk[..disk.len() - 1].to_vec())), None, "torn");
}

#[test]
fn who_has_no_log_does_not_vote() {
    let mut driven = learner(Vec::new());
    hear(&mut driven, 5, 1, What::Vote { asks_first: false, last: 9, last_term: 4, committed: 9 });
    let (_, voted) = driven.said.first().expect("it answers");
    let voted = Message::decode(voted.kind, &voted.body).map(|message| message.what);
    assert_eq!(voted, Ok(What::Voted { asks_first: false, given: false }));
}

fn arrives(driven: &mut Driven, peer: Address, identity: Option<Identity>) {
    let link = LinkInfo { identity, ..LinkInfo::new(LinkClass::Network, 0) };
    driven.give(Input::Peer(peer, &PeerChange::Up { incarnation: Incarnation(1), link }));
}

/// The answer to what was asked last.
fn answered(driven: &Driven) -> Option<Answer> {
    let (_, frame) = driven.said.iter().find(|(to, _)| *to == CALLER)?;
    Answer::decode(frame.kind, &frame.body).ok()
}

fn join(name: &str, identity: Identity, address: &str) -> Request {
    Request::Join {
        cluster: 7,
        name: name.to_owned(),
        identity,
        address: address.to_owned(),
        grants: 0,
        ticket: 0,
    }
}

#[test]
fn a_member_that_joins_again_with_another_address_is_moved_there() {
    let mut driven = founder(Vec::new());
    let request = join("four", Identity([4; 32]), "b:7400");
    for view in [2, 2] {
        ask(&mut driven, &request);
        assert_eq!(answered(&driven), Some(Answer::Joined { node: NodeId(4), view }));
    }
    let again = founder(driven.disk.clone());
    let address = again.member.view().map(|view| view.members[&NodeId(4)].address.clone());
    assert_eq!(address.as_deref(), Some("b:7400"), "it is on the disk");
    ask(&mut driven, &join("four", Identity([4; 32]), &"x".repeat(101)));
    assert!(matches!(answered(&driven), Some(Answer::Error(refusal)) if refusal.reason == Reason::Malformed));
}

#[test]
fn whoever_is_no_member_may_ask_for_nothing_and_a_member_for_itself_only() {
    let mut driven = founder(Vec::new());
    let reason = |driven: &mut Driven, request: &Request| {
        ask(driven, request);
        match answered(driven) {
            Some(Answer::Error(refusal)) => Some(refusal.reason),
            Some(_) => None,
            None => panic!("every request is answered"),
        }
    };
    let five = Identity([5; 32]);
    let others = [
        join("other", Identity([6; 32]), "c:1"),
        join("five", five, "b:1"),
        Request::View { agreed: false },
        Request::Leave { node: NodeId(4) },
        Request::Watch { view: 0, news: 0, wait: Span::ZERO },
        Request::RemoveSpace { name: "orders".to_owned(), number: 1 },
    ];
    arrives(&mut driven, CALLER, Some(five));
    for request in &others {
        assert_eq!(reason(&mut driven, request), Some(Reason::NotAllowed), "{request:?}");
    }
    arrives(&mut driven, CALLER, None);
    assert_eq!(reason(&mut driven, &others[1]), None, "a process of this machine's user may ask for all");
    arrives(&mut driven, CALLER, Some(five));
    assert_eq!(reason(&mut driven, &others[2]), None, "it is a member now");
    assert_eq!(reason(&mut driven, &join("five", five, "d:1")), None);
    assert_eq!(reason(&mut driven, &others[0]), Some(Reason::NotAllowed));
    let told: Vec<_> = driven.not_allowed.iter().map(|told| (told.identity, told.refusal.reason)).collect();
    assert_eq!(told, vec![(five, Reason::NotAllowed); others.len() + 1], "this node's callers hear of each");
}

#[test]
fn what_another_than_the_member_says_under_its_number_does_not_count() {
    let mut driven = learner(Vec::new());
    follow(&mut driven);
    let append = || What::Append {
        before: 1,
        before_term: 0,
        committed: 2,
        round: 2,
        entries: vec![Entry { term: 1, change: Change::Nothing }],
    };
    arrives(&mut driven, LEADER, Some(Identity([8; 32])));
    hear(&mut driven, 1, 1, append());
    assert_eq!((driven.member.committed(), driven.disconnected.as_slice()), (1, &[LEADER][..]));
    arrives(&mut driven, LEADER, Some(Identity([9; 32])));
    hear(&mut driven, 1, 1, append());
    assert_eq!((driven.member.committed(), driven.disconnected.len()), (2, 1));
}

#[test]
fn a_member_lets_those_hear_of_it_that_come_up_also_while_its_disk_is_read() {
    let mut driven = Driven::new(MembershipConfig::new(7, NodeId(4), Start::Joined, 1), Vec::new());
    arrives(&mut driven, LEADER, None);
    driven.give(Input::Started);
    assert_eq!(said(&driven, codec::APPENDED).len(), 1);
    arrives(&mut driven, LEADER, None);
    assert_eq!(said(&driven, codec::APPENDED).len(), 1);
    arrives(&mut driven, CALLER, None);
    assert!(driven.said.is_empty(), "no member");
}

#[test]
fn who_has_the_number_of_no_member_is_not_heard_as_one() {
    let stranger = Address { node: NodeId(77), port: PORT_MEMBERSHIP };
    let mut driven = founder(Vec::new());
    arrives(&mut driven, stranger, Some(Identity([8; 32])));
    let before = driven.member.view().cloned();
    let mut other = View::founded(Joiner {
        node: NodeId(77),
        name: "forged".to_owned(),
        identity: Identity([8; 32]),
        address: String::new(),
        grants: u8::MAX,
        ticket: 0,
    });
    other.number = 99;
    let said = [
        What::Gone { incarnation: Incarnation(u64::MAX) },
        What::Snapshot { index: 90, index_term: 9, round: 1, view: other },
    ];
    for what in said {
        let message = Message { incarnation: Incarnation(1), term: 9, what };
        let body = encode_to_vec(&message);
        driven.give(Input::Frame(stranger, Frame::new(message.kind(), Token(0), &body)));
        assert_eq!((reason(&driven), driven.member.view().cloned()), (None, before.clone()));
    }
}

#[test]
fn a_member_hands_on_no_more_than_it_was_granted() {
    let mut driven = founder(Vec::new());
    let five = Identity([5; 32]);
    ask(&mut driven, &join("five", five, "b:1"));
    let at = Address { node: NodeId(5), port: PORT_MEMBERSHIP };
    arrives(&mut driven, at, Some(five));
    let mut handed_on = |grants: u8, identity: u8| {
        let Request::Join { cluster, name, address, ticket, .. } = join(&format!("m{identity}"), five, "c:1")
        else {
            panic!("it is one")
        };
        let identity = Identity([identity; 32]);
        let request = Request::Join { cluster, name, identity, address, grants, ticket };
        let body = encode_to_vec(&request);
        driven.give(Input::Frame(at, Frame::new(request.kind(), Token(9), &body)));
        let (_, frame) = driven.said.iter().rev().find(|(to, _)| *to == at).expect("it is answered");
        Answer::decode(frame.kind, &frame.body)
    };
    let refused = handed_on(1, 6);
    assert!(matches!(refused, Ok(Answer::Error(refusal)) if refusal.reason == Reason::NotAllowed));
    assert!(matches!(handed_on(0, 7), Ok(Answer::Joined { .. })));
}

#[test]
fn a_leader_that_joined_while_a_member_was_off_is_heard_once_another_has_told_of_it() {
    let joiner = |node: u8| Joiner {
        node: NodeId(node.into()),
        name: node.to_string(),
        identity: Identity([node; 32]),
        address: "x:1".to_owned(),
        grants: 0,
        ticket: node.into(),
    };
    // Its log knows node 3, which votes, and itself; node 6 has joined since, and leads.
    let mut view = View::founded(joiner(3));
    view.apply(&Entry { term: 1, change: Change::Join(joiner(4)) });
    let mut driven = learner(Vec::new());
    hear(&mut driven, 1, 1, What::Snapshot { index: 3, index_term: 1, round: 1, view: view.clone() });
    let mut driven = learner(driven.disk);
    view.apply(&Entry { term: 2, change: Change::Join(joiner(6)) });
    let [three, six] = [3, 6].map(|node| Address { node: NodeId(node), port: PORT_MEMBERSHIP });
    arrives(&mut driven, three, Some(Identity([3; 32])));
    arrives(&mut driven, six, Some(Identity([6; 32])));
    let tell = |driven: &mut Driven, from: Address, what: What| {
        let message = Message { incarnation: Incarnation(1), term: 2, what };
        let body = encode_to_vec(&message);
        driven.give(Input::Frame(from, Frame::new(message.kind(), Token(0), &body)));
    };
    let beat = || What::Append { before: 4, before_term: 2, committed: 4, round: 9, entries: Vec::new() };
    tell(&mut driven, six, beat());
    assert_eq!(driven.member.term().1, None, "nobody whom it knows");
    driven.now += Span::from_secs(2);
    driven.give(Input::Wake);
    let asked = driven.said.iter().filter(|(to, frame)| frame.kind == codec::VOTE && *to == three);
    assert_eq!(asked.count(), 1, "it asks whom it knows");
    tell(&mut driven, three, What::Snapshot { index: 4, index_term: 2, round: NO_LEADERS, view });
    assert_eq!((driven.member.committed(), driven.member.term()), (4, (2, None)));
    tell(&mut driven, six, beat());
    assert_eq!(driven.member.term(), (2, Some(NodeId(6))));
}

#[test]
fn who_learns_of_its_removal_by_a_view_alone_stops_as_well() {
    let joiner = |node: u8| Joiner {
        node: NodeId(node.into()),
        name: node.to_string(),
        identity: Identity([node; 32]),
        address: "x:1".to_owned(),
        grants: 0,
        ticket: node.into(),
    };
    // Its log is behind the leader's, which sends the view in place of what led to it.
    let mut view = View::founded(joiner(0));
    view.apply(&Entry { term: 1, change: Change::Join(joiner(4)) });
    let mut driven = learner(Vec::new());
    hear(&mut driven, 1, 1, What::Snapshot { index: 3, index_term: 1, round: 1, view: view.clone() });
    assert_eq!(reason(&driven), None);
    view.apply(&Entry { term: 1, change: Change::Remove(NodeId(4)) });
    hear(&mut driven, 1, 1, What::Snapshot { index: 4, index_term: 1, round: 2, view });
    assert_eq!(reason(&driven), Some(Reason::Removed));
}

/// A log as versions before the second format have written it: batches from the first byte on.
fn old_log() -> Vec<u8> {
    let first = Life { cluster: 7, node: NodeId(4), incarnation: Incarnation(5) };
    let mut view = founder(Vec::new()).member.view().expect("it leads").clone();
    view.apply(&Entry { term: 2, change: Change::Move(NodeId(4), "old:1".to_owned()) });
    let batches = [
        vec![Record::Life(first), Record::Snapshot { index: 8, term: 2, view }],
        vec![Record::Vote { term: 3, voted_for: Some(NodeId(4)) }],
    ];
    let mut bytes = Vec::new();
    for batch in batches {
        let begins = bytes.len() as u64;
        batch.iter().for_each(|record| record.write(begins, &mut bytes));
    }
    bytes
}

#[test]
fn a_log_of_the_first_format_is_read_and_written_anew_in_this_one() {
    let mut driven = learner(old_log());
    assert!(driven.disk.starts_with(b"QUINMEMB") && !old_log().starts_with(b"QUIN"));
    driven.now += Span::from_secs(2);
    driven.give(Input::Wake);
    let member = &driven.member.view().expect("it takes part").members[&NodeId(4)];
    assert_eq!((member.address.as_str(), member.incarnation), ("old:1", Incarnation(6)));
    assert_eq!(driven.member.term(), (4, Some(NodeId(4))), "it has voted in term 3");
    let mut later = driven.disk.clone();
    later[8] = 9;
    let later = learner(later);
    let refusal = later.member.closed().expect("it cannot be read");
    assert!(refusal.text.contains("format 9") && later.disk[8] == 9, "{refusal}");
}

#[test]
fn the_log_grows_with_the_members_and_not_with_the_changes() {
    let moved = |driven: &mut Driven, number: u32| {
        ask(driven, &join("four", Identity([4; 32]), &format!("b:{number}")));
        assert!(matches!(answered(driven), Some(Answer::Joined { .. })), "{number}");
    };
    let mut config = MembershipConfig::new(7, NodeId(4), Start::Joined, 1);
    (config.kept_entries, config.spare_log_bytes) = (8, 4_096);
    let mut driven = Driven::new(config, founder(Vec::new()).disk);
    driven.give(Input::Started);
    driven.now += Span::from_secs(2);
    driven.give(Input::Wake);
    // The view keeps the latest changes: from here on it is as long as it gets.
    (0..200).for_each(|number| moved(&mut driven, number));
    let mut longest = 0;
    for number in 1_000..3_000 {
        moved(&mut driven, number);
        longest = longest.max(driven.disk.len());
    }
    let again = learner(driven.disk.clone());
    let whole = again.disk.len();
    assert!(whole > 1_000 && longest < 3 * whole + 3 * 4_096, "{longest} bytes, {whole} of them needed");
    let mut again = again;
    again.now += Span::from_secs(2);
    again.give(Input::Wake);
    let address = |driven: &Driven| driven.member.view().map(|view| view.members[&NodeId(4)].address.clone());
    assert_eq!(address(&again).as_deref(), Some("b:2999"));
}

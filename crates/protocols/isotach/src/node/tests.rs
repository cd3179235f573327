mod bursts;
mod joining;
mod sharing;

use super::*;
use crate::codec::{ANNOUNCE, COMPLETED, Completed, Cut, CutStep, DELIVERED, Delivered, INSTALLED, Part};
use crate::isochron::Operation;
use crate::isonet::{Isonet, Shape};
use crate::limits::KEPT_FOR_VALUES;
use crate::topology::Topology;
use crate::{Pulse, ReadValue};
use quintet_contract::{DownCause, Effect, Effects, Kind, OwnedFrame};
use quintet_wire::encode_to_vec;
use std::sync::Arc;

const ME: NodeId = NodeId(0);
const CALLERS: Address = Address { node: ME, port: quintet_wire::registry::PORT_CALLERS };
const MANAGER: Address = Address { node: NodeId(9), port: PORT_TOKEN_MANAGER };
/// Has copies at nodes 0 and 1.
const X: Variable = Variable(0);
/// Has one at this node.
const MINE: Variable = Variable(1);
/// Has one at node 1.
const THEIRS: Variable = Variable(2);

fn peer(number: u16) -> Address {
    Address { node: NodeId(number), port: PORT_ISOTACH }
}

fn node() -> Node {
    node_of(0)
}

fn node_of(me: u16) -> Node {
    let topology = Topology::lan(NodeId(9), &[ME, NodeId(1), NodeId(2)]).expect("it is one");
    let shape = |copies: &[u16]| Shape { bytes: 1, copies: copies.iter().copied().map(NodeId).collect() };
    let variables = [(X, shape(&[0, 1])), (MINE, shape(&[0])), (THEIRS, shape(&[1]))].into();
    let isonet = Isonet::new(topology, variables).expect("they can be shared");
    Node::new(NodeConfig::new(NodeId(me), CALLERS, View(1), Arc::new(isonet)))
}

fn give(node: &mut Node, from: Address, kind: Kind, token: u64, body: &[u8]) -> Vec<(Address, OwnedFrame)> {
    let mut out = Effects::default();
    node.handle(Time(1), Input::Frame(from, Frame::new(kind, Token(token), body)), &mut out);
    out.frames()
}

/// The end of the burst, with which token managers are told.
fn end_burst(node: &mut Node) -> Vec<(Address, OwnedFrame)> {
    assert_eq!(node.deadline(), Some(Time(1)));
    let mut out = Effects::default();
    node.handle(Time(1), Input::Wake, &mut out);
    assert_eq!(node.deadline(), None);
    out.frames()
}

fn submit(node: &mut Node, token: u64, operations: Vec<Operation>) -> Vec<(Address, OwnedFrame)> {
    let isochron = crate::Isochron { operations };
    give(node, CALLERS, SUBMIT, token, &encode_to_vec(&isochron))
}

fn markers(node: &mut Node, all: &[(u64, u16, u64)]) -> Vec<(Address, OwnedFrame)> {
    let mut body = 1u32.to_le_bytes().to_vec();
    for (pulse, sender, rank) in all {
        let ordered = Ordered { pulse: Pulse(*pulse), sender: NodeId(*sender), rank: Rank(*rank) };
        crate::codec::write_marker(&ordered, &mut body);
    }
    give(node, MANAGER, MARKERS, 0, &body)
}

fn part(node: &mut Node, from: u16, rank: u64, operations: Vec<Operation>) -> Vec<(Address, OwnedFrame)> {
    let body = encode_to_vec(&Part { view: View(1), rank: Rank(rank), operations: operations.into() });
    give(node, peer(from), PART, rank, &body)
}

fn message(to: u16, text: &'static [u8]) -> Operation {
    Operation::Send { to: NodeId(to), handler: 7, bytes: Bytes::from_static(text) }
}

fn value(byte: u8) -> Bytes {
    Bytes::from(vec![byte])
}

/// What the program was told: the kind, and the text of messages.
fn told(frames: &[(Address, OwnedFrame)]) -> Vec<(Kind, Vec<u8>)> {
    let to_program = frames.iter().filter(|(to, _)| *to == CALLERS);
    let text = |frame: &OwnedFrame| match Delivered::of(frame.borrow()) {
        Ok(delivered) if frame.kind == DELIVERED => delivered.bytes.to_vec(),
        _ => Vec::new(),
    };
    to_program.map(|(_, frame)| (frame.kind, text(frame))).collect()
}

#[test]
fn parts_are_executed_when_their_marker_has_come_and_in_that_order() {
    let mut node = node();
    assert!(told(&part(&mut node, 1, 1, vec![message(0, b"second")])).is_empty());
    assert!(told(&markers(&mut node, &[(1, 2, 5), (2, 1, 1)])).is_empty(), "the first part is not here");
    let frames = part(&mut node, 2, 5, vec![message(0, b"first")]);
    let texts: Vec<Vec<u8>> = told(&frames).into_iter().map(|(_, text)| text).collect();
    assert_eq!(texts, [b"first".to_vec(), b"second".to_vec()]);
    let (counters, _) = node.counted();
    assert_eq!((counters.parts_waited, counters.parts_at_once), (1, 1), "one came behind its marker");
    let answers = frames.iter().filter(|(_, frame)| frame.kind == EXECUTED);
    let answers: BTreeMap<Address, Token> = answers.map(|(to, frame)| (*to, frame.token)).collect();
    assert_eq!(answers, [(peer(1), Token(1)), (peer(2), Token(5))].into());
}

#[test]
fn a_manager_that_tells_of_more_than_all_nodes_may_have_under_way_is_cut_off() {
    let mut node = node();
    let most = 3 * MAX_UNEXECUTED as u64;
    for pulse in 1..=most {
        markers(&mut node, &[(pulse, 1, pulse)]);
        assert_eq!(node.halt(), None, "{pulse}");
    }
    markers(&mut node, &[(most + 1, 1, most + 1)]);
    assert_eq!(node.halt(), Some(Halt { node: MANAGER.node, cause: HaltCause::Misbehaved }));
}

#[test]
fn purely_local_isochrons_run_up_to_the_next_one_that_is_pending() {
    let mut node = node();
    let local = |node: &mut Node, token| told(&submit(node, token, vec![Operation::Read(MINE)]));
    assert_eq!(local(&mut node, 1), [(COMPLETED, vec![])], "nothing is pending");
    submit(&mut node, 2, vec![Operation::Write(X, value(5))]);
    assert_eq!(local(&mut node, 3), [], "the write is");
    let frames = markers(&mut node, &[(1, 0, 2)]);
    let completed = frames.iter().find(|(_, frame)| frame.kind == COMPLETED);
    assert_eq!(
        completed.map(|(_, frame)| frame.token),
        Some(Token(3)),
        "it ran behind the write, which node 1 has not done"
    );
    assert_eq!(local(&mut node, 4), [(COMPLETED, vec![])], "the write has its place");
    assert_eq!(node.value(X), Some(&value(5)));
    // Behind one without a part here, whose marker goes to others, it asks for a place of its own.
    submit(&mut node, 5, vec![message(1, b"away")]);
    assert_eq!(told(&submit(&mut node, 6, vec![Operation::Read(MINE)])), []);
    let frames = end_burst(&mut node);
    let is_announced = frames.iter().any(|(to, frame)| *to == MANAGER && frame.kind == ANNOUNCE);
    assert!(is_announced && told(&frames).is_empty());
    assert_eq!(told(&markers(&mut node, &[(2, 0, 6)])), [(COMPLETED, vec![])]);
}

#[test]
fn an_isochron_has_completed_when_all_have_executed_it_with_what_its_reads_gave() {
    let mut node = node();
    let frames = submit(
        &mut node,
        8,
        vec![Operation::Read(THEIRS), Operation::Read(MINE), Operation::Write(X, value(1))],
    );
    let parts: Vec<Address> =
        frames.iter().filter(|(_, frame)| frame.kind == PART).map(|(to, _)| *to).collect();
    assert_eq!(parts, [peer(1)], "one part a receiver");
    assert!(told(&markers(&mut node, &[(4, 0, 1)])).is_empty());
    let executed = Executed { view: View(1), pulse: Pulse(4), values: vec![ReadValue::Value(value(9))] };
    let frames = give(&mut node, peer(1), EXECUTED, 1, &encode_to_vec(&executed));
    let [(CALLERS, frame)] = &frames[..] else { panic!("{frames:?}") };
    let completed = Completed::decode_all(&frame.body).expect("it was written here");
    assert_eq!(completed.values, [ReadValue::Value(value(9)), ReadValue::Value(value(0))]);
    assert_eq!((completed.place.stamp.pulse, frame.token), (Pulse(4), Token(8)));
}

#[test]
fn a_read_behind_a_reserved_place_is_answered_when_the_value_is_there() {
    let mut node = node();
    submit(&mut node, 1, vec![Operation::Sched(MINE)]);
    assert!(told(&submit(&mut node, 2, vec![Operation::Read(MINE)])).is_empty());
    let frames = submit(&mut node, 3, vec![Operation::Assign(MINE, value(7))]);
    let completed: Vec<_> =
        frames.iter().map(|(_, frame)| (frame.token, Completed::decode_all(&frame.body))).collect();
    let read = completed.iter().find(|(token, _)| *token == Token(2)).expect("it is answered");
    assert_eq!(
        read.1.as_ref().map(|completed| completed.values.clone()),
        Ok(vec![ReadValue::Value(value(7))])
    );
    assert_eq!(completed.len(), 2);
}

#[test]
fn plain_messages_pass_what_waits_and_their_senders_learn_that_they_are_there() {
    let mut node = node();
    part(&mut node, 1, 1, vec![message(0, b"in order")]);
    let plain = |of: u16| encode_to_vec(&crate::codec::Plain { node: NodeId(of), handler: 3, bytes: b"now" });
    let frames = give(&mut node, peer(1), PLAIN, 77, &plain(1));
    assert_eq!(told(&frames), [(PLAIN, vec![])]);
    let answer = frames.iter().find(|(to, _)| *to == peer(1)).map(|(_, frame)| (frame.kind, frame.token));
    assert_eq!(answer, Some((SENT, Token(77))));
    let frames = give(&mut node, CALLERS, PLAIN, 5, &plain(2));
    let [(to, frame)] = &frames[..] else { panic!("{frames:?}") };
    assert_eq!((*to, frame.kind), (peer(2), PLAIN));
    let frames = give(&mut node, peer(2), SENT, frame.token.0, &[]);
    assert!(matches!(&frames[..], [(CALLERS, frame)] if (frame.kind, frame.token) == (SENT, Token(5))));
    let frames = give(&mut node, CALLERS, PLAIN, 6, &plain(8));
    assert!(matches!(&frames[..], [(CALLERS, frame)] if frame.kind == REFUSED), "nobody knows node 8");
}

#[test]
fn who_says_that_anothers_plain_message_has_arrived_answers_nothing() {
    let mut node = node();
    let plain = encode_to_vec(&crate::codec::Plain { node: NodeId(2), handler: 3, bytes: b"now" });
    let frames = give(&mut node, CALLERS, PLAIN, 5, &plain);
    let token = frames[0].1.token.0;
    let frames = give(&mut node, peer(1), SENT, token, &[]);
    assert!(frames.iter().all(|(_, frame)| frame.kind != SENT) && node.halt().is_some());
    let frames = give(&mut node, peer(2), SENT, token, &[]);
    assert!(matches!(&frames[..], [(CALLERS, frame)] if (frame.kind, frame.token) == (SENT, Token(5))));
}

#[test]
fn who_sends_what_it_may_not_is_cut_off_and_named() {
    type Deed = fn(&mut Node, &mut Effects);
    fn say(node: &mut Node, out: &mut Effects, from: Address, kind: Kind, token: u64, body: &[u8]) {
        node.handle(Time(1), Input::Frame(from, Frame::new(kind, Token(token), body)), out);
    }
    fn part_of(node: &mut Node, out: &mut Effects, rank: u64, operation: Operation) {
        let body = encode_to_vec(&Part { view: View(1), rank: Rank(rank), operations: [operation].into() });
        say(node, out, peer(1), PART, rank, &body);
    }
    let deeds: [(&str, Deed); 10] = [
        ("a message for another", |node, out| part_of(node, out, 1, message(1, b"x"))),
        ("a variable of another", |node, out| part_of(node, out, 1, Operation::Read(THEIRS))),
        ("a value of a wrong size", |node, out| {
            part_of(node, out, 1, Operation::Write(X, Bytes::from_static(b"ab")))
        }),
        ("a rank twice", |node, out| (0..2).for_each(|_| part_of(node, out, 1, Operation::Read(X)))),
        ("a flood of parts", |node, out| {
            (1..400).for_each(|rank| part_of(node, out, rank, Operation::Read(X)))
        }),
        ("a value for no reserved place", |node, out| {
            part_of(node, out, 1, Operation::Assign(X, value(1)));
            markers(node, &[]);
            let mut body = 1u32.to_le_bytes().to_vec();
            let ordered = Ordered { pulse: Pulse(1), sender: NodeId(1), rank: Rank(1) };
            crate::codec::write_marker(&ordered, &mut body);
            say(node, out, MANAGER, MARKERS, 0, &body);
        }),
        ("an answer that nobody asked for", |node, out| {
            let executed = Executed { view: View(1), pulse: Pulse(1), values: vec![] };
            say(node, out, peer(1), EXECUTED, 3, &encode_to_vec(&executed));
        }),
        ("markers of a node", |node, out| say(node, out, peer(1), MARKERS, 0, &[1, 0, 0, 0])),
        ("what cannot be read", |node, out| say(node, out, peer(1), PART, 1, &[1, 0, 0, 0, 9])),
        ("a flood of parts of a view to come", |node, out| {
            let body = [&9u32.to_le_bytes()[..], &[0; 60_000]].concat();
            (1..400).for_each(|rank| say(node, out, peer(1), PART, rank, &body));
        }),
    ];
    for (what, deed) in deeds {
        let (mut node, mut out) = (node(), Effects::default());
        deed(&mut node, &mut out);
        let is_cut = out.drain().any(|effect| effect == Effect::Disconnected(peer(1), Disconnect::ForGood));
        let halt = Halt { node: NodeId(1), cause: HaltCause::Misbehaved };
        assert!(is_cut && node.halt() == Some(halt), "{what}");
    }
}

#[test]
fn a_manager_that_tells_a_pulse_again_or_what_was_not_announced_is_cut_off() {
    for told in [&[(2, 1, 1), (1, 1, 2)][..], &[(1, 0, 4)], &[(1, 8, 1)]] {
        let mut node = node();
        markers(&mut node, told);
        assert_eq!(node.halt().map(|halt| halt.node), Some(NodeId(9)), "{told:?}");
    }
    let mut node = node();
    submit(&mut node, 1, vec![Operation::Write(MINE, value(1)), message(1, b"x")]);
    markers(&mut node, &[(1, 0, 1), (2, 0, 1)]);
    assert_eq!(node.halt().map(|halt| halt.node), Some(NodeId(9)), "one isochron twice");
}

#[test]
fn a_part_that_others_executed_at_another_time_is_the_fault_of_the_manager() {
    let mut node = node();
    submit(&mut node, 1, vec![Operation::Write(X, value(1))]);
    let executed = Executed { view: View(1), pulse: Pulse(4), values: vec![] };
    give(&mut node, peer(1), EXECUTED, 1, &encode_to_vec(&executed));
    markers(&mut node, &[(3, 0, 1)]);
    assert_eq!(node.halt().map(|halt| halt.node), Some(NodeId(9)));
}

#[test]
fn parts_whose_reads_wait_count_with_those_that_have_not_been_executed() {
    let mut node = node();
    submit(&mut node, 1, vec![Operation::Sched(MINE)]);
    for rank in 1..=MAX_UNEXECUTED as u64 {
        part(&mut node, 1, rank, vec![Operation::Read(MINE)]);
        markers(&mut node, &[(rank, 1, rank)]);
    }
    assert_eq!((node.halt(), node.place().stamp.pulse), (None, Pulse(MAX_UNEXECUTED as u64)));
    part(&mut node, 1, MAX_UNEXECUTED as u64 + 1, vec![Operation::Read(MINE)]);
    assert_eq!(node.halt(), Some(Halt { node: NodeId(1), cause: HaltCause::Misbehaved }));
}

#[test]
fn a_program_that_submits_too_much_or_wrongly_is_told_so_and_the_node_goes_on() {
    let mut node = node();
    let refusal = |frames: Vec<(Address, OwnedFrame)>| {
        let refused = frames.iter().find(|(_, frame)| frame.kind == REFUSED)?;
        Refusal::decode_all(&refused.1.body).ok()
    };
    let unknown = refusal(submit(&mut node, 1, vec![message(8, b"x")]));
    assert_eq!(unknown, Some(Refusal::Misuse("node 8 is at no switch of the topology".to_owned())));
    assert!(matches!(refusal(give(&mut node, CALLERS, SUBMIT, 2, &[1])), Some(Refusal::Misuse(_))));
    assert!(matches!(refusal(give(&mut node, CALLERS, MARKERS, 2, &[])), Some(Refusal::Misuse(_))));
    let taken =
        (10..).take_while(|token| refusal(submit(&mut node, *token, vec![message(1, b"x")])).is_none());
    assert_eq!(taken.count(), MAX_UNEXECUTED - KEPT_FOR_VALUES);
    assert_eq!(refusal(submit(&mut node, 5, vec![message(1, b"x")])), Some(Refusal::Busy));
    assert_eq!(node.halt(), None);
}

#[test]
fn a_peer_that_is_gone_halts_the_view_and_the_program_is_told_why() {
    let mut node = node();
    submit(&mut node, 1, vec![message(1, b"x")]);
    let mut out = Effects::default();
    node.handle(Time(1), Input::Peer(peer(1), &PeerChange::Down(DownCause::Died)), &mut out);
    let halt = Halt { node: NodeId(1), cause: HaltCause::Gone };
    assert_eq!((node.halt(), told(&out.frames())), (Some(halt), vec![(HALTED, vec![])]));
    let frames = submit(&mut node, 2, vec![Operation::Read(MINE)]);
    assert_eq!(Refusal::decode_all(&frames[0].1.body), Ok(Refusal::Halted(halt)));
}

fn next_view(node: &mut Node, view: u32, topology: &str) -> Vec<(Address, OwnedFrame)> {
    let next = crate::codec::NextView { view: View(view), topology };
    give(node, CALLERS, NEXT_VIEW, 1, &encode_to_vec(&next))
}

fn cut(node: &mut Node, from: Address, next: u32, step: CutStep) -> Vec<(Address, OwnedFrame)> {
    give(node, from, CUT, 0, &encode_to_vec(&Cut { view: View(1), next: View(next), step }))
}

fn refused(frames: &[(Address, OwnedFrame)]) -> Option<String> {
    let (_, frame) = frames.iter().find(|(_, frame)| frame.kind == REFUSED)?;
    Refusal::decode_all(&frame.body).ok().map(|refusal| refusal.to_string())
}

#[test]
fn a_next_view_that_does_not_follow_or_is_of_too_few_is_refused() {
    let mut node = node();
    for (view, topology, problem) in [
        (1, "switch lan at 9: 0 2", "view 1 does not follow view 1"),
        (2, "switch lan at 9: 2", "node 0 is at no switch"),
        (2, "wire a b", "no node is at any switch"),
        (2, "switch lan at 9: 0", "view 2 has 1 of the 3 nodes"),
    ] {
        let said = refused(&next_view(&mut node, view, topology)).expect("it is refused");
        assert!(said.contains(problem), "{said}");
    }
}

#[test]
fn the_lowest_who_is_left_gathers_what_all_know_and_begins_the_view_when_all_hold_it() {
    let mut node = node();
    submit(&mut node, 7, vec![Operation::Write(X, value(1)), message(2, b"x")]);
    part(&mut node, 2, 5, vec![message(0, b"here")]);
    let frames = next_view(&mut node, 2, "switch lan at 8: 0 2");
    assert!(frames.iter().any(|(to, frame)| *to == peer(2) && frame.kind == CUT), "it asks");
    assert!(refused(&submit(&mut node, 8, vec![message(2, b"x")])).is_some(), "nothing more in this view");
    let known = vec![Ordered { pulse: Pulse(4), sender: NodeId(2), rank: Rank(6) }];
    let frames = cut(&mut node, peer(2), 2, CutStep::Report { is_complete: true, known });
    assert_eq!((told(&frames), node.view()), (vec![], View(1)), "nobody else holds it");
    markers(&mut node, &[(1, 0, 1)]);
    let frames = cut(&mut node, peer(2), 2, CutStep::Held);
    let kinds: Vec<Kind> = told(&frames).into_iter().map(|(kind, _)| kind).collect();
    assert_eq!(kinds, [DELIVERED, REFUSED, INSTALLED], "the marker came too late");
    assert_eq!((node.view(), node.halt()), (View(2), None));
}

/// Ends the view of node 0, and begins the next one without node 2: what the program is told.
fn go_on_without_node_2(node: &mut Node) -> Vec<(Address, OwnedFrame)> {
    next_view(node, 2, "switch lan at 8: 0 1");
    cut(node, peer(1), 2, CutStep::Report { is_complete: true, known: vec![] });
    cut(node, peer(1), 2, CutStep::Held)
}

fn completed(frames: &[(Address, OwnedFrame)]) -> Vec<(Token, Vec<ReadValue>)> {
    let completed = frames.iter().filter(|(_, frame)| frame.kind == COMPLETED);
    let values = |frame: &OwnedFrame| Completed::decode_all(&frame.body).expect("it was written here").values;
    completed.map(|(_, frame)| (frame.token, values(frame))).collect()
}

#[test]
fn a_read_waits_over_the_end_of_a_view_for_who_is_left_and_not_for_who_is_gone() {
    for (reserves, early) in [(1, vec![]), (2, vec![(Token(1), vec![ReadValue::Aborted])])] {
        let mut node = node();
        part(&mut node, reserves, 1, vec![Operation::Sched(MINE)]);
        markers(&mut node, &[(1, reserves, 1)]);
        assert_eq!(told(&submit(&mut node, 1, vec![Operation::Read(MINE)])), []);
        assert_eq!(completed(&go_on_without_node_2(&mut node)), early);
        assert_eq!(node.view(), View(2));
        if reserves == 1 {
            let assigns =
                Part { view: View(2), rank: Rank(2), operations: [Operation::Assign(MINE, value(7))].into() };
            give(&mut node, peer(1), PART, 2, &encode_to_vec(&assigns));
            let mut body = 2u32.to_le_bytes().to_vec();
            let ordered = Ordered { pulse: Pulse(1), sender: NodeId(1), rank: Rank(2) };
            crate::codec::write_marker(&ordered, &mut body);
            let manager = Address { node: NodeId(8), ..MANAGER };
            let frames = give(&mut node, manager, MARKERS, 0, &body);
            assert_eq!(completed(&frames), [(Token(1), vec![ReadValue::Value(value(7))])]);
        }
        assert_eq!((node.unexecuted(), node.halt()), (0, None));
    }
}

/// Node 1 reads for it, and what it has read is not known here.
#[test]
fn a_read_of_a_copy_elsewhere_ends_with_the_view() {
    let mut node = node();
    part(&mut node, 1, 1, vec![Operation::Sched(MINE)]);
    markers(&mut node, &[(1, 1, 1)]);
    submit(&mut node, 1, vec![Operation::Read(MINE), Operation::Read(THEIRS)]);
    assert_eq!(completed(&markers(&mut node, &[(2, 0, 1)])), []);
    let values = vec![ReadValue::Unanswered, ReadValue::Unanswered];
    assert_eq!(completed(&go_on_without_node_2(&mut node)), [(Token(1), values)]);
}

#[test]
fn who_holds_a_view_begins_it_when_another_has_begun_also_on_the_way_to_a_later_one() {
    let text = "switch lan at 8: 0 1 2";
    let mut node = node_of(2);
    next_view(&mut node, 2, text);
    cut(&mut node, peer(0), 2, CutStep::Gather);
    cut(&mut node, peer(0), 2, CutStep::Prefix { is_complete: true, order: vec![] });
    assert_eq!(node.view(), View(1));
    assert!(
        refused(&next_view(&mut node, 3, "switch lan at 7: 1 2")).is_some(),
        "view 2 is not awaited any more"
    );
    let body = encode_to_vec(&Cut { view: View(2), next: View(3), step: CutStep::Gather });
    let frames = give(&mut node, peer(1), CUT, 0, &body);
    assert_eq!(node.view(), View(2), "node 1 has begun it");
    assert!(frames.iter().any(|(to, frame)| *to == peer(1) && frame.kind == CUT), "and is told");
}

#[test]
fn who_was_left_behind_is_told_so() {
    let mut node = node();
    next_view(&mut node, 2, "switch lan at 8: 0 1 2");
    let body = encode_to_vec(&Cut { view: View(2), next: View(2), step: CutStep::Begun });
    let said = refused(&give(&mut node, peer(1), CUT, 0, &body)).expect("it is refused");
    assert!(said.contains("start it anew"), "{said}");
}

#[test]
fn who_is_gone_before_the_view_begins_halts_it() {
    let mut node = node();
    next_view(&mut node, 2, "switch lan at 8: 0 1 2");
    let empty = || CutStep::Report { is_complete: true, known: vec![] };
    (1..=2).for_each(|number| _ = cut(&mut node, peer(number), 2, empty()));
    cut(&mut node, peer(1), 2, CutStep::Held);
    let mut out = Effects::default();
    node.handle(Time(1), Input::Peer(peer(1), &PeerChange::Down(DownCause::Died)), &mut out);
    cut(&mut node, peer(2), 2, CutStep::Held);
    assert_eq!(node.view(), View(2));
    assert_eq!(node.halt(), Some(Halt { node: NodeId(1), cause: HaltCause::Gone }));
}

#[test]
fn ranks_of_what_has_not_completed_are_not_far_apart() {
    let mut node = node();
    submit(&mut node, 1, vec![message(1, b"x")]);
    let last = (2..).find(|token| {
        let frames = submit(&mut node, *token, vec![message(2, b"x")]);
        let is_refused = refused(&frames).is_some();
        if !is_refused {
            let executed = Executed { view: View(1), pulse: Pulse(*token), values: vec![] };
            give(&mut node, peer(2), EXECUTED, *token, &encode_to_vec(&executed));
        }
        is_refused
    });
    let all = crate::limits::MAX_RANKS_APART - KEPT_FOR_VALUES as u64;
    assert_eq!((last, node.halt()), (Some(all + 2), None));
}

#[test]
fn whatever_waits_for_a_reserved_place_it_can_be_given_its_value() {
    let mut node = node();
    submit(&mut node, 1, vec![Operation::Sched(MINE)]);
    let read = |node: &mut Node, token| refused(&submit(node, token, vec![Operation::Read(MINE)])).is_none();
    let reads = (2..).take_while(|token| read(&mut node, *token)).count();
    assert_eq!(reads, MAX_UNEXECUTED - KEPT_FOR_VALUES);
    let moves = vec![Operation::Assign(MINE, value(6)), Operation::Sched(MINE)];
    assert!(refused(&submit(&mut node, 2000, moves)).is_some(), "it reserves as many as it gives values");
    let frames = submit(&mut node, 2001, vec![Operation::Assign(MINE, value(7))]);
    assert_eq!(completed(&frames).len(), reads + 1);
    assert_eq!(node.unexecuted(), 0);
}

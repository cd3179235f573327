//! Nodes that come back: the way into a view, and the state that it begins with.

use super::*;
use crate::codec::{
    Copied, CopyState, NextMembers, NextView, PROGRAM_STATE, ProgramState, TAKE_STATE, TRANSFER, Transfer,
    TransferStep,
};
use crate::limits::{MAX_PROGRAM_STATE_BYTES, MAX_STATE_PIECE_BYTES};
use crate::members::Joined;

type Frames = Vec<(Address, OwnedFrame)>;

/// A later process of node 2, in no view.
fn newcomer() -> Node {
    let topology = Topology::lan(NodeId(9), &[ME, NodeId(1), NodeId(2)]).expect("it is one");
    let shape = |copies: &[u16]| Shape { bytes: 1, copies: copies.iter().copied().map(NodeId).collect() };
    let variables = [(X, shape(&[0, 2])), (MINE, shape(&[2])), (THEIRS, shape(&[1, 2]))].into();
    let isonet = Arc::new(Isonet::new(topology, variables).expect("they can be shared"));
    Node::new(NodeConfig { joins: Some(7), ..NodeConfig::new(NodeId(2), CALLERS, View(0), isonet) })
}

/// View 3, which node 2 joins.
fn told_of_view_3(node: &mut Node) -> Frames {
    let next = NextView { view: View(3), topology: "switch lan at 7: 0 1 2" };
    let newcomers = [(NodeId(2), Joined { view: View(3), life: 7 })].into();
    give(node, CALLERS, NEXT_VIEW, 4, &encode_to_vec(&NextMembers { next, newcomers }))
}

/// What a node in view 2 says of view 3.
fn cut_of_2(node: &mut Node, from: u16, step: CutStep) -> Frames {
    give(node, peer(from), CUT, 0, &encode_to_vec(&Cut { view: View(2), next: View(3), step }))
}

fn transfer(node: &mut Node, from: u16, step: TransferStep) -> Frames {
    give(node, peer(from), TRANSFER, 0, &encode_to_vec(&Transfer { view: View(3), step }))
}

/// What is said of state, and to whom.
fn transferred(frames: &Frames) -> Vec<(u16, TransferStep)> {
    let of = |(to, frame): &(Address, OwnedFrame)| {
        let transfer = Transfer::decode_all(&frame.body).expect("it was written here");
        (to.node.0, transfer.step)
    };
    frames.iter().filter(|(_, frame)| frame.kind == TRANSFER).map(of).collect()
}

/// Brings the newcomer into view 3: what it asks first.
fn join(node: &mut Node) -> Frames {
    told_of_view_3(node);
    cut_of_2(node, 0, CutStep::Gather);
    cut_of_2(node, 0, CutStep::Prefix { is_complete: true, order: vec![] });
    let body = encode_to_vec(&Cut { view: View(3), next: View(3), step: CutStep::Begun });
    give(node, peer(1), CUT, 0, &body)
}

fn copied(variable: Variable, byte: u8) -> Copied {
    Copied { variable, held: CopyState::Value(value(byte)), reserved_by: vec![] }
}

fn variables(copies: Vec<Copied>) -> TransferStep {
    TransferStep::Variables { before: View(2), is_complete: true, copies }
}

fn program(bytes: &'static [u8]) -> TransferStep {
    TransferStep::Program { is_complete: true, bytes: Bytes::from_static(bytes) }
}

#[test]
fn a_newcomer_holds_its_view_as_all_do_and_begins_it_when_another_has() {
    let mut node = newcomer();
    assert_eq!(cut_of_2(&mut node, 0, CutStep::Gather).len(), 0, "it does not know of the view");
    let said = told_of_view_3(&mut node);
    let [(to, frame)] = &said[..] else { panic!("{said:?}") };
    let report = CutStep::Report { is_complete: true, known: vec![] };
    assert_eq!(Cut::decode_all(&frame.body), Ok(Cut { view: View(2), next: View(3), step: report }));
    assert_eq!((*to, node.view()), (peer(0), View(0)));
    let said = cut_of_2(&mut node, 0, CutStep::Prefix { is_complete: true, order: vec![] });
    let held = Cut { view: View(2), next: View(3), step: CutStep::Held };
    assert_eq!(Cut::decode_all(&said[0].1.body), Ok(held));
    assert_eq!(node.view(), View(0), "nobody has begun it");
    let body = encode_to_vec(&Cut { view: View(3), next: View(3), step: CutStep::Begun });
    let said = give(&mut node, peer(1), CUT, 0, &body);
    assert_eq!(transferred(&said), [(0, TransferStep::WantsVariables(None))], "the eldest is asked");
    assert_eq!((node.view(), told(&said)), (View(3), vec![]));
}

/// Node 1 has not heard that view 3 has begun, and asks for view 4.
#[test]
fn who_has_asked_a_newcomer_that_begins_an_earlier_view_is_told_so() {
    let mut node = newcomer();
    told_of_view_3(&mut node);
    cut_of_2(&mut node, 0, CutStep::Gather);
    cut_of_2(&mut node, 0, CutStep::Prefix { is_complete: true, order: vec![] });
    let asks = encode_to_vec(&Cut { view: View(2), next: View(4), step: CutStep::Gather });
    assert_eq!(give(&mut node, peer(1), CUT, 0, &asks).len(), 0, "it does not know of the view");
    let begun = Cut { view: View(3), next: View(3), step: CutStep::Begun };
    let said = give(&mut node, peer(0), CUT, 0, &encode_to_vec(&begun));
    let told: Vec<_> = said.iter().filter(|(_, frame)| frame.kind == CUT).collect();
    let [(to, frame)] = &told[..] else { panic!("{said:?}") };
    assert_eq!((*to, Cut::decode_all(&frame.body)), (peer(1), Ok(begun)));
}

/// Nodes 2, 3 and 4 have joined view 3 and wait for the state of it; view 4, which begins without node 0, has begun at node 1, which ends.
#[test]
fn a_newcomer_that_waits_for_its_state_says_nothing_to_itself_when_a_later_view_is_its_to_begin() {
    let topology = Topology::lan(NodeId(9), &[0, 1, 2, 3, 4].map(NodeId)).expect("it is one");
    let isonet = Arc::new(Isonet::new(topology, BTreeMap::new()).expect("nothing is shared"));
    let mut node =
        Node::new(NodeConfig { joins: Some(7), ..NodeConfig::new(NodeId(2), CALLERS, View(0), isonet) });
    let tell = |node: &mut Node, view, topology| {
        let joined = |node: u16| (NodeId(node), Joined { view: View(3), life: 5 + u64::from(node) });
        let next = NextView { view: View(view), topology };
        let body = encode_to_vec(&NextMembers { next, newcomers: [2, 3, 4].map(joined).into() });
        give(node, CALLERS, NEXT_VIEW, view.into(), &body)
    };
    let cut = |node: &mut Node, from, (view, next), step| {
        give(node, peer(from), CUT, 0, &encode_to_vec(&Cut { view: View(view), next: View(next), step }))
    };
    let prefix = || CutStep::Prefix { is_complete: true, order: vec![] };
    tell(&mut node, 3, "switch lan at 9: 0 1 2 3 4");
    cut(&mut node, 0, (2, 3), CutStep::Gather);
    cut(&mut node, 0, (2, 3), prefix());
    cut(&mut node, 0, (3, 3), CutStep::Begun);
    tell(&mut node, 4, "switch lan at 8: 1 2 3 4");
    cut(&mut node, 1, (3, 4), CutStep::Gather);
    cut(&mut node, 1, (3, 4), prefix());
    cut(&mut node, 1, (4, 4), CutStep::Begun);
    assert_eq!(node.view(), View(3), "it waits for the state");
    node.handle(Time(1), Input::Peer(peer(1), &PeerChange::Down(DownCause::Died)), &mut Effects::default());
    let said = tell(&mut node, 5, "switch lan at 7: 2 3 4");
    assert!(said.iter().all(|(to, _)| *to == CALLERS), "{said:?}");
    assert_eq!(
        transferred(&transfer(&mut node, 3, TransferStep::Lacks)),
        [(4, TransferStep::WantsVariables(None))]
    );
    let said = refused(&transfer(&mut node, 4, TransferStep::Lacks)).expect("nobody is left who has it");
    assert!(said.contains("start it anew"), "{said}");
}

#[test]
fn what_is_executed_waits_for_the_state_and_so_does_the_program() {
    let mut node = newcomer();
    join(&mut node);
    let part = Part {
        view: View(3),
        rank: Rank(1),
        operations: [
            Operation::Read(X),
            Operation::Send { to: NodeId(2), handler: 7, bytes: Bytes::from_static(b"x") },
        ]
        .into_iter()
        .collect(),
    };
    give(&mut node, peer(1), PART, 1, &encode_to_vec(&part));
    let mut body = 3u32.to_le_bytes().to_vec();
    crate::codec::write_marker(&Ordered { pulse: Pulse(1), sender: NodeId(1), rank: Rank(1) }, &mut body);
    let manager = Address { node: NodeId(7), ..MANAGER };
    assert_eq!(give(&mut node, manager, MARKERS, 0, &body).len(), 0);
    assert!(refused(&submit(&mut node, 9, vec![Operation::Read(X)])).is_some());
    let said = transfer(&mut node, 0, variables(vec![copied(X, 5)]));
    assert_eq!(transferred(&said), [(0, TransferStep::WantsProgram(0))]);
    let said = transfer(&mut node, 0, program(b"sta"));
    assert_eq!(transferred(&said), [(1, TransferStep::WantsVariables(None))], "node 0 has no copy of one");
    let said = transfer(&mut node, 1, variables(vec![copied(THEIRS, 6)]));
    let kinds: Vec<Kind> = told(&said).into_iter().map(|(kind, _)| kind).collect();
    assert_eq!(kinds, [PROGRAM_STATE, INSTALLED, DELIVERED]);
    assert_eq!(transferred(&said), [(0, TransferStep::HasAll), (1, TransferStep::HasAll)]);
    let answer = said.iter().find(|(_, frame)| frame.kind == EXECUTED).expect("the read was done");
    let values = Executed::decode_all(&answer.1.body).map(|executed| executed.values);
    assert_eq!(values, Ok(vec![ReadValue::Value(value(5))]));
    assert_eq!(node.value(MINE), None, "nobody had it: it is aborted");
    assert_eq!(node.value(THEIRS), Some(&value(6)));
}

#[test]
fn another_is_asked_if_one_is_gone_and_nothing_begins_if_nobody_has_the_state() {
    let mut node = newcomer();
    join(&mut node);
    transfer(&mut node, 0, variables(vec![copied(X, 5)]));
    transfer(&mut node, 0, TransferStep::Program { is_complete: false, bytes: Bytes::from_static(b"ha") });
    let mut out = Effects::default();
    node.handle(Time(1), Input::Peer(peer(0), &PeerChange::Down(DownCause::Died)), &mut out);
    assert_eq!(transferred(&out.frames()), [(1, TransferStep::WantsVariables(None))]);
    let said = transfer(&mut node, 0, program(b"lf"));
    assert_eq!((said.len(), told(&said)), (0, vec![]), "it is late");
    let said = transfer(&mut node, 1, variables(vec![copied(THEIRS, 6)]));
    assert_eq!(transferred(&said), [(1, TransferStep::WantsProgram(0))], "from the beginning");
    let said = refused(&transfer(&mut node, 1, TransferStep::Lacks)).expect("it is told so");
    assert!(said.contains("start it anew"), "{said}");
}

#[test]
fn state_that_cannot_be_is_the_fault_of_who_tells_it() {
    let wrong = |variable, held, reserved_by| variables(vec![Copied { variable, held, reserved_by }]);
    let steps = [
        ("a wrong size", wrong(X, CopyState::Value(Bytes::from_static(b"ab")), vec![])),
        ("no copy here", wrong(Variable(9), CopyState::Aborted, vec![])),
        ("reserved by nobody", wrong(X, CopyState::Reserved(NodeId(1)), vec![])),
        ("reserved by who is not there", wrong(X, CopyState::Aborted, vec![NodeId(5)])),
        ("a later view", TransferStep::Variables { before: View(3), is_complete: true, copies: vec![] }),
        ("never ending", TransferStep::Variables { before: View(2), is_complete: false, copies: vec![] }),
    ];
    for (what, step) in steps {
        let mut node = newcomer();
        join(&mut node);
        let said = transfer(&mut node, 0, step);
        assert_eq!(node.halt(), Some(Halt { node: NodeId(0), cause: HaltCause::Misbehaved }), "{what}");
        assert_eq!(transferred(&said), [(1, TransferStep::WantsVariables(None))], "{what}: another is asked");
    }
}

/// Node 0 begins view 2 without node 2, and view 3 with a later process of it: what the program is told.
fn go_on_with_newcomer(node: &mut Node) -> Frames {
    go_on_without_node_2(node);
    told_of_view_3(node);
    let of_2 = |node: &mut Node, from, step| {
        give(node, peer(from), CUT, 0, &encode_to_vec(&Cut { view: View(2), next: View(3), step }))
    };
    for from in [1, 2] {
        of_2(node, from, CutStep::Report { is_complete: true, known: vec![] });
    }
    of_2(node, 1, CutStep::Held);
    assert_eq!(node.view(), View(2), "the newcomer does not hold it");
    of_2(node, 2, CutStep::Held)
}

fn state(node: &mut Node, is_complete: bool, bytes: &[u8]) -> Frames {
    let state = ProgramState { view: View(3), is_complete, bytes };
    give(node, CALLERS, PROGRAM_STATE, 5, &encode_to_vec(&state))
}

#[test]
fn what_a_view_began_with_is_kept_for_the_newcomer_until_it_has_all() {
    let mut node = node();
    submit(&mut node, 1, vec![Operation::Sched(MINE)]);
    let kinds: Vec<Kind> = told(&go_on_with_newcomer(&mut node)).into_iter().map(|(kind, _)| kind).collect();
    assert_eq!(kinds, [TAKE_STATE, INSTALLED]);
    let wants = TransferStep::WantsVariables(None);
    assert_eq!(
        transferred(&transfer(&mut node, 1, wants.clone())),
        [(1, TransferStep::Lacks)],
        "it joins not"
    );
    let nothing_shared = TransferStep::Variables { before: View(2), is_complete: true, copies: vec![] };
    assert_eq!(transferred(&transfer(&mut node, 2, wants.clone())), [(2, nothing_shared)]);
    assert_eq!(transferred(&transfer(&mut node, 2, TransferStep::WantsProgram(0))), []);
    let long = vec![3; MAX_STATE_PIECE_BYTES];
    assert_eq!(transferred(&state(&mut node, false, &long)), []);
    let first = TransferStep::Program { is_complete: false, bytes: Bytes::from(long) };
    assert_eq!(transferred(&state(&mut node, true, b"end")), [(2, first)]);
    let rest = TransferStep::WantsProgram(MAX_STATE_PIECE_BYTES as u32);
    assert_eq!(transferred(&transfer(&mut node, 2, rest)), [(2, program(b"end"))]);
    assert!(refused(&state(&mut node, true, b"more")).is_some());
    transfer(&mut node, 2, TransferStep::HasAll);
    assert_eq!(transferred(&transfer(&mut node, 2, wants)), [(2, TransferStep::Lacks)], "it is forgotten");
}

#[test]
fn a_program_that_gives_too_much_is_told_so_and_the_newcomer_that_there_is_nothing() {
    let mut node = node();
    go_on_with_newcomer(&mut node);
    transfer(&mut node, 2, TransferStep::WantsProgram(0));
    let piece = vec![0; MAX_STATE_PIECE_BYTES];
    for _ in 0..MAX_PROGRAM_STATE_BYTES / MAX_STATE_PIECE_BYTES {
        assert_eq!(state(&mut node, false, &piece).len(), 0);
    }
    let said = state(&mut node, true, b"x");
    assert!(refused(&said).is_some_and(|said| said.contains("at most")));
    assert_eq!(transferred(&said), [(2, TransferStep::Lacks)]);
    assert_eq!(state(&mut node, true, b"x").len(), 0);
}

#[test]
fn a_view_that_takes_another_process_for_this_node_is_refused() {
    let mut newcomer = newcomer();
    let said = refused(&next_view(&mut newcomer, 2, "switch lan at 8: 0 1 2")).expect("it is refused");
    assert!(said.contains("an earlier process"), "{said}");
    let mut node = node_of(2);
    let said = refused(&told_of_view_3(&mut node)).expect("it is refused");
    assert!(said.contains("start it anew"), "{said}");
}

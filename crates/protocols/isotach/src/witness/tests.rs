//! A short run that is right, and what each rule finds when one thing of it is changed.

use super::*;
use crate::isonet::Shape;
use crate::logical_time::{Pulse, Stamp};
use crate::topology::Topology;

const X: Variable = Variable(7);
const A: NodeId = NodeId(1);
const B: NodeId = NodeId(2);

fn place(pulse: u64, sender: NodeId, rank: u64) -> Place {
    Place { stamp: Stamp { view: View(0), pulse: Pulse(pulse), sender, rank: Rank(rank) }, behind: 0 }
}

fn value(byte: u8) -> Bytes {
    Bytes::from(vec![byte; 4])
}

fn submitted(rank: u64, operations: Vec<Operation>, after: Place) -> Witnessed {
    Witnessed::Submitted { rank: Rank(rank), operations, after }
}

fn executed(pulse: u64, sender: NodeId, rank: u64) -> Witnessed {
    Witnessed::Executed { place: place(pulse, sender, rank), sender, rank: Rank(rank) }
}

fn completed(pulse: u64, sender: NodeId, rank: u64, reads: Reads) -> Witnessed {
    Witnessed::Completed { place: place(pulse, sender, rank), rank: Rank(rank), reads }
}

/// Node A writes twice to a variable that both have; node B, which has seen the first write, reads it behind the second.
fn run() -> Run {
    let topology = Topology::lan(NodeId(0), &[A, B]).expect("one switch");
    let shape = Shape { bytes: 4, copies: BTreeSet::from([A, B]) };
    let isonet = Isonet::new(topology, BTreeMap::from([(X, shape)])).expect("it is shared by both");
    let start = Place::start_of(View(0));
    let a = vec![
        submitted(1, vec![Operation::Write(X, value(1))], start),
        submitted(2, vec![Operation::Write(X, value(2))], start),
        executed(3, A, 1),
        completed(3, A, 1, Vec::new()),
        executed(4, A, 2),
        completed(4, A, 2, Vec::new()),
    ];
    let b = vec![
        executed(3, A, 1),
        submitted(1, vec![Operation::Read(X)], place(3, A, 1)),
        executed(4, A, 2),
        executed(5, B, 1),
        completed(5, B, 1, vec![(X, ReadValue::Value(value(2)))]),
    ];
    let views = BTreeMap::from([(View(0), Arc::new(isonet))]);
    Run { said: BTreeMap::from([(A, a), (B, b)]), views, gone: BTreeSet::new(), has_ended: true }
}

/// What is found where what a node said is changed so.
fn found(node: NodeId, change: impl FnOnce(&mut Vec<Witnessed>)) -> Violation {
    let mut run = run();
    change(run.said.get_mut(&node).expect("it said something"));
    check(&run).expect_err("it is not what isochrons promise")
}

#[test]
fn a_run_in_one_order_is_right() {
    assert_eq!(check(&run()), Ok(()));
}

#[test]
fn each_rule_finds_what_breaks_it() {
    assert_eq!(found(B, |said| said.swap(0, 2)), Violation::Order(B, place(4, A, 2), place(3, A, 1)));
    assert_eq!(
        found(B, |said| said[2] = executed(6, A, 2)),
        Violation::Torn(A, Rank(2), place(4, A, 2), place(6, A, 2)),
        "behind what it comes before elsewhere"
    );
    assert_eq!(
        found(B, |said| said[0] = executed(2, A, 1)),
        Violation::Torn(A, Rank(1), place(3, A, 1), place(2, A, 1))
    );
    assert_eq!(found(B, |said| drop(said.remove(2))), Violation::Receivers(A, Rank(2)), "lost at one node");
    assert_eq!(
        found(B, |said| said.insert(3, executed(4, A, 9))),
        Violation::Receivers(A, Rank(9)),
        "nobody submitted it"
    );
    assert_eq!(found(B, |said| drop(said.pop())), Violation::Unfinished(B, Rank(1)));
    assert_eq!(
        found(B, |said| said[1] = submitted(1, vec![Operation::Read(X)], place(6, A, 9))),
        Violation::Causality(B, Rank(1))
    );
}

#[test]
fn an_isochron_that_passes_an_earlier_one_of_its_sender_is_found() {
    let mut run = run();
    let swapped = |witnessed: &mut Witnessed| {
        if let Witnessed::Executed { place, sender: A, .. } | Witnessed::Completed { place, .. } = witnessed
            && place.stamp.sender == A
        {
            place.stamp.pulse.0 = 7 - place.stamp.pulse.0;
        }
    };
    let a = run.said.get_mut(&A).expect("it said something");
    a.iter_mut().for_each(swapped);
    a.swap(2, 4);
    let b = run.said.get_mut(&B).expect("it said something");
    b.iter_mut().for_each(swapped);
    b.swap(0, 2);
    assert_eq!(check(&run), Err(Violation::Fifo(A, Rank(2))));
}

#[test]
fn reads_are_of_the_last_write_and_there_is_one_for_each() {
    let given = |reads: Reads| found(B, move |said| said[4] = completed(5, B, 1, reads));
    let stale = ReadValue::Value(value(1));
    let expected = Violation::Read {
        node: B,
        rank: Rank(1),
        variable: X,
        given: stale.clone(),
        written: ReadValue::Value(value(2)),
    };
    assert_eq!(given(vec![(X, stale)]), expected);
    let right = (X, ReadValue::Value(value(2)));
    for reads in [vec![], vec![right.clone(), right.clone()], vec![(Variable(8), right.1)]] {
        assert_eq!(given(reads), Violation::Reads(B, Rank(1)));
    }
}

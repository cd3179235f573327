//! A run whose frames are delivered by hand, in the order in which a specification showed what went wrong (decision 69).

use super::net::{Net, Setting, callers_of, manager_at, node_at};
use quintet_contract::{Address, Bytes, Frame, Input, NodeId, Random, Token};
use quintet_isotach::codec::{NEXT_VIEW, NextView, SUBMIT};
use quintet_isotach::{Isonet, Operation, Topology, View, Witnessed};
use quintet_wire::encode_to_vec;
use std::collections::BTreeMap;
use std::sync::Arc;

const MANAGER: Address = manager_at(NodeId(100));

const fn node(number: u16) -> Address {
    node_at(NodeId(number))
}

struct Run {
    net: Net,
    random: Random,
}

impl Run {
    /// Three nodes at one switch, in view 1.
    fn begun() -> Run {
        let topology = Topology::lan(MANAGER.node, &[NodeId(0), NodeId(1), NodeId(2)]).expect("it has nodes");
        let isonet = Arc::new(Isonet::new(topology, BTreeMap::new()).expect("it has no variable"));
        let mut random = Random::new(1, 1);
        let mut net = Net::new(&isonet, &mut random, None, Setting::Told);
        net.is_never_full();
        Run { net, random }
    }

    /// A message to each of the three, of node 0's program.
    fn submit(&mut self) {
        let send = |to| Operation::Send { to: NodeId(to), handler: 7, bytes: Bytes::from_static(b"x") };
        let mut body = Vec::from(3u16.to_le_bytes());
        (0..3).for_each(|to| body.extend(encode_to_vec(&send(to))));
        self.ask(0, Frame::new(SUBMIT, Token(1), &body));
    }

    /// Each view has another token manager: nothing is to come of that of the view before.
    fn next_view(&mut self, at: u16, view: u16, nodes: &[u16]) {
        let nodes: Vec<NodeId> = nodes.iter().copied().map(NodeId).collect();
        let topology = Topology::lan(NodeId(100 + view), &nodes).expect("it has nodes").to_text();
        let body = encode_to_vec(&NextView { view: View(u32::from(view)), topology: &topology });
        self.ask(at, Frame::new(NEXT_VIEW, Token(u64::from(view)), &body));
    }

    fn ask(&mut self, at: u16, frame: Frame<'_>) {
        let input = Input::Frame(callers_of(NodeId(at)), frame);
        self.net.give(node(at), input, &mut self.random);
    }

    fn end(&mut self, gone: Address, told: &[u16]) {
        self.net.crash(gone.node);
        told.iter().for_each(|at| self.net.tell_down(node(*at), gone, &mut self.random));
    }

    fn deliver(&mut self, from: Address, to: Address) -> bool {
        self.net.deliver(from, to, &mut self.random)
    }

    fn deliver_all(&mut self, from: Address, to: Address) {
        while self.deliver(from, to) {}
    }

    fn executed(&self, at: u16) -> usize {
        let said = self.net.nodes[&NodeId(at)].witness();
        said.iter().filter(|one| matches!(one, Witnessed::Executed { .. })).count()
    }

    fn view(&self, at: u16) -> View {
        self.net.nodes[&NodeId(at)].view()
    }
}

/// The token manager ends when node 0 alone has been told a place; all hold the beginning of view 2, which has it; node 0 begins that, and ends as well. The two others
/// have not heard that it has begun, and agree on view 3.
#[test]
fn what_is_held_for_a_view_that_somebody_may_have_begun_is_executed_by_all() {
    let mut run = Run::begun();
    run.submit();
    [1, 2].into_iter().for_each(|at| run.deliver_all(node(0), node(at)));
    // Token managers are told at the end of a burst.
    (0..3).for_each(|at| run.net.give(node(at), Input::Wake, &mut run.random));
    (0..3).for_each(|at| run.deliver_all(node(at), MANAGER));
    run.net.give(MANAGER, Input::Wake, &mut run.random);
    run.deliver_all(MANAGER, node(0));
    assert_eq!((run.executed(0), run.executed(1)), (1, 0));
    run.net.lose_from(MANAGER);
    run.end(MANAGER, &[0, 1, 2]);
    (0..3).for_each(|at| run.next_view(at, 2, &[0, 1, 2]));
    while run.view(0) == View(1) {
        let has_gone_on = [1, 2].map(|at| run.deliver(node(0), node(at)) | run.deliver(node(at), node(0)));
        assert!(has_gone_on.contains(&true), "node 0 waits for ever");
    }
    assert_eq!((run.view(1), run.view(2)), (View(1), View(1)), "they hold it");
    run.net.lose_from(node(0));
    run.end(node(0), &[1, 2]);
    [1, 2].into_iter().for_each(|at| run.next_view(at, 3, &[1, 2]));
    while run.net.step(&mut run.random) {}
    assert_eq!([1, 2].map(|at| (run.view(at), run.executed(at))), [(View(3), 1), (View(3), 1)]);
}

/// Node 0 begins view 2 and ends, and node 1 is not told that it has begun: it asks node 2 for view 3. That takes the question before it hears of view 2, and of view 3 only then.
#[test]
fn who_has_asked_a_node_that_begins_an_earlier_view_is_told_so() {
    let mut run = Run::begun();
    (0..3).for_each(|at| run.next_view(at, 2, &[0, 1, 2]));
    while run.view(0) == View(1) {
        let has_gone_on = [1, 2].map(|at| run.deliver(node(0), node(at)) | run.deliver(node(at), node(0)));
        assert!(has_gone_on.contains(&true), "node 0 waits for ever");
    }
    run.net.part(NodeId(0), NodeId(1));
    run.end(node(0), &[1]);
    run.next_view(1, 3, &[1, 2]);
    run.deliver_all(node(1), node(2));
    run.deliver_all(node(0), node(2));
    assert_eq!([1, 2].map(|at| run.view(at)), [View(1), View(2)]);
    run.end(node(0), &[2]);
    run.next_view(2, 3, &[1, 2]);
    while run.net.step(&mut run.random) {}
    assert_eq!([1, 2].map(|at| run.view(at)), [View(3), View(3)]);
}

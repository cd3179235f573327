use super::*;
use proptest::prelude::*;

fn refused(text: &str) -> TopologyError {
    Topology::parse(text).expect_err("it is no topology")
}

#[test]
fn what_is_no_tree_of_named_switches_is_refused_and_says_why() {
    let two = "switch a at 0: 0 1\nswitch b at 2: 2\n";
    let pair = |one: &str, other: &str| [one.to_owned(), other.to_owned()];
    assert_eq!(refused(""), TopologyError::NoNode);
    assert_eq!(refused("switch a at 0:\n"), TopologyError::NoNode);
    assert_eq!(refused(two), TopologyError::Apart { switches: pair("a", "b") });
    let cycle = format!("{two}switch c at 3: 3\nwire a b\nwire b c\nwire c a\n");
    assert_eq!(refused(&cycle), TopologyError::Cycle { wire: pair("c", "a") });
    assert_eq!(refused(&format!("{two}wire a a")), TopologyError::Cycle { wire: pair("a", "a") });
    assert_eq!(refused(&format!("{two}wire a c")), TopologyError::NoSuchSwitch { name: "c".to_owned() });
    let twice = "switch a at 0: 0\nswitch a at 2: 2\n";
    assert_eq!(refused(twice), TopologyError::SwitchTwice { name: "a".to_owned() });
    let (node, switches) = (NodeId(1), pair("a", "b"));
    let twice = "switch a at 0: 0 1\nswitch b at 2: 1\nwire a b\n";
    assert_eq!(refused(twice), TopologyError::NodeTwice { node, switches });
    let (node, switches) = (NodeId(0), pair("a", "b"));
    let twice = "switch a at 0: 0\nswitch b at 0: 1\nwire a b\n";
    assert_eq!(refused(twice), TopologyError::ManagerTwice { node, switches });
}

#[test]
fn the_line_that_is_wrong_is_known() {
    let two = "# two\nswitch a at 0: 0 1\n\nswitch b at 2: 2\n";
    for (text, line) in [
        (two.to_owned(), Some(4)),
        (format!("{two}wire a b\nwire b a\nwire a b"), Some(6)),
        (format!("{two}wire a b # one\n  wire a b\nwire a b"), Some(6)),
        (format!("{two}wire a b\nwire a c"), Some(6)),
        (format!("{two}switch a at 7: 7"), Some(5)),
        (format!("{two}switch c at 2: 7"), Some(5)),
        (format!("{two}switch c at 7: 0"), Some(5)),
        (format!("{two}swtich c at 7: 7"), Some(5)),
        ("switch a at 0:".to_owned(), None),
        ("#".repeat(MAX_TOPOLOGY_BYTES + 1), None),
    ] {
        assert_eq!(refused(&text).line_in(&text), line, "{text:.80}");
    }
}

#[test]
fn a_line_that_says_nothing_known_is_named() {
    for (line, problem) in [
        ("swtich a at 0: 0", "begins with neither"),
        ("switch a 0: 0", "a switch is described as"),
        ("switch a at 0 0", "a switch is described as"),
        ("switch a at 0: 70000", "`70000` is no node"),
        ("wire a", "a wire is described as"),
    ] {
        let error = refused(&format!("# a comment\n\n{line}\n"));
        let said = error.to_string();
        assert!(said.starts_with("line 3: ") && said.contains(problem), "{said}");
    }
    let long = "#".repeat(crate::limits::MAX_TOPOLOGY_BYTES + 1);
    assert!(matches!(refused(&long), TopologyError::TooMany { what: "bytes of text", .. }));
    let many: String = (0..=MAX_SWITCHES).map(|at| format!("switch s{at} at {at}: {at}\n")).collect();
    assert!(matches!(refused(&many), TopologyError::TooMany { what: "switches", .. }));
    let nodes: Vec<NodeId> = (0..).map(NodeId).take(MAX_NODES + 1).collect();
    assert!(matches!(Topology::lan(NodeId(0), &nodes), Err(TopologyError::TooMany { what: "nodes", .. })));
    let name = "s".repeat(MAX_TOPOLOGY_BYTES);
    let long = vec![Switch { name, manager: NodeId(0), nodes: vec![NodeId(0)] }];
    let error = Topology::new(long, &[]).expect_err("nobody could be told of it");
    assert!(matches!(error, TopologyError::TooMany { what: "bytes of text", .. }));
}

/// As many switches as there may be, with as many nodes: each but the first hangs from the one that `above` says.
pub(crate) fn full(above: impl Fn(usize) -> usize) -> Topology {
    let number = |index: usize| u16::try_from(index).expect("numbers of nodes are small");
    let name = |index: usize| format!("s{index}");
    let each = MAX_NODES / MAX_SWITCHES;
    let switch = |index: usize| Switch {
        name: name(index),
        manager: NodeId(number(40_000 + index)),
        nodes: (index * each..(index + 1) * each).map(|node| NodeId(number(node))).collect(),
    };
    let wires: Vec<_> = (1..MAX_SWITCHES).map(|index| (name(above(index)), name(index))).collect();
    Topology::new((0..MAX_SWITCHES).map(switch).collect(), &wires).expect("as much as there may be")
}

#[test]
fn nodes_that_follow_each_other_are_said_by_the_first_and_the_last() {
    let listed = Topology::parse("switch a at 9: 0-3 7 5-6\n").expect("it is one");
    assert_eq!(listed.to_text(), "switch a at 9: 0 1 2 3 7 5 6\n", "few are listed");
    let many = Topology::parse("switch a at 9: 10-80 3 4 2 65534-65535\n").expect("it is one");
    assert_eq!(many.to_text(), "switch a at 9: 10-80 3 4 2 65534 65535\n");
    assert_eq!((many.node_count(), many.switch_of(NodeId(80))), (76, Some(0)));
    let torn = many.without(&[NodeId(12), NodeId(20), NodeId(22)].into()).expect("it is short");
    assert_eq!(torn.to_text(), "switch a at 9: 10 11 13-19 21 23-80 3 4 2 65534 65535\n");
    for (words, problem) in [
        ("3-3", "`3-3` ends before it begins"),
        ("4-3", "`4-3` ends before it begins"),
        ("1-2-3", "`2-3` is no node"),
        ("-3", "`` is no node"),
        ("0-65535", "more than 16384 nodes"),
    ] {
        let said = refused(&format!("switch a at 9: {words}")).to_string();
        assert!(said.starts_with("line 1: ") && said.contains(problem), "{said}");
    }
    let lines: String =
        (0..3).map(|at| format!("switch s{at} at {at}: {}-{}\n", at * 8000, at * 8000 + 7999)).collect();
    assert!(refused(&lines).to_string().starts_with("line 3: "), "all switches have them together");
}

#[test]
fn as_many_nodes_and_switches_as_there_may_be_have_ways_and_a_text() {
    let shapes: [fn(usize) -> usize; 3] = [|index| index - 1, |index| (index - 1) / 4, |_| 0];
    for above in shapes {
        let full = full(above);
        assert_eq!(Topology::parse(&full.to_text()).as_ref(), Ok(&full));
        for at in [0, 1, 500, MAX_SWITCHES - 1] {
            let (next, hops) = searched(&full, at);
            for to in (0..MAX_SWITCHES).filter(|to| *to != at) {
                assert_eq!((full.next(at, to), full.tree.hops(at, to)), (next[to], hops[to]), "{at} {to}");
            }
        }
    }
}

/// The first step from a switch to each other, and the wires on the way, as a search in breadth finds them.
fn searched(topology: &Topology, from: usize) -> (Vec<usize>, Vec<u32>) {
    let count = topology.switches().len();
    let (mut next, mut hops) = (vec![from; count], vec![u32::MAX; count]);
    hops[from] = 0;
    let mut reached = std::collections::VecDeque::from([from]);
    while let Some(switch) = reached.pop_front() {
        for neighbour in topology.neighbours(switch) {
            if hops[*neighbour] == u32::MAX {
                hops[*neighbour] = hops[switch] + 1;
                next[*neighbour] = if switch == from { *neighbour } else { next[switch] };
                reached.push_back(*neighbour);
            }
        }
    }
    (next, hops)
}

/// A tree of so many switches at most, its switches in any order: above each but the first in `order` is an earlier one of it.
fn any_tree(most: usize) -> impl Strategy<Value = (Vec<usize>, Vec<usize>)> {
    (1..most).prop_flat_map(|count| {
        let above = (1..count).map(|index| 0..index).collect::<Vec<_>>();
        (above, Just((0..count).collect::<Vec<usize>>()).prop_shuffle())
    })
}

/// A tree: each switch but the first hangs at an earlier one.
fn tree() -> impl Strategy<Value = Vec<usize>> {
    (0usize..12).prop_flat_map(|more| (1..=more).map(|index| 0..index).collect::<Vec<_>>())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn ways_in_a_tree_are_as_long_as_their_steps_and_texts_are_read_again(above in tree()) {
        let name = |index: usize| format!("s{index}");
        let numbered = |index: usize| u16::try_from(index).expect("few switches");
        let switch = |index| {
            let nodes = vec![NodeId(numbered(index)), NodeId(100 + numbered(index))];
            Switch { name: name(index), manager: NodeId(numbered(index)), nodes }
        };
        let switches: Vec<Switch> = (0..=above.len()).map(switch).collect();
        let wires: Vec<_> = above.iter().zip(1..).map(|(at, index)| (name(*at), name(index))).collect();
        let topology = Topology::new(switches, &wires).expect("it is a tree");
        prop_assert_eq!(&Topology::parse(&topology.to_text()), &Ok(topology.clone()));
        for from in 0..=above.len() {
            for to in 0..=above.len() {
                let (mut at, mut steps) = (from, 1);
                while at != to {
                    let next = topology.next(at, to);
                    prop_assert!(topology.neighbours(at).contains(&next));
                    (at, steps) = (next, steps + 1);
                    prop_assert!(steps <= topology.switches().len());
                }
                let distance = topology.distance(NodeId(numbered(from)), NodeId(100 + numbered(to)));
                prop_assert_eq!(distance, u32::try_from(steps).ok());
            }
        }
    }

    #[test]
    fn ways_are_those_that_a_search_in_breadth_finds((above, order) in any_tree(60)) {
        let name = |index: usize| format!("s{index}");
        let numbered = |index: usize| NodeId(u16::try_from(index).expect("few switches"));
        let switch = |index| Switch { name: name(index), manager: numbered(index), nodes: vec![numbered(index)] };
        let wires: Vec<_> = above.iter().zip(1..).map(|(at, index)| (name(order[*at]), name(order[index]))).collect();
        let topology = Topology::new((0..order.len()).map(switch).collect(), &wires).expect("it is a tree");
        for from in 0..order.len() {
            let (next, hops) = searched(&topology, from);
            for to in 0..order.len() {
                prop_assert_eq!(topology.distance(numbered(from), numbered(to)), Some(hops[to] + 1));
                if from != to {
                    prop_assert_eq!(topology.next(from, to), next[to]);
                }
            }
        }
    }
}

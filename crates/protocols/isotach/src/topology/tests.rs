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
    let nodes: Vec<NodeId> = (0..=1024).map(NodeId).collect();
    assert!(matches!(Topology::lan(NodeId(0), &nodes), Err(TopologyError::TooMany { what: "nodes", .. })));
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
}

//! Who holds a token and is no member reaches the enrolment, and nothing else.

use super::*;
use proptest::prelude::*;
use quintet_contract::Identity;
use quintet_wire::registry::{ENROLMENT, PORT_ENROLMENT};

/// Instances at 16, which asks the peer, at the enrolment's port, and at 1024.
fn bench() -> Bench {
    let placed =
        |port: Port, kinds, asks| Placed { port, kinds, asks, services: &[], protocol: Listener::default() };
    let instances = vec![
        placed(Port(16), MEASURE, vec![at(2, 16)]),
        placed(PORT_ENROLMENT, ENROLMENT, vec![]),
        placed(Port(1024), USER, vec![]),
    ];
    let node = Sessions::new(SessionConfig::new(ME, 7, Incarnation(1), 1), Ports::new(ME, instances));
    Bench { node, link: Narrow { room: 1000, effects: Effects::default() } }
}

fn link(holds_token: bool) -> LinkInfo {
    LinkInfo { identity: Some(Identity([7; 32])), holds_token, ..LINK }
}

proptest! {
    #[test]
    fn who_holds_a_token_is_heard_by_the_enrolment_alone(
        frames in proptest::collection::vec((any::<u16>(), prop_oneof![Just(16), Just(24), Just(1024), any::<u16>()]), 1..40)
    ) {
        let mut bench = bench();
        bench.up_over(link(true));
        for (from, to) in frames {
            bench.frame(WORD, from, to, b"word");
            let answers = bench.sent();
            let refused = answers.iter().any(|(_, frame)| frame.kind == ABSENT);
            prop_assert!(refused || Port(to) == PORT_ENROLMENT, "{} heard it", to);
        }
        prop_assert_eq!((bench.told(16), bench.told(1024)), (vec![], vec![]));
    }
}

#[test]
fn a_member_is_heard_by_all_and_who_only_holds_a_token_is_told_that_nothing_is_there() {
    for (holds_token, heard) in [(false, true), (true, false)] {
        let mut bench = bench();
        bench.up_over(link(holds_token)).frame(WORD, 9, 1024, b"word");
        assert_eq!(!bench.told(1024).is_empty(), heard);
        let is_refused = bench.sent().iter().any(|(_, frame)| frame.kind == ABSENT);
        assert_eq!(is_refused, !heard);
        // Nor does an instance learn of it that asks that node.
        assert_eq!(!bench.told(16).is_empty(), heard);
        bench.frame(WORD, 9, PORT_ENROLMENT.0, b"please");
        assert_eq!(bench.told(PORT_ENROLMENT.0).len(), 2, "it is heard there");
        bench.down(PEER, DownCause::Died);
        assert_eq!(!bench.told(16).is_empty(), heard, "who was told of nothing is told of no end");
    }
}

//! The search finds an order exactly where trying all of them finds one.

use super::*;
use proptest::prelude::*;

/// A number that is written and read.
struct Register;

#[derive(Clone, Copy, Debug)]
enum Use {
    Write(u8),
    Read(u8),
}

impl Object for Register {
    type State = u8;
    type Act = Use;

    fn apply(&self, state: &u8, act: &Use) -> Option<u8> {
        match *act {
            Use::Write(value) => Some(value),
            Use::Read(value) => (value == *state).then_some(value),
        }
    }

    fn is_not_overtaken(&self, act: &Use) -> bool {
        matches!(act, Use::Write(_))
    }
}

/// Whether one of all orders will do, by the definition and nothing else.
fn has_order(history: &[Event<Use>], ordered: &mut Vec<usize>, state: u8) -> bool {
    let is_left = |at: &usize| !ordered.contains(at);
    let left: Vec<usize> = (0..history.len()).filter(is_left).collect();
    if left.iter().all(|at| history[*at].answered.is_none()) {
        return true;
    }
    let precedes = |a: &Event<Use>, b: &Event<Use>| {
        let is_own_put = a.client == b.client && matches!(a.act, Use::Write(_)) && a.asked < b.asked;
        a.answered.is_some_and(|answered| answered < b.asked) || is_own_put
    };
    for at in &left {
        let is_next = !left.iter().any(|other| precedes(&history[*other], &history[*at]));
        if let Some(state) = Register.apply(&state, &history[*at].act).filter(|_| is_next) {
            ordered.push(*at);
            let found = has_order(history, ordered, state);
            ordered.pop();
            if found {
                return true;
            }
        }
    }
    false
}

fn event() -> impl Strategy<Value = Event<Use>> {
    let act = prop_oneof![(1u8..4).prop_map(Use::Write), (0u8..4).prop_map(Use::Read)];
    // No two at one time of one client, which could not tell which was first.
    (0u32..3, act, 0u64..20, proptest::option::weighted(0.9, 0u64..8)).prop_map(
        |(client, act, asked, took)| Event {
            client,
            act,
            asked: asked * 3 + u64::from(client),
            answered: took.map(|took| asked * 3 + u64::from(client) + took),
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(1_000) })]

    #[test]
    fn it_finds_an_order_exactly_where_there_is_one(mut history in proptest::collection::vec(event(), 0..8)) {
        let mut times = std::collections::BTreeSet::new();
        history.retain(|event| times.insert(event.asked));
        let found = check(&Register, &history);
        prop_assert_eq!(found.is_ok(), has_order(&history, &mut Vec::new(), 0), "{:?}", found);
    }
}

#[test]
fn a_long_history_in_order_is_searched_in_as_many_states_as_it_has_operations() {
    let act = |number: u64| if number.is_multiple_of(2) { Use::Write(7) } else { Use::Read(7) };
    let event = |number: u64| Event {
        client: 0,
        act: act(number),
        asked: 2 * number,
        answered: Some(2 * number + 1),
    };
    let mut history: Vec<_> = (0..20_000).map(event).collect();
    assert_eq!(check(&Register, &history), Ok(()));
    history.push(Event { client: 1, act: Use::Read(8), asked: 50_000, answered: Some(50_001) });
    assert_eq!(
        check(&Register, &history),
        Err(Fault::NotLinearizable { ordered: 20_000, stuck: vec![20_000] })
    );
}

#[test]
fn a_search_without_an_end_says_that_it_gave_up() {
    // Everything at once: the orders of sixty writes are more than anybody looks at.
    let write = |client: u32| {
        let value = u8::try_from(client + 1).expect("a few");
        Event { client, act: Use::Write(value), asked: 0, answered: Some(9) }
    };
    let mut history: Vec<_> = (0..60).map(write).collect();
    history.push(Event { client: 99, act: Use::Read(99), asked: 5, answered: Some(6) });
    assert_eq!(check_within(&Register, &history, 1_000), Err(Fault::Undecided(1_000)));
}

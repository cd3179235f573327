//! The search finds an order exactly where trying all of them finds one.

use super::*;
use proptest::prelude::*;

/// Two numbers that are written and read.
struct Registers;

#[derive(Clone, Copy, Debug)]
enum Use {
    Write(usize, u8),
    /// Writes 1 or 2, and does not say which.
    WriteSome(usize),
    Read(usize, u8),
    /// Reads both.
    Sum(u8),
}

impl Object for Registers {
    type State = [u8; 2];
    type Act = Use;

    fn apply(&self, state: &[u8; 2], act: &Use) -> impl IntoIterator<Item = [u8; 2]> {
        let written = |at: usize, value: u8| {
            let mut next = *state;
            next[at] = value;
            next
        };
        match *act {
            Use::Write(at, value) => vec![written(at, value)],
            Use::WriteSome(at) => vec![written(at, 1), written(at, 2)],
            Use::Read(at, value) => Vec::from_iter((value == state[at]).then_some(*state)),
            Use::Sum(value) => Vec::from_iter((value == state[0] + state[1]).then_some(*state)),
        }
    }

    fn is_not_overtaken(&self, act: &Use) -> bool {
        is_write(act)
    }

    fn parts(&self, history: &[Event<Use>]) -> Vec<Vec<u64>> {
        let parts = |event: &Event<Use>| match event.act {
            Use::Write(at, _) | Use::WriteSome(at) | Use::Read(at, _) => vec![at as u64],
            Use::Sum(_) => vec![0, 1],
        };
        history.iter().map(parts).collect()
    }
}

fn is_write(act: &Use) -> bool {
    matches!(act, Use::Write(..) | Use::WriteSome(_))
}

/// Whether one of all orders will do, by the definition and nothing else.
fn has_order(history: &[Event<Use>], ordered: &mut Vec<usize>, state: [u8; 2]) -> bool {
    let is_left = |at: &usize| !ordered.contains(at);
    let left: Vec<usize> = (0..history.len()).filter(is_left).collect();
    if left.iter().all(|at| history[*at].answered.is_none()) {
        return true;
    }
    let is_own_put =
        |a: &Event<Use>, b: &Event<Use>| a.client == b.client && is_write(&a.act) && a.asked < b.asked;
    let precedes = |a: &Event<Use>, b: &Event<Use>| {
        a.answered.is_some_and(|answered| answered < b.asked || is_own_put(a, b))
    };
    for at in &left {
        let is_next = !left.iter().any(|other| precedes(&history[*other], &history[*at]));
        let is_too_late = history[*at].answered.is_none()
            && ordered.iter().any(|other| is_own_put(&history[*at], &history[*other]));
        let is_next = is_next && !is_too_late;
        for state in Registers.apply(&state, &history[*at].act).into_iter().filter(|_| is_next) {
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
    let act = prop_oneof![
        4 => (0usize..2, 1u8..3).prop_map(|(at, value)| Use::Write(at, value)),
        1 => (0usize..2).prop_map(Use::WriteSome),
        4 => (0usize..2, 0u8..3).prop_map(|(at, value)| Use::Read(at, value)),
        1 => (0u8..4).prop_map(Use::Sum),
    ];
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
        let found = check(&Registers, &history);
        prop_assert_eq!(found.is_ok(), has_order(&history, &mut Vec::new(), [0; 2]), "{:?}", found);
    }
}

#[test]
fn a_long_history_in_order_is_searched_in_as_many_states_as_it_has_operations() {
    let act = |number: u64| if number.is_multiple_of(2) { Use::Write(0, 7) } else { Use::Read(0, 7) };
    let event = |number: u64| Event {
        client: 0,
        act: act(number),
        asked: 2 * number,
        answered: Some(2 * number + 1),
    };
    let mut history: Vec<_> = (0..20_000).map(event).collect();
    assert_eq!(check(&Registers, &history), Ok(()));
    history.push(Event { client: 1, act: Use::Read(0, 8), asked: 50_000, answered: Some(50_001) });
    assert_eq!(
        check(&Registers, &history),
        Err(Fault::NotLinearizable { ordered: 20_000, stuck: vec![20_000] })
    );
}

#[test]
fn a_search_without_an_end_says_that_it_gave_up() {
    // Everything at once: the orders of sixty writes are more than anybody looks at.
    let write = |client: u32| {
        let value = u8::try_from(client + 1).expect("a few");
        Event { client, act: Use::Write(0, value), asked: 0, answered: Some(9) }
    };
    let mut history: Vec<_> = (0..60).map(write).collect();
    history.push(Event { client: 99, act: Use::Read(0, 99), asked: 5, answered: Some(6) });
    assert_eq!(check_within(&Registers, &history, 1_000), Err(Fault::Undecided(1_000)));
}

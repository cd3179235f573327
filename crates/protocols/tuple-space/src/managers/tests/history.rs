//! Whether what several clients saw is what one space could have done: linearizability, checked by the search of Wing and Gong ("Testing and
//! Verifying Concurrent Objects", Journal of Parallel and Distributed Computing 17, 1993), with the memory of states that Lowe added ("Testing
//! for linearizability", Concurrency and Computation 29(4), 2017).

use std::collections::BTreeSet;

/// Tuples of one signature and one key, which have one order.
pub(super) type Partition = (u8, i64);

/// What a request does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Act {
    /// Puts the tuple of this number.
    Out(Partition, u32),
    /// Takes or reads a tuple of a signature, with this key or any. What it came to: a number, or that there was none.
    Query { signature: u8, key: Option<i64>, purpose: Purpose, found: Option<u32> },
    /// Ends the lease of a tuple and puts another.
    Acknowledge(u32, Partition, u32),
    /// Ends the lease of a tuple, which returns.
    Release(u32),
    /// How many tuples of a signature there are.
    Count(u8, u64),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Purpose {
    Take,
    Read,
    Lease,
}

/// A request that was answered, or, if it puts, may have had its effect.
#[derive(Clone, Copy, Debug)]
pub(super) struct Event {
    pub(super) client: usize,
    pub(super) act: Act,
    /// When it was asked, and answered; none: not so far.
    pub(super) asked: u64,
    pub(super) answered: Option<u64>,
}

/// A space as simple as it can be: each tuple with its partition, and whether it is hidden, in the order in which they were put.
type State = Vec<(Partition, u32, bool)>;

impl Act {
    fn puts(self) -> bool {
        matches!(self, Act::Out(..) | Act::Acknowledge(..))
    }
}

/// What a state becomes, if the act can come to what it came to.
fn apply(state: &State, act: Act) -> Option<State> {
    let mut next = state.clone();
    match act {
        Act::Out(partition, number) => next.push((partition, number, false)),
        Act::Query { signature, key, purpose, found } => {
            let concerns = |(partition, _, is_hidden): &(Partition, u32, bool)| {
                !is_hidden && partition.0 == signature && key.is_none_or(|key| key == partition.1)
            };
            let Some(number) = found else { return (!state.iter().any(concerns)).then_some(next) };
            let at = state
                .iter()
                .position(|(_, stored, _)| *stored == number)
                .filter(|at| concerns(&state[*at]))?;
            // Within a partition it is the oldest.
            if state[..at].iter().any(|older| concerns(older) && older.0 == state[at].0) {
                return None;
            }
            match purpose {
                Purpose::Read => {}
                Purpose::Take => drop(next.remove(at)),
                Purpose::Lease => next[at].2 = true,
            }
        }
        Act::Acknowledge(leased, partition, number) => {
            next.retain(|(_, stored, _)| *stored != leased);
            next.push((partition, number, false));
        }
        Act::Release(leased) => {
            next.iter_mut().filter(|(_, stored, _)| *stored == leased).for_each(|stored| stored.2 = false);
        }
        Act::Count(signature, count) => {
            let there =
                state.iter().filter(|(partition, _, is_hidden)| partition.0 == signature && !is_hidden);
            return (there.count() as u64 == count).then_some(next);
        }
    }
    Some(next)
}

/// Whether one space could have done it.
pub(super) fn is_linearizable(history: &[Event]) -> bool {
    assert!(history.len() <= 128, "a set of events is one word");
    let before = |event: usize| {
        let Event { client, asked, .. } = history[event];
        let is_before = |other: &Event| {
            let ended = other.answered.is_some_and(|answered| answered < asked);
            // A put is not overtaken by what its client asks later.
            ended || (other.client == client && other.act.puts() && other.asked < asked)
        };
        history
            .iter()
            .enumerate()
            .filter(|(_, other)| is_before(other))
            .fold(0u128, |set, (at, _)| set | 1 << at)
    };
    let before: Vec<u128> = (0..history.len()).map(before).collect();
    let must =
        (0..history.len()).filter(|at| history[*at].answered.is_some()).fold(0u128, |set, at| set | 1 << at);
    let (mut seen, mut open) = (BTreeSet::new(), vec![(0u128, State::new())]);
    while let Some((done, state)) = open.pop() {
        if done & must == must {
            return true;
        }
        for at in 0..history.len() {
            let is_next = done >> at & 1 == 0 && before[at] & !done == 0;
            if !is_next {
                continue;
            }
            if let Some(state) = apply(&state, history[at].act) {
                let step = (done | 1 << at, state);
                if seen.insert(step.clone()) {
                    open.push(step);
                }
            }
        }
    }
    false
}

#[test]
fn the_checker_knows_a_right_history_from_wrong_ones() {
    let out = |number, asked, answered| Event { client: 0, act: Act::Out((0, 1), number), asked, answered };
    let take = |found, asked, answered| {
        let act = Act::Query { signature: 0, key: None, purpose: Purpose::Take, found };
        Event { client: 1, act, asked, answered: Some(answered) }
    };
    assert!(is_linearizable(&[out(1, 1, Some(2)), take(Some(1), 3, 4)]));
    assert!(is_linearizable(&[out(1, 1, None), take(Some(1), 3, 4)]), "it had its effect before its answer");
    assert!(is_linearizable(&[out(1, 1, Some(4)), take(None, 2, 3)]), "at the same time");
    assert!(!is_linearizable(&[out(1, 1, Some(2)), take(None, 3, 4)]), "it was there");
    assert!(!is_linearizable(&[out(1, 1, Some(2)), take(Some(1), 3, 4), take(Some(1), 5, 6)]), "taken twice");
    assert!(
        !is_linearizable(&[out(1, 1, Some(2)), out(2, 3, Some(4)), take(Some(2), 5, 6)]),
        "not the oldest"
    );
    assert!(!is_linearizable(&[out(1, 1, None), out(2, 2, Some(4)), take(Some(2), 5, 6)]), "overtaken");
}

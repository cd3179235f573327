//! What a judge says who may look at few states.

use super::*;

/// Four tuples are put, and then taken by as many clients at once, in this order.
fn taken(numbers: [u32; 4]) -> Vec<Event<Act>> {
    let (of, purpose) = (vec![Pattern::of(0)], Purpose::Take);
    let put = (0..4u32).map(|number| {
        let at = u64::from(number) * 2;
        Event { client: 0, act: Act::out((0, 0), number), asked: at, answered: Some(at + 1) }
    });
    let took = numbers.into_iter().zip(1u32..).map(|(number, client)| Event {
        client,
        act: Act::Query { of: of.clone(), purpose, found: Some(number) },
        asked: 10,
        answered: Some(20),
    });
    put.chain(took).collect()
}

#[test]
fn what_is_not_decided_is_open_and_breaks_no_rule() {
    let judge = |history: &[Event<Act>], most| judge_order(Order::OfAll, history, most);
    let right = taken([3, 1, 0, 2]);
    assert_eq!(judge(&right, (1_000, 1_000)), Ok(Verdict::Holds));
    assert_eq!(judge(&right, (1, 1_000)), Ok(Verdict::Holds), "less is decided");
    let open = Ok(Verdict::Open(format!("{ONE_SPACE}: undecided after 2 states")));
    assert_eq!(judge(&right, (1, 2)), open);
    let wrong = taken([3, 1, 0, 0]);
    assert_eq!(judge(&wrong, (1, 2)), open, "nor does what is wrong, as long as nobody knows");
    let broken = judge(&wrong, (1_000, 1_000)).expect_err("one is given twice");
    assert_eq!(broken.rule, ONE_SPACE);
}

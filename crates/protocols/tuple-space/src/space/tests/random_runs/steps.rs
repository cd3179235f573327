//! What random runs do.

use super::super::model::Purpose;
use crate::{ArrayOf, Field, SpaceConfig, Template, Tuple, Wait, template, tuple};
use proptest::prelude::*;
use quintet_contract::Span;

#[derive(Clone, Debug)]
pub(super) enum Step {
    Out(Vec<Tuple>, Option<Span>),
    Query(Purpose, Wait, Template),
    Select(Purpose, Wait, Vec<Template>),
    Replace(Wait, Template, Vec<Tuple>),
    /// Whether it takes, whether it goes on from the last page, and how many tuples at most.
    Collect(bool, bool, u32, Template),
    /// These four name a request or lease of the past, counted back from the last.
    Cancel(u64),
    Return(u64),
    Ack(usize, Vec<Tuple>, Option<Span>),
    Release(usize),
    /// The end of a group that took and read these, counted back as well.
    Commit(Vec<usize>, Vec<usize>, Vec<Tuple>, Option<Span>),
    Abort(Vec<usize>),
    Renew,
    Count(Template),
    /// All tuples, or those that match, so many in a page.
    List(Option<Template>, u32),
    /// Behind the number that was told last, so many back; none: the number now.
    Watch(Option<u64>, u32, Wait, Option<Template>),
    /// All tuples, or those that match, so many in a page.
    Look(Option<Template>, u32),
    Fill,
    Writable,
    Down,
    /// Time passes with wakes, or without until the next input.
    Pass(Span),
    Late(Span),
}

pub(super) type Steps = Vec<(u16, u64, Step)>;

pub(super) fn config() -> SpaceConfig {
    SpaceConfig {
        max_bytes: 1_400,
        max_tuples: 7,
        max_attempts: 2,
        max_waiting: 4,
        max_unsettled: 3,
        ..SpaceConfig::default()
    }
}

/// With room for more, of which each step looks at so many.
pub(super) fn stepwise(index_step: usize) -> SpaceConfig {
    SpaceConfig { max_bytes: 3_000, max_tuples: 16, max_waiting: 100, index_step, ..config() }
}

pub(super) fn one_tuple() -> impl Strategy<Value = Tuple> {
    let name = prop_oneof![Just("a"), Just("b")];
    prop_oneof![
        4 => (name, 0..3i64).prop_map(|(name, n)| tuple![name, n]),
        1 => (0..2i32).prop_map(|n| tuple!["a", n]),
        1 => (0..2i64, 0..2i64).prop_map(|(n, m)| tuple![n, m]),
        2 => (0..3u64).prop_map(|n| {
            tuple![crate::Array::from_elements(&[n], &vec![1u8; usize::try_from(n).unwrap()]).unwrap()]
        }),
    ]
}

pub(super) fn a_template() -> impl Strategy<Value = Template> {
    let name = prop_oneof![Just("a"), Just("b")];
    prop_oneof![
        6 => a_template_with_ranges(),
        3 => Just(template![?str, ?i64]),
        2 => name.prop_map(|name| template![name, ?i64]),
        2 => (0..3i64).prop_map(|n| template![?str, n]),
        2 => (0..3i64).prop_map(|n| template!["a", n]),
        1 => Just(template![?str, ?i32]),
        1 => (0..2i64).prop_map(|n| template![?i64, n]),
        1 => Just(template![?ArrayOf<u8, 1>]),
        2 => (0..3u64).prop_map(|n| {
            template![crate::Type::Array { element: crate::ElementType::U8, dimensions: vec![Some(n)] }]
        }),
    ]
}

fn a_template_with_ranges() -> impl Strategy<Value = Template> {
    let name = prop_oneof![Just("a"), Just("b")];
    let number = |from, to| match (from < 3, to < 3) {
        (true, true) => Field::range(from..=to),
        (true, false) => Field::range(from..),
        (false, true) => Field::range(..to),
        (false, false) => Field::formal::<i64>(),
    };
    let number = (0..5i64, 0..5i64).prop_map(move |(from, to)| number(from, to));
    prop_oneof![
        3 => number.clone().prop_map(|range| template![?str, range]),
        2 => (name.clone(), number.clone()).prop_map(|(name, range)| template![name, range]),
        2 => name.clone().prop_map(|name| template![Field::prefix(name), ?i64]),
        1 => (name, number.clone()).prop_map(|(name, range)| template![Field::range("a"..=name), range]),
        1 => (0..3i64).prop_map(|n| template![Field::range("b"..), n]),
        1 => number.prop_map(|range| template![range, ?i64]),
    ]
}

fn a_wait() -> impl Strategy<Value = Wait> {
    prop_oneof![
        Just(Wait::AtOnce),
        Just(Wait::Forever),
        (0..30u64).prop_map(|n| Wait::For(Span::from_micros(n)))
    ]
}

pub(super) fn step() -> impl Strategy<Value = Step> {
    let tuples = |from| proptest::collection::vec(one_tuple(), from..4);
    let deadline = || prop_oneof![Just(None), (0..30u64).prop_map(|n| Some(Span::from_micros(n)))];
    let purpose = prop_oneof![
        1 => Just(Purpose::Read),
        2 => Just(Purpose::Take),
        2 => (1..40u64).prop_map(|n| Purpose::Lease(Span::from_micros(n))),
        1 => (500..3000u64).prop_map(|n| Purpose::Lease(Span::from_micros(n))),
        1 => Just(Purpose::Witness),
        2 => (1..200u64, proptest::option::of(1..300u64)).prop_map(|(ttl, limit)| {
            Purpose::Hold(Span::from_micros(ttl), limit.map(Span::from_micros))
        }),
    ];
    let some = |most| proptest::collection::vec(0..3usize, 0..most);
    let selecting = prop_oneof![
        1 => Just(Purpose::Read),
        2 => Just(Purpose::Take),
        1 => (1..40u64).prop_map(|n| Purpose::Lease(Span::from_micros(n))),
    ];
    let templates = proptest::collection::vec(a_template(), 1..4);
    let watched = || prop_oneof![3 => Just(None), 2 => a_template().prop_map(Some)];
    let since = prop_oneof![1 => Just(None), 8 => (0..3u64).prop_map(Some)];
    prop_oneof![
        5 => (selecting, a_wait(), templates).prop_map(|(p, w, t)| Step::Select(p, w, t)),
        5 => (a_wait(), a_template(), tuples(1)).prop_map(|(w, t, p)| Step::Replace(w, t, p)),
        4 => (any::<bool>(), any::<bool>(), 1..5u32, a_template()).prop_map(|(t, g, n, w)| Step::Collect(t, g, n, w)),
        4 => (since, 1..4u32, a_wait(), watched()).prop_map(|(s, n, w, t)| Step::Watch(s, n, w, t)),
        1 => (watched(), 1..4u32).prop_map(|(t, n)| Step::Look(t, n)),
        8 => (tuples(1), deadline()).prop_map(|(t, d)| Step::Out(t, d)),
        10 => (purpose, a_wait(), a_template()).prop_map(|(p, w, t)| Step::Query(p, w, t)),
        2 => (1..6u64).prop_map(Step::Cancel),
        2 => (1..6u64).prop_map(Step::Return),
        3 => (0..4usize, tuples(0), deadline()).prop_map(|(l, t, d)| Step::Ack(l, t, d)),
        2 => (0..4usize).prop_map(Step::Release),
        4 => (some(3), some(3), tuples(0), deadline()).prop_map(|(l, w, t, d)| Step::Commit(l, w, t, d)),
        2 => some(3).prop_map(Step::Abort),
        1 => Just(Step::Renew),
        4 => a_template().prop_map(Step::Count),
        2 => (proptest::option::of(a_template()), 1..5u32).prop_map(|(t, n)| Step::List(t, n)),
        2 => Just(Step::Fill),
        3 => Just(Step::Writable),
        1 => Just(Step::Down),
        3 => (0..30u64).prop_map(|n| Step::Pass(Span::from_micros(n))),
        2 => (0..30u64).prop_map(|n| Step::Late(Span::from_micros(n))),
        1 => (900..3000u64).prop_map(|n| Step::Late(Span::from_micros(n))),
    ]
}

pub(super) fn steps() -> impl Strategy<Value = Steps> {
    proptest::collection::vec((1..4u16, 0..5u64, step()), 1..60)
}

/// One sender or two that put, take and read for groups, and end them.
pub(super) fn group_steps() -> impl Strategy<Value = Steps> {
    let purpose = prop_oneof![
        3 => Just(Purpose::Hold(Span::from_millis(1), None)),
        1 => Just(Purpose::Hold(Span::from_millis(1), Some(Span::from_micros(20)))),
        2 => Just(Purpose::Witness),
        1 => Just(Purpose::Take),
    ];
    let some = |most| proptest::collection::vec(0..3usize, 0..most);
    let tuples = || proptest::collection::vec(one_tuple(), 0..3);
    let step = prop_oneof![
        3 => tuples().prop_map(|tuples| Step::Out([tuples, vec![tuple!["a", 1i64]]].concat(), None)),
        6 => (purpose, a_template()).prop_map(|(p, t)| Step::Query(p, Wait::AtOnce, t)),
        4 => (some(4), some(3), tuples()).prop_map(|(l, w, t)| Step::Commit(l, w, t, None)),
        1 => some(3).prop_map(Step::Abort),
        2 => (0..30u64).prop_map(|n| Step::Pass(Span::from_micros(n))),
        1 => Just(Step::Renew),
    ];
    proptest::collection::vec((1..3u16, 0..2u64, step), 10..60)
}

/// Two senders that collect what they put, some of it a page after the other.
pub(super) fn collecting_steps() -> impl Strategy<Value = Steps> {
    let goes_on = prop_oneof![1 => Just(false), 3 => Just(true)];
    let step = prop_oneof![
        4 => proptest::collection::vec(one_tuple(), 1..4).prop_map(|t| Step::Out(t, None)),
        8 => (any::<bool>(), goes_on, 1..4u32, a_template()).prop_map(|(t, g, n, w)| Step::Collect(t, g, n, w)),
        2 => a_template().prop_map(|t| Step::Query(Purpose::Take, Wait::Forever, t)),
        3 => (1..4u64).prop_map(Step::Return),
        1 => Just(Step::Fill),
        2 => Just(Step::Writable),
        2 => (0..60u64).prop_map(|n| Step::Pass(Span::from_micros(n))),
    ];
    proptest::collection::vec((1..3u16, 0..2u64, step), 10..60)
}

/// Two senders that watch what they put, lease and take.
pub(super) fn watching_steps() -> impl Strategy<Value = Steps> {
    let purpose = prop_oneof![Just(Purpose::Take), Just(Purpose::Lease(Span::from_micros(20)))];
    let wait = prop_oneof![
        Just(Wait::AtOnce),
        Just(Wait::Forever),
        (0..30u64).prop_map(|n| Wait::For(Span::from_micros(n)))
    ];
    let template = prop_oneof![Just(None), a_template().prop_map(Some)];
    let since = prop_oneof![1 => Just(None), 6 => Just(Some(0)), 3 => (0..20u64).prop_map(Some)];
    let step = prop_oneof![
        6 => (since, 1..5u32, wait, template).prop_map(|(s, n, w, t)| Step::Watch(s, n, w, t)),
        4 => proptest::collection::vec(one_tuple(), 1..4).prop_map(|t| Step::Out(t, None)),
        4 => (purpose, a_template()).prop_map(|(p, t)| Step::Query(p, Wait::AtOnce, t)),
        1 => (0..3usize).prop_map(|l| Step::Ack(l, vec![], None)),
        1 => (1..4u64).prop_map(Step::Return),
        1 => (1..4u64).prop_map(Step::Cancel),
        1 => Just(Step::Fill),
        2 => Just(Step::Writable),
        2 => (0..30u64).prop_map(|n| Step::Pass(Span::from_micros(n))),
        1 => (1..400u64).prop_map(|n| Step::Late(Span::from_secs(n))),
    ];
    proptest::collection::vec((1..3u16, 0..2u64, step), 10..60)
}

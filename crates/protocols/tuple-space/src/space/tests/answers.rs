//! Malformed requests, what a timeout says, and the state.

use super::bench::{Bench, error};
use crate::codec::{self, TUPLE};
use crate::{Array, Field, Request, SpaceConfig, Template, Type, Wait, template, tuple};
use bytes::Bytes;
use quintet_contract::{Address, Effect, Effects, Input, Kind, OwnedFrame, Protocol, Span, Token};
use quintet_errors::Code;

/// A template and the heads of tuples may lie in bulk that its sender can still write: what the manager keeps of them is its own.
#[test]
fn of_bulk_on_which_it_relies_the_manager_keeps_a_copy() {
    let mut bench = Bench::new(SpaceConfig::default());
    let template = Template::new(vec![Field::Actual("x".repeat(5_000).into()), Field::Formal(Type::Text)]);
    let template = template.expect("two fields");
    let many: Vec<_> = (0..5_000i64).map(|n| tuple!["many", n]).collect();
    let take = Request::Take { wait: Wait::Forever, lease: None, template: &template };
    for (number, request) in
        [take, Request::Out { deadline: None, tuples: &many, expiries: &[] }].iter().enumerate()
    {
        let mut sent = Effects::default();
        let (manager, token) = (Address::new(0, 16), Token(number as u64 + 1));
        request.send(&mut sent, manager, token, Token(0)).expect("within the limits");
        let Some(Effect::Sent(_, frame)) = sent.drain().next() else { panic!("nothing was sent") };
        assert!(frame.bulk.len() >= 5_000);
        let frame = OwnedFrame { bulk: Bytes::copy_from_slice(&frame.bulk), ..frame };
        let input = Input::Frame(Address::new(1, 16), frame.borrow());
        bench.space.handle(bench.now, input, &mut Effects::default());
        assert!(frame.bulk.is_unique(), "request {number}");
    }
    assert_eq!(bench.status().tuples, 5_000);
}

fn time_out(bench: &mut Bench, template: &Template) -> String {
    bench.take(1, 1, Wait::For(Span::from_millis(1)), template);
    let (code, text) = error(&bench.pass(Span::from_millis(1)), 1, 1);
    assert_eq!(code, Code::TimedOut);
    text
}

#[test]
fn garbage_is_answered_as_malformed_and_changes_nothing() {
    let mut bench = Bench::new(SpaceConfig::default());
    bench.put(&tuple!["x", 1i64]);
    let before = bench.status();
    for kind in codec::OUT.0..codec::DONE.0 {
        let is_answered = ![codec::CANCEL, codec::RETURN, codec::RENEW].contains(&Kind(kind));
        for body in [&[][..], &[0; 7], &[0xff; 9], &[0xff; 64]] {
            let sent = bench.ask_raw(7, 3, Kind(kind), body);
            if is_answered {
                assert_eq!(error(&sent, 7, 3).0, Code::Malformed, "kind {kind}, {} bytes", body.len());
            } else {
                assert_eq!(sent, [], "its token names another request");
            }
        }
    }
    assert_eq!(bench.status(), before);
}

#[test]
fn what_is_no_request_is_not_answered() {
    let mut bench = Bench::new(SpaceConfig::default());
    for kind in [TUPLE, codec::ERROR, Kind(0), Kind(255)] {
        assert_eq!(bench.ask_raw(1, 1, kind, &[0; 8]), []);
    }
}

#[test]
fn a_timeout_says_what_differs_in_type() {
    let mut bench = Bench::new(SpaceConfig::default());
    for n in 0..3 {
        bench.put(&tuple!["row", n, 0.5]);
    }
    let text = time_out(&mut bench, &template!["row", ?i64, ?f64]);
    assert_eq!(
        text,
        r#"nothing matched ("row", ?i64, ?f64) within 1.000 ms: 3 tuples differ only in field 1: i32, wanted i64"#
    );
}

#[test]
fn a_timeout_says_which_value_is_missing() {
    let mut bench = Bench::new(SpaceConfig::default());
    for n in 0..5i64 {
        bench.put(&tuple!["column", n]);
    }
    let text = time_out(&mut bench, &template!["row", ?i64]);
    assert!(text.ends_with(r#": 5 tuples have this signature; none has field 0 = "row""#), "{text}");
    bench.put(&tuple!["row", 9i64]);
    let text = time_out(&mut bench, &template!["row", 3i64]);
    assert!(text.ends_with(": 6 tuples have this signature; none has all the values together"), "{text}");
}

#[test]
fn a_timeout_says_when_there_is_nothing_like_it() {
    let mut bench = Bench::new(SpaceConfig::default());
    let wanted = template!["row", ?i64, ?f64];
    assert!(time_out(&mut bench, &wanted).ends_with(": no tuple with 3 fields"));
    bench.put(&tuple![1u8, 2u8, 3u8]);
    assert!(time_out(&mut bench, &wanted).ends_with(": 1 tuple with 3 fields, of other types"));
}

#[test]
fn a_timeout_speaks_of_shapes_and_of_leases() {
    let mut bench = Bench::new(SpaceConfig::default());
    bench.put(&tuple!["m", Array::from_elements(&[2, 3], &[0u8; 6]).unwrap()]);
    let wanted = crate::Type::Array { element: crate::ElementType::U8, dimensions: vec![Some(4), None] };
    let text = time_out(&mut bench, &template!["m", wanted]);
    assert!(text.contains("1 tuple differs only in field 1: u8[2,3], wanted u8[4,?]"), "{text}");
    bench.lease(2, 1, Span::from_secs(9), &template!["m", ?crate::ArrayOf<u8, 2>]);
    let text = time_out(&mut bench, &template!["m", ?crate::ArrayOf<u8, 2>]);
    assert!(text.ends_with(": 1 tuple matching, but under a lease or just taken"), "{text}");
}

#[test]
fn the_state_counts_everything() {
    let mut bench = Bench::new(SpaceConfig { max_tuples: 2, ..SpaceConfig::default() });
    bench.put(&tuple!["a", 1i64]);
    bench.put(&tuple!["a", 2i64]);
    bench.lease(1, 1, Span::from_secs(1), &template!["a", 1i64]);
    bench.ask(2, 1, Request::Out { deadline: None, tuples: &[tuple![1u8]], expiries: &[] });
    bench.take(3, 1, Wait::Forever, &template![?bool]);
    let state = bench.status();
    assert_eq!((state.tuples, state.hidden, state.waiters), (1, 1, 1));
    assert_eq!((state.leases, state.parked, state.signatures, state.bytes), (1, 1, 2, 34 + 2 * 160));
    let rows: Vec<_> =
        state.rows.iter().map(|r| (r.signature.to_string(), r.tuples, r.hidden, r.waiters)).collect();
    assert_eq!(rows, [("(text, i64)".into(), 1, 1, 0), ("(bool)".into(), 0, 0, 1)]);
}

#[test]
fn signatures_that_nobody_needs_are_forgotten() {
    let mut bench = Bench::new(SpaceConfig::default());
    for n in 0..2000u32 {
        let values = (0..11).map(|bit| if n >> bit & 1 == 1 { 1u8.into() } else { 1i8.into() }).collect();
        let tuple = crate::Tuple::new(values).unwrap();
        bench.put(&tuple);
        let wanted = Template::new(tuple.values().iter().cloned().map(crate::Field::from).collect()).unwrap();
        bench.ask_settled(
            1,
            n.into(),
            n.into(),
            Request::Take { wait: Wait::AtOnce, lease: None, template: &wanted },
        );
    }
    assert!(bench.status().signatures <= 256);
}

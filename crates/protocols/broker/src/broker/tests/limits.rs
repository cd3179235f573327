//! How much a broker takes, and what one too many is told.

use super::*;
use crate::limits::CALL_BYTES;

#[test]
fn one_too_many_is_told_so_and_changes_nothing() {
    let mut bench = Bench::new();
    let handler = bench.register(HANDLER, None);
    bench.call(CALLER, None);
    bench.call(CALLER, None);
    let (token, refused) = bench.call(OTHER, None);
    assert_eq!(reason(&refused, OTHER, token), Reason::Busy);
    let (token, refused) = bench.ask(OTHER, &one_way());
    assert_eq!(reason(&refused, OTHER, token), Reason::Busy);
    bench.next(HANDLER, handler);
    assert_eq!(bench.call(OTHER, None).1, [], "there is room again");
}

#[test]
fn what_waits_is_bounded_in_bytes_too() {
    let mut bench = Bench::new();
    bench.broker = Broker::new(BrokerConfig { max_bytes: CALL_BYTES + 5 });
    let handler = bench.register(HANDLER, None);
    bench.call(CALLER, None);
    let (token, refused) = bench.call(CALLER, None);
    assert_eq!(reason(&refused, CALLER, token), Reason::Busy);
    let given = delivered(&bench.next(HANDLER, handler).1);
    bench.reply(HANDLER, given, replied());
    assert_eq!(bench.call(CALLER, None).1, []);
}

#[test]
fn who_takes_calls_and_answers_none_fills_no_more_than_what_waits_may() {
    let mut bench = Bench::new();
    bench.broker = Broker::new(BrokerConfig { max_bytes: 3 * CALL_BYTES });
    let limits = HandlerLimits { at_once: u32::MAX, ..LIMITS };
    let (_, registered) = bench.ask(HANDLER, &Request::Register { place: place(None), limits });
    let [(_, _, Answer::Registered { handler })] = registered[..] else { panic!("{registered:?}") };
    for _ in 0..4 {
        bench.next(HANDLER, handler);
    }
    let empty = Request::Call { place: place(None), wait: None, is_one_way: true, payload: Bytes::new() };
    let given: Vec<u64> = (0..3).map(|_| delivered(&bench.ask(CALLER, &empty).1)).collect();
    let (token, refused) = bench.ask(CALLER, &empty);
    assert_eq!(reason(&refused, CALLER, token), Reason::Busy);
    bench.reply(HANDLER, given[0], replied());
    delivered(&bench.ask(CALLER, &empty).1);
}

#[test]
fn a_request_above_the_handlers_limit_is_too_large() {
    let mut bench = Bench::new();
    bench.register(HANDLER, None);
    for (len, is_taken) in [(100, true), (101, false)] {
        let payload = Bytes::from(vec![0; len]);
        let request = Request::Call { place: place(None), wait: None, is_one_way: false, payload };
        let (token, answers) = bench.ask(CALLER, &request);
        match is_taken {
            true => assert_eq!(answers, []),
            false => assert_eq!(reason(&answers, CALLER, token), Reason::TooLarge),
        }
    }
}

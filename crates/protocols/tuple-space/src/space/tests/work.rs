//! The work that a manager declares: it costs time where it is simulated, and shows in histograms where it is not.

use super::bench::{Bench, sender};
use crate::space::stages::{MATCH, STORE};
use crate::{Request, SpaceConfig, Wait, template, tuple};
use quintet_contract::{Effect, Effects, Input, Protocol, Stage, Token};

/// What the manager declares for a request.
fn declared(bench: &mut Bench, token: u64, request: Request<'_>) -> Vec<(Stage, u32)> {
    let mut out = Effects::default();
    request.send(&mut out, sender(0), Token(token), Token(0)).expect("it is short");
    let (_, frame) = out.frames().pop().expect("one frame");
    bench.space.handle(bench.now, Input::Frame(sender(1), frame.borrow()), &mut out);
    let work = |effect| if let Effect::Work(stage, units) = effect { Some((stage, units)) } else { None };
    out.drain().filter_map(work).collect()
}

#[test]
fn puts_declare_what_they_store_and_with_whom_they_compare() {
    let mut bench = Bench::new(SpaceConfig::default());
    let two = [tuple![1i64], tuple![2i64]];
    let put = Request::Out { deadline: None, tuples: &two, expiries: &[] };
    assert_eq!(declared(&mut bench, 1, put), [(STORE, 2)], "nobody waits");
    let take = Request::Take { wait: Wait::Forever, lease: None, template: &template![7i64] };
    assert_eq!(declared(&mut bench, 2, take), [(MATCH, 1)], "none has that value");
    assert_eq!(
        declared(&mut bench, 3, Request::Out { deadline: None, tuples: &[tuple![7i64]], expiries: &[] }),
        [(STORE, 1), (MATCH, 1)]
    );
}

#[test]
fn searches_declare_the_look_up_and_what_they_compare() {
    let mut bench = Bench::new(SpaceConfig::default());
    (1..4i64).for_each(|n| bench.put(&tuple![n]));
    let (found, none) = (template![2i64], template![true]);
    let read = |template| Request::Read { wait: Wait::AtOnce, template };
    assert_eq!(declared(&mut bench, 1, read(&found)), [(MATCH, 2)]);
    assert_eq!(declared(&mut bench, 2, read(&none)), [(MATCH, 1)]);
    assert_eq!(declared(&mut bench, 3, Request::Count { template: &template![?i64] }), [(MATCH, 1)]);
    bench.link.full.insert(2);
    assert_eq!(bench.read(2, 1, Wait::AtOnce, &template![2i64]), []);
    assert_eq!(bench.writable(2).len(), 1);
    assert_eq!(bench.link.matching, 2, "as for the first time");
}

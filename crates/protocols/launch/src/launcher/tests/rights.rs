//! Who may what.

use super::bench::*;
use crate::codec::Grant;
use crate::launcher::*;
use quintet_contract::{Identity, LinkClass, NodeId};
use quintet_wire::registry::PORT_USER;
use quintet_wire::services::process::FileHash;

#[test]
fn jobs_belong_to_who_began_them() {
    let mut bench = Bench::new().up(B, LinkClass::Machine, None);
    let process = bench.started(A);
    for request in [start(), NEXT, END, Request::Signal { process, signal: 9, to_group: false }] {
        assert_eq!(bench.refused(B, &request), Reason::Taken);
    }
    assert!(bench.not_granted.is_empty(), "that was no question of grants");
    let end = bench.ask(OWN, &END);
    bench.host(is_end, &ProcessAnswer::Done);
    assert_eq!(bench.answer_to(end), Answer::Done, "the machine's own callers may");
}

#[test]
fn who_was_granted_nothing_gets_nothing_and_learns_whose_identity_that_is() {
    let mut bench = Bench::new().up(B, LinkClass::Network, Some(0xab));
    assert_eq!(bench.refused(B, &start()), Reason::NotGranted);
    let token = bench.ask(B, &start());
    let Answer::Error(refusal) = bench.answer_to(token) else { panic!("it is refused") };
    assert!(refusal.text.contains("abababab...") && refusal.text.contains("`run`"), "{}", refusal.text);
    let heard = bench.not_granted.pop().expect("its own node hears of it");
    assert_eq!(heard, NotGranted { identity: Some(Identity([0xab; 32])), refusal });
    let grants = |run, code| Request::Grants { grants: [(Identity([0xab; 32]), Grant { run, code })].into() };
    assert_eq!(bench.refused(A, &grants(true, true)), Reason::NotGranted, "not even a peer of this machine");
    assert_eq!(bench.refused(B, &Request::Info), Reason::NotGranted, "a token's holder is nobody here");
    let code = [
        start_with_file(b"a"),
        Request::Have { hashes: Vec::new() },
        Request::Store { hash: FileHash([0; 32]), contents: Bytes::new() },
    ];
    let done = bench.ask(OWN, &grants(true, false));
    assert_eq!(bench.answer_to(done), Answer::Done);
    let info = bench.ask(B, &Request::Info);
    assert!(bench.is_open(info), "how the machine is everybody may ask of whom something is known");
    for request in &code {
        assert_eq!(bench.refused(B, request), Reason::NotGranted);
    }
    bench.started(B);
    bench.ask(OWN, &grants(true, true));
    for request in &code {
        let token = bench.ask(B, request);
        assert!(bench.is_open(token), "the host is asked");
    }
}

#[test]
fn a_grant_that_is_lost_ends_the_jobs_that_needed_it_and_no_others() {
    let mut bench = Bench::new().up(B, LinkClass::Network, Some(1));
    let grants = |run, code| Request::Grants { grants: [(Identity([1; 32]), Grant { run, code })].into() };
    bench.started(A);
    bench.ask(OWN, &grants(true, true));
    let other = |mut request: Request| {
        if let Request::Start { job, .. } = &mut request {
            *job = 8;
        }
        request
    };
    bench.ask(B, &other(start()));
    bench.ask(OWN, &grants(true, false));
    assert!(!bench.asked.iter().any(|(_, request)| is_end(request)), "it brought no code");
    bench.ask(OWN, &grants(true, true));
    bench.ask(B, &other(start_with_file(b"a")));
    bench.ask(OWN, &grants(true, false));
    let ends: Vec<_> = bench.asked.iter().filter(|(_, request)| is_end(request)).collect();
    assert!(matches!(ends[..], [(_, ProcessRequest::End { job: 8 })]), "{ends:?}");
}

#[test]
fn over_a_network_who_proves_nothing_gets_nothing() {
    let mut bench = Bench::new().up(B, LinkClass::Network, None);
    assert_eq!(bench.refused(B, &start()), Reason::NotGranted);
    let stranger = Address { node: NodeId(9), port: PORT_USER };
    assert_eq!(bench.refused(stranger, &Request::Info), Reason::NotGranted);
}

//! Who may put what others run.

use super::bench::{Bench, Sent, error, sender};
use crate::{
    Answer, CodeGrants, FAILED, LeaseId, NotGranted, Request, SpaceConfig, Tuple, Wait, codec, template,
    tuple,
};
use proptest::prelude::*;
use quintet_contract::{
    Address, Identity, Incarnation, Input, LinkClass, LinkInfo, PeerChange, Protocol, Span, Time, Token,
};
use quintet_errors::Code;
use quintet_wire::{Decode, encode_to_vec};
use std::collections::BTreeSet;

/// Callers of the space's own node; a peer that shows its identity; one on this machine; one that shows none, over a network.
const OWN: u16 = 1;
const MEMBER: u16 = 2;
const LOCAL: u16 = 3;
const STRANGER: u16 = 4;

fn identity(of: u16) -> Identity {
    Identity([u8::try_from(of).unwrap(); 32])
}

fn link(of: u16) -> LinkInfo {
    let class = if of == LOCAL { LinkClass::Machine } else { LinkClass::Network };
    let identity = (of != LOCAL && of != STRANGER).then(|| identity(of));
    LinkInfo { identity, ..LinkInfo::new(class, 1 << 20) }
}

impl Bench {
    fn connect(&mut self, who: u16) {
        let up = PeerChange::Up { incarnation: Incarnation(0), link: link(who) };
        assert_eq!(self.give(Input::Peer(sender(who), &up)), []);
    }

    /// These may, and the machine itself if said so. What else is answered.
    fn grant(&mut self, own_machine: bool, to: &[u16]) -> Vec<Sent> {
        let identities = to.iter().copied().map(identity).collect();
        let sent = self.ask(OWN, 9, Request::Grant { grants: &CodeGrants { own_machine, identities } });
        let (done, others): (Vec<_>, Vec<_>) =
            sent.into_iter().partition(|(who, token, _)| (*who, *token) == (OWN, 9));
        assert_eq!(done, [(OWN, 9, Answer::Done)]);
        others
    }
}

fn bench() -> Bench {
    let mut bench = Bench::new(SpaceConfig { max_tuples: 4, ..SpaceConfig::default() });
    [MEMBER, LOCAL, STRANGER].into_iter().for_each(|who| bench.connect(who));
    bench
}

fn task() -> Tuple {
    tuple!["quintet.task", "pool", 1i64, b"pickle"]
}

fn out(tuples: &[Tuple]) -> Request<'_> {
    Request::Out { deadline: None, tuples, expiries: &[] }
}

fn ack(lease: LeaseId, tuples: &[Tuple]) -> Request<'_> {
    Request::Ack { lease, deadline: None, tuples, expiries: &[] }
}

/// What was told and answered: only a refusal of that sender, and of whom its watcher was told.
fn is_refused(sent: &[Sent], to: u16, token: u64) -> String {
    let (code, text) = error(sent, to, token);
    assert_eq!(code, Code::NotAllowed, "{text}");
    text
}

#[test]
fn before_anything_is_said_of_it_everybody_may() {
    let mut bench = bench();
    for who in [OWN, MEMBER, LOCAL, STRANGER] {
        assert_eq!(bench.out(who, 1, &task()), [(who, 1, Answer::Done)]);
    }
}

#[test]
fn then_only_those_may_who_were_granted_it_and_plain_tuples_are_everybodys() {
    let mut bench = bench();
    bench.grant(false, &[]);
    for who in [MEMBER, LOCAL, STRANGER] {
        is_refused(&bench.out(who, 1, &task()), who, 1);
        assert_eq!(bench.out(who, 2, &tuple!["row", 1i64]), [(who, 2, Answer::Done)]);
        bench.take(who, 3, Wait::AtOnce, &template!["row", ?i64]);
    }
    bench.grant(true, &[MEMBER]);
    for who in [OWN, MEMBER, LOCAL] {
        assert_eq!(bench.out(who, 4, &task()), [(who, 4, Answer::Done)]);
    }
    let text = is_refused(&bench.out(STRANGER, 4, &task()), STRANGER, 4);
    assert!(text.contains("quintet token create --allow join,code"), "{text}");
}

#[test]
fn every_name_with_the_prefix_is_reserved_but_that_of_a_failed_evaluation() {
    let mut bench = bench();
    bench.grant(false, &[]);
    let long = format!("quintet.{}", "x".repeat(codec::MAX_IN_PLACE_BYTES));
    let reserved =
        ["quintet.", "quintet.task", "quintet.result", "quintet.bulk", "quintet.dead-letter", &long];
    for name in reserved {
        is_refused(&bench.out(MEMBER, 1, &tuple![name, 1i64]), MEMBER, 1);
    }
    let free = [
        tuple![FAILED, "f", "text"],
        tuple!["quintet", 1i64],
        tuple![b"quintet.task", 1i64],
        tuple![1i64, "quintet.task"],
    ];
    for tuple in free {
        assert_eq!(bench.out(MEMBER, 2, &tuple), [(MEMBER, 2, Answer::Done)]);
    }
}

#[test]
fn no_tuple_of_a_pack_is_put_where_one_of_it_is_refused() {
    let mut bench = bench();
    bench.grant(false, &[]);
    for tuples in [[tuple!["row", 1i64], task()], [task(), tuple!["row", 1i64]]] {
        let sent = bench.ask(MEMBER, 1, out(&tuples));
        is_refused(&sent, MEMBER, 1);
    }
    assert_eq!(bench.status().tuples, 0);
}

#[test]
fn results_with_such_names_are_refused_and_the_lease_is_held_on() {
    let mut bench = bench();
    bench.put(&tuple!["job", 7i64]);
    bench.grant(false, &[]);
    let sent = bench.lease(MEMBER, 1, Span::from_secs(1), &template!["job", ?i64]);
    let [(MEMBER, 1, Answer::Tuple(_, Some(attempt)))] = &sent[..] else { panic!("{sent:?}") };
    let lease = attempt.lease;
    is_refused(&bench.ask(MEMBER, 2, ack(lease, &[task()])), MEMBER, 2);
    assert_eq!(bench.ask(MEMBER, 3, ack(lease, &[tuple!["done", 7i64]])), [(MEMBER, 3, Answer::Done)]);
}

#[test]
fn who_may_hand_in_no_result_is_refused_the_task_and_may_look_at_it() {
    let mut bench = bench();
    bench.put(&task());
    bench.grant(false, &[]);
    let any = template!["quintet.task", ?str, ?i64, ?crate::Bytes];
    is_refused(&bench.lease(MEMBER, 1, Span::from_secs(1), &any), MEMBER, 1);
    let waits = Request::Take { wait: Wait::Forever, lease: Some(Span::from_secs(1)), template: &any };
    is_refused(&bench.ask(MEMBER, 2, waits), MEMBER, 2);
    assert!(matches!(bench.read(MEMBER, 3, Wait::AtOnce, &any)[..], [(MEMBER, 3, Answer::Tuple(..))]));
}

#[test]
fn who_waits_for_room_is_refused_when_the_grant_is_withdrawn() {
    let mut bench = bench();
    bench.grant(false, &[MEMBER]);
    (0..4).for_each(|n| bench.put(&tuple!["row", n as i64]));
    assert_eq!(bench.ask(MEMBER, 1, out(&[task()])), []);
    assert_eq!(bench.ask(MEMBER, 2, out(&[tuple!["row", 4i64]])), []);
    is_refused(&bench.grant(false, &[]), MEMBER, 1);
    bench.take(OWN, 1, Wait::AtOnce, &template!["row", 0i64]);
    assert_eq!(bench.count(&template!["row", ?i64]), 4, "the other went on to wait");
}

#[test]
fn a_result_that_waits_for_room_is_refused_likewise_and_its_lease_lives_again() {
    let mut bench = Bench::new(SpaceConfig { max_tuples: 4, ..SpaceConfig::default() });
    bench.connect(MEMBER);
    bench.grant(false, &[MEMBER]);
    let mut leases = Vec::new();
    for token in 1..=2 {
        bench.put(&tuple!["job", 7i64]);
        let sent = bench.lease(MEMBER, token, Span::from_secs(1), &template!["job", ?i64]);
        let [(MEMBER, _, Answer::Tuple(_, Some(attempt)))] = sent[..] else { panic!("{sent:?}") };
        leases.push(attempt.lease);
    }
    (0..2).for_each(|n| bench.put(&tuple!["row", n as i64]));
    let results = |number| vec![task(); number];
    // The first takes of the reserve what the second then waits for.
    assert_eq!(bench.ask(MEMBER, 3, ack(leases[0], &results(3))), [(MEMBER, 3, Answer::Done)]);
    assert_eq!(bench.ask(MEMBER, 4, ack(leases[1], &results(3))), []);
    is_refused(&bench.grant(false, &[]), MEMBER, 4);
    assert_eq!(
        bench.ask(MEMBER, 5, ack(leases[1], &[tuple!["done"]])),
        [(MEMBER, 5, Answer::Done)],
        "the lease was held on"
    );
}

#[test]
fn nobody_who_comes_over_a_link_says_who_may() {
    let mut bench = bench();
    bench.grant(false, &[]);
    let grants = CodeGrants { own_machine: true, identities: BTreeSet::from([identity(MEMBER)]) };
    for who in [MEMBER, LOCAL, STRANGER] {
        is_refused(&bench.ask(who, 1, Request::Grant { grants: &grants }), who, 1);
        is_refused(&bench.out(who, 2, &task()), who, 2);
    }
}

#[test]
fn who_said_it_is_told_of_whom_it_kept_out() {
    let mut bench = bench();
    bench.grant(false, &[]);
    for (who, proved) in [(MEMBER, Some(identity(MEMBER))), (STRANGER, None)] {
        let mut effects = quintet_contract::Effects::default();
        let tuples = [task()];
        out(&tuples).send(&mut effects, Address::new(0, 16), Token(1), Token(0)).unwrap();
        let (_, frame) = effects.frames().pop().unwrap();
        bench.space.handle(Time::ZERO, Input::Frame(sender(who), frame.borrow()), &mut effects);
        let [(to, told), (_, refused)] = &effects.frames()[..] else { panic!("two frames") };
        assert_eq!((*to, told.kind, refused.kind), (sender(OWN), codec::NOT_GRANTED, codec::ERROR));
        let told = NotGranted::decode_all(&told.body).unwrap();
        assert_eq!(told.identity, proved);
        let Ok(Answer::Error(refusal)) = Answer::decode(refused.kind, &refused.body, &refused.bulk) else {
            panic!("an error")
        };
        assert_eq!(refusal.text, told.text);
    }
}

#[test]
fn grants_come_back_as_they_were_and_nothing_else_does() {
    let grants = CodeGrants { own_machine: true, identities: [3, 1, 2].map(identity).into() };
    let bytes = encode_to_vec(&grants);
    assert_eq!(CodeGrants::decode_all(&bytes), Ok(grants));
    let doubled = [&bytes[..], &bytes[bytes.len() - 32..]].concat();
    let many = vec![0; 1 + 32 * (codec::MAX_CODE_GRANTS + 1)];
    for bad in [&[][..], &[2], &bytes[..bytes.len() - 1], &doubled, &many] {
        assert!(CodeGrants::decode_all(bad).is_err(), "{}", bad.len());
    }
}

/// What one of four senders does.
#[derive(Clone, Debug)]
enum Step {
    Grant(bool, BTreeSet<u16>),
    Out(u16, Vec<Tuple>),
    Lease(u16),
    Ack(u16, u64, Vec<Tuple>),
    Take,
    Reconnect(u16),
}

fn step() -> impl Strategy<Value = Step> {
    let who = || OWN..=STRANGER + 1;
    let tuple = prop_oneof![
        2 => Just(task()),
        1 => Just(tuple!["quintet.result", 1i64]),
        3 => (0..3i64).prop_map(|n| tuple!["row", n]),
    ];
    let tuples = move |from| proptest::collection::vec(tuple.clone(), from..4usize);
    prop_oneof![
        2 => (any::<bool>(), proptest::collection::btree_set(MEMBER..=STRANGER + 1, 0..3))
            .prop_map(|(own, to)| Step::Grant(own, to)),
        6 => (who(), tuples(1)).prop_map(|(who, tuples)| Step::Out(who, tuples)),
        3 => who().prop_map(Step::Lease),
        4 => (who(), 1..6u64, tuples(0)).prop_map(|(who, back, tuples)| Step::Ack(who, back, tuples)),
        3 => Just(Step::Take),
        1 => (MEMBER..=STRANGER + 1).prop_map(Step::Reconnect),
    ]
}

proptest! {
    /// Whatever is asked in whatever order: what is in the space, and what waits to be, was put by who might when it was put.
    #[test]
    fn nothing_that_others_run_gets_in_from_who_may_not_put_it(steps in proptest::collection::vec(step(), 1..60)) {
        let mut bench = bench();
        bench.connect(STRANGER + 1);
        let (mut token, mut leases, mut granted) = (10, Vec::new(), None);
        let may = |granted: &Option<(bool, BTreeSet<u16>)>, who: u16| match granted {
            None => true,
            Some((own, to)) => who == OWN || (who == LOCAL && *own) || (link(who).identity.is_some() && to.contains(&who)),
        };
        let reserved = |tuples: &[Tuple]| tuples.iter().any(|tuple| *tuple != tuple!["row", 0i64] && *tuple != tuple!["row", 1i64] && *tuple != tuple!["row", 2i64]);
        for step in steps {
            token += 1;
            let inside = bench.status();
            let before = inside.tuples + inside.hidden + inside.parked;
            let (who, tuples, sent) = match step {
                Step::Grant(own, to) => {
                    let list: Vec<u16> = to.iter().copied().collect();
                    bench.grant(own, &list);
                    granted = Some((own, to));
                    continue;
                }
                Step::Out(who, tuples) => {
                    let sent = bench.ask(who, token, out(&tuples));
                    (who, tuples, sent)
                }
                Step::Ack(who, back, tuples) => {
                    let lease = leases.iter().rev().nth(usize::try_from(back).unwrap()).copied().unwrap_or(LeaseId(1));
                    let sent = bench.ask(who, token, ack(lease, &tuples));
                    (who, tuples, sent)
                }
                Step::Lease(who) => {
                    for (_, _, answer) in bench.lease(who, token, Span::from_secs(9), &template![?str, ?i64]) {
                        if let Answer::Tuple(_, Some(attempt)) = answer {
                            leases.push(attempt.lease);
                        }
                    }
                    continue;
                }
                Step::Take => {
                    bench.take(OWN, token, Wait::AtOnce, &template![?str, ?i64]);
                    continue;
                }
                Step::Reconnect(who) => {
                    bench.down(who);
                    bench.connect(who);
                    continue;
                }
            };
            let refused = sent.iter().any(|(to, number, answer)| {
                (*to, *number) == (who, token) && matches!(answer, Answer::Error(error) if error.code == Code::NotAllowed)
            });
            prop_assert_eq!(refused, reserved(&tuples) && !may(&granted, who), "{} {:?}", who, tuples);
            if refused {
                let after = bench.status();
                prop_assert_eq!(before, after.tuples + after.hidden + after.parked, "nothing was changed");
            }
        }
    }
}

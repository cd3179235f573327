//! Spaces that a log or replicas keep: they become bytes and come back.

use super::*;

#[test]
fn a_server_that_keeps_its_spaces_keeps_all_of_them_whatever_less_was_asked() {
    let mut bench = Bench::of(Policy::Logged);
    for policy in [Policy::Volatile, Policy::Logged] {
        let settings = SpaceSettings { policy, ..of_bytes(10) };
        let Answer::Spaces(page) = bench.manage(OWN, &SpacesRequest::Create(name("a"), settings)) else {
            panic!("it is made, or is there")
        };
        assert_eq!(page.rows[0].settings.policy, Policy::Logged);
    }
    let settings = SpaceSettings { policy: Policy::Replicated(3), ..of_bytes(10) };
    let answer = bench.manage(OWN, &SpacesRequest::Create(name("b"), settings));
    let (code, text) = refused(&answer);
    assert!(code == Code::BadValue && text.contains("replicated=3") && text.contains("logged"), "{text}");
}

#[test]
fn spaces_that_come_back_go_on_where_they_were() {
    let mut bench = Bench::of(Policy::Logged);
    let (a, b) = (bench.create("a", of_bytes(5_000)), bench.create("b", of_bytes(500)));
    bench.manage(OWN, &SpacesRequest::Remove(name("b")));
    bench.out(MEMBER, 1, a, 7);
    assert_eq!(bench.take(OTHER, 1, a, Wait::AtOnce), [(OTHER, 1, tuple_of(7))]);
    assert_eq!(bench.take(OTHER, 2, a, Wait::For(Span(50))), []);
    let c = bench.create("c", of_bytes(5_000));
    assert!(c > b, "the number of one that was removed is not given again");
    let full = bench.manage(OWN, &SpacesRequest::Create(name("d"), of_bytes(1)));
    assert_eq!(refused(&full).0, Code::SpaceFull, "what was promised still is");
    bench.now = Time(60);
    let timed_out = bench.give(Input::Wake);
    assert!(
        matches!(&timed_out[..], [(OTHER, 2, answer)] if refused(answer).0 == Code::TimedOut),
        "{timed_out:?}"
    );
}

#[test]
fn bytes_that_are_no_spaces_are_refused() {
    let mut bench = Bench::of(Policy::Logged);
    let a = bench.create("a", of_bytes(5_000));
    bench.out(MEMBER, 1, a, 7);
    let (config, bytes) = (bench.moves.expect("it is kept"), saved(&bench.spaces));
    for length in 0..bytes.len() {
        assert!(Spaces::restore(&config, &bytes[..length]).is_err(), "{length} of {}", bytes.len());
    }
    for at in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[at] ^= 1;
        Spaces::restore(&config, &changed).iter().for_each(Spaces::verify);
    }
    let smaller = SpacesConfig { max_spaces: 0, max_bytes: 1 };
    let config = KeptSpaces { spaces: smaller, ..config };
    let fewer = Spaces::restore(&config, &bytes).expect("what was promised is kept under other limits");
    assert_eq!(fewer.table.named().len(), 1);
}

#[test]
fn spaces_that_are_for_some_are_for_nobody_else() {
    let mut bench = Bench::with(Policy::Logged, true);
    let grants = CodeGrants { own_machine: true, identities: BTreeSet::new() };
    bench.ask(OWN, 1, 0, Request::Grant { grants: &grants });
    let rights = |who: &[u16]| SpaceRights {
        own_machine: false,
        identities: who.iter().map(|who| identity(*who)).collect(),
    };
    let is_refused = |sent: &[Sent]| refused(&sent[0].2).0 == Code::NotAllowed;
    assert!(is_refused(&bench.out(MEMBER, 1, 0, 1)), "nobody was named so far");
    let own = SpacesRequest::Allow(rights(&[OTHER]));
    assert_eq!(refused(&bench.manage(OTHER, &own)).0, Code::NotAllowed, "it names itself");
    assert_eq!(bench.manage(OWN, &SpacesRequest::Allow(rights(&[MEMBER]))), Answer::Done);
    let a = bench.create("a", of_bytes(1_000));
    for (token, space) in [(1, 0), (2, a)] {
        assert_eq!(bench.out(MEMBER, token, space, 1), [(MEMBER, token, Answer::Done)]);
        for who in [OTHER, LOCAL] {
            bench.told.clear();
            assert!(is_refused(&bench.out(who, 5, space, 1)));
            assert_eq!(bench.told.len(), 1, "who watches over it is told");
        }
    }
    for asked in [SpacesRequest::Open(name("a")), SpacesRequest::List { after: None }] {
        assert_eq!(refused(&bench.manage(OTHER, &asked)).0, Code::NotAllowed);
    }
    assert_eq!(bench.ask(OTHER, 5, 0, Request::Renew), [], "it is not answered, whoever asks");
    for (token, space) in [(7, 0), (8, a)] {
        let (wait, template) = (Wait::Forever, &template!["another"]);
        assert_eq!(bench.ask(MEMBER, token, space, Request::Take { wait, lease: None, template }), []);
    }
    let sent = bench.ask(OWN, 77, 0, Request::Spaces(&SpacesRequest::Allow(rights(&[OTHER]))));
    let told: Vec<_> = sent.iter().filter(|(to, ..)| *to == MEMBER).collect();
    assert!(
        told.len() == 2 && told.iter().all(|(_, _, answer)| refused(answer).0 == Code::NotAllowed),
        "{told:?}"
    );
    assert!(is_refused(&bench.out(MEMBER, 3, 0, 2)));
    assert_eq!(bench.take(OTHER, 6, 0, Wait::AtOnce), [(OTHER, 6, tuple_of(1))]);
    let open = &mut Bench::of(Policy::Logged);
    assert_eq!(refused(&open.manage(OWN, &own)).0, Code::BadValue, "those are for everybody");
}

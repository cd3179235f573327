//! Several spaces of one server, each asked as over one link.

mod collect_into;
mod kept;

use super::{KeptSpaces, Spaces, SpacesConfig};
use crate::codec::{NAMED, NOT_GRANTED, NamedFront, SPACES};
use crate::{
    Answer, CodeGrants, NotGranted, Policy, Request, SpaceConfig, SpaceName, SpaceNumber, SpaceRights,
    SpaceSettings, SpacesPage, SpacesRequest, Template, Wait, template, tuple,
};
use bytes::Bytes;
use proptest::prelude::*;
use quintet_contract::{
    Address, Disconnect, DownCause, Effects, Frame, Identity, Incarnation, Input, Kind, LinkClass, LinkInfo,
    Outbox, PeerChange, Protocol, SendError, Snapshot, Span, Time, Token,
};
use quintet_errors::Code;
use quintet_wire::{Decode, encode_to_vec};
use std::collections::BTreeSet;

const MANAGER: Address = Address::new(0, 16);
/// A caller of the server's own node; the others come over links.
const OWN: u16 = 1;
const MEMBER: u16 = 2;
const OTHER: u16 = 3;
const LOCAL: u16 = 4;

fn saved(spaces: &Spaces) -> Vec<u8> {
    let mut bytes = Vec::new();
    spaces.save(&mut bytes);
    bytes
}

type Sent = (u16, u64, Answer);

/// Links some of which have no room.
#[derive(Default)]
struct Link {
    effects: Effects,
    full: BTreeSet<u16>,
}

impl Outbox for Link {
    fn begin(
        &mut self,
        to: Address,
        kind: Kind,
        token: Token,
        at_most: usize,
    ) -> Result<&mut [u8], SendError> {
        if self.full.contains(&to.node.0) {
            return Err(SendError::Full);
        }
        self.effects.begin(to, kind, token, at_most)
    }

    fn commit(&mut self, len: usize) {
        self.effects.commit(len);
    }

    fn send_bulk(
        &mut self,
        to: Address,
        kind: Kind,
        token: Token,
        head: &[u8],
        bulk: Bytes,
    ) -> Result<(), SendError> {
        self.effects.send_bulk(to, kind, token, head, bulk)
    }

    fn disconnect(&mut self, peer: Address, how: Disconnect) {
        self.effects.disconnect(peer, how);
    }
}

struct Bench {
    spaces: Spaces,
    now: Time,
    link: Link,
    /// Who was told of refusals.
    told: Vec<NotGranted>,
    /// With what the spaces come back from their bytes before every input, if they do.
    moves: Option<KeptSpaces>,
}

fn at(who: u16) -> Address {
    Address::new(who, 1)
}

fn name(text: &str) -> SpaceName {
    text.parse().expect("it is a name")
}

fn identity(of: u16) -> Identity {
    Identity([u8::try_from(of).expect("a small number"); 32])
}

fn of_bytes(max_bytes: u64) -> SpaceSettings {
    SpaceSettings { max_bytes, ..SpaceSettings::default() }
}

impl Bench {
    /// A server with room for three spaces of 10,000 bytes altogether, and three clients.
    fn new() -> Bench {
        Bench::of(Policy::Volatile)
    }

    /// Such a server that keeps its spaces in this way; those that are kept come back from their bytes before every input.
    fn of(policy: Policy) -> Bench {
        Bench::with(policy, false)
    }

    fn with(policy: Policy, is_restricted: bool) -> Bench {
        let spaces = SpacesConfig { max_spaces: 3, max_bytes: 10_000 };
        let space = SpaceConfig { max_bytes: 1_000, ..SpaceConfig::default() };
        let config = KeptSpaces { space, spaces, policy, is_restricted };
        let moves = (policy != Policy::Volatile).then_some(config);
        let (link, told) = (Link::default(), Vec::new());
        let mut bench = Bench { spaces: Spaces::kept(&config), now: Time::ZERO, link, told, moves };
        for who in [MEMBER, OTHER, LOCAL] {
            bench.up(who);
        }
        bench
    }

    fn up(&mut self, who: u16) {
        let class = if who == LOCAL { LinkClass::Machine } else { LinkClass::Network };
        let link =
            LinkInfo { identity: (who != LOCAL).then(|| identity(who)), ..LinkInfo::new(class, 1 << 20) };
        let up = PeerChange::Up { incarnation: Incarnation(1), link };
        assert_eq!(self.give(Input::Peer(at(who), &up)), []);
    }

    fn give(&mut self, input: Input<'_>) -> Vec<Sent> {
        if let Some(config) = self.moves {
            let saved = saved(&self.spaces);
            self.spaces = Spaces::restore(&config, &saved).expect("its own bytes");
            assert_eq!(crate::spaces::tests::saved(&self.spaces), saved, "equal bytes of an equal state");
        }
        self.spaces.handle(self.now, input, &mut self.link);
        self.spaces.verify();
        let (told, answers): (Vec<_>, Vec<_>) =
            self.link.effects.frames().into_iter().partition(|(_, frame)| frame.kind == NOT_GRANTED);
        self.told.extend(
            told.iter().map(|(_, frame)| NotGranted::decode_all(&frame.body).expect("it can be read")),
        );
        let read = |(to, frame): (Address, quintet_contract::OwnedFrame)| {
            let answer = Answer::decode(frame.kind, &frame.body, &frame.bulk).expect("it can be read");
            (to.node.0, frame.token.0, answer)
        };
        answers.into_iter().map(read).collect()
    }

    /// Asks one space, 0 the unnamed one.
    fn ask(&mut self, who: u16, token: u64, space: u32, request: Request<'_>) -> Vec<Sent> {
        let mut sent = Effects::default();
        let planned = request.planned().expect("it is small").to_space(SpaceNumber(space));
        planned.send(&mut sent, MANAGER, Token(token), Token(0)).expect("there is room");
        let (_, frame) = sent.frames().pop().expect("it was sent");
        self.give(Input::Frame(at(who), frame.borrow()))
    }

    fn manage(&mut self, who: u16, asked: &SpacesRequest) -> Answer {
        let mut answers = self.ask(who, 77, 0, Request::Spaces(asked));
        match answers.pop() {
            Some((to, 77, answer)) if to == who && answers.is_empty() => answer,
            other => panic!("{answers:?}, {other:?}"),
        }
    }

    fn create(&mut self, text: &str, settings: SpaceSettings) -> u32 {
        number(&self.manage(OWN, &SpacesRequest::Create(name(text), settings)))
    }

    fn out(&mut self, who: u16, token: u64, space: u32, number: i64) -> Vec<Sent> {
        self.ask(
            who,
            token,
            space,
            Request::Out { deadline: None, tuples: &[tuple!["t", number]], expiries: &[] },
        )
    }

    fn take(&mut self, who: u16, token: u64, space: u32, wait: Wait) -> Vec<Sent> {
        self.ask(who, token, space, Request::Take { wait, lease: None, template: &rows() })
    }

    fn count(&mut self, space: u32) -> u64 {
        match self.ask(OWN, 78, space, Request::Count { template: &rows() }).pop() {
            Some((OWN, 78, Answer::Count(count))) => count,
            other => panic!("{other:?}"),
        }
    }
}

fn rows() -> Template {
    template!["t", ?i64]
}

fn number(answer: &Answer) -> u32 {
    match answer {
        Answer::Spaces(SpacesPage { rows, has_more: false }) if rows.len() == 1 => rows[0].number.0,
        other => panic!("not a space: {other:?}"),
    }
}

fn refused(answer: &Answer) -> (Code, &str) {
    match answer {
        Answer::Error(refusal) => (refusal.code, &refusal.text),
        other => panic!("not refused: {other:?}"),
    }
}

fn tuple_of(number: i64) -> Answer {
    Answer::Tuple(tuple!["t", number], None)
}

#[test]
fn what_is_put_into_one_is_in_no_other() {
    let mut bench = Bench::new();
    let (a, b) = (bench.create("a", of_bytes(1_000)), bench.create("b", of_bytes(1_000)));
    assert_eq!((a, b), (1, 2));
    assert_eq!(bench.out(MEMBER, 1, a, 7), [(MEMBER, 1, Answer::Done)]);
    assert_eq!([0, a, b].map(|space| bench.count(space)), [0, 1, 0]);
    for space in [0, b] {
        assert_eq!(bench.take(OTHER, 2, space, Wait::AtOnce), [(OTHER, 2, Answer::NoMatch)]);
        assert_eq!(bench.take(OTHER, 3 + u64::from(space), space, Wait::Forever), []);
    }
    assert_eq!(
        bench.out(MEMBER, 9, b, 8),
        [(OTHER, 3 + u64::from(b), tuple_of(8)), (MEMBER, 9, Answer::Done)]
    );
    assert_eq!(bench.take(OTHER, 10, a, Wait::AtOnce), [(OTHER, 10, tuple_of(7))]);
}

#[test]
fn a_name_is_made_once_with_one_configuration() {
    let mut bench = Bench::new();
    let a = bench.create("a", of_bytes(1_000));
    assert_eq!(bench.create("a", of_bytes(1_000)), a, "the same is as good");
    let other = bench.manage(MEMBER, &SpacesRequest::Create(name("a"), of_bytes(2_000)));
    let (code, text) = refused(&other);
    assert!(code == Code::SpaceExists && text.contains("quintet space show a"), "{text}");
    assert_eq!(number(&bench.manage(MEMBER, &SpacesRequest::Open(name("a")))), a);
    let absent = bench.manage(MEMBER, &SpacesRequest::Open(name("b")));
    let (code, text) = refused(&absent);
    assert!(code == Code::NoSuchSpace && text.contains("there are: a"), "{text}");
}

#[test]
fn policies_that_cannot_be_met_are_refused() {
    let mut bench = Bench::new();
    for policy in [Policy::Logged, Policy::Replicated(3)] {
        let settings = SpaceSettings { policy, ..of_bytes(10) };
        let answer = bench.manage(OWN, &SpacesRequest::Create(name("a"), settings));
        let (code, text) = refused(&answer);
        assert!(code == Code::BadValue && text.contains(&policy.to_string()), "{text}");
    }
    assert_eq!(
        bench.manage(OWN, &SpacesRequest::List { after: None }),
        Answer::Spaces(SpacesPage::default())
    );
}

#[test]
fn quotas_are_each_spaces_own_and_bounded_together() {
    let mut bench = Bench::new();
    let (a, b) = (bench.create("a", of_bytes(2_000)), bench.create("b", of_bytes(7_400)));
    let full = bench.manage(OWN, &SpacesRequest::Create(name("c"), of_bytes(601)));
    let (code, text) = refused(&full);
    assert!(code == Code::SpaceFull && text.contains("600"), "{text}");
    bench.create("c", of_bytes(600));
    let many = bench.manage(OWN, &SpacesRequest::Create(name("d"), of_bytes(1)));
    assert_eq!(refused(&many).0, Code::SpaceFull);
    // One is full: its puts wait, those of the others do not.
    let waits = (1..100).find(|token| bench.out(MEMBER, *token, a, 1).is_empty()).expect("it has a quota");
    assert_eq!(bench.out(MEMBER, 200, b, 2), [(MEMBER, 200, Answer::Done)]);
    assert_eq!(bench.out(MEMBER, 201, 0, 2), [(MEMBER, 201, Answer::Done)]);
    let freed = bench.take(OTHER, 1, a, Wait::AtOnce);
    assert_eq!(freed, [(OTHER, 1, tuple_of(1)), (MEMBER, waits, Answer::Done)]);
}

#[test]
fn who_waits_in_a_space_that_is_removed_is_refused_also_over_a_full_link() {
    let mut bench = Bench::new();
    let a = bench.create("a", of_bytes(400));
    assert_eq!(bench.take(MEMBER, 1, a, Wait::Forever), []);
    assert_eq!(bench.take(OTHER, 2, a, Wait::Forever), []);
    bench.link.full.insert(OTHER);
    let answers = bench.ask(OWN, 3, 0, Request::Spaces(&SpacesRequest::Remove(name("a"))));
    let [(MEMBER, 1, gone), (OWN, 3, Answer::Done)] = answers.as_slice() else { panic!("{answers:?}") };
    assert_eq!(refused(gone).0, Code::NoSuchSpace);
    bench.link.full.clear();
    let late = bench.give(Input::Writable(at(OTHER)));
    let [(OTHER, 2, gone)] = late.as_slice() else { panic!("{late:?}") };
    assert_eq!(refused(gone).0, Code::NoSuchSpace);
    // Its number is never given again.
    let again = bench.create("a", of_bytes(400));
    assert_ne!(again, a);
    let old = bench.out(MEMBER, 4, a, 1);
    let (code, text) = refused(&old[0].2);
    assert!(code == Code::NoSuchSpace && text.contains("removed"), "{text}");
    assert_eq!(bench.count(again), 0);
    assert_eq!(bench.spaces.books(), crate::Books::default());
}

#[test]
fn cancels_returns_and_renewals_reach_the_space_that_they_are_about() {
    let mut bench = Bench::new();
    let (a, b) = (bench.create("a", of_bytes(1_000)), bench.create("b", of_bytes(1_000)));
    assert_eq!(bench.take(MEMBER, 1, a, Wait::Forever), []);
    let cancelled = bench.ask(MEMBER, 1, b, Request::Cancel);
    assert!(matches!(cancelled.as_slice(), [(MEMBER, 1, answer)] if refused(answer).0 == Code::Cancelled));
    bench.out(OWN, 1, b, 5);
    bench.take(MEMBER, 2, b, Wait::AtOnce);
    assert_eq!(bench.ask(MEMBER, 2, a, Request::Return), []);
    assert_eq!(bench.count(b), 1, "it is back");
    let lease = Some(Span::from_millis(10));
    bench.ask(MEMBER, 3, b, Request::Take { wait: Wait::AtOnce, lease, template: &rows() });
    for _ in 0..3 {
        bench.now += Span::from_millis(6);
        bench.ask(MEMBER, 0, 0, Request::Renew);
    }
    assert_eq!(bench.count(b), 0, "its lease lives");
    let due = bench.spaces.deadline().expect("the lease ends");
    bench.now = due;
    bench.give(Input::Wake);
    assert_eq!(bench.count(b), 1, "and has ended");
}

#[test]
fn the_leases_of_a_client_that_dies_return_in_each_space() {
    let mut bench = Bench::new();
    let (a, b) = (bench.create("a", of_bytes(1_000)), bench.create("b", of_bytes(1_000)));
    for space in [0, a, b] {
        bench.out(OWN, 1, space, 1);
        let take = Request::Take { wait: Wait::AtOnce, lease: Some(Span::from_secs(9)), template: &rows() };
        bench.ask(MEMBER, u64::from(space) + 1, space, take);
        assert_eq!(bench.take(MEMBER, u64::from(space) + 10, space, Wait::Forever), []);
    }
    bench.give(Input::Peer(at(MEMBER), &PeerChange::Down(DownCause::Died)));
    assert_eq!([0, a, b].map(|space| bench.count(space)), [1, 1, 1]);
    bench.up(MEMBER);
    assert_eq!(bench.take(MEMBER, 1, b, Wait::AtOnce), [(MEMBER, 1, tuple_of(1))]);
}

#[test]
fn only_those_whom_its_creation_names_use_and_remove_a_space_and_refusals_are_told() {
    let mut bench = Bench::new();
    let grants = CodeGrants { own_machine: true, identities: BTreeSet::new() };
    bench.ask(OWN, 1, 0, Request::Grant { grants: &grants });
    let allow = Some(SpaceRights { own_machine: false, identities: [identity(MEMBER)].into() });
    let a = bench.create("a", SpaceSettings { allow, ..of_bytes(1_000) });
    assert_eq!(bench.out(MEMBER, 1, a, 1), [(MEMBER, 1, Answer::Done)]);
    assert_eq!(bench.out(OWN, 1, a, 1), [(OWN, 1, Answer::Done)], "the server itself may");
    for who in [OTHER, LOCAL] {
        let opened = bench.manage(who, &SpacesRequest::Open(name("a")));
        assert_eq!(refused(&opened).0, Code::NotAllowed);
        let removed = bench.manage(who, &SpacesRequest::Remove(name("a")));
        assert_eq!(refused(&removed).0, Code::NotAllowed);
        // Who guesses the number gets no further.
        let put = bench.out(who, 5, a, 1);
        assert_eq!(refused(&put[0].2).0, Code::NotAllowed);
        let told: Vec<_> = bench.told.drain(..).map(|told| (told.identity, told.text)).collect();
        assert_eq!(told.len(), 3);
        let shown = (who == OTHER).then(|| identity(who));
        assert!(told.iter().all(|(whom, text)| *whom == shown && text.contains("the space a")), "{told:?}");
    }
    assert_eq!(bench.count(a), 2);
    assert_eq!(bench.manage(MEMBER, &SpacesRequest::Remove(name("a"))), Answer::Done);
}

#[test]
fn who_may_put_what_others_run_is_said_for_all_spaces_also_for_later_ones() {
    let mut bench = Bench::new();
    let early = bench.create("early", of_bytes(1_000));
    let grants = CodeGrants { own_machine: false, identities: [identity(MEMBER)].into() };
    bench.ask(OWN, 1, 0, Request::Grant { grants: &grants });
    let late = bench.create("late", of_bytes(1_000));
    for space in [0, early, late] {
        let task = [tuple!["quintet.task", 1i64]];
        let put = Request::Out { deadline: None, tuples: &task, expiries: &[] };
        let refusal = bench.ask(OTHER, 1, space, put);
        assert_eq!(refused(&refusal[0].2).0, Code::NotAllowed, "{space}");
        assert_eq!(bench.ask(MEMBER, 1, space, put), [(MEMBER, 1, Answer::Done)]);
    }
}

#[test]
fn lists_go_by_name_a_page_at_a_time() {
    let config = SpacesConfig { max_spaces: 30, max_bytes: 1 << 20 };
    let mut bench = Bench { spaces: Spaces::new(SpaceConfig::default(), config), ..Bench::new() };
    let names: Vec<String> = (10..31).map(|number| format!("s{number}")).collect();
    for text in names.iter().rev().take(20) {
        bench.create(text, of_bytes(100));
    }
    let (mut seen, mut after) = (Vec::new(), None);
    loop {
        let Answer::Spaces(page) = bench.manage(OWN, &SpacesRequest::List { after: after.take() }) else {
            panic!("not a list")
        };
        assert!(page.rows.len() <= SpacesPage::MAX_ROWS);
        seen.extend(page.rows.iter().map(|row| row.name.to_string()));
        after = page.rows.last().map(|row| row.name.clone());
        if !page.has_more {
            break;
        }
    }
    assert_eq!(seen, names[1..]);
}

#[test]
fn garbage_is_answered_as_malformed() {
    let mut bench = Bench::new();
    bench.create("a", of_bytes(100));
    let front = |space, kind| encode_to_vec(&NamedFront { space: SpaceNumber(space), kind });
    let unwrapped = [crate::codec::CANCEL, crate::codec::GRANT, SPACES, NAMED, crate::codec::DONE];
    let bodies = unwrapped.map(|kind| front(1, kind)).into_iter().chain([
        Vec::new(),
        vec![0xff; 3],
        front(0, crate::codec::OUT),
        front(1, crate::codec::OUT),
    ]);
    for body in bodies {
        let answers = bench.give(Input::Frame(at(MEMBER), Frame::new(NAMED, Token(4), &body)));
        assert!(
            matches!(answers.as_slice(), [(MEMBER, 4, answer)] if refused(answer).0 == Code::Malformed),
            "{body:?}"
        );
    }
    for body in [&[][..], &[0; 8], &[0xff; 12], &[0; 40]] {
        let answers = bench.give(Input::Frame(at(MEMBER), Frame::new(SPACES, Token(4), body)));
        assert!(
            matches!(answers.as_slice(), [(MEMBER, 4, answer)] if refused(answer).0 == Code::Malformed),
            "{body:?}"
        );
    }
}

proptest! {
    /// Any order of creating, using and removing leaves what each space should hold, and nothing unfinished when nobody waits.
    #[test]
    fn spaces_hold_what_a_model_of_each_says(
        steps in prop::collection::vec((0u8..6, 0usize..3, 2u16..5), 1..80), is_kept: bool
    ) {
        let mut bench = Bench::of(if is_kept { Policy::Logged } else { Policy::Volatile });
        let names = ["a", "b", "c"];
        let mut model: [Option<(u32, u64)>; 3] = [None; 3];
        for (token, (what, which, who)) in steps.into_iter().enumerate() {
            let token = token as u64 + 1;
            match (what, model[which]) {
                (0, None) => model[which] = Some((bench.create(names[which], of_bytes(3_000)), 0)),
                (1, Some(_)) => {
                    prop_assert_eq!(bench.manage(who, &SpacesRequest::Remove(name(names[which]))), Answer::Done);
                    model[which] = None;
                }
                (2 | 3, Some((number, held))) if held < 10 => {
                    prop_assert_eq!(bench.out(who, token, number, 1), [(who, token, Answer::Done)]);
                    model[which] = Some((number, held + 1));
                }
                (4, Some((number, held))) => {
                    let expected = if held == 0 { Answer::NoMatch } else { tuple_of(1) };
                    prop_assert_eq!(bench.take(who, token, number, Wait::AtOnce), [(who, token, expected)]);
                    model[which] = Some((number, held.saturating_sub(1)));
                }
                (5, _) => {
                    bench.give(Input::Peer(at(who), &PeerChange::Down(DownCause::Died)));
                    bench.up(who);
                }
                _ => {}
            }
            for (number, held) in model.into_iter().flatten() {
                prop_assert_eq!(bench.count(number), held);
            }
            prop_assert_eq!(bench.count(0), 0);
        }
    }
}

//! Single rules of the server's side, with a service that answers what it is asked with what it was asked.

use super::*;
use crate::ResumedConfig;
use proptest::prelude::*;
use quintet_contract::{
    Bytes, Effect, Effects, Incarnation, Kind, LinkClass, LinkInfo, OwnedFrame, Snapshot, SnapshotError,
};
use quintet_wire::registry::USER;
use quintet_wire::{Reader, Sink, encode_to_vec};

const ASK: Kind = USER.kind(0);
const TELL: Kind = USER.kind(1);
const ANSWER: Kind = USER.kind(2);
const REFUSED: Kind = USER.kind(3);

#[derive(Debug)]
enum Words {}

impl Requests for Words {
    const WORD: Kind = USER.kind(8);
    const REPLY: Kind = USER.kind(9);

    fn is_answered(kind: Kind) -> bool {
        matches!(kind, ASK | Self::WORD)
    }

    fn is_repeated(_kind: Kind) -> bool {
        false
    }

    fn settled(frame: &Frame<'_>) -> Option<Token> {
        let (settled, _) = frame.body.split_first_chunk().filter(|_| frame.kind == ASK)?;
        Some(Token(u64::from_le_bytes(*settled)))
    }

    fn refusal(_code: Code, text: &str) -> (Kind, Vec<u8>) {
        (REFUSED, text.as_bytes().to_vec())
    }
}

/// Answers the second of two requests at once, and with it the first; so many bytes as it has handled.
#[derive(Debug, Default, PartialEq)]
struct Pairs {
    handled: u64,
    waiting: Option<(Address, Token)>,
    gone: u64,
}

impl Protocol for Pairs {
    fn handle(&mut self, _now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        match input {
            Input::Frame(from, frame) if frame.kind == ASK => {
                self.handled += 1;
                let Some((first, token)) = self.waiting.take() else {
                    self.waiting = Some((from, frame.token));
                    return;
                };
                for (to, token) in [(first, token), (from, frame.token)] {
                    let _ = out.send(to, ANSWER, token, &self.handled.to_le_bytes());
                }
            }
            Input::Frame(from, frame) if frame.kind == TELL => {
                let bulk = Bytes::from(vec![7; 100]);
                let _ = out.send_bulk(from, ANSWER, frame.token, &[], bulk);
            }
            Input::Peer(peer, PeerChange::Down(_)) => {
                self.gone += 1;
                self.waiting = self.waiting.filter(|(waiting, _)| *waiting != peer);
            }
            _ => {}
        }
    }

    fn deadline(&self) -> Option<Time> {
        None
    }
}

impl Snapshot for Pairs {
    type Config = ();

    const BEHAVIOUR: u32 = 1;

    fn save(&self, bytes: &mut Vec<u8>) {
        bytes.u64(self.handled);
        bytes.u64(self.gone);
        let (to, token) = self.waiting.map_or((u32::MAX, 0), |(to, token)| (to.to_bits(), token.0));
        bytes.u32(to);
        bytes.u64(token);
    }

    fn restore((): &(), bytes: &[u8]) -> Result<Self, SnapshotError> {
        let mut reader = Reader::new(bytes);
        let read = || {
            let (handled, gone, to) = (reader.u64()?, reader.u64()?, reader.u32()?);
            let waiting = (Address::from_bits(to), Token(reader.u64()?));
            reader.finish()?;
            Ok(Pairs { handled, gone, waiting: Some(waiting).filter(|_| to != u32::MAX) })
        };
        read().map_err(|error: quintet_wire::DecodeError| SnapshotError(error.to_string()))
    }
}

type Served = Resumed<Pairs, Words>;

fn limits() -> ResumeLimits {
    ResumeLimits { window: Span(100), max_clients: 3, max_kept_bytes: 400, ..ResumeLimits::default() }
}

fn served() -> Served {
    Resumed::new(limits(), Pairs::default())
}

fn at(node: u16) -> Address {
    Address::new(node, 16)
}

fn up() -> PeerChange {
    PeerChange::Up { incarnation: Incarnation(1), link: LinkInfo::new(LinkClass::Machine, 1 << 20) }
}

const DIED: PeerChange = PeerChange::Down(DownCause::Died);

fn give(served: &mut Served, now: u64, input: Input<'_>) -> Vec<(Address, OwnedFrame)> {
    let mut effects = Effects::default();
    served.handle(Time(now), input, &mut effects);
    effects.frames()
}

fn ask(served: &mut Served, from: u16, token: u64, settled: u64) -> Vec<(Address, OwnedFrame)> {
    let body = settled.to_le_bytes();
    give(served, 0, Input::Frame(at(from), Frame::new(ASK, Token(token), &body)))
}

fn say(served: &mut Served, from: u16, word: &Word) -> Option<Reply> {
    let body = encode_to_vec(word);
    let said = give(served, 0, Input::Frame(at(from), Frame::new(Words::WORD, Token(u64::MAX), &body)));
    let [(to, frame)] = &said[..] else { return None };
    assert_eq!((*to, frame.kind, frame.token), (at(from), Words::REPLY, Token(u64::MAX)));
    Reply::decode_all(&frame.body).ok()
}

fn introduced(served: &mut Served, node: u16, id: u128) {
    give(served, 0, Input::Peer(at(node), &up()));
    assert_eq!(say(served, node, &Word::Introduce(ClientId(id))), Some(Reply::Resumes(Span(100))));
}

/// To whom, under which token, with what number.
fn answers(frames: &[(Address, OwnedFrame)]) -> Vec<(u16, u64, u64)> {
    let number = |frame: &OwnedFrame| u64::from_le_bytes(frame.body[..].try_into().expect("a number"));
    frames.iter().map(|(to, frame)| (to.node.0, frame.token.0, number(frame))).collect()
}

#[test]
fn who_comes_back_gets_what_is_kept_and_waits_on_for_what_is_not() {
    let mut served = served();
    introduced(&mut served, 1, 7);
    assert!(ask(&mut served, 1, 1, 1).is_empty());
    assert_eq!(answers(&ask(&mut served, 1, 2, 1)), [(1, 1, 2), (1, 2, 2)]);
    assert!(ask(&mut served, 1, 3, 1).is_empty());
    give(&mut served, 5, Input::Peer(at(1), &DIED));
    assert_eq!((served.counts().0, served.counts().1, served.inner().gone), (1, 1, 0));
    // Another client gives its waiting request its other half: the answer is kept until it is asked for.
    introduced(&mut served, 2, 8);
    assert_eq!(answers(&ask(&mut served, 2, 1, 1)), [(2, 1, 4)]);
    give(&mut served, 6, Input::Peer(at(9), &up()));
    assert_eq!(say(&mut served, 9, &Word::Resume(ClientId(7))), Some(Reply::Resumes(Span(100))));
    assert_eq!(answers(&ask(&mut served, 9, 2, 1)), [(9, 2, 2)]);
    assert_eq!(answers(&ask(&mut served, 9, 3, 1)), [(9, 3, 4)]);
    assert_eq!(served.inner().handled, 4, "each was handled once");
}

#[test]
fn an_answer_goes_over_the_link_by_which_its_request_came_and_no_other() {
    let mut served = served();
    introduced(&mut served, 1, 7);
    ask(&mut served, 1, 1, 1);
    give(&mut served, 0, Input::Peer(at(2), &up()));
    assert_eq!(say(&mut served, 2, &Word::Resume(ClientId(7))), Some(Reply::Resumes(Span(100))));
    assert!(ask(&mut served, 1, 5, 1).is_empty(), "nobody is heard over the link that was left");
    assert_eq!(answers(&ask(&mut served, 2, 2, 1)), [(2, 2, 2)], "the first was not asked here so far");
    assert_eq!(answers(&ask(&mut served, 2, 1, 1)), [(2, 1, 2)]);
    give(&mut served, 0, Input::Peer(at(1), &DIED));
    assert_eq!(served.counts().1, 0, "it is there");
}

#[test]
fn what_is_settled_or_said_to_have_come_is_not_kept() {
    let mut served = served();
    introduced(&mut served, 1, 7);
    for token in [1, 3, 5] {
        ask(&mut served, 1, token, 1);
        ask(&mut served, 1, token + 1, 1);
    }
    let kept = served.counts().2;
    assert_eq!(say(&mut served, 1, &Word::Received(vec![Token(5), Token(9)])), Some(Reply::Noted));
    assert_eq!(served.counts().2, kept - kept / 6);
    ask(&mut served, 1, 7, 6);
    assert_eq!(served.counts().2, kept / 6, "the sixth is left");
}

#[test]
fn who_does_not_say_what_it_has_is_refused_until_it_does() {
    let mut served = served();
    introduced(&mut served, 1, 7);
    let refused =
        (1..20).find(|token| ask(&mut served, 1, *token, 1).iter().any(|(_, frame)| frame.kind == REFUSED));
    let refused = refused.expect("six answers of 72 bytes are above 400");
    let handled = served.inner().handled;
    assert!(ask(&mut served, 1, refused, 1).iter().any(|(_, frame)| {
        frame.kind == REFUSED && String::from_utf8_lossy(&frame.body).contains("432 bytes")
    }));
    assert_eq!(served.inner().handled, handled);
    ask(&mut served, 1, refused, refused);
    assert_eq!(served.inner().handled, handled + 1, "nothing is kept any more");
}

#[test]
fn the_service_learns_of_an_end_when_the_window_is_over_or_by_a_farewell() {
    let mut served = served();
    introduced(&mut served, 1, 7);
    introduced(&mut served, 2, 8);
    ask(&mut served, 1, 1, 1);
    give(&mut served, 10, Input::Peer(at(1), &DIED));
    give(&mut served, 10, Input::Peer(at(2), &PeerChange::Down(DownCause::Closed)));
    assert_eq!((served.inner().gone, served.deadline()), (1, Some(Time(110))));
    give(&mut served, 109, Input::Wake);
    assert_eq!(served.inner().gone, 1);
    give(&mut served, 110, Input::Wake);
    assert_eq!((served.inner().gone, served.deadline(), served.counts()), (2, None, (0, 0, 0)));
    give(&mut served, 111, Input::Peer(at(3), &up()));
    assert_eq!(say(&mut served, 3, &Word::Resume(ClientId(7))), Some(Reply::Unknown));
    assert!(ask(&mut served, 3, 1, 1).is_empty(), "it is as any client");
}

#[test]
fn nobody_comes_back_for_another_or_over_a_link_that_takes_less() {
    let mut served = served();
    introduced(&mut served, 1, 7);
    let PeerChange::Up { incarnation, link } = up() else { unreachable!() };
    let identity = Some(quintet_contract::Identity([1; 32]));
    for link in [
        LinkInfo { identity, ..link },
        LinkInfo { holds_token: true, ..link },
        LinkInfo { max_bulk_bytes: 9, ..link },
        LinkInfo { max_body_bytes: 9, ..link },
    ] {
        give(&mut served, 0, Input::Peer(at(2), &PeerChange::Up { incarnation, link }));
        assert_eq!(say(&mut served, 2, &Word::Resume(ClientId(7))), Some(Reply::Unknown), "{link:?}");
        give(&mut served, 0, Input::Peer(at(2), &DIED));
    }
    // Nor by introducing himself as one who is known, or a second time, or when something else was said before.
    give(&mut served, 0, Input::Peer(at(2), &up()));
    assert_eq!(say(&mut served, 2, &Word::Introduce(ClientId(7))), Some(Reply::Unknown));
    assert_eq!(say(&mut served, 2, &Word::Introduce(ClientId(9))), Some(Reply::Unknown));
    assert_eq!(say(&mut served, 2, &Word::Received(vec![])), Some(Reply::Noted));
    assert_eq!(served.counts().0, 1);
}

#[test]
fn whom_nobody_knows_any_more_may_introduce_himself_over_the_same_link() {
    let mut served = served();
    introduced(&mut served, 1, 7);
    let first = served.clients.get(ClientId(7)).map(|client| client.place);
    give(&mut served, 0, Input::Peer(at(1), &DIED));
    give(&mut served, 100, Input::Wake);
    give(&mut served, 101, Input::Peer(at(2), &up()));
    for _ in 0..2 {
        assert_eq!(say(&mut served, 2, &Word::Resume(ClientId(7))), Some(Reply::Unknown));
    }
    assert_eq!(say(&mut served, 2, &Word::Introduce(ClientId(7))), Some(Reply::Resumes(Span(100))));
    assert_ne!(served.clients.get(ClientId(7)).map(|client| client.place), first, "it is another one");
    assert_eq!(served.counts(), (1, 0, 0));
}

#[test]
fn one_client_too_many_is_known_by_its_link() {
    let mut served = served();
    (1..=3).for_each(|node| introduced(&mut served, node, node.into()));
    give(&mut served, 0, Input::Peer(at(4), &up()));
    assert_eq!(say(&mut served, 4, &Word::Introduce(ClientId(4))), Some(Reply::Unknown));
    ask(&mut served, 4, 1, 1);
    assert_eq!(answers(&ask(&mut served, 4, 2, 1)), [(4, 1, 2), (4, 2, 2)]);
    give(&mut served, 0, Input::Peer(at(4), &DIED));
    assert_eq!(served.inner().gone, 1);
    let without = ResumeLimits { window: Span::ZERO, ..limits() };
    let mut served = Served::new(without, Pairs::default());
    give(&mut served, 0, Input::Peer(at(1), &up()));
    assert_eq!(say(&mut served, 1, &Word::Introduce(ClientId(1))), Some(Reply::Unknown));
}

#[test]
fn each_client_has_an_address_of_its_own_that_is_not_given_again_at_once() {
    let mut served = served();
    introduced(&mut served, 1, 7);
    let first = served.clients.get(ClientId(7)).map(|client| client.place);
    give(&mut served, 0, Input::Peer(at(1), &PeerChange::Down(DownCause::Closed)));
    introduced(&mut served, 1, 8);
    assert_ne!(served.clients.get(ClientId(8)).map(|client| client.place), first);
    assert!(first.is_some_and(|place| place.node.0 != 0), "0 is the service's own node");
}

#[test]
fn what_is_longer_than_a_client_takes_is_refused_to_the_service() {
    let mut served = served();
    let link = LinkInfo { max_bulk_bytes: 99, ..LinkInfo::new(LinkClass::Machine, 0) };
    give(&mut served, 0, Input::Peer(at(1), &PeerChange::Up { incarnation: Incarnation(1), link }));
    say(&mut served, 1, &Word::Introduce(ClientId(7)));
    assert!(give(&mut served, 0, Input::Frame(at(1), Frame::new(TELL, Token(1), &[]))).is_empty());
    introduced(&mut served, 2, 8);
    let told = give(&mut served, 0, Input::Frame(at(2), Frame::new(TELL, Token(1), &[])));
    assert!(matches!(&told[..], [(to, frame)] if *to == at(2) && frame.bulk.len() == 100));
}

#[derive(Clone, Debug)]
enum Step {
    Up(u16),
    Down(u16, bool),
    Introduce(u16, u8),
    Resume(u16, u8),
    Received(u16, u8),
    Ask(u16, u8, u8),
    Pass(u8),
}

fn step() -> impl Strategy<Value = Step> {
    let node = 1u16..5;
    prop_oneof![
        2 => node.clone().prop_map(Step::Up),
        1 => (node.clone(), any::<bool>()).prop_map(|(at, died)| Step::Down(at, died)),
        2 => (node.clone(), 0u8..5).prop_map(|(at, id)| Step::Introduce(at, id)),
        2 => (node.clone(), 0u8..5).prop_map(|(at, id)| Step::Resume(at, id)),
        1 => (node.clone(), any::<u8>()).prop_map(|(at, token)| Step::Received(at, token % 9)),
        6 => (node, 0u8..9, 0u8..9).prop_map(|(at, token, settled)| Step::Ask(at, token, settled)),
        1 => any::<u8>().prop_map(Step::Pass),
    ]
}

fn effects(served: &mut Served, now: u64, step: &Step) -> Vec<Effect> {
    let mut effects = Effects::default();
    let (word, body);
    let input = match *step {
        Step::Up(node) => Input::Peer(at(node), &up()),
        Step::Down(node, true) => Input::Peer(at(node), &DIED),
        Step::Down(node, false) => Input::Peer(at(node), &PeerChange::Down(DownCause::Closed)),
        Step::Introduce(node, id) => {
            word = encode_to_vec(&Word::Introduce(ClientId(id.into())));
            Input::Frame(at(node), Frame::new(Words::WORD, Token(u64::MAX), &word))
        }
        Step::Resume(node, id) => {
            word = encode_to_vec(&Word::Resume(ClientId(id.into())));
            Input::Frame(at(node), Frame::new(Words::WORD, Token(u64::MAX), &word))
        }
        Step::Received(node, token) => {
            word = encode_to_vec(&Word::Received(vec![Token(token.into())]));
            Input::Frame(at(node), Frame::new(Words::WORD, Token(u64::MAX), &word))
        }
        Step::Ask(node, token, settled) => {
            body = u64::from(settled).to_le_bytes();
            Input::Frame(at(node), Frame::new(ASK, Token(token.into()), &body))
        }
        Step::Pass(_) => Input::Wake,
    };
    served.handle(Time(now), input, &mut effects);
    effects.drain().collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn who_is_moved_before_every_input_does_the_same(steps in proptest::collection::vec(step(), 0..60)) {
        let config = ResumedConfig { limits: limits(), inner: () };
        let (mut stays, mut moves, mut now) = (served(), served(), 0);
        for step in &steps {
            let mut bytes = Vec::new();
            moves.save(&mut bytes);
            moves = Served::restore(&config, &bytes).expect("its own bytes");
            if let Step::Pass(span) = step {
                now += u64::from(*span);
            }
            prop_assert_eq!(effects(&mut stays, now, step), effects(&mut moves, now, step));
            prop_assert_eq!((stays.deadline(), stays.digest()), (moves.deadline(), moves.digest()));
            let (clients, away, kept) = stays.counts();
            prop_assert!(clients <= 3 && away <= clients && kept <= 3 * (400 + 2 * 72));
        }
    }

    #[test]
    fn bytes_that_were_changed_are_refused_or_bring_clients_that_agree(
        steps in proptest::collection::vec(step(), 0..40), at: prop::sample::Index, byte: u8
    ) {
        let mut served = served();
        steps.iter().for_each(|step| drop(effects(&mut served, 0, step)));
        let mut bytes = Vec::new();
        served.save(&mut bytes);
        let at = at.index(bytes.len());
        bytes[at] = byte;
        crate::fuzzing::snapshot::<Pairs, Words>(&bytes, &ResumedConfig { limits: limits(), inner: () });
    }
}

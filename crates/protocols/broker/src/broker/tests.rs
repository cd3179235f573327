mod limits;

use super::*;
use crate::fuzzing;
use proptest::prelude::*;
use quintet_contract::{DownCause, Effects};

const CALLER: Address = Address::new(1, 1025);
const OTHER: Address = Address::new(2, 1025);
const HANDLER: Address = Address::new(3, 1025);
const SECOND: Address = Address::new(4, 1025);
const LIMITS: HandlerLimits = HandlerLimits { max_request_bytes: 100, at_once: 2, waiting: 2 };

/// A broker, and the answers that it gave.
struct Bench {
    broker: Broker,
    now: Time,
    next: u64,
}

type Answers = Vec<(Address, Token, Answer)>;

impl Bench {
    fn new() -> Bench {
        Bench { broker: Broker::new(BrokerConfig::default()), now: Time(1000), next: 1 }
    }

    fn give(&mut self, input: Input<'_>) -> Answers {
        let mut out = Effects::default();
        self.broker.handle(self.now, input, &mut out);
        self.broker.verify();
        let frames = out.frames();
        let read =
            |frame: &quintet_contract::OwnedFrame| Answer::decode(frame.kind, &frame.body, &frame.bulk);
        frames.iter().map(|(to, frame)| (*to, frame.token, read(frame).expect("it can be read"))).collect()
    }

    fn ask(&mut self, from: Address, request: &Request) -> (Token, Answers) {
        let token = Token(self.next);
        self.next += 1;
        let mut out = Effects::default();
        request.send(&mut out, from, token).expect("there is room");
        let (_, frame) = out.frames().remove(0);
        (token, self.give(Input::Frame(from, frame.borrow())))
    }

    fn register(&mut self, from: Address, rank: Option<u32>) -> u64 {
        let (_, answers) = self.ask(from, &Request::Register { place: place(rank), limits: LIMITS });
        let [(_, _, Answer::Registered { handler })] = answers[..] else { panic!("{answers:?}") };
        handler
    }

    fn next(&mut self, from: Address, handler: u64) -> (Token, Answers) {
        self.ask(from, &Request::Next { handler, wait: None })
    }

    fn call(&mut self, from: Address, rank: Option<u32>) -> (Token, Answers) {
        self.ask(from, &call(rank, None))
    }

    fn reply(&mut self, from: Address, call: u64, handled: Handled) -> Answers {
        self.ask(from, &Request::Reply { call, handled }).1
    }

    fn down(&mut self, peer: Address) -> Answers {
        self.give(Input::Peer(peer, &PeerChange::Down(DownCause::Died)))
    }

    fn pass(&mut self, span: u64) -> Answers {
        self.now += Span(span);
        self.give(Input::Wake)
    }
}

fn place(rank: Option<u32>) -> Place {
    Place::new("store", rank).expect("it is a name")
}

fn call(rank: Option<u32>, wait: Option<Span>) -> Request {
    Request::Call { place: place(rank), wait, is_one_way: false, payload: Bytes::from_static(b"key") }
}

fn one_way() -> Request {
    Request::Call { place: place(None), wait: None, is_one_way: true, payload: Bytes::from_static(b"key") }
}

fn replied() -> Handled {
    Handled::Replied(Bytes::from_static(b"value"))
}

/// The call that the only answer, or the last one, hands out.
fn delivered(answers: &Answers) -> u64 {
    let Some((_, _, Answer::Delivered { call, .. })) = answers.last() else { panic!("{answers:?}") };
    *call
}

fn reason(answers: &Answers, to: Address, token: Token) -> Reason {
    let found = answers.iter().find(|(who, asked, _)| (*who, *asked) == (to, token));
    let Some((_, _, Answer::Error(refusal))) = found else { panic!("{answers:?}") };
    refusal.reason
}

#[test]
fn a_call_goes_to_its_handler_and_the_reply_to_its_caller() {
    let mut bench = Bench::new();
    let handler = bench.register(HANDLER, None);
    let (_, nothing) = bench.next(HANDLER, handler);
    assert_eq!(nothing, []);
    let (token, given) = bench.call(CALLER, None);
    assert!(matches!(&given[..], [(HANDLER, _, Answer::Delivered { payload, .. })] if payload == "key"));
    let ended = bench.reply(HANDLER, delivered(&given), replied());
    assert_eq!(ended.last(), Some(&(CALLER, token, Answer::Replied(Bytes::from_static(b"value")))));
    assert_eq!(bench.broker.size(), (0, 1));
}

#[test]
fn a_failure_has_the_words_of_the_handler() {
    let mut bench = Bench::new();
    let handler = bench.register(HANDLER, None);
    bench.next(HANDLER, handler);
    let (token, given) = bench.call(CALLER, None);
    let ended = bench.reply(HANDLER, delivered(&given), Handled::Failed("no such key".to_owned()));
    let refusal = Refusal::new(Reason::Failed, "no such key");
    assert_eq!(ended.last(), Some(&(CALLER, token, Answer::Error(refusal))));
}

#[test]
fn of_no_handler_a_caller_is_told_at_once_and_who_awaits_one_when_it_comes() {
    let mut bench = Bench::new();
    let (token, refused) = bench.call(CALLER, None);
    assert_eq!(reason(&refused, CALLER, token), Reason::NoHandler);
    let awaits = |rank| Request::Await { place: place(rank), wait: None };
    let (any, _) = bench.ask(CALLER, &awaits(None));
    let (ranked, _) = bench.ask(CALLER, &awaits(Some(2)));
    let (other, _) = bench.ask(CALLER, &awaits(Some(3)));
    let (_, told) = bench.ask(HANDLER, &Request::Register { place: place(Some(2)), limits: LIMITS });
    let told: Vec<Token> = told.iter().filter(|(to, ..)| *to == CALLER).map(|(_, token, _)| *token).collect();
    assert_eq!(told, [any, ranked]);
    assert_eq!(bench.ask(CALLER, &awaits(None)).1.len(), 1, "it is there");
    let (_, told) = bench.ask(SECOND, &Request::Register { place: place(Some(3)), limits: LIMITS });
    assert_eq!(told.last(), Some(&(CALLER, other, Answer::Done)));
    assert_eq!(bench.broker.peers.awaiting(&place(None)), []);
}

#[test]
fn a_rank_is_that_of_the_handlers_process() {
    let mut bench = Bench::new();
    let (zero, one) = (bench.register(HANDLER, Some(0)), bench.register(SECOND, Some(1)));
    bench.next(HANDLER, zero);
    bench.next(SECOND, one);
    let (_, given) = bench.call(CALLER, Some(1));
    assert_eq!(given[0].0, SECOND);
    let (token, refused) = bench.call(CALLER, Some(2));
    assert_eq!(reason(&refused, CALLER, token), Reason::NoHandler);
    let (_, waits) = bench.call(CALLER, Some(1));
    assert_eq!(waits, [], "and no other one takes it");
    assert_eq!(bench.call(CALLER, None).1[0].0, HANDLER);
}

#[test]
fn a_rank_is_that_of_the_newest_process_there_and_of_the_one_before_once_that_has_gone() {
    for leaves in [false, true] {
        let mut bench = Bench::new();
        let before = bench.register(HANDLER, Some(1));
        bench.next(HANDLER, before);
        let newest = bench.register(SECOND, Some(1));
        bench.next(SECOND, newest);
        assert_eq!(bench.call(CALLER, Some(1)).1[0].0, SECOND);
        let (_, waits) = bench.call(CALLER, Some(1));
        assert_eq!(waits, [], "the earlier process may have ended");
        let told = if leaves {
            bench.ask(SECOND, &Request::Leave { handler: newest }).1
        } else {
            bench.down(SECOND)
        };
        let given = told.iter().find(|(_, _, answer)| matches!(answer, Answer::Delivered { .. }));
        assert_eq!(given.map(|(to, ..)| *to), Some(HANDLER), "{told:?}");
        bench.next(HANDLER, before);
        assert_eq!(bench.call(CALLER, None).1[0].0, HANDLER);
    }
}

#[test]
fn calls_are_handed_out_in_their_order_and_to_who_has_waited_longest() {
    let mut bench = Bench::new();
    let (first, second) = (bench.register(HANDLER, Some(0)), bench.register(SECOND, None));
    let early = bench.call(CALLER, None).0;
    bench.call(CALLER, Some(0));
    let given = delivered(&bench.next(HANDLER, first).1);
    assert_eq!(bench.broker.calls.get(given).and_then(|call| call.caller), Some((CALLER, early)));
    bench.next(SECOND, second);
    assert_eq!(bench.next(HANDLER, first).1[0].0, HANDLER, "that for its rank");
    bench.reply(HANDLER, given, replied());
    bench.next(HANDLER, first);
    assert_eq!(bench.call(OTHER, None).1[0].0, SECOND);
    assert_eq!(bench.call(OTHER, None).1[0].0, HANDLER);
}

#[test]
fn a_handler_has_no_more_calls_at_once_than_it_says() {
    let mut bench = Bench::new();
    let handler = bench.register(HANDLER, None);
    let calls: Vec<Answers> = (0..3).map(|_| bench.call(CALLER, None).1).take(2).collect();
    assert!(calls.iter().all(Vec::is_empty));
    let given = delivered(&bench.next(HANDLER, handler).1);
    bench.next(HANDLER, handler);
    bench.call(CALLER, None);
    assert_eq!(bench.next(HANDLER, handler).1, [], "two were given");
    let next = bench.reply(HANDLER, given, replied());
    assert!(next.iter().any(|(_, _, answer)| matches!(answer, Answer::Delivered { .. })), "{next:?}");
}

#[test]
fn handlers_of_one_name_take_the_same() {
    let mut bench = Bench::new();
    bench.register(HANDLER, None);
    let limits = HandlerLimits { waiting: 3, ..LIMITS };
    let (token, refused) = bench.ask(SECOND, &Request::Register { place: place(Some(1)), limits });
    assert_eq!(reason(&refused, SECOND, token), Reason::BadRequest);
    bench.down(HANDLER);
    let (_, taken) = bench.ask(SECOND, &Request::Register { place: place(Some(1)), limits });
    assert!(matches!(taken[..], [(_, _, Answer::Registered { .. })]));
}

#[test]
fn of_a_handler_that_dies_what_it_had_begun_fails_and_the_rest_goes_to_others() {
    let mut bench = Bench::new();
    let (first, second) = (bench.register(HANDLER, Some(0)), bench.register(SECOND, None));
    bench.next(HANDLER, first);
    let (begun, _) = bench.call(CALLER, None);
    let (ranked, _) = bench.call(CALLER, Some(0));
    let (waiting, _) = bench.call(CALLER, None);
    let told = bench.down(HANDLER);
    assert_eq!(reason(&told, CALLER, begun), Reason::Died);
    assert_eq!(reason(&told, CALLER, ranked), Reason::NoHandler);
    assert_eq!(told.len(), 2);
    let given = delivered(&bench.next(SECOND, second).1);
    assert_eq!(bench.broker.calls.get(given).and_then(|call| call.caller), Some((CALLER, waiting)));
    let told = bench.down(SECOND);
    assert_eq!(reason(&told, CALLER, waiting), Reason::Died);
    assert_eq!(bench.broker.size(), (0, 0));
}

#[test]
fn of_a_caller_that_dies_nothing_is_begun_and_what_was_is_not_answered() {
    let mut bench = Bench::new();
    let handler = bench.register(HANDLER, None);
    bench.next(HANDLER, handler);
    let given = delivered(&bench.call(CALLER, None).1);
    bench.call(CALLER, None);
    bench.ask(CALLER, &one_way());
    bench.down(CALLER);
    let answers = bench.reply(HANDLER, given, replied());
    assert!(matches!(answers[..], [(HANDLER, _, Answer::Done)]));
    let (_, given) = bench.next(HANDLER, handler);
    assert!(matches!(given[..], [(_, _, Answer::Delivered { is_one_way: true, .. })]), "it was accepted");
    bench.reply(HANDLER, delivered(&given), replied());
    assert_eq!(bench.broker.size(), (0, 1));
}

#[test]
fn a_deadline_ends_a_call_that_waits_and_one_that_is_handled() {
    let mut bench = Bench::new();
    let handler = bench.register(HANDLER, None);
    bench.next(HANDLER, handler);
    let (handled, given) = bench.ask(CALLER, &call(None, Some(Span(10))));
    let Some((_, _, Answer::Delivered { wait: Some(Span(10)), .. })) = given.last() else {
        panic!("{given:?}")
    };
    let (waiting, _) = bench.ask(CALLER, &call(None, Some(Span(20))));
    assert_eq!(bench.broker.deadline(), Some(Time(1010)));
    assert_eq!(reason(&bench.pass(10), CALLER, handled), Reason::TimedOut);
    assert_eq!(reason(&bench.pass(10), CALLER, waiting), Reason::TimedOut);
    assert_eq!((bench.broker.deadline(), bench.broker.size()), (None, (1, 1)));
    let late = bench.reply(HANDLER, delivered(&given), replied());
    assert!(matches!(late[..], [(HANDLER, _, Answer::Done)]), "nobody waits for it");
    assert_eq!(bench.broker.size(), (0, 1));
}

#[test]
fn a_handler_waits_for_a_call_as_long_as_it_says() {
    let mut bench = Bench::new();
    let handler = bench.register(HANDLER, None);
    let (token, _) = bench.ask(HANDLER, &Request::Next { handler, wait: Some(Span(5)) });
    assert_eq!(reason(&bench.pass(5), HANDLER, token), Reason::TimedOut);
    assert_eq!(bench.call(CALLER, None).1, [], "it is not handed to who asks no more");
}

#[test]
fn what_is_cancelled_is_answered_once_and_not_begun() {
    let mut bench = Bench::new();
    let handler = bench.register(HANDLER, None);
    let (token, _) = bench.call(CALLER, None);
    let cancel = |token| Input::Frame(CALLER, Frame::new(CANCEL, token, b""));
    assert_eq!(reason(&bench.give(cancel(token)), CALLER, token), Reason::Cancelled);
    assert_eq!(bench.give(cancel(token)), []);
    let (next, nothing) = bench.next(HANDLER, handler);
    assert_eq!(nothing, []);
    let told = bench.give(Input::Frame(HANDLER, Frame::new(CANCEL, next, b"")));
    assert_eq!(reason(&told, HANDLER, next), Reason::Cancelled);
    assert_eq!(bench.broker.size(), (0, 1));
}

#[test]
fn who_leaves_waits_for_no_call_and_may_still_reply() {
    let mut bench = Bench::new();
    let handler = bench.register(HANDLER, None);
    bench.next(HANDLER, handler);
    let (begun, given) = bench.call(CALLER, None);
    let (idle, _) = bench.next(HANDLER, handler);
    let (leave, told) = bench.ask(HANDLER, &Request::Leave { handler });
    assert_eq!(reason(&told, HANDLER, idle), Reason::Cancelled);
    assert_eq!(told.last(), Some(&(HANDLER, leave, Answer::Done)));
    let (token, refused) = bench.call(CALLER, None);
    assert_eq!(reason(&refused, CALLER, token), Reason::NoHandler);
    let ended = bench.reply(HANDLER, delivered(&given), replied());
    assert_eq!(ended.last(), Some(&(CALLER, begun, Answer::Replied(Bytes::from_static(b"value")))));
}

#[test]
fn what_is_given_back_keeps_its_turn() {
    let mut bench = Bench::new();
    let (first, second) = (bench.register(HANDLER, None), bench.register(SECOND, None));
    bench.next(HANDLER, first);
    let given = delivered(&bench.call(CALLER, None).1);
    bench.call(CALLER, None);
    assert_eq!(bench.reply(HANDLER, given, Handled::GivenBack).len(), 1);
    assert_eq!(delivered(&bench.next(SECOND, second).1), given);
    bench.down(HANDLER);
    bench.ask(SECOND, &Request::Leave { handler: second });
    let refused = bench.reply(SECOND, given, Handled::GivenBack);
    assert!(matches!(&refused[1].2, Answer::Error(refusal) if refusal.reason == Reason::NoHandler));
}

#[test]
fn who_was_not_given_a_call_does_not_end_it() {
    let mut bench = Bench::new();
    let handler = bench.register(HANDLER, None);
    bench.next(HANDLER, handler);
    let given = delivered(&bench.call(CALLER, None).1);
    for handled in [replied(), Handled::GivenBack] {
        let (token, refused) = bench.ask(SECOND, &Request::Reply { call: given, handled });
        assert_eq!(reason(&refused, SECOND, token), Reason::BadRequest);
    }
    let (token, refused) = bench.next(SECOND, handler);
    assert_eq!(reason(&refused, SECOND, token), Reason::BadRequest);
    let (token, refused) = bench.ask(SECOND, &Request::Leave { handler });
    assert_eq!(reason(&refused, SECOND, token), Reason::BadRequest);
    assert_eq!(bench.reply(HANDLER, given, replied()).len(), 2);
}

#[test]
fn a_peer_has_no_more_handlers_than_are_let() {
    let mut bench = Bench::new();
    for _ in 0..MAX_HANDLERS_OF_PEER {
        bench.register(HANDLER, None);
    }
    let (token, refused) = bench.ask(HANDLER, &Request::Register { place: place(None), limits: LIMITS });
    assert_eq!(reason(&refused, HANDLER, token), Reason::Busy);
    bench.register(SECOND, None);
}

/// A link that has no room, or only for so large a bulk, and leads to somebody no more.
struct Narrow {
    effects: Effects,
    gone: Option<Address>,
    is_full: bool,
    bulk: usize,
}

impl Outbox for Narrow {
    fn begin(
        &mut self,
        to: Address,
        kind: quintet_contract::Kind,
        token: Token,
        at_most: usize,
    ) -> Result<&mut [u8], SendError> {
        if self.gone == Some(to) {
            return Err(SendError::Unreachable);
        }
        if self.is_full { Err(SendError::Full) } else { self.effects.begin(to, kind, token, at_most) }
    }

    fn commit(&mut self, len: usize) {
        self.effects.commit(len);
    }

    fn send_bulk(
        &mut self,
        to: Address,
        kind: quintet_contract::Kind,
        token: Token,
        head: &[u8],
        bulk: Bytes,
    ) -> Result<(), SendError> {
        if self.is_full {
            return Err(SendError::Full);
        }
        if bulk.len() > self.bulk {
            return Err(SendError::TooLong { len: bulk.len(), limit: self.bulk });
        }
        self.effects.send_bulk(to, kind, token, head, bulk)
    }

    fn disconnect(&mut self, _: Address, _: quintet_contract::Disconnect) {}
}

#[test]
fn an_answer_waits_for_room_in_the_link() {
    let mut bench = Bench::new();
    let mut narrow = Narrow { effects: Effects::default(), gone: None, is_full: true, bulk: 0 };
    let (token, mut effects) = (Token(9), Effects::default());
    Request::Register { place: place(None), limits: LIMITS }.send(&mut effects, HANDLER, token).unwrap();
    let (_, frame) = effects.frames().remove(0);
    bench.broker.handle(bench.now, Input::Frame(HANDLER, frame.borrow()), &mut narrow);
    narrow.is_full = false;
    assert!(narrow.effects.frames().is_empty());
    bench.broker.handle(bench.now, Input::Writable(HANDLER), &mut narrow);
    bench.broker.handle(bench.now, Input::Writable(HANDLER), &mut narrow);
    assert!(matches!(&narrow.effects.frames()[..], [(HANDLER, frame)] if frame.token == token), "once");
}

#[test]
fn a_reply_that_waited_for_room_and_is_too_large_for_the_link_fails_its_call() {
    let mut bench = Bench::new();
    let handler = bench.register(HANDLER, None);
    bench.next(HANDLER, handler);
    let (token, given) = bench.call(CALLER, None);
    let reply =
        Request::Reply { call: delivered(&given), handled: Handled::Replied(Bytes::from(vec![0; 6000])) };
    let mut effects = Effects::default();
    reply.send(&mut effects, HANDLER, Token(77)).unwrap();
    let (_, frame) = effects.frames().remove(0);
    let mut narrow = Narrow { effects: Effects::default(), gone: None, is_full: true, bulk: 5000 };
    bench.broker.handle(bench.now, Input::Frame(HANDLER, frame.borrow()), &mut narrow);
    narrow.is_full = false;
    bench.broker.handle(bench.now, Input::Writable(CALLER), &mut narrow);
    bench.broker.verify();
    let (to, frame) = narrow.effects.frames().remove(0);
    let answer = Answer::decode(frame.kind, &frame.body, &frame.bulk).unwrap();
    assert_eq!(reason(&vec![(to, frame.token, answer)], CALLER, token), Reason::TooLarge);
}

#[test]
fn what_a_link_cannot_carry_fails_as_too_large() {
    let mut bench = Bench::new();
    let limits = HandlerLimits { max_request_bytes: 1 << 20, ..LIMITS };
    let (_, answers) = bench.ask(HANDLER, &Request::Register { place: place(None), limits });
    let [(_, _, Answer::Registered { handler })] = answers[..] else { panic!("{answers:?}") };
    bench.next(HANDLER, handler);
    let mut narrow = Narrow { effects: Effects::default(), gone: None, is_full: false, bulk: 5000 };
    let payload = Bytes::from(vec![0; 6000]);
    let request = Request::Call { place: place(None), wait: None, is_one_way: false, payload };
    let mut effects = Effects::default();
    request.send(&mut effects, CALLER, Token(77)).unwrap();
    let (_, frame) = effects.frames().remove(0);
    bench.broker.handle(bench.now, Input::Frame(CALLER, frame.borrow()), &mut narrow);
    bench.broker.verify();
    let (to, frame) = narrow.effects.frames().remove(0);
    let answer = Answer::decode(frame.kind, &frame.body, &frame.bulk).unwrap();
    assert!(to == CALLER && matches!(answer, Answer::Error(refusal) if refusal.reason == Reason::TooLarge));
    assert_eq!(bench.call(CALLER, None).1[0].0, HANDLER, "the handler still waits");
}

#[test]
fn a_call_for_who_is_gone_already_goes_to_another_one() {
    let mut bench = Bench::new();
    for who in [HANDLER, SECOND] {
        let handler = bench.register(who, None);
        bench.next(who, handler);
    }
    let mut narrow = Narrow { effects: Effects::default(), gone: Some(HANDLER), is_full: false, bulk: 0 };
    let mut effects = Effects::default();
    call(None, None).send(&mut effects, CALLER, Token(77)).unwrap();
    let (_, frame) = effects.frames().remove(0);
    bench.broker.handle(bench.now, Input::Frame(CALLER, frame.borrow()), &mut narrow);
    assert!(narrow.effects.frames().is_empty());
    assert!(matches!(bench.down(HANDLER)[..], [(SECOND, _, Answer::Delivered { .. })]));
}

#[test]
fn the_kept_inputs_are_as_they_should_be() {
    fuzzing::seeds().iter().for_each(|(_, bytes)| fuzzing::drive(bytes));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    #[test]
    fn any_peers_are_answered_once_and_leave_nothing(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        fuzzing::drive(&bytes);
    }
}

use super::*;

const PEER: Address = Address::new(2, 16);
const OTHER: Address = Address::new(3, 16);
const LIMITS: Limits = Limits { slots: 4, bytes: 100, requests: 1, bulk: 10, budget: 10, fragments: 2 };

fn piece(incoming: &mut Incoming, bytes: &[u8]) -> bool {
    incoming.fragment(Frame::new(Kind(0x14), Token(0), bytes))
}

fn tokens(incoming: &mut Incoming) -> Vec<u64> {
    core::iter::from_fn(|| incoming.take()).map(|(frame, _)| frame.token.0).collect()
}

#[test]
fn frames_wait_behind_an_unfinished_message() {
    let mut incoming = Incoming::new(&LIMITS);
    incoming.announce(Kind(0xf0), Token(1), b"head", 3, Cost::Credit(4));
    incoming.hold(Frame::new(Kind(0xf0), Token(2), b"body"), Cost::Credit(4));
    assert!(incoming.can_grant());
    incoming.granted();
    assert!(piece(&mut incoming, b"ab") && tokens(&mut incoming).is_empty());
    assert!(piece(&mut incoming, b"c"));
    let (frame, cost) = incoming.take().expect("complete");
    assert_eq!((&frame.body[..], &frame.bulk[..], cost), (&b"head"[..], &b"abc"[..], Cost::Credit(4)));
    assert_eq!(incoming.take().map(|(frame, _)| frame.body), Some(Bytes::from_static(b"body")));
    assert_eq!(incoming.reserved(), 0);
}

#[test]
fn a_fragment_needs_a_grant_and_credit() {
    let mut incoming = Incoming::new(&LIMITS);
    assert!(!piece(&mut incoming, b"a"), "nothing was announced");
    let mut incoming = Incoming::new(&LIMITS);
    incoming.announce(Kind(0xf0), Token(1), b"", 5, Cost::Reserved);
    assert!(!piece(&mut incoming, b"a"), "not granted");
    let mut incoming = Incoming::new(&LIMITS);
    incoming.announce(Kind(0xf0), Token(1), b"", 5, Cost::Reserved);
    incoming.granted();
    assert!(piece(&mut incoming, b"a") && piece(&mut incoming, b"b") && !piece(&mut incoming, b"c"));
    incoming.reserve(PEER, &mut Budget::new(100));
    assert_eq!(incoming.due_fragments(), Some(2));
    incoming.proceeded(2);
    assert!(piece(&mut incoming, b"c"));
}

#[test]
fn grants_keep_to_the_budget_and_to_the_order() {
    let mut incoming = Incoming::new(&LIMITS);
    for (token, total) in [(1, 6), (2, 6), (3, 1)] {
        incoming.announce(Kind(0xf0), Token(token), b"", total, Cost::Reserved);
    }
    assert!(incoming.can_grant());
    incoming.granted();
    assert!(!incoming.can_grant(), "the second does not fit, and the third does not overtake it");
    assert!(piece(&mut incoming, b"123456"));
    assert_eq!(tokens(&mut incoming), [1]);
    assert!(incoming.can_grant());
}

#[test]
fn a_message_needs_room_once_it_has_begun_and_until_then_no_more_fragments_come() {
    let (mut incoming, mut all) = (Incoming::new(&LIMITS), Budget::new(100));
    all.reserve(OTHER, 100);
    incoming.announce(Kind(0xf0), Token(1), b"", 5, Cost::Reserved);
    incoming.granted();
    incoming.reserve(PEER, &mut all);
    assert!(!incoming.awaits_room(), "it may never come");
    assert!(piece(&mut incoming, b"a") && incoming.awaits_room());
    incoming.reserve(PEER, &mut all);
    assert_eq!((incoming.shared().total(), incoming.due_fragments()), (0, None));
    let mut released = Reserved::default();
    *released.of(Length::Long) = 100;
    all.release(released);
    incoming.reserve(PEER, &mut all);
    assert_eq!((incoming.shared().total(), incoming.due_fragments()), (5, Some(1)));
}

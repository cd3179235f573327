//! Several messages in one frame.

use crate::network::talker::{ANSWER, ONE_WAY, REQUEST, Talker};
use crate::{A, B, C, class, message, messages};
use quintet_contract::{
    Address, Bytes, Disconnect, Effect, Effects, Frame, Incarnation, Input, Kind, LinkClass, LinkInfo,
    Outbox, OwnedFrame, PeerChange, Protocol, SendError, Time, Token,
};
use quintet_messaging::{Messages, MessagingConfig, OPEN, PACK, REFUSED};

/// An outbox that can be full, and notes which frames are to be stamped.
#[derive(Default)]
struct Narrow {
    effects: Effects,
    is_full: bool,
    stamped: Vec<bool>,
}

impl Outbox for Narrow {
    fn begin(
        &mut self,
        to: Address,
        kind: Kind,
        token: Token,
        at_most: usize,
    ) -> Result<&mut [u8], SendError> {
        if self.is_full {
            return Err(SendError::Full);
        }
        self.stamped.push(false);
        self.effects.begin(to, kind, token, at_most)
    }

    fn commit(&mut self, len: usize) {
        self.effects.commit(len);
    }

    fn stamp(&mut self) {
        *self.stamped.last_mut().expect("a frame was begun") = true;
    }

    fn send_bulk(
        &mut self,
        to: Address,
        kind: Kind,
        token: Token,
        head: &[u8],
        bulk: Bytes,
    ) -> Result<(), SendError> {
        if self.is_full {
            return Err(SendError::Full);
        }
        self.stamped.push(false);
        self.effects.send_bulk(to, kind, token, head, bulk)
    }

    fn disconnect(&mut self, peer: Address, how: Disconnect) {
        self.effects.disconnect(peer, how);
    }
}

/// A layer at A, or B, that knows the other.
struct Side {
    at: Address,
    other: Address,
    layer: Messages<Talker>,
    out: Narrow,
}

impl Side {
    fn give(&mut self, now: Time, frames: &[OwnedFrame]) {
        for frame in frames {
            self.layer.handle(now, Input::Frame(self.other, frame.borrow()), &mut self.out);
        }
    }

    /// Has the talker say something.
    fn say(&mut self, now: Time, frames: &[OwnedFrame]) {
        frames.iter().for_each(|frame| self.layer.inner_mut().say(self.other, frame.clone()));
        let within = Address::new(self.at.node.0, 1);
        self.layer.handle(now, Input::Frame(within, Frame::new(ONE_WAY, Token(0), b"")), &mut self.out);
    }

    fn end_burst(&mut self, now: Time) {
        assert_eq!(self.layer.deadline(), Some(now), "it is to be told of the end of the burst");
        self.layer.handle(now, Input::Wake, &mut self.out);
        assert_eq!(self.layer.deadline(), None, "once");
    }

    fn sent(&mut self) -> Vec<OwnedFrame> {
        self.out.effects.frames().into_iter().map(|(_, frame)| frame).collect()
    }
}

const UP: PeerChange =
    PeerChange::Up { incarnation: Incarnation(1), link: LinkInfo::new(LinkClass::Machine, 64_000) };

fn sides() -> (Side, Side) {
    let side = |at, other| Side { at, other, layer: messages(at, |_| {}), out: Narrow::default() };
    let (mut a, mut b) = (side(A, B), side(B, A));
    a.layer.handle(Time(1), Input::Peer(B, &UP), &mut a.out);
    b.layer.handle(Time(1), Input::Peer(A, &UP), &mut b.out);
    let (from_a, from_b) = (a.sent(), b.sent());
    a.give(Time(1), &from_b);
    b.give(Time(1), &from_a);
    assert!([&from_a, &from_b].iter().all(|sent| kinds(sent) == [OPEN]));
    (a, b)
}

fn kinds(frames: &[OwnedFrame]) -> Vec<Kind> {
    frames.iter().map(|frame| frame.kind).collect()
}

fn small(kind: Kind, token: u64) -> OwnedFrame {
    message(kind, token, &vec![token as u8; 10 + token as usize], Bytes::new())
}

fn large(token: u64) -> OwnedFrame {
    message(ONE_WAY, token, b"head", Bytes::from(vec![7; 3000]))
}

#[test]
fn the_first_of_a_burst_goes_at_once_and_the_others_together() {
    let (mut a, mut b) = sides();
    let said: Vec<_> = (0..20).map(|token| small(ONE_WAY, token)).collect();
    a.say(Time(5), &said);
    let first = a.sent();
    assert_eq!(kinds(&first), [ONE_WAY]);
    a.end_burst(Time(5));
    let others = a.sent();
    assert_eq!(kinds(&others), [PACK]);
    assert_eq!((a.layer.counters().sent, a.layer.counters().packed), (20, 19));
    b.give(Time(6), &first);
    b.give(Time(6), &others);
    assert_eq!(b.layer.inner().from(A), said);
    let credit = b.layer.credit(A).expect("it is up");
    assert_eq!(credit.owed_slots, 20, "each has taken credit of its own");
}

#[test]
fn in_another_burst_the_first_goes_at_once_again() {
    let (mut a, _) = sides();
    for now in [Time(5), Time(6)] {
        a.say(now, &[small(ONE_WAY, 1)]);
        assert_eq!(kinds(&a.sent()), [ONE_WAY]);
        assert_eq!(a.layer.deadline(), None, "nothing waits for the end of the burst");
    }
}

#[test]
fn the_only_one_that_follows_goes_as_it_would_go_alone() {
    let (mut a, mut b) = sides();
    let said = [small(ONE_WAY, 1), small(REQUEST, 2)];
    a.say(Time(5), &said);
    a.end_burst(Time(5));
    let sent = a.sent();
    assert_eq!(kinds(&sent), [ONE_WAY, REQUEST]);
    b.give(Time(6), &sent);
    assert_eq!(b.layer.inner().from(A), said);
}

#[test]
fn answers_of_a_burst_are_packed_as_answers() {
    let (mut a, mut b) = sides();
    a.say(Time(5), &[small(REQUEST, 1), small(REQUEST, 2), small(REQUEST, 3)]);
    a.end_burst(Time(5));
    b.give(Time(6), &a.sent());
    b.end_burst(Time(6));
    let answers = b.sent();
    assert_eq!(kinds(&answers), [ANSWER, PACK]);
    a.give(Time(7), &answers);
    assert_eq!(a.layer.inner().from(B), [small(ANSWER, 1), small(ANSWER, 2), small(ANSWER, 3)]);
    let credit = a.layer.credit(B).expect("it is up");
    assert_eq!((credit.awaiting, credit.owed_slots), (0, 0), "in the room of their requests");
    let window = a.layer.credit(B).map(|credit| credit.slots);
    assert_eq!(
        window,
        Some(MessagingConfig::new(A, class).window_slots),
        "their credit came back on the way"
    );
}

#[test]
fn what_goes_alone_goes_behind_what_gathered() {
    let (mut a, mut b) = sides();
    let long = message(ONE_WAY, 9, &[1; 5000], Bytes::new());
    let said = [small(ONE_WAY, 0), small(ONE_WAY, 1), small(ONE_WAY, 2), large(3), small(ONE_WAY, 4), long];
    a.say(Time(5), &said);
    let sent = a.sent();
    assert_eq!(kinds(&sent), [ONE_WAY, PACK, ONE_WAY, ONE_WAY, ONE_WAY], "the fifth had no company");
    b.give(Time(6), &sent);
    assert_eq!(b.layer.inner().from(A), said);
}

#[test]
fn a_pack_is_sent_when_it_is_full() {
    let (mut a, mut b) = sides();
    let said: Vec<_> =
        (0..30).map(|token| message(ONE_WAY, token, &[token as u8; 1000], Bytes::new())).collect();
    a.say(Time(5), &said);
    a.end_burst(Time(5));
    let sent = a.sent();
    assert!(sent.iter().all(|frame| frame.body.len() <= 4096), "packs are 4 KiB at most");
    assert_eq!(sent.len(), 1 + 8, "four to a pack, and one that stayed alone");
    b.give(Time(6), &sent);
    assert_eq!(b.layer.inner().from(A), said);
}

#[test]
fn what_the_link_has_no_room_for_waits_and_what_comes_later_goes_behind_it() {
    let (mut a, mut b) = sides();
    a.say(Time(5), &[small(REQUEST, 1)]);
    b.say(Time(5), &[small(REQUEST, 1)]);
    let (request, mut sent) = (a.sent(), b.sent());
    b.say(Time(5), &[small(ONE_WAY, 2), small(ONE_WAY, 3)]);
    b.out.is_full = true;
    b.end_burst(Time(5));
    b.give(Time(5), &request);
    b.say(Time(6), &[large(4)]);
    assert_eq!(b.sent(), []);
    assert!(!b.layer.inner().has_said_all(), "what goes alone has to wait");
    b.out.is_full = false;
    b.layer.handle(Time(7), Input::Writable(A), &mut b.out);
    sent.extend(b.sent());
    a.give(Time(8), &sent);
    let heard: Vec<u64> = a.layer.inner().from(B).iter().map(|frame| frame.token.0).collect();
    assert_eq!(heard, [1, 2, 3, 1, 4], "the answer to 1 came before the large one");
}

#[test]
fn peers_do_not_share_packs() {
    let (mut a, _) = sides();
    a.layer.handle(Time(2), Input::Peer(C, &UP), &mut a.out);
    let opened = a.sent();
    a.layer.handle(Time(2), Input::Frame(C, opened[0].borrow()), &mut a.out);
    for peer in [B, C] {
        (0..3).for_each(|token| a.layer.inner_mut().say(peer, small(ONE_WAY, token)));
    }
    a.say(Time(5), &[]);
    a.end_burst(Time(5));
    let sent: Vec<_> = a.out.effects.frames().into_iter().map(|(to, frame)| (to.node, frame.kind)).collect();
    assert_eq!(sent, [(B.node, ONE_WAY), (C.node, ONE_WAY), (B.node, PACK), (C.node, PACK)]);
}

/// Asks for stamps for everything, or answers each message and closes the link at its second.
struct Other {
    heard: u32,
    closes: bool,
}

impl Protocol for Other {
    fn handle(&mut self, _now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        let Input::Frame(from, frame) = input else { return };
        if from.node == A.node {
            for token in 0..3 {
                out.begin(B, ONE_WAY, Token(token), 0).expect("there is room and credit");
                if token == 2 {
                    out.stamp();
                }
                out.commit(0);
            }
            return;
        }
        assert_eq!(frame.kind, ONE_WAY);
        self.heard += 1;
        out.send(from, ONE_WAY, frame.token, b"").expect("there is room and credit");
        if self.closes && self.heard == 2 {
            out.disconnect(from, Disconnect::ForGood);
        }
    }

    fn deadline(&self) -> Option<Time> {
        None
    }
}

fn other(closes: bool) -> (Messages<Other>, Narrow) {
    let mut layer = Messages::new(MessagingConfig::new(A, class), Other { heard: 0, closes });
    let mut out = Narrow::default();
    layer.handle(Time(1), Input::Peer(B, &UP), &mut out);
    let open = out.effects.frames().remove(0).1;
    layer.handle(Time(1), Input::Frame(B, open.borrow()), &mut out);
    (layer, out)
}

#[test]
fn a_pack_is_stamped_if_one_of_its_messages_asks_for_that() {
    let (mut layer, mut out) = other(false);
    out.stamped.clear();
    layer.handle(
        Time(2),
        Input::Frame(Address::new(A.node.0, 1), Frame::new(ONE_WAY, Token(0), b"")),
        &mut out,
    );
    layer.handle(Time(2), Input::Wake, &mut out);
    assert_eq!(out.stamped, [false, true]);
}

#[test]
fn nothing_of_a_pack_is_shown_after_the_link_was_to_be_closed() {
    let (mut a, _) = sides();
    a.say(Time(5), &[small(ONE_WAY, 1), small(ONE_WAY, 2), small(ONE_WAY, 3), small(ONE_WAY, 4)]);
    a.end_burst(Time(5));
    let (mut layer, mut out) = other(true);
    for frame in a.sent() {
        layer.handle(Time(6), Input::Frame(B, frame.borrow()), &mut out);
    }
    assert_eq!(layer.inner().heard, 2);
}

/// The kinds of what was sent, and None for the end of the link.
fn told(out: &mut Narrow) -> Vec<Option<Kind>> {
    let kind = |effect| match effect {
        Effect::Sent(_, frame) => Some(frame.kind),
        _ => None,
    };
    out.effects.drain().map(kind).collect()
}

#[test]
fn what_gathered_goes_before_the_link_is_closed() {
    let (mut a, _) = sides();
    a.say(Time(5), &[small(ONE_WAY, 1), small(ONE_WAY, 2)]);
    a.end_burst(Time(5));
    let (mut layer, mut out) = other(true);
    for frame in a.sent() {
        layer.handle(Time(6), Input::Frame(B, frame.borrow()), &mut out);
    }
    assert_eq!(told(&mut out), [Some(ONE_WAY), Some(ONE_WAY), None], "both answers, then the end");
}

#[test]
fn what_gathered_goes_before_the_peer_is_cut_off() {
    let (mut a, _) = sides();
    a.say(Time(5), &[small(ONE_WAY, 1), small(ONE_WAY, 2), small(ONE_WAY, 3)]);
    a.end_burst(Time(5));
    let mut sent = a.sent();
    sent[1].body = sent[1].body.slice(..sent[1].body.len() - 1);
    let (mut layer, mut out) = other(false);
    for frame in sent {
        layer.handle(Time(6), Input::Frame(B, frame.borrow()), &mut out);
    }
    assert_eq!(layer.inner().heard, 2);
    assert_eq!(told(&mut out), [Some(ONE_WAY), Some(ONE_WAY), Some(REFUSED), None]);
}

/// Says three words when it is woken, once.
struct Sleeper {
    until: Option<Time>,
}

impl Protocol for Sleeper {
    fn handle(&mut self, _now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        if matches!(input, Input::Wake) && self.until.take().is_some() {
            (0..3)
                .for_each(|token| out.send(B, ONE_WAY, Token(token), b"").expect("there is room and credit"));
        }
    }

    fn deadline(&self) -> Option<Time> {
        self.until
    }
}

#[test]
fn what_is_said_at_a_wake_goes_with_it() {
    let until = Some(Time(5));
    let mut layer = Messages::new(MessagingConfig::new(A, class), Sleeper { until });
    let mut out = Narrow::default();
    layer.handle(Time(1), Input::Peer(B, &UP), &mut out);
    let open = out.effects.frames().remove(0).1;
    layer.handle(Time(1), Input::Frame(B, open.borrow()), &mut out);
    layer.handle(Time(5), Input::Wake, &mut out);
    assert_eq!(told(&mut out), [Some(ONE_WAY), Some(PACK)]);
    assert_eq!(layer.deadline(), None, "no other wake is needed, before which the host may have ended");
}

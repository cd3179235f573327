use super::*;
use quintet_contract::{Bytes, Disconnect, Effects, Incarnation, LinkClass, LinkInfo};

const CALLERS: Address = Address::new(1, 1);
const SERVICE: Address = Address::new(2, 16);
const ASK: Kind = Kind(0xf0);
const UP: PeerChange =
    PeerChange::Up { incarnation: Incarnation(1), link: LinkInfo::new(LinkClass::Machine, 1 << 20) };

fn ask(relay: &mut Relay, token: u64, out: &mut Effects) {
    relay.handle(Time(0), Input::Frame(CALLERS, Frame::new(ASK, Token(token), b"?")), out);
}

fn tokens(out: &mut Effects) -> Vec<(Address, Kind, u64)> {
    out.frames().into_iter().map(|(to, frame)| (to, frame.kind, frame.token.0)).collect()
}

#[test]
fn requests_wait_for_the_session_and_keep_their_order() {
    let (mut relay, mut out) = (Relay::new(CALLERS, SERVICE, |_| Class::Request), Effects::default());
    ask(&mut relay, 1, &mut out);
    ask(&mut relay, 2, &mut out);
    assert_eq!(tokens(&mut out), []);
    relay.handle(Time(0), Input::Peer(SERVICE, &UP), &mut out);
    ask(&mut relay, 3, &mut out);
    assert_eq!(tokens(&mut out), [(SERVICE, ASK, 1), (SERVICE, ASK, 2), (SERVICE, ASK, 3)]);
}

const HURRY: Kind = Kind(0xf2);

fn hurry(relay: &mut Relay, token: u64, out: &mut dyn Outbox) {
    relay.handle(Time(0), Input::Frame(CALLERS, Frame::new(HURRY, Token(token), b"")), out);
}

fn class(kind: Kind) -> Class {
    if kind == HURRY { Class::Urgent } else { Class::Request }
}

/// A link on which no request finds credit, and nothing else either once `full`.
#[derive(Default)]
struct NoCredit {
    full: bool,
    sent: Effects,
}

impl Outbox for NoCredit {
    fn begin(
        &mut self,
        to: Address,
        kind: Kind,
        token: Token,
        at_most: usize,
    ) -> Result<&mut [u8], SendError> {
        if self.full || kind == ASK {
            return Err(SendError::Full);
        }
        self.sent.begin(to, kind, token, at_most)
    }

    fn commit(&mut self, len: usize) {
        self.sent.commit(len);
    }

    fn send_bulk(&mut self, _: Address, _: Kind, _: Token, _: &[u8], _: Bytes) -> Result<(), SendError> {
        Err(SendError::Full)
    }

    fn disconnect(&mut self, _: Address, _: Disconnect) {}
}

#[test]
fn what_is_urgent_passes_all_that_waits_but_its_own_request() {
    let (mut relay, mut out) = (Relay::new(CALLERS, SERVICE, class), NoCredit::default());
    relay.handle(Time(0), Input::Peer(SERVICE, &UP), &mut out);
    let request = |token| Input::Frame(CALLERS, Frame::new(ASK, Token(token), b"?"));
    relay.handle(Time(0), request(1), &mut out.sent);
    [2, 3].into_iter().for_each(|token| relay.handle(Time(0), request(token), &mut out));
    [0, 2, 1].into_iter().for_each(|token| hurry(&mut relay, token, &mut out));
    let (ask, hurried) = (|token| (SERVICE, ASK, token), |token| (SERVICE, HURRY, token));
    assert_eq!(tokens(&mut out.sent), [ask(1), hurried(0), hurried(1)]);
    out.full = true;
    hurry(&mut relay, 0, &mut out);
    relay.handle(Time(0), Input::Writable(SERVICE), &mut out);
    out.full = false;
    relay.handle(Time(0), Input::Writable(SERVICE), &mut out);
    assert_eq!(tokens(&mut out.sent), [hurried(0)], "as soon as there is any room");
    relay.handle(Time(0), Input::Writable(SERVICE), &mut out.sent);
    assert_eq!(tokens(&mut out.sent), [ask(2), hurried(2), ask(3)], "as soon as its request went");
    assert!(relay.behind.is_empty() && relay.urgent.is_empty());
}

#[test]
fn a_lost_service_answers_each_open_request_once() {
    let (mut relay, mut out) = (Relay::new(CALLERS, SERVICE, |_| Class::Request), Effects::default());
    relay.handle(Time(0), Input::Peer(SERVICE, &UP), &mut out);
    ask(&mut relay, 1, &mut out);
    ask(&mut relay, 2, &mut out);
    relay.handle(Time(0), Input::Frame(SERVICE, Frame::new(Kind(0xf1), Token(1), b"!")), &mut out);
    tokens(&mut out);
    let refused = DownCause::Refused(Code::WrongCluster as u16);
    relay.handle(Time(0), Input::Peer(SERVICE, &PeerChange::Down(refused)), &mut out);
    ask(&mut relay, 3, &mut out);
    let frames = out.frames();
    let failed: Vec<_> = frames.iter().map(|(to, f)| (*to, f.token.0, failure(f.kind, &f.body))).collect();
    assert_eq!(failed, [(CALLERS, 2, Some(Code::WrongCluster)), (CALLERS, 3, Some(Code::WrongCluster))]);
}

#[test]
fn what_strangers_send_or_suffer_concerns_nobody() {
    let (mut relay, mut out) = (Relay::new(CALLERS, SERVICE, |_| Class::Request), Effects::default());
    let stranger = Address::new(3, 16);
    ask(&mut relay, 1, &mut out);
    relay.handle(Time(0), Input::Peer(stranger, &UP), &mut out);
    assert_eq!(tokens(&mut out), [], "no session yet");
    relay.handle(Time(0), Input::Peer(SERVICE, &UP), &mut out);
    assert_eq!(tokens(&mut out), [(SERVICE, ASK, 1)]);
    let answer = |from| Input::Frame(from, Frame::new(Kind(0xf1), Token(1), b"!"));
    relay.handle(Time(0), answer(stranger), &mut out);
    relay.handle(Time(0), Input::Peer(stranger, &PeerChange::Down(DownCause::Died)), &mut out);
    assert_eq!(tokens(&mut out), []);
    relay.handle(Time(0), answer(SERVICE), &mut out);
    relay.handle(Time(0), answer(SERVICE), &mut out);
    assert_eq!(tokens(&mut out), [(CALLERS, Kind(0xf1), 1)], "once");
}

#[test]
fn a_service_that_comes_up_again_is_not_the_one_that_was_lost() {
    let (mut relay, mut out) = (Relay::new(CALLERS, SERVICE, |_| Class::Request), Effects::default());
    for change in [UP, PeerChange::Down(DownCause::Silent), UP] {
        relay.handle(Time(0), Input::Peer(SERVICE, &change), &mut out);
    }
    ask(&mut relay, 1, &mut out);
    let frames = out.frames();
    let failed: Vec<_> = frames.iter().map(|(to, f)| (*to, f.token.0, failure(f.kind, &f.body))).collect();
    assert_eq!(failed, [(CALLERS, 1, Some(Code::PeerSilent))]);
}

/// A link that takes nothing, for this reason.
struct Refusing(SendError, Effects);

impl Outbox for Refusing {
    fn begin(
        &mut self,
        to: Address,
        kind: Kind,
        token: Token,
        at_most: usize,
    ) -> Result<&mut [u8], SendError> {
        if to == SERVICE { Err(self.0) } else { self.1.begin(to, kind, token, at_most) }
    }

    fn commit(&mut self, len: usize) {
        self.1.commit(len);
    }

    fn send_bulk(&mut self, _: Address, _: Kind, _: Token, _: &[u8], _: Bytes) -> Result<(), SendError> {
        Err(self.0)
    }

    fn disconnect(&mut self, _: Address, _: Disconnect) {}
}

#[test]
fn a_request_that_can_never_go_fails_at_once_with_the_reason() {
    for (error, code) in [
        (SendError::TooLong { len: 2, limit: 1 }, Code::TooLarge),
        (SendError::Unreachable, Code::Unreachable),
    ] {
        let (mut relay, mut out) = (Relay::new(CALLERS, SERVICE, class), Refusing(error, Effects::default()));
        relay.handle(Time(0), Input::Peer(SERVICE, &UP), &mut out);
        relay.handle(Time(0), Input::Frame(CALLERS, Frame::new(ASK, Token(1), b"?")), &mut out);
        hurry(&mut relay, 2, &mut out);
        let frames = out.1.frames();
        let failed: Vec<_> =
            frames.iter().map(|(to, f)| (*to, f.token.0, failure(f.kind, &f.body))).collect();
        assert_eq!(failed, [(CALLERS, 1, Some(code))], "what has no answer has no failure");
        assert!(relay.open.is_empty() && relay.waiting.is_empty());
    }
}

#[test]
fn a_failure_is_read_from_its_kind_and_no_other() {
    let number = (Code::PeerDied as u16).to_le_bytes();
    assert_eq!(failure(CALL_FAILED, &number), Some(Code::PeerDied));
    assert_eq!(failure(CALL_FAILED, b"?"), Some(Code::Malformed));
    assert_eq!(failure(ASK, &number), None);
    let codes = [DownCause::Closed, DownCause::Died, DownCause::Silent, DownCause::Misbehaved].map(loss);
    assert_eq!(codes, [Code::PeerDied, Code::PeerDied, Code::PeerSilent, Code::Malformed]);
}

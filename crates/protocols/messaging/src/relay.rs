//! The calling side of a service on another node: passes the requests of this process on and the answers back.
//!
//! A request that finds no credit, or no session yet, waits here; its caller waits anyway. When the service is gone, each
//! unanswered request is answered with [`CALL_FAILED`], so that every request is answered exactly once, come what may.

use crate::codec::CALL_FAILED;
use crate::config::Class;
use foldhash::fast::FixedState;
use hashbrown::HashSet;
use quintet_contract::{
    Address, DownCause, Frame, Input, Kind, Outbox, OwnedFrame, PeerChange, Protocol, SendError, Time, Token,
};
use quintet_errors::Code;
use std::collections::VecDeque;

/// Relays between the callers of this node and one service.
pub struct Relay {
    callers: Address,
    service: Address,
    class: fn(Kind) -> Class,
    /// Frames that could not be passed on yet, oldest first.
    waiting: VecDeque<OwnedFrame>,
    /// Requests that were not answered yet. Their tokens are this process's own, so the hash needs no secret.
    open: HashSet<Token, FixedState>,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// No session yet.
    Connecting,
    Connected,
    /// The service is gone for good.
    Lost(Code),
}

impl Relay {
    /// Relays for `callers` to `service`. `class` tells which kinds are answered.
    #[must_use]
    pub fn new(callers: Address, service: Address, class: fn(Kind) -> Class) -> Self {
        let (waiting, open) = (VecDeque::new(), HashSet::with_hasher(FixedState::with_seed(0)));
        Relay { callers, service, class, waiting, open, state: State::Connecting }
    }

    fn request(&mut self, frame: Frame<'_>, out: &mut dyn Outbox) {
        let is_answered = (self.class)(frame.kind) == Class::Request;
        if let State::Lost(code) = self.state {
            if is_answered {
                self.fail(frame.token, code, out);
            }
            return;
        }
        if is_answered {
            self.open.insert(frame.token);
        }
        let must_wait = self.state == State::Connecting || !self.waiting.is_empty();
        if must_wait || !self.pass(frame, out) {
            self.waiting.push_back(frame.to_owned());
        }
    }

    /// Passes a frame on to the service. False if it must wait.
    fn pass(&mut self, frame: Frame<'_>, out: &mut dyn Outbox) -> bool {
        let code = match forward(frame, self.service, out) {
            Ok(()) => return true,
            Err(SendError::Full) => return false,
            Err(SendError::TooLong { .. }) => Code::TooLarge,
            Err(SendError::Unreachable) => Code::Unreachable,
        };
        if self.open.remove(&frame.token) {
            self.fail(frame.token, code, out);
        }
        true
    }

    fn pass_waiting(&mut self, out: &mut dyn Outbox) {
        while let Some(frame) = self.waiting.pop_front() {
            if !self.pass(frame.borrow(), out) {
                self.waiting.push_front(frame);
                return;
            }
        }
    }

    fn answer(&mut self, frame: Frame<'_>, out: &mut dyn Outbox) {
        // An answer to nothing is a mistake of the service; its caller has been answered or never asked.
        if self.open.remove(&frame.token) {
            // Callers always have room for the answers to their requests.
            let _ = forward(frame, self.callers, out);
        }
    }

    fn lose(&mut self, cause: DownCause, out: &mut dyn Outbox) {
        let code = match cause {
            DownCause::Closed | DownCause::Died => Code::PeerDied,
            DownCause::Silent => Code::PeerSilent,
            DownCause::Misbehaved => Code::Malformed,
            DownCause::Refused(number) => Code::from_number(number).unwrap_or(Code::NotAllowed),
        };
        self.state = State::Lost(code);
        self.waiting.clear();
        // In their order, the same in every run.
        let mut unanswered: Vec<Token> = self.open.drain().collect();
        unanswered.sort_unstable();
        for token in unanswered {
            self.fail(token, code, out);
        }
    }

    fn fail(&self, token: Token, code: Code, out: &mut dyn Outbox) {
        // Callers always have room for the answers to their requests.
        let _ = out.send(self.callers, CALL_FAILED, token, &(code as u16).to_le_bytes());
    }
}

fn forward(frame: Frame<'_>, to: Address, out: &mut dyn Outbox) -> Result<(), SendError> {
    if frame.bulk.is_empty() {
        out.send(to, frame.kind, frame.token, frame.body)
    } else {
        out.send_bulk(to, frame.kind, frame.token, frame.body, frame.bulk.clone())
    }
}

/// The code of an answer that says that the call failed on its way; `None` for every other frame.
#[must_use]
pub fn failure(kind: Kind, body: &[u8]) -> Option<Code> {
    if kind != CALL_FAILED {
        return None;
    }
    let number = body.try_into().map(u16::from_le_bytes).unwrap_or_default();
    Some(Code::from_number(number).unwrap_or(Code::Malformed))
}

impl Protocol for Relay {
    fn handle(&mut self, _now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        match input {
            Input::Frame(from, frame) if from == self.callers => self.request(frame, out),
            Input::Frame(from, frame) if from == self.service => self.answer(frame, out),
            Input::Writable(to) if to == self.service => self.pass_waiting(out),
            Input::Peer(peer, PeerChange::Up { .. }) if peer == self.service => {
                self.state = State::Connected;
                self.pass_waiting(out);
            }
            Input::Peer(peer, PeerChange::Down(cause)) if peer == self.service => self.lose(cause, out),
            _ => {}
        }
    }

    fn deadline(&self) -> Option<Time> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quintet_contract::{Effects, Incarnation};

    const CALLERS: Address = Address::new(1, 1);
    const SERVICE: Address = Address::new(2, 16);
    const ASK: Kind = Kind(0xf0);
    const UP: PeerChange = PeerChange::Up { incarnation: Incarnation(1), max_bulk_bytes: 1 << 20 };

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
        relay.handle(Time(0), Input::Peer(SERVICE, UP), &mut out);
        ask(&mut relay, 3, &mut out);
        assert_eq!(tokens(&mut out), [(SERVICE, ASK, 1), (SERVICE, ASK, 2), (SERVICE, ASK, 3)]);
    }

    #[test]
    fn a_lost_service_answers_each_open_request_once() {
        let (mut relay, mut out) = (Relay::new(CALLERS, SERVICE, |_| Class::Request), Effects::default());
        relay.handle(Time(0), Input::Peer(SERVICE, UP), &mut out);
        ask(&mut relay, 1, &mut out);
        ask(&mut relay, 2, &mut out);
        relay.handle(Time(0), Input::Frame(SERVICE, Frame::new(Kind(0xf1), Token(1), b"!")), &mut out);
        tokens(&mut out);
        let refused = DownCause::Refused(Code::WrongCluster as u16);
        relay.handle(Time(0), Input::Peer(SERVICE, PeerChange::Down(refused)), &mut out);
        ask(&mut relay, 3, &mut out);
        let frames = out.frames();
        let failed: Vec<_> =
            frames.iter().map(|(to, f)| (*to, f.token.0, failure(f.kind, &f.body))).collect();
        assert_eq!(failed, [(CALLERS, 2, Some(Code::WrongCluster)), (CALLERS, 3, Some(Code::WrongCluster))]);
    }
}

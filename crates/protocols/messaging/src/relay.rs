//! The calling side of a service on another node: passes the requests of this process on and the answers back.
//!
//! A request that finds no credit, or no session yet, waits here; its caller waits anyway. What is urgent passes those that wait,
//! but never the request whose token it has. When the service is gone, each unanswered request is answered with [`CALL_FAILED`],
//! so that every request is answered exactly once, come what may.

use crate::codec::CALL_FAILED;
use crate::config::Class;
use foldhash::fast::FixedState;
use hashbrown::{HashMap, HashSet};
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
    /// The requests among them, each with the urgent frames that may not pass it.
    behind: HashMap<Token, Vec<OwnedFrame>, FixedState>,
    /// Urgent frames that could not be passed on either, oldest first.
    urgent: VecDeque<OwnedFrame>,
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
        let hasher = || FixedState::with_seed(0);
        Relay {
            callers,
            service,
            class,
            waiting: VecDeque::new(),
            behind: HashMap::with_hasher(hasher()),
            urgent: VecDeque::new(),
            open: HashSet::with_hasher(hasher()),
            state: State::Connecting,
        }
    }

    fn request(&mut self, frame: Frame<'_>, out: &mut dyn Outbox) {
        let class = (self.class)(frame.kind);
        let is_answered = class == Class::Request;
        if let State::Lost(code) = self.state {
            if is_answered {
                self.fail(frame.token, code, out);
            }
            return;
        }
        if class == Class::Urgent {
            return self.hurry(frame, out);
        }
        if is_answered {
            self.open.insert(frame.token);
        }
        let must_wait = self.state == State::Connecting || !self.waiting.is_empty();
        if must_wait || !self.pass(frame, out) {
            if is_answered {
                self.behind.insert(frame.token, Vec::new());
            }
            self.waiting.push_back(frame.to_owned());
        }
    }

    /// Passes an urgent frame on before all that wait, except the request that it may be about.
    fn hurry(&mut self, frame: Frame<'_>, out: &mut dyn Outbox) {
        if let Some(behind) = self.behind.get_mut(&frame.token) {
            behind.push(frame.to_owned());
        } else if self.state == State::Connecting || !self.urgent.is_empty() || !self.pass(frame, out) {
            self.urgent.push_back(frame.to_owned());
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
        while self.pass_urgent(out)
            && let Some(frame) = self.waiting.pop_front()
        {
            if !self.pass(frame.borrow(), out) {
                self.waiting.push_front(frame);
                return;
            }
            if (self.class)(frame.kind) == Class::Request {
                self.urgent.extend(self.behind.remove(&frame.token).into_iter().flatten());
            }
        }
    }

    /// Whether no urgent frame has to wait any more.
    fn pass_urgent(&mut self, out: &mut dyn Outbox) -> bool {
        while let Some(frame) = self.urgent.pop_front() {
            if !self.pass(frame.borrow(), out) {
                self.urgent.push_front(frame);
                return false;
            }
        }
        true
    }

    fn answer(&mut self, frame: Frame<'_>, out: &mut dyn Outbox) {
        // An answer to nothing is a mistake of the service; its caller has been answered or never asked.
        if self.open.remove(&frame.token) {
            // Callers always have room for the answers to their requests.
            let _ = forward(frame, self.callers, out);
        }
    }

    fn lose(&mut self, cause: DownCause, out: &mut dyn Outbox) {
        let code = loss(cause);
        self.state = State::Lost(code);
        self.waiting.clear();
        self.behind.clear();
        self.urgent.clear();
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

/// How calls end whose service is gone.
#[must_use]
pub fn loss(cause: DownCause) -> Code {
    match cause {
        DownCause::Closed | DownCause::Died => Code::PeerDied,
        DownCause::Silent => Code::PeerSilent,
        DownCause::Misbehaved => Code::Malformed,
        DownCause::Refused(number) => Code::from_number(number).unwrap_or(Code::NotAllowed),
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
            // Once lost it stays lost: what comes up again is another session, which knows nothing of earlier calls and leases.
            Input::Peer(peer, PeerChange::Up { .. })
                if peer == self.service && self.state == State::Connecting =>
            {
                self.state = State::Connected;
                self.pass_waiting(out);
            }
            Input::Peer(peer, PeerChange::Down(cause)) if peer == self.service => self.lose(*cause, out),
            _ => {}
        }
    }

    fn deadline(&self) -> Option<Time> {
        None
    }
}

#[cfg(test)]
#[path = "relay/tests.rs"]
mod tests;

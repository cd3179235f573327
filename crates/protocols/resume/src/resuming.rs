//! The client's side: says who it is, keeps what is unanswered, and sends it again over the next link.
//!
//! ```text
//!            up                 resumes              the link ends            up              resumes        all is sent again
//!   fresh  -------> introduced ---------> connected ---------------> away --------> returning ---------> resending --------> connected
//!            says who  |                  |      ^     nothing goes      says who  |    |                 ^
//!            it is     |          was     |      | still known           it is     |    | unknown there,  | resumes
//!                      | does     quiet   v      |                                 |    | nothing is      |
//!                      | not, or          asking +                                 |    | under way       |
//!                      | another answer first                        unknown there |    +----> anew ------+
//!                      |                                                           v            | does not
//!                      +---------------------------------------------> plain: as if this layer were not there
//! ```
//!
//! The protocol above sees the service as up from the first link until it is lost for good. While there is no link it finds no room; then it is told that
//! there is some. What it sent and has no answer to is sent again in the order in which it was sent, before anything new. What is not answered (the end
//! of a wait, the return of a tuple) is sent again until something that was sent after it is answered, for by then it has arrived.
//!
//! A server that does not know of such clients says so, or answers something else first: then nothing is kept. Nobody waits for its reply.
//!
//! **A client that was quiet for long is forgotten where its server ended meanwhile, and may not have noticed.** What it then sends over the link that was would be lost, and
//! nobody could say whether it had its effect. So it asks first whether it is still known, once nothing says that it was within the last half of the time for which the server waits
//! for it. If it is known no more, and nothing of it is under way, it introduces itself anew: nothing of its is lost but what it had at the service, as a lease, whose use says so.

mod outbox;
mod retained;
#[cfg(test)]
mod tests;
mod vouched;

use crate::codec::{ClientId, Reply, Word};
use crate::requests::Requests;
use core::marker::PhantomData;
use outbox::Retaining;
use quintet_contract::{
    Address, DownCause, Frame, Input, Meter, Outbox, PeerChange, Protocol, SendError, Span, Time, Token,
};
use quintet_wire::registry::CALLS_GO_ON;
use quintet_wire::{Decode, send};
use retained::Retained;
use vouched::Vouched;

/// Under which it says who it is. No caller has so many requests that his tokens come near.
const WHO: Token = Token(u64::MAX);
/// Under which it says what it has.
const HAS: Token = Token(u64::MAX - 1);
/// Under which it asks whether it is still known.
const STILL: Token = Token(u64::MAX - 2);

/// A client that comes back, under the protocol `P`, which asks a service. What it promises stands at the head of this module's file.
#[derive(Debug)]
pub struct Resuming<P, R> {
    /// None: it is known by its link, and this layer does nothing.
    id: Option<ClientId>,
    /// Who is told that its calls go on with the next link.
    callers: Address,
    service: Address,
    inner: P,
    state: State,
    /// When it was said last who it is.
    said: Time,
    vouched: Vouched,
    retained: Retained,
    requests: PhantomData<fn() -> R>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// The service was never up.
    Fresh,
    /// It was told who this is, and has not replied.
    Introduced,
    /// It knows this client.
    Connected,
    /// It may have forgotten this client, and was to be asked; whether that was sent.
    Asking(bool),
    /// No link leads to it.
    Away,
    /// One does again, and it was to be told who this is; whether that was sent.
    Returning(bool),
    /// It does not know this client any more, of which nothing is under way, and was to be told who it is as at first; whether that was sent.
    Anew(bool),
    /// Everything before this is sent again.
    Resending(u64),
    /// It does not know this client, or is gone.
    Plain,
}

impl State {
    /// Whether what is sent goes.
    fn is_open(self) -> bool {
        matches!(self, State::Introduced | State::Connected | State::Plain)
    }

    /// Whether what is sent is kept.
    fn keeps(self) -> bool {
        matches!(self, State::Introduced | State::Connected)
    }
}

impl<P: Protocol, R: Requests> Resuming<P, R> {
    /// A client of `service` with that identity, for `callers` of this node; without one, it is known by its link.
    #[must_use]
    pub fn new(id: Option<ClientId>, callers: Address, service: Address, inner: P) -> Resuming<P, R> {
        let state = if id.is_some() { State::Fresh } else { State::Plain };
        let (said, vouched, retained) = (Time::ZERO, Vouched::NOT_YET, Retained::default());
        Resuming { id, callers, service, inner, state, said, vouched, retained, requests: PhantomData }
    }

    /// The protocol above.
    pub fn inner(&self) -> &P {
        &self.inner
    }

    fn give(&mut self, now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        let Resuming { service, inner, state, vouched, retained, .. } = self;
        let is_in_doubt = *state == State::Connected && vouched.is_in_doubt(now);
        let state_now = if is_in_doubt { State::Asking(false) } else { *state };
        let mut retaining = Retaining::<R>::new((*service, state_now), now, retained, out);
        inner.handle(now, input, &mut retaining);
        if is_in_doubt && retaining.has_refused() {
            self.state = State::Asking(false);
            self.ask_whether_known(out);
        }
    }

    fn ask_whether_known(&mut self, out: &mut dyn Outbox) {
        if self.state == State::Asking(false) {
            let is_asked = send(out, self.service, R::WORD, STILL, &Word::Received(Vec::new())).is_ok();
            self.state = State::Asking(is_asked);
        }
    }

    /// It is still known. What waits goes now, however long the reply took: else it might never go over a link that is slower than the server is patient.
    fn confirm(&mut self, now: Time, out: &mut dyn Outbox) {
        self.vouched.replied(now);
        self.state = State::Connected;
        self.give(now, Input::Writable(self.service), out);
        self.say_what_it_has(out);
    }

    /// A link to the service is there.
    fn up(&mut self, now: Time, change: &PeerChange, out: &mut dyn Outbox) {
        match (self.state, self.id) {
            (State::Fresh, Some(id)) => {
                let is_said = send(out, self.service, R::WORD, WHO, &Word::Introduce(id)).is_ok();
                (self.state, self.said) = (if is_said { State::Introduced } else { State::Plain }, now);
                self.give(now, Input::Peer(self.service, change), out);
            }
            (
                State::Away | State::Asking(_) | State::Returning(_) | State::Anew(_) | State::Resending(_),
                Some(_),
            ) => {
                self.state = State::Returning(false);
                self.say_who(now, out);
            }
            _ => self.give(now, Input::Peer(self.service, change), out),
        }
    }

    fn say_who(&mut self, now: Time, out: &mut dyn Outbox) {
        let (word, state): (_, fn(bool) -> State) = match (self.state, self.id) {
            (State::Returning(false), Some(id)) => (Word::Resume(id), State::Returning),
            (State::Anew(false), Some(id)) => (Word::Introduce(id), State::Anew),
            _ => return,
        };
        let is_said = send(out, self.service, R::WORD, WHO, &word).is_ok();
        (self.state, self.said) = (state(is_said), now);
    }

    /// The link to the service is gone.
    fn down(&mut self, now: Time, cause: DownCause, out: &mut dyn Outbox) {
        let may_come_back = matches!(cause, DownCause::Died | DownCause::Closed);
        match self.state {
            State::Fresh => self.give(now, Input::Peer(self.service, &PeerChange::Down(cause)), out),
            State::Plain => self.lose(now, cause, out),
            // It may be known although it was not told so: then it goes on.
            _ if may_come_back => {
                self.state = State::Away;
                self.retained.link_ended();
            }
            _ => self.lose(now, cause, out),
        }
    }

    /// The service is gone for good.
    fn lose(&mut self, now: Time, cause: DownCause, out: &mut dyn Outbox) {
        self.be_plain();
        self.give(now, Input::Peer(self.service, &PeerChange::Down(cause)), out);
    }

    fn be_plain(&mut self) {
        self.state = State::Plain;
        self.retained = Retained::default();
    }

    fn frame(&mut self, now: Time, frame: Frame<'_>, out: &mut dyn Outbox) {
        match (self.state, frame.token) {
            (State::Introduced | State::Returning(_) | State::Anew(_), WHO) => {
                return self.hear(now, frame, out);
            }
            (State::Plain, WHO) => return,
            (State::Asking(_), STILL) => return self.confirm(now, out),
            (_, HAS) => return self.retained.noted(),
            // Whoever answers this first does not know of words.
            (State::Introduced, _) => self.be_plain(),
            _ => {}
        }
        if self.state == State::Plain {
            return self.give(now, Input::Frame(self.service, frame), out);
        }
        if let Some(sent) = self.retained.answered(&frame) {
            self.vouched.replied(sent);
            self.give(now, Input::Frame(self.service, frame), out);
            self.say_what_it_has(out);
        }
    }

    /// The reply to who this is.
    fn hear(&mut self, now: Time, frame: Frame<'_>, out: &mut dyn Outbox) {
        let reply = if frame.kind == R::REPLY { Reply::decode_all(frame.body).ok() } else { None };
        match (self.state, reply) {
            (State::Introduced, Some(Reply::Resumes(window))) => {
                self.state = State::Connected;
                self.be_known(window, out);
            }
            (State::Introduced, _) => self.be_plain(),
            (_, Some(Reply::Resumes(window))) => {
                self.state = State::Resending(0);
                self.be_known(window, out);
                self.resend(now, out);
            }
            (State::Returning(_), Some(Reply::Unknown)) if self.retained.is_empty() => {
                self.retained = Retained::default();
                self.state = State::Anew(false);
                self.say_who(now, out);
            }
            (State::Anew(_), _) => {
                self.be_plain();
                self.give(now, Input::Writable(self.service), out);
            }
            _ => self.lose(now, DownCause::Died, out),
        }
    }

    /// The service knows this client, and waits for it for so long.
    fn be_known(&mut self, window: Span, out: &mut dyn Outbox) {
        self.vouched = Vouched::for_window(window, self.said);
        // Where nobody listens, nobody is to be told.
        let _ = out.send(self.callers, CALLS_GO_ON, Token(0), &[]);
    }

    /// Sends again what is unanswered, as far as the link takes it.
    fn resend(&mut self, now: Time, out: &mut dyn Outbox) {
        while let State::Resending(next) = self.state {
            let Some((number, frame)) = self.retained.from(next) else {
                self.state = State::Connected;
                self.give(now, Input::Writable(self.service), out);
                return self.say_what_it_has(out);
            };
            if pass(self.service, frame.borrow(), out) == Err(SendError::Full) {
                return;
            }
            self.state = State::Resending(number + 1);
        }
    }

    /// Says which answers it has, where its requests do not say it before long.
    fn say_what_it_has(&mut self, out: &mut dyn Outbox) {
        if self.state != State::Connected {
            return;
        }
        if let Some(tokens) = self.retained.to_be_noted()
            && send(out, self.service, R::WORD, HAS, &Word::Received(tokens)).is_ok()
        {
            self.retained.said();
        }
    }

    fn writable(&mut self, now: Time, out: &mut dyn Outbox) {
        match self.state {
            State::Asking(_) => self.ask_whether_known(out),
            State::Returning(_) | State::Anew(_) => self.say_who(now, out),
            State::Resending(_) => self.resend(now, out),
            State::Away => {}
            _ => {
                self.give(now, Input::Writable(self.service), out);
                self.say_what_it_has(out);
            }
        }
    }
}

fn pass(to: Address, frame: Frame<'_>, out: &mut dyn Outbox) -> Result<(), SendError> {
    let Frame { kind, token, body, bulk, .. } = frame;
    if bulk.is_empty() {
        out.send(to, kind, token, body)
    } else {
        out.send_bulk(to, kind, token, body, bulk.clone())
    }
}

impl<P: Protocol, R: Requests> Protocol for Resuming<P, R> {
    fn handle(&mut self, now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        if self.id.is_none() {
            return self.inner.handle(now, input, out);
        }
        match input {
            Input::Frame(from, frame) if from == self.service => self.frame(now, frame, out),
            Input::Peer(peer, change @ PeerChange::Up { .. }) if peer == self.service => {
                self.up(now, change, out);
            }
            Input::Peer(peer, PeerChange::Down(cause)) if peer == self.service => self.down(now, *cause, out),
            Input::Writable(to) if to == self.service => self.writable(now, out),
            input => {
                self.give(now, input, out);
                self.say_what_it_has(out);
            }
        }
    }

    fn deadline(&self) -> Option<Time> {
        self.inner.deadline()
    }

    fn measure(&self, meter: &mut Meter<'_>) {
        self.inner.measure(meter);
    }
}

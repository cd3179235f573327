//! The server's side: each client has an address of its own towards the service, which lasts as long as the client, and its answers are kept until it
//! has them.
//!
//! ```text
//!                       its first word: introduces itself              its link ends
//!   a link is up   ---------------------------------->  connected  ----------------->  away
//!        |                                                  ^                            |
//!        |  another first word                              +----------------------------+--> gone: the service learns of it
//!        v                                                    its first word over another      the window is over, or it said farewell
//!   known by its link, as ever                                link: resumes
//! ```
//!
//! A request that comes again, because its client did not get the answer, finds the answer that is kept, or goes on waiting: the service is given
//! it once. An answer is kept until its client says that it has it, by what its requests say is settled or by a word of its own.
//!
//! Times are those of whoever calls: in a log, the log's, so that no client's window passes while nobody serves. What stands below takes all that is sent
//! to a link that is up.
//!
//! Who resumes has to come with the same proof of who it is as at first, and over a link that takes no less.

mod client;
mod clients;
mod outbox;
mod snapshot;
#[cfg(test)]
mod tests;

use crate::codec::{ClientId, Reply, Word};
use crate::config::ResumeLimits;
use crate::defect::seeded;
use crate::requests::Requests;
use client::{Asked, Client};
use clients::Clients;
use core::marker::PhantomData;
use outbox::Keeping;
use quintet_contract::{
    Address, DownCause, Frame, Input, Meter, Outbox, PeerChange, PeerMap, Protocol, Span, Time, Token,
};
use quintet_errors::Code;
use quintet_wire::{Decode, send};

/// A service whose clients come back. What it promises stands at the head of this module's file.
#[derive(Debug)]
pub struct Resumed<P, R> {
    limits: ResumeLimits,
    inner: P,
    clients: Clients,
    links: PeerMap<Link>,
    requests: PhantomData<fn() -> R>,
}

/// Whose a link is that is up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Link {
    /// Nothing came over it so far: how it came up.
    New(PeerChange),
    /// Of one who is known by it.
    Plain,
    Of(ClientId),
    /// Its client has come back over another one.
    Left,
}

impl<P: Protocol, R: Requests> Resumed<P, R> {
    /// A service without clients.
    #[must_use]
    pub fn new(limits: ResumeLimits, inner: P) -> Resumed<P, R> {
        let (clients, links) = (Clients::default(), PeerMap::new());
        Resumed { limits, inner, clients, links, requests: PhantomData }
    }

    /// The service.
    pub fn inner(&self) -> &P {
        &self.inner
    }

    /// Clients that are known by their identities, those among them that are away, and bytes of the answers kept for them.
    #[must_use]
    pub fn counts(&self) -> (usize, usize, u64) {
        let away = self.clients.iter().filter(|(_, client)| client.at.is_none()).count();
        let bytes = self.clients.iter().map(|(_, client)| client.kept_bytes()).sum();
        (self.clients.len(), away, bytes)
    }

    fn give(&mut self, now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        self.inner.handle(now, input, &mut Keeping::new(&mut self.clients, out));
    }

    fn frame(&mut self, now: Time, from: Address, frame: Frame<'_>, out: &mut dyn Outbox) {
        match self.links.get(from).copied() {
            Some(Link::Left) => {}
            Some(Link::New(up)) if frame.kind == R::WORD => self.hear(now, from, Some(up), frame, out),
            Some(_) if frame.kind == R::WORD => self.hear(now, from, None, frame, out),
            Some(Link::New(up)) => {
                self.links.insert(from, Link::Plain);
                self.give(now, Input::Peer(from, &up), out);
                self.give(now, Input::Frame(from, frame), out);
            }
            Some(Link::Of(id)) => self.frame_of(now, (id, from), frame, out),
            Some(Link::Plain) | None => self.give(now, Input::Frame(from, frame), out),
        }
    }

    /// A frame of one who is known.
    fn frame_of(
        &mut self,
        now: Time,
        (id, from): (ClientId, Address),
        frame: Frame<'_>,
        out: &mut dyn Outbox,
    ) {
        let Some(client) = self.clients.get_mut(id) else { return };
        let place = client.place;
        if let Some(settled) = R::settled(&frame)
            && !seeded!(self.limits, NeverReleased)
        {
            client.settle(settled);
        }
        if R::is_answered(frame.kind) {
            let kept = client.kept_bytes();
            match client.ask(frame.token) {
                Asked::First if kept > self.limits.max_kept_bytes => {
                    client.drop_request(frame.token);
                    return self.refuse((from, frame.token), kept, out);
                }
                Asked::First => {}
                Asked::Waits if seeded!(self.limits, AppliedTwice) => {}
                Asked::Waits => return,
                Asked::Answered(answer) => return outbox::pass(from, answer, out),
            }
        }
        self.give(now, Input::Frame(place, frame), out);
    }

    /// A client has so many bytes of answers, and does not say so.
    fn refuse(&self, (to, token): (Address, Token), kept: u64, out: &mut dyn Outbox) {
        let limit = self.limits.max_kept_bytes;
        let text = format!(
            "{kept} bytes of answers are kept for this client, above the limit of {limit}: collect what is answered, the oldest first"
        );
        let (kind, body) = R::refusal(Code::Busy, &text);
        // A link that is up has room, or what stands below has.
        let _ = out.send(to, kind, token, &body);
    }

    /// What a client says of itself. `up`: how its link came up, if it is the first that it says there.
    fn hear(
        &mut self,
        now: Time,
        from: Address,
        up: Option<PeerChange>,
        frame: Frame<'_>,
        out: &mut dyn Outbox,
    ) {
        let word = Word::decode_all(frame.body);
        // Whom nobody knows any more may introduce himself next.
        let may_go_on = matches!(word, Ok(Word::Resume(_)));
        let reply = match (word, up) {
            (Ok(Word::Introduce(id)), Some(up)) => self.introduce(now, from, id, &up, out),
            (Ok(Word::Resume(id)), Some(up)) => self.resume(from, id, &up),
            (Ok(Word::Received(tokens)), None) => {
                self.note(from, &tokens);
                Reply::Noted
            }
            _ => Reply::Unknown,
        };
        if let (Some(up), Reply::Unknown, false) = (up, reply, may_go_on) {
            self.links.insert(from, Link::Plain);
            self.give(now, Input::Peer(from, &up), out);
        }
        // As for every answer.
        let _ = send(out, from, R::REPLY, frame.token, &reply);
    }

    fn introduce(
        &mut self,
        now: Time,
        from: Address,
        id: ClientId,
        up: &PeerChange,
        out: &mut dyn Outbox,
    ) -> Reply {
        let PeerChange::Up { link, .. } = up else { return Reply::Unknown };
        let is_full = self.clients.len() >= self.limits.max_clients.min(u16::MAX.into()) as usize;
        if self.limits.window == Span::ZERO || is_full || self.clients.get(id).is_some() {
            return Reply::Unknown;
        }
        let place = self.clients.insert(id, |place| Client::new(place, *link, from));
        self.links.insert(from, Link::Of(id));
        self.give(now, Input::Peer(place, up), out);
        Reply::Resumes(self.limits.window)
    }

    fn resume(&mut self, from: Address, id: ClientId, up: &PeerChange) -> Reply {
        let PeerChange::Up { link, .. } = up else { return Reply::Unknown };
        if !self.clients.get(id).is_some_and(|client| client.may_use(link)) {
            return Reply::Unknown;
        }
        if seeded!(self.limits, AnswersForgotten) {
            self.clients.change(id, Client::forget_answers);
        }
        if let Some(before) = self.clients.change(id, |client| client.come_back(from)).flatten() {
            self.links.insert(before, Link::Left);
        }
        self.links.insert(from, Link::Of(id));
        Reply::Resumes(self.limits.window)
    }

    fn note(&mut self, from: Address, received: &[Token]) {
        let Some(Link::Of(id)) = self.links.get(from).copied() else { return };
        if seeded!(self.limits, NeverReleased) {
            return;
        }
        if let Some(client) = self.clients.get_mut(id) {
            received.iter().for_each(|token| client.release(*token));
        }
    }

    fn peer_change(&mut self, now: Time, peer: Address, change: &PeerChange, out: &mut dyn Outbox) {
        let cause = match change {
            PeerChange::Up { .. } => {
                // A link that takes the place of another is the end of that.
                if self.links.contains(peer) {
                    self.peer_change(now, peer, &PeerChange::Down(DownCause::Died), out);
                }
                self.links.insert(peer, Link::New(*change));
                return;
            }
            PeerChange::Down(cause) => *cause,
        };
        match self.links.remove(peer) {
            Some(Link::New(_) | Link::Left) => {}
            Some(Link::Of(id)) => self.lose(now, id, cause, out),
            Some(Link::Plain) | None => self.give(now, Input::Peer(peer, change), out),
        }
    }

    /// A client's link has ended.
    fn lose(&mut self, now: Time, id: ClientId, cause: DownCause, out: &mut dyn Outbox) {
        let may_come_back = matches!(cause, DownCause::Died | DownCause::Silent);
        if !may_come_back {
            return self.end(now, id, cause, out);
        }
        let until = now + self.limits.window;
        self.clients.change(id, |client| client.go_away(until));
    }

    /// A client is gone.
    fn end(&mut self, now: Time, id: ClientId, cause: DownCause, out: &mut dyn Outbox) {
        if let Some(client) = self.clients.remove(id) {
            self.give(now, Input::Peer(client.place, &PeerChange::Down(cause)), out);
        }
    }

    fn wake(&mut self, now: Time, out: &mut dyn Outbox) {
        while let Some(id) = self.clients.first_due(now) {
            self.end(now, id, DownCause::Died, out);
        }
        if self.inner.deadline().is_some_and(|due| due <= now) {
            self.give(now, Input::Wake, out);
        }
    }
}

impl<P: Protocol, R: Requests> Protocol for Resumed<P, R> {
    fn handle(&mut self, now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        match input {
            Input::Frame(from, frame) => self.frame(now, from, frame, out),
            Input::Peer(peer, change) => self.peer_change(now, peer, change, out),
            Input::Wake => self.wake(now, out),
            Input::Started | Input::Writable(_) => self.give(now, input, out),
        }
    }

    fn deadline(&self) -> Option<Time> {
        self.inner.deadline().into_iter().chain(self.clients.deadline()).min()
    }

    fn measure(&self, meter: &mut Meter<'_>) {
        self.inner.measure(meter);
    }
}

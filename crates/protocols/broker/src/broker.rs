//! The broker: between who calls and who handles.

mod calls;
mod metrics;
mod peers;
mod registry;
#[cfg(test)]
mod tests;

use crate::codec::{Answer, CANCEL, Handled, Place, Request};
use crate::config::{BrokerConfig, HandlerLimits};
use crate::limits::{MAX_HANDLERS, MAX_HANDLERS_OF_PEER};
use crate::refusal::{Reason, Refusal};
use bytes::Bytes;
use calls::{Call, Calls};
use metrics::METRICS;
use peers::{Asked, Peer, Peers};
use quintet_contract::{
    Address, Frame, Input, Meter, Outbox, PeerChange, Protocol, SendError, Span, Time, Token, tell_all,
};
use registry::Registry;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Takes calls of named handlers and hands them to who handles them.
///
/// # What it promises
/// - Every request is answered once, as long as its session lives; a call with a deadline not long after it.
/// - A call is handed to one handler at a time, in the order in which calls came; of several that are idle to the one that has waited longest.
///   Only one that was given back is handed out again: no call is handled twice.
/// - Of a process that ends, the calls that it was given fail ([`Reason::Died`]); those that waited go to other handlers of the name, or fail
///   ([`Reason::NoHandler`]) where there is none. Its own calls are forgotten; what it had called one-way is handled.
/// - What is refused has changed nothing.
#[derive(Debug)]
pub struct Broker {
    config: BrokerConfig,
    registry: Registry,
    calls: Calls,
    peers: Peers,
    /// The number of the next handler or call.
    next: u64,
    accepted: u64,
    busy: u64,
}

impl Broker {
    /// Without handlers.
    #[must_use]
    pub fn new(config: BrokerConfig) -> Self {
        let (registry, calls, peers) = (Registry::default(), Calls::default(), Peers::default());
        Broker { config, registry, calls, peers, next: 1, accepted: 0, busy: 0 }
    }

    /// Calls that are not done with, and handlers.
    #[must_use]
    pub fn size(&self) -> (usize, usize) {
        (self.calls.iter().count(), self.registry.len())
    }

    fn request(&mut self, now: Time, from: Address, frame: Frame<'_>, out: &mut dyn Outbox) {
        let token = frame.token;
        if frame.kind == CANCEL {
            return self.give_up(from, token, Reason::Cancelled, "its caller wants it no more", out);
        }
        if self.peers.asked(from, token).is_some() {
            // Its answer is on its way: a second one under the same token would be one too many.
            return;
        }
        match Request::decode(frame.kind, frame.body, frame.bulk) {
            Err(error) => self.refuse(from, token, Reason::Malformed, error.to_string(), out),
            Ok(Request::Register { place, limits }) => {
                self.register(now, (from, token), (place, limits), out);
            }
            Ok(Request::Await { place, .. }) if self.registry.has(&place) => {
                self.answer(from, token, Answer::Done, out);
            }
            Ok(Request::Await { place, wait }) => {
                self.peers.ask(from, token, Asked::Await(place), end(now, wait));
            }
            Ok(Request::Call { place, wait, is_one_way, payload }) => {
                let caller = (!is_one_way).then_some((from, token));
                let end = end(now, wait).filter(|_| !is_one_way);
                let call = Call { caller, place, is_one_way, end, payload, given: None };
                self.call(now, from, token, call, out);
            }
            Ok(Request::Next { handler, wait }) => self.ask(now, from, token, (handler, wait), out),
            Ok(Request::Reply { call, handled }) => self.reply(now, from, token, (call, handled), out),
            Ok(Request::Leave { handler }) => self.leave(now, from, token, handler, out),
            Ok(Request::Cancel) => {}
        }
    }

    fn take_number(&mut self) -> u64 {
        self.next += 1;
        self.next - 1
    }

    fn register(
        &mut self,
        now: Time,
        (from, token): (Address, Token),
        (place, limits): (Place, HandlerLimits),
        out: &mut dyn Outbox,
    ) {
        if self.registry.limits(&place.name).is_some_and(|others| others != limits) {
            let text = format!("another process handles {:?} with other limits", place.name);
            return self.refuse(from, token, Reason::BadRequest, text, out);
        }
        let of_peer = self.peers.get(from).map_or(0, |peer| peer.handlers.len());
        if of_peer >= MAX_HANDLERS_OF_PEER || self.registry.len() >= MAX_HANDLERS {
            let text =
                format!("{of_peer} handlers of this process are there, {} of all", self.registry.len());
            return self.refuse(from, token, Reason::Busy, text, out);
        }
        let handler = self.take_number();
        self.registry.add(handler, from, place.clone(), limits);
        self.peers.get_or_add(from).handlers.insert(handler);
        self.answer(from, token, Answer::Registered { handler }, out);
        self.tell_awaiting(&Place { rank: None, ..place.clone() }, out);
        if place.rank.is_some() {
            self.tell_awaiting(&place, out);
            self.serve_all(now, &place, out);
        }
    }

    fn tell_awaiting(&mut self, place: &Place, out: &mut dyn Outbox) {
        for (to, token) in self.peers.awaiting(place) {
            self.peers.end(to, token);
            self.answer(to, token, Answer::Done, out);
        }
    }

    fn call(&mut self, now: Time, from: Address, token: Token, call: Call, out: &mut dyn Outbox) {
        if let Some(Refusal { reason, text }) = self.refusal(&call) {
            self.busy += u64::from(reason == Reason::Busy);
            return self.refuse(from, token, reason, text, out);
        }
        let (number, place) = (self.take_number(), call.place.clone());
        match call.caller {
            Some((from, token)) => self.peers.ask(from, token, Asked::Call(number), call.end),
            None => self.answer(from, token, Answer::Done, out),
        }
        self.accepted += 1;
        self.calls.add(number, call);
        self.offer(now, number, &place, out);
    }

    /// Why a call is not accepted, if it is not.
    fn refusal(&self, call: &Call) -> Option<Refusal> {
        let Place { name, rank } = &call.place;
        let limits = self.registry.limits(name).filter(|_| self.registry.has(&call.place));
        let Some(limits) = limits else { return Some(no_handler(&call.place)) };
        let bytes = call.payload.len();
        if bytes > limits.max_request_bytes as usize {
            let text = format!("{bytes} bytes; the handlers of {name:?} take {}", limits.max_request_bytes);
            return Some(Refusal::new(Reason::TooLarge, text));
        }
        if self.registry.idlest(&call.place).is_none() && self.registry.is_full(name) {
            let who = rank.map_or(String::new(), |rank| format!(", rank {rank}"));
            let text = format!("{} calls of {name:?}{who} wait already", limits.waiting);
            return Some(Refusal::new(Reason::Busy, text));
        }
        // Also of one that is handed out at once: it is kept until it is answered, and handlers may take as many as they like.
        let held = self.calls.bytes();
        (held + call.bytes() > self.config.max_bytes)
            .then(|| Refusal::new(Reason::Busy, format!("other calls take {held} bytes already")))
    }

    /// Hands a call to who may take it now, or has it wait.
    fn offer(&mut self, now: Time, call: u64, place: &Place, out: &mut dyn Outbox) {
        self.registry.enqueue(place, call);
        if let Some(handler) = self.registry.idlest(place) {
            self.serve(now, handler, out);
        }
    }

    fn ask(
        &mut self,
        now: Time,
        from: Address,
        token: Token,
        (handler, wait): (u64, Option<Span>),
        out: &mut dyn Outbox,
    ) {
        if self.registry.get(handler).is_none_or(|handler| handler.owner != from) {
            return self.refuse(from, token, Reason::BadRequest, "this process has no such handler", out);
        }
        self.peers.ask(from, token, Asked::Next(handler), end(now, wait));
        self.registry.ask(handler, token);
        self.serve(now, handler, out);
    }

    /// Gives a handler calls as long as it may take one and one waits for it.
    fn serve(&mut self, now: Time, handler: u64, out: &mut dyn Outbox) {
        while let Some(call) = self.registry.oldest_for(handler)
            && self.deliver(now, handler, call, out)
        {}
    }

    /// Gives a call that waits to a handler. False if its link takes nothing more.
    fn deliver(&mut self, now: Time, handler: u64, number: u64, out: &mut dyn Outbox) -> bool {
        let to = self.registry.get(handler).map(|handler| handler.owner);
        let (Some(to), Some(token), Some(call)) =
            (to, self.registry.next_ask(handler), self.calls.get_mut(number))
        else {
            return false;
        };
        let wait = call.end.map(|end| end.since(now));
        let (is_one_way, payload) = (call.is_one_way, call.payload.clone());
        let answer = Answer::Delivered { call: number, wait, is_one_way, payload };
        match answer.send(out, to, token) {
            Ok(()) => {}
            Err(SendError::Full) => self.peers.keep(to, token, answer),
            Err(SendError::TooLong { limit, .. }) => {
                let text = format!("the link to its handler takes {limit} bytes");
                self.fail(number, Reason::TooLarge, text, out);
                return true;
            }
            Err(SendError::Unreachable) => return false,
        }
        call.given = Some((handler, to));
        self.registry.dequeue(&call.place, number);
        self.registry.give(handler);
        self.peers.end(to, token);
        self.peers.get_or_add(to).given.insert(number);
        true
    }

    fn reply(
        &mut self,
        now: Time,
        from: Address,
        token: Token,
        (number, handled): (u64, Handled),
        out: &mut dyn Outbox,
    ) {
        let given = self.calls.get(number).and_then(|call| call.given);
        let Some((handler, _)) = given.filter(|(_, owner)| *owner == from) else {
            return self.refuse(from, token, Reason::BadRequest, "this process was given no such call", out);
        };
        self.peers.get_or_add(from).given.remove(&number);
        self.registry.done(handler);
        self.answer(from, token, Answer::Done, out);
        match handled {
            Handled::Replied(payload) => self.succeed(number, payload, out),
            Handled::Failed(text) => self.fail(number, Reason::Failed, text, out),
            Handled::GivenBack => self.put_back(now, number, out),
        }
        self.serve(now, handler, out);
    }

    fn succeed(&mut self, number: u64, payload: Bytes, out: &mut dyn Outbox) {
        let Some((to, token)) = self.calls.remove(number).and_then(|call| call.caller) else { return };
        self.peers.end(to, token);
        self.answer(to, token, Answer::Replied(payload), out);
    }

    fn put_back(&mut self, now: Time, number: u64, out: &mut dyn Outbox) {
        let Some(call) = self.calls.get_mut(number) else { return };
        call.given = None;
        let (place, is_wanted) = (call.place.clone(), call.is_one_way || call.caller.is_some());
        if !is_wanted {
            self.calls.remove(number);
        } else if self.registry.has(&place) {
            self.offer(now, number, &place, out);
        } else {
            let Refusal { reason, text } = no_handler(&place);
            self.fail(number, reason, text, out);
        }
    }

    /// Ends a call without a reply.
    fn fail(&mut self, number: u64, reason: Reason, text: impl Into<String>, out: &mut dyn Outbox) {
        let Some(call) = self.calls.remove(number) else { return };
        self.registry.dequeue(&call.place, number);
        if let Some((to, token)) = call.caller {
            self.peers.end(to, token);
            self.refuse(to, token, reason, text, out);
        }
    }

    fn leave(&mut self, now: Time, from: Address, token: Token, handler: u64, out: &mut dyn Outbox) {
        if !self.peers.get_mut(from).is_some_and(|peer| peer.handlers.remove(&handler)) {
            return self.refuse(from, token, Reason::BadRequest, "this process has no such handler", out);
        }
        let place = self.registry.get(handler).map(|handler| handler.place.clone());
        self.remove(handler, out);
        self.answer(from, token, Answer::Done, out);
        place.filter(|place| place.rank.is_some()).iter().for_each(|place| self.serve_all(now, place, out));
    }

    /// What waits may be for these now, although they are idle: whose a rank is has changed, or a link was gone before that was told.
    fn serve_all(&mut self, now: Time, place: &Place, out: &mut dyn Outbox) {
        let handlers = self.registry.at(place).into_iter();
        handlers.for_each(|handler| self.serve(now, handler, out));
    }

    /// A handler is gone, and those who waited for it are told.
    fn remove(&mut self, handler: u64, out: &mut dyn Outbox) {
        let Some(owner) = self.registry.get(handler).map(|handler| handler.owner) else { return };
        let Some((asks, orphans)) = self.registry.remove(handler) else { return };
        for token in asks {
            if self.peers.end(owner, token).is_some() {
                self.refuse(owner, token, Reason::Cancelled, "the handler has left", out);
            }
        }
        for call in orphans {
            let refusal = self.calls.get(call).map(|call| no_handler(&call.place));
            refusal.into_iter().for_each(|Refusal { reason, text }| self.fail(call, reason, text, out));
        }
    }

    /// Ends what waits under a token without what it waits for.
    fn give_up(&mut self, from: Address, token: Token, reason: Reason, text: &str, out: &mut dyn Outbox) {
        let Some(asked) = self.peers.end(from, token) else { return };
        match asked {
            Asked::Call(number) => self.forget_caller(number),
            Asked::Next(handler) => self.registry.take_back(handler, token),
            Asked::Await(_) => {}
        }
        self.refuse(from, token, reason, text, out);
    }

    /// Nobody waits for the reply to a call: one that was not begun is not.
    fn forget_caller(&mut self, number: u64) {
        let Some(call) = self.calls.get_mut(number) else { return };
        call.caller = None;
        if call.given.is_none()
            && let Some(call) = self.calls.remove(number)
        {
            self.registry.dequeue(&call.place, number);
        }
    }

    fn lose(&mut self, now: Time, address: Address, out: &mut dyn Outbox) {
        let Some(Peer { asked, handlers, given, .. }) = self.peers.remove(address) else { return };
        for (_, (asked, _)) in asked {
            if let Asked::Call(number) = asked {
                self.forget_caller(number);
            }
        }
        let places = handlers.iter().filter_map(|handler| self.registry.get(*handler));
        let names: BTreeSet<_> = places.map(|handler| Arc::clone(&handler.place.name)).collect();
        for handler in handlers {
            self.remove(handler, out);
        }
        for number in given {
            self.fail(number, Reason::Died, "the process that handled the call has ended", out);
        }
        for name in names {
            self.serve_all(now, &Place { name, rank: None }, out);
        }
    }

    fn expire(&mut self, now: Time, out: &mut dyn Outbox) {
        while let Some((from, token)) = self.peers.due(now) {
            let text = match self.peers.asked(from, token) {
                Some(Asked::Call(number))
                    if self.calls.get(*number).is_some_and(|call| call.given.is_some()) =>
                {
                    "a handler has begun the call, and has not replied so far"
                }
                Some(Asked::Call(_)) => "no handler has begun the call",
                Some(Asked::Next(_)) => "no call came",
                Some(Asked::Await(_)) | None => "no handler came",
            };
            self.give_up(from, token, Reason::TimedOut, text, out);
        }
    }

    /// Answers. Where the link has no room, the answer waits for it.
    fn answer(&mut self, to: Address, token: Token, answer: Answer, out: &mut dyn Outbox) {
        match answer.send(out, to, token) {
            Err(SendError::Full) => self.peers.keep(to, token, answer),
            Err(SendError::TooLong { limit, .. }) => {
                let text = format!("the link takes {limit} bytes, and the reply has more");
                self.refuse(to, token, Reason::TooLarge, text, out);
            }
            // Who is gone needs no answer.
            Ok(()) | Err(SendError::Unreachable) => {}
        }
    }

    fn refuse(
        &mut self,
        to: Address,
        token: Token,
        reason: Reason,
        text: impl Into<String>,
        out: &mut dyn Outbox,
    ) {
        let answer = Answer::Error(Refusal::new(reason, text));
        if answer.send(out, to, token) == Err(SendError::Full) {
            self.peers.keep(to, token, answer);
        }
    }

    fn flush(&mut self, to: Address, out: &mut dyn Outbox) {
        let Some(peer) = self.peers.get_mut(to) else { return };
        let mut unsent = std::mem::take(&mut peer.unsent);
        // Up to the first that is kept again.
        while self.peers.get(to).is_some_and(|peer| peer.unsent.is_empty())
            && let Some((token, answer)) = unsent.pop_front()
        {
            self.answer(to, token, answer, out);
        }
        if let Some(peer) = self.peers.get_mut(to) {
            peer.unsent.append(&mut unsent);
        }
    }

    /// Whether the books agree with each other.
    ///
    /// # Panics
    /// If they do not: a defect.
    pub fn verify(&self) {
        let waiting = self.calls.iter().filter(|(_, call)| call.given.is_none());
        assert_eq!(waiting.count() as u64, self.registry.waiting(), "calls that wait are in a queue");
        assert_eq!(self.calls.iter().map(|(_, call)| call.bytes()).sum::<u64>(), self.calls.bytes());
        for (number, call) in self.calls.iter() {
            let waits = |(from, token)| self.peers.asked(from, token) == Some(&Asked::Call(number));
            assert!(call.caller.is_none_or(waits), "who called waits for the reply");
            let given = call
                .given
                .map(|(_, owner)| self.peers.get(owner).is_some_and(|peer| peer.given.contains(&number)));
            assert_ne!(given, Some(false), "who was given a call is known");
        }
        for (address, peer) in self.peers.iter() {
            let owns =
                |number: &u64| self.registry.get(*number).is_some_and(|handler| handler.owner == address);
            assert!(peer.handlers.iter().all(owns), "a handler belongs to one peer");
            let waits = |number: &u64| self.registry.oldest_for(*number).is_some();
            assert!(!peer.handlers.iter().any(waits), "no call waits for who may take it");
        }
    }
}

fn no_handler(place: &Place) -> Refusal {
    let who = place.rank.map_or(String::new(), |rank| format!(" at rank {rank}"));
    Refusal::new(Reason::NoHandler, format!("nobody handles calls of {:?}{who}", place.name))
}

fn end(now: Time, wait: Option<Span>) -> Option<Time> {
    wait.map(|wait| now + wait)
}

impl Protocol for Broker {
    fn handle(&mut self, now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        match input {
            Input::Frame(from, frame) => self.request(now, from, frame, out),
            Input::Wake => self.expire(now, out),
            Input::Writable(to) => self.flush(to, out),
            Input::Peer(peer, PeerChange::Down(_)) => self.lose(now, peer, out),
            Input::Peer(_, PeerChange::Up { .. }) | Input::Started => {}
        }
    }

    fn deadline(&self) -> Option<Time> {
        self.peers.deadline()
    }

    fn measure(&self, meter: &mut Meter<'_>) {
        let values = [
            self.registry.len() as u64,
            self.registry.waiting(),
            self.calls.bytes(),
            self.accepted,
            self.busy,
        ];
        tell_all(&METRICS, values, meter);
    }
}

//! What stands behind the lock of the embedded host: the protocol, fed one input at a time.

use crate::calls::CallError;
use crate::calls_outbox::{CallsOutbox, Remote};
use crate::failure::{cause, words};
use crate::instance::Instance;
use crate::request::{Request, RequestBuffer};
use crate::slots::Slots;
use quintet_clock::LiveClock;
use quintet_contract::{Address, DownCause, Frame, Input, PeerChange, Time, Token};
use quintet_errors::Code;
use quintet_link::{LinkError, Receiver, Route};
use quintet_messaging::relay;
use quintet_wire::registry::PORT_CALLERS;
use std::sync::Arc;

/// Frames taken from the link in one burst.
const BURST: usize = 64;

/// A protocol, its callers' slots and its link. Whoever holds the lock runs it.
pub(crate) struct Core {
    pub(crate) instance: Instance,
    /// The protocol's address.
    pub(crate) at: Address,
    pub(crate) slots: Slots,
    pub(crate) request: RequestBuffer,
    /// Where answers are written.
    pub(crate) answer: Vec<u8>,
    pub(crate) remote: Option<Remote>,
    /// How the link failed, in words. None where it has not, and where the protocol had it closed.
    pub(crate) lost: Option<String>,
}

impl Core {
    /// Opens a slot and hands the request to the protocol. Where nothing crosses the link any more, only the protocol may know
    /// why.
    pub(crate) fn submit(&mut self, now: Time, request: &dyn Request) -> Result<Token, CallError> {
        let was_down = self.is_down();
        let token = self.slots.open();
        self.pass(now, token, request).inspect_err(|_| drop(self.slots.close(token)))?;
        if was_down {
            let told = self.slots.take(token).and_then(Result::err);
            drop(self.slots.close(token));
            return Err(CallError::Failed(told.unwrap_or(Code::PeerDied)));
        }
        Ok(token)
    }

    pub(crate) fn pass(&mut self, now: Time, token: Token, request: &dyn Request) -> Result<(), CallError> {
        let Core { instance, at, slots, request: buffer, answer, remote, .. } = self;
        let written = request.write(buffer, *at, token, slots.oldest_open());
        if written.is_ok()
            && let Some(frame) = buffer.frame()
        {
            let callers = Address { node: at.node, port: PORT_CALLERS };
            let mut out = CallsOutbox { at: *at, slots, remote: remote.as_mut(), answer, begun: None };
            instance.handle(now, Input::Frame(callers, frame), &mut out);
        }
        buffer.clear();
        self.close_if_asked(now);
        written.map_err(CallError::NotSent)
    }

    pub(crate) fn handle(&mut self, now: Time, input: Input<'_>) {
        let mut out = CallsOutbox {
            at: self.at,
            slots: &mut self.slots,
            remote: self.remote.as_mut(),
            answer: &mut self.answer,
            begun: None,
        };
        self.instance.handle(now, input, &mut out);
        self.close_if_asked(now);
    }

    /// Closes the link if the protocol has it closed. What it sent before goes first.
    fn close_if_asked(&mut self, now: Time) {
        if let Some(remote) = self.remote.as_mut().filter(|remote| remote.closing) {
            remote.closing = false;
            // Best effort: if it fails, the link is gone all the more.
            let _ = remote.sender.as_mut().map(|sender| sender.flush());
            self.lose_link(now, DownCause::Misbehaved);
        }
    }

    /// Whether there was a link and nothing crosses it any more.
    fn is_down(&self) -> bool {
        self.remote.as_ref().is_some_and(Remote::is_down)
    }

    /// When the protocol is to be woken, `end` at the latest.
    pub(crate) fn next_deadline(&self, end: Time) -> Time {
        self.instance.deadline().map_or(end, |deadline| deadline.min(end))
    }

    pub(crate) fn wake_protocol(&mut self, now: Time) {
        while self.instance.deadline().is_some_and(|deadline| deadline <= now) {
            self.handle(now, Input::Wake);
        }
    }

    /// Takes what lies in the link, a burst at most. Of a link that was closed nothing is taken, whatever the peer still writes.
    pub(crate) fn receive_burst(&mut self, now: Time, receiver: &mut dyn Receiver) {
        if self.is_down() {
            return;
        }
        if let Err(error) = receiver.poll(BURST, &mut |route, frame| self.receive(now, route, frame)) {
            self.fail_link(now, &error);
        }
        self.report_room(now);
    }

    /// A frame from the link. One that is not from the peer, or not for this node, is not passed on.
    fn receive(&mut self, now: Time, route: Route, frame: Frame<'_>) {
        let from_peer =
            self.remote.as_ref().is_some_and(|remote| remote.peer == route.from && !remote.is_down());
        if from_peer && route.to == self.at {
            self.handle(now, Input::Frame(route.from, frame));
        }
    }

    fn report_room(&mut self, now: Time) {
        if let Some(remote) = self.remote.as_mut().filter(|remote| remote.refused)
            && remote.sender.as_ref().is_some_and(|sender| sender.has_room())
        {
            remote.refused = false;
            let peer = remote.peer;
            self.handle(now, Input::Writable(peer));
        }
    }

    pub(crate) fn flush(&mut self, clock: LiveClock) {
        if let Some(sender) = self.remote.as_mut().and_then(|remote| remote.sender.as_mut())
            && let Err(error) = sender.flush()
        {
            self.fail_link(clock.now(), &error);
        }
    }

    fn fail_link(&mut self, now: Time, error: &LinkError) {
        self.lost.get_or_insert_with(|| words(error));
        self.lose_link(now, cause(error));
    }

    /// Closes the sending half, by which the peer learns of the end, and fails every call. The receiving half is not read any
    /// more.
    fn lose_link(&mut self, now: Time, cause: DownCause) {
        let Some(remote) = &mut self.remote else { return };
        if remote.sender.take().is_none() {
            return;
        }
        let (peer, waker) = (remote.peer, Arc::clone(&remote.waker));
        waker();
        self.handle(now, Input::Peer(peer, PeerChange::Down(cause)));
        self.slots.fail_all(relay::loss(cause));
    }
}

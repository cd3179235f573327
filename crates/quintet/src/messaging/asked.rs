//! A request to the broker under way.

use crate::{Bytes, Error, Lab, stack};
use quintet_broker::{Answer, Handled, Request};
use quintet_contract::{Address, Outbox, Token};
use quintet_errors::Code;
use quintet_runtime::{CallError, Calls, Pending as Slot};
use std::sync::Arc;
use std::time::Duration;

/// How long a drop waits for the answer to its cancel: as a rule it comes at once. Later it is seen to when it comes.
const SOON: Duration = Duration::from_millis(200);

/// A request that may have no answer so far. Dropped before it is collected, it is cancelled; a call that was handed out for it goes back.
pub(super) struct Asked {
    lab: Lab,
    slot: Slot,
    is_collected: bool,
}

impl Asked {
    pub(super) fn begin(lab: &Lab, request: &Request) -> Result<Asked, Error> {
        let slot = begin(&lab.shared.calls, request)?;
        Ok(Asked { lab: lab.clone(), slot, is_collected: false })
    }

    /// Makes a request and waits for its answer, however long it takes.
    pub(super) fn complete(lab: &Lab, request: &Request) -> Result<Answer, Error> {
        let mut asked = Asked::begin(lab, request)?;
        loop {
            if let Some(answer) = asked.wait(Duration::MAX) {
                return answer;
            }
        }
    }

    /// The answer, if it comes within `limit`. It is given once; after that, `None`.
    pub(super) fn wait(&mut self, limit: Duration) -> Option<Result<Answer, Error>> {
        if self.is_collected {
            return None;
        }
        let calls = &self.lab.shared.calls;
        let received = calls.wait(self.slot, limit)?;
        self.is_collected = true;
        Some(read(calls, received))
    }

    pub(super) fn is_done(&self) -> bool {
        self.is_collected || self.lab.shared.calls.is_answered(self.slot)
    }

    /// Calls back once the answer is there: now, or on the thread that brings it.
    pub(super) fn notify(&self, callback: Box<dyn FnOnce() + Send>) {
        if self.is_collected {
            return callback();
        }
        self.lab.shared.calls.notify(self.slot, callback);
    }

    pub(super) fn cancel(&self) {
        if !self.is_collected {
            // If it cannot be sent the link is gone, and whoever waits learns that.
            let cancel = |out: &mut dyn Outbox, to, token, _| Request::Cancel.send(out, to, token);
            let _ = self.lab.shared.calls.tell_at(stack::BROKER.port, Some(self.slot), &cancel);
        }
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        if self.is_collected {
            return;
        }
        if !self.is_done() {
            self.cancel();
        }
        let (shared, slot) = (&self.lab.shared, self.slot);
        if shared.calls.wait_uncollected(slot, SOON).is_some() {
            return undo(&shared.calls, slot);
        }
        let shared = Arc::downgrade(shared);
        let when_it_comes = move || shared.upgrade().into_iter().for_each(|shared| undo(&shared.calls, slot));
        self.lab.shared.calls.notify(slot, Box::new(when_it_comes));
    }
}

/// Closes an answered slot that nobody wants any more, and gives back what came with it.
fn undo(calls: &Calls, slot: Slot) {
    let Some(received) = calls.wait_uncollected(slot, Duration::ZERO) else { return calls.forget(slot) };
    calls.forget(slot);
    match read(calls, received) {
        Ok(Answer::Delivered { call, .. }) => {
            begin_and_forget(calls, &Request::Reply { call, handled: Handled::GivenBack });
        }
        Ok(Answer::Registered { handler }) => begin_and_forget(calls, &Request::Leave { handler }),
        _ => {}
    }
}

/// Makes a request whose answer makes no difference: if the link is gone, so is what it is about.
pub(super) fn begin_and_forget(calls: &Calls, request: &Request) {
    if let Ok(slot) = begin(calls, request) {
        calls.forget(slot);
    }
}

fn begin(calls: &Calls, request: &Request) -> Result<Slot, Error> {
    let writer = |out: &mut dyn Outbox, to: Address, token: Token, _| request.send(out, to, token);
    let begun = calls.begin_at(stack::BROKER.port, &writer);
    begun.map_err(|error| Error::of_call(&error, calls.lost()))
}

fn read(calls: &Calls, received: Result<quintet_runtime::Answer, Code>) -> Result<Answer, Error> {
    let received = received.map_err(|code| Error::of_call(&CallError::Failed(code), calls.lost()))?;
    match Answer::decode(received.kind, &received.body, &received.bulk) {
        Ok(Answer::Error(refusal)) => Err(Error::new(refusal.reason.code(), refusal.text)),
        Ok(answer) => Ok(answer),
        Err(error) => Err(Error::new(Code::Malformed, format!("the broker's answer: {error}"))),
    }
}

pub(super) fn unexpected(answer: &Answer) -> Error {
    Error::new(Code::Malformed, format!("the broker answered {answer:?}"))
}

/// A call under way. Dropped before it is done, it is cancelled: not begun if it still waits, and its reply is dropped if it is handled.
#[must_use = "a call that is dropped is cancelled"]
pub struct PendingReply(Asked);

impl PendingReply {
    pub(super) fn new(asked: Asked) -> PendingReply {
        PendingReply(asked)
    }

    /// The reply, if it comes within `limit`. It is given once; after that, `None`.
    pub fn wait(&mut self, limit: Duration) -> Option<Result<Bytes, Error>> {
        Some(self.0.wait(limit)?.and_then(|answer| match answer {
            Answer::Replied(reply) => Ok(reply),
            other => Err(unexpected(&other)),
        }))
    }

    /// Whether [`PendingReply::wait`] would give the reply at once, or has given it. It takes nothing in from the link.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.0.is_done()
    }

    /// The reply, however long it takes.
    ///
    /// # Errors
    /// As [`Recipient::call_within`](crate::Recipient::call_within).
    pub fn finish(mut self) -> Result<Bytes, Error> {
        loop {
            if let Some(reply) = self.wait(Duration::MAX) {
                return reply;
            }
        }
    }

    /// Asks for the call's end. It still ends exactly once: with [`Code::Cancelled`], or as it would have.
    pub fn cancel(&self) {
        self.0.cancel();
    }

    /// Calls `callback` once [`PendingReply::wait`] would give the reply at once: now, or on the thread that brings it. It must hand over and return.
    pub fn notify(&self, callback: Box<dyn FnOnce() + Send>) {
        self.0.notify(callback);
    }
}

/// A wait for a handler under way. Dropped, it ends.
#[must_use = "a wait that is dropped ends"]
pub struct PendingHandler(Asked);

impl PendingHandler {
    pub(super) fn new(asked: Asked) -> PendingHandler {
        PendingHandler(asked)
    }

    /// Whether one is there, or why not, if that is known within `limit`. It is given once; after that, `None`.
    pub fn wait(&mut self, limit: Duration) -> Option<Result<(), Error>> {
        Some(self.0.wait(limit)?.and_then(|answer| match answer {
            Answer::Done => Ok(()),
            other => Err(unexpected(&other)),
        }))
    }

    /// Whether [`PendingHandler::wait`] would say at once, or has said. It takes nothing in from the link.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.0.is_done()
    }

    /// Ends the wait: with [`Code::Cancelled`], or as it would have.
    pub fn cancel(&self) {
        self.0.cancel();
    }

    /// As [`PendingReply::notify`].
    pub fn notify(&self, callback: Box<dyn FnOnce() + Send>) {
        self.0.notify(callback);
    }

    /// Waits until one is there.
    ///
    /// # Errors
    /// As [`Recipient::wait_for_handler`](crate::Recipient::wait_for_handler).
    pub fn finish(mut self) -> Result<(), Error> {
        loop {
            if let Some(there) = self.wait(Duration::MAX) {
                return there;
            }
        }
    }
}

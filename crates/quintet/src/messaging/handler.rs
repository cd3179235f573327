//! A handler, and the calls that it is given.

use super::asked::{Asked, begin_and_forget, unexpected};
use super::checked;
use crate::{Bytes, Code, Error, Lab};
use core::fmt::Display;
use quintet_broker::{Answer, Handled, Request};
use quintet_contract::Span;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Handles calls of a name. Made by [`Messaging::handle`](crate::Messaging::handle). Any threads may use it at once: as many calls are handled at a
/// time as threads are in [`serve`](Handler::serve), up to [`HandlerLimits::at_once`](crate::HandlerLimits::at_once).
///
/// Dropped, it leaves. If its process ends, callers of what it had begun are told so ([`Code::PeerDied`]).
pub struct Handler {
    lab: Lab,
    number: u64,
    has_left: AtomicBool,
}

/// A call that a handler was given. Dropped without a reply it fails, and says so to its caller.
pub struct Call {
    lab: Lab,
    number: u64,
    /// None: without end.
    end: Option<Instant>,
    is_one_way: bool,
    payload: Bytes,
    is_ended: bool,
}

/// A wait for the next call of a handler. Dropped before that was collected, it ends, and a call that had come goes to another handler, or waits on.
#[must_use = "a wait that is dropped ends"]
pub struct PendingCall {
    asked: Asked,
    lab: Lab,
}

impl Handler {
    pub(super) fn new(lab: Lab, number: u64) -> Handler {
        Handler { lab, number, has_left: AtomicBool::new(false) }
    }

    /// Handles calls on this thread, one after the other, until the handler leaves or the lab is closed. What `handle` returns is the reply, or why it
    /// failed. A panic of `handle` fails its call and goes on to whoever called this.
    ///
    /// # Errors
    /// The connection's own: [`Code::PeerDied`], [`Code::PeerSilent`].
    pub fn serve<R: Into<Bytes>, E: Display>(
        &self,
        mut handle: impl FnMut(&Call) -> Result<R, E>,
    ) -> Result<(), Error> {
        loop {
            let call = match self.next() {
                Ok(call) => call,
                Err(_) if self.has_left() || self.lab.is_closed() => return Ok(()),
                Err(error) => return Err(error),
            };
            let ended = match handle(&call) {
                Ok(reply) => call.reply(reply),
                Err(error) => call.fail(error.to_string()),
            };
            match ended {
                Err(error) if error.code() != Code::TooLarge && !self.lab.is_closed() => return Err(error),
                // Its caller was told what is too large.
                Ok(()) | Err(_) => {}
            }
        }
    }

    /// The next call, however long it takes to come.
    ///
    /// # Errors
    /// [`Code::Cancelled`] once the handler has left, [`Code::Closed`] once the lab is closed; the connection's own.
    pub fn next(&self) -> Result<Call, Error> {
        self.ask(None)
    }

    /// The next call, if one comes within `limit`.
    ///
    /// # Errors
    /// As [`next`](Handler::next); [`Code::TimedOut`].
    pub fn next_within(&self, limit: Duration) -> Result<Call, Error> {
        self.ask(Some(limit))
    }

    /// As [`next`](Handler::next), and looks now and then whether the program wants to turn away: after every `step` it asks `is_over`. A call that comes
    /// then goes to another handler, or waits on.
    ///
    /// # Errors
    /// As [`next_within`](Handler::next_within); what `is_over` gives.
    pub fn next_unless(
        &self,
        limit: Option<Duration>,
        step: Duration,
        is_over: impl Fn() -> Result<(), Error>,
    ) -> Result<Call, Error> {
        let mut pending = self.begin_next(limit)?;
        loop {
            if let Some(call) = pending.wait(step) {
                return call;
            }
            is_over()?;
        }
    }

    fn ask(&self, limit: Option<Duration>) -> Result<Call, Error> {
        self.next_unless(limit, Duration::MAX, || Ok(()))
    }

    /// Begins [`next_within`](Handler::next_within).
    ///
    /// # Errors
    /// [`Code::Cancelled`] once the handler has left; it could not be sent.
    pub fn begin_next(&self, limit: impl Into<Option<Duration>>) -> Result<PendingCall, Error> {
        if self.has_left() {
            return Err(Error::new(Code::Cancelled, "the handler has left"));
        }
        let wait = limit.into().map(Span::from);
        let asked = Asked::begin(&self.lab, &Request::Next { handler: self.number, wait })?;
        Ok(PendingCall { asked, lab: self.lab.clone() })
    }

    /// Whether it takes no more calls.
    #[must_use]
    pub fn has_left(&self) -> bool {
        self.has_left.load(Ordering::Acquire)
    }

    /// Takes no more calls: those who wait in [`serve`](Handler::serve) return, calls that were not begun go to other handlers of the name or fail
    /// ([`Code::NoHandler`]). Those that were given may still be replied to. A second call does nothing.
    ///
    /// # Errors
    /// The connection's own.
    pub fn leave(&self) -> Result<(), Error> {
        if self.has_left.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        Asked::complete(&self.lab, &Request::Leave { handler: self.number }).map(drop)
    }
}

impl PendingCall {
    /// The call, if one comes within `limit`. It is given once; after that, `None`.
    pub fn wait(&mut self, limit: Duration) -> Option<Result<Call, Error>> {
        let answer = self.asked.wait(limit)?;
        Some(answer.and_then(|answer| Call::of(&self.lab, answer)))
    }

    /// Whether [`PendingCall::wait`] would give the call at once, or has given it. It takes nothing in from the link.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.asked.is_done()
    }

    /// Ends the wait: with [`Code::Cancelled`], or as it would have.
    pub fn cancel(&self) {
        self.asked.cancel();
    }

    /// Calls `callback` once [`PendingCall::wait`] would give the call at once: now, or on the thread that brings it. It must hand over and return.
    pub fn notify(&self, callback: Box<dyn FnOnce() + Send>) {
        self.asked.notify(callback);
    }
}

impl Drop for Handler {
    fn drop(&mut self) {
        if !*self.has_left.get_mut() {
            begin_and_forget(&self.lab.shared.calls, &Request::Leave { handler: self.number });
        }
    }
}

impl Call {
    fn of(lab: &Lab, answer: Answer) -> Result<Call, Error> {
        let Answer::Delivered { call, wait, is_one_way, payload } = answer else {
            return Err(unexpected(&answer));
        };
        let end = wait.and_then(|wait| Instant::now().checked_add(wait.into()));
        Ok(Call { lab: lab.clone(), number: call, end, is_one_way, payload, is_ended: false })
    }

    /// What its caller has sent.
    #[must_use]
    pub fn payload(&self) -> &Bytes {
        &self.payload
    }

    /// Whether nobody waits for a reply: what is replied is dropped.
    #[must_use]
    pub fn is_one_way(&self) -> bool {
        self.is_one_way
    }

    /// Until when its caller waits; none: without end.
    #[must_use]
    pub fn end(&self) -> Option<Instant> {
        self.end
    }

    /// How long its caller still waits; none: without end.
    #[must_use]
    pub fn remaining(&self) -> Option<Duration> {
        self.end.map(|end| end.saturating_duration_since(Instant::now()))
    }

    /// Replies.
    ///
    /// # Errors
    /// [`Code::TooLarge`]: then the call has failed, and its caller is told why. The connection's own.
    pub fn reply(mut self, reply: impl Into<Bytes>) -> Result<(), Error> {
        let ended = checked(reply).and_then(|reply| self.end_with(Handled::Replied(reply)));
        match ended {
            // It did not get on its way, or the link does not take it: its caller is told.
            Err(error) if error.code() == Code::TooLarge => {
                self.fail(format!("the handler's reply is too large: {}", error.text()))?;
                Err(error)
            }
            other => {
                self.is_ended = true;
                other
            }
        }
    }

    /// Fails; the caller gets the text with [`Code::TaskFailed`], 1 KiB of it at most.
    ///
    /// # Errors
    /// The connection's own.
    pub fn fail(mut self, text: impl Into<String>) -> Result<(), Error> {
        self.is_ended = true;
        self.end_with(Handled::Failed(text.into()))
    }

    fn end_with(&self, handled: Handled) -> Result<(), Error> {
        Asked::complete(&self.lab, &Request::Reply { call: self.number, handled }).map(drop)
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        if self.is_ended {
            return;
        }
        let text = match std::thread::panicking() {
            true => "the handler panicked",
            false => "the handler ended the call without a reply",
        };
        let handled = Handled::Failed(text.to_owned());
        begin_and_forget(&self.lab.shared.calls, &Request::Reply { call: self.number, handled });
    }
}

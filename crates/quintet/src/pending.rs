//! An operation under way.

use crate::lab::Shared;
use crate::{Error, Lab};
use quintet_errors::Code;
use quintet_runtime::{Answer as Received, CallError, Calls, Pending as Slot};
use quintet_tuple_space::{Answer, Attempt, Request, RequestError, State, Tuple};
use std::cell::Cell;
use std::time::Duration;

/// What an operation came to.
#[derive(Clone, PartialEq, Debug)]
pub enum Outcome {
    /// It had its effect.
    Done,
    /// A tuple, and its lease if one was asked for.
    Tuple(Tuple, Option<Attempt>),
    /// No tuple matched.
    NoMatch,
    /// A count.
    Count(u64),
    /// The state of the space.
    State(Box<State>),
}

/// An operation under way. Dropped before it is done, it is cancelled; a tuple that was already on its way goes back to
/// its old place.
#[must_use = "an operation that is dropped is cancelled"]
pub struct Pending {
    lab: Lab,
    slot: Slot,
    /// An outcome that was there at once, or one taken and not given yet.
    ready: Option<Result<Outcome, Error>>,
    finished: bool,
}

impl Pending {
    /// Makes a request.
    pub(crate) fn begin(lab: &Lab, request: &Request<'_>) -> Result<Pending, Error> {
        let (slot, received) = send(request, |writer| lab.shared.calls.begin(writer))?;
        let ready = received.as_ref().map(outcome);
        Ok(Pending { lab: lab.clone(), slot, finished: ready.is_some(), ready })
    }

    /// Makes a request and waits for its outcome, however long it takes.
    pub(crate) fn complete(lab: &Lab, request: &Request<'_>) -> Result<Outcome, Error> {
        let (slot, received) = send(request, |writer| lab.shared.calls.begin(writer))?;
        match &received {
            Some(received) => outcome(received),
            None => Pending { lab: lab.clone(), slot, ready: None, finished: false }.finish(),
        }
    }

    /// The outcome, if it comes within `limit`. It is given once; after that, `None`.
    pub fn wait(&mut self, limit: Duration) -> Option<Result<Outcome, Error>> {
        if let Some(ready) = self.ready.take() {
            return Some(ready);
        }
        if self.finished {
            return None;
        }
        let received = self.lab.shared.calls.wait(self.slot, limit)?;
        self.finished = true;
        Some(outcome(&received))
    }

    /// Whether [`Pending::wait`] would give the outcome at once, or has given it. It looks, and takes nothing in from the
    /// link: a wait of any thread does that, or [`Watch::progress`](crate::Watch::progress).
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.finished || self.lab.shared.calls.is_answered(self.slot)
    }

    /// The outcome, however long it takes.
    ///
    /// # Errors
    /// The operation's error.
    pub fn finish(mut self) -> Result<Outcome, Error> {
        loop {
            if let Some(outcome) = self.wait(Duration::MAX) {
                return outcome;
            }
        }
    }

    /// Calls `callback` once [`Pending::wait`] would give the outcome at once, on the thread that brings it.
    pub fn notify(&self, callback: Box<dyn FnOnce() + Send>) {
        if self.finished {
            callback();
        } else {
            self.lab.shared.calls.notify(self.slot, callback);
        }
    }

    /// Asks for the operation's end. It still ends exactly once: with [`Code::Cancelled`], or as it would have.
    pub fn cancel(&self) {
        if !self.finished {
            tell(&self.lab.shared.calls, Some(self.slot), &Request::Cancel);
        }
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if self.finished {
            return;
        }
        self.cancel();
        // The answer comes at once, or the link is gone and says so.
        if let Some(Ok(received)) = self.lab.shared.calls.wait_uncollected(self.slot, Duration::from_secs(1))
            && let Ok(Answer::Tuple(_, lease)) = Answer::decode(received.kind, &received.body, &received.bulk)
        {
            give_back(&self.lab.shared, self.slot, lease);
        }
        self.lab.shared.calls.forget(self.slot);
    }
}

/// Undoes a take whose tuple nobody wants any more.
fn give_back(shared: &Shared, slot: Slot, lease: Option<Attempt>) {
    match lease {
        None => tell(&shared.calls, Some(slot), &Request::Return),
        Some(attempt) => {
            let release = Request::Release { lease: attempt.lease };
            // If the link is gone, so is the lease.
            if let Ok((released, None)) = send(&release, |writer| shared.calls.begin(writer)) {
                shared.calls.forget(released);
            }
        }
    }
}

/// Sends what is not answered.
pub(crate) fn tell(calls: &Calls, about: Option<Slot>, request: &Request<'_>) {
    // If it cannot be sent the link is gone, and whoever waits learns that.
    let _ = send(request, |writer| calls.tell(about, writer));
}

/// Hands a request to the host, keeping what the request itself found wrong.
fn send<T>(
    request: &Request<'_>,
    hand_over: impl FnOnce(&dyn quintet_runtime::Request) -> Result<T, CallError>,
) -> Result<T, Error> {
    let too_large = Cell::new(None);
    let writer = |out: &mut dyn quintet_contract::Outbox, to, token, settled| {
        request.send(out, to, token, settled).map_err(|error| match error {
            RequestError::Link(error) => error,
            RequestError::TooLarge(what) => {
                too_large.set(Some(what));
                quintet_contract::SendError::Full
            }
        })
    };
    let handed = hand_over(&writer);
    match too_large.take() {
        Some(what) => Err(what.into()),
        None => Ok(handed?),
    }
}

fn outcome(received: &Result<Received, Code>) -> Result<Outcome, Error> {
    let received = received.as_ref().map_err(|code| CallError::Failed(*code))?;
    let answer = Answer::decode(received.kind, &received.body, &received.bulk)
        .map_err(|error| Error::new(Code::Malformed, format!("the space's answer: {error}")))?;
    Ok(match answer {
        Answer::Done => Outcome::Done,
        Answer::Tuple(tuple, lease) => Outcome::Tuple(tuple, lease),
        Answer::NoMatch => Outcome::NoMatch,
        Answer::Count(count) => Outcome::Count(count),
        Answer::State(state) => Outcome::State(state),
        Answer::Error(refusal) => return Err(Error::new(refusal.code, refusal.text)),
    })
}

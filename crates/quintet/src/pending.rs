//! An operation under way.

mod future;

use crate::heartbeat::Renewal;
use crate::lab::Shared;
use crate::{Cause, Error, Granted, Lab, ReplicaRole};
use quintet_contract::Outbox;
use quintet_errors::Code;
use quintet_replicated::Leader;
use quintet_replicated::codec::LEADER;
use quintet_runtime::{Answer as Received, CallError, Calls, Pending as Slot};
use quintet_tuple_space::client::{Spread, ask_routes};
use quintet_tuple_space::{
    Answer, Attempt, Collected, Events, Page, PlannedRequest, Refusal, Request, Routes, SpaceNumber,
    SpacesPage, State, Tuple, Witness,
};
use quintet_wire::Decode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How long a drop waits for the answer to its cancel: as a rule it comes at once. Later it is seen to when it comes.
const SOON: Duration = Duration::from_millis(200);

/// What an operation came to.
#[derive(Clone, PartialEq, Debug)]
pub enum Outcome {
    /// It had its effect.
    Done,
    /// A tuple, and its lease if one was asked for.
    Tuple(Tuple, Option<Granted>),
    /// A tuple that a [`Group`](crate::Group) has read, and which it was.
    Witnessed(Tuple, Witness),
    /// The tuple of a select: which of its templates it matches, counted from 0, and its lease if one was asked for.
    Selected(usize, Tuple, Option<Granted>),
    /// No tuple matched.
    NoMatch,
    /// A count.
    Count(u64),
    /// The state of the space.
    State(Box<State>),
    /// A page of a listing.
    Page(Page),
    /// Named spaces.
    Spaces(SpacesPage),
    /// A page of the tuples that match.
    Collected(Collected),
    /// What happened in the space, or what is there.
    Events(Events),
}

/// An operation under way. Dropped before it is done, it is cancelled; a tuple that was already on its way goes back to
/// its old place. It is a future as well.
#[must_use = "an operation that is dropped is cancelled"]
pub struct Pending {
    lab: Lab,
    space: SpaceNumber,
    slot: Slot,
    /// Given to the program, or kept.
    finished: AtomicBool,
    /// Of the lease asked for, if one was.
    renewal: Option<Renewal>,
    /// What a space of an earlier version does not have, if it may not know it.
    newer: Option<&'static str>,
    /// It tells something, so that whatever answers it but a refusal means that it was heard.
    tells: bool,
    /// Made when it is first polled as a future.
    task: Option<future::Task>,
}

impl Pending {
    /// Makes a request.
    pub(crate) fn begin(lab: &Lab, space: SpaceNumber, request: &Request<'_>) -> Result<Pending, Error> {
        Pending::begin_with(lab, space, request, None)
    }

    /// Makes a request for a lease, which is renewed from then on.
    pub(crate) fn begin_lease(
        lab: &Lab,
        space: SpaceNumber,
        request: &Request<'_>,
        renewal: Renewal,
    ) -> Result<Pending, Error> {
        Pending::begin_with(lab, space, request, Some(renewal))
    }

    fn begin_with(
        lab: &Lab,
        space: SpaceNumber,
        request: &Request<'_>,
        renewal: Option<Renewal>,
    ) -> Result<Pending, Error> {
        let calls = &lab.shared.calls;
        let slot = send(&lab.shared, space, request, |writer| calls.begin(writer))?;
        let mut pending = Pending::of_slot(lab, space, slot);
        (pending.renewal, pending.newer) = (renewal, newer(request));
        if !calls.is_watched() {
            lab.shared.heartbeat.begun();
        }
        Ok(pending)
    }

    /// Makes a request and waits for its outcome, however long it takes.
    pub(crate) fn complete(lab: &Lab, space: SpaceNumber, request: &Request<'_>) -> Result<Outcome, Error> {
        let answer = answer(&lab.shared.calls, &Pending::ask(lab, space, request)?)?;
        outcome(answer, None, newer(request))
    }

    /// As [`Pending::complete`]. Not `Ok` within: why the space cannot read the request, as one of an earlier version says of what it does not know.
    pub(crate) fn complete_if_known(
        lab: &Lab,
        space: SpaceNumber,
        request: &Request<'_>,
    ) -> Result<Result<Outcome, String>, Error> {
        match answer(&lab.shared.calls, &Pending::ask(lab, space, request)?)? {
            Answer::Error(Refusal { code: Code::Malformed, text }) => Ok(Err(text)),
            answer => outcome(answer, None, None).map(Ok),
        }
    }

    /// Where everything of the space is, if it has several managers: asks how it is, and if it is one of several, the directory.
    pub(crate) fn managers(lab: &Lab) -> Result<Option<Box<Routes>>, Error> {
        let calls = &lab.shared.calls;
        match answer(calls, &Pending::ask(lab, SpaceNumber::UNNAMED, &Request::Status)?)? {
            Answer::Moved(_) => {}
            other => return outcome(other, None, None).map(|_| None),
        }
        let failed = |error| Error::of_call(&error, calls.lost());
        let writer = |out: &mut dyn Outbox, to, token, _| ask_routes(out, to, token);
        let slot = calls.begin(&writer).map_err(failed)?;
        match answer(calls, &Pending::of_slot(lab, SpaceNumber::UNNAMED, slot).received())? {
            Answer::Routes(routes) => Ok(Some(routes).filter(|routes| routes.addresses.len() > 1)),
            other => outcome(other, None, None).map(|_| None),
        }
    }

    /// What the replica does with which this is linked.
    pub(crate) fn role(lab: &Lab) -> Result<ReplicaRole, Error> {
        let received = Pending::ask(lab, SpaceNumber::UNNAMED, &Request::Status)?;
        match &received {
            Ok(received) if received.kind == LEADER => role(&received.body),
            _ => answer(&lab.shared.calls, &received).map(|_| ReplicaRole::Leads),
        }
    }

    /// Has the tuples of these types spread over the managers of the space by the value of a field; done when they are.
    pub(crate) fn spread(lab: &Lab, spread: &Spread) -> Result<Pending, Error> {
        let calls = &lab.shared.calls;
        let writer = |out: &mut dyn Outbox, to, token, _| spread.send(out, to, token);
        let slot = calls.begin(&writer).map_err(|error| Error::of_call(&error, calls.lost()))?;
        let mut pending = Pending::of_slot(lab, SpaceNumber::UNNAMED, slot);
        pending.tells = true;
        Ok(pending)
    }

    /// As [`Pending::spread`] of a space with one manager, which has nothing to do: done once it answers.
    pub(crate) fn nothing_to_spread(lab: &Lab, space: SpaceNumber) -> Result<Pending, Error> {
        let mut pending = Pending::begin(lab, space, &Request::Status)?;
        pending.tells = true;
        Ok(pending)
    }

    fn of_slot(lab: &Lab, space: SpaceNumber, slot: Slot) -> Pending {
        let (lab, finished, tells) = (lab.clone(), AtomicBool::new(false), false);
        Pending { lab, space, slot, finished, renewal: None, newer: None, tells, task: None }
    }

    fn received(mut self) -> Result<Received, Code> {
        loop {
            if let Some(received) = self.receive(Duration::MAX) {
                return received;
            }
        }
    }

    /// Makes a request and waits for what comes.
    fn ask(lab: &Lab, space: SpaceNumber, request: &Request<'_>) -> Result<Result<Received, Code>, Error> {
        let calls = &lab.shared.calls;
        let (slot, received) = send(&lab.shared, space, request, |writer| calls.ask(writer))?;
        if let Some(received) = received {
            return Ok(received);
        }
        Ok(Pending::of_slot(lab, space, slot).received())
    }

    /// The outcome, if it comes within `limit`. It is given once; after that, `None`.
    pub fn wait(&mut self, limit: Duration) -> Option<Result<Outcome, Error>> {
        let received = self.receive(limit)?;
        Some(self.outcome(&received))
    }

    /// What comes within `limit`, once.
    fn receive(&mut self, limit: Duration) -> Option<Result<Received, Code>> {
        if self.is_finished() {
            return None;
        }
        let received = self.lab.shared.calls.wait(self.slot, limit)?;
        *self.finished.get_mut() = true;
        Some(received)
    }

    fn outcome(&self, received: &Result<Received, Code>) -> Result<Outcome, Error> {
        match answer(&self.lab.shared.calls, received)? {
            Answer::Routes(_) | Answer::State(_) if self.tells => Ok(Outcome::Done),
            answer => outcome(answer, self.renewal.as_ref(), self.newer),
        }
    }

    /// As [`Pending::wait`], and the outcome stays: dropped, the operation is still undone. [`Pending::keep`] makes it the
    /// program's. For programs that may yet turn away from what they see, as one that a signal interrupts.
    #[must_use]
    pub fn peek(&self, limit: Duration) -> Option<Result<Outcome, Error>> {
        if self.is_finished() {
            return None;
        }
        let received = self.lab.shared.calls.wait_uncollected(self.slot, limit)?;
        Some(self.outcome(&received))
    }

    /// Makes an outcome that [`Pending::peek`] has shown the program's own: nothing is undone any more. Before there is one it
    /// does nothing.
    ///
    /// No other thread may wait for it or peek meanwhile: what is kept has no outcome any more.
    pub fn keep(&self) {
        let calls = &self.lab.shared.calls;
        if calls.is_answered(self.slot) && !self.finished.swap(true, Ordering::AcqRel) {
            calls.forget(self.slot);
        }
    }

    /// Whether [`Pending::wait`] would give the outcome at once, or has given it. It looks, and takes nothing in from the
    /// link: a wait of any thread does that, or [`Watch::progress`](crate::Watch::progress).
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.is_finished() || self.lab.shared.calls.is_answered(self.slot)
    }

    fn is_finished(&self) -> bool {
        self.finished.load(Ordering::Acquire)
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

    /// Calls `callback` once [`Pending::wait`] would give the outcome at once: now, or on the thread that brings it, at the
    /// end of a turn of whatever call or [`Watch::progress`](crate::Watch::progress) that thread is in. The callback may call
    /// the space, and that call then goes on after it. An operation that is dropped before it is done may never call.
    pub fn notify(&self, callback: Box<dyn FnOnce() + Send>) {
        if self.is_finished() {
            callback();
        } else {
            self.lab.shared.calls.notify(self.slot, callback);
        }
    }

    /// Asks for the operation's end. It still ends exactly once: with [`Code::Cancelled`], or as it would have.
    pub fn cancel(&self) {
        if !self.is_finished() {
            tell(&self.lab.shared.calls, Some(self.slot), &Request::Cancel);
        }
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if self.is_finished() {
            return;
        }
        if !self.is_done() {
            self.cancel();
        }
        let (shared, space, slot) = (&self.lab.shared, self.space, self.slot);
        if shared.calls.wait_uncollected(slot, SOON).is_some() {
            return give_up(shared, space, slot);
        }
        // Until it comes its token counts as unsettled, so that the tuple can be returned then.
        let shared = Arc::downgrade(shared);
        let when_it_comes =
            move || shared.upgrade().into_iter().for_each(|shared| give_up(&shared, space, slot));
        self.lab.shared.calls.notify(slot, Box::new(when_it_comes));
    }
}

/// Closes an answered slot that nobody wants any more, and undoes a take.
fn give_up(shared: &Shared, space: SpaceNumber, slot: Slot) {
    if let Some(Ok(received)) = shared.calls.wait_uncollected(slot, Duration::ZERO) {
        match Answer::decode(received.kind, &received.body, &received.bulk) {
            Ok(Answer::Tuple(_, lease) | Answer::Selected(_, _, lease)) => {
                give_back(shared, space, slot, lease);
            }
            Ok(Answer::Collected(page)) if !page.tuples.is_empty() => give_back(shared, space, slot, None),
            _ => {}
        }
    }
    shared.calls.forget(slot);
}

/// Returns what a take has, or a page.
fn give_back(shared: &Shared, space: SpaceNumber, slot: Slot, lease: Option<Attempt>) {
    match lease {
        None => tell(&shared.calls, Some(slot), &Request::Return),
        Some(attempt) => {
            let release = Request::Release { lease: attempt.lease };
            // If the link is gone, so is the lease.
            if let Ok(released) = send(shared, space, &release, |writer| shared.calls.begin(writer)) {
                shared.calls.forget(released);
            }
        }
    }
}

/// Sends what is not answered, and reaches all spaces.
pub(crate) fn tell(calls: &Calls, about: Option<Slot>, request: &Request<'_>) {
    // If it cannot be sent the link is gone, and whoever waits learns that.
    let _ = request.planned().map(|planned| hand_over(calls, &planned, |writer| calls.tell(about, writer)));
}

/// Closes for good. A take that is on its way, or waits, takes nothing that nobody sees any more.
pub(crate) fn close(calls: &Calls) {
    let farewell = [&Request::Cancel, &Request::Return].map(|request| {
        let planned = request.planned().expect("it carries nothing that could be too large");
        move |out: &mut dyn Outbox, to, token, settled| planned.send(out, to, token, settled)
    });
    calls.close(&farewell.each_ref().map(|words| words as &dyn quintet_runtime::Request));
}

/// Makes a request, packed where that is sooner there. What is wrong with the request itself is found before it is handed to the host.
fn send<T>(
    shared: &Shared,
    space: SpaceNumber,
    request: &Request<'_>,
    how: impl FnOnce(&dyn quintet_runtime::Request) -> Result<T, CallError>,
) -> Result<T, Error> {
    let planned = request.planned()?.to_space(space);
    hand_over(&shared.calls, &shared.packer.pack(planned, &shared.calls), how)
}

/// Hands a request to the host.
fn hand_over<T>(
    calls: &Calls,
    planned: &PlannedRequest<'_>,
    how: impl FnOnce(&dyn quintet_runtime::Request) -> Result<T, CallError>,
) -> Result<T, Error> {
    let writer = |out: &mut dyn Outbox, to, token, settled| planned.send(out, to, token, settled);
    how(&writer).map_err(|error| Error::of_call(&error, calls.lost()))
}

/// Reads what came.
///
/// # Errors
/// The request failed on its way, or what came is no answer. A refusal is an answer.
fn answer(calls: &Calls, received: &Result<Received, Code>) -> Result<Answer, Error> {
    let failed = |code: &Code| Error::of_call(&CallError::Failed(*code), calls.lost());
    let received = received.as_ref().map_err(failed)?;
    if received.kind == LEADER {
        return Err(no_leader(&received.body));
    }
    Answer::decode(received.kind, &received.body, &received.bulk)
        .map_err(|error| Error::new(Code::Malformed, format!("the space's answer: {error}")))
}

/// What a replica says that does not lead.
///
/// # Errors
/// `Malformed`.
fn role(body: &[u8]) -> Result<ReplicaRole, Error> {
    match Leader::decode_all(body) {
        Ok(Leader { has_no_log: true, .. }) => Ok(ReplicaRole::HasNoLog),
        Ok(Leader { node: Some(node), .. }) => Ok(ReplicaRole::Follows(node.0)),
        Ok(Leader { node: None, .. }) => Ok(ReplicaRole::KnowsNoLeader),
        Err(error) => Err(Error::new(Code::Malformed, format!("the replica's answer: {error}"))),
    }
}

/// Why it does not serve.
fn no_leader(body: &[u8]) -> Error {
    let text = match role(body) {
        Ok(ReplicaRole::HasNoLog) => "it has no log of the space, so that it has no vote".to_owned(),
        Ok(ReplicaRole::Follows(leader)) => format!("this replica does not lead: replica {leader} does"),
        _ => "no replica leads now".to_owned(),
    };
    Error::new(Code::Unreachable, text)
}

/// Of what a space of an earlier version may not know: what it is called.
fn newer(request: &Request<'_>) -> Option<&'static str> {
    if request.has_ranges() {
        return Some("ranges");
    }
    if request.has_expiries() {
        return Some("tuples that expire");
    }
    match request {
        Request::Replace { .. } | Request::Select { .. } => Some("selects and replacements"),
        Request::Collect { .. } | Request::CollectInto { .. } => Some("collections"),
        Request::Watch { .. } | Request::Look { .. } => Some("watches"),
        _ => None,
    }
}

fn outcome(answer: Answer, renewal: Option<&Renewal>, newer: Option<&str>) -> Result<Outcome, Error> {
    let granted = |lease: Option<Attempt>| {
        let granted = lease.zip(renewal.cloned());
        granted.map(|(attempt, renewal)| Granted { attempt, renewal })
    };
    Ok(match answer {
        Answer::Done => Outcome::Done,
        Answer::Tuple(tuple, lease) => Outcome::Tuple(tuple, granted(lease)),
        Answer::Selected(which, tuple, lease) => Outcome::Selected(which, tuple, granted(lease)),
        Answer::Witnessed(tuple, witness) => Outcome::Witnessed(tuple, witness),
        Answer::NoMatch => Outcome::NoMatch,
        Answer::Count(count) => Outcome::Count(count),
        Answer::State(state) => Outcome::State(state),
        Answer::Page(page) => Outcome::Page(page),
        Answer::Spaces(page) => Outcome::Spaces(page),
        Answer::Routes(_) | Answer::Moved(_) => {
            let text = "the space has several managers, and this connection was made to one";
            return Err(Error::new(Code::Malformed, text));
        }
        Answer::Error(Refusal { code: Code::Malformed, text }) if let Some(newer) = newer => {
            let text = format!("{text}; a server from before {newer} does not have them");
            return Err(Error::new(Code::Malformed, text));
        }
        Answer::Collected(page) => Outcome::Collected(page),
        Answer::Events(events) => Outcome::Events(events),
        Answer::TooOld { oldest, newest } => return Err(too_old(oldest, newest)),
        Answer::Error(refusal) => return Err(Error::new(refusal.code, refusal.text)),
    })
}

fn too_old(oldest: u64, newest: u64) -> Error {
    let text = format!(
        "events are kept behind number {oldest}, up to {newest}: begin with the tuples that are there, and go on with what follows"
    );
    Error::new(Cause::TooOld(Some(oldest)), text)
}

#[cfg(test)]
mod tests;

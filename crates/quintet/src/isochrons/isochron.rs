//! One isochron: put together, begun, waited for.

use super::board::{Board, Done};
use super::error::of_misuse;
use super::host::Core;
use super::no_value::of_read;
use super::under_way::What;
use crate::{Bytes, Code, Error, NoValue};
use quintet_contract::{NodeId, OwnedFrame, Token};
use quintet_isotach::codec::{Completed, SUBMIT, Submission};
use quintet_isotach::{Composer, Misuse, Operation, Place, Refusal, Variable, View};
use quintet_wire::encode_to_vec;
use quintet_wire::registry::{PORT_CALLERS, PORT_SESSION};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::{self, ThreadId};
use std::time::Duration;

/// An isochron that is put together: messages, reads and writes that are all executed at one instant. Made by [`Isonet::isochron`](super::Isonet::isochron), one at a time
/// on each thread. It has 1 to 1024 operations, of 60 KiB less 64 bytes all together beside its longest message, which has 64 KiB at most, and its reads give 60 KiB less 64 bytes at most.
///
/// It ends with [`execute`](Isochron::execute), [`begin`](Isochron::begin) or [`abandon`](Isochron::abandon). Dropped with operations in it, nothing of it happens, and
/// [`Isonet::close`](super::Isonet::close) says so.
#[must_use = "nothing of an isochron happens before it is executed or begun"]
pub struct Isochron {
    core: Arc<Core>,
    composer: Composer,
    /// The view that it was put together in.
    view: View,
    /// Whether it is among those that have not ended, as it has an operation.
    is_counted: bool,
    /// Whose thread has it open; none: it is bound to none.
    thread: Option<ThreadId>,
    is_ended: bool,
}

/// What became of an isochron that was executed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Executed {
    /// Where it stands in the one order.
    pub place: Place,
    /// What its reads gave, in the order in which they were said: values, or why there is none.
    pub values: Vec<Result<Bytes, NoValue>>,
}

impl Isochron {
    pub(super) fn open(core: &Arc<Core>) -> Result<Isochron, Error> {
        if let Some(end) = core.board.end() {
            return Err(end);
        }
        let thread = thread::current().id();
        if !core.open(thread) {
            let text = "an isochron is begun within another on this thread: execute, begin or abandon that one first";
            return Err(Error::new(Code::BadValue, text));
        }
        let mut isochron = Isochron::empty(core);
        isochron.thread = Some(thread);
        Ok(isochron)
    }

    pub(super) fn open_unbound(core: &Arc<Core>) -> Result<Isochron, Error> {
        core.board.end().map_or_else(|| Ok(Isochron::empty(core)), Err)
    }

    fn empty(core: &Arc<Core>) -> Isochron {
        let (view, isonet) = core.present();
        let mut composer = Composer::without_places(isonet, core.me);
        composer.begin().expect("it is new");
        Isochron { core: Arc::clone(core), composer, view, is_counted: false, thread: None, is_ended: false }
    }

    /// The members of the view that it is put together in, ascending. If it has messages and somebody has come back behind that view, it is not executed
    /// ([`IsonetCause::ViewChanged`](crate::IsonetCause)): so a message to all of these is one to all.
    #[must_use]
    pub fn members(&self) -> Vec<u16> {
        self.composer.isonet().topology().nodes().map(|node| node.0).collect()
    }

    /// Sends a message to a handler of a member, this one as well.
    ///
    /// # Errors
    /// [`Code::BadValue`]: there is no such member. [`Code::PeerDied`]: it has ended, and is not in the view. [`Code::TooLarge`]: the isochron becomes too large. It goes on
    /// without the message.
    pub fn send(&mut self, member: u16, handler: u32, bytes: impl Into<Bytes>) -> Result<(), Error> {
        self.add(|composer| composer.send(NodeId(member), handler, bytes.into()))
    }

    /// Sends a message to a handler of each of its [`members`](Isochron::members), this one as well.
    ///
    /// # Errors
    /// [`Code::TooLarge`]: the isochron becomes too large. It goes on without any of these messages.
    pub fn send_all(&mut self, handler: u32, bytes: impl Into<Bytes>) -> Result<(), Error> {
        let (before, bytes) = (self.composer.clone(), bytes.into());
        let sent = self.members().iter().try_for_each(|member| self.send(*member, handler, bytes.clone()));
        if sent.is_err() {
            self.composer = before;
        }
        sent
    }

    /// Reads a variable, behind what the isochron does before it. Gives which of [`Executed::values`] its value is.
    ///
    /// # Errors
    /// [`Code::BadValue`]: there is no such variable. [`IsonetCause::NoValue`](crate::IsonetCause): all members that had a copy have ended. [`Code::TooLarge`]: the isochron
    /// becomes too large, or its values.
    pub fn read(&mut self, variable: Variable) -> Result<usize, Error> {
        self.add(|composer| composer.read(variable))
    }

    /// Gives a variable a value, of its size, at all its copies.
    ///
    /// # Errors
    /// As [`read`](Isochron::read). [`Code::BadValue`]: the value has another size.
    pub fn write(&mut self, variable: Variable, value: impl Into<Bytes>) -> Result<(), Error> {
        self.add(|composer| composer.write(variable, value.into()))
    }

    /// Reserves the place of a write, at all copies: who reads the variable behind it waits for the value, which [`assign`](Isochron::assign) gives later. A member has one
    /// reserved place of a variable at a time.
    ///
    /// # Errors
    /// As [`read`](Isochron::read). That a place is reserved already is found when the isochron is executed.
    pub fn schedule(&mut self, variable: Variable) -> Result<(), Error> {
        self.add(|composer| composer.sched(variable))
    }

    /// Gives the value for the place that this member has reserved.
    ///
    /// # Errors
    /// As [`write`](Isochron::write). That no place is reserved is found when the isochron is executed.
    pub fn assign(&mut self, variable: Variable, value: impl Into<Bytes>) -> Result<(), Error> {
        self.add(|composer| composer.assign(variable, value.into()))
    }

    fn add<T>(&mut self, add: impl FnOnce(&mut Composer) -> Result<T, Misuse>) -> Result<T, Error> {
        let added = add(&mut self.composer).map_err(|misuse| self.core.misuse(&misuse))?;
        if !core::mem::replace(&mut self.is_counted, true) {
            self.core.unended.fetch_add(1, Ordering::Relaxed);
        }
        Ok(added)
    }

    /// Begins it, to be waited for later. This may be said in a handler.
    ///
    /// # Errors
    /// [`Code::BadValue`]: it has no operation. As [`execute`](Isochron::execute), where that is known here.
    pub fn begin(mut self) -> Result<PendingIsochron, Error> {
        self.is_ended = true;
        self.submit(Board::open)
    }

    /// Begins it if there is room for one more: [`begin`](Isochron::begin) begins it in any case, and one that is one too many is refused later, as who waits for it is told. What
    /// this has begun is empty from then on.
    ///
    /// # Errors
    /// [`Code::Busy`]: it would have to wait, and is what it was before: to be begun again. 240 isochrons of this member wait, or more have begun behind the first of those than may be;
    /// 256 for one that gives more reserved places their values than it reserves. Otherwise as [`begin`](Isochron::begin).
    pub fn try_begin(&mut self) -> Result<PendingIsochron, Error> {
        let pending = self.submit(Board::open_if_room)?;
        self.composer.abandon().and_then(|()| self.composer.begin()).expect("it is open, and then it is not");
        self.no_longer_counts();
        Ok(pending)
    }

    /// It is none of those that have operations and have not ended.
    fn no_longer_counts(&mut self) {
        if core::mem::take(&mut self.is_counted) {
            self.core.unended.fetch_sub(1, Ordering::Relaxed);
        }
    }

    fn what(&self) -> What {
        let count = |is_one: fn(&Operation) -> bool| {
            self.composer.operations().iter().filter(|operation| is_one(operation)).count()
        };
        let given = count(|operation| matches!(operation, Operation::Assign(..)));
        What::Isochron { gives_values: given > count(|operation| matches!(operation, Operation::Sched(_))) }
    }

    /// Hands it to its node, under the number that `open` gives it.
    fn submit(&self, open: fn(&Board, What) -> Result<Token, Error>) -> Result<PendingIsochron, Error> {
        if self.composer.operations().is_empty() {
            return Err(of_misuse(&Misuse::Empty));
        }
        let token = open(&self.core.board, self.what())?;
        let submission = Submission { operations: self.composer.operations(), view: Some(self.view) };
        let (body, bulk) = (encode_to_vec(&submission).into(), submission.bulk());
        let frame = OwnedFrame { kind: SUBMIT, token, body, bulk };
        self.core.node.send(PORT_CALLERS, PORT_SESSION, frame);
        Ok(PendingIsochron { core: Arc::clone(&self.core), token, view: self.view, is_over: false })
    }

    /// Executes it: waits until all its receivers have.
    ///
    /// # Errors
    /// - [`Code::BadValue`]: it has no operation, reserves a place twice, or gives a value for none; a handler would wait for itself.
    /// - [`Code::Busy`]: 240 isochrons of this member wait; 256 for one that gives more reserved places their values than it reserves. It had no effect.
    /// - [`IsonetCause::ViewChanged`](crate::IsonetCause): a member has ended, or come back, and the others went on before it was executed, which nobody has done: begin it again.
    /// - The others of [`IsonetCause`](crate::IsonetCause): this member has stopped. It may have been executed.
    /// - [`Code::Closed`]: the isonet was closed.
    pub fn execute(mut self) -> Result<Executed, Error> {
        if self.core.board.is_poller() {
            self.is_ended = true;
            return Err(super::error::would_wait_for_itself());
        }
        self.begin()?.finish()
    }

    /// Gives it up: nothing of it happens.
    pub fn abandon(mut self) {
        self.is_ended = true;
    }
}

impl Drop for Isochron {
    fn drop(&mut self) {
        self.no_longer_counts();
        self.thread.into_iter().for_each(|thread| self.core.shut(thread));
        let operations = self.composer.operations().len();
        if !self.is_ended && operations > 0 {
            self.core.board.dropped(operations);
        }
    }
}

/// An isochron under way. Dropped, it goes on.
#[must_use = "whether an isochron was executed is known by waiting for it"]
pub struct PendingIsochron {
    core: Arc<Core>,
    token: Token,
    view: View,
    /// Its answer was given.
    is_over: bool,
}

impl PendingIsochron {
    /// What became of it, if that is known within `limit`. It is given once; after that, `None`.
    pub fn wait(&mut self, limit: Duration) -> Option<Result<Executed, Error>> {
        let answer = self.core.board.wait(self.token, limit)?;
        self.is_over = true;
        // What was right in the view in which it was said may not be in the next one.
        let answer = answer.map_err(|error| match self.core.present().0 {
            now if now != self.view && error.code() == Code::BadValue => {
                self.core.refusal(&Refusal::ViewChanged(now))
            }
            _ => error,
        });
        Some(answer.map(|done| match done {
            Done::Executed(completed) => Executed::of(completed),
            Done::Arrived => unreachable!("an isochron is none of a node's plain messages"),
        }))
    }

    /// Whether [`PendingIsochron::wait`] would say at once, or has said.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.core.board.is_answered(self.token)
    }

    /// Calls back once [`is_done`](PendingIsochron::is_done): now, or on the thread that brings the answer, which executes isochrons. The callback hands over and returns.
    pub fn notify(&self, callback: Box<dyn FnOnce() + Send>) {
        self.core.board.notify(Some(self.token), callback);
    }

    /// Hands over what becomes of it: now, or on the thread that brings the answer, which executes isochrons. There the callback may begin isochrons, and not wait.
    pub fn then(mut self, callback: impl FnOnce(Result<Executed, Error>) + Send + 'static) {
        let (core, token) = (Arc::clone(&self.core), self.token);
        let hand_over = move || {
            if let Some(executed) = self.wait(Duration::ZERO) {
                callback(executed);
            }
        };
        core.board.notify(Some(token), Box::new(hand_over));
    }

    /// What became of it, however long it takes.
    ///
    /// # Errors
    /// As [`Isochron::execute`].
    pub fn finish(mut self) -> Result<Executed, Error> {
        loop {
            if let Some(executed) = self.wait(Duration::MAX) {
                return executed;
            }
        }
    }
}

impl Drop for PendingIsochron {
    fn drop(&mut self) {
        if !self.is_over {
            self.core.board.forget(self.token);
        }
    }
}

impl Executed {
    fn of(Completed { place, values, .. }: Completed) -> Executed {
        Executed { place, values: values.into_iter().map(of_read).collect() }
    }
}

//! The engine driven by its callers: a process that calls, in whichever of its threads.
//!
//! A call takes the lock, hands its request to the engine, and finds the answer in its slot, often before the lock is given back.
//! Who must wait sleeps; while there are links, one of the sleepers takes turns of the engine for all.
//!
//! A process that was forked has none of the threads that may hold the lock. So there nothing takes it: calls are refused, and what
//! is not answered does nothing.
//!
//! ```text
//!                     nobody else waits at the links
//!   asks ------> wait_polling: turn, wait at the links, turn ... ---> answered: another sleeper takes over the links
//!     |                        ^
//!     |                        | the links are left
//!     +--------> wait_parked: sleeps until its slot is filled  -----> answered
//!                     somebody else waits at the links
//! ```

mod also;
mod beside;
mod event_loop;
mod keeping;
mod looking;
mod redialling;
#[cfg(test)]
mod tests;

use crate::engine::{Engine, Redials};
use crate::event::EventSink;
use crate::inlets::Inlets;
use crate::instance::Instance;
use crate::link_use::LinkUse;
use crate::request::Request;
use crate::services::RunningServices;
use crate::slots::{Answer, Callback, Slots};
use crate::watch::Watch;
use crate::write_behind::{Next, WriteBehind};
pub use keeping::Kept;
use quintet_clock::LiveClock;
use quintet_contract::{Address, Port, SendError, Span, Time, Token};
use quintet_errors::Code;
use quintet_link::{End, Maker};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicUsize, Ordering, fence};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, TryLockError};
use std::thread::Thread;
use std::time::Duration;

/// Why a call failed before or instead of an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CallError {
    /// The request was not accepted and had no effect.
    NotSent(SendError),
    /// The protocol could not have it answered; the request may have had its effect if its code says so.
    Failed(Code),
    /// This process was forked from the one that made the calls; nothing was done.
    Inherited,
}

/// A request under way. Its slot stays open until [`Calls::wait`] or [`Calls::forget`] closes it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Pending(pub Token);

/// Takes a result out of the slots, or looks at it there.
type Look<'a> = &'a dyn Fn(&mut Slots) -> Option<Result<Answer, Code>>;

/// How a wait went on.
enum Waited {
    Answered(Result<Answer, Code>),
    TimedOut,
    /// Something happened: look again.
    Woken,
}

/// A protocol that any thread of this process may call.
pub struct Calls {
    /// Whose threads use it. None: the system gave no memory to remember that.
    maker: Option<Maker>,
    engine: Mutex<Engine>,
    /// The protocol's address.
    at: Address,
    /// Another protocol of the process, if there is one; what is asked of a port that is neither goes to the first.
    beside: Option<Port>,
    /// Who answers, if it is another node.
    peer: Option<Address>,
    /// What its loss means, if that was said.
    loss: OnceLock<String>,
    /// None: the protocol has no links.
    inlets: Option<Mutex<Inlets>>,
    /// Tells of everything that comes, for whoever cannot wait until nobody polls. None: the system refused, or no links.
    arrivals: Option<Arc<OwnedFd>>,
    /// Made when it is first asked for.
    watch: OnceLock<Watch>,
    /// Set where requests may be written later than they are begun.
    write_behind: OnceLock<WriteBehind>,
    /// Threads that sleep because another one polls the links.
    parked: AtomicUsize,
    clock: LiveClock,
}

impl Calls {
    /// Runs a protocol at `at` for the callers of its node.
    #[must_use]
    pub fn embedded(at: Address, instance: Instance) -> Self {
        Calls::start(at, instance)
    }

    /// Runs a protocol that has its callers' requests answered by `peer`, over a link.
    ///
    /// # Errors
    /// The system refuses to watch the link.
    pub fn linked(at: Address, instance: Instance, peer: Address, end: End) -> io::Result<Self> {
        Calls::linked_with(at, instance, peer, end, LinkUse::default())
    }

    /// As [`linked`](Calls::linked), over a link that is used as `used` says; so are those that are made in its place.
    ///
    /// # Errors
    /// The system refuses to watch the link.
    pub fn linked_with(
        at: Address,
        instance: Instance,
        peer: Address,
        end: End,
        used: LinkUse,
    ) -> io::Result<Self> {
        let mut calls = Calls::start(at, instance);
        let mut inlets = Inlets::new(calls.clock);
        inlets.set_spin(used.spin);
        inlets.set_packets(used.packets);
        calls.arrivals = inlets.fd().ok();
        let mut engine = calls.lock();
        engine.depend_on(peer.node, Redials::Never);
        inlets.attach(&mut engine, calls.clock.now(), peer.node, vec![(at.port, peer.port)], end)?;
        calls.unlock(engine);
        (calls.inlets, calls.peer) = (Some(Mutex::new(inlets)), Some(peer));
        Ok(calls)
    }

    fn start(at: Address, instance: Instance) -> Self {
        let clock = LiveClock::start();
        let mut engine = Engine::new(at.node, Some(Slots::default()), RunningServices::default());
        engine.add(clock.now(), at.port, instance);
        Calls {
            maker: Maker::this_process().ok(),
            engine: Mutex::new(engine),
            at,
            beside: None,
            peer: None,
            loss: OnceLock::new(),
            inlets: None,
            arrivals: None,
            watch: OnceLock::new(),
            write_behind: OnceLock::new(),
            parked: AtomicUsize::new(0),
            clock,
        }
    }

    /// Lets requests that are begun close behind each other be written together, a fraction of a millisecond later. For links at
    /// which each writing costs a system call.
    pub fn write_behind(self: &Arc<Self>) {
        self.write_behind.get_or_init(|| WriteBehind::new(Arc::downgrade(self)));
    }

    /// Has the host's own events told to `sink` instead of to `tracing`, on whichever thread sees them.
    pub fn set_events(&self, sink: EventSink) {
        self.own().into_iter().for_each(|mut engine| engine.set_events(Arc::clone(&sink)));
    }

    /// Whether this process was forked from the one that made the calls.
    #[inline]
    pub fn is_inherited(&self) -> bool {
        self.maker.as_ref().is_some_and(|maker| !maker.is_this_process())
    }

    /// Makes a request and does not wait. Where [`Calls::write_behind`] was said, the peer may get it a little later.
    ///
    /// # Errors
    /// [`CallError::NotSent`], [`CallError::Inherited`].
    pub fn begin(&self, request: &dyn Request) -> Result<Pending, CallError> {
        self.begin_with(self.at.port, Slots::open, request)
    }

    /// The same; takes the answer if it is there at once.
    ///
    /// # Errors
    /// [`CallError::NotSent`], [`CallError::Inherited`].
    pub fn ask(&self, request: &dyn Request) -> Result<(Pending, Option<Result<Answer, Code>>), CallError> {
        let mut engine = self.own()?;
        let now = engine.time_of_burst(self.clock);
        let token = engine.slots().open();
        engine.submit(now, self.at.port, token, request)?;
        let answer = engine.slots().take(token);
        self.unlock(engine);
        Ok((Pending(token), answer))
    }

    /// Sends a frame that is not answered, about the request `about` if it is about one.
    ///
    /// # Errors
    /// [`CallError::NotSent`], [`CallError::Inherited`].
    pub fn tell(&self, about: Option<Pending>, request: &dyn Request) -> Result<(), CallError> {
        self.tell_with(self.at.port, about, request)
    }

    /// Ends it for good: what has no answer fails with [`Code::Closed`], and so does whatever is asked from now on. What was
    /// sent before still goes, and after it the `farewell`, each of it about every request without an answer; then the links are
    /// closed, by which the peers learn of it; a peer that reads nothing is waited for a second at most. An answer that is there can
    /// still be collected. A second call does nothing.
    pub fn close(&self, farewell: &[&dyn Request]) {
        let Ok(mut engine) = self.own() else { return };
        engine.close(self.clock, self.at.port, farewell);
        self.unlock(engine);
    }

    /// Gives up the answer: it will be dropped.
    pub fn forget(&self, pending: Pending) {
        let Ok(mut engine) = self.own() else { return };
        let watchers = engine.slots().close(pending.0);
        drop(engine);
        // Not under the lock: what a callback owns may make calls when it is dropped.
        drop(watchers);
    }

    /// Waits for the answer, `limit` at most, and takes it. In a forked process that is [`Code::Closed`].
    pub fn wait(&self, pending: Pending, limit: Duration) -> Option<Result<Answer, Code>> {
        self.wait_with(limit, pending, &|slots| slots.take(pending.0))
    }

    /// Waits for the answer and looks at it. Its slot stays open, so that the answer is not settled.
    pub fn wait_uncollected(&self, pending: Pending, limit: Duration) -> Option<Result<Answer, Code>> {
        self.wait_with(limit, pending, &|slots| slots.peek(pending.0))
    }

    fn wait_with(&self, limit: Duration, pending: Pending, look: Look<'_>) -> Option<Result<Answer, Code>> {
        let Ok(mut engine) = self.own() else { return Some(Err(Code::Closed)) };
        // Of many requests under way one burst brings many answers: the links are polled for the first of them only.
        let answer = look(engine.slots());
        if answer.is_some() {
            return answer;
        }
        let mut now = self.clock.now();
        let end = now + Span::from(limit);
        loop {
            let waited = match self.inlets() {
                Some(inlets) => self.wait_polling(inlets, engine, (now, end), pending, look),
                None => self.wait_parked(engine, end, pending, look),
            };
            match waited {
                Waited::Answered(answer) => return Some(answer),
                Waited::TimedOut => return None,
                Waited::Woken => (engine, now) = (self.lock(), self.clock.now()),
            }
        }
    }

    /// Polls the links for everybody, from now to the end given, until this caller has its answer.
    fn wait_polling<'a>(
        &'a self,
        mut inlets: MutexGuard<'a, Inlets>,
        mut engine: MutexGuard<'a, Engine>,
        (mut now, end): (Time, Time),
        pending: Pending,
        look: Look<'_>,
    ) -> Waited {
        loop {
            engine.slots().unwatch(pending.0);
            // What came in time is seen before time is said to have run out.
            engine.turn(&mut inlets, now);
            let answer = look(engine.slots());
            let is_over = answer.is_some() || now >= end;
            let until = if is_over { now } else { next_deadline(&engine, Some(&inlets), end) };
            let due = self.release(engine);
            if is_over || !due.is_empty() {
                self.leave(inlets, due);
                return match answer {
                    Some(answer) => Waited::Answered(answer),
                    None if is_over => Waited::TimedOut,
                    None => Waited::Woken,
                };
            }
            // It fails only for descriptors that are none.
            let _ = inlets.wait(Some(until.since(now).into()));
            (engine, now) = (self.lock(), self.clock.now());
        }
    }

    /// Lets a sleeper take over the polling, if there is one.
    fn hand_over(&self) {
        // With the fence in `wait_parked`: either this thread sees who sleeps, or the other sees that the links are free.
        fence(Ordering::SeqCst);
        if self.parked.load(Ordering::Relaxed) > 0 {
            let successor = self.lock().slots().any_waiting_thread();
            successor.iter().for_each(Thread::unpark);
        }
    }

    /// Sleeps once, until whoever brings the answer, or hands over the polling, wakes this thread.
    fn wait_parked(
        &self,
        mut engine: MutexGuard<'_, Engine>,
        end: Time,
        pending: Pending,
        look: Look<'_>,
    ) -> Waited {
        let now = self.clock.now();
        engine.wake(now);
        engine.end_step(now);
        let answer = look(engine.slots());
        if answer.is_some() || now >= end {
            engine.slots().unwatch(pending.0);
            self.unlock(engine);
            return answer.map_or(Waited::TimedOut, Waited::Answered);
        }
        let until = next_deadline(&engine, None, end);
        let watching = engine.slots().watch(pending.0);
        let due = self.release(engine);
        if !due.is_empty() {
            // They may sleep as well, and take for theirs what was to wake this wait: look again.
            due.into_iter().for_each(|callback| callback());
            return Waited::Woken;
        }
        self.parked.fetch_add(1, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        if watching && self.inlets().is_none() {
            std::thread::park_timeout(until.since(now).into());
        }
        self.parked.fetch_sub(1, Ordering::Relaxed);
        Waited::Woken
    }

    /// Calls `callback` once the answer is there, perhaps before this returns, on the thread that brings it. It may make
    /// calls of its own: that thread neither polls nor holds a lock meanwhile.
    pub fn notify(&self, pending: Pending, callback: Box<dyn FnOnce() + Send>) {
        let Ok(mut engine) = self.own() else { return callback() };
        let filled = engine.slots().notify(pending.0, callback);
        self.unlock(engine);
        filled.into_iter().for_each(|callback| callback());
    }

    /// Takes a burst from each link and does what is due. Never waits. While others poll the links it leaves them to them. For a
    /// thread that lets a program's requests go on while the program computes.
    pub fn progress(&self) {
        if self.is_inherited() {
            return;
        }
        let Some(mut inlets) = self.inlets() else { return self.wake_protocol() };
        inlets.attend();
        let due = self.turn(&mut inlets);
        self.leave(inlets, due);
    }

    /// Wakes the protocol if it is time.
    fn wake_protocol(&self) {
        let (mut engine, now) = (self.lock(), self.clock.now());
        engine.wake(now);
        engine.end_step(now);
        self.unlock(engine);
    }

    /// One turn of the engine. Whom to call of it.
    fn turn(&self, inlets: &mut Inlets) -> Vec<Callback> {
        let mut engine = self.lock();
        engine.turn(inlets, self.clock.now());
        self.release(engine)
    }

    /// Ends this thread's polling of the links: whoever watches hears of the next frame, or a sleeper takes over. Then calls
    /// what the polling has made due.
    fn leave(&self, mut inlets: MutexGuard<'_, Inlets>, due: Vec<Callback>) {
        let watch = self.watch.get();
        if let (Some(watch), deadline @ Some(_)) = (watch, inlets.deadline()) {
            // The links' own: a try to make one again waits for nothing that comes. Under the lock, as every deadline is noted.
            let engine = self.lock();
            watch.set_deadline(deadline, self.clock);
            drop(engine);
        }
        let left_behind = watch.filter(|_| !inlets.rest_all());
        drop(inlets);
        // Not before: an event loop that is rung finds the links free.
        left_behind.into_iter().for_each(Watch::ring);
        self.hand_over();
        due.into_iter().for_each(|callback| callback());
    }

    /// The links' receiving halves, if there are links and nobody else polls them.
    fn inlets(&self) -> Option<MutexGuard<'_, Inlets>> {
        match self.inlets.as_ref()?.try_lock() {
            Ok(inlets) => Some(inlets),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// The engine, if this process made it.
    ///
    /// # Errors
    /// [`CallError::Inherited`]: another thread of the process that made it may have had the lock at the fork, for good.
    #[inline]
    fn own(&self) -> Result<MutexGuard<'_, Engine>, CallError> {
        if self.is_inherited() { Err(CallError::Inherited) } else { Ok(self.lock()) }
    }

    #[inline]
    fn lock(&self) -> MutexGuard<'_, Engine> {
        // A panic inside `handle` would leave the protocol in an unknown state: going on is not safe.
        self.engine.lock().unwrap_or_else(|_| panic!("a protocol panicked earlier in this process"))
    }

    /// Gives the lock back, then wakes and calls whom the work under it has answered. For a thread that does not poll.
    fn unlock(&self, engine: MutexGuard<'_, Engine>) {
        self.release(engine).into_iter().for_each(|callback| callback());
    }

    /// Whether what was begun may be written later. An event loop waits at its descriptor, by which nobody knows that it waits.
    fn puts_off_writing(&self, engine: &Engine, now: Time, is_first: bool) -> bool {
        let Some(write_behind) = self.write_behind.get() else { return false };
        engine.has_to_flush() && self.watch.get().is_none() && write_behind.puts_off(now, is_first)
    }

    /// Writes what was put off.
    pub(crate) fn write_put_off(&self) -> Next {
        let engine = self.lock();
        let next = self.write_behind.get().map_or(Next::End, WriteBehind::wrote);
        self.unlock(engine);
        next
    }

    /// Ends what [`Calls::write_behind`] began. To be said by whoever holds the calls last, so that they end there and then.
    pub fn end_write_behind(&self) {
        if self.is_inherited() {
            return;
        }
        self.write_behind.get().into_iter().for_each(WriteBehind::end);
    }

    /// Gives the lock back when all is written, then wakes the threads that the work under it has answered. Whom to call after the
    /// polling.
    fn release(&self, mut engine: MutexGuard<'_, Engine>) -> Vec<Callback> {
        if engine.has_to_flush() {
            engine.end_burst(self.clock);
        }
        self.hand_back(engine)
    }

    /// Gives the lock back, then wakes the threads that the work under it has answered. Whom to call after the polling.
    fn hand_back(&self, mut engine: MutexGuard<'_, Engine>) -> Vec<Callback> {
        let (woken, due) = (engine.slots().woken(), engine.slots().due());
        if let Some(watch) = self.watch.get() {
            watch.set_deadline(engine.deadline(), self.clock);
            if engine.slots().brought() {
                watch.ring();
            }
        }
        drop(engine);
        woken.iter().for_each(Thread::unpark);
        due
    }
}

impl Drop for Calls {
    fn drop(&mut self) {
        self.end_write_behind();
    }
}

/// When there is something to do although nothing comes, `end` at the latest.
fn next_deadline(engine: &Engine, inlets: Option<&Inlets>, end: Time) -> Time {
    let inlets = inlets.and_then(Inlets::deadline);
    engine.deadline().into_iter().chain(inlets).fold(end, Time::min)
}

//! The embedded host: a protocol behind a mutex, run by the threads that call it.
//!
//! A call encodes its request, takes the lock, lets the protocol handle the frame, and finds the answer in its slot, often
//! before the lock is given back. Who must wait sleeps; while there is a link, one of the sleepers polls it for all.

use crate::calls_core::Core;
use crate::calls_outbox::Remote;
use crate::instance::Instance;
use crate::request::{Request, RequestBuffer};
use crate::slots::{Answer, Callback, Slots};
use crate::watch::Watch;
use quintet_clock::LiveClock;
use quintet_contract::{Address, Incarnation, Input, PeerChange, SendError, Span, Time, Token};
use quintet_errors::Code;
use quintet_link::{End, Receiver};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicUsize, Ordering, fence};
use std::sync::{Mutex, MutexGuard, OnceLock, TryLockError};
use std::thread::Thread;
use std::time::Duration;

/// Bursts in one [`Calls::advance`], so that a busy peer does not keep an event loop from its other work.
const BURSTS: usize = 16;

/// Why a call failed before or instead of an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CallError {
    /// The request was not accepted and had no effect.
    NotSent(SendError),
    /// The protocol could not have it answered; the request may have had its effect if its code says so.
    Failed(Code),
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
    core: Mutex<Core>,
    receiver: Option<Mutex<Box<dyn Receiver>>>,
    /// The receiving half's descriptor, for whoever cannot wait until nobody polls. None: the system refused, or no link.
    link: Option<OwnedFd>,
    /// Made when it is first asked for.
    watch: OnceLock<Watch>,
    /// Threads that sleep because another one polls the link.
    parked: AtomicUsize,
    clock: LiveClock,
}

impl Calls {
    /// Runs a protocol at `at` for the callers of its node.
    #[must_use]
    pub fn embedded(at: Address, instance: Instance) -> Self {
        Calls::start(at, instance, None, None)
    }

    /// Runs a protocol that talks to `peer` over a link.
    #[must_use]
    pub fn linked(
        at: Address,
        instance: Instance,
        peer: Address,
        incarnation: Incarnation,
        end: End,
    ) -> Self {
        let max_bulk_bytes = end.sender.max_bulk_bytes();
        let (sender, waker) = (Some(end.sender), end.receiver.waker());
        let remote = Remote { peer, sender, waker, closing: false, refused: false };
        let calls = Calls::start(at, instance, Some(remote), Some(end.receiver));
        let up = PeerChange::Up { incarnation, max_bulk_bytes };
        let mut core = calls.lock();
        core.handle(calls.clock.now(), Input::Peer(peer, up));
        calls.unlock(core);
        calls
    }

    fn start(
        at: Address,
        instance: Instance,
        remote: Option<Remote>,
        receiver: Option<Box<dyn Receiver>>,
    ) -> Self {
        let mut core = Core {
            instance,
            at,
            slots: Slots::default(),
            request: RequestBuffer::default(),
            answer: Vec::new(),
            remote,
            lost: None,
        };
        let clock = LiveClock::start();
        core.handle(clock.now(), Input::Started);
        Calls {
            core: Mutex::new(core),
            link: receiver.as_ref().and_then(|receiver| receiver.fd().try_clone_to_owned().ok()),
            watch: OnceLock::new(),
            receiver: receiver.map(Mutex::new),
            parked: AtomicUsize::new(0),
            clock,
        }
    }

    /// Makes a request and does not wait.
    ///
    /// # Errors
    /// [`CallError::NotSent`].
    pub fn begin(&self, request: &dyn Request) -> Result<Pending, CallError> {
        let mut core = self.lock();
        let token = core.submit(self.clock.now(), request)?;
        self.unlock(core);
        Ok(Pending(token))
    }

    /// The same; takes the answer if it is there at once.
    ///
    /// # Errors
    /// [`CallError::NotSent`].
    pub fn ask(&self, request: &dyn Request) -> Result<(Pending, Option<Result<Answer, Code>>), CallError> {
        let mut core = self.lock();
        let token = core.submit(self.clock.now(), request)?;
        let answer = core.slots.take(token);
        self.unlock(core);
        Ok((Pending(token), answer))
    }

    /// Sends a frame that is not answered, about the request `about` if it is about one.
    ///
    /// # Errors
    /// [`CallError::NotSent`].
    pub fn tell(&self, about: Option<Pending>, request: &dyn Request) -> Result<(), CallError> {
        let mut core = self.lock();
        let token = about.map_or(Token(0), |pending| pending.0);
        let told = core.pass(self.clock.now(), token, request);
        self.unlock(core);
        told
    }

    /// Gives up the answer: it will be dropped.
    pub fn forget(&self, pending: Pending) {
        let watchers = self.lock().slots.close(pending.0);
        // Not under the lock: what a callback owns may make calls when it is dropped.
        drop(watchers);
    }

    /// Waits for the answer, `limit` at most, and takes it.
    pub fn wait(&self, pending: Pending, limit: Duration) -> Option<Result<Answer, Code>> {
        self.wait_with(limit, pending, &|slots| slots.take(pending.0))
    }

    /// Waits for the answer and looks at it. Its slot stays open, so that the answer is not settled.
    pub fn wait_uncollected(&self, pending: Pending, limit: Duration) -> Option<Result<Answer, Code>> {
        self.wait_with(limit, pending, &|slots| slots.peek(pending.0))
    }

    fn wait_with(&self, limit: Duration, pending: Pending, look: Look<'_>) -> Option<Result<Answer, Code>> {
        let mut core = self.lock();
        // Of many requests under way one burst brings many answers: the link is polled for the first of them only.
        let answer = look(&mut core.slots);
        if answer.is_some() {
            return answer;
        }
        let mut now = self.clock.now();
        let end = now + Span::from(limit);
        loop {
            let waited = match self.receiver() {
                Some(receiver) => self.wait_polling(receiver, core, (now, end), pending, look),
                None => self.wait_parked(core, end, pending, look),
            };
            match waited {
                Waited::Answered(answer) => return Some(answer),
                Waited::TimedOut => return None,
                Waited::Woken => (core, now) = (self.lock(), self.clock.now()),
            }
        }
    }

    /// Polls the link for everybody, from now to the end given, until this caller has its answer.
    fn wait_polling<'a>(
        &'a self,
        mut receiver: MutexGuard<'a, Box<dyn Receiver>>,
        mut core: MutexGuard<'a, Core>,
        (mut now, end): (Time, Time),
        pending: Pending,
        look: Look<'_>,
    ) -> Waited {
        loop {
            core.slots.unwatch(pending.0);
            // What came in time is seen before time is said to have run out.
            core.receive_burst(now, &mut **receiver);
            core.wake_protocol(now);
            let answer = look(&mut core.slots);
            let is_over = answer.is_some() || now >= end;
            let until = if is_over { now } else { core.next_deadline(end) };
            let due = self.release(core);
            if is_over || !due.is_empty() {
                self.leave(receiver, due);
                return match answer {
                    Some(answer) => Waited::Answered(answer),
                    None if is_over => Waited::TimedOut,
                    None => Waited::Woken,
                };
            }
            receiver.wait(Some(until.since(now).into()));
            (core, now) = (self.lock(), self.clock.now());
        }
    }

    /// Lets a sleeper take over the polling, if there is one.
    fn hand_over(&self) {
        // With the fence in `wait_parked`: either this thread sees who sleeps, or the other sees that the link is free.
        fence(Ordering::SeqCst);
        if self.parked.load(Ordering::Relaxed) > 0 {
            let successor = self.lock().slots.any_waiting_thread();
            successor.iter().for_each(Thread::unpark);
        }
    }

    /// Sleeps once, until whoever brings the answer, or hands over the polling, wakes this thread.
    fn wait_parked(
        &self,
        mut core: MutexGuard<'_, Core>,
        end: Time,
        pending: Pending,
        look: Look<'_>,
    ) -> Waited {
        let now = self.clock.now();
        core.wake_protocol(now);
        let answer = look(&mut core.slots);
        if answer.is_some() || now >= end {
            core.slots.unwatch(pending.0);
            self.unlock(core);
            return answer.map_or(Waited::TimedOut, Waited::Answered);
        }
        let until = core.next_deadline(end);
        let watching = core.slots.watch(pending.0);
        let due = self.release(core);
        if !due.is_empty() {
            // They may sleep as well, and take for theirs what was to wake this wait: look again.
            due.into_iter().for_each(|callback| callback());
            return Waited::Woken;
        }
        self.parked.fetch_add(1, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        if watching && self.receiver().is_none() {
            std::thread::park_timeout(until.since(now).into());
        }
        self.parked.fetch_sub(1, Ordering::Relaxed);
        Waited::Woken
    }

    /// Calls `callback` once the answer is there, perhaps before this returns, on the thread that brings it. It may make
    /// calls of its own: that thread neither polls nor holds a lock meanwhile.
    pub fn notify(&self, pending: Pending, callback: Box<dyn FnOnce() + Send>) {
        let filled = self.lock().slots.notify(pending.0, callback);
        filled.into_iter().for_each(|callback| callback());
    }

    /// Takes a burst from the link and does what is due. Never waits. While others poll the link it leaves the link to them.
    /// For a thread that lets a program's requests go on while the program computes.
    pub fn progress(&self) {
        let Some(mut receiver) = self.receiver() else { return self.wake_protocol() };
        let due = self.take_burst(&mut **receiver);
        self.leave(receiver, due);
    }

    /// Wakes the protocol if it is time.
    fn wake_protocol(&self) {
        let mut core = self.lock();
        core.wake_protocol(self.clock.now());
        self.unlock(core);
    }

    /// Takes a burst from the link and wakes the protocol if it is time. Whom to call of it.
    fn take_burst(&self, receiver: &mut dyn Receiver) -> Vec<Callback> {
        let mut core = self.lock();
        let now = self.clock.now();
        core.receive_burst(now, receiver);
        core.wake_protocol(now);
        self.release(core)
    }

    /// How the link failed, in words. None where it has not, and where the protocol had it closed.
    #[must_use]
    pub fn lost(&self) -> Option<String> {
        self.lock().lost.clone()
    }

    /// Whether the answer is there, for [`Calls::wait`] to take.
    pub fn is_answered(&self, pending: Pending) -> bool {
        self.lock().slots.is_filled(pending.0)
    }

    /// A descriptor that is readable while [`Calls::advance`] has something to do. It costs the calls of all threads a
    /// little from then on.
    ///
    /// # Errors
    /// The system refuses a descriptor.
    pub fn watch(&self) -> io::Result<BorrowedFd<'_>> {
        if self.watch.get().is_none() {
            if self.receiver.is_some() && self.link.is_none() {
                return Err(io::Error::other("there was no descriptor left for this link when it was made"));
            }
            let made = Watch::new(self.link.as_ref().map(AsFd::as_fd))?;
            // Another thread's may have been first.
            let watch = self.watch.get_or_init(|| made);
            // Sees to what came before.
            watch.ring();
        }
        Ok(self.watch.get().expect("it was set a line above").fd())
    }

    /// Does what is due and takes in what has come. Never waits. While others poll the link it leaves the link to them.
    pub fn advance(&self) {
        if let Some(watch) = self.watch.get() {
            watch.answer();
        }
        let Some(mut receiver) = self.receiver() else { return self.wake_protocol() };
        receiver.disarm();
        let mut due = Vec::new();
        for _ in 0..BURSTS {
            due.extend(self.take_burst(&mut **receiver));
            if !receiver.has_frames() {
                break;
            }
        }
        self.leave(receiver, due);
    }

    /// Ends this thread's polling of the link: whoever watches hears of the next frame, or a sleeper takes over. Then calls
    /// what the polling has made due.
    fn leave(&self, mut receiver: MutexGuard<'_, Box<dyn Receiver>>, due: Vec<Callback>) {
        let left_behind = self.watch.get().filter(|watch| !self.is_armed(watch, &mut **receiver));
        drop(receiver);
        // Not before: an event loop that is rung finds the link free.
        left_behind.into_iter().for_each(Watch::ring);
        self.hand_over();
        due.into_iter().for_each(|callback| callback());
    }

    /// Has the link tell the watching loop of what comes next. False if something has come.
    fn is_armed(&self, watch: &Watch, receiver: &mut dyn Receiver) -> bool {
        let is_down = self.lock().remote.as_ref().is_none_or(Remote::is_down);
        match &self.link {
            Some(link) if is_down => {
                watch.forget_link(link.as_fd());
                true
            }
            _ => receiver.arm(),
        }
    }

    /// The link's receiving half, if there is one and nobody else polls it.
    fn receiver(&self) -> Option<MutexGuard<'_, Box<dyn Receiver>>> {
        match self.receiver.as_ref()?.try_lock() {
            Ok(receiver) => Some(receiver),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Core> {
        // A panic inside `handle` would leave the protocol in an unknown state: going on is not safe.
        self.core.lock().unwrap_or_else(|_| panic!("a protocol panicked earlier in this process"))
    }

    /// Gives the lock back, then wakes and calls whom the work under it has answered. For a thread that does not poll.
    fn unlock(&self, core: MutexGuard<'_, Core>) {
        self.release(core).into_iter().for_each(|callback| callback());
    }

    /// Gives the lock back, then wakes the threads that the work under it has answered. Whom to call after the polling.
    fn release(&self, mut core: MutexGuard<'_, Core>) -> Vec<Callback> {
        core.flush(self.clock);
        let (woken, due) = (core.slots.woken(), core.slots.due());
        if let Some(watch) = self.watch.get() {
            watch.set_deadline(core.instance.deadline(), self.clock);
            if core.slots.brought() {
                watch.ring();
            }
        }
        drop(core);
        woken.iter().for_each(Thread::unpark);
        due
    }
}

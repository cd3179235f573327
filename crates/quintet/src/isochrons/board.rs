//! What the thread that executes isochrons has come to, for those who wait for it.

use super::error::{one_too_many, would_wait_for_itself};
use super::under_way::{UnderWay, What};
use crate::{Code, Error};
use quintet_contract::{Address, Token};
use quintet_isotach::Witnessed;
use quintet_isotach::codec::Completed;
use quintet_link::Maker;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

/// What became of an isochron, or of a plain message.
pub(super) type Answer = Result<Done, Error>;

/// What was asked is done.
#[derive(Debug)]
pub(super) enum Done {
    /// The isochron was executed.
    Executed(Completed),
    /// The plain message has arrived.
    Arrived,
}

/// What is to be done once something has come.
type Callback = Box<dyn FnOnce() + Send>;

/// Shared by the thread that executes isochrons and those that wait. In a process that was forked from the one that made it, nothing comes and nobody waits.
pub(super) struct Board {
    maker: Maker,
    state: Mutex<State>,
    changed: Condvar,
    poller: OnceLock<ThreadId>,
    /// Why this member has left by itself, or that it was closed. Looked at for each message, without the lock.
    ended: OnceLock<Error>,
    /// The poller has come to something in its turn for which somebody sleeps.
    owes_a_wake: AtomicBool,
}

#[derive(Default)]
struct State {
    /// Who is to be linked to this member and is not.
    awaited: BTreeSet<Address>,
    /// It comes back, and is in no view so far.
    is_outside: bool,
    last: u64,
    /// Somebody sleeps who was not woken: to wake somebody is a system call.
    is_awaited: bool,
    /// Isochrons and plain messages that somebody waits for.
    asked: BTreeMap<Token, Option<Answer>>,
    /// What has no answer, whether somebody waits or not.
    under_way: UnderWay,
    /// Operations of isochrons that were dropped before they were begun.
    dropped: Option<usize>,
    witness: Vec<Witnessed>,
    /// Who is told of an isochron's answer, and of the end; none: of the end alone.
    told: Vec<(Option<Token>, Callback)>,
    /// All members want to end.
    all_leave: bool,
}

impl State {
    fn is_answered(&self, token: Token) -> bool {
        self.asked.get(&token).is_none_or(Option::is_some)
    }

    /// Those who are to be told now.
    fn take_due(&mut self, has_ended: bool) -> Vec<Callback> {
        let told = core::mem::take(&mut self.told);
        let is_due = |token: Option<Token>| has_ended || token.is_some_and(|token| self.is_answered(token));
        let (due, others): (Vec<_>, _) = told.into_iter().partition(|(token, _)| is_due(*token));
        self.told = others;
        due.into_iter().map(|(_, callback)| callback).collect()
    }
}

impl Board {
    /// Of a member that begins once it is linked to these.
    pub(super) fn awaiting(peers: impl IntoIterator<Item = Address>) -> io::Result<Board> {
        Board::with(State { awaited: peers.into_iter().collect(), ..State::default() })
    }

    /// Of one that begins with a later view.
    pub(super) fn awaiting_view() -> io::Result<Board> {
        Board::with(State { is_outside: true, ..State::default() })
    }

    fn with(state: State) -> io::Result<Board> {
        Ok(Board {
            maker: Maker::this_process()?,
            state: Mutex::new(state),
            changed: Condvar::new(),
            poller: OnceLock::new(),
            ended: OnceLock::new(),
            owes_a_wake: AtomicBool::new(false),
        })
    }

    /// Whether this process was forked from the one that has joined.
    pub(super) fn is_inherited(&self) -> bool {
        !self.maker.is_this_process()
    }

    /// # Errors
    /// [`Code::Closed`]: this process was forked from the one that has joined.
    pub(super) fn check_process(&self) -> Result<(), Error> {
        match self.is_inherited() {
            false => Ok(()),
            true => Err(Error::new(Code::Closed, "this isonet was made in another process; join one here")),
        }
    }

    /// What is shared, if this process has joined.
    ///
    /// # Errors
    /// [`Code::Closed`]: another thread of the process that has joined may have had the lock at the fork, for good.
    fn own(&self) -> Result<MutexGuard<'_, State>, Error> {
        self.check_process().map(|()| self.state())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// As a child finds it that was forked while another thread had the lock.
    #[cfg(test)]
    pub(super) fn inherit(&self) {
        self.maker.forget();
        core::mem::forget(self.state());
    }

    /// Wakes those who wait, and calls those who are to be told, without the lock: they may look.
    fn change(&self, change: impl FnOnce(&mut State)) {
        let Ok(mut state) = self.own() else { return };
        change(&mut state);
        let (due, is_awaited) =
            (state.take_due(self.ended.get().is_some()), core::mem::take(&mut state.is_awaited));
        drop(state);
        match is_awaited {
            true if self.is_poller() => self.owes_a_wake.store(true, Ordering::Relaxed),
            true => self.changed.notify_all(),
            false => {}
        }
        due.into_iter().for_each(|callback| callback());
    }

    /// Wakes those who sleep for what the poller has come to since: one wake-up for all of it.
    pub(super) fn wake_sleepers(&self) {
        if self.owes_a_wake.swap(false, Ordering::Relaxed) {
            self.changed.notify_all();
        }
    }

    /// Calls back once there is an answer, or none comes: now, or on the thread that brings it. Without a token, once nothing more comes.
    pub(super) fn notify(&self, token: Option<Token>, callback: Callback) {
        if self.is_inherited() {
            return callback();
        }
        self.change(|state| state.told.push((token, callback)));
    }

    /// This thread is the one that executes isochrons.
    pub(super) fn set_poller(&self) {
        self.poller.get_or_init(|| thread::current().id());
    }

    /// Whether this thread is the one that executes isochrons.
    pub(super) fn is_poller(&self) -> bool {
        self.poller.get() == Some(&thread::current().id())
    }

    pub(super) fn linked(&self, peer: Address) {
        self.change(|state| {
            state.awaited.remove(&peer);
        });
    }

    /// A view with these members has begun: nobody is linked any more who is none of them.
    pub(super) fn begun(&self, members: &[u16]) {
        self.change(|state| {
            state.is_outside = false;
            state.awaited.retain(|peer| members.contains(&peer.node.0));
        });
    }

    /// All members want to end.
    pub(super) fn all_leave(&self) {
        self.change(|state| state.all_leave = true);
    }

    /// Waits until all members want to end.
    pub(super) fn wait_for_all_to_leave(&self) -> Result<(), Error> {
        self.check_process()?;
        let leave = |state: &mut State| match state.all_leave {
            true => Some(Ok(())),
            false => self.ended.get().cloned().map(Err),
        };
        self.until(None, leave).expect("it waits without end")
    }

    pub(super) fn ended(&self, why: Error) {
        self.change(|_| _ = self.ended.get_or_init(|| why));
    }

    pub(super) fn answered(&self, token: Token, answer: Answer) {
        self.change(|state| {
            state.under_way.end(token);
            state.asked.entry(token).and_modify(|slot| *slot = Some(answer));
        });
    }

    pub(super) fn witnessed(&self, witnessed: Vec<Witnessed>) {
        if !witnessed.is_empty() {
            self.state().witness.extend(witnessed);
        }
    }

    pub(super) fn take_witness(&self) -> Vec<Witnessed> {
        self.own().map(|mut state| core::mem::take(&mut state.witness)).unwrap_or_default()
    }

    /// A number for an isochron or a plain message.
    pub(super) fn open(&self, what: What) -> Result<Token, Error> {
        self.open_where(what, |_| true)
    }

    /// The same, if the node takes one more.
    ///
    /// # Errors
    /// [`Code::Busy`].
    pub(super) fn open_if_room(&self, what: What) -> Result<Token, Error> {
        self.open_where(what, |under_way| under_way.has_room(what))
    }

    fn open_where(&self, what: What, may: impl FnOnce(&UnderWay) -> bool) -> Result<Token, Error> {
        let mut state = self.own()?;
        if let Some(end) = self.ended.get() {
            return Err(end.clone());
        }
        if !may(&state.under_way) {
            return Err(one_too_many());
        }
        state.last += 1;
        let token = Token(state.last);
        state.under_way.begin(what, token);
        state.asked.insert(token, None);
        Ok(token)
    }

    /// Nobody waits for it any more.
    pub(super) fn forget(&self, token: Token) {
        self.change(|state| drop(state.asked.remove(&token)));
    }

    /// An isochron was dropped before it was begun.
    pub(super) fn dropped(&self, operations: usize) {
        self.change(|state| _ = state.dropped.get_or_insert(operations));
    }

    /// Operations of the first that was, which is told once.
    pub(super) fn take_dropped(&self) -> Option<usize> {
        self.own().ok()?.dropped.take()
    }

    /// Whether nothing more will come, and why.
    pub(super) fn end(&self) -> Option<Error> {
        self.check_process().map_or_else(Some, |()| self.ended.get().cloned())
    }

    /// Whether what was asked has its answer, or gets none.
    pub(super) fn is_answered(&self, token: Token) -> bool {
        self.own().map_or(true, |state| state.is_answered(token) || self.ended.get().is_some())
    }

    /// The answer, if it comes in time; given once.
    pub(super) fn wait(&self, token: Token, limit: Duration) -> Option<Result<Done, Error>> {
        if let Err(error) = self.check_process() {
            return Some(Err(error));
        }
        if self.is_poller() && !self.is_answered(token) {
            return Some(Err(would_wait_for_itself()));
        }
        let outcome = |state: &mut State| match state.asked.get(&token) {
            Some(Some(_)) => state.asked.remove(&token).flatten(),
            Some(None) => {
                let end = self.ended.get().cloned()?;
                state.asked.remove(&token);
                Some(Err(end))
            }
            None => None,
        };
        self.within(limit, outcome)
    }

    /// Waits until all are linked, or who comes back is in a view.
    pub(super) fn wait_for_begin(&self, until: Instant) -> Result<(), Error> {
        let begun = |state: &mut State| match self.ended.get() {
            Some(end) => Some(Err(end.clone())),
            None => (state.awaited.is_empty() && !state.is_outside).then_some(Ok(())),
        };
        self.until(Some(until), begun).unwrap_or_else(|| {
            let state = self.state();
            if state.is_outside {
                let text = "the members that are there did not let this one come back in time: can they be reached, and are they enough to go on?";
                return Err(Error::new(Code::TimedOut, text));
            }
            let awaited = &state.awaited;
            let missing: Vec<String> = awaited.iter().map(|peer| format!("member {}", peer.node.0)).collect();
            let text =
                format!("no link to {}: is it still there, and can it be reached?", missing.join(", "));
            Err(Error::new(Code::TimedOut, text))
        })
    }

    /// Waits until each isochron and plain message of this member has its answer.
    pub(super) fn wait_for_answers(&self) -> Result<(), Error> {
        self.check_process()?;
        let settled = |state: &mut State| match self.ended.get() {
            Some(end) => Some(Err(end.clone())),
            None => state.under_way.is_empty().then_some(Ok(())),
        };
        self.until(None, settled).expect("it waits without end")
    }

    /// Waits for what `look` finds, for so long; none: it was not there in time. What is there costs no look at a clock.
    fn within<T>(&self, limit: Duration, mut look: impl FnMut(&mut State) -> Option<T>) -> Option<T> {
        if let Some(found) = look(&mut self.state()) {
            return Some(found);
        }
        self.until(Instant::now().checked_add(limit), look)
    }

    /// Waits for what `look` finds; none: it was not there until then.
    fn until<T>(&self, until: Option<Instant>, mut look: impl FnMut(&mut State) -> Option<T>) -> Option<T> {
        let mut state = self.state();
        loop {
            if let Some(found) = look(&mut state) {
                return Some(found);
            }
            let left = match until {
                None => None,
                Some(until) => {
                    Some(until.checked_duration_since(Instant::now()).filter(|left| !left.is_zero())?)
                }
            };
            state.is_awaited = true;
            state = self.sleep(state, left);
        }
    }

    /// Sleeps until something changes, or for so long.
    fn sleep<'a>(&self, state: MutexGuard<'a, State>, left: Option<Duration>) -> MutexGuard<'a, State> {
        match left {
            None => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            Some(left) => self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quintet_contract::NodeId;
    use quintet_wire::registry::PORT_ISOTACH;

    /// One that is linked to others at once, and ends, may never be linked to this member.
    #[test]
    fn who_joins_does_not_wait_for_a_member_that_the_others_have_lost() {
        let peer = |member| Address { node: NodeId(member), port: PORT_ISOTACH };
        let board = Board::awaiting([peer(0), peer(1)]).expect("it has a process");
        let soon = || Instant::now() + Duration::from_millis(1);
        board.linked(peer(0));
        let waited = board.wait_for_begin(soon()).expect_err("member 1 is missing");
        assert!(waited.text().contains("no link to member 1"), "{waited}");
        board.begun(&[0, 2]);
        assert_eq!(board.wait_for_begin(soon()), Ok(()));
    }
}

//! What comes for a program, until a thread of it takes that.

use super::SLICE;
pub(super) use item::{Item, Lent};
use quintet::{Code, Error, IsochronMaker, PresentView};
use readable::Readable;
use std::collections::VecDeque;
use std::os::fd::RawFd;
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

mod item;
mod readable;

/// Messages that wait until the program takes them, and their bytes.
const MAX_WAITING: (usize, usize) = (256, 4 << 20);

/// What has come until the program takes it.
#[derive(Default)]
pub(crate) struct Inbox {
    state: Mutex<Waiting>,
    changed: Condvar,
    /// Once it has joined.
    maker: OnceLock<IsochronMaker>,
}

#[derive(Default)]
struct Waiting {
    items: VecDeque<Item>,
    /// Of the messages among them.
    bytes: usize,
    /// Whether the thread that executes isochrons waits for the program.
    is_held_up: bool,
    /// Threads that take something.
    takers: usize,
    /// Whether the program has been asked for its state, and has to give it.
    is_asked: bool,
    given: Option<Vec<u8>>,
    /// Whether the program wants no more: it closes.
    is_shut: bool,
    /// How long it may take nothing while it holds this member up.
    patience: Duration,
    /// What an event loop of the program polls, if one does.
    readable: Option<Readable>,
}

/// A thread that takes something, or waits for that.
pub(super) struct Taking<'a>(&'a Inbox);

impl Drop for Taking<'_> {
    fn drop(&mut self) {
        self.0.state().takers -= 1;
    }
}

impl Inbox {
    fn state(&self) -> MutexGuard<'_, Waiting> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn taking(&self) -> Taking<'_> {
        self.state().takers += 1;
        Taking(self)
    }

    /// Before it joins: how long the program may take nothing while it holds this member up. Nothing is heard of the member meanwhile, so that it is less than the silence limit.
    pub(super) fn set_patience(&self, patience: Duration) {
        self.state().patience = patience;
    }

    /// Once it has joined.
    pub(super) fn set_maker(&self, maker: IsochronMaker) {
        self.maker.get_or_init(|| maker);
        // It may have ended before.
        self.wake();
    }

    pub(super) fn maker(&self) -> Option<&IsochronMaker> {
        self.maker.get()
    }

    /// On the thread that executes isochrons: waits for room for a message, until the isonet ends or the program wants no more. Without a maker it has not joined so far, and there is room.
    ///
    /// # Errors
    /// `TaskFailed`: the program takes nothing.
    pub(super) fn put(&self, item: Item, maker: Option<&IsochronMaker>) -> Result<(), Error> {
        let (bytes, since) = (item.bytes(), Instant::now());
        let mut state = self.state();
        let mut is_patient = true;
        let goes_on = || maker.is_some_and(|maker| maker.end().is_none());
        while !state.is_shut && !state.has_room(bytes) && is_patient && goes_on() {
            state.is_held_up = true;
            state = self.changed.wait_timeout(state, SLICE).unwrap_or_else(PoisonError::into_inner).0;
            is_patient = since.elapsed() < state.patience;
        }
        state.is_held_up = false;
        let has_room = maker.is_none() || state.has_room(bytes);
        if !state.is_shut && has_room {
            state.bytes += bytes;
            state.items.push_back(item);
        }
        let is_over = !state.is_shut && !has_room && !is_patient;
        let took_none = is_over.then(|| state.took_none());
        self.release(state);
        took_none.map_or(Ok(()), Err)
    }

    /// On the same thread, before anything is executed here: the state of another program.
    pub(super) fn put_state(&self, state: &[u8]) {
        self.put_now(Item::State(state.to_vec().into()));
    }

    /// On the same thread, before anything of the view is executed here.
    pub(super) fn put_view(&self, view: &PresentView) {
        self.put_now(Item::View { view: view.view, members: view.members.clone() });
    }

    fn put_now(&self, item: Item) {
        let mut state = self.state();
        state.items.push_back(item);
        self.release(state);
    }

    /// On the same thread: has the program give its state once it has taken all that came before, and waits for that.
    ///
    /// # Errors
    /// `Closed`: the program takes no more, so that its state is not what it would be. `TaskFailed`: it does not give it.
    pub(super) fn ask_for_state(&self) -> Result<Vec<u8>, Error> {
        self.put_now(Item::StateWanted);
        let mut state = self.state();
        state.is_held_up = true;
        let (patience, is_waiting) =
            (state.patience, |state: &mut Waiting| state.given.is_none() && !state.is_shut);
        let waited = self.changed.wait_timeout_while(state, patience, is_waiting);
        state = waited.unwrap_or_else(PoisonError::into_inner).0;
        state.is_held_up = false;
        let given = state.given.take();
        if given.is_none() && !state.is_shut {
            return Err(state.gave_none());
        }
        given.ok_or_else(|| {
            let text = "a member comes back, and this one closes and takes no more messages: it has no state to give, and has left";
            Error::new(Code::Closed, text)
        })
    }

    /// Whether the program was asked for its state; then it is this.
    pub(super) fn give_state(&self, given: Vec<u8>) -> bool {
        let mut state = self.state();
        let was_asked = std::mem::take(&mut state.is_asked);
        if was_asked {
            state.given = Some(given);
        }
        self.release(state);
        was_asked
    }

    /// # Errors
    /// `Busy`: the program is to give its state first.
    pub(super) fn take(&self, limit: Duration, maker: &IsochronMaker) -> Result<Option<Item>, Error> {
        let is_quiet =
            |state: &mut Waiting| state.items.is_empty() && !state.is_asked && maker.end().is_none();
        let waited = self.changed.wait_timeout_while(self.state(), limit, is_quiet);
        let mut state = waited.unwrap_or_else(PoisonError::into_inner).0;
        if state.is_asked {
            let text = "this program was asked for its state: give it with quintet_isonet_give_state before anything else is taken";
            return Err(Error::new(Code::Busy, text));
        }
        let item = state.items.pop_front();
        state.bytes -= item.as_ref().map_or(0, Item::bytes);
        state.is_asked = matches!(item, Some(Item::StateWanted));
        self.release(state);
        Ok(item)
    }

    /// The program wants no more messages.
    pub(super) fn shut(&self) {
        let mut state = self.state();
        state.is_shut = true;
        self.release(state);
    }

    /// Has all who wait look again.
    pub(super) fn wake(&self) {
        self.release(self.state());
    }

    /// The same, when something may have changed.
    fn release(&self, mut state: MutexGuard<'_, Waiting>) {
        state.show(self.has_ended());
        drop(state);
        self.changed.notify_all();
    }

    /// Whether nothing more comes.
    fn has_ended(&self) -> bool {
        self.maker.get().is_some_and(|maker| maker.end().is_some())
    }

    /// A descriptor that is readable while `take` has something at once, or nothing more comes.
    ///
    /// # Errors
    /// `Resource`: the system refuses one.
    pub(super) fn descriptor(&self) -> Result<RawFd, Error> {
        let mut state = self.state();
        let readable = match state.readable.take() {
            Some(readable) => readable,
            None => Readable::new()?,
        };
        let number = readable.number();
        state.readable = Some(readable);
        state.show(self.has_ended());
        Ok(number)
    }

    /// Whether nothing is executed here until the program does its part, and no thread of it does.
    pub(crate) fn holds_up(&self) -> bool {
        let state = self.state();
        state.is_held_up && state.takers == 0
    }
}

impl Waiting {
    /// Shows who polls whether there is something to take, or nothing more comes. While the program is to give its state it takes nothing.
    fn show(&mut self, has_ended: bool) {
        let has_something = !self.items.is_empty() && !self.is_asked;
        self.readable.iter_mut().for_each(|readable| readable.show(has_something || has_ended));
    }

    fn took_none(&self) -> Error {
        let text = format!(
            "this program has taken no message for {} ms while {} of {} bytes waited for it, and nothing was executed here meanwhile: this member has left; take messages more often, or say a longer silence limit at all members",
            self.patience.as_millis(),
            self.items.len(),
            self.bytes
        );
        Error::new(Code::TaskFailed, text)
    }

    fn gave_none(&self) -> Error {
        let text = format!(
            "a member comes back, and this program has not given its state within {} ms, while nothing was executed here: this member has left; give it with quintet_isonet_give_state, or say a longer silence limit at all members",
            self.patience.as_millis()
        );
        Error::new(Code::TaskFailed, text)
    }

    fn has_room(&self, bytes: usize) -> bool {
        self.items.len() < MAX_WAITING.0 && (self.items.is_empty() || self.bytes + bytes <= MAX_WAITING.1)
    }
}

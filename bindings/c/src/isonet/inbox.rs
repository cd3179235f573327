//! What comes for a program, until a thread of it takes that.

use super::quintet_isonet_kind::{QUINTET_ISONET_MESSAGE, QUINTET_ISONET_STATE, QUINTET_ISONET_STATE_WANTED};
use super::{SLICE, quintet_isonet_message};
use quintet::{Bytes, Code, Error, IsochronMaker, Received};
use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Messages that wait until the program takes them, and their bytes.
const MAX_WAITING: (usize, usize) = (256, 4 << 20);

/// What a program takes, in the one order.
pub(super) enum Item {
    Message {
        sender: u16,
        handler: u32,
        bytes: Bytes,
    },
    /// Another one's, for who has come back.
    State(Bytes),
    /// This one's, for who comes back.
    StateWanted,
}

/// What has come until the program takes it.
#[derive(Default)]
pub(crate) struct Inbox {
    state: Mutex<Waiting>,
    changed: Condvar,
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
}

/// A thread that takes something, or waits for that.
pub(super) struct Taking<'a>(&'a Inbox);

impl Drop for Taking<'_> {
    fn drop(&mut self) {
        self.0.state().takers -= 1;
    }
}

impl Item {
    /// What the program sees of it, and the bytes that it looks at.
    pub(super) fn given(self) -> (quintet_isonet_message, Bytes) {
        let (kind, sender, handler, bytes) = match self {
            Item::Message { sender, handler, bytes } => (QUINTET_ISONET_MESSAGE, sender, handler, bytes),
            Item::State(bytes) => (QUINTET_ISONET_STATE, 0, 0, bytes),
            Item::StateWanted => (QUINTET_ISONET_STATE_WANTED, 0, 0, Bytes::new()),
        };
        let (data, length) = (bytes.as_ptr().cast(), bytes.len());
        (quintet_isonet_message { kind, sender, handler, data, length }, bytes)
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

    /// On the thread that executes isochrons: waits for room, until the isonet ends or the program wants no more.
    pub(super) fn put(&self, handler: u32, received: &Received<'_>) {
        let (maker, bytes) = (received.maker(), received.bytes.len());
        let mut state = self.state();
        while !state.is_shut && !state.has_room(bytes) && maker.end().is_none() {
            state.is_held_up = true;
            state = self.changed.wait_timeout(state, SLICE).unwrap_or_else(PoisonError::into_inner).0;
        }
        state.is_held_up = false;
        if !state.is_shut && state.has_room(bytes) {
            state.bytes += bytes;
            let bytes = received.bytes.to_vec().into();
            state.items.push_back(Item::Message { sender: received.sender, handler, bytes });
        }
        drop(state);
        self.wake();
    }

    /// On the same thread, before anything is executed here: the state of another program.
    pub(super) fn put_state(&self, state: &[u8]) {
        self.state().items.push_back(Item::State(state.to_vec().into()));
        self.wake();
    }

    /// On the same thread: has the program give its state once it has taken all that came before, and waits for that.
    ///
    /// # Errors
    /// `Closed`: the program takes no more, so that its state is not what it would be.
    pub(super) fn ask_for_state(&self) -> Result<Vec<u8>, Error> {
        let mut state = self.state();
        state.items.push_back(Item::StateWanted);
        self.wake();
        state.is_held_up = true;
        let is_waiting = |state: &mut Waiting| state.given.is_none() && !state.is_shut;
        state = self.changed.wait_while(state, is_waiting).unwrap_or_else(PoisonError::into_inner);
        state.is_held_up = false;
        state.given.take().ok_or_else(|| {
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
        drop(state);
        self.wake();
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
        match &item {
            Some(Item::Message { bytes, .. }) => state.bytes -= bytes.len(),
            Some(Item::StateWanted) => state.is_asked = true,
            Some(Item::State(_)) | None => {}
        }
        drop(state);
        self.wake();
        Ok(item)
    }

    /// The program wants no more messages.
    pub(super) fn shut(&self) {
        self.state().is_shut = true;
        self.wake();
    }

    /// Has all who wait look again.
    pub(super) fn wake(&self) {
        self.changed.notify_all();
    }

    /// Whether nothing is executed here until the program does its part, and no thread of it does.
    pub(crate) fn holds_up(&self) -> bool {
        let state = self.state();
        state.is_held_up && state.takers == 0
    }
}

impl Waiting {
    fn has_room(&self, bytes: usize) -> bool {
        self.items.len() < MAX_WAITING.0 && (self.items.is_empty() || self.bytes + bytes <= MAX_WAITING.1)
    }
}

//! quintet_isonet - processes that execute isochrons in one order
//!
//! An *isonet* is a set of processes, its members, that share variables and send each other messages by *isochrons* (quintet_isochron(3)): sets of operations that are all executed
//! at one instant, in one order for all members, without locks. The guide is docs/isochrons.md.
//!
//! A program says what it shares, joins, and closes. All members say the same variables; each says for which handlers, by their numbers, it takes messages. Members find each
//! other by the space of their lab, and then have links of their own.
//!
//! Messages wait until the program takes them with `quintet_isonet_next`, in the one order. There is room for 256 of them and 4 MiB: while it is full this member executes nothing,
//! and whoever has sent it something waits. No thread of the library calls the program.
//!
//! A member that ends without closing, is killed, or of which nothing is heard for a second is lost to the others, who go on without it. What nobody of them has executed until then
//! fails with `QUINTET_PEER_DIED`: it is begun again, by those that are left. With fewer than half of the members, or half without the lowest, they stop (`QUINTET_UNREACHABLE`); who was
//! left behind and lives stops, too (`QUINTET_PEER_SILENT`).
//!
//! An isonet belongs to the process that has joined. In a child of fork(2) calls fail with `QUINTET_CLOSED`, and freeing disturbs nothing; the child may join another one.
//!
//! ```c
//! quintet_isonet *isonet;
//! quintet_isonet_new(lab, "bank", &isonet);
//! quintet_isonet_add_variable(isonet, 1, 8);
//! quintet_isonet_add_handler(isonet, 7);
//! if (quintet_isonet_join(isonet, 30000) == QUINTET_OK) {   // under `quintet run -n 3` each worker is a member
//!     quintet_isochron *isochron;
//!     quintet_isochron_new(isonet, &isochron);
//!     quintet_isochron_send(isochron, 1, 7, "hello", 5);
//!     quintet_isochron_write(isochron, 1, &(int64_t){5}, 8);
//!     quintet_isochron_begin(isochron);
//!     quintet_isochron_wait(isochron, QUINTET_FOREVER);
//!     quintet_isochron_free(isochron);
//!     quintet_isonet_close(isonet);                          // waits for the others
//! }
//! quintet_isonet_free(isonet);
//! ```

use crate::boundary::{Tagged, free_after, give, guarded, handle, limit, misuse, place, text, value};
use crate::connection::Connection;
use crate::error::quintet_status;
use crate::lab::quintet_lab;
use crate::threads::without_signals;
use core::ffi::{c_char, c_void};
use core::mem::MaybeUninit;
use core::ptr::{NonNull, null, null_mut};
use quintet::{Bytes, Code, Error, IsochronMaker, Isonet, Received, Variable};
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// Messages that wait until the program takes them, and their bytes.
const MAX_WAITING: (usize, usize) = (256, 4 << 20);
/// How often a wait looks whether it was interrupted, or can end at all.
pub(crate) const SLICE: Duration = Duration::from_millis(20);

/// A member of an isonet. Any threads may use it at once; one at a time takes messages.
pub struct quintet_isonet(Tagged<Arc<Member>>);
handle!(quintet_isonet, Arc<Member>, b"ison", "isonet");

/// What is behind it.
pub struct Member {
    pub(crate) connection: Arc<Connection>,
    name: String,
    said: Mutex<Said>,
    joined: OnceLock<Isonet>,
    pub(crate) inbox: Arc<Inbox>,
    /// The message that the program has, and looks at.
    lent: Mutex<Option<Message>>,
    process: u32,
}

/// What is said before it joins.
#[derive(Clone, Default)]
struct Said {
    member: Option<(u16, u16)>,
    variables: Vec<(Variable, usize)>,
    handlers: Vec<u32>,
}

struct Message {
    sender: u16,
    handler: u32,
    bytes: Bytes,
}

/// A message of an isochron. `data` is the library's, and good until the next one is taken.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct quintet_isonet_message {
    /// The member that has sent it.
    pub sender: u16,
    /// For which handler.
    pub handler: u32,
    /// What was sent.
    pub data: *const c_void,
    /// Of so many bytes.
    pub length: usize,
}

/// What has come until the program takes it.
#[derive(Default)]
pub(crate) struct Inbox {
    state: Mutex<Waiting>,
    changed: Condvar,
}

#[derive(Default)]
struct Waiting {
    messages: VecDeque<Message>,
    bytes: usize,
    /// Whether the thread that executes isochrons waits for room.
    is_held_up: bool,
    /// Threads that take one.
    takers: usize,
    /// Whether the program wants no more: it closes.
    is_shut: bool,
}

/// Begins to say what an isonet of this name shares, which others name alike: 1 to 100 bytes of text. To be freed with `quintet_isonet_free`.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_isonet_new(
    lab: Option<&quintet_lab>,
    name: *const c_char,
    isonet: Option<&mut MaybeUninit<*mut quintet_isonet>>,
) -> quintet_status {
    guarded(|| {
        let isonet = place(isonet, "isonet", null_mut())?;
        *isonet = give(Arc::new(Member {
            connection: Arc::clone(&value(lab)?.connection),
            name: text(name, "name")?.to_owned(),
            said: Mutex::default(),
            joined: OnceLock::new(),
            inbox: Arc::default(),
            lent: Mutex::default(),
            process: std::process::id(),
        }));
        Ok(())
    })
}

/// Says which member this process is, from 0, and of how many. Else it is the worker's rank, of the job's workers.
///
/// Fails with `QUINTET_BAD_VALUE` once it has joined.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_isonet_set_member(
    isonet: Option<&quintet_isonet>,
    member: u16,
    members: u16,
) -> quintet_status {
    guarded(|| value(isonet)?.say(|said| said.member = Some((member, members))))
}

/// Shares a variable of so many bytes, 1 to 4096, that begins as zeros, with a copy at every member.
///
/// Fails with `QUINTET_BAD_VALUE` once it has joined. What cannot be is found by `quintet_isonet_join`.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_isonet_add_variable(
    isonet: Option<&quintet_isonet>,
    variable: u32,
    bytes: usize,
) -> quintet_status {
    guarded(|| value(isonet)?.say(|said| said.variables.push((Variable(variable), bytes))))
}

/// Takes messages for the handler of this number. What comes for another one ends this member, as it would not be where the others are.
///
/// Fails with `QUINTET_BAD_VALUE` once it has joined.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_isonet_add_handler(
    isonet: Option<&quintet_isonet>,
    handler: u32,
) -> quintet_status {
    guarded(|| value(isonet)?.say(|said| said.handlers.push(handler)))
}

/// Joins: waits until all members are there and linked to each other. The program's interrupt check is not asked meanwhile.
///
/// Fails with `QUINTET_BAD_VALUE` for members, variables or handlers that cannot be, or if the members do not say the same; `QUINTET_TIMED_OUT`, whose text names who did not
/// come; `QUINTET_PEER_DIED` if a member has ended meanwhile.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_isonet_join(isonet: Option<&quintet_isonet>, timeout_ms: i64) -> quintet_status {
    guarded(|| value(isonet)?.join(limit(timeout_ms)))
}

/// Which member this process is, and how many there are. Either pointer may be NULL.
///
/// Fails with `QUINTET_BAD_VALUE` before it has joined.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_isonet_member(
    isonet: Option<&quintet_isonet>,
    member: Option<&mut MaybeUninit<u16>>,
    members: Option<&mut MaybeUninit<u16>>,
) -> quintet_status {
    guarded(|| {
        let joined = value(isonet)?.joined()?;
        if let Some(member) = member {
            member.write(joined.member());
        }
        if let Some(members) = members {
            members.write(joined.members());
        }
        Ok(())
    })
}

/// Takes the next message, in the one order, if one comes within `timeout_ms`. Its data are good until the next is taken, or the isonet is freed.
///
/// Fails with `QUINTET_TIMED_OUT`; `QUINTET_CANCELLED` if the program's interrupt check ended the wait; `QUINTET_UNREACHABLE` or `QUINTET_PEER_SILENT` if this member
/// has stopped; `QUINTET_NO_HANDLER` if a message came for a handler that this member has not; `QUINTET_CLOSED` once it was closed.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_isonet_next(
    isonet: Option<&quintet_isonet>,
    timeout_ms: i64,
    message: Option<&mut MaybeUninit<quintet_isonet_message>>,
) -> quintet_status {
    guarded(|| {
        let empty = quintet_isonet_message { sender: 0, handler: 0, data: null(), length: 0 };
        let message = place(message, "message", empty)?;
        let member = value(isonet)?;
        let next = member.next(limit(timeout_ms))?;
        *message = quintet_isonet_message {
            sender: next.sender,
            handler: next.handler,
            data: next.bytes.as_ptr().cast(),
            length: next.bytes.len(),
        };
        *member.lent() = Some(next);
        Ok(())
    })
}

/// Waits until all isochrons of this member are executed and all members close, and ends. It takes no more messages: what comes meanwhile is dropped. The program's interrupt
/// check is not asked.
///
/// Fails with `QUINTET_UNREACHABLE` or `QUINTET_PEER_SILENT` if this member has stopped, `QUINTET_NO_HANDLER`, `QUINTET_CLOSED` if it was closed before.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_isonet_close(isonet: Option<&quintet_isonet>) -> quintet_status {
    guarded(|| {
        let member = value(isonet)?;
        let joined = member.joined()?;
        member.inbox.shut();
        joined.close()
    })
}

/// Ends at once, if it was not closed, and frees the isonet; the others are told that this member is gone. Isochrons are freed on their own, before. NULL is left alone.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_isonet_free(isonet: Option<NonNull<quintet_isonet>>) {
    free_after(isonet, |member| {
        if !member.is_inherited() {
            member.inbox.shut();
        }
    });
}

impl Member {
    /// # Errors
    /// `BadValue` once it has joined.
    fn say(&self, say: impl FnOnce(&mut Said)) -> Result<(), Error> {
        if self.joined.get().is_some() {
            return Err(misuse("this isonet was joined: what it shares is said before"));
        }
        say(&mut self.said.lock().unwrap_or_else(PoisonError::into_inner));
        Ok(())
    }

    fn join(&self, limit: Option<Duration>) -> Result<(), Error> {
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if self.joined.get().is_some() {
            return Err(misuse("this isonet was joined before"));
        }
        let mut builder = self.connection.lab.isochrons(&self.name);
        if let Some((member, members)) = said.member {
            builder = builder.member(member, members);
        }
        for (variable, bytes) in said.variables {
            builder = builder.variable(variable, bytes);
        }
        for handler in said.handlers {
            let inbox = Arc::clone(&self.inbox);
            builder = builder.handler(handler, move |received| inbox.put(handler, received));
        }
        // An end that no clock reaches is none.
        let limit = limit.unwrap_or(Duration::from_secs(u64::from(u32::MAX)));
        let isonet = without_signals(|| builder.limit(limit).join())?;
        let inbox = Arc::clone(&self.inbox);
        isonet.maker().notify_end(Box::new(move || inbox.changed.notify_all()));
        self.joined.set(isonet).map_err(|_| misuse("this isonet was joined before"))
    }

    /// Whether this process was forked from the one that made it: another thread may have had the inbox's lock, for good.
    fn is_inherited(&self) -> bool {
        self.process != std::process::id()
    }

    /// # Errors
    /// `BadValue` before it has joined; `Closed`: the parent of this process made it.
    pub(crate) fn joined(&self) -> Result<&Isonet, Error> {
        if self.is_inherited() {
            return Err(Error::new(Code::Closed, "this isonet was made in another process; join one here"));
        }
        self.joined.get().ok_or_else(|| misuse("this isonet was not joined so far"))
    }

    fn lent(&self) -> MutexGuard<'_, Option<Message>> {
        self.lent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn next(&self, limit: Option<Duration>) -> Result<Message, Error> {
        let maker = self.joined()?.maker();
        let until = limit.and_then(|limit| Instant::now().checked_add(limit));
        let (_taking, interrupt) = (self.inbox.taking(), &self.connection.interrupt);
        loop {
            let left =
                until.map_or(SLICE, |until| until.saturating_duration_since(Instant::now()).min(SLICE));
            if let Some(message) = self.inbox.take(left, &maker) {
                return Ok(message);
            }
            maker.end().map_or(Ok(()), Err)?;
            interrupt.look()?;
            if until.is_some_and(|until| Instant::now() >= until) {
                return Err(Error::new(Code::TimedOut, "no message has come"));
            }
        }
    }
}

/// A thread that takes a message, or waits for one.
struct Taking<'a>(&'a Inbox);

impl Drop for Taking<'_> {
    fn drop(&mut self) {
        self.0.state().takers -= 1;
    }
}

impl Inbox {
    fn state(&self) -> MutexGuard<'_, Waiting> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn taking(&self) -> Taking<'_> {
        self.state().takers += 1;
        Taking(self)
    }

    /// On the thread that executes isochrons: waits for room, until the isonet ends or the program wants no more.
    fn put(&self, handler: u32, received: &Received<'_>) {
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
            state.messages.push_back(Message { sender: received.sender, handler, bytes });
        }
        drop(state);
        self.changed.notify_all();
    }

    fn take(&self, limit: Duration, maker: &IsochronMaker) -> Option<Message> {
        let is_quiet = |state: &mut Waiting| state.messages.is_empty() && maker.end().is_none();
        let waited = self.changed.wait_timeout_while(self.state(), limit, is_quiet);
        let mut state = waited.unwrap_or_else(PoisonError::into_inner).0;
        let message = state.messages.pop_front()?;
        state.bytes -= message.bytes.len();
        drop(state);
        self.changed.notify_all();
        Some(message)
    }

    /// The program wants no more messages.
    fn shut(&self) {
        self.state().is_shut = true;
        self.changed.notify_all();
    }

    /// Whether nothing is executed here until somebody takes messages, and nobody does.
    pub(crate) fn holds_up(&self) -> bool {
        let state = self.state();
        state.is_held_up && state.takers == 0
    }
}

impl Waiting {
    fn has_room(&self, bytes: usize) -> bool {
        self.messages.len() < MAX_WAITING.0
            && (self.messages.is_empty() || self.bytes + bytes <= MAX_WAITING.1)
    }
}

//! quintet_isonet - processes that execute isochrons in one order
//!
//! An *isonet* is a set of processes, its members, that share variables and send each other messages by *isochrons* (quintet_isochron(3)): sets of operations that are all executed
//! at one instant, in one order for all members, without locks. The guide is docs/isochrons.md.
//!
//! A program says what it shares, joins, and closes. All members say the same variables; each says for which handlers, by their numbers, it takes messages. Members find each
//! other by the space of their lab, and then have links of their own.
//!
//! Messages wait until the program takes them with `quintet_isonet_next`, in the one order. There is room for 256 of them and 4 MiB: while it is full this member executes nothing,
//! and whoever has sent it something waits. A program that takes none for half the silence limit then, half a second unless it says otherwise, ends its member: whatever it asks next fails with
//! `QUINTET_TASK_FAILED`, whose text says so, and the others go on without it. No thread of the library calls the program.
//!
//! In an event loop `quintet_isonet_descriptor` is polled; when it is readable `quintet_isonet_next` is called with a timeout of 0 until it comes to `QUINTET_TIMED_OUT`. Nothing else of a loop waits either:
//! `quintet_isochron_begin` and `quintet_isonet_begin_plain` come to `QUINTET_BUSY` where they would have to, and nothing that they have taken is dropped.
//!
//! *Plain* messages have no place in the order, and wait for nothing that has one: for what need not be seen in one order, such as an answer to who has asked.
//!
//! A member that ends without closing, is killed, or of which nothing is heard for a second is lost to the others, who go on without it. What nobody of them has executed until then
//! fails with `QUINTET_PEER_DIED`, as does what was put together before a member came back: it is begun again, by those that are left. With fewer than half of the members, or half without the one that has been there for longest, they stop (`QUINTET_PEER_SILENT`); who was
//! left behind and lives stops, too (`QUINTET_PEER_SILENT`).
//!
//! Where all members are *rejoinable*, a process may take the place of a member that has ended: it says `quintet_isonet_rejoin` where that said `quintet_isonet_join`, and is in the
//! next view, with the variables as that begins. If programs make something of the messages that they take, they share that state: one of them is asked for it by
//! `quintet_isonet_next` when it has taken all that was executed before that view, and gives it with `quintet_isonet_give_state`; whoever comes back takes it before all else.
//!
//! ```c
//! while (quintet_isonet_next(isonet, QUINTET_FOREVER, &message) == QUINTET_OK) {
//!     if (message.kind == QUINTET_ISONET_MESSAGE) enter(&book, message.data, message.length);
//!     if (message.kind == QUINTET_ISONET_STATE) restore(&book, message.data, message.length);
//!     if (message.kind == QUINTET_ISONET_STATE_WANTED) quintet_isonet_give_state(isonet, &book, sizeof book);
//! }
//! ```
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
use core::ffi::{c_char, c_int, c_void};
use core::mem::MaybeUninit;
use core::ptr::{NonNull, null, null_mut};
use inbox::{Inbox, Item, Lent};
use quintet::{Code, Error, Isonet, IsonetBuilder, Place, Variable};
use said::Said;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use views::News;

pub mod coming_back;
pub mod counters;
mod inbox;
pub mod plain;
mod said;
pub mod saying;
pub mod update;
pub mod views;
pub(crate) mod waiting;
pub mod witness;

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
    /// What the program has taken last, and looks at.
    lent: Mutex<Lent>,
    /// The members of the view that it has asked for last.
    viewed: Mutex<Vec<u16>>,
    /// How far apart pulses were when it has asked last.
    intervals: Mutex<Vec<counters::quintet_interval_class>>,
    /// How others kept up when it has asked last.
    peers: Mutex<Vec<counters::quintet_peer_counters>>,
    views: Arc<News>,
    process: u32,
}

/// What `quintet_isonet_next` gives.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum quintet_isonet_kind {
    /// A message of an isochron.
    QUINTET_ISONET_MESSAGE = 0,
    /// The state of another member's program, to be put in place of what this one began with: the first that a member takes that has come back.
    QUINTET_ISONET_STATE = 1,
    /// A member comes back: the state that this program has now is to be given with `quintet_isonet_give_state`, before anything else is taken.
    QUINTET_ISONET_STATE_WANTED = 2,
    /// A plain message, which has no place in the order.
    QUINTET_ISONET_PLAIN = 3,
    /// A view begins: the data are the numbers of its members, each a `uint16_t`, ascending; `quintet_isonet_lost` and `quintet_isonet_back` say what is new in it. Of what was taken before nothing is executed in it, of what comes behind all.
    QUINTET_ISONET_VIEW = 4,
    /// An isochron has given a variable with a copy here this value.
    QUINTET_ISONET_VALUE = 5,
}

/// Where something stands in the one order, the same for all members: of two places the first is the one that is less in the first field, from the top, in which they differ.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct quintet_place {
    /// The view, from 1.
    pub view: u32,
    /// The pulse in it: the instant of logical time.
    pub pulse: u64,
    /// The member that has sent the isochron.
    pub sender: u16,
    /// Which isochron of that member it is.
    pub rank: u64,
    /// 0, or which of the isochrons that concern this member alone, and that it has executed behind that place.
    pub behind: u32,
}

impl quintet_place {
    pub(crate) fn of(Place { stamp, behind }: Place) -> quintet_place {
        let (view, pulse, sender, rank) = (stamp.view.0, stamp.pulse.0, stamp.sender.0, stamp.rank.0);
        quintet_place { view, pulse, sender, rank, behind }
    }
}

/// What a program takes. `data` is the library's, and good until the next one is taken.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct quintet_isonet_message {
    /// A message of an isochron, unless the program takes something else as well.
    pub kind: quintet_isonet_kind,
    /// The member that has sent it, of a message; whose isochron it was, of a value.
    pub sender: u16,
    /// For which handler, or plain handler, of a message; of which variable, of a value.
    pub handler: u32,
    /// What was sent, the value, the state, or the members of the view.
    pub data: *const c_void,
    /// Of so many bytes.
    pub length: usize,
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
            viewed: Mutex::default(),
            intervals: Mutex::default(),
            peers: Mutex::default(),
            views: Arc::default(),
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
    guarded(|| value(isonet)?.say(|said| said.variables.push((Variable(variable), bytes, None))))
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

/// A member of which nothing is heard for so long is lost to the others: a second without this.
///
/// Fails with `QUINTET_BAD_VALUE` once it has joined, and for a time that is none.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_isonet_set_silence_limit(
    isonet: Option<&quintet_isonet>,
    silence_ms: u32,
) -> quintet_status {
    guarded(|| {
        if silence_ms == 0 {
            return Err(misuse("a silence of 0 ms is none: give a limit of 1 ms or more"));
        }
        let silence_limit = Some(Duration::from_millis(silence_ms.into()));
        value(isonet)?.say(|said| said.silence_limit = silence_limit)
    })
}

/// Joins: waits until all members are there and linked to each other. The program's interrupt check is not asked meanwhile.
///
/// Fails with `QUINTET_BAD_VALUE` for members, variables or handlers that cannot be, or if the members do not say the same; `QUINTET_TIMED_OUT`, whose text names who did not
/// come; `QUINTET_PEER_DIED` if a member has ended meanwhile.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_isonet_join(isonet: Option<&quintet_isonet>, timeout_ms: i64) -> quintet_status {
    guarded(|| value(isonet)?.join(limit(timeout_ms), IsonetBuilder::join))
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

/// Whether a member is in the present view: it has not ended, or has come back.
///
/// Fails with `QUINTET_BAD_VALUE` before it has joined, and for a member that there is not.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_isonet_is_present(
    isonet: Option<&quintet_isonet>,
    member: u16,
    is_present: Option<&mut MaybeUninit<bool>>,
) -> quintet_status {
    guarded(|| {
        let is_present = place(is_present, "is_present", false)?;
        let joined = value(isonet)?.joined()?;
        if member >= joined.members() {
            return Err(misuse(format!("there is no member {member} among {}", joined.members())));
        }
        *is_present = joined.view().members.contains(&member);
        Ok(())
    })
}

/// Takes the next message, in the one order, if one comes within `timeout_ms`. Its data are good until the next is taken, or the isonet is freed. A program that shares its state also
/// takes that of another one, and is asked for its own; one that wants news of views or values takes those.
///
/// Fails with `QUINTET_TIMED_OUT`; `QUINTET_BUSY` while this program is to give its state; `QUINTET_CANCELLED` if the program's interrupt check ended the wait; `QUINTET_PEER_SILENT` if this member
/// has stopped; `QUINTET_TASK_FAILED` if the program took nothing for so long that this member has left; `QUINTET_NO_HANDLER` if a message came for a handler that this member has not; `QUINTET_CLOSED` once it was closed.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_isonet_next(
    isonet: Option<&quintet_isonet>,
    timeout_ms: i64,
    message: Option<&mut MaybeUninit<quintet_isonet_message>>,
) -> quintet_status {
    guarded(|| {
        let kind = quintet_isonet_kind::QUINTET_ISONET_MESSAGE;
        let empty = quintet_isonet_message { kind, sender: 0, handler: 0, data: null(), length: 0 };
        let message = place(message, "message", empty)?;
        let member = value(isonet)?;
        let (next, lent) = member.next(limit(timeout_ms))?.given();
        *message = next;
        *member.lent() = lent;
        Ok(())
    })
}

/// A descriptor for the program's own event loop (poll, epoll): it is readable while `quintet_isonet_next` with a timeout of 0 gives something, or says why nothing comes any more, and not while the program is to
/// give its state. It is the isonet's, and good until that is freed; the program polls it, and neither reads nor closes it.
///
/// Fails with `QUINTET_BAD_VALUE` before it has joined, `QUINTET_RESOURCE` if the system refuses a descriptor.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_isonet_descriptor(
    isonet: Option<&quintet_isonet>,
    descriptor: Option<&mut MaybeUninit<c_int>>,
) -> quintet_status {
    guarded(|| {
        let descriptor = place(descriptor, "descriptor", -1)?;
        let member = value(isonet)?;
        member.joined()?;
        *descriptor = member.inbox.descriptor()?;
        Ok(())
    })
}

/// Where what was taken last stands in the one order: a message of an isochron, a value; or a view, which is before all that is executed in it.
///
/// Fails with `QUINTET_BAD_VALUE` for a plain message or a state, which have no place, and where nothing was taken so far.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_isonet_place(
    isonet: Option<&quintet_isonet>,
    place: Option<&mut MaybeUninit<quintet_place>>,
) -> quintet_status {
    guarded(|| {
        let found = crate::boundary::place(place, "place", quintet_place::default())?;
        let member = value(isonet)?;
        member.joined()?;
        let place = member.lent().place();
        *found =
            quintet_place::of(place.ok_or_else(|| misuse("what was taken last has no place in the order"))?);
        Ok(())
    })
}

/// Waits until all isochrons of this member are executed and all members close, and ends. It takes no more messages: what comes meanwhile is dropped. The program's interrupt
/// check is not asked.
///
/// Fails with `QUINTET_PEER_SILENT` if this member has stopped, `QUINTET_NO_HANDLER`, `QUINTET_CLOSED` if it was closed before.
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
    fn join(
        &self,
        limit: Option<Duration>,
        join: impl FnOnce(IsonetBuilder) -> Result<Isonet, Error>,
    ) -> Result<(), Error> {
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if self.joined.get().is_some() {
            return Err(misuse("this isonet was joined before"));
        }
        // An end that no clock reaches is none.
        let limit = limit.unwrap_or(Duration::from_secs(u64::from(u32::MAX)));
        let isonet = without_signals(|| join(self.builder(said).limit(limit)))?;
        let inbox = Arc::clone(&self.inbox);
        isonet.maker().notify_end(Box::new(move || inbox.wake()));
        self.inbox.set_maker(isonet.maker());
        self.views.note(&isonet.view());
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

    fn lent(&self) -> MutexGuard<'_, Lent> {
        self.lent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn next(&self, limit: Option<Duration>) -> Result<Item, Error> {
        let maker = self.joined()?.maker();
        let until = limit.and_then(|limit| Instant::now().checked_add(limit));
        let (_taking, interrupt) = (self.inbox.taking(), &self.connection.interrupt);
        loop {
            let left =
                until.map_or(SLICE, |until| until.saturating_duration_since(Instant::now()).min(SLICE));
            if let Some(item) = self.inbox.take(left, &maker)? {
                return Ok(item);
            }
            maker.end().map_or(Ok(()), Err)?;
            interrupt.look()?;
            if until.is_some_and(|until| Instant::now() >= until) {
                return Err(Error::new(Code::TimedOut, "no message has come"));
            }
        }
    }
}

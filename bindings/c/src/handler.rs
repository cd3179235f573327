//! quintet_handler - calls that this process handles
//!
//! A handler takes calls of a name, of all processes that use the same space (quintet_messaging(3)). Several processes may handle one name: each
//! call goes to one of them.
//!
//! Calls are handled by the program's own threads and by no other: in `quintet_handler_serve`, which calls a function of the program for each of
//! them, or one by one after `quintet_handler_next`. As many are handled at a time as threads are in there. What nobody takes waits in the broker; how many
//! may wait is said when the handler is made, and who is one too many is told so.
//!
//! A process that ends takes its handlers with it: callers of what it had begun get `QUINTET_PEER_DIED`. A handler that stands still is noticed by
//! its callers' timeouts alone.
//!
//! ```c
//! static void look_up(quintet_call *call, void *table) {
//!     const void *key;
//!     size_t length;
//!     quintet_call_request(call, &key, &length);
//!     const char *found = find(table, key, length);
//!     if (found != NULL) quintet_call_reply(call, found, strlen(found));
//!     else quintet_call_fail(call, "no such key");
//! }
//! ...
//! quintet_handler_new(lab, "store", NULL, &handler);
//! quintet_handler_serve(handler, look_up, table);
//! ```

use crate::boundary::{
    Tagged, free, give, guarded, handle, limit, milliseconds, misuse, place, tagged, text, value,
};
use crate::connection::Connection;
use crate::error::quintet_status;
use crate::interrupt::{Argument, needed};
use crate::lab::quintet_lab;
use crate::messaging::message;
use core::ffi::{c_char, c_void};
use core::mem::MaybeUninit;
use core::ptr::{NonNull, null, null_mut};
use quintet::{Call, Error, Handler, HandlerLimits};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Takes calls of a name. Any threads may use it at once.
pub struct quintet_handler(Tagged<Handling>);
handle!(quintet_handler, Handling, b"hand", "handler");

/// What is behind it.
pub struct Handling {
    connection: Arc<Connection>,
    handler: Handler,
}

/// A call that a handler was given. One thread uses it at a time.
pub struct quintet_call(Tagged<Given>);
handle!(quintet_call, Given, b"call", "call");

/// What is behind it.
pub struct Given {
    request: quintet::Bytes,
    is_one_way: bool,
    end: Option<Instant>,
    /// None once it was replied to.
    call: Mutex<Option<Call>>,
}

/// What the handlers of a name take: all of them the same. 0 is the default.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct quintet_handler_limits {
    /// The longest request, in bytes: 1 MiB by default, 64 MiB at most.
    pub max_request_bytes: u32,
    /// Calls that one handler may have at once: 16 by default.
    pub at_once: u32,
    /// Calls that may wait for the handlers of the name: 256 by default, 65536 at most.
    pub waiting: u32,
}

/// Handles one call: replies to it, or fails it. The call is the library's, and good until this returns. It must not throw or jump.
pub type quintet_handle = Option<extern "C" fn(call: Option<&quintet_call>, argument: *mut c_void)>;

fn limits(given: Option<&quintet_handler_limits>) -> HandlerLimits {
    let plain = HandlerLimits::default();
    let Some(given) = given else { return plain };
    let or = |number: u32, plain: u32| if number == 0 { plain } else { number };
    HandlerLimits {
        max_request_bytes: or(given.max_request_bytes, plain.max_request_bytes),
        at_once: or(given.at_once, plain.at_once),
        waiting: or(given.waiting, plain.waiting),
    }
}

/// Handles calls of a name from now on: 1 to 128 bytes of text. `limits` may be NULL, for the defaults. This process has the rank that its job gave it, if
/// it is a worker. Until a thread takes calls they wait.
///
/// Fails with `QUINTET_BAD_VALUE` for what is no name, limits that cannot be, or other ones than those of another handler of the name;
/// `QUINTET_BUSY` for more than 256 handlers of one process.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_handler_new(
    lab: Option<&quintet_lab>,
    name: *const c_char,
    limits: Option<&quintet_handler_limits>,
    handler: Option<&mut MaybeUninit<*mut quintet_handler>>,
) -> quintet_status {
    guarded(|| {
        let handler = place(handler, "handler", null_mut())?;
        let connection = &value(lab)?.connection;
        let made = connection.lab.messaging().handle(text(name, "name")?, self::limits(limits))?;
        *handler = give(Handling { connection: Arc::clone(connection), handler: made });
        Ok(())
    })
}

impl Handling {
    fn next(&self, limit: Option<Duration>) -> Result<Given, Error> {
        let interrupt = &self.connection.interrupt;
        let call = self.handler.next_unless(limit, interrupt.slice(), || interrupt.look())?;
        Ok(Given {
            request: call.payload().clone(),
            is_one_way: call.is_one_way(),
            end: call.end(),
            call: Mutex::new(Some(call)),
        })
    }

    /// Whether a wait failed because it was to end.
    fn is_over(&self) -> bool {
        self.handler.has_left() || self.connection.lab.is_closed()
    }
}

/// Handles calls on this thread, one after the other, with `handle(call, argument)`, until the handler leaves or the lab is closed: then it
/// succeeds. A call that `handle` ends without a reply fails.
///
/// Fails with `QUINTET_PEER_DIED` or `QUINTET_PEER_SILENT` if the connection is over, `QUINTET_CANCELLED` if the program's interrupt check ended the
/// wait, `QUINTET_BAD_VALUE` if `handle` is NULL.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_handler_serve(
    handler: Option<&quintet_handler>,
    handle: quintet_handle,
    argument: *mut c_void,
) -> quintet_status {
    guarded(|| {
        let handle = needed(handle, "handle")?;
        let argument = Argument(argument);
        let handling = value(handler)?;
        loop {
            match handling.next(None) {
                Ok(given) => {
                    let call: quintet_call = tagged(given);
                    handle(Some(&call), argument.pointer());
                }
                Err(_) if handling.is_over() => return Ok(()),
                Err(error) => return Err(error),
            }
        }
    })
}

/// The next call, if one comes within `timeout_ms`; it is freed with `quintet_call_free`.
///
/// Fails with `QUINTET_TIMED_OUT`, `QUINTET_CANCELLED` once the handler has left or if the program's interrupt check ended the wait,
/// `QUINTET_CLOSED` once the lab is closed.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_handler_next(
    handler: Option<&quintet_handler>,
    timeout_ms: i64,
    call: Option<&mut MaybeUninit<*mut quintet_call>>,
) -> quintet_status {
    guarded(|| {
        let call = place(call, "call", null_mut())?;
        *call = give(value(handler)?.next(limit(timeout_ms))?);
        Ok(())
    })
}

/// Takes no more calls: threads that wait for one return, calls that were not begun go to other handlers of the name or fail with
/// `QUINTET_NO_HANDLER`. Those that were given may still be replied to. A second call does nothing.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_handler_leave(handler: Option<&quintet_handler>) -> quintet_status {
    guarded(|| value(handler)?.handler.leave())
}

/// Leaves, and frees the handler; no thread may use it then. NULL is left alone.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_handler_free(handler: Option<NonNull<quintet_handler>>) {
    free(handler);
}

/// Lends what the caller has sent, to be read until the call is freed.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_call_request(
    call: Option<&quintet_call>,
    data: Option<&mut MaybeUninit<*const c_void>>,
    length: Option<&mut MaybeUninit<usize>>,
) -> quintet_status {
    guarded(|| {
        let data = place(data, "data", null())?;
        let length = place(length, "length", 0)?;
        let request = &value(call)?.request;
        (*data, *length) = (request.as_ptr().cast(), request.len());
        Ok(())
    })
}

/// How long the caller still waits, in milliseconds: `QUINTET_FOREVER` if without end, or if the call is one-way.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_call_remaining(
    call: Option<&quintet_call>,
    remaining_ms: Option<&mut MaybeUninit<i64>>,
) -> quintet_status {
    guarded(|| {
        let remaining = place(remaining_ms, "remaining_ms", 0)?;
        let left = value(call)?.end.map(|end| end.saturating_duration_since(Instant::now()));
        *remaining = milliseconds(left);
        Ok(())
    })
}

/// Whether nobody waits for a reply.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_call_is_one_way(
    call: Option<&quintet_call>,
    is_one_way: Option<&mut MaybeUninit<bool>>,
) -> quintet_status {
    guarded(|| {
        let is_one_way = place(is_one_way, "is_one_way", false)?;
        *is_one_way = value(call)?.is_one_way;
        Ok(())
    })
}

/// Replies. To a one-way call the reply is dropped.
///
/// Fails with `QUINTET_TOO_LARGE`, and then its caller is told; `QUINTET_BAD_VALUE` if the call was ended before.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_call_reply(
    call: Option<&quintet_call>,
    data: *const c_void,
    length: usize,
) -> quintet_status {
    guarded(|| {
        let given = value(call)?;
        let reply = message(data, length, "data")?;
        given.take()?.reply(reply)
    })
}

/// Fails the call: its caller gets `QUINTET_TASK_FAILED` with this text, 1 KiB of it at most.
///
/// Fails with `QUINTET_BAD_VALUE` if the call was ended before, and for what is no text.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_call_fail(call: Option<&quintet_call>, text: *const c_char) -> quintet_status {
    guarded(|| {
        let given = value(call)?;
        let words = crate::boundary::text(text, "text")?;
        given.take()?.fail(words)
    })
}

impl Given {
    /// # Errors
    /// `BadValue` if it was ended before.
    fn take(&self) -> Result<Call, Error> {
        let call = self.call.lock().unwrap_or_else(PoisonError::into_inner).take();
        call.ok_or_else(|| misuse("this call was replied to or failed before"))
    }
}

/// Frees a call that `quintet_handler_next` gave; without a reply it fails. NULL is left alone.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_call_free(call: Option<NonNull<quintet_call>>) {
    free(call);
}

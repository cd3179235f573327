//! quintet_messaging - calls of handlers in other processes
//!
//! Processes that use one space can call each other: one **handles** calls of a name (quintet_handler(3)), others **call** that name. A request and
//! a reply are any bytes, up to 64 MiB each. Calls go by the broker beside the space, so that no process needs to know where another is.
//!
//! `rank` says which handlers are meant: those of the worker of that rank in its job, or any, with `QUINTET_ANY_RANK`.
//!
//! A call that fails with `QUINTET_NO_HANDLER` or `QUINTET_BUSY` has had no effect. After `QUINTET_PEER_DIED` the handler may have done something.
//!
//! Any threads may call at once. An interrupt check of the lab ends the waits of `quintet_messaging_call` and `quintet_messaging_wait` as well: a
//! call that was not begun by then is not, and one that was goes on in its handler.
//!
//! ```c
//! quintet_buffer *reply;
//! quintet_messaging_wait(lab, "store", QUINTET_ANY_RANK, 5000);
//! if (quintet_messaging_call(lab, "store", QUINTET_ANY_RANK, "key", 3, 1000, &reply) == QUINTET_OK) {
//!     const void *data;
//!     size_t length;
//!     quintet_buffer_read(reply, &data, &length);
//!     ...
//!     quintet_buffer_free(reply);
//! }
//! ```

use crate::boundary::{guarded, limit, misuse, place, slice, text, value};
use crate::buffer::{of_data, quintet_buffer};
use crate::error::quintet_status;
use crate::lab::quintet_lab;
use core::ffi::{c_char, c_void};
use core::mem::MaybeUninit;
use core::ptr::null_mut;
use quintet::{Bytes, Error, Recipient};

/// For a rank: the handlers of any process.
pub const QUINTET_ANY_RANK: i64 = -1;

/// Who is called.
fn recipient(lab: Option<&quintet_lab>, name: *const c_char, rank: i64) -> Result<Recipient, Error> {
    let to = value(lab)?.connection.lab.messaging().to(text(name, "name")?);
    match checked_rank(rank)? {
        Some(rank) => Ok(to.rank(rank)),
        None => Ok(to),
    }
}

/// # Errors
/// `BadValue` for what is no rank.
pub(crate) fn checked_rank(rank: i64) -> Result<Option<u32>, Error> {
    match rank {
        QUINTET_ANY_RANK => Ok(None),
        rank => u32::try_from(rank).map(Some).map_err(|_| misuse(format!("{rank} is no rank"))),
    }
}

/// The bytes that C passed, as a message.
///
/// # Errors
/// `BadValue`.
pub(crate) fn message(data: *const c_void, length: usize, name: &str) -> Result<Bytes, Error> {
    slice(data.cast::<u8>(), length, name).map(Bytes::copy_from_slice)
}

/// Calls a handler of this name, and waits for its reply, `timeout_ms` at most. The reply is a buffer, to be read with `quintet_buffer_read` and
/// freed.
///
/// Fails with `QUINTET_NO_HANDLER` if nobody handles calls of that name, `QUINTET_BUSY` if as many wait as the handlers allow,
/// `QUINTET_TOO_LARGE`, `QUINTET_TIMED_OUT`, whose message says whether a handler had begun, `QUINTET_TASK_FAILED` with the handler's own words,
/// `QUINTET_PEER_DIED` if the process that handled it has ended, or the broker, `QUINTET_CANCELLED` if the program's interrupt check ended the wait,
/// and `QUINTET_BAD_VALUE` for what is no name or rank.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_messaging_call(
    lab: Option<&quintet_lab>,
    name: *const c_char,
    rank: i64,
    request: *const c_void,
    length: usize,
    timeout_ms: i64,
    reply: Option<&mut MaybeUninit<*mut quintet_buffer>>,
) -> quintet_status {
    guarded(|| {
        let reply = place(reply, "reply", null_mut())?;
        let to = recipient(lab, name, rank)?;
        let interrupt = &value(lab)?.connection.interrupt;
        let mut pending = to.begin_call(message(request, length, "request")?, limit(timeout_ms))?;
        *reply = of_data(interrupt.wait(|slice| pending.wait(slice))??);
        Ok(())
    })
}

/// Calls a handler of this name one-way: it is accepted when this returns, and handled later. It is lost with the process that has begun it, or
/// where no handler of the name is left.
///
/// Fails as `quintet_messaging_call`, but for what a handler may do.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_messaging_send(
    lab: Option<&quintet_lab>,
    name: *const c_char,
    rank: i64,
    request: *const c_void,
    length: usize,
) -> quintet_status {
    guarded(|| recipient(lab, name, rank)?.send(message(request, length, "request")?))
}

/// Waits until there is a handler of this name, `timeout_ms` at most: for a program that calls another one that was started at the same time.
///
/// Fails with `QUINTET_TIMED_OUT`, `QUINTET_CANCELLED` if the program's interrupt check ended the wait, and `QUINTET_BAD_VALUE` for what is no name or
/// rank.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_messaging_wait(
    lab: Option<&quintet_lab>,
    name: *const c_char,
    rank: i64,
    timeout_ms: i64,
) -> quintet_status {
    guarded(|| {
        let interrupt = &value(lab)?.connection.interrupt;
        let mut waiting = recipient(lab, name, rank)?.begin_wait(limit(timeout_ms))?;
        interrupt.wait(|slice| waiting.wait(slice))?
    })
}

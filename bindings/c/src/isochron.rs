//! quintet_isochron - operations of several processes at one instant
//!
//! An *isochron* is a set of operations: messages to handlers of members, reads and writes of shared variables (quintet_isonet(3)). All of them are executed at one instant of logical time, and
//! all members execute all isochrons in one order. It has 1 to 1024 operations, of 60 KiB less 64 bytes all together beside its longest message, which has 64 KiB at most, and its reads give 60 KiB less 64 bytes at most.
//!
//! It is put together, begun, and waited for. Several may be under way at once, 240 of a member at most, and several may be put together at once. What is freed before it was begun has not
//! happened; what is freed under way goes on.

use crate::boundary::{Tagged, free, give, guarded, handle, limit, misuse, place, value};
use crate::error::quintet_status;
use crate::isonet::waiting::end_of;
use crate::isonet::{Member, quintet_isonet, quintet_place};
use crate::messaging::message;
use core::ffi::c_void;
use core::mem::MaybeUninit;
use core::ptr::{NonNull, null, null_mut};
use quintet::{Bytes, Code, Error, Executed, Isochron, NoValue, PendingIsochron, Variable};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// An isochron. One thread puts it together; any may wait for it.
pub struct quintet_isochron(Tagged<Part>);
handle!(quintet_isochron, Part, b"isoc", "isochron");

/// What is behind it.
pub struct Part {
    member: Arc<Member>,
    state: Mutex<State>,
}

enum State {
    PutTogether(Isochron),
    UnderWay(PendingIsochron),
    Done(Result<Executed, Error>),
    /// It could not be begun.
    Over,
}

/// Why a read has no value.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum quintet_no_value {
    /// It has one.
    QUINTET_HAS_VALUE = 0,
    /// The member that had reserved the place that was read has ended without giving a value. The variable has one again once it is written.
    QUINTET_WRITER_DIED = 1,
    /// A member ended before the one whose copy was read had answered: it is to be read again.
    QUINTET_UNANSWERED = 2,
    /// All members that had a copy of the variable have ended, and nobody has written it since.
    QUINTET_VALUE_LOST = 3,
}

/// Begins to put one together. To be freed with `quintet_isochron_free`.
///
/// Fails with `QUINTET_PEER_SILENT` if this member has stopped, `QUINTET_CLOSED` once the isonet was closed, `QUINTET_BAD_VALUE` before
/// it was joined.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_isochron_new(
    isonet: Option<&quintet_isonet>,
    isochron: Option<&mut MaybeUninit<*mut quintet_isochron>>,
) -> quintet_status {
    guarded(|| {
        let isochron = place(isochron, "isochron", null_mut())?;
        let member = value(isonet)?;
        let made = member.joined()?.maker().isochron()?;
        *isochron = give(Part { member: Arc::clone(member), state: Mutex::new(State::PutTogether(made)) });
        Ok(())
    })
}

/// Sends a message to a handler of a member, this one as well.
///
/// Fails with `QUINTET_BAD_VALUE` for no such member, `QUINTET_PEER_DIED` for one that has ended, `QUINTET_TOO_LARGE` if the isochron would become too large. It goes on without
/// the message.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_isochron_send(
    isochron: Option<&quintet_isochron>,
    member: u16,
    handler: u32,
    data: *const c_void,
    length: usize,
) -> quintet_status {
    guarded(|| {
        let data = message(data, length, "data")?;
        value(isochron)?.add(|isochron| isochron.send(member, handler, data))
    })
}

/// Sends a message to a handler of each member of the present view, this one as well. If a member comes back before it is executed it is not, and fails with `QUINTET_PEER_DIED`: a message to
/// all is one to all.
///
/// Fails with `QUINTET_TOO_LARGE` if the isochron would become too large. It goes on without any of these messages.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_isochron_send_all(
    isochron: Option<&quintet_isochron>,
    handler: u32,
    data: *const c_void,
    length: usize,
) -> quintet_status {
    guarded(|| {
        let data = message(data, length, "data")?;
        value(isochron)?.add(|isochron| isochron.send_all(handler, data))
    })
}

/// Reads a variable, behind what the isochron does before. `index` is which of its values that is (`quintet_isochron_value`); it may be NULL.
///
/// Fails with `QUINTET_BAD_VALUE` for no such variable, `QUINTET_PEER_DIED` if all members that had a copy have ended, `QUINTET_TOO_LARGE`.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_isochron_read(
    isochron: Option<&quintet_isochron>,
    variable: u32,
    index: Option<&mut MaybeUninit<usize>>,
) -> quintet_status {
    guarded(|| {
        let read = value(isochron)?.add(|isochron| isochron.read(Variable(variable)))?;
        if let Some(index) = index {
            index.write(read);
        }
        Ok(())
    })
}

/// Gives a variable a value, of its size.
///
/// Fails with `QUINTET_BAD_VALUE` for no such variable or another size, `QUINTET_PEER_DIED` if all members that had a copy have ended, `QUINTET_TOO_LARGE`.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_isochron_write(
    isochron: Option<&quintet_isochron>,
    variable: u32,
    data: *const c_void,
    length: usize,
) -> quintet_status {
    guarded(|| {
        let data = message(data, length, "data")?;
        value(isochron)?.add(|isochron| isochron.write(Variable(variable), data))
    })
}

/// Reserves the place of a write: who reads the variable behind it waits for the value, which `quintet_isochron_assign` gives later, in another isochron. A member has one reserved place of a
/// variable at a time.
///
/// Fails as `quintet_isochron_read`. That a place is reserved already is found when it is executed.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_isochron_schedule(
    isochron: Option<&quintet_isochron>,
    variable: u32,
) -> quintet_status {
    guarded(|| value(isochron)?.add(|isochron| isochron.schedule(Variable(variable))))
}

/// Gives the value for the place that this member has reserved.
///
/// Fails as `quintet_isochron_write`. That no place is reserved is found when it is executed.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_isochron_assign(
    isochron: Option<&quintet_isochron>,
    variable: u32,
    data: *const c_void,
    length: usize,
) -> quintet_status {
    guarded(|| {
        let data = message(data, length, "data")?;
        value(isochron)?.add(|isochron| isochron.assign(Variable(variable), data))
    })
}

/// Begins it, and does not wait. Isochrons are executed in the order in which their member has begun them.
///
/// Fails with `QUINTET_BUSY` if it would have to wait, and then it is what it was before, to be begun again later: 240 isochrons of this member wait (256 for one that gives more reserved places their values than it
/// reserves), or 1008 have begun from the first that waits on. Fails with `QUINTET_BAD_VALUE` if it is empty, or was begun before; `QUINTET_PEER_SILENT` and its kin.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_isochron_begin(isochron: Option<&quintet_isochron>) -> quintet_status {
    guarded(|| {
        let part = value(isochron)?;
        part.member.joined()?;
        let mut state = part.state();
        let State::PutTogether(isochron) = &mut *state else {
            return Err(misuse("this isochron was begun before"));
        };
        match isochron.try_begin() {
            Ok(pending) => *state = State::UnderWay(pending),
            Err(error) if error.code() == Code::Busy => return Err(error),
            Err(error) => {
                *state = State::Over;
                return Err(error);
            }
        }
        Ok(())
    })
}

/// Waits until it is executed by all its receivers, `timeout_ms` at most; what it came to may be asked for again.
///
/// Fails with `QUINTET_TIMED_OUT` or `QUINTET_CANCELLED`, and then it goes on; `QUINTET_BUSY` while messages
/// fill their room and nobody takes them: take some (`quintet_isonet_next`) and wait again, it goes on; `QUINTET_BAD_VALUE` if it reserves a place twice, gives a value for none or was not
/// begun; `QUINTET_PEER_DIED` if a member has ended and none of those that are left has executed it: begin another one; `QUINTET_PEER_SILENT` if this member has
/// stopped, and it may have been executed.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_isochron_wait(
    isochron: Option<&quintet_isochron>,
    timeout_ms: i64,
) -> quintet_status {
    guarded(|| value(isochron)?.wait(limit(timeout_ms)))
}

/// Lends the value of a read, by its index from 0, until the isochron is freed: of an isochron that was waited for. It is NULL if there is none: `quintet_isochron_no_value` says why.
///
/// Fails with `QUINTET_BAD_VALUE` before it was executed, and for no such index.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_isochron_value(
    isochron: Option<&quintet_isochron>,
    index: usize,
    data: Option<&mut MaybeUninit<*const c_void>>,
    length: Option<&mut MaybeUninit<usize>>,
) -> quintet_status {
    guarded(|| {
        let data = place(data, "data", null())?;
        let length = place(length, "length", 0)?;
        let state = value(isochron)?.state();
        if let Ok(bytes) = state.read(index)? {
            (*data, *length) = (bytes.as_ptr().cast(), bytes.len());
        }
        Ok(())
    })
}

/// Says why a read of an isochron that was waited for has no value, by its index from 0: `QUINTET_HAS_VALUE` if it has one.
///
/// Fails with `QUINTET_BAD_VALUE` before it was executed, and for no such index.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_isochron_no_value(
    isochron: Option<&quintet_isochron>,
    index: usize,
    why: Option<&mut MaybeUninit<quintet_no_value>>,
) -> quintet_status {
    guarded(|| {
        let why = place(why, "why", quintet_no_value::QUINTET_HAS_VALUE)?;
        *why = match value(isochron)?.state().read(index)? {
            Ok(_) => quintet_no_value::QUINTET_HAS_VALUE,
            Err(NoValue::WriterDied) => quintet_no_value::QUINTET_WRITER_DIED,
            Err(NoValue::Unanswered) => quintet_no_value::QUINTET_UNANSWERED,
            Err(_) => quintet_no_value::QUINTET_VALUE_LOST,
        };
        Ok(())
    })
}

/// Where an isochron that was waited for stands in the one order.
///
/// Fails with `QUINTET_BAD_VALUE` before it was executed.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_isochron_place(
    isochron: Option<&quintet_isochron>,
    place: Option<&mut MaybeUninit<quintet_place>>,
) -> quintet_status {
    guarded(|| {
        let found = crate::boundary::place(place, "place", quintet_place::default())?;
        *found = quintet_place::of(value(isochron)?.state().executed()?.place);
        Ok(())
    })
}

/// Frees it. NULL is left alone.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_isochron_free(isochron: Option<NonNull<quintet_isochron>>) {
    free(isochron);
}

impl State {
    /// What a read has given.
    ///
    /// # Errors
    /// `BadValue` before it is executed, and for no such index.
    fn read(&self, index: usize) -> Result<&Result<Bytes, NoValue>, Error> {
        let values = &self.executed()?.values;
        let read = values.get(index);
        read.ok_or_else(|| misuse(format!("there is no read {index} of {}", values.len())))
    }

    /// # Errors
    /// `BadValue` before it is executed.
    fn executed(&self) -> Result<&Executed, Error> {
        match self {
            State::Done(Ok(executed)) => Ok(executed),
            _ => Err(misuse("this isochron was not waited for, or not executed")),
        }
    }
}

impl Part {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add<T>(&self, add: impl FnOnce(&mut Isochron) -> Result<T, Error>) -> Result<T, Error> {
        match &mut *self.state() {
            State::PutTogether(isochron) => add(isochron),
            _ => Err(misuse("this isochron was begun before: make another one")),
        }
    }

    fn wait(&self, limit: Option<Duration>) -> Result<(), Error> {
        self.member.joined()?;
        let outcome = self.member.wait_for(end_of(limit), |slice| self.look(slice));
        outcome.map_err(|stopped| stopped.told_of("the isochron"))?
    }

    fn look(&self, limit: Duration) -> Option<Result<(), Error>> {
        let mut state = self.state();
        if let State::UnderWay(pending) = &mut *state {
            *state = State::Done(pending.wait(limit)?);
        }
        Some(match &*state {
            State::Done(outcome) => outcome.as_ref().map(drop).map_err(Clone::clone),
            _ => Err(misuse("this isochron was not begun")),
        })
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        if let State::PutTogether(isochron) = core::mem::replace(&mut *self.state(), State::Over) {
            isochron.abandon();
        }
    }
}

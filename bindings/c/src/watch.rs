//! quintet_watch - what happens in a space, as it happens
//!
//! A watch tells what happens to the tuples of a space that match a template, or to all, in the order in which it happens and without gaps: each event has
//! the space's number for it, the tuple, and what changed. It asks the space, which pushes nothing: a program that does not look holds up nobody.
//!
//! ```c
//! quintet_watch *orders;
//! quintet_event event;
//! quintet_tuple *tuple;
//! quintet_space_watch(space, wanted, QUINTET_SINCE_NOW, &orders);
//! while (quintet_watch_next(orders, QUINTET_FOREVER, &event, &tuple) == QUINTET_OK) {
//!     ...
//!     quintet_tuple_free(tuple);
//! }
//! quintet_watch_free(orders);
//! ```
//!
//! **To come back**, also in another process, a program begins behind the number that `quintet_watch_number` gives. The space keeps events while somebody watches
//! and for ten minutes after, a sixteenth of its quota of them and 16 MiB at most; whoever comes later, or reads more slowly than they come, gets
//! `QUINTET_TOO_OLD`, whose text says behind which number they are kept, and never a gap.
//!
//! **In an event loop**: poll `quintet_watch_descriptor`; when it is readable call `quintet_lab_progress`, and then `quintet_watch_next` with a timeout of 0
//! until it gives no tuple, as also before the first poll. That never waits.
//!
//! Any threads may use a watch at once; each event is given to one of them, and the others wait while one does.

use crate::boundary::{Tagged, free, give, guarded, handle, limit, place, value};
use crate::connection::Connection;
use crate::error::quintet_status;
use crate::space::quintet_space;
use crate::tuple::{quintet_tuple, received, to_match};
use core::ffi::c_int;
use core::mem::MaybeUninit;
use core::ptr::{NonNull, null_mut};
use quintet::{Change, Error, EventStream, Since, TupleEvent};
use std::os::fd::AsRawFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// What happens to tuples of a space. Any threads may use it at once.
pub struct quintet_watch(Tagged<Watched>);
handle!(quintet_watch, Watched, b"wtch", "watch");

/// What is behind it.
pub struct Watched {
    connection: Arc<Connection>,
    events: Mutex<EventStream>,
}

/// For where a watch begins: with what happens from now on.
pub const QUINTET_SINCE_NOW: u64 = u64::MAX;

/// For where a watch begins: with the tuples that can be taken now, oldest first, and what happens after that.
pub const QUINTET_SINCE_START: u64 = u64::MAX - 1;

/// What happened to a tuple.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum quintet_change {
    /// It came.
    QUINTET_CHANGE_PUT = 0,
    /// A plain take has it, or a replacement, whose tuples come next.
    QUINTET_CHANGE_TAKEN = 1,
    /// It is hidden under a lease, or under a group.
    QUINTET_CHANGE_LEASED = 2,
    /// It can be taken again, at its old place.
    QUINTET_CHANGE_RETURNED = 3,
    /// It is gone: its lease was acknowledged, or its group has happened.
    QUINTET_CHANGE_DONE = 4,
    /// It is gone: its leases ended too often without an acknowledgement, and a dead letter comes in its place.
    QUINTET_CHANGE_FAILED = 5,
    /// It was there when the watch began.
    QUINTET_CHANGE_THERE = 6,
    /// It is gone: its time had come. Where somebody had taken it, when it would have returned.
    QUINTET_CHANGE_EXPIRED = 7,
}

/// Something that happened to a tuple.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct quintet_event {
    /// Its place in the order of all events of the space. Numbers go up, not always by one.
    pub number: u64,
    /// Which tuple: its place in the order in which tuples were put.
    pub age: u64,
    /// What happened to it.
    pub change: quintet_change,
    /// Zero; later versions may have more.
    pub reserved: [u64; 4],
}

const NO_EVENT: quintet_event =
    quintet_event { number: 0, age: 0, change: quintet_change::QUINTET_CHANGE_PUT, reserved: [0; 4] };

impl quintet_change {
    fn of(change: Change) -> quintet_change {
        match change {
            Change::Put => quintet_change::QUINTET_CHANGE_PUT,
            Change::Taken => quintet_change::QUINTET_CHANGE_TAKEN,
            Change::Leased => quintet_change::QUINTET_CHANGE_LEASED,
            Change::Returned => quintet_change::QUINTET_CHANGE_RETURNED,
            Change::Done => quintet_change::QUINTET_CHANGE_DONE,
            Change::Failed => quintet_change::QUINTET_CHANGE_FAILED,
            Change::There => quintet_change::QUINTET_CHANGE_THERE,
            Change::Expired => quintet_change::QUINTET_CHANGE_EXPIRED,
        }
    }
}

impl Watched {
    fn events(&self) -> MutexGuard<'_, EventStream> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next event, if one comes within `limit` (none: however long it takes). No time: if it has come.
    ///
    /// # Errors
    /// The watch's; `Cancelled` if the program interrupted the wait.
    fn next(&self, limit: Option<Duration>) -> Result<Option<TupleEvent>, Error> {
        let mut events = self.events();
        if limit == Some(Duration::ZERO) {
            return events.try_next().transpose();
        }
        let (interrupt, end) =
            (&self.connection.interrupt, limit.and_then(|limit| Instant::now().checked_add(limit)));
        loop {
            let left = end.map_or(Duration::MAX, |end| end.saturating_duration_since(Instant::now()));
            if let Some(event) = events.next_within(left.min(interrupt.slice())) {
                return event.map(Some);
            }
            interrupt.look()?;
            if events.is_over() || left.is_zero() {
                return Ok(None);
            }
        }
    }
}

/// Begins to watch the tuples that match `wanted`, or all where that is NULL; the template may be freed at once. `since` is where: `QUINTET_SINCE_NOW`, and events count
/// from when this returns; `QUINTET_SINCE_START`, and the tuples that are there are gathered first; or the number of an event, behind which it goes on.
///
/// Fails with `QUINTET_BAD_VALUE` for what is no template, and without one of a space with several managers; `QUINTET_TOO_OLD`; `QUINTET_MALFORMED` of a server from before watches.
/// Of a number the space says so to `quintet_watch_next`.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_space_watch(
    space: Option<&quintet_space>,
    wanted: Option<&quintet_tuple>,
    since: u64,
    watch: Option<&mut MaybeUninit<*mut quintet_watch>>,
) -> quintet_status {
    guarded(|| {
        let watch = place(watch, "watch", null_mut())?;
        let connection: &Arc<Connection> = value(space)?;
        let template = wanted.map(|wanted| to_match(Some(wanted))).transpose()?;
        let since = match since {
            QUINTET_SINCE_NOW => Since::Now,
            QUINTET_SINCE_START => Since::Start,
            number => Since::Number(number),
        };
        let events = Mutex::new(connection.space.watch(template, since)?);
        *watch = give(Watched { connection: Arc::clone(connection), events });
        Ok(())
    })
}

/// The next event, and its tuple, which is freed with `quintet_tuple_free`; NULL, with `QUINTET_OK`, if none comes within the timeout, and once the watch is over. With a timeout of 0
/// it does not wait: it gives what has come. `event` may be NULL.
///
/// Fails with `QUINTET_TOO_OLD`, or as the connection does; then the watch is over. With `QUINTET_CANCELLED` if the program interrupted the wait; no event is lost.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_watch_next(
    watch: Option<&quintet_watch>,
    timeout_ms: i64,
    event: Option<&mut MaybeUninit<quintet_event>>,
    tuple: Option<&mut MaybeUninit<*mut quintet_tuple>>,
) -> quintet_status {
    guarded(|| {
        let event = event.map(|event| event.write(NO_EVENT));
        let tuple = place(tuple, "tuple", null_mut())?;
        let Some(found) = value(watch)?.next(limit(timeout_ms))? else { return Ok(()) };
        if let Some(event) = event {
            let change = quintet_change::of(found.change);
            *event = quintet_event { number: found.number, age: found.age, change, ..NO_EVENT };
        }
        *tuple = received(found.tuple);
        Ok(())
    })
}

/// Behind which number whoever comes back goes on: that of the last event which was given, or a later one up to which there was none. 0 until all tuples were given
/// that were there.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_watch_number(
    watch: Option<&quintet_watch>,
    number: Option<&mut MaybeUninit<u64>>,
) -> quintet_status {
    guarded(|| {
        let number = place(number, "number", 0)?;
        *number = value(watch)?.events().number();
        Ok(())
    })
}

/// The lab's descriptor for the program's own event loop, as `quintet_lab_descriptor` gives it: it is readable while `quintet_lab_progress` has something to do, an event that has
/// come for example. It is good until the lab is freed.
///
/// Fails with `QUINTET_RESOURCE` if the system refuses a descriptor.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_watch_descriptor(
    watch: Option<&quintet_watch>,
    descriptor: Option<&mut MaybeUninit<c_int>>,
) -> quintet_status {
    guarded(|| {
        let descriptor = place(descriptor, "descriptor", -1)?;
        *descriptor = value(watch)?.connection.lab.watch()?.as_raw_fd();
        Ok(())
    })
}

/// Frees a watch. NULL is left alone.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_watch_free(watch: Option<NonNull<quintet_watch>>) {
    free(watch);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_change_has_its_number() {
        for change in Change::ALL {
            assert_eq!(quintet_change::of(change) as u32, u32::from(change as u8));
        }
    }
}

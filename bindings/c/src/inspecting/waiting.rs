//! Requests that wait in a space.

use super::{list, next};
use crate::boundary::{Tagged, free, guarded, handle, milliseconds, place};
use crate::error::quintet_status;
use crate::listing::{cut, received_shown};
use crate::space::quintet_space;
use crate::tuple::quintet_tuple;
use core::mem::MaybeUninit;
use core::ptr::{NonNull, null_mut};
use quintet::{Awaited, Listing, Operation, WaitingRequest};
use std::sync::Mutex;
use std::time::Duration;

/// Requests that wait in a space, which are fetched as they are asked for.
pub struct quintet_waiting(Tagged<Mutex<Listing<WaitingRequest>>>);
handle!(quintet_waiting, Mutex<Listing<WaitingRequest>>, b"wait", "list of waiting requests");

/// What a request does.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum quintet_operation {
    /// It reads a tuple.
    #[default]
    QUINTET_OPERATION_READ = 0,
    /// It takes one.
    QUINTET_OPERATION_TAKE = 1,
    /// It takes one under a lease.
    QUINTET_OPERATION_LEASE = 2,
    /// It counts.
    QUINTET_OPERATION_COUNT = 3,
    /// It puts tuples.
    QUINTET_OPERATION_OUT = 4,
    /// It acknowledges a lease, and puts results.
    QUINTET_OPERATION_ACKNOWLEDGE = 5,
}

/// What a request waits for.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum quintet_awaited {
    /// A tuple that matches.
    #[default]
    QUINTET_AWAITED_TUPLE = 0,
    /// Room in the link to its client.
    QUINTET_AWAITED_LINK = 1,
    /// Its turn: it has more to search than one turn may.
    QUINTET_AWAITED_TURN = 2,
    /// Room in the space.
    QUINTET_AWAITED_ROOM = 3,
}

/// A request that waits.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct quintet_waiting_row {
    /// Its place in the order of requests and tuples.
    pub age: u64,
    /// Tuples with the types of its template that nobody can take now, under a lease or on their way: some of them may return.
    pub hidden: u64,
    /// Which fields of its template are the beginning of longer ones: bit 0 is the first.
    pub cut: u64,
    /// For how long it has waited, in milliseconds; 0 of one that waits for room without end.
    pub waited_ms: i64,
    /// For how long it still waits, in milliseconds; `QUINTET_FOREVER` if without end.
    pub ends_in_ms: i64,
    /// Tuples that it is to put.
    pub puts: u32,
    /// What it does.
    pub operation: quintet_operation,
    /// What it waits for.
    pub awaited: quintet_awaited,
    /// The node of the client that waits.
    pub client_node: u16,
    /// The port of that client there.
    pub client_port: u16,
    /// Zero; later versions may have more numbers.
    pub reserved: [u64; 3],
}

/// Begins to list the requests that wait in a space. Nothing is fetched so far. It is freed with `quintet_waiting_free`.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_space_waiting(
    space: Option<&quintet_space>,
    waiting: Option<&mut MaybeUninit<*mut quintet_waiting>>,
) -> quintet_status {
    list(space, (waiting, "waiting"), |connection| connection.space.waiting())
}

/// The next request that waits; false when there is none any more. `wanted` is the template that it asks for, which is freed with `quintet_tuple_free`; NULL if it puts tuples. It may be NULL itself.
///
/// Fails with `QUINTET_CLOSED`, or as the connection does; then the list is over.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_waiting_next(
    waiting: Option<&quintet_waiting>,
    row: Option<&mut MaybeUninit<quintet_waiting_row>>,
    wanted: Option<&mut MaybeUninit<*mut quintet_tuple>>,
    is_there: Option<&mut MaybeUninit<bool>>,
) -> quintet_status {
    guarded(|| {
        let wanted = wanted.map(|wanted| wanted.write(null_mut()));
        let is_there = place(is_there, "is_there", false)?;
        let row = place(row, "row", quintet_waiting_row::default())?;
        let Some(request) = next(waiting)? else { return Ok(()) };
        *row = (&request).into();
        if let (Some(wanted), Some(template)) = (wanted, request.template) {
            *wanted = received_shown(template);
        }
        *is_there = true;
        Ok(())
    })
}

/// Frees a list of requests that wait. NULL is left alone.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_waiting_free(waiting: Option<NonNull<quintet_waiting>>) {
    free(waiting);
}

impl From<&WaitingRequest> for quintet_waiting_row {
    fn from(request: &WaitingRequest) -> quintet_waiting_row {
        quintet_waiting_row {
            age: request.age,
            hidden: request.hidden,
            cut: request.template.as_deref().map_or(0, cut),
            waited_ms: milliseconds(Some(request.waited.into())),
            ends_in_ms: milliseconds(request.ends_in.map(Duration::from)),
            puts: request.puts,
            operation: request.operation.into(),
            awaited: request.awaited.into(),
            client_node: request.client.node.0,
            client_port: request.client.port.0,
            reserved: [0; 3],
        }
    }
}

impl From<Operation> for quintet_operation {
    fn from(operation: Operation) -> quintet_operation {
        match operation {
            Operation::Read => quintet_operation::QUINTET_OPERATION_READ,
            Operation::Take => quintet_operation::QUINTET_OPERATION_TAKE,
            Operation::Lease => quintet_operation::QUINTET_OPERATION_LEASE,
            Operation::Count => quintet_operation::QUINTET_OPERATION_COUNT,
            Operation::Out => quintet_operation::QUINTET_OPERATION_OUT,
            Operation::Acknowledge => quintet_operation::QUINTET_OPERATION_ACKNOWLEDGE,
        }
    }
}

impl From<Awaited> for quintet_awaited {
    fn from(awaited: Awaited) -> quintet_awaited {
        match awaited {
            Awaited::Tuple => quintet_awaited::QUINTET_AWAITED_TUPLE,
            Awaited::Link => quintet_awaited::QUINTET_AWAITED_LINK,
            Awaited::Turn => quintet_awaited::QUINTET_AWAITED_TURN,
            Awaited::Room => quintet_awaited::QUINTET_AWAITED_ROOM,
        }
    }
}

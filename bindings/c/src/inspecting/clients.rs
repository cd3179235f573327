//! Clients that are connected to a space.

use super::{list, next};
use crate::boundary::{Tagged, free, guarded, handle, milliseconds, place};
use crate::error::quintet_status;
use crate::space::quintet_space;
use core::mem::MaybeUninit;
use core::ptr::NonNull;
use quintet::{ClientState, LinkClass, Listing};
use std::sync::Mutex;

/// Clients that are connected to a space, which are fetched as they are asked for.
pub struct quintet_clients(Tagged<Mutex<Listing<ClientState>>>);
handle!(quintet_clients, Mutex<Listing<ClientState>>, b"clnt", "list of clients");

/// How far the link to a client reaches.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum quintet_reach {
    /// Within the space's process.
    #[default]
    QUINTET_REACH_PROCESS = 0,
    /// Within its machine.
    QUINTET_REACH_MACHINE = 1,
    /// Over a network.
    QUINTET_REACH_NETWORK = 2,
}

/// A client that is connected to a space.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct quintet_client_row {
    /// Leases that it has acknowledged so far.
    pub acknowledged: u64,
    /// Leases of it that ended otherwise.
    pub given_up: u64,
    /// How long it held those that it has acknowledged, all together, in milliseconds.
    pub held_ms: i64,
    /// For how long it has been connected, in milliseconds.
    pub connected_ms: i64,
    /// Requests of it that wait.
    pub waiting: u32,
    /// Leases that it holds.
    pub leases: u32,
    /// How far its link reaches.
    pub reach: quintet_reach,
    /// Its node: with its port it names it among the clients that are connected.
    pub node: u16,
    /// Its port there.
    pub port: u16,
    /// Whether its link asked for a proof who it is.
    pub is_proved: bool,
    /// Who it has proved to be; all zero if `is_proved` is false.
    pub identity: [u8; 32],
    /// Zero; later versions may have more numbers.
    pub reserved: [u64; 4],
}

/// Begins to list the clients that are connected to a space. Nothing is fetched so far. Callers within the process of an embedded space have no link to it, and are not among them. It is freed
/// with `quintet_clients_free`.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_space_clients(
    space: Option<&quintet_space>,
    clients: Option<&mut MaybeUninit<*mut quintet_clients>>,
) -> quintet_status {
    list(space, (clients, "clients"), |connection| connection.space.clients())
}

/// The next client; false when there is none any more.
///
/// Fails with `QUINTET_CLOSED`, or as the connection does; then the list is over.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_clients_next(
    clients: Option<&quintet_clients>,
    row: Option<&mut MaybeUninit<quintet_client_row>>,
    is_there: Option<&mut MaybeUninit<bool>>,
) -> quintet_status {
    guarded(|| {
        let is_there = place(is_there, "is_there", false)?;
        let row = place(row, "row", quintet_client_row::default())?;
        let Some(client) = next(clients)? else { return Ok(()) };
        *row = (&client).into();
        *is_there = true;
        Ok(())
    })
}

/// Frees a list of clients. NULL is left alone.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_clients_free(clients: Option<NonNull<quintet_clients>>) {
    free(clients);
}

impl From<&ClientState> for quintet_client_row {
    fn from(client: &ClientState) -> quintet_client_row {
        quintet_client_row {
            acknowledged: client.acknowledged,
            given_up: client.given_up,
            held_ms: milliseconds(Some(client.held.into())),
            connected_ms: milliseconds(Some(client.connected.into())),
            waiting: client.waiting,
            leases: client.leases,
            reach: client.reach.into(),
            node: client.client.node.0,
            port: client.client.port.0,
            is_proved: client.identity.is_some(),
            identity: client.identity.map(|identity| identity.0).unwrap_or_default(),
            reserved: [0; 4],
        }
    }
}

impl From<LinkClass> for quintet_reach {
    fn from(reach: LinkClass) -> quintet_reach {
        match reach {
            LinkClass::Process => quintet_reach::QUINTET_REACH_PROCESS,
            LinkClass::Machine => quintet_reach::QUINTET_REACH_MACHINE,
            LinkClass::Network => quintet_reach::QUINTET_REACH_NETWORK,
        }
    }
}

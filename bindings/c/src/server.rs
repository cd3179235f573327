//! quintet_server - spaces for other processes
//!
//! A server is a space that serves other processes from a thread of this one. They connect to its address; so does this process.
//!
//! It is for processes of the same user on this machine; TCP is listened at on loopback only. Over "tls:HOST:PORT" it is for whoever has an
//! identity of the same cluster (the setting cluster.identity). A server that runs by itself is the command `quintet serve`.

use crate::boundary::{Tagged, free, give, guarded, handle, null as null_pointer, place, text, texts, value};
use crate::error::quintet_status;
use crate::lab::parsed;
use crate::threads::without_signals;
use core::ffi::c_char;
use core::mem::MaybeUninit;
use core::ptr::{NonNull, null, null_mut};
use quintet::{
    ConnectConfig, Error, LinkAddress, Partitioning, Replication, ServeConfig, Server, SpaceConfig, SpaceLog,
    SpacesConfig,
};
use std::ffi::CString;
use std::sync::{Mutex, PoisonError};

/// A space that serves other processes. Any threads may use it at once.
pub struct quintet_server(Tagged<Serving>);
handle!(quintet_server, Serving, b"serv", "server");

/// What is behind it.
pub struct Serving {
    address: CString,
    /// None once it was stopped.
    server: Mutex<Option<Server>>,
}

/// What a space is served with. All zero: a volatile space with one manager and the default limits.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct quintet_server_settings {
    /// Bytes of tuples that it holds at most; 0: 1 GiB.
    pub max_bytes: u64,
    /// Tuples that it holds at most; 0: 16777216.
    pub max_tuples: u64,
    /// Requests of one client that may wait; 0: 65536.
    pub max_waiting: u64,
    /// Bytes that all named spaces together are promised; 0: 4 GiB.
    pub max_spaces_bytes: u64,
    /// Named spaces at most; 0: 256.
    pub max_spaces: u32,
    /// Leases of a tuple that may end without an acknowledgement before it becomes a dead letter; 0: 5.
    pub max_attempts: u32,
    /// The folder of its log, made where it is not there: what was acknowledged outlives the process. NULL: it has none.
    pub log_dir: *const c_char,
    /// Where all replicas serve that keep the space together, three or five, each with a log of its own: "HOST:PORT", or "tls:HOST:PORT", the same for each of them; NULL if it is not replicated.
    pub replicas: *const *const c_char,
    /// How many these are.
    pub replica_count: usize,
    /// Where all managers of the space serve, each in a process of its own, the same for each of them; NULL if this process serves all of them.
    pub peers: *const *const c_char,
    /// How many these are.
    pub peer_count: usize,
    /// Which of the replicas, or of the peers, this server is, from 1.
    pub number: u8,
    /// Over how many managers the space is spread, each on a thread of its own, 16 at most; 0: one. With several there is no log.
    pub managers: u8,
    /// A manager of several that is asked less in a quarter of a second keeps its hot keys; 0: 2000.
    pub hot_key_requests: u64,
    /// Zero; later versions may have more settings.
    pub reserved: [u64; 8],
}

/// Serves a space at `address` (see `quintet_lab_connect`; port 0 is a free one). It holds `max_bytes` bytes of tuples at most and
/// `max_tuples` tuples; 0 for the default, 1 GiB and 16777216. The number of its cluster comes from the environment, as for those who
/// connect.
///
/// Fails with `QUINTET_BAD_VALUE` for what is no address, `QUINTET_ADDRESS_IN_USE` if another process listens there, `QUINTET_NOT_ALLOWED`,
/// `QUINTET_BAD_FILE` or `QUINTET_RESOURCE`.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_server_start(
    address: *const c_char,
    max_bytes: u64,
    max_tuples: u64,
    server: Option<&mut MaybeUninit<*mut quintet_server>>,
) -> quintet_status {
    guarded(|| {
        let server = place(server, "server", null_mut())?;
        let settings = quintet_server_settings { max_bytes, max_tuples, ..EMPTY };
        *server = started(Some(text(address, "address")?), &settings)?;
        Ok(())
    })
}

/// As `quintet_server_start`, with all settings that a server has. NULL for `address` is the place of this server among its replicas or peers. Returns once the log, if it has one, is read.
///
/// Fails as `quintet_server_start`; with `QUINTET_BAD_VALUE` for what does not go together, as a log and several managers; with `QUINTET_BAD_FILE` for a log that is damaged, of another version or of another cluster, which is left
/// as it is, and with `QUINTET_ADDRESS_IN_USE` for one that another process keeps.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_server_start_with(
    address: *const c_char,
    settings: Option<&quintet_server_settings>,
    server: Option<&mut MaybeUninit<*mut quintet_server>>,
) -> quintet_status {
    guarded(|| {
        let server = place(server, "server", null_mut())?;
        let address = if address.is_null() { None } else { Some(text(address, "address")?) };
        *server = started(address, settings.unwrap_or(&EMPTY))?;
        Ok(())
    })
}

/// Where it serves, as others may name it. It is good until the server is freed.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_server_address(
    server: Option<&quintet_server>,
    address: Option<&mut MaybeUninit<*const c_char>>,
) -> quintet_status {
    guarded(|| {
        let address = place(address, "address", null())?;
        *address = value(server)?.address.as_ptr();
        Ok(())
    })
}

/// Ends it, and its tuples with it unless it keeps a log. A second call does nothing, nor one in a child of fork(2).
///
/// Fails with `QUINTET_RESOURCE` if the system refused to wait for links while it ran, or the disk of its log had failed.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_server_stop(server: Option<&quintet_server>) -> quintet_status {
    guarded(|| {
        let server = value(server)?.server.lock().unwrap_or_else(PoisonError::into_inner).take();
        server.map_or(Ok(()), Server::stop)
    })
}

/// Stops it and frees it. NULL is left alone.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_server_free(server: Option<NonNull<quintet_server>>) {
    free(server);
}

const EMPTY: quintet_server_settings = quintet_server_settings {
    max_bytes: 0,
    max_tuples: 0,
    max_waiting: 0,
    max_spaces_bytes: 0,
    max_spaces: 0,
    max_attempts: 0,
    log_dir: null(),
    replicas: null(),
    replica_count: 0,
    peers: null(),
    peer_count: 0,
    number: 0,
    managers: 0,
    hot_key_requests: 0,
    reserved: [0; 8],
};

fn started(address: Option<&str>, settings: &quintet_server_settings) -> Result<*mut quintet_server, Error> {
    let environment = ConnectConfig::from_environment()?;
    let config = config(settings, &environment)?;
    let address = match (address, config.place()) {
        (Some(address), _) => environment.identified(parsed(address)?)?,
        (None, Some(own)) => own.clone(),
        (None, None) => return Err(null_pointer("address")),
    };
    let started = without_signals(|| Server::start(address, &config))?;
    let address = CString::new(started.addresses()[0].to_string()).unwrap_or_default();
    Ok(give(Serving { address, server: Mutex::new(Some(started)) }))
}

fn config(settings: &quintet_server_settings, environment: &ConnectConfig) -> Result<ServeConfig, Error> {
    let (plain, all) = (SpaceConfig::default(), SpacesConfig::default());
    let given = |number: u64, plain: u64| if number == 0 { plain } else { number };
    let given_32 = |number: u32, plain: u32| if number == 0 { plain } else { number };
    let max_waiting = given(settings.max_waiting, plain.max_waiting as u64);
    let space = SpaceConfig {
        max_bytes: given(settings.max_bytes, plain.max_bytes),
        max_tuples: given(settings.max_tuples, plain.max_tuples),
        max_waiting: usize::try_from(max_waiting).unwrap_or(usize::MAX),
        max_attempts: given_32(settings.max_attempts, plain.max_attempts),
        ..plain
    };
    let spaces = SpacesConfig {
        max_spaces: given_32(settings.max_spaces, all.max_spaces),
        max_bytes: given(settings.max_spaces_bytes, all.max_bytes),
    };
    let log = match settings.log_dir.is_null() {
        true => None,
        false => Some(SpaceLog::new(text(settings.log_dir, "log_dir")?)),
    };
    let replicas = texts(settings.replicas, settings.replica_count, "replicas")?;
    let peers = texts(settings.peers, settings.peer_count, "peers")?;
    let identified = |places: Vec<LinkAddress>| -> Result<Vec<LinkAddress>, Error> {
        places.into_iter().map(|place| environment.identified(place)).collect()
    };
    let replication = match replicas[..] {
        [] => None,
        _ => Some(Replication::new(settings.number, identified(Replication::places(&replicas)?)?)),
    };
    let partitioning = match peers[..] {
        [] => None,
        _ => {
            let places = peers.iter().map(|peer| parsed(peer)).collect::<Result<_, _>>()?;
            Some(Partitioning::new(settings.number, identified(places)?))
        }
    };
    Ok(ServeConfig {
        cluster: environment.cluster,
        space,
        spaces,
        link: environment.link,
        events: Some(without_signals(quintet::to_standard_error)),
        log,
        managers: settings.managers,
        hot_key_requests: (settings.hot_key_requests != 0).then_some(settings.hot_key_requests),
        replication,
        partitioning,
        ..ServeConfig::default()
    })
}

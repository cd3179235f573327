//! quintet_server - spaces for other processes
//!
//! A server is a space that serves other processes from a thread of this one. They connect to its address; so does this process.
//!
//! It is for processes of the same user on this machine; TCP is listened at on loopback only. Over "tls:HOST:PORT" it is for whoever has an
//! identity of the same cluster (the setting cluster.identity). A server that runs by itself is the command `quintet serve`.

use crate::boundary::{Tagged, free, give, guarded, handle, place, text, value};
use crate::error::quintet_status;
use crate::lab::parsed;
use crate::threads::without_signals;
use core::ffi::c_char;
use core::mem::MaybeUninit;
use core::ptr::{NonNull, null, null_mut};
use quintet::{ConnectConfig, ServeConfig, Server, SpaceConfig};
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
        let address = parsed(text(address, "address")?)?;
        let environment = ConnectConfig::from_environment()?;
        let given = |number: u64, plain: u64| if number == 0 { plain } else { number };
        let plain = SpaceConfig::default();
        let space = SpaceConfig {
            max_bytes: given(max_bytes, plain.max_bytes),
            max_tuples: given(max_tuples, plain.max_tuples),
            ..plain
        };
        let events = Some(without_signals(quintet::to_standard_error));
        let config = ServeConfig {
            cluster: environment.cluster,
            space,
            link: environment.link,
            events,
            ..ServeConfig::default()
        };
        let address = environment.identified(address)?;
        let started = without_signals(|| Server::start(address, &config))?;
        let address = CString::new(started.addresses()[0].to_string()).unwrap_or_default();
        *server = give(Serving { address, server: Mutex::new(Some(started)) });
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

/// Ends it, and its tuples with it. A second call does nothing, nor one in a child of fork(2).
///
/// Fails with `QUINTET_RESOURCE` if the system refused to wait for links while it ran.
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

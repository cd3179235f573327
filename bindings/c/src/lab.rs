//! quintet_lab - a connection to everything
//!
//! A *lab* is a connection to a space, or a space within this process, where nothing needs to be started. What is made from a lab
//! (its space, leases, operations under way) belongs to its connection.
//!
//! Labs and spaces may be used by any threads at once. Calls wait for each other only as long as the connection itself needs.
//!
//! `quintet_lab_close` ends a connection at once, for all threads: their waits end with `QUINTET_CLOSED`, leased tuples return to
//! the space, and later calls fail with `QUINTET_CLOSED`. `quintet_lab_free` closes and frees; no other thread may use the lab then.
//! Leases, operations under way and tuples are freed on their own, before or after.
//!
//! A lab belongs to the process that made it. In a child of fork(2) calls fail with `QUINTET_CLOSED`, and freeing disturbs nothing; the
//! child connects again.
//!
//! **Signals.** The library's own threads block every signal. A wait goes on after a signal handler, as if nothing had happened. A
//! program whose handler shall end waits sets a flag in the handler and has `quintet_lab_set_interrupt` look at it:
//!
//! ```c
//! static volatile sig_atomic_t interrupted;
//! static void on_signal(int signal) { (void)signal; interrupted = 1; }
//! static bool is_interrupted(void *argument) { (void)argument; return interrupted; }
//! ...
//! quintet_lab_set_interrupt(lab, is_interrupted, NULL);
//! ```

use crate::boundary::{Tagged, free, give, guarded, handle, place, tagged, text, value};
use crate::connection::Connection;
use crate::error::quintet_status;
use crate::interrupt::quintet_interrupt;
use crate::space::quintet_space;
use crate::threads::without_signals;
use core::ffi::{c_char, c_int, c_void};
use core::mem::MaybeUninit;
use core::ptr::{NonNull, null, null_mut};
use quintet::{AddressError, Code, ConnectConfig, Error, Lab, LinkAddress, SpaceAddress, Watch};
use std::ffi::CString;
use std::os::fd::AsRawFd;
use std::sync::{Arc, Mutex, PoisonError};

/// A connection to everything. Any threads may use it at once.
pub struct quintet_lab(Tagged<OpenLab>);
handle!(quintet_lab, OpenLab, b"lab ", "lab");

/// What is behind it.
pub struct OpenLab {
    pub(crate) connection: Arc<Connection>,
    space: quintet_space,
    /// Where the space is, and how it was connected to; none: in this process.
    pub(crate) place: Option<(ConnectConfig, SpaceAddress)>,
    /// The same as a text.
    address: Option<CString>,
    /// Made when an event loop first asks for it.
    watch: Mutex<Option<Watch>>,
}

/// For a timeout: however long it takes.
pub const QUINTET_FOREVER: i64 = -1;

/// Makes a lab within this process: nothing to start, nothing to configure. Its tuples end with it.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_lab_embedded(lab: Option<&mut MaybeUninit<*mut quintet_lab>>) -> quintet_status {
    guarded(|| {
        let lab = place(lab, "lab", null_mut())?;
        *lab = open(Lab::embedded(), None);
        Ok(())
    })
}

/// Connects to the space at `address`: "quintet://NAME" for that of a cluster to which this machine belongs ("quintet:///PATH" by its
/// folder), "shm:PATH" for shared memory, "unix:PATH" for a Unix socket, "tcp:HOST:PORT", "tls:HOST:PORT", or a path with a slash, which
/// means shared memory. With NULL the environment and the file quintet.toml in the working folder say where the space is
/// (`QUINTET_SPACE`; under `quintet run` the job's); if they do not, the lab is within this process. The settings of the cluster, of
/// leases and of links come from there in any case. Signals are held back while it connects, for a few seconds at most, or as long as
/// the setting link.silence_limit_ms says to somebody who listens and says nothing.
///
/// Fails with `QUINTET_BAD_VALUE` for what is no address or setting, `QUINTET_BAD_FILE` for a file that cannot be read,
/// `QUINTET_UNREACHABLE` if nobody listens there, `QUINTET_PEER_SILENT`, `QUINTET_NOT_ALLOWED`, `QUINTET_WRONG_CLUSTER`,
/// `QUINTET_VERSION_MISMATCH` or `QUINTET_RESOURCE`.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_lab_connect(
    address: *const c_char,
    lab: Option<&mut MaybeUninit<*mut quintet_lab>>,
) -> quintet_status {
    guarded(|| {
        let lab = place(lab, "lab", null_mut())?;
        let config = ConnectConfig::from_environment()?;
        let address = match address.is_null() {
            true => config.address.clone(),
            false => Some(text(address, "address")?.parse()?),
        };
        let connected = match &address {
            Some(address) => without_signals(|| config.connect_to(address.clone()))?,
            None => Lab::embedded(),
        };
        *lab = open(connected, address.map(|address| (config, address)));
        Ok(())
    })
}

/// An address to serve at.
///
/// # Errors
/// `BadValue`.
pub(crate) fn parsed(address: &str) -> Result<LinkAddress, Error> {
    address.parse().map_err(|error: AddressError| Error::new(Code::BadValue, error.to_string()))
}

fn open(lab: Lab, place: Option<(ConnectConfig, SpaceAddress)>) -> *mut quintet_lab {
    let connection = Arc::new(Connection::new(lab));
    let space = tagged(Arc::clone(&connection));
    // No address has NUL in it: it came as a text of C, or of the environment.
    let address = place.as_ref().and_then(|(_, address)| CString::new(address.to_string()).ok());
    give(OpenLab { connection, space, place, address, watch: Mutex::default() })
}

/// Ends the connection at once, for all threads and for everything that was made from it. What was answered before can still be
/// collected. A lab within this process ends with its tuples. A second call does nothing.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_lab_close(lab: Option<&quintet_lab>) -> quintet_status {
    guarded(|| {
        value(lab)?.connection.lab.close();
        Ok(())
    })
}

/// Closes the lab and frees it, with its space. NULL is left alone.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_lab_free(lab: Option<NonNull<quintet_lab>>) {
    free(lab);
}

impl Drop for OpenLab {
    fn drop(&mut self) {
        self.connection.lab.close();
    }
}

/// The lab's tuple space. It is the lab's: it is good until the lab is freed, and is not freed itself.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_lab_space(
    lab: Option<&quintet_lab>,
    space: Option<&mut MaybeUninit<*const quintet_space>>,
) -> quintet_status {
    guarded(|| {
        let space = place(space, "space", null())?;
        *space = &raw const value(lab)?.space;
        Ok(())
    })
}

/// Where the space is, as another process may name it; NULL for a lab within this process. It is good until the lab is freed.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_lab_address(
    lab: Option<&quintet_lab>,
    address: Option<&mut MaybeUninit<*const c_char>>,
) -> quintet_status {
    guarded(|| {
        let address = place(address, "address", null())?;
        *address = value(lab)?.address.as_ref().map_or(null(), |address| address.as_ptr());
        Ok(())
    })
}

/// Has the lab's waits ask `check(argument)` every 20 ms, on the thread that waits, whether they are to end: then the call fails with
/// `QUINTET_CANCELLED`, and has had no effect: a tuple that has come meanwhile goes back to its place. Only a call of a handler that was begun
/// goes on there. A wait that ends within 20 ms does not ask, nor does what is answered at once as long as the connection is there: the status
/// of the space, the rows of a listing, the release of a lease, a one-way call, a handler that begins or leaves, a reply. `check` must not call
/// this library, nor throw or jump. NULL: waits ask nobody, as at first.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_lab_set_interrupt(
    lab: Option<&quintet_lab>,
    check: quintet_interrupt,
    argument: *mut c_void,
) -> quintet_status {
    guarded(|| {
        value(lab)?.connection.interrupt.set(check, argument);
        Ok(())
    })
}

/// A descriptor for the program's own event loop (poll, epoll): it is readable while `quintet_lab_progress` has something to do. It is
/// the lab's, and good until that is freed. One loop may watch a lab at a time; other threads may make calls of every kind.
///
/// Fails with `QUINTET_RESOURCE` if the system refuses a descriptor.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_lab_descriptor(
    lab: Option<&quintet_lab>,
    descriptor: Option<&mut MaybeUninit<c_int>>,
) -> quintet_status {
    guarded(|| {
        let descriptor = place(descriptor, "descriptor", -1)?;
        *descriptor = value(lab)?.watch()?.as_raw_fd();
        Ok(())
    })
}

/// Takes in what has come for the operations under way, and does what is due. Never waits.
///
/// Fails with `QUINTET_RESOURCE` if the system refuses a descriptor.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_lab_progress(lab: Option<&quintet_lab>) -> quintet_status {
    guarded(|| {
        value(lab)?.watch()?.progress();
        Ok(())
    })
}

impl OpenLab {
    fn watch(&self) -> Result<Watch, Error> {
        let mut watch = self.watch.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(watch) = &*watch {
            return Ok(watch.clone());
        }
        let made = self.connection.lab.watch()?;
        *watch = Some(made.clone());
        Ok(made)
    }
}

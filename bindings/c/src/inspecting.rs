//! quintet_inspecting - who waits in a space, who is connected to it, how it is used
//!
//! What `quintet scope` and `quintet status` show, for programs: the requests that wait in a space (`quintet_space_waiting`), the clients that are connected to it
//! (`quintet_space_clients`), its partitions and how each is used (`quintet_space_partitions`), the values that are asked for most (`quintet_space_hot_keys`), and what the servers
//! of a replicated space do (`quintet_lab_replicas`). Looking at them changes nothing, and is not counted as asking. The tuples themselves are listed by `quintet_space_list`.
//!
//! Each is a list whose rows are fetched a page at a time, as they are asked for; a page is the space at one instant, several are not: what changes between two may be shown twice or
//! not at all. The replicas alone are all asked when their list is made.
//!
//! Times are in milliseconds. One for which there is no end is `QUINTET_FOREVER`, one since something that has not happened `QUINTET_NEVER`; both are -1.
//!
//! What is asked for comes as a template, which is freed with `quintet_tuple_free`. Of its text, bytes and arrays the first 256 bytes are shown: what is longer is a field of text or bytes that has
//! its beginning, and is marked in `cut` of the row. A range or a prefix in a template is shown as a formal.
//!
//! ```c
//! quintet_waiting *waiting;
//! quintet_waiting_row row;
//! quintet_tuple *wanted;
//! bool is_there;
//! quintet_space_waiting(space, &waiting);
//! while (quintet_waiting_next(waiting, &row, &wanted, &is_there) == QUINTET_OK && is_there) {
//!     ...
//!     quintet_tuple_free(wanted);
//! }
//! quintet_waiting_free(waiting);
//! ```
//!
//! Any threads may use a list at once; each row is given to one of them. A list ends at its first error.

pub mod clients;
pub mod hot_keys;
pub mod partitions;
pub mod replicas;
pub mod waiting;

use crate::boundary::{Handle, give, guarded, place, value};
use crate::connection::Connection;
use crate::error::quintet_status;
use crate::space::quintet_space;
use core::mem::MaybeUninit;
use core::ptr::null_mut;
use quintet::{Error, Listed, Listing};
use std::sync::{Mutex, PoisonError};

/// For a time since something: it has not happened.
pub const QUINTET_NEVER: i64 = -1;

/// Begins to list what `begin` lists of a space; in C the place for it has this name.
fn list<H: Handle<Value = Mutex<Listing<T>>>, T>(
    space: Option<&quintet_space>,
    (list, name): (Option<&mut MaybeUninit<*mut H>>, &str),
    begin: impl FnOnce(&Connection) -> Listing<T>,
) -> quintet_status {
    guarded(|| {
        let list = place(list, name, null_mut())?;
        *list = give(Mutex::new(begin(value(space)?)));
        Ok(())
    })
}

/// The next row of a list; none when there is none any more.
///
/// # Errors
/// The space is gone.
fn next<H: Handle<Value = Mutex<Listing<T>>>, T: Listed>(list: Option<&H>) -> Result<Option<T>, Error> {
    value(list)?.lock().unwrap_or_else(PoisonError::into_inner).next().transpose()
}

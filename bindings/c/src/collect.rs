//! quintet_collection - all tuples that match
//!
//! A collection has all tuples of a space that match a template, the oldest first: all that are there when it begins and still are when it comes to
//! them. It does not wait; there may be none. They come from the space a page at a time, some thousand short ones in each, and a page is the space at one
//! instant: taken whole, or not at all. `quintet_space_collect` takes them, `quintet_space_copy_collect` leaves them where they are.
//!
//! ```c
//! quintet_collection *rows;
//! quintet_tuple *row;
//! quintet_status status = quintet_space_collect(space, wanted, &rows);
//! while (quintet_collection_next(rows, &row) == QUINTET_OK && row != NULL) {
//!     ...
//!     quintet_tuple_free(row);
//! }
//! quintet_collection_free(rows);
//! ```
//!
//! `quintet_space_take_up_to` takes at most a number of them, all at one instant.
//!
//! `quintet_space_collect_into` moves all that match into another space of the same server at one instant, `quintet_space_copy_collect_into` copies them.
//!
//! `quintet_space_begin_collect` and its like begin a page, or all of what goes to another space, without waiting for it.
//!
//! Any threads may use a collection at once; each tuple is given to one of them.

use crate::boundary::{Tagged, free, give, guarded, handle, null, place, value};
use crate::connection::{Connection, unexpected};
use crate::error::quintet_status;
use crate::pending::{Gives, quintet_pending};
use crate::space::quintet_space;
use crate::tuple::{quintet_tuple, received, to_match};
use core::mem::MaybeUninit;
use core::ptr::{NonNull, null_mut};
use quintet::{Error, Outcome, Template, Tuple};
use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

type Tuples = Mutex<VecDeque<Tuple>>;

/// Tuples that were collected.
pub struct quintet_collection(Tagged<Tuples>);
handle!(quintet_collection, Tuples, b"coll", "collection");

/// Where a page of a collection begins, as `quintet_pending_collection` gives it.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct quintet_page_start {
    /// The space's own: which of the tuples the page begins with.
    pub age: u64,
    /// The space's own: which of the tuples are younger than the collection.
    pub below: u64,
}

/// The same for the library: the first page has no end yet.
pub(crate) fn started(from: Option<&quintet_page_start>) -> (u64, Option<u64>) {
    from.map_or((0, None), |from| (from.age, Some(from.below)))
}

/// Collects the page that `quintet_space_begin_collect` or `quintet_space_begin_copy_collect` asked for: its tuples, perhaps none, and, if `has_more`, where the next page begins. May be called again, and gives another
/// collection of the same tuples. Each is freed with `quintet_collection_free`.
///
/// Fails as the operation did; `QUINTET_BAD_VALUE` for another kind of operation.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_pending_collection(
    pending: Option<&quintet_pending>,
    collection: Option<&mut MaybeUninit<*mut quintet_collection>>,
    next: Option<&mut MaybeUninit<quintet_page_start>>,
    has_more: Option<&mut MaybeUninit<bool>>,
) -> quintet_status {
    guarded(|| {
        let collection = place(collection, "collection", null_mut())?;
        let next = place(next, "next", quintet_page_start { age: 0, below: 0 })?;
        let has_more = place(has_more, "has_more", false)?;
        let page = match value(pending)?.collect(Gives::Collection)? {
            Outcome::Collected(page) => page,
            other => return Err(unexpected(&other)),
        };
        *has_more = page.next.is_some();
        *next = quintet_page_start { age: page.next.unwrap_or(0), below: page.below };
        *collection = give(Mutex::new(page.tuples.into()));
        Ok(())
    })
}

/// Collects the number that `quintet_space_begin_collect_into` or `quintet_space_begin_copy_collect_into` asked for: how many tuples went to the other space. If `is_done` is false nothing has happened so far, as the space builds an index for it:
/// begin it again. May be called again.
///
/// Fails as the operation did; `QUINTET_BAD_VALUE` for another kind of operation.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_pending_collected_into(
    pending: Option<&quintet_pending>,
    count: Option<&mut MaybeUninit<u64>>,
    is_done: Option<&mut MaybeUninit<bool>>,
) -> quintet_status {
    guarded(|| {
        let count = place(count, "count", 0)?;
        let is_done = place(is_done, "is_done", false)?;
        match value(pending)?.collect(Gives::CollectedInto)? {
            Outcome::Count(moved) => (*count, *is_done) = (moved, true),
            Outcome::Collected(_) => {}
            other => return Err(unexpected(&other)),
        }
        Ok(())
    })
}

/// Takes all tuples that match. What it has taken before it failed or was interrupted is in the collection: that is there after a failure as well, if it has
/// any, and is freed in each case.
///
/// Fails with `QUINTET_BAD_VALUE` for what is no template; `QUINTET_TOO_LARGE` for a tuple that the link does not carry; `QUINTET_MALFORMED` of a server from before
/// collections.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_space_collect(
    space: Option<&quintet_space>,
    wanted: Option<&quintet_tuple>,
    collection: Option<&mut MaybeUninit<*mut quintet_collection>>,
) -> quintet_status {
    guarded(|| collect(space, wanted, collection, true))
}

/// Takes tuples that match, at most `most` of them, the oldest first and all at one instant. It does not wait; an empty collection says that at one instant there was none. There may be
/// fewer though there are more: as many as an answer carries, which are 1024 tuples, 64 KiB of short fields and 1 MiB of long ones, and one at least. After a failure, or interrupted, it has
/// taken nothing.
///
/// Fails as `quintet_space_collect`.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_space_take_up_to(
    space: Option<&quintet_space>,
    most: usize,
    wanted: Option<&quintet_tuple>,
    collection: Option<&mut MaybeUninit<*mut quintet_collection>>,
) -> quintet_status {
    guarded(|| {
        let collection = place(collection, "collection", null_mut())?;
        let (connection, template) = (value(space)?, to_match(wanted)?);
        *collection = give(Mutex::new(take_up_to(connection, most, template)?));
        Ok(())
    })
}

/// As `quintet_space_collect`; the tuples stay. Each of several equal ones comes once.
///
/// Fails as `quintet_space_collect`.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_space_copy_collect(
    space: Option<&quintet_space>,
    wanted: Option<&quintet_tuple>,
    collection: Option<&mut MaybeUninit<*mut quintet_collection>>,
) -> quintet_status {
    guarded(|| collect(space, wanted, collection, false))
}

/// How many tuples the collection still has; `QUINTET_OK` also for none.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_collection_count(
    collection: Option<&quintet_collection>,
    count: Option<&mut MaybeUninit<u64>>,
) -> quintet_status {
    guarded(|| {
        let count = place(count, "count", 0)?;
        *count = value(collection)?.lock().unwrap_or_else(PoisonError::into_inner).len() as u64;
        Ok(())
    })
}

/// The next tuple, which is freed with `quintet_tuple_free`; NULL, with `QUINTET_OK`, when there is none any more.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_collection_next(
    collection: Option<&quintet_collection>,
    tuple: Option<&mut MaybeUninit<*mut quintet_tuple>>,
) -> quintet_status {
    guarded(|| {
        let tuple = place(tuple, "tuple", null_mut())?;
        let next = value(collection)?.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        *tuple = next.map_or(null_mut(), received);
        Ok(())
    })
}

/// Frees a collection, and the tuples that it still has. NULL is left alone.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_collection_free(collection: Option<NonNull<quintet_collection>>) {
    free(collection);
}

/// Moves all tuples that match to the space `into` of the same lab, at one instant, all or none; `count` is how many. They are the youngest there, in their order.
///
/// Fails with `QUINTET_SPACE_FULL` if there is no room for all of them now, `QUINTET_TOO_LARGE` if there never is, if it is about more than 65536 tuples, or if more
/// than 64 MiB were to go between several managers of the space without a name; `QUINTET_NOT_ALLOWED` of the rights of either space; `QUINTET_BAD_VALUE` for what is no
/// template, if both are one space, or are of two labs; `QUINTET_MALFORMED` of a server from before collections. Nothing is moved then.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_space_collect_into(
    space: Option<&quintet_space>,
    into: Option<&quintet_space>,
    wanted: Option<&quintet_tuple>,
    count: Option<&mut MaybeUninit<u64>>,
) -> quintet_status {
    guarded(|| collect_into(space, into, wanted, count, true))
}

/// As `quintet_space_collect_into`; the tuples stay where they are as well.
///
/// Fails as `quintet_space_collect_into`.
#[unsafe(no_mangle)]
pub extern "C" fn quintet_space_copy_collect_into(
    space: Option<&quintet_space>,
    into: Option<&quintet_space>,
    wanted: Option<&quintet_tuple>,
    count: Option<&mut MaybeUninit<u64>>,
) -> quintet_status {
    guarded(|| collect_into(space, into, wanted, count, false))
}

fn collect(
    space: Option<&quintet_space>,
    wanted: Option<&quintet_tuple>,
    collection: Option<&mut MaybeUninit<*mut quintet_collection>>,
    takes: bool,
) -> Result<(), Error> {
    let collection = place(collection, "collection", null_mut())?;
    let (connection, template) = (value(space)?, to_match(wanted)?);
    let mut tuples = VecDeque::new();
    let collected = fetch(connection, template, takes, &mut tuples);
    if collected.is_ok() || !tuples.is_empty() {
        *collection = give(Mutex::new(tuples));
    }
    collected
}

/// Adds the tuples of all pages.
fn fetch(
    connection: &Connection,
    template: &Template,
    takes: bool,
    tuples: &mut VecDeque<Tuple>,
) -> Result<(), Error> {
    let mut from = Some((0, None));
    while let Some((age, below)) = from {
        let begin = connection.space.begin();
        let page = if takes {
            begin.collect(template, age, below)?
        } else {
            begin.copy_collect(template, age, below)?
        };
        match connection.finish(page)? {
            Outcome::Collected(page) => {
                tuples.extend(page.tuples);
                from = page.next.map(|next| (next, Some(page.below)));
            }
            other => return Err(unexpected(&other)),
        }
    }
    Ok(())
}

fn take_up_to(connection: &Connection, most: usize, template: &Template) -> Result<VecDeque<Tuple>, Error> {
    if most == 0 {
        return Ok(VecDeque::new());
    }
    let mut from = 0;
    loop {
        let page = match connection.finish(connection.space.begin().take_up_to(most, template, from)?)? {
            Outcome::Collected(page) => page,
            other => return Err(unexpected(&other)),
        };
        match page.next {
            Some(next) if page.tuples.is_empty() => from = next,
            // In several parts it was about several instants.
            None if page.tuples.is_empty() && from > 0 => {
                return match connection.finish(connection.space.begin().take_if(template)?)? {
                    Outcome::Tuple(tuple, _) => Ok(VecDeque::from([tuple])),
                    Outcome::NoMatch => Ok(VecDeque::new()),
                    other => Err(unexpected(&other)),
                };
            }
            _ => return Ok(page.tuples.into()),
        }
    }
}

fn collect_into(
    space: Option<&quintet_space>,
    into: Option<&quintet_space>,
    wanted: Option<&quintet_tuple>,
    count: Option<&mut MaybeUninit<u64>>,
    takes: bool,
) -> Result<(), Error> {
    let count = place(count, "count", 0)?;
    let (connection, template) = (value(space)?, to_match(wanted)?);
    let other = value(Some(into.ok_or_else(|| null("into"))?))?;
    loop {
        let begin = connection.space.begin();
        let pending = if takes {
            begin.collect_into(&other.space, template)?
        } else {
            begin.copy_collect_into(&other.space, template)?
        };
        match connection.finish(pending)? {
            Outcome::Count(moved) => {
                *count = moved;
                return Ok(());
            }
            // An index is being built.
            Outcome::Collected(_) => {}
            other => return Err(unexpected(&other)),
        }
    }
}

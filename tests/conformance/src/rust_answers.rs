//! What an operation of the Rust front end came to, as its driver says it.

use crate::rust_fields;
use quintet::{Lease, ListedTuple, State, Tuple};

/// A tuple.
#[must_use]
pub fn tuple(found: &Tuple) -> String {
    format!("tuple {}", token(found))
}

/// A tuple, if there was one.
#[must_use]
pub fn perhaps_tuple(found: Option<Tuple>) -> String {
    found.map_or("nothing".to_owned(), |found| tuple(&found))
}

/// Which template of a select matches, and its tuple.
#[must_use]
pub fn selected((which, found): (usize, Tuple)) -> String {
    format!("selected {which} {}", token(&found))
}

/// The same, if there was such a tuple.
#[must_use]
pub fn perhaps_selected(found: Option<(usize, Tuple)>) -> String {
    found.map_or("nothing".to_owned(), selected)
}

/// A lease.
#[must_use]
pub fn leased(lease: &Lease) -> String {
    format!("leased {} {}", lease.attempt(), token(lease.tuple()))
}

/// Which template of a select matches, and the lease.
#[must_use]
pub fn selected_lease(which: usize, lease: &Lease) -> String {
    format!("selected {which} {} {}", token(lease.tuple()), lease.attempt())
}

/// The rows of a listing.
#[must_use]
pub fn listed(rows: &[ListedTuple]) -> String {
    let row = |row: &ListedTuple| {
        let leased = if row.lease.is_some() { "!" } else { "" };
        format!(" {leased}{}", rust_fields::shown(&row.fields).to_token())
    };
    format!("rows{}", rows.iter().map(row).collect::<String>())
}

/// The rows of a collection.
#[must_use]
pub fn collected(tuples: &[Tuple]) -> String {
    let row = |tuple: &Tuple| format!(" {}", token(tuple));
    format!("rows{}", tuples.iter().map(row).collect::<String>())
}

/// The numbers of a space.
#[must_use]
pub fn status(state: &State) -> String {
    format!(
        "status tuples={} hidden={} waiters={} leases={} parked={} redone={} dead_letters={} signatures={}",
        state.tuples,
        state.hidden,
        state.waiters,
        state.leases,
        state.parked,
        state.redone,
        state.dead_letters,
        state.signatures
    )
}

fn token(tuple: &Tuple) -> String {
    rust_fields::fields(tuple.values()).to_token()
}

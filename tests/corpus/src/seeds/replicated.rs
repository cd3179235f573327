//! A replica that hears others, and what they say.

use super::{Seed, named};
use quintet_replicated::fuzzing;

/// A replica that follows, and one that nobody is heard by.
pub(super) fn driven() -> Vec<Seed> {
    named("replicated", fuzzing::seeds())
}

/// One of each kind.
pub(super) fn messages() -> Vec<Seed> {
    named("replicated_messages", fuzzing::bodies())
}

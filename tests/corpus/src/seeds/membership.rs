//! Members that lead and that follow, and what they say.

use super::{Seed, named};
use quintet_membership::fuzzing;

/// A member that founds a cluster and is asked for everything; one that follows leaders, one of which contradicts another.
pub(super) fn driven() -> Vec<Seed> {
    named("membership", fuzzing::seeds())
}

/// One of each kind.
pub(super) fn messages() -> Vec<Seed> {
    named("membership_messages", fuzzing::bodies())
}

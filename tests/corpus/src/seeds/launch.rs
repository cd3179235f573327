//! Launchers that peers ask for everything, and what they are asked.

use super::{Seed, named};
use quintet_launch::fuzzing;

/// A launcher that is asked for everything; one whose host refuses; one whose peer dies.
pub(super) fn driven() -> Vec<Seed> {
    named("launch", fuzzing::seeds())
}

/// One request of each tag.
pub(super) fn messages() -> Vec<Seed> {
    named("launch_messages", fuzzing::bodies())
}

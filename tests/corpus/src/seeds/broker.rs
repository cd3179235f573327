//! Brokers whose peers call, handle, give back, die and are late, and what they are asked.

use super::{Seed, named};
use quintet_broker::fuzzing;

/// A call that is answered, one that is given back, a handler that dies, deadlines that pass.
pub(super) fn driven() -> Vec<Seed> {
    named("broker", fuzzing::seeds())
}

/// One request of each kind.
pub(super) fn messages() -> Vec<Seed> {
    named("broker_messages", fuzzing::bodies())
}

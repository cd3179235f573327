//! Shared memory beside peers that do not keep to the rules.
#![cfg(not(loom))]

mod blocking;
mod bootstrap;
mod hostile;
mod lent;
mod raw_peer;

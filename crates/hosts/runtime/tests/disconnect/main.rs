//! A protocol has the link to a peer closed, on both live hosts.

mod embedded;
mod farewell;
mod guard;
mod peer;
mod served;
mod sessions;

use quintet_contract::{Address, Kind, NodeId, Port};
use quintet_wire::registry::USER;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(30);
const WORD: Kind = USER.kind(0);
const GARBAGE: Kind = USER.kind(1);
const PORT: Port = Port(16);

/// The address of a guard.
fn guard_at(port: Port) -> Address {
    Address { node: NodeId(0), port }
}

//! The enrolment as a service: machines that want to belong to the cluster, and those whose certificates run out, ask an agent.
//!
//! Nothing pure can sign a certificate: the agent's own thread answers, by upcalls.

use crate::config::StackConfig;
use crate::service::Service;
use quintet_contract::{Address, Kind, NodeId, Protocol};
use quintet_messaging::Class;
use quintet_messaging::upcall::Upcalls;
use quintet_session::Placed;
use quintet_wire::registry::{ENROLMENT, PORT_CALLERS, PORT_ENROLMENT};
use quintet_wire::{DecodeError, Reader};

/// Asks for a certificate, with a token's key.
pub const ENROL: Kind = ENROLMENT.kind(0);
/// Asks for a new certificate of the same key.
pub const RENEW: Kind = ENROLMENT.kind(1);
/// Asks the agent to end; only its own user may.
pub const END_AGENT: Kind = ENROLMENT.kind(2);
/// The certificate.
pub const ENROLLED: Kind = ENROLMENT.kind(3);
/// It was done.
pub const AGENT_ENDS: Kind = ENROLMENT.kind(4);
/// It was refused.
pub const NOT_ENROLLED: Kind = ENROLMENT.kind(5);

/// The enrolment's row.
pub(crate) const SERVICE: Service =
    Service { name: "enrolment", port: PORT_ENROLMENT, kinds: ENROLMENT, class, make, encode, decode };

fn class(kind: Kind) -> Class {
    if (ENROL..=END_AGENT).contains(&kind) { Class::Request } else { Class::Answer }
}

fn make(_: &StackConfig) -> Box<dyn Protocol> {
    Box::new(upcalls(NodeId(0)))
}

fn upcalls(node: NodeId) -> Upcalls {
    Upcalls::new(Address { node, port: PORT_CALLERS }, class)
}

/// The enrolment at its port of a node.
#[must_use]
pub fn enrolment(node: NodeId) -> Placed<Upcalls> {
    let protocol = upcalls(node);
    Placed { port: PORT_ENROLMENT, kinds: ENROLMENT, asks: Vec::new(), services: &[], protocol }
}

/// Nothing decides what it does but its inputs.
fn encode(_: &StackConfig, _: &mut Vec<u8>) {}

fn decode(_: &mut StackConfig, _: &mut Reader<'_>) -> Result<(), DecodeError> {
    Ok(())
}

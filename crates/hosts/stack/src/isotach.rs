//! Isochrons as a service: a member of an isonet, which is a node and the token manager of its process.

use crate::config::StackConfig;
use crate::service::Service;
use crate::stacks::{Stack, node};
use quintet_contract::{Address, Kind, NodeId, Protocol};
use quintet_isotach::{Isonet, Member, NodeConfig, Topology, View, codec};
use quintet_messaging::Class;
use quintet_session::Placed;
use quintet_wire::registry::{ISOTACH, PORT_CALLERS, PORT_ISOTACH, PORT_LINKS};
use quintet_wire::{DecodeError, Reader, Sink};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A member of an isonet, behind sessions and messaging, under this name in recordings.
pub const ISOTACH_MEMBER: &str = "isotach/member";

/// The row of an isonet's members.
pub(crate) const SERVICE: Service =
    Service { name: "isotach", port: PORT_ISOTACH, kinds: ISOTACH, class, make, encode, decode };

/// A member of an isonet, as it begins. The members agree by themselves on the next view, when one of them ends.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IsotachConfig {
    /// Its node.
    pub me: NodeId,
    /// The view that it begins in.
    pub view: View,
    /// What all members know, as the isonet began. Of one switch, whose pulse one of them keeps.
    pub isonet: Arc<Isonet>,
    /// It is in no view and comes back, as a process of this number ([`NodeConfig::joins`]): not 0.
    pub joins: Option<u64>,
    /// Whether it keeps what it executed, for a checker.
    pub keeps_witness: bool,
}

/// The configuration's member of an isonet at its port, which asks all others.
///
/// # Panics
/// The configuration has none, or its topology has not the node.
#[must_use]
pub fn isotach_member(config: &StackConfig) -> Placed<Member> {
    let isotach = config.isotach.as_ref().expect("the node is a member of an isonet");
    let others = isotach.isonet.topology().nodes().filter(|node| *node != isotach.me);
    let asks = others.map(|node| Address { node, port: PORT_ISOTACH }).collect();
    let node = isotach.config();
    #[cfg(feature = "seeded-defects")]
    let node = NodeConfig { defect: config.isotach_defect, ..node };
    let protocol = Member::new(node);
    Placed { port: PORT_ISOTACH, kinds: ISOTACH, asks, services: &[PORT_LINKS], protocol }
}

/// The stack of a member of an isonet.
///
/// # Panics
/// As [`isotach_member`].
#[must_use]
pub fn member_of_isonet(config: &StackConfig) -> Stack<Member> {
    let placed = isotach_member(config);
    node(config.isotach.as_ref().expect("it is one").me, config, vec![placed])
}

impl IsotachConfig {
    fn config(&self) -> NodeConfig {
        let callers = Address { node: self.me, port: PORT_CALLERS };
        let config = NodeConfig::new(self.me, callers, self.view, Arc::clone(&self.isonet));
        let (keeps_witness, joins) = (self.keeps_witness, self.joins);
        NodeConfig { keeps_witness, joins, managers_from: Some(NodeId(0)), ..config }
    }
}

/// What members say to each other on their way to an order is neither request nor answer: nobody waits for it alone.
fn class(kind: Kind) -> Class {
    match kind {
        kind if codec::is_request(kind) => Class::Request,
        kind if codec::is_answer(kind) => Class::Answer,
        _ => Class::OneWay,
    }
}

/// The only one of an isonet without variables, where a configuration has none.
fn alone() -> IsotachConfig {
    let topology = Topology::lan(NodeId(0), &[NodeId(0)]).expect("it has a node");
    let isonet = Arc::new(Isonet::new(topology, BTreeMap::new()).expect("it has no variable"));
    IsotachConfig { me: NodeId(0), view: View(1), isonet, joins: None, keeps_witness: false }
}

fn make(config: &StackConfig) -> Box<dyn Protocol> {
    Box::new(Member::new(config.isotach.clone().unwrap_or_else(alone).config()))
}

/// Nothing where there is no member. Else node u16, view u32, the number of the process that comes back or 0 u64, whether it keeps a witness u8, and the isonet.
fn encode(config: &StackConfig, to: &mut Vec<u8>) {
    let Some(isotach) = &config.isotach else { return };
    to.u16(isotach.me.0);
    to.u32(isotach.view.0);
    to.u64(isotach.joins.unwrap_or_default());
    to.u8(u8::from(isotach.keeps_witness));
    codec::write_isonet(&isotach.isonet, to);
}

fn decode(config: &mut StackConfig, reader: &mut Reader<'_>) -> Result<(), DecodeError> {
    config.isotach = None;
    if reader.left() == 0 {
        return Ok(());
    }
    let (me, view, life) = (NodeId(reader.u16()?), View(reader.u32()?), reader.u64()?);
    let keeps_witness = reader.flag("whether a witness is kept")?;
    let isonet = Arc::new(codec::read_isonet(reader)?);
    if isonet.topology().switch_of(me).is_none() {
        return Err(reader.invalid("member of an isonet", me.0, 2));
    }
    let joins = (life != 0).then_some(life);
    config.isotach = Some(IsotachConfig { me, view, isonet, joins, keeps_witness });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use quintet_contract::Incarnation;
    use quintet_isotach::{Delivery, Shape, Variable};

    fn member() -> StackConfig {
        let topology = Topology::lan(NodeId(0), &[NodeId(0), NodeId(1), NodeId(2)]).expect("it has nodes");
        let shape =
            |bytes, copies: &[u16]| Shape { bytes, copies: copies.iter().copied().map(NodeId).collect() };
        let variables = [(Variable(3), shape(8, &[0, 2])), (Variable(9), shape(4096, &[1]))];
        let isonet = Isonet::new(topology, variables.into()).expect("it is shared");
        let isonet = Arc::new(isonet.with_delivery(Delivery::Agreed));
        let (me, view) = (NodeId(2), View(5));
        let isotach = IsotachConfig { me, view, isonet, joins: Some(7), keeps_witness: true };
        StackConfig { isotach: Some(isotach), ..server() }
    }

    fn server() -> StackConfig {
        StackConfig::of_server(7, Incarnation(2), 42)
    }

    #[test]
    fn a_member_comes_back_from_a_recording() {
        for config in [member(), server()] {
            assert_eq!(StackConfig::from_bytes(&config.to_bytes()), Ok(config));
        }
    }

    #[test]
    fn a_member_that_the_topology_has_not_is_refused() {
        let mut member = member();
        member.isotach.as_mut().expect("it is one").me = NodeId(3);
        let error = StackConfig::from_bytes(&member.to_bytes()).expect_err("there is none");
        assert!(matches!(error, crate::StackError::Damaged(DecodeError::Invalid { .. })), "{error}");
    }

    #[test]
    fn each_asks_all_others() {
        let others = [0, 1].map(|node| Address { node: NodeId(node), port: PORT_ISOTACH });
        assert_eq!(isotach_member(&member()).asks, others);
    }

    #[test]
    fn requests_and_answers_are_told_from_what_nobody_waits_for() {
        assert_eq!((class(codec::PART), class(codec::EXECUTED)), (Class::Request, Class::Answer));
        for kind in [codec::ANNOUNCE, codec::RECEIVED, codec::MARKERS, codec::TOKEN, codec::HALTED] {
            assert_eq!(class(kind), Class::OneWay);
        }
    }
}

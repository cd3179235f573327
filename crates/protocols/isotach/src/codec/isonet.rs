//! What all nodes of an isonet know, as it is kept.

use crate::isonet::{Delivery, Isonet, Shape, Variable};
use crate::limits::MAX_TOPOLOGY_BYTES;
use crate::topology::Topology;
use quintet_contract::NodeId;
use quintet_wire::{DecodeError, Reader, Sink};
use std::collections::{BTreeMap, BTreeSet};

/// Delivery u8 (0: safe), the topology as text (length u32), n u32 and n of: variable u32, bytes u16, copies u16 and as many nodes u16, ascending.
pub fn write_isonet(isonet: &Isonet, sink: &mut impl Sink) {
    sink.u8(u8::from(isonet.delivery() == Delivery::Agreed));
    sink.counted(isonet.topology().to_text().as_bytes());
    let variables = isonet.variables().count();
    sink.u32(u32::try_from(variables).expect("variables have numbers of 32 bits"));
    let count = |number: usize| u16::try_from(number).expect("neither values nor topologies are so large");
    for (Variable(number), shape) in isonet.variables() {
        sink.u32(number);
        sink.u16(count(shape.bytes));
        sink.u16(count(shape.copies.len()));
        shape.copies.iter().for_each(|node| sink.u16(node.0));
    }
}

/// What [`write_isonet`] has written.
///
/// # Errors
/// It is cut, or cannot be.
pub fn read_isonet(reader: &mut Reader<'_>) -> Result<Isonet, DecodeError> {
    let delivery = if reader.flag("delivery of an isonet")? { Delivery::Agreed } else { Delivery::Safe };
    let text = reader.text("length of a topology", MAX_TOPOLOGY_BYTES)?;
    let topology = Topology::parse(text).map_err(|_| reader.invalid("topology", 0u64, text.len()))?;
    let mut variables = BTreeMap::new();
    for _ in 0..reader.u32()? {
        let (variable, bytes) = (Variable(reader.u32()?), usize::from(reader.u16()?));
        let copies = (0..reader.u16()?).map(|_| reader.u16().map(NodeId));
        let copies: BTreeSet<NodeId> = copies.collect::<Result<_, _>>()?;
        if variables.insert(variable, Shape { bytes, copies }).is_some() {
            return Err(reader.invalid("variable that comes twice", variable.0, 0));
        }
    }
    let isonet = Isonet::new(topology, variables).map_err(|_| reader.invalid("variables", 0u64, 0))?;
    Ok(isonet.with_delivery(delivery))
}

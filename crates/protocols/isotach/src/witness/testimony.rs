//! What one node says that it did, as it is kept, and told to whoever checks it elsewhere.
//!
//! ```text
//!   form     u8, 1
//!   node     u16
//!   views    u32, ascending, and each: number u32, the isonet
//!   said     to the end: kind u8, and what it says
//! ```

use super::Witnessed;
use crate::codec::{
    ReadValue, Values, read_all_operations, read_isonet, read_values, write_isonet, write_operations,
};
use crate::isonet::{Isonet, Variable};
use crate::logical_time::{Place, Rank, View};
use quintet_contract::NodeId;
use quintet_wire::{Decode, DecodeError, Encode, Reader, Sink, encode_to_vec};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The form in which it is written.
const FORM: u8 = 1;

/// What one node says that it did, and the views that it knows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Testimony {
    /// Who says so.
    pub node: NodeId,
    /// The views that it knows of, those that never began here as well.
    pub views: BTreeMap<View, Arc<Isonet>>,
    /// What it did, in its order.
    pub said: Vec<Witnessed>,
}

impl Testimony {
    /// As it is kept.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        encode_to_vec(self)
    }

    /// What [`to_bytes`](Testimony::to_bytes) has given.
    ///
    /// # Errors
    /// It is cut, damaged, or of another version.
    pub fn from_bytes(bytes: &[u8]) -> Result<Testimony, DecodeError> {
        Testimony::decode_all(bytes)
    }
}

impl Encode for Testimony {
    fn encode(&self, sink: &mut impl Sink) {
        sink.u8(FORM);
        sink.u16(self.node.0);
        sink.u32(u32::try_from(self.views.len()).expect("views have numbers of 32 bits"));
        for (view, isonet) in &self.views {
            sink.u32(view.0);
            write_isonet(isonet, sink);
        }
        self.said.iter().for_each(|witnessed| witnessed.encode(sink));
    }
}

impl Decode<'_> for Testimony {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        match reader.u8()? {
            FORM => {}
            other => return Err(reader.invalid("form of a testimony", other, 1)),
        }
        let node = NodeId(reader.u16()?);
        let mut views = BTreeMap::new();
        for _ in 0..reader.u32()? {
            let view = View(reader.u32()?);
            if views.last_key_value().is_some_and(|(last, _)| *last >= view) {
                return Err(reader.invalid("view behind a later one", view.0, 4));
            }
            views.insert(view, Arc::new(read_isonet(reader)?));
        }
        let mut said = Vec::new();
        while reader.left() > 0 {
            said.push(Witnessed::decode(reader)?);
        }
        Ok(Testimony { node, views, said })
    }
}

impl Encode for Witnessed {
    fn encode(&self, sink: &mut impl Sink) {
        match self {
            Witnessed::Submitted { rank, operations, after } => {
                sink.u8(0);
                sink.u64(rank.0);
                after.encode(sink);
                write_operations(operations, sink);
            }
            Witnessed::Received { sender, rank, operations } => {
                sink.u8(1);
                sink.u16(sender.0);
                sink.u64(rank.0);
                write_operations(operations, sink);
            }
            Witnessed::Executed { place, sender, rank } => {
                sink.u8(2);
                place.encode(sink);
                sink.u16(sender.0);
                sink.u64(rank.0);
            }
            Witnessed::Lost { rank } => {
                sink.u8(3);
                sink.u64(rank.0);
            }
            Witnessed::Completed { place, rank, reads } => {
                sink.u8(4);
                place.encode(sink);
                sink.u64(rank.0);
                let (variables, values): (Vec<Variable>, Vec<ReadValue>) = reads.iter().cloned().unzip();
                Values(&values).encode(sink);
                variables.iter().for_each(|variable| sink.u32(variable.0));
            }
        }
    }
}

impl Decode<'_> for Witnessed {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(match reader.u8()? {
            0 => {
                let (rank, after) = (Rank(reader.u64()?), Place::decode(reader)?);
                Witnessed::Submitted { rank, operations: read_all_operations(reader)?, after }
            }
            1 => {
                let (sender, rank) = (NodeId(reader.u16()?), Rank(reader.u64()?));
                Witnessed::Received { sender, rank, operations: read_all_operations(reader)? }
            }
            2 => {
                let (place, sender) = (Place::decode(reader)?, NodeId(reader.u16()?));
                Witnessed::Executed { place, sender, rank: Rank(reader.u64()?) }
            }
            3 => Witnessed::Lost { rank: Rank(reader.u64()?) },
            4 => {
                let (place, rank) = (Place::decode(reader)?, Rank(reader.u64()?));
                let values = read_values(reader)?.into_iter();
                let reads = values.map(|value| Ok((Variable(reader.u32()?), value)));
                Witnessed::Completed { place, rank, reads: reads.collect::<Result<_, DecodeError>>()? }
            }
            other => return Err(reader.invalid("what a node did", other, 1)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isochron::Operation;
    use crate::isonet::{Delivery, Shape};
    use crate::logical_time::{Pulse, Stamp};
    use crate::topology::Topology;
    use quintet_contract::Bytes;

    fn testimony() -> Testimony {
        let topology = Topology::lan(NodeId(0), &[NodeId(0), NodeId(1)]).expect("it is one");
        let shape = Shape { bytes: 3, copies: [NodeId(1)].into() };
        let isonet = Isonet::new(topology, [(Variable(7), shape)].into()).expect("it can be shared");
        let isonet = Arc::new(isonet.with_delivery(Delivery::Agreed));
        let stamp = Stamp { view: View(1), pulse: Pulse(2), sender: NodeId(1), rank: Rank(4) };
        let (place, rank, variable) = (Place { stamp, behind: 5 }, Rank(6), Variable(7));
        let value = || Bytes::from_static(b"abc");
        let operations = vec![
            Operation::Send { to: NodeId(1), handler: 9, bytes: value() },
            Operation::Read(variable),
            Operation::Write(variable, value()),
        ];
        let given = [ReadValue::Value(value()), ReadValue::Aborted, ReadValue::Lost, ReadValue::Unanswered];
        let said = vec![
            Witnessed::Submitted { rank, operations: operations.clone(), after: place },
            Witnessed::Received { sender: NodeId(0), rank, operations },
            Witnessed::Executed { place, sender: NodeId(0), rank },
            Witnessed::Lost { rank },
            Witnessed::Completed { place, rank, reads: given.map(|given| (variable, given)).into() },
        ];
        Testimony { node: NodeId(1), views: [(View(1), isonet)].into(), said }
    }

    #[test]
    fn what_was_said_comes_back() {
        let bytes = testimony().to_bytes();
        assert_eq!(Testimony::from_bytes(&bytes), Ok(testimony()));
    }

    #[test]
    fn what_is_cut_or_changed_is_refused_or_says_something_else_and_never_panics() {
        let whole = testimony().to_bytes();
        for at in 0..whole.len() {
            let cut = Testimony::from_bytes(&whole[..at]);
            assert!(cut.map_or(true, |cut| cut.said.len() < testimony().said.len()), "cut at {at}");
            for byte in [0, 1, 0x7f, 0xff] {
                let mut changed = whole.clone();
                changed[at] = byte;
                drop(Testimony::from_bytes(&changed));
            }
        }
    }
}

//! Who belongs to a view, as programs say it and nodes agree on it.

use super::calls::NextView;
use crate::limits::{MAX_NEWCOMERS, MAX_TOPOLOGY_BYTES};
use crate::logical_time::View;
use crate::members::{Joined, Members, Newcomers};
use crate::topology::Topology;
use quintet_contract::NodeId;
use quintet_wire::{Decode, DecodeError, Encode, Reader, Sink};

/// The body of [`NEXT_VIEW`](super::NEXT_VIEW) where it is for a node, and of [`AGREED`](super::AGREED): [`NextView`], and behind it who has joined, if anybody has.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NextMembers<'a> {
    /// The view, and its topology.
    pub next: NextView<'a>,
    /// Its nodes that are later processes than the first.
    pub newcomers: Newcomers,
}

impl Encode for NextMembers<'_> {
    fn encode(&self, sink: &mut impl Sink) {
        self.next.encode(sink);
        if !self.newcomers.is_empty() {
            write_newcomers(&self.newcomers, sink);
        }
    }
}

impl<'a> Decode<'a> for NextMembers<'a> {
    fn decode(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let next = NextView::decode(reader)?;
        let newcomers = if reader.left() > 0 { read_newcomers(reader, 1)? } else { Newcomers::new() };
        Ok(NextMembers { next, newcomers })
    }
}

fn write_newcomers(newcomers: &Newcomers, sink: &mut impl Sink) {
    sink.u16(u16::try_from(newcomers.len()).expect("a topology has fewer nodes"));
    for (node, Joined { view, life }) in newcomers {
        sink.u16(node.0);
        sink.u32(view.0);
        sink.u64(*life);
    }
}

fn read_newcomers(reader: &mut Reader<'_>, least: u16) -> Result<Newcomers, DecodeError> {
    let count = reader.u16()?;
    if count < least || usize::from(count) > MAX_NEWCOMERS {
        return Err(reader.invalid("number of nodes that have joined", count, 2));
    }
    let mut newcomers = Newcomers::new();
    for _ in 0..count {
        let node = NodeId(reader.u16()?);
        if newcomers.last_key_value().is_some_and(|(last, _)| *last >= node) {
            return Err(reader.invalid("node that is not above the one before it", node.0, 2));
        }
        newcomers.insert(node, Joined { view: View(reader.u32()?), life: reader.u64()? });
    }
    Ok(newcomers)
}

impl Encode for Members {
    fn encode(&self, sink: &mut impl Sink) {
        sink.counted(self.topology().to_text().as_bytes());
        write_newcomers(self.newcomers(), sink);
    }
}

impl Decode<'_> for Members {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let text = reader.text("length of a topology", MAX_TOPOLOGY_BYTES)?;
        let topology = Topology::parse(text).map_err(|_| reader.invalid("topology", 0u64, text.len()))?;
        // Of several texts for one topology, one is sent.
        if topology.to_text() != text {
            return Err(reader.invalid("topology", 1u64, text.len()));
        }
        let newcomers = read_newcomers(reader, 0)?;
        Members::new(topology, newcomers).ok_or_else(|| reader.invalid("node that is at no switch", 0u64, 2))
    }
}

//! What nodes say to agree on the next view.

use crate::limits::{MAX_NEWCOMERS, MAX_NODES};
use crate::logical_time::View;
use crate::members::Members;
use quintet_contract::NodeId;
use quintet_wire::{Decode, DecodeError, Encode, Reader, Sink};
use std::collections::BTreeMap;

/// The number of a proposal: of two, the later one counts. (Lamport, "Paxos made simple", 2001.)
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub struct Ballot {
    /// Grows with each try. 0: none.
    pub round: u32,
    /// Whose it is.
    pub node: u16,
}

/// The body of [`AGREE`](super::AGREE).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Agree {
    /// The last view that its sender knows to be agreed on. What is said is about the one behind it.
    pub base: View,
    /// What is said.
    pub step: AgreeStep,
}

/// A step of the agreement on a view.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AgreeStep {
    /// These nodes of the view cannot be reached, or broke the protocol.
    Suspects(Vec<NodeId>),
    /// May I propose the next view?
    Prepare(Ballot),
    /// Yes, and this is what I have accepted for it.
    Promise {
        /// Whose question is answered.
        ballot: Ballot,
        /// The proposal that was accepted last.
        accepted: Option<(Ballot, Members)>,
    },
    /// Accept this as the next view.
    Accept(Ballot, Members),
    /// It is accepted.
    Accepted(Ballot),
    /// I have promised to accept nothing before this ballot.
    Refused(Ballot),
    /// The base is agreed on, and is this.
    Agreed(Members),
    /// I want to end, together with all others.
    Leaves,
    /// I have heard of all that they want to end.
    AllLeave,
    /// I am a later process of this node, of this number, and want to be let into a view.
    Asks(u64),
    /// These have asked me to be let in, and I reach them.
    Joins(BTreeMap<NodeId, u64>),
}

impl Encode for Ballot {
    fn encode(&self, sink: &mut impl Sink) {
        sink.u32(self.round);
        sink.u16(self.node);
    }
}

impl Decode<'_> for Ballot {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Ballot { round: reader.u32()?, node: reader.u16()? })
    }
}

impl Encode for Agree {
    fn encode(&self, sink: &mut impl Sink) {
        sink.u32(self.base.0);
        match &self.step {
            AgreeStep::Suspects(nodes) => {
                sink.u8(0);
                sink.u16(u16::try_from(nodes.len()).expect("a topology has fewer nodes"));
                nodes.iter().for_each(|node| sink.u16(node.0));
            }
            AgreeStep::Prepare(ballot) => {
                sink.u8(1);
                ballot.encode(sink);
            }
            AgreeStep::Promise { ballot, accepted } => {
                sink.u8(2);
                ballot.encode(sink);
                sink.u8(u8::from(accepted.is_some()));
                if let Some((ballot, members)) = accepted {
                    ballot.encode(sink);
                    members.encode(sink);
                }
            }
            AgreeStep::Accept(ballot, members) => {
                sink.u8(3);
                ballot.encode(sink);
                members.encode(sink);
            }
            AgreeStep::Accepted(ballot) => {
                sink.u8(4);
                ballot.encode(sink);
            }
            AgreeStep::Refused(ballot) => {
                sink.u8(5);
                ballot.encode(sink);
            }
            AgreeStep::Agreed(members) => {
                sink.u8(6);
                members.encode(sink);
            }
            AgreeStep::Leaves => sink.u8(7),
            AgreeStep::AllLeave => sink.u8(8),
            AgreeStep::Asks(life) => {
                sink.u8(9);
                sink.u64(*life);
            }
            AgreeStep::Joins(applicants) => {
                sink.u8(10);
                sink.u16(u16::try_from(applicants.len()).expect("a topology has fewer nodes"));
                for (node, life) in applicants {
                    sink.u16(node.0);
                    sink.u64(*life);
                }
            }
        }
    }
}

impl Decode<'_> for Agree {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let base = View(reader.u32()?);
        let step = match reader.u8()? {
            0 => AgreeStep::Suspects(read_nodes(reader)?),
            1 => AgreeStep::Prepare(Ballot::decode(reader)?),
            2 => {
                let ballot = Ballot::decode(reader)?;
                let has_accepted = reader.flag("whether a view was accepted")?;
                let accepted = has_accepted.then(|| Ok((Ballot::decode(reader)?, Members::decode(reader)?)));
                AgreeStep::Promise { ballot, accepted: accepted.transpose()? }
            }
            3 => AgreeStep::Accept(Ballot::decode(reader)?, Members::decode(reader)?),
            4 => AgreeStep::Accepted(Ballot::decode(reader)?),
            5 => AgreeStep::Refused(Ballot::decode(reader)?),
            6 => AgreeStep::Agreed(Members::decode(reader)?),
            7 => AgreeStep::Leaves,
            8 => AgreeStep::AllLeave,
            9 => AgreeStep::Asks(reader.u64()?),
            10 => AgreeStep::Joins(read_applicants(reader)?),
            other => return Err(reader.invalid("step of an agreement", other, 1)),
        };
        Ok(Agree { base, step })
    }
}

fn read_applicants(reader: &mut Reader<'_>) -> Result<BTreeMap<NodeId, u64>, DecodeError> {
    let count = read_count(reader, MAX_NEWCOMERS)?;
    let mut applicants = BTreeMap::new();
    for _ in 0..count {
        let node = NodeId(reader.u16()?);
        if applicants.last_key_value().is_some_and(|(last, _)| *last >= node) {
            return Err(reader.invalid("node that is not above the one before it", node.0, 2));
        }
        applicants.insert(node, reader.u64()?);
    }
    Ok(applicants)
}

fn read_count(reader: &mut Reader<'_>, most: usize) -> Result<u16, DecodeError> {
    let count = reader.u16()?;
    if usize::from(count) > most {
        return Err(reader.invalid("number of nodes", count, 2));
    }
    Ok(count)
}

fn read_nodes(reader: &mut Reader<'_>) -> Result<Vec<NodeId>, DecodeError> {
    let count = read_count(reader, MAX_NODES)?;
    (0..count).map(|_| reader.u16().map(NodeId)).collect()
}

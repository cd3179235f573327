//! What the log holds: one change of the membership after the other.

use crate::kept_space::{MAX_SPACE_NAME_BYTES, NewSpace};
use crate::replacement::Replacement;
use crate::rights::{NewRights, decode_restricted, encode_restricted};
use quintet_contract::{Identity, Incarnation, NodeId};
use quintet_wire::{Decode, DecodeError, Encode, Reader, Sink};

/// Bytes of a member's name.
pub const MAX_NAME_BYTES: usize = 64;
/// Bytes of a member's address.
pub const MAX_ADDRESS_BYTES: usize = 100;

/// A change of the membership.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Change {
    /// None: what a leader begins its term with, so that everything before it is committed (Ongaro, section 6.4).
    Nothing,
    /// A machine comes, as a learner.
    Join(Joiner),
    /// A member goes, for good: its number is never given again.
    Remove(NodeId),
    /// A member has a new life.
    Revive(NodeId, Incarnation),
    /// A learner becomes a voter.
    Promote(NodeId),
    /// A voter becomes a learner.
    Demote(NodeId),
    /// A member is reached elsewhere from now on.
    Move(NodeId, String),
    /// Members keep a space from now on.
    AddSpace(NewSpace),
    /// They keep it no more: its name, and the number of the view that it came with.
    RemoveSpace(String, u64),
    /// One of the members that keep a space is replaced by another one, which has none of its tuples so far.
    ReplaceReplica(Replacement),
    /// That one has them: the space's name, the number of the view that the replacement came with.
    ReplicaReady(String, u64),
    /// Other members' programs may use a space from now on.
    SetRights(NewRights),
}

/// A machine that comes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Joiner {
    /// Its number.
    pub node: NodeId,
    /// Its name, which no other member has.
    pub name: String,
    /// By what it proves who it is; no other member has it.
    pub identity: Identity,
    /// Where it is reached, in words of the host's. Nothing here reads them.
    pub address: String,
    /// What it may ask of others, in bits of the host's. Nothing here reads them.
    pub grants: u8,
    /// Chosen by who asked: a join that is asked again with it is the same one.
    pub ticket: u64,
}

/// A change with the term of the leader that began it.
pub type Entry = quintet_raft::Entry<Change>;

impl Change {
    /// The member that it is about, if it is about one.
    #[must_use]
    pub fn node(&self) -> Option<NodeId> {
        match self {
            Change::Nothing
            | Change::AddSpace(_)
            | Change::RemoveSpace(..)
            | Change::ReplaceReplica(_)
            | Change::ReplicaReady(..)
            | Change::SetRights(_) => None,
            Change::Join(joiner) => Some(joiner.node),
            Change::Remove(node)
            | Change::Revive(node, _)
            | Change::Promote(node)
            | Change::Demote(node)
            | Change::Move(node, _) => Some(*node),
        }
    }
}

impl Encode for Change {
    fn encode(&self, sink: &mut impl Sink) {
        let tag = match self {
            Change::Nothing => 0,
            Change::Join(_) => 1,
            Change::Remove(_) => 2,
            Change::Revive(..) => 3,
            Change::Promote(_) => 4,
            Change::Demote(_) => 5,
            Change::Move(..) => 6,
            Change::AddSpace(new) if new.allow.is_some() => 11,
            Change::AddSpace(_) => 7,
            Change::RemoveSpace(..) => 8,
            Change::ReplaceReplica(_) => 9,
            Change::ReplicaReady(..) => 10,
            Change::SetRights(_) => 12,
        };
        sink.u8(tag);
        if let Some(node) = self.node() {
            sink.u16(node.0);
        }
        match self {
            Change::Join(joiner) => {
                sink.counted(joiner.name.as_bytes());
                sink.bytes(&joiner.identity.0);
                sink.counted(joiner.address.as_bytes());
                sink.u8(joiner.grants);
                sink.u64(joiner.ticket);
            }
            Change::Revive(_, incarnation) => sink.u64(incarnation.0),
            Change::Move(_, address) => sink.counted(address.as_bytes()),
            Change::AddSpace(new) if new.allow.is_some() => encode_restricted(new, sink),
            Change::AddSpace(new) => new.encode(sink),
            Change::ReplaceReplica(replacement) => replacement.encode(sink),
            Change::SetRights(rights) => rights.encode(sink),
            Change::RemoveSpace(name, number) | Change::ReplicaReady(name, number) => {
                sink.counted(name.as_bytes());
                sink.u64(*number);
            }
            _ => {}
        }
    }
}

impl Decode<'_> for Change {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let tag = reader.u8()?;
        match tag {
            0 => return Ok(Change::Nothing),
            1..=6 => {}
            7 => return NewSpace::decode(reader).map(Change::AddSpace),
            8 | 10 => {
                let name = reader.text("name of a space", MAX_SPACE_NAME_BYTES)?.to_owned();
                let number = reader.u64()?;
                return Ok(match tag {
                    8 => Change::RemoveSpace(name, number),
                    _ => Change::ReplicaReady(name, number),
                });
            }
            9 => return Replacement::decode(reader).map(Change::ReplaceReplica),
            11 => return decode_restricted(reader).map(Change::AddSpace),
            12 => return NewRights::decode(reader).map(Change::SetRights),
            _ => return Err(reader.invalid("change", tag, 1)),
        }
        let node = NodeId(reader.u16()?);
        Ok(match tag {
            1 => Change::Join(Joiner {
                node,
                name: reader.text("name", MAX_NAME_BYTES)?.to_owned(),
                identity: Identity(reader.array()?),
                address: reader.text("address", MAX_ADDRESS_BYTES)?.to_owned(),
                grants: reader.u8()?,
                ticket: reader.u64()?,
            }),
            2 => Change::Remove(node),
            3 => Change::Revive(node, Incarnation(reader.u64()?)),
            4 => Change::Promote(node),
            5 => Change::Demote(node),
            _ => Change::Move(node, reader.text("address", MAX_ADDRESS_BYTES)?.to_owned()),
        })
    }
}

//! Who may use a space that members keep: the members that its creation named, if it did, and those that were named since.
//!
//! They alone remove it, and say who else may use it. Whether a space is for some only stays as it was created: its replicas have that in their logs before they are told by whom it may be used.
//!
//! They are named by their numbers. A number is never given again, so that nobody who comes later has what was given to another; and it is short, so that a view
//! stays one frame. By what such a member proves who it is, the view says.

use crate::kept_space::{KeptSpace, MAX_SPACE_NAME_BYTES, NewSpace};
use crate::refusal::{Reason, Refusal};
use crate::replacement::no_such_space;
use crate::view::View;
use quintet_contract::{Identity, NodeId};
use quintet_wire::{Decode, DecodeError, Encode, Reader, Sink};
use std::collections::{BTreeMap, BTreeSet};

/// Members that may be named as those who may use a space.
pub const MAX_ALLOWED: usize = 32;

/// Who may use a space from now on, and who no more: of several who say so at once each has what he said.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewRights {
    /// The space's name.
    pub name: String,
    /// The number of the view that the space came with.
    pub number: u64,
    /// The members that may.
    pub granted: BTreeSet<NodeId>,
    /// Those that may no more, whoever else says that they may.
    pub revoked: BTreeSet<NodeId>,
}

impl KeptSpace {
    /// By what those prove who they are whose programs may use it; none: all members may.
    #[must_use]
    pub fn allowed(&self, view: &View) -> Option<BTreeSet<Identity>> {
        let members = |nodes: &BTreeSet<NodeId>| {
            nodes.iter().filter_map(|node| Some(view.members.get(node)?.identity)).collect()
        };
        self.allow.as_ref().map(members)
    }
}

impl View {
    /// Whether these may be named as those who may use a space: members, and one at least.
    pub(crate) fn check_allowed(&self, allow: Option<&BTreeSet<NodeId>>) -> Result<(), Refusal> {
        let Some(allow) = allow else { return Ok(()) };
        let bad = |text: String| Err(Refusal::new(Reason::BadReplicas, text));
        if !(1..=MAX_ALLOWED).contains(&allow.len()) {
            let text = format!(
                "a space is for one machine to {MAX_ALLOWED}, or for all, and not for {}",
                allow.len()
            );
            return bad(text);
        }
        match allow.iter().find(|node| !self.members.contains_key(node)) {
            Some(node) => bad(format!("view {} has no node {}: no space is for it", self.number, node.0)),
            None => Ok(()),
        }
    }
}

impl View {
    /// Those who may use a space once that is said. Those that have left are not among them.
    ///
    /// # Errors
    /// Why it cannot be said, in words for who asked.
    pub(crate) fn with_rights(&self, rights: &NewRights) -> Result<BTreeSet<NodeId>, Refusal> {
        let NewRights { name, number, granted, revoked } = rights;
        let Some(space) = self.spaces.get(name).filter(|space| space.number == *number) else {
            return Err(no_such_space(name));
        };
        let Some(allow) = &space.allow else {
            let text = format!(
                "{name} was created for all machines, and stays so: create another space, with --allow, and put its tuples there"
            );
            return Err(Refusal::new(Reason::BadReplicas, text));
        };
        let here = allow.iter().filter(|node| self.members.contains_key(node));
        let named = here.chain(granted).filter(|node| !revoked.contains(node));
        let named: BTreeSet<NodeId> = named.copied().collect();
        self.check_allowed(Some(&named)).map(|()| named)
    }

    /// Has those use it from the next view on.
    pub(crate) fn set_rights(&mut self, rights: &NewRights) {
        let named = self.with_rights(rights).ok();
        if let Some(space) = self.spaces.get_mut(&rights.name).filter(|_| named.is_some()) {
            space.allow = named;
        }
    }

    /// Whether that was said, by whoever said it before.
    pub(crate) fn has_rights(&self, rights: &NewRights) -> bool {
        self.with_rights(rights).is_ok_and(|named| self.spaces[&rights.name].allow == Some(named))
    }

    /// Whether a member may remove the space of this name, or say who may use it: all may where it is for all, or where none of those is left that may use it.
    ///
    /// # Errors
    /// Why not.
    pub(crate) fn check_manages(&self, node: NodeId, name: &str) -> Result<(), Refusal> {
        let allow = self.spaces.get(name).and_then(|space| space.allow.as_ref());
        let Some(allow) = allow.filter(|allow| !allow.contains(&node)) else { return Ok(()) };
        let names: Vec<&str> = allow
            .iter()
            .filter_map(|node| self.members.get(node))
            .map(|member| member.name.as_str())
            .collect();
        if names.is_empty() {
            return Ok(());
        }
        let text = format!(
            "{name} is not for this machine, node {}: those that may use it remove it, move it, and say who else may: {}",
            node.0,
            names.join(", ")
        );
        Err(Refusal::new(Reason::NotAllowed, text))
    }
}

/// A new space that is not for all: as one that is, and behind that who may use it.
pub(crate) fn encode_restricted(new: &NewSpace, sink: &mut impl Sink) {
    new.encode(sink);
    encode_allowed(new.allow.as_ref(), sink);
}

pub(crate) fn decode_restricted(reader: &mut Reader<'_>) -> Result<NewSpace, DecodeError> {
    let new = NewSpace::decode(reader)?;
    match allowed(reader)? {
        None => Err(reader.invalid("number of machines that may use a space", 0u8, 1)),
        allow => Ok(NewSpace { allow, ..new }),
    }
}

/// Of each space, in the order of their names, how many may use it u8, 0 for all, and their numbers, going up.
pub(crate) fn encode_rights(spaces: &BTreeMap<String, KeptSpace>, sink: &mut impl Sink) {
    spaces.values().for_each(|space| encode_allowed(space.allow.as_ref(), sink));
}

/// The same: one space is not for all at least, or it had not been written.
pub(crate) fn decode_rights(
    spaces: &mut BTreeMap<String, KeptSpace>,
    reader: &mut Reader<'_>,
) -> Result<(), DecodeError> {
    for space in spaces.values_mut() {
        space.allow = allowed(reader)?;
    }
    match spaces.values().all(|space| space.allow.is_none()) {
        true => Err(reader.invalid("number of machines that may use a space", 0u8, 1)),
        false => Ok(()),
    }
}

impl Encode for NewRights {
    fn encode(&self, sink: &mut impl Sink) {
        sink.counted(self.name.as_bytes());
        sink.u64(self.number);
        encode_allowed(Some(&self.granted), sink);
        encode_allowed(Some(&self.revoked), sink);
    }
}

impl Decode<'_> for NewRights {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(NewRights {
            name: reader.text("name of a space", MAX_SPACE_NAME_BYTES)?.to_owned(),
            number: reader.u64()?,
            granted: allowed(reader)?.unwrap_or_default(),
            revoked: allowed(reader)?.unwrap_or_default(),
        })
    }
}

fn encode_allowed(allow: Option<&BTreeSet<NodeId>>, sink: &mut impl Sink) {
    let nodes = || allow.into_iter().flatten();
    sink.u8(u8::try_from(nodes().count()).unwrap_or(u8::MAX));
    nodes().for_each(|node| sink.u16(node.0));
}

fn allowed(reader: &mut Reader<'_>) -> Result<Option<BTreeSet<NodeId>>, DecodeError> {
    let count = reader.u8()?;
    if usize::from(count) > MAX_ALLOWED {
        return Err(reader.invalid("number of machines that may use a space", count, 1));
    }
    let mut nodes = BTreeSet::new();
    for _ in 0..count {
        let node = NodeId(reader.u16()?);
        if nodes.last().is_some_and(|last| *last >= node) {
            return Err(reader.invalid("machine that may use a space", node.0, 2));
        }
        nodes.insert(node);
    }
    Ok((count > 0).then_some(nodes))
}

//! Who may use a space that members keep: the members that its creation named, if it did.
//!
//! They are named by their numbers. A number is never given again, so that nobody who comes later has what was given to another; and it is short, so that a view
//! stays one frame. By what such a member proves who it is, the view says.

use crate::kept_space::{KeptSpace, NewSpace};
use crate::refusal::{Reason, Refusal};
use crate::view::View;
use quintet_contract::{Identity, NodeId};
use quintet_wire::{Decode, DecodeError, Encode, Reader, Sink};
use std::collections::{BTreeMap, BTreeSet};

/// Members that may be named as those who may use a space.
pub const MAX_ALLOWED: usize = 32;

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

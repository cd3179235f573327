//! One of the members that keep a space is replaced by another one: for good, as where its machine is lost.
//!
//! The new one has the number that the old one had among the space's replicas, and a log of its own, which begins empty. It is a replica that has lost its log, as one
//! whose disk was changed: it has no vote until a leader has sent it the log, and none that it had is repeated, as it asks all others first. The old one is
//! heard by none of those that know of the replacement; and to the new one speak only such. So a majority never counts both.
//!
//! Two that have no log at once could be the majority of three, and what the third lacks would be lost with them. So no other replica of a
//! space is replaced before the last one that was has said that it is *ready*: that it has the log on its disk.

use crate::kept_space::{KeptSpace, MAX_REPLICAS, MAX_SPACE_NAME_BYTES};
use crate::refusal::{Reason, Refusal};
use crate::view::View;
use quintet_contract::NodeId;
use quintet_wire::{Decode, DecodeError, Encode, Reader, Sink};
use std::collections::BTreeMap;

/// Who is to keep a space in whose place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Replacement {
    /// The space's name.
    pub name: String,
    /// The number of the view that the space came with.
    pub number: u64,
    /// Who keeps it no more.
    pub from: NodeId,
    /// Who keeps it from now on.
    pub to: NodeId,
}

/// Since when a replica is in the place of another member.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Replaced {
    /// The number of the view since which it is.
    pub since: u64,
    /// Whether it has the log on its disk.
    pub is_ready: bool,
}

impl KeptSpace {
    /// The place of a member among the replicas, counted from 0, if it is one of them.
    #[must_use]
    pub fn place(&self, node: NodeId) -> Option<u8> {
        let place = self.replicas.iter().position(|replica| *replica == node)?;
        u8::try_from(place).ok()
    }

    /// The number of the view since which the replica at that place is there.
    #[must_use]
    pub fn since(&self, place: u8) -> u64 {
        self.replaced.get(&place).map_or(self.number, |replaced| replaced.since)
    }

    /// The place of the replica that has taken another's and has no log so far, if there is one.
    #[must_use]
    pub fn awaited(&self) -> Option<u8> {
        self.replaced.iter().find(|(_, replaced)| !replaced.is_ready).map(|(place, _)| *place)
    }
}

impl View {
    /// Whether another member may take that one's place.
    ///
    /// # Errors
    /// Why not, in words for who asked.
    pub(crate) fn check_replacement(&self, replacement: &Replacement) -> Result<(), Refusal> {
        let Replacement { name, number, from, to } = replacement;
        let Some(space) = self.spaces.get(name).filter(|space| space.number == *number) else {
            return Err(no_such_space(name));
        };
        let bad = |text: String| Err(Refusal::new(Reason::BadReplicas, text));
        let Some(place) = space.place(*from) else {
            return bad(format!("node {} does not keep {name}", from.0));
        };
        if space.replicas.len() == 1 {
            return bad(format!(
                "node {} alone keeps {name}: put its tuples into another space, and remove this one",
                from.0
            ));
        }
        if space.place(*to).is_some() {
            return bad(format!("node {} keeps {name} already", to.0));
        }
        self.check_reached(*to)?;
        match space.awaited() {
            Some(other) if other != place => bad(format!(
                "node {} keeps {name} since a moment, and has none of its tuples so far: replace one after the other",
                space.replicas[usize::from(other)].0
            )),
            _ => Ok(()),
        }
    }

    /// Has it take that one's place from the next view on.
    pub(crate) fn replace_replica(&mut self, replacement: &Replacement) {
        let since = self.number + 1;
        let Some(space) = self.spaces.get_mut(&replacement.name) else { return };
        let Some(place) = space.place(replacement.from) else { return };
        space.replicas[usize::from(place)] = replacement.to;
        space.replaced.insert(place, Replaced { since, is_ready: false });
    }

    /// Whether a replica that is there since then may say that it has the log.
    ///
    /// # Errors
    /// Nobody is there since then.
    pub(crate) fn check_ready(&self, name: &str, since: u64) -> Result<(), Refusal> {
        let is_awaited = |space: &KeptSpace| {
            space.replaced.values().any(|replaced| replaced.since == since && !replaced.is_ready)
        };
        match self.spaces.get(name).is_some_and(is_awaited) {
            true => Ok(()),
            false => Err(no_such_space(name)),
        }
    }

    pub(crate) fn ready(&mut self, name: &str, since: u64) {
        let space = self.spaces.get_mut(name);
        let all = space.into_iter().flat_map(|space| space.replaced.values_mut());
        all.filter(|replaced| replaced.since == since).for_each(|replaced| replaced.is_ready = true);
    }

    /// Whether that was done, by whoever asked for it before.
    pub(crate) fn has_replaced(&self, replacement: &Replacement) -> bool {
        self.spaces.get(&replacement.name).is_some_and(|space| {
            space.number == replacement.number
                && space.place(replacement.from).is_none()
                && space.place(replacement.to).is_some_and(|place| space.replaced.contains_key(&place))
        })
    }
}

pub(crate) fn no_such_space(name: &str) -> Refusal {
    Refusal::new(Reason::NoSuchSpace, format!("the cluster keeps no space {name} any more"))
}

impl Encode for Replacement {
    fn encode(&self, sink: &mut impl Sink) {
        sink.counted(self.name.as_bytes());
        sink.u64(self.number);
        sink.u16(self.from.0);
        sink.u16(self.to.0);
    }
}

impl Decode<'_> for Replacement {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Replacement {
            name: reader.text("name of a space", MAX_SPACE_NAME_BYTES)?.to_owned(),
            number: reader.u64()?,
            from: NodeId(reader.u16()?),
            to: NodeId(reader.u16()?),
        })
    }
}

/// Of each space, in the order of their names: how many of its replicas were replaced u8, and of each its place u8, since which view u64, whether it is ready u8.
pub(crate) fn encode_replaced(spaces: &BTreeMap<String, KeptSpace>, sink: &mut impl Sink) {
    for space in spaces.values() {
        sink.u8(u8::try_from(space.replaced.len()).expect("at most MAX_REPLICAS"));
        for (place, Replaced { since, is_ready }) in &space.replaced {
            sink.u8(*place);
            sink.u64(*since);
            sink.u8((*is_ready).into());
        }
    }
}

/// The same: one replica was replaced at least, or it had not been written.
pub(crate) fn decode_replaced(
    spaces: &mut BTreeMap<String, KeptSpace>,
    reader: &mut Reader<'_>,
) -> Result<(), DecodeError> {
    for space in spaces.values_mut() {
        let count = reader.u8()?;
        if usize::from(count) > MAX_REPLICAS {
            return Err(reader.invalid("number of replaced replicas", count, 1));
        }
        for _ in 0..count {
            let place = reader.u8()?;
            let is_next = space.replaced.last_key_value().is_none_or(|(last, _)| *last < place);
            if !is_next || usize::from(place) >= space.replicas.len() {
                return Err(reader.invalid("place of a replica", place, 1));
            }
            let replaced =
                Replaced { since: reader.u64()?, is_ready: reader.flag("whether a replica is ready")? };
            space.replaced.insert(place, replaced);
        }
    }
    match spaces.values().all(|space| space.replaced.is_empty()) {
        true => Err(reader.invalid("number of replaced replicas", 0u8, 1)),
        false => Ok(()),
    }
}

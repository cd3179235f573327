//! Spaces that members keep on their disks: which there are, and who keeps each, is part of the view.

use crate::refusal::{Reason, Refusal};
use crate::replacement::Replaced;
use crate::view::View;
use quintet_contract::NodeId;
use quintet_wire::{Decode, DecodeError, Encode, Reader, Sink};
use std::collections::{BTreeMap, BTreeSet};

/// Spaces that the members of a cluster keep.
pub const MAX_KEPT_SPACES: usize = 32;
/// Bytes of a space's name.
pub const MAX_SPACE_NAME_BYTES: usize = 63;
/// Members that keep one space.
pub const MAX_REPLICAS: usize = 5;

/// What a space is created with that members are to keep.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewSpace {
    /// Its name, which no other has: 1 to [`MAX_SPACE_NAME_BYTES`] letters, digits, `-`, `_` and `.`, the first of them a letter or digit.
    pub name: String,
    /// Who keeps it, in the order of the replicas' numbers: one member in a log, or three or five together.
    pub replicas: Vec<NodeId>,
    /// Bytes that it holds, in the host's words: nothing here reads them.
    pub max_bytes: u64,
    /// Tuples that it holds, as well.
    pub max_tuples: u64,
    /// The members whose programs may use it, by their numbers, which nobody ever has again; none: all.
    pub allow: Option<BTreeSet<NodeId>>,
}

/// A space that members keep, as the view has it under its name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KeptSpace {
    /// The number of the view that it came with: no other space ever has it.
    pub number: u64,
    /// The lowest that no other space had then: by it the host tells apart where spaces are served.
    pub slot: u16,
    /// Who keeps it, in the order of the replicas' numbers.
    pub replicas: Vec<NodeId>,
    /// Bytes that it holds, in the host's words.
    pub max_bytes: u64,
    /// Tuples that it holds, as well.
    pub max_tuples: u64,
    /// The members whose programs may use it; none: all. One that has left counts no more, and stays in it.
    pub allow: Option<BTreeSet<NodeId>>,
    /// Which of the replicas, counted from 0, are in the place of another member, and since when.
    pub replaced: BTreeMap<u8, Replaced>,
}

impl View {
    /// Whether members may keep that space.
    ///
    /// # Errors
    /// Why not, in words for who asked.
    pub(crate) fn check_new_space(&self, new: &NewSpace) -> Result<(), Refusal> {
        let NewSpace { name, replicas, .. } = new;
        check_name(name)?;
        if self.spaces.contains_key(name) {
            let text =
                format!("the cluster has a space {name} already: remove that first, or choose another name");
            return Err(Refusal::new(Reason::SpaceExists, text));
        }
        if self.spaces.len() >= MAX_KEPT_SPACES {
            let text = format!("the cluster keeps its {MAX_KEPT_SPACES} spaces: remove one first");
            return Err(Refusal::new(Reason::Full, text));
        }
        let bad = |text: String| Err(Refusal::new(Reason::BadReplicas, text));
        if !matches!(replicas.len(), 1 | 3 | 5) {
            return bad(format!("a space is kept by one machine, three or five, not by {}", replicas.len()));
        }
        if replicas.iter().collect::<BTreeSet<_>>().len() < replicas.len() {
            return bad("each of a space's replicas is on a machine of its own".to_owned());
        }
        for node in replicas {
            self.check_reached(*node)?;
        }
        self.check_allowed(new.allow.as_ref())
    }

    /// Whether a member is there that others reach: only such a one keeps a space.
    pub(crate) fn check_reached(&self, node: NodeId) -> Result<(), Refusal> {
        let text = match self.members.get(&node) {
            Some(member) if !member.address.is_empty() => return Ok(()),
            Some(member) => format!("{} (node {}) is reached by nobody", member.name, node.0),
            None => format!("view {} has no node {}", self.number, node.0),
        };
        Err(Refusal::new(Reason::BadReplicas, format!("{text}: it keeps no space")))
    }

    /// Whether a member may go: none whose disk has a space's tuples.
    ///
    /// # Errors
    /// Which these are.
    pub(crate) fn check_keeps_nothing(&self, node: NodeId) -> Result<(), Refusal> {
        let kept = self.spaces.iter().filter(|(_, space)| space.replicas.contains(&node));
        let names: Vec<&str> = kept.map(|(name, _)| name.as_str()).collect();
        if names.is_empty() {
            return Ok(());
        }
        let text = format!(
            "node {} keeps {} of the cluster: have another machine keep that, with quintet space move NAME --from MACHINE --to MACHINE, or remove it, with quintet space remove NAME",
            node.0,
            names.join(", ")
        );
        Err(Refusal::new(Reason::KeepsSpace, text))
    }

    /// Has members keep it from the next view on.
    pub(crate) fn add_space(&mut self, new: &NewSpace) {
        let taken: BTreeSet<u16> = self.spaces.values().map(|space| space.slot).collect();
        let slot = (0..).find(|slot| !taken.contains(slot)).expect("there are few spaces");
        let NewSpace { name, replicas, max_bytes, max_tuples, allow } = new.clone();
        let (number, replaced) = (self.number + 1, BTreeMap::new());
        let kept = KeptSpace { number, slot, replicas, max_bytes, max_tuples, allow, replaced };
        self.spaces.insert(name, kept);
    }

    /// Whether that very space is kept.
    pub(crate) fn keeps(&self, name: &str, number: u64) -> bool {
        self.spaces.get(name).is_some_and(|space| space.number == number)
    }

    /// Whether as many members keep just that, whichever they are: of several who ask for one at once, each names its own machine first.
    pub(crate) fn keeps_as(&self, new: &NewSpace) -> bool {
        self.spaces.get(&new.name).is_some_and(|kept| {
            let KeptSpace { replicas, max_bytes, max_tuples, allow, .. } = kept;
            (replicas.len(), *max_bytes, *max_tuples, allow)
                == (new.replicas.len(), new.max_bytes, new.max_tuples, &new.allow)
        })
    }
}

/// Hosts name files after it.
fn check_name(name: &str) -> Result<(), Refusal> {
    let is_good = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let begins_well = name.bytes().next().is_some_and(|first| first.is_ascii_alphanumeric());
    if begins_well && name.len() <= MAX_SPACE_NAME_BYTES && name.bytes().all(is_good) {
        return Ok(());
    }
    let text = format!(
        "{name:?} is no name of a space: those have 1 to {MAX_SPACE_NAME_BYTES} letters, digits, '-', '_' and '.', the first of them a letter or digit"
    );
    Err(Refusal::new(Reason::BadSpaceName, text))
}

fn encode_replicas(replicas: &[NodeId], sink: &mut impl Sink) {
    sink.u32(u32::try_from(replicas.len()).expect("at most MAX_REPLICAS"));
    replicas.iter().for_each(|node| sink.u16(node.0));
}

fn replicas(reader: &mut Reader<'_>) -> Result<Vec<NodeId>, DecodeError> {
    let count = reader.length("number of replicas", MAX_REPLICAS)?;
    (0..count).map(|_| Ok(NodeId(reader.u16()?))).collect()
}

/// Without who may use it: `rights.rs` has that.
impl Encode for NewSpace {
    fn encode(&self, sink: &mut impl Sink) {
        sink.counted(self.name.as_bytes());
        encode_replicas(&self.replicas, sink);
        sink.u64(self.max_bytes);
        sink.u64(self.max_tuples);
    }
}

impl Decode<'_> for NewSpace {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(NewSpace {
            name: reader.text("name of a space", MAX_SPACE_NAME_BYTES)?.to_owned(),
            replicas: replicas(reader)?,
            max_bytes: reader.u64()?,
            max_tuples: reader.u64()?,
            allow: None,
        })
    }
}

/// All spaces of a view: their count u32, and of each its name, number u64, slot u16, replicas, bytes u64 and tuples u64.
pub(crate) fn encode_spaces(spaces: &BTreeMap<String, KeptSpace>, sink: &mut impl Sink) {
    sink.u32(u32::try_from(spaces.len()).expect("at most MAX_KEPT_SPACES"));
    for (name, space) in spaces {
        sink.counted(name.as_bytes());
        sink.u64(space.number);
        sink.u16(space.slot);
        encode_replicas(&space.replicas, sink);
        sink.u64(space.max_bytes);
        sink.u64(space.max_tuples);
    }
}

/// The spaces of a view: one at least, or they had not been written.
pub(crate) fn decode_spaces(reader: &mut Reader<'_>) -> Result<BTreeMap<String, KeptSpace>, DecodeError> {
    let mut spaces = BTreeMap::<String, KeptSpace>::new();
    let count = reader.length("number of spaces", MAX_KEPT_SPACES)?;
    for _ in 0..count {
        let name = reader.text("name of a space", MAX_SPACE_NAME_BYTES)?.to_owned();
        // It becomes the name of a folder.
        if check_name(&name).is_err() || spaces.last_key_value().is_some_and(|(last, _)| *last >= name) {
            return Err(reader.invalid("name of a space", 0u8, 1));
        }
        let (number, slot) = (reader.u64()?, reader.u16()?);
        let replicas = replicas(reader)?;
        let (max_bytes, max_tuples) = (reader.u64()?, reader.u64()?);
        let (allow, replaced) = (None, BTreeMap::new());
        spaces.insert(name, KeptSpace { number, slot, replicas, max_bytes, max_tuples, allow, replaced });
    }
    if spaces.is_empty() {
        return Err(reader.invalid("number of spaces", 0u8, 1));
    }
    Ok(spaces)
}

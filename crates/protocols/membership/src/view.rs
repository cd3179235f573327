//! Who is in, as all that is committed says it.

use crate::change::{Change, Entry, Joiner, MAX_ADDRESS_BYTES, MAX_NAME_BYTES};
use crate::kept_space::{KeptSpace, decode_spaces, encode_spaces};
use crate::refusal::{Reason, Refusal};
use crate::replacement::{decode_replaced, encode_replaced};
use crate::rights::{decode_rights, encode_rights};
use quintet_contract::{Identity, Incarnation, NodeId};
use quintet_raft::number;
use quintet_wire::{Decode, DecodeError, Encode, Reader, Sink, encode_to_vec};
use std::collections::{BTreeMap, VecDeque};

/// Members of a cluster.
pub const MAX_MEMBERS: usize = 128;
/// The first number that no member can have: those from here on are of whoever asks members, and is linked for that only.
pub const FIRST_CLIENT: NodeId = NodeId(0x8000);
/// Changes that a view keeps, for members that come late.
pub const KEPT_CHANGES: usize = 128;
/// In the number of changes that a view is encoded with: spaces follow. Views without any are what they were before there were spaces.
const SPACES_FOLLOW: u32 = 1 << 31;
/// And behind them, which of their replicas have taken another's place. Views without any are what they were before there were such.
const REPLACED_FOLLOW: u32 = 1 << 30;
/// And behind them, who may use which. Views where all may use all are what they were before there were rights.
const RIGHTS_FOLLOW: u32 = 1 << 29;

/// A member as the view shows it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Member {
    /// Its name, which no other member has.
    pub name: String,
    /// By what it proves who it is.
    pub identity: Identity,
    /// Where it is reached, in words of the host's.
    pub address: String,
    /// What it may ask of others, in bits of the host's.
    pub grants: u8,
    /// Its latest life: an earlier one is not heard any more.
    pub incarnation: Incarnation,
    /// Whether it votes; else it follows.
    pub votes: bool,
    /// What its join was asked with.
    pub ticket: u64,
}

/// The members, and the number of changes that led to them. Equal histories give equal views.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct View {
    /// Counts the changes: each has the number of the view that it makes.
    pub number: u64,
    /// By their numbers.
    pub members: BTreeMap<NodeId, Member>,
    /// The spaces that members keep, by their names.
    pub spaces: BTreeMap<String, KeptSpace>,
    /// Sums up all entries of the log so far, those that change nothing as well.
    pub digest: u64,
    /// The first number that was never given.
    next_node: u32,
    /// The latest changes: the last of them made this view.
    recent: VecDeque<Change>,
}

impl Default for View {
    fn default() -> Self {
        let digest = 0xcbf2_9ce4_8422_2325;
        View {
            number: 0,
            members: BTreeMap::new(),
            spaces: BTreeMap::new(),
            digest,
            next_node: 0,
            recent: VecDeque::new(),
        }
    }
}

impl View {
    /// View 1 of a cluster: its founder, who votes.
    pub(crate) fn founded(founder: Joiner) -> View {
        let (mut view, node) = (View::default(), founder.node);
        view.apply(&Entry { term: 0, change: Change::Join(founder) });
        if let Some(founder) = view.members.get_mut(&node) {
            founder.votes = true;
        }
        view
    }

    /// The voters.
    pub fn voters(&self) -> impl Iterator<Item = NodeId> {
        self.members.iter().filter(|(_, member)| member.votes).map(|(node, _)| *node)
    }

    /// The change that made the view of this number; none if there is no such view yet, or it is too long ago.
    #[must_use]
    pub fn change(&self, number: u64) -> Option<&Change> {
        let back = usize::try_from(self.number.checked_sub(number)?).ok()?;
        let at = self.recent.len().checked_sub(back + 1)?;
        self.recent.get(at)
    }

    /// Whether this node was a member once and is none any more.
    #[must_use]
    pub fn has_lost(&self, node: NodeId) -> bool {
        u32::from(node.0) < self.next_node && !self.members.contains_key(&node)
    }

    /// The number that the next machine gets.
    pub(crate) fn next_node(&self) -> Option<NodeId> {
        u16::try_from(self.next_node).ok().map(NodeId).filter(|node| *node < FIRST_CLIENT)
    }

    /// The member that has joined with this identity and ticket.
    pub(crate) fn joined_with(&self, identity: Identity, ticket: u64) -> Option<NodeId> {
        let mut members = self.members.iter();
        let found = members.find(|(_, member)| (member.identity, member.ticket) == (identity, ticket));
        found.map(|(node, _)| *node)
    }

    /// Whether a change may be made.
    ///
    /// # Errors
    /// Why not, in words for who asked.
    pub(crate) fn check(&self, change: &Change) -> Result<(), Refusal> {
        let votes = change.node().and_then(|node| self.members.get(&node)).map(|member| member.votes);
        let unknown = |node: &NodeId| {
            Err(Refusal::new(Reason::UnknownNode, format!("view {} has no node {}", self.number, node.0)))
        };
        match change {
            Change::Nothing => Ok(()),
            Change::Join(joiner) => self.check_join(joiner),
            Change::Remove(node) if votes == Some(true) && self.voters().count() == 1 => {
                let text = format!(
                    "node {} alone decides for this cluster, and no other machine is there that could take its place; to end the \
                     cluster, end the agents of all machines with quintet down",
                    node.0
                );
                Err(Refusal::new(Reason::LastVoter, text))
            }
            Change::Revive(node, incarnation) => match self.members.get(node) {
                Some(member) if member.incarnation < *incarnation => Ok(()),
                _ => unknown(node),
            },
            Change::Move(_, address) if votes.is_some() => check_address(address),
            Change::Promote(_) if votes == Some(false) => Ok(()),
            Change::Demote(_) if votes == Some(true) && self.voters().count() > 1 => Ok(()),
            Change::Remove(node) if votes.is_some() => self.check_keeps_nothing(*node),
            Change::Remove(node) | Change::Promote(node) | Change::Demote(node) | Change::Move(node, _) => {
                unknown(node)
            }
            Change::AddSpace(new) => self.check_new_space(new),
            Change::RemoveSpace(name, number) if self.keeps(name, *number) => Ok(()),
            Change::ReplaceReplica(replacement) => self.check_replacement(replacement),
            Change::ReplicaReady(name, since) => self.check_ready(name, *since),
            Change::SetRights(rights) => self.with_rights(rights).map(drop),
            Change::RemoveSpace(name, _) => {
                Err(Refusal::new(Reason::NoSuchSpace, format!("the cluster keeps no space {name} any more")))
            }
        }
    }

    fn check_join(&self, joiner: &Joiner) -> Result<(), Refusal> {
        if joiner.name.is_empty() || joiner.name.len() > MAX_NAME_BYTES {
            let text = format!("a name has 1 to {MAX_NAME_BYTES} bytes, not {}", joiner.name.len());
            return Err(Refusal::new(Reason::BadName, text));
        }
        check_address(&joiner.address)?;
        for (node, member) in &self.members {
            let (name, node) = (&member.name, node.0);
            if member.identity == joiner.identity {
                let text =
                    format!("this identity is in already, as node {node} ({name:?}): remove that first");
                return Err(Refusal::new(Reason::IdentityTaken, text));
            }
            if *name == joiner.name {
                let text = format!("another machine is named {name:?}, node {node}: choose another name");
                return Err(Refusal::new(Reason::NameTaken, text));
            }
        }
        if self.members.len() >= MAX_MEMBERS {
            let text = format!("the cluster has its {MAX_MEMBERS} members");
            return Err(Refusal::new(Reason::Full, text));
        }
        if u32::from(joiner.node.0) < self.next_node {
            return Err(Refusal::new(Reason::Full, format!("number {} was given before", joiner.node.0)));
        }
        if joiner.node >= FIRST_CLIENT {
            return Err(Refusal::new(Reason::Full, format!("number {} is none of a member", joiner.node.0)));
        }
        Ok(())
    }

    /// Makes a committed change. One that may not be made changes nothing: the same on every member. Whether there is a new view.
    pub(crate) fn apply(&mut self, entry: &Entry) -> bool {
        let bytes = encode_to_vec(entry);
        self.digest = bytes
            .iter()
            .fold(self.digest, |digest, byte| (digest ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3));
        let change = &entry.change;
        if *change == Change::Nothing || self.check(change).is_err() {
            return false;
        }
        match change {
            Change::Nothing => {}
            Change::Join(joiner) => self.add(joiner),
            Change::Remove(node) => drop(self.members.remove(node)),
            Change::Revive(node, incarnation) => self.with(*node, |member| member.incarnation = *incarnation),
            Change::Promote(node) => self.with(*node, |member| member.votes = true),
            Change::Demote(node) => self.with(*node, |member| member.votes = false),
            Change::Move(node, address) => self.with(*node, |member| member.address.clone_from(address)),
            Change::AddSpace(new) => self.add_space(new),
            Change::RemoveSpace(name, _) => drop(self.spaces.remove(name)),
            Change::ReplaceReplica(replacement) => self.replace_replica(replacement),
            Change::ReplicaReady(name, since) => self.ready(name, *since),
            Change::SetRights(rights) => self.set_rights(rights),
        }
        self.number += 1;
        if self.recent.len() == KEPT_CHANGES {
            self.recent.pop_front();
        }
        self.recent.push_back(change.clone());
        true
    }

    fn add(&mut self, joiner: &Joiner) {
        self.next_node = u32::from(joiner.node.0) + 1;
        let member = Member {
            name: joiner.name.clone(),
            identity: joiner.identity,
            address: joiner.address.clone(),
            grants: joiner.grants,
            incarnation: Incarnation(1),
            votes: false,
            ticket: joiner.ticket,
        };
        self.members.insert(joiner.node, member);
    }

    fn with(&mut self, node: NodeId, what: impl FnOnce(&mut Member)) {
        if let Some(member) = self.members.get_mut(&node) {
            what(member);
        }
    }
}

impl Encode for View {
    fn encode(&self, sink: &mut impl Sink) {
        sink.u64(self.number);
        sink.u64(self.digest);
        sink.u32(self.next_node);
        sink.u32(u32::try_from(self.members.len()).expect("at most MAX_MEMBERS"));
        for (node, member) in &self.members {
            sink.u16(node.0);
            sink.counted(member.name.as_bytes());
            sink.bytes(&member.identity.0);
            sink.counted(member.address.as_bytes());
            sink.u8(member.grants);
            sink.u64(member.incarnation.0);
            sink.u8(u8::from(member.votes));
            sink.u64(member.ticket);
        }
        let changes = u32::try_from(self.recent.len()).expect("at most KEPT_CHANGES");
        let has_spaces = !self.spaces.is_empty();
        let has_replaced = self.spaces.values().any(|space| !space.replaced.is_empty());
        let has_rights = self.spaces.values().any(|space| space.allow.is_some());
        let follows = |flag: u32, does: bool| if does { flag } else { 0 };
        let spaces = follows(SPACES_FOLLOW, has_spaces) | follows(REPLACED_FOLLOW, has_replaced);
        sink.u32(changes | spaces | follows(RIGHTS_FOLLOW, has_rights));
        for change in &self.recent {
            change.encode(sink);
        }
        if has_spaces {
            encode_spaces(&self.spaces, sink);
        }
        if has_replaced {
            encode_replaced(&self.spaces, sink);
        }
        if has_rights {
            encode_rights(&self.spaces, sink);
        }
    }
}

impl Decode<'_> for View {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let (number, digest, next_node) = (number(reader, "view")?, reader.u64()?, reader.u32()?);
        if next_node > u32::from(FIRST_CLIENT.0) {
            return Err(reader.invalid("next node", next_node, 4));
        }
        let mut view = View { number, digest, next_node, ..View::default() };
        for _ in 0..reader.length("number of members", MAX_MEMBERS)? {
            let node = NodeId(reader.u16()?);
            let is_next = view.members.last_key_value().is_none_or(|(last, _)| *last < node);
            if !is_next || u32::from(node.0) >= next_node {
                return Err(reader.invalid("node", node.0, 2));
            }
            view.members.insert(node, Member::decode(reader)?);
        }
        let changes = reader.u32()?;
        let count = (changes & !(SPACES_FOLLOW | REPLACED_FOLLOW | RIGHTS_FOLLOW)) as usize;
        if count > KEPT_CHANGES {
            return Err(reader.invalid("number of changes", changes, 4));
        }
        for _ in 0..count {
            view.recent.push_back(Change::decode(reader)?);
        }
        if changes & SPACES_FOLLOW != 0 {
            view.spaces = decode_spaces(reader)?;
        }
        if changes & REPLACED_FOLLOW != 0 {
            decode_replaced(&mut view.spaces, reader)?;
        }
        if changes & RIGHTS_FOLLOW != 0 {
            decode_rights(&mut view.spaces, reader)?;
        }
        if view.recent.len() as u64 > number {
            return Err(reader.invalid("number of changes", view.recent.len() as u64, 4));
        }
        Ok(view)
    }
}

impl Decode<'_> for Member {
    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let name = reader.text("name", MAX_NAME_BYTES)?.to_owned();
        let identity = Identity(reader.array()?);
        let address = reader.text("address", MAX_ADDRESS_BYTES)?.to_owned();
        let grants = reader.u8()?;
        let incarnation = Incarnation(reader.u64()?);
        let votes = reader.flag("vote")?;
        Ok(Member { name, identity, address, grants, incarnation, votes, ticket: reader.u64()? })
    }
}

/// An address may be empty: of a member that is reached by nobody, but reaches others.
fn check_address(address: &str) -> Result<(), Refusal> {
    if address.len() <= MAX_ADDRESS_BYTES {
        return Ok(());
    }
    let text = format!("an address has at most {MAX_ADDRESS_BYTES} bytes, not {}", address.len());
    Err(Refusal::new(Reason::BadAddress, text))
}

#[cfg(test)]
#[path = "view/tests.rs"]
mod tests;

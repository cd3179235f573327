//! What Raft has to know of views and changes. The agreement itself is `quintet-raft`: read that first to know how.
//!
//! Voters change one at a time (Ongaro, section 4.1): a leader begins a change when all before it are committed, one of its own term among them
//! (Ongaro's correction of 2015).

#[cfg(test)]
mod tests;

use crate::change::{Change, Entry};
use crate::codec::{APPEND, APPENDED, GONE, SNAPSHOT, VOTE, VOTED};
use crate::config::MembershipConfig;
use crate::disk::Record;
use crate::view::View;
use quintet_contract::limits::MAX_PAYLOAD_BYTES;
use quintet_contract::{Kind, NodeId};
use quintet_raft::{Agreed, Kept, RaftConfig, Seat};

/// Bytes of the entries of one message; what stands before them takes less than the rest.
const ENTRY_BYTES: usize = MAX_PAYLOAD_BYTES - 1024;

/// One member's part in the agreement.
pub(crate) type Raft = quintet_raft::Raft<View>;
/// What members say to each other.
pub(crate) type Message = quintet_raft::Message<View>;
/// What it says.
pub(crate) type What = quintet_raft::What<View>;
/// What a member finds on its disk.
pub(crate) type Restored = quintet_raft::Restored<View>;

impl Agreed for View {
    type Change = Change;
    const NOTHING: Change = Change::Nothing;
    const KINDS: &'static [Kind] = &[VOTE, VOTED, APPEND, APPENDED, SNAPSHOT, GONE];

    fn apply(&mut self, entry: &Entry) -> bool {
        View::apply(self, entry)
    }

    fn members(&self) -> impl Iterator<Item = NodeId> {
        self.members.keys().copied()
    }

    fn voters(&self) -> impl Iterator<Item = NodeId> {
        View::voters(self)
    }

    fn seat(change: &Change) -> Seat {
        match change {
            Change::Join(joiner) => Seat::Comes(joiner.node),
            Change::Promote(node) => Seat::Votes(*node),
            Change::Demote(node) => Seat::VotesNoMore(*node),
            Change::Remove(node) => Seat::Goes(*node),
            Change::Nothing
            | Change::Revive(..)
            | Change::Move(..)
            | Change::AddSpace(_)
            | Change::RemoveSpace(..)
            | Change::ReplaceReplica(_)
            | Change::ReplicaReady(..)
            | Change::SetRights(_) => Seat::Unchanged,
        }
    }
}

impl MembershipConfig {
    /// What of it decides about the agreement.
    pub(crate) fn of_raft(&self) -> RaftConfig {
        let mut config = RaftConfig::new(self.node, self.seed);
        config.entries_at_once = self.entries_at_once;
        config.message_bytes = ENTRY_BYTES;
        config.kept_entries = self.kept_entries;
        (config.heartbeat, config.election) = (self.timing.heartbeat, self.timing.election);
        #[cfg(feature = "seeded-defects")]
        {
            config.defect = self.defect;
        }
        config
    }
}

impl From<Kept<View>> for Record {
    fn from(kept: Kept<View>) -> Record {
        match kept {
            Kept::Vote { term, voted_for } => Record::Vote { term, voted_for },
            Kept::Entry { index, entry } => Record::Entry { index, entry },
            Kept::Snapshot { index, term, view } => Record::Snapshot { index, term, view },
        }
    }
}

//! One that has lost its log, and comes back under its number.
//!
//! What it had acknowledged may have been committed with its help, and its earlier life may have told nobody but the leader. So until it has all of that again, it must do nothing that a majority
//! is made of: it gives no vote, and has no copy that could count. All of it is in the log of every later leader (leader completeness; Ongaro, section 3.6.3), and in what a leader has committed
//! once its own term has committed something (3.6.2). So that is what it begins with: a snapshot whose last entry is of the term of the leader that sends it. Copies of
//! its earlier life that this leader had counted lie before the end of the snapshot: the leader counts none once it has heard of the new life, and learns only from that one that it has no log.
//!
//! A group in which logs are never lost has none of this: there, whoever has no log is new.

use super::{Leading, Progress, Raft};
use crate::agreed::Agreed;
use crate::defect::seeded;
use crate::message::What;

impl<V: Agreed> Raft<V> {
    /// Whether it has nothing: it is new, or has lost its log.
    pub(super) fn has_no_log(&self) -> bool {
        self.log.last() == 0
    }

    /// Whether a snapshot whose last entry is of one term, sent by the leader of another, may be installed.
    #[must_use]
    pub fn may_install(&self, index_term: u64, term: u64) -> bool {
        let is_enough = index_term == term || seeded!(self.config, SnapshotBeforeCommit);
        !V::LOGS_MAY_BE_LOST || !self.has_no_log() || is_enough
    }

    /// Whether a follower has no log, and cannot be sent one so far: what earlier terms have committed is not known to be committed.
    pub(super) fn waits_with_snapshot(&self, leading: &Leading, follower: &Progress) -> bool {
        let is_known = leading.first <= self.commit || seeded!(self.config, SnapshotBeforeCommit);
        V::LOGS_MAY_BE_LOST && follower.has_no_log && !is_known
    }

    /// Nothing but that it leads.
    pub(super) fn sign_of_life(&self, round: u64) -> What<V> {
        let (before, before_term) = (self.log.last(), self.log.last_term());
        What::Append { before, before_term, committed: self.commit, round, entries: Vec::new() }
    }
}

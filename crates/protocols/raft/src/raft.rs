//! The agreement on one log of changes.
//!
//! Time and messages come in as arguments; what is to be kept and what is to be said is left in [`Effects`], for the disk and the links.
//! What is [`Said::after_sync`] leaves once everything kept before it is durable, also what a member says to itself: its own vote and its own
//! copy of an entry count no earlier than another's.
//!
//! | rule | where |
//! | --- | --- |
//! | who leads: election, with a question first whether it would succeed (sections 3.4, 9.6) | `election.rs` |
//! | entries go from the leader to all others, and are committed (3.5, 3.6.2; figure 3.7) | `replication.rs` |
//! | a view that no later leader has changed (6.4) | `reading.rs` |
//! | when one that has lost its log is sent one | `lost_log.rs` |
//!
//! Voters change one at a time (section 4.1): a leader begins a change when all before it are committed, one of its own term among them
//! (Ongaro's correction of 2015). A member goes by the latest voters in its log, committed or not.

mod election;
mod lost_log;
mod reading;
mod replication;
#[cfg(test)]
mod tests;

use crate::agreed::{Agreed, Entry, Seat};
use crate::config::RaftConfig;
use crate::defect::seeded;
use crate::log::Log;
use crate::message::{Message, NO_LEADERS, What};
use quintet_contract::{Incarnation, NodeId, Random, Span, Time};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// One member's part in the agreement.
#[derive(Debug)]
pub struct Raft<V: Agreed> {
    /// Its number.
    pub me: NodeId,
    /// Its life.
    pub incarnation: Incarnation,
    config: RaftConfig,
    random: Random,
    /// The term in which it is.
    pub term: u64,
    voted_for: Option<NodeId>,
    log: Log<V::Change>,
    /// Up to which index all is committed, as far as it knows.
    pub commit: u64,
    /// What the entries up to `commit` led to.
    pub view: V,
    role: Role,
    /// Who leads the term, if that is known.
    pub leader: Option<NodeId>,
    /// When the leader was heard last, or, at a leader, a majority.
    pub heard_at: Time,
    /// When to stand for election.
    election_at: Time,
    /// What is left to be done: whoever drives it takes it after each call.
    pub effects: Effects<V>,
}

/// What a member is in its term.
#[derive(Debug)]
enum Role {
    /// It takes what a leader sends.
    Follower,
    /// It asks whether it would be elected; who said yes.
    Asking(BTreeSet<NodeId>),
    /// It stands for election; who has voted for it.
    Candidate(BTreeSet<NodeId>),
    Leader(Leading),
}

/// What a leader knows.
#[derive(Debug)]
pub struct Leading {
    /// How far the others are.
    pub followers: BTreeMap<NodeId, Progress>,
    /// Counts what it sends, so that an answer tells how late its sender has taken it for the leader.
    round: u64,
    /// The index of the first entry of its term.
    first: u64,
    heartbeat_at: Time,
    reads: Vec<Read>,
}

/// How far a follower is.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Up to which index its log is known to be the leader's.
    pub matched: u64,
    /// What is sent to it next.
    next: u64,
    /// The latest round that it answered.
    round: u64,
    /// When it was heard last.
    pub heard_at: Time,
    /// Whether it has said that it has no log.
    has_no_log: bool,
}

/// A read that waits for a majority to answer a round.
#[derive(Clone, Copy, Debug)]
struct Read {
    id: u64,
    round: u64,
    index: u64,
}

/// What a step has left to be done, in order.
#[derive(Debug)]
pub struct Effects<V: Agreed> {
    /// To be appended to the disk.
    pub kept: Vec<Kept<V>>,
    /// To be said to others, and to itself.
    pub said: Vec<Said<V>>,
    /// Reads that may be answered from the view as it is.
    pub read: Vec<u64>,
    /// Entries that were applied: their index, their entry, and whether they made a new view.
    pub applied: Vec<(u64, Entry<V::Change>, bool)>,
}

/// What a member keeps on its disk.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Kept<V: Agreed> {
    /// Its term, and for whom it votes in it.
    Vote {
        /// The term.
        term: u64,
        /// For whom.
        voted_for: Option<NodeId>,
    },
    /// An entry; those from this index on that stand before are void.
    Entry {
        /// Its index.
        index: u64,
        /// What it says.
        entry: Entry<V::Change>,
    },
    /// What all entries up to an index led to: those that stand before are void.
    Snapshot {
        /// The index.
        index: u64,
        /// Its term.
        term: u64,
        /// What they led to.
        view: V,
    },
}

impl<V: Agreed> Default for Effects<V> {
    fn default() -> Self {
        Effects { kept: Vec::new(), said: Vec::new(), read: Vec::new(), applied: Vec::new() }
    }
}

impl<V: Agreed> Effects<V> {
    /// Whether nothing is left to be done.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.kept.is_empty() && self.said.is_empty() && self.read.is_empty() && self.applied.is_empty()
    }
}

/// A message that is to be sent.
#[derive(Debug)]
pub struct Said<V: Agreed> {
    /// To whom.
    pub to: NodeId,
    /// Whether it waits until what was kept before is durable.
    pub after_sync: bool,
    /// What.
    pub message: Message<V>,
}

/// What a member finds on its disk.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Restored<V: Agreed> {
    /// The latest term.
    pub term: u64,
    /// For whom it voted in it.
    pub voted_for: Option<NodeId>,
    /// An index, its term, and the view up to it.
    pub snapshot: (u64, u64, V),
    /// The entries behind it.
    pub entries: Vec<Entry<V::Change>>,
}

impl<V: Agreed> Default for Restored<V> {
    fn default() -> Self {
        Restored { term: 0, voted_for: None, snapshot: (0, 0, V::default()), entries: Vec::new() }
    }
}

impl<V: Agreed> Raft<V> {
    /// A follower that goes on with what was on its disk.
    #[must_use]
    pub fn new(config: RaftConfig, incarnation: Incarnation, from: Restored<V>, now: Time) -> Self {
        let (index, term, view) = from.snapshot;
        let mut log = Log::behind(index, term);
        for entry in from.entries {
            log.push(entry);
        }
        let latest = log.last_term();
        let (term, voted_for) =
            if from.term >= latest { (from.term, from.voted_for) } else { (latest, None) };
        let mut raft = Raft {
            me: config.node,
            incarnation,
            random: Random::new(config.seed, u64::from(config.node.0) << 32 ^ incarnation.0),
            config,
            term,
            voted_for,
            log,
            commit: index,
            view,
            role: Role::Follower,
            leader: None,
            heard_at: now,
            election_at: Time::NEVER,
            effects: Effects::default(),
        };
        raft.wait_for_leader(now);
        raft
    }

    /// The voters of the latest configuration in the log, committed or not.
    #[must_use]
    pub fn voters(&self) -> BTreeSet<NodeId> {
        let mut voters: BTreeSet<NodeId> = self.view.voters().collect();
        for entry in self.log.from(self.commit + 1) {
            match V::seat(&entry.change) {
                Seat::Votes(node) => _ = voters.insert(node),
                Seat::VotesNoMore(node) | Seat::Goes(node) => _ = voters.remove(&node),
                Seat::Unchanged | Seat::Comes(_) => {}
            }
        }
        voters
    }

    /// The index before the first entry that is in memory.
    #[must_use]
    pub fn base(&self) -> u64 {
        self.log.base()
    }

    /// What the view will be if all of the log is committed. A leader that may begin a change has nothing more in its log.
    #[must_use]
    pub fn latest_view(&self) -> Cow<'_, V> {
        let mut view = Cow::Borrowed(&self.view);
        for entry in self.log.from(self.commit + 1) {
            view.to_mut().apply(entry);
        }
        view
    }

    /// Whom a leader sends the log, itself not among them: the members, with those that come or go by what is not committed.
    #[must_use]
    pub fn others(&self) -> BTreeSet<NodeId> {
        let coming = self.log.from(self.commit + 1).filter_map(|entry| match V::seat(&entry.change) {
            Seat::Comes(node) => Some(node),
            _ => None,
        });
        let members = self.view.members();
        members.chain(coming).filter(|node| *node != self.me).collect()
    }

    /// Whether so many of the voters are a majority of them.
    fn is_majority(&self, of: &BTreeSet<NodeId>) -> bool {
        let voters = self.voters();
        voters.intersection(of).count() * 2 > voters.len()
    }

    /// What it knows as the leader of its term, if it is.
    #[must_use]
    pub fn leading(&self) -> Option<&Leading> {
        match &self.role {
            Role::Leader(leading) => Some(leading),
            _ => None,
        }
    }

    /// Whether it leads and may begin a change: nothing is on its way to be committed, and something of its own term is.
    #[must_use]
    pub fn may_propose(&self) -> bool {
        let is_settled = self.leading().is_some_and(|leading| leading.first <= self.commit);
        let is_idle = is_settled && self.log.last() == self.commit;
        is_idle || seeded!(self.config, TwoChangesAtOnce) && self.leading().is_some()
    }

    /// Begins a change, which [`Raft::may_propose`] allows; one that changes nothing about who takes part, whoever leads may begin at any time. The index that it has if it is committed in this term.
    pub fn propose(&mut self, now: Time, change: V::Change) -> u64 {
        let index = self.append(Entry { term: self.term, change });
        self.send_to_all(now);
        index
    }

    /// Puts an entry of its own at the end of the log; its own copy counts once it is durable.
    fn append(&mut self, entry: Entry<V::Change>) -> u64 {
        self.effects.kept.push(Kept::Entry { index: self.log.last() + 1, entry: entry.clone() });
        let index = self.log.push(entry);
        let round = self.leading().map_or(0, |leading| leading.round);
        let after_sync = !seeded!(self.config, UnsyncedCounted);
        self.say(self.me, after_sync, What::Appended { fits: true, index, round });
        index
    }

    /// When time alone makes it do something.
    #[must_use]
    pub fn deadline(&self) -> Time {
        match &self.role {
            Role::Leader(leading) => leading.heartbeat_at,
            _ => self.election_at,
        }
    }

    /// Does what is due. Who hears no leader asks these as well, whose links are up.
    pub fn tick(&mut self, now: Time, met: &BTreeSet<NodeId>) {
        match &self.role {
            Role::Leader(leading) if leading.heartbeat_at <= now || self.is_unheard(now) => self.beat(now),
            Role::Leader(_) => {}
            _ if self.election_at <= now => self.ask_for_votes(now, met),
            _ => {}
        }
    }

    /// Says to another member how far this one is. To a leader that is the answer to nothing that it has sent, and to any other nothing.
    pub fn greet(&mut self, to: NodeId) {
        self.say(to, true, What::Appended { fits: false, index: self.commit, round: 0 });
    }

    /// The last index in the log.
    #[must_use]
    pub fn last(&self) -> u64 {
        self.log.last()
    }

    /// The term at an index, if the entry is in memory, or the last one that is not.
    #[must_use]
    pub fn term_at(&self, index: u64) -> Option<u64> {
        self.log.term(index)
    }

    /// The entries that are not committed, as far as it knows.
    pub fn uncommitted(&self) -> impl Iterator<Item = &Entry<V::Change>> {
        self.log.from(self.commit + 1)
    }

    /// A follower was heard, which answers something other than a message of the agreement.
    pub fn hear(&mut self, now: Time, from: NodeId, term: u64) {
        let is_own = term == self.term;
        if let Role::Leader(leading) = &mut self.role
            && let Some(follower) = leading.followers.get_mut(&from)
            && is_own
        {
            follower.heard_at = now;
        }
    }

    /// The leader of a term was heard. Whether it still leads, as far as this one knows.
    pub fn heed(&mut self, now: Time, from: NodeId, term: u64) -> bool {
        if term < self.term || term == self.term && self.leading().is_some() {
            self.greet(from);
            return false;
        }
        self.fall_back(now, term, Some(from));
        self.heard_at = now;
        true
    }

    /// Takes a message of another member, or of its own.
    pub fn take(&mut self, now: Time, from: NodeId, message: Message<V>) {
        let term = message.term;
        match message.what {
            What::Vote { asks_first, last, last_term, committed } => {
                self.answer_vote(now, from, (term, asks_first), (last_term, last));
                if asks_first {
                    self.bring_up(now, from, committed);
                }
            }
            What::Voted { asks_first, given } => self.count_vote(now, from, term, (asks_first, given)),
            What::Snapshot { index, index_term, round: NO_LEADERS, view } => {
                self.learn(now, index, index_term, view);
            }
            What::Append { .. } | What::Snapshot { .. } => self.follow(now, from, message),
            What::Appended { fits, index, round } => {
                self.count_entry(now, from, (term, round), (fits, index));
            }
            What::Gone { .. } => {}
        }
    }

    fn say(&mut self, to: NodeId, after_sync: bool, what: What<V>) {
        let message = Message { incarnation: self.incarnation, term: self.term, what };
        self.effects.said.push(Said { to, after_sync, message });
    }

    /// Becomes a follower in a term that is not before its own.
    fn fall_back(&mut self, now: Time, term: u64, leader: Option<NodeId>) {
        if term > self.term {
            (self.term, self.voted_for) = (term, None);
            self.keep_vote();
        }
        self.leader = leader;
        self.role = Role::Follower;
        self.wait_for_leader(now);
    }

    fn keep_vote(&mut self) {
        if !seeded!(self.config, VoteNotKept) {
            self.effects.kept.push(Kept::Vote { term: self.term, voted_for: self.voted_for });
        }
    }

    /// Puts the next election off: for once to twice the time set, so that two seldom stand at once.
    fn wait_for_leader(&mut self, now: Time) {
        let least = self.config.election;
        self.election_at = now + Span(least.0.saturating_add(self.random.below(least.0.max(1))));
    }

    /// Applies what is committed.
    fn commit_up_to(&mut self, index: u64) {
        while self.commit < index.min(self.log.last()) {
            self.commit += 1;
            let entry = self.log.get(self.commit).expect("what is not applied is in the log").clone();
            let is_new = self.view.apply(&entry);
            self.effects.applied.push((self.commit, entry, is_new));
        }
        let kept = u64::from(self.config.kept_entries.max(1));
        let is_heavy = self.log.bytes() > self.config.kept_bytes && self.log.base() < self.commit;
        if self.commit - self.log.base() >= 2 * kept || is_heavy {
            self.log.forget_up_to(self.commit.saturating_sub(kept));
            self.log.lighten(self.config.kept_bytes / 2, self.commit);
            if V::IS_KEPT_WITH_LOG {
                self.keep_view();
            }
        }
    }

    /// All that has to be on the disk, but for the life.
    #[must_use]
    pub fn records(&self) -> Vec<Kept<V>> {
        let vote = Kept::Vote { term: self.term, voted_for: self.voted_for };
        std::iter::once(vote).chain(self.view_and_entries()).collect()
    }

    /// Keeps the view as it is, and behind it what is not committed: what is read back at the next start begins there.
    fn keep_view(&mut self) {
        let records = self.view_and_entries();
        self.effects.kept.extend(records);
    }

    /// The view, if there is one, and the entries behind it.
    fn view_and_entries(&self) -> Vec<Kept<V>> {
        let (index, view) = (self.commit, self.view.clone());
        let term = self.log.term(index).expect("what is committed last is in the log");
        let view = (index > 0).then_some(Kept::Snapshot { index, term, view });
        let entries = (index + 1..).zip(self.log.from(index + 1));
        let entries = entries.map(|(index, entry)| Kept::Entry { index, entry: entry.clone() });
        view.into_iter().chain(entries).collect()
    }
}

//! The agreement: Raft (Ongaro, "Consensus: Bridging Theory and Practice", 2014) on one log of changes.
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
//!
//! Voters change one at a time (section 4.1): a leader begins a change when all before it are committed, one of its own term among them
//! (Ongaro's correction of 2015). A member goes by the latest voters in its log, committed or not.

mod election;
mod reading;
mod replication;
#[cfg(test)]
mod tests;

use crate::change::{Change, Entry};
use crate::config::MembershipConfig;
use crate::defect::seeded;
use crate::disk::Record;
use crate::log::Log;
use crate::message::{Message, NO_LEADERS, What};
use crate::view::View;
use quintet_contract::{Incarnation, NodeId, Random, Span, Time};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// One member's part in the agreement.
#[derive(Debug)]
pub(crate) struct Raft {
    pub(crate) me: NodeId,
    pub(crate) incarnation: Incarnation,
    config: MembershipConfig,
    random: Random,
    pub(crate) term: u64,
    voted_for: Option<NodeId>,
    log: Log,
    pub(crate) commit: u64,
    /// What the entries up to `commit` led to.
    pub(crate) view: View,
    pub(crate) role: Role,
    /// Who leads the term, if that is known.
    pub(crate) leader: Option<NodeId>,
    /// When the leader was heard last, or, at a leader, a majority.
    pub(crate) heard_at: Time,
    /// When to stand for election.
    election_at: Time,
    pub(crate) effects: Effects,
}

/// What a member is in its term.
#[derive(Debug)]
pub(crate) enum Role {
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
pub(crate) struct Leading {
    /// How far the others are.
    pub(crate) followers: BTreeMap<NodeId, Progress>,
    /// Counts what it sends, so that an answer tells how late its sender has taken it for the leader.
    round: u64,
    /// The index of the first entry of its term.
    first: u64,
    heartbeat_at: Time,
    reads: Vec<Read>,
}

/// How far a follower is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Progress {
    /// Up to which index its log is known to be the leader's.
    pub(crate) matched: u64,
    /// What is sent to it next.
    next: u64,
    /// The latest round that it answered.
    round: u64,
    /// When it was heard last.
    pub(crate) heard_at: Time,
}

/// A read that waits for a majority to answer a round.
#[derive(Clone, Copy, Debug)]
struct Read {
    id: u64,
    round: u64,
    index: u64,
}

/// What a step has left to be done, in order.
#[derive(Debug, Default)]
pub(crate) struct Effects {
    /// To be appended to the disk.
    pub(crate) kept: Vec<Record>,
    pub(crate) said: Vec<Said>,
    /// Reads that may be answered from the view as it is.
    pub(crate) read: Vec<u64>,
    /// Entries that were applied: their index, their entry, and whether they made a new view.
    pub(crate) applied: Vec<(u64, Entry, bool)>,
}

impl Effects {
    /// Whether nothing is left to be done.
    pub(crate) fn is_empty(&self) -> bool {
        self.kept.is_empty() && self.said.is_empty() && self.read.is_empty() && self.applied.is_empty()
    }
}

/// A message that is to be sent.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) to: NodeId,
    /// Whether it waits until what was kept before is durable.
    pub(crate) after_sync: bool,
    pub(crate) message: Message,
}

/// What a member finds on its disk.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Restored {
    pub(crate) term: u64,
    pub(crate) voted_for: Option<NodeId>,
    /// An index, its term, and the view up to it.
    pub(crate) snapshot: (u64, u64, View),
    pub(crate) entries: Vec<Entry>,
}

impl Raft {
    /// A follower that goes on with what was on its disk.
    pub(crate) fn new(config: MembershipConfig, incarnation: Incarnation, from: Restored, now: Time) -> Self {
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
    pub(crate) fn voters(&self) -> BTreeSet<NodeId> {
        let mut voters: BTreeSet<NodeId> = self.view.voters().collect();
        for entry in self.log.from(self.commit + 1) {
            match &entry.change {
                Change::Promote(node) => _ = voters.insert(*node),
                Change::Demote(node) | Change::Remove(node) => _ = voters.remove(node),
                Change::Nothing | Change::Join(_) | Change::Revive(..) | Change::Move(..) => {}
            }
        }
        voters
    }

    /// What the view will be if all of the log is committed. A leader that may begin a change has nothing more in its log.
    pub(crate) fn latest_view(&self) -> Cow<'_, View> {
        let mut view = Cow::Borrowed(&self.view);
        for entry in self.log.from(self.commit + 1) {
            view.to_mut().apply(entry);
        }
        view
    }

    /// Whom a leader sends the log, itself not among them: the members, with those that come or go by what is not committed.
    pub(crate) fn others(&self) -> BTreeSet<NodeId> {
        let coming = self.log.from(self.commit + 1).filter_map(|entry| match &entry.change {
            Change::Join(joiner) => Some(joiner.node),
            _ => None,
        });
        let members = self.view.members.keys().copied();
        members.chain(coming).filter(|node| *node != self.me).collect()
    }

    /// Whether so many of the voters are a majority of them.
    fn is_majority(&self, of: &BTreeSet<NodeId>) -> bool {
        let voters = self.voters();
        voters.intersection(of).count() * 2 > voters.len()
    }

    pub(crate) fn leading(&self) -> Option<&Leading> {
        match &self.role {
            Role::Leader(leading) => Some(leading),
            _ => None,
        }
    }

    /// Whether it leads and may begin a change: nothing is on its way to be committed, and something of its own term is.
    pub(crate) fn may_propose(&self) -> bool {
        let is_settled = self.leading().is_some_and(|leading| leading.first <= self.commit);
        let is_idle = is_settled && self.log.last() == self.commit;
        is_idle || seeded!(self.config, TwoChangesAtOnce) && self.leading().is_some()
    }

    /// Begins a change, which [`Raft::may_propose`] allows. The index that it has if it is committed in this term.
    pub(crate) fn propose(&mut self, now: Time, change: Change) -> u64 {
        let index = self.append(Entry { term: self.term, change });
        self.send_to_all(now);
        index
    }

    /// Puts an entry of its own at the end of the log; its own copy counts once it is durable.
    fn append(&mut self, entry: Entry) -> u64 {
        self.effects.kept.push(Record::Entry { index: self.log.last() + 1, entry: entry.clone() });
        let index = self.log.push(entry);
        let round = self.leading().map_or(0, |leading| leading.round);
        self.say(self.me, true, What::Appended { fits: true, index, round });
        index
    }

    /// When time alone makes it do something.
    pub(crate) fn deadline(&self) -> Time {
        match &self.role {
            Role::Leader(leading) => leading.heartbeat_at,
            _ => self.election_at,
        }
    }

    /// Does what is due. Who hears no leader asks these as well, whose links are up.
    pub(crate) fn tick(&mut self, now: Time, met: &BTreeSet<NodeId>) {
        match &self.role {
            Role::Leader(leading) if leading.heartbeat_at <= now || self.is_unheard(now) => self.beat(now),
            Role::Leader(_) => {}
            _ if self.election_at <= now => self.ask_for_votes(now, met),
            _ => {}
        }
    }

    /// Says to another member how far this one is. To a leader that is the answer to nothing that it has sent, and to any other nothing.
    pub(crate) fn greet(&mut self, to: NodeId) {
        self.say(to, true, What::Appended { fits: false, index: self.commit, round: 0 });
    }

    /// Takes a message of another member, or of its own.
    pub(crate) fn take(&mut self, now: Time, from: NodeId, message: Message) {
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

    fn say(&mut self, to: NodeId, after_sync: bool, what: What) {
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
            self.effects.kept.push(Record::Vote { term: self.term, voted_for: self.voted_for });
        }
    }

    /// Puts the next election off: for once to twice the time set, so that two seldom stand at once.
    fn wait_for_leader(&mut self, now: Time) {
        let least = self.config.timing.election;
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
        if self.commit - self.log.base() >= 2 * kept {
            self.log.forget_up_to(self.commit - kept);
            self.keep_view();
        }
    }

    /// All that has to be on the disk, but for the life.
    pub(crate) fn records(&self) -> Vec<Record> {
        let vote = Record::Vote { term: self.term, voted_for: self.voted_for };
        std::iter::once(vote).chain(self.view_and_entries()).collect()
    }

    /// Keeps the view as it is, and behind it what is not committed: what is read back at the next start begins there.
    fn keep_view(&mut self) {
        let records = self.view_and_entries();
        self.effects.kept.extend(records);
    }

    /// The view, if there is one, and the entries behind it.
    fn view_and_entries(&self) -> Vec<Record> {
        let (index, view) = (self.commit, self.view.clone());
        let term = self.log.term(index).expect("what is committed last is in the log");
        let view = (index > 0).then_some(Record::Snapshot { index, term, view });
        let entries = (index + 1..).zip(self.log.from(index + 1));
        let entries = entries.map(|(index, entry)| Record::Entry { index, entry: entry.clone() });
        view.into_iter().chain(entries).collect()
    }
}

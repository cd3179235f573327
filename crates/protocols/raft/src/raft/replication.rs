//! Entries go from the leader to all others (Ongaro, section 3.5), and are committed (3.5, 3.6.2).

use super::{Raft, Role};
use crate::agreed::{Agreed, Entry, Seat};
use crate::defect::seeded;
use crate::log::Log;
use crate::message::{MAX_ENTRIES, Message, NO_LEADERS, What};
use crate::raft::Kept;
use quintet_contract::{NodeId, Time};
use quintet_wire::Encode;
use std::collections::BTreeSet;

impl<V: Agreed> Raft<V> {
    /// A leader that hears no majority steps down; any other lets all hear of it.
    pub(super) fn beat(&mut self, now: Time) {
        if self.is_unheard(now) && !self.hears_majority(now) {
            return self.fall_back(now, self.term, None);
        }
        self.send_to_all(now);
    }

    /// Whether so long has passed since a majority was heard last that a leader is none any more, unless one was heard meanwhile.
    pub(super) fn is_unheard(&self, now: Time) -> bool {
        now.since(self.heard_at) >= self.config.election
    }

    /// Whether a majority was heard a short while ago.
    fn hears_majority(&self, now: Time) -> bool {
        let Some(leading) = self.leading() else { return false };
        let election = self.config.election;
        let heard = leading.followers.iter().filter(|(_, follower)| now.since(follower.heard_at) < election);
        let mut heard: BTreeSet<NodeId> = heard.map(|(node, _)| *node).collect();
        heard.insert(self.me);
        self.is_majority(&heard)
    }

    /// Sends everybody what comes next for it, in a round of its own: in place of the next beat, which may be put off so for ever.
    pub(super) fn send_to_all(&mut self, now: Time) {
        if self.hears_majority(now) {
            self.heard_at = now;
        }
        self.meet_followers(now);
        let Role::Leader(leading) = &mut self.role else { return };
        leading.heartbeat_at = now + self.config.heartbeat;
        leading.round += 1;
        let to: Vec<NodeId> = leading.followers.keys().copied().filter(|node| *node != self.me).collect();
        to.into_iter().for_each(|node| self.send_to(node));
        self.count_own_round(now);
    }

    /// A leader takes part in its own rounds.
    fn count_own_round(&mut self, now: Time) {
        let me = self.me;
        if let Role::Leader(leading) = &mut self.role
            && let Some(own) = leading.followers.get_mut(&me)
        {
            (own.round, own.heard_at) = (leading.round, now);
        }
        self.finish_reads();
    }

    /// Sends one follower what comes next for it: entries, or the view where they are forgotten.
    fn send_to(&mut self, to: NodeId) {
        let Some(leading) = self.leading() else { return };
        let Some(follower) = leading.followers.get(&to) else { return };
        let (before, round) = (follower.next - 1, leading.round);
        let what = match self.log.term(before) {
            Some(before_term) => {
                let ahead = u64::from(self.config.ahead);
                let may_send = ahead == 0 || before < follower.matched.saturating_add(ahead);
                let entries = if may_send { self.entries_from(before + 1) } else { Vec::new() };
                if ahead > 0 {
                    self.sent_up_to(to, before + entries.len() as u64);
                }
                What::Append { before, before_term, committed: self.commit, round, entries }
            }
            None if self.waits_with_snapshot(leading, follower) => self.sign_of_life(round),
            None => {
                let index_term = self.log.term(self.commit).expect("what is committed last is in the log");
                What::Snapshot { index: self.commit, index_term, round, view: self.view.clone() }
            }
        };
        self.say(to, false, what);
    }

    /// What comes next for a follower lies behind that. If it is lost, the follower says so to what comes then, or to the next beat.
    fn sent_up_to(&mut self, to: NodeId, index: u64) {
        if let Role::Leader(leading) = &mut self.role
            && let Some(follower) = leading.followers.get_mut(&to)
        {
            follower.next = index + 1;
        }
    }

    /// A follower has lost what it had: it is asked anew how far it is.
    pub fn begin_anew_with(&mut self, node: NodeId) {
        let next = self.log.last() + 1;
        if let Role::Leader(leading) = &mut self.role
            && let Some(follower) = leading.followers.get_mut(&node)
        {
            (follower.matched, follower.next, follower.has_no_log) = (0, next, false);
        }
    }

    /// As many entries from an index on as fit a message: one at least, however long it is.
    fn entries_from(&self, index: u64) -> Vec<Entry<V::Change>> {
        let mut room = self.config.message_bytes;
        let most = usize::from(self.config.entries_at_once).clamp(1, MAX_ENTRIES);
        let fitting = self.log.from(index).take(most).enumerate().take_while(|(at, entry)| {
            let len = entry.encoded_len();
            let fits = len <= room || *at == 0;
            room = room.saturating_sub(len);
            fits
        });
        let fitting = fitting.map(|(_, entry)| entry);
        fitting.cloned().collect()
    }

    /// Takes what the leader of a term sends.
    pub(super) fn follow(&mut self, now: Time, from: NodeId, message: Message<V>) {
        let leads = self.leading().is_some() && message.term == self.term;
        if message.term < self.term || leads {
            let index = self.commit;
            return self.say(from, true, What::Appended { fits: false, index, round: 0 });
        }
        self.fall_back(now, message.term, Some(from));
        self.heard_at = now;
        let (answer, round) = match message.what {
            What::Append { before, before_term, committed, round, entries } => {
                (self.adopt((before, before_term), entries, committed), round)
            }
            What::Snapshot { index, index_term, round, view } => {
                let may_install = self.may_install(index_term, message.term);
                (may_install.then(|| self.install(index, index_term, view)), round)
            }
            _ => return,
        };
        let (fits, index) = answer.map_or((false, self.commit), |index| (true, index));
        self.say(from, true, What::Appended { fits, index, round });
    }

    /// Takes entries behind an index. Up to where the logs agree now; none if they do not at that index, or the entries contradict
    /// what is committed, which no leader's do.
    fn adopt(
        &mut self,
        (before, before_term): (u64, u64),
        entries: Vec<Entry<V::Change>>,
        committed: u64,
    ) -> Option<u64> {
        let agreed = before + entries.len() as u64;
        if before >= self.log.base() && self.log.term(before) != Some(before_term) {
            return None;
        }
        for (index, entry) in (before + 1..).zip(entries) {
            match self.log.term(index) {
                _ if index <= self.log.base() => continue,
                Some(term) if term == entry.term => continue,
                Some(_) if index <= self.commit => return None,
                Some(_) if seeded!(self.config, ConflictKept) => continue,
                Some(_) => self.log.cut(index),
                None => {}
            }
            self.effects.kept.push(Kept::Entry { index, entry: entry.clone() });
            self.log.push(entry);
        }
        self.commit_up_to(committed.min(agreed));
        Some(agreed)
    }

    /// Sends the view to a member that hears no leader and knows less than this one, which does: the leader may be one that it does not know of, or
    /// cannot be reached by.
    pub(super) fn bring_up(&mut self, now: Time, to: NodeId, committed: u64) {
        if committed >= self.commit || !self.has_leader(now) {
            return;
        }
        let index_term = self.log.term(self.commit).expect("what is committed last is in the log");
        let view = self.view.clone();
        self.say(to, false, What::Snapshot { index: self.commit, index_term, round: NO_LEADERS, view });
    }

    /// Takes a view that is committed from one that does not lead. A leader has all that is committed in its log.
    pub(super) fn learn(&mut self, now: Time, index: u64, index_term: u64, view: V) {
        // Who does not lead cannot know whether that is all.
        let is_too_little = V::LOGS_MAY_BE_LOST && self.has_no_log();
        if index <= self.commit || self.leading().is_some() || is_too_little {
            return;
        }
        if index_term > self.term {
            self.fall_back(now, index_term, None);
        }
        self.install(index, index_term, view);
    }

    /// Takes a view that entries up to an index led to. Up to where the logs agree now.
    fn install(&mut self, index: u64, index_term: u64, view: V) -> u64 {
        if index <= self.commit {
            return self.commit;
        }
        if self.log.term(index) == Some(index_term) {
            self.log.forget_up_to(index);
        } else {
            self.log = Log::behind(index, index_term);
        }
        (self.commit, self.view) = (index, view);
        self.keep_view();
        index
    }

    /// Takes a follower's answer for a term and a round: whether its log fits, and up to which index.
    pub(super) fn count_entry(
        &mut self,
        now: Time,
        from: NodeId,
        (term, round): (u64, u64),
        (fits, index): (bool, u64),
    ) {
        if term > self.term {
            return self.fall_back(now, term, None);
        }
        let (last, term_of_leader) = (self.log.last(), self.term);
        let Role::Leader(leading) = &mut self.role else { return };
        let sent = leading.round;
        let Some(follower) = leading.followers.get_mut(&from) else { return };
        if term != term_of_leader || round > sent || index > last && fits {
            return;
        }
        follower.heard_at = now;
        follower.round = round.max(follower.round);
        follower.has_no_log = !fits && index == 0 && follower.matched == 0;
        if fits {
            follower.matched = index.max(follower.matched);
            follower.next = follower.next.max(follower.matched + 1);
            let has_more = follower.next <= last && from != self.me;
            self.commit_by_majority(now);
            if has_more {
                self.send_to(from);
            }
        } else if index + 1 < follower.next && index + 1 > follower.matched {
            follower.next = index + 1;
            self.send_to(from);
        } else {
            follower.next = follower.matched + 1;
        }
        self.finish_reads();
    }

    /// Tells those that were removed by what was applied just now: they are no followers from here on.
    fn dismiss_the_removed(&mut self, before: usize) {
        let removed: Vec<NodeId> = self.effects.applied[before..]
            .iter()
            .filter_map(|(_, entry, _)| match V::seat(&entry.change) {
                Seat::Goes(node) if node != self.me => Some(node),
                _ => None,
            })
            .collect();
        removed.into_iter().for_each(|node| self.send_to(node));
    }

    /// Commits what a majority has, if it is of this term; with it goes all before it.
    fn commit_by_majority(&mut self, now: Time) {
        let Some(leading) = self.leading() else { return };
        let voters = self.voters();
        let matched = |node: &NodeId| leading.followers.get(node).map_or(0, |follower| follower.matched);
        let mut matched: Vec<u64> = voters.iter().map(matched).collect();
        matched.sort_unstable_by(|a, b| b.cmp(a));
        let Some(index) = matched.get(voters.len() / 2).copied() else { return };
        let is_own = self.log.term(index) == Some(self.term) || seeded!(self.config, EarlierTermCounted);
        if index > self.commit && is_own {
            let before = self.effects.applied.len();
            self.commit_up_to(index);
            self.dismiss_the_removed(before);
            // Where entries go ahead, the next ones tell it, or the next beat.
            if self.config.ahead == 0 {
                self.send_to_all(now);
            }
            if !self.view.members().any(|node| node == self.me) || !self.voters().contains(&self.me) {
                // It led without counting itself until this was committed (section 4.2.2).
                self.fall_back(now, self.term, None);
            }
        }
    }
}

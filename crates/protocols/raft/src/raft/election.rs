//! Who leads (Ongaro, section 3.4), with a question first whether an election would succeed (9.6), and without disturbance by those who
//! do not hear the leader (4.2.3).

use super::{Leading, Progress, Raft, Role};
use crate::agreed::{Agreed, Entry};
use crate::message::What;
use quintet_contract::{NodeId, Span, Time};
use std::collections::{BTreeMap, BTreeSet};

impl<V: Agreed> Raft<V> {
    /// Asks whether the other voters would vote for it. No term is changed by that.
    ///
    /// It asks everybody: the voters that it knows may be none any more, and who has come since may be known by its link only. Whoever
    /// hears a leader brings it up ([`Raft::bring_up`]), and who was removed is told.
    pub(super) fn ask_for_votes(&mut self, now: Time, met: &BTreeSet<NodeId>) {
        self.wait_for_leader(now);
        self.leader = None;
        // One whose vote ends by an entry that is not committed may be the only one that has that entry (Ongaro, section 4.2.2).
        let may_stand = self.voters().contains(&self.me) || self.view.voters().any(|node| node == self.me);
        let known = self.others().into_iter().chain(self.voters()).chain(met.iter().copied()).collect();
        self.role = if may_stand { Role::Asking(BTreeSet::from([self.me])) } else { Role::Follower };
        self.campaign(true, known);
        self.count_votes(now);
    }

    /// Stands for election in the next term. Its own vote counts once it is durable.
    fn stand(&mut self, now: Time) {
        self.term += 1;
        self.voted_for = Some(self.me);
        self.keep_vote();
        self.role = Role::Candidate(BTreeSet::new());
        self.wait_for_leader(now);
        self.campaign(false, self.voters());
        self.say(self.me, true, What::Voted { asks_first: false, given: true });
    }

    fn campaign(&mut self, asks_first: bool, asked: BTreeSet<NodeId>) {
        let (last, last_term, committed) = (self.log.last(), self.log.last_term(), self.commit);
        let question = What::Vote { asks_first, last, last_term, committed };
        for other in asked {
            if other != self.me {
                self.say(other, true, question.clone());
                if let (true, Some(said)) = (asks_first, self.effects.said.last_mut()) {
                    said.message.term += 1;
                }
            }
        }
    }

    /// A member seems to have ended. If it led, there is none to be waited for: whoever may stand asks at once, but for what keeps two from asking
    /// together. Those who still hear that leader say no.
    pub fn miss(&mut self, now: Time, node: NodeId) {
        if self.leader == Some(node) {
            self.leader = None;
            let most = self.config.heartbeat.0.max(1);
            self.election_at = self.election_at.min(now + Span(self.random.below(most)));
        }
    }

    /// Whether it hears a leader, so that whoever wants another one is out of touch.
    pub(super) fn has_leader(&self, now: Time) -> bool {
        let is_fresh = now.since(self.heard_at) < self.config.election;
        is_fresh && (self.leader.is_some() || self.leading().is_some())
    }

    /// Answers whoever asks for a vote, and whether it would get it, for a term, with the term and index of its last entry.
    pub(super) fn answer_vote(
        &mut self,
        now: Time,
        from: NodeId,
        (term, asks_first): (u64, bool),
        its_last: (u64, u64),
    ) {
        let is_fit = its_last >= (self.log.last_term(), self.log.last()) && !self.has_no_log();
        let is_held = self.has_leader(now);
        if asks_first {
            let given = is_fit && !is_held && term > self.term;
            self.say(from, true, What::Voted { asks_first, given });
            if let (true, Some(said)) = (given, self.effects.said.last_mut()) {
                said.message.term = term;
            }
            return;
        }
        if term > self.term && !is_held {
            self.fall_back(now, term, None);
        }
        let given = term == self.term && is_fit && self.voted_for.is_none_or(|voted| voted == from);
        if given {
            if self.voted_for.is_none() {
                self.voted_for = Some(from);
                self.keep_vote();
            }
            self.wait_for_leader(now);
        }
        self.say(from, true, What::Voted { asks_first, given });
    }

    /// Takes an answer to a question for votes.
    pub(super) fn count_vote(
        &mut self,
        now: Time,
        from: NodeId,
        term: u64,
        (asks_first, given): (bool, bool),
    ) {
        if term > self.term && !(asks_first && given) {
            return self.fall_back(now, term, None);
        }
        let counted_term = if asks_first { self.term + 1 } else { self.term };
        match &mut self.role {
            Role::Asking(votes) if asks_first && given && term == counted_term => votes.insert(from),
            Role::Candidate(votes) if !asks_first && given && term == counted_term => votes.insert(from),
            _ => return,
        };
        self.count_votes(now);
    }

    fn count_votes(&mut self, now: Time) {
        match &self.role {
            Role::Asking(votes) if self.is_majority(votes) => self.stand(now),
            Role::Candidate(votes) if self.is_majority(votes) => self.lead(now),
            _ => {}
        }
    }

    /// Begins to lead the term, with an entry of it.
    fn lead(&mut self, now: Time) {
        self.leader = Some(self.me);
        self.heard_at = now;
        let first = self.log.last() + 1;
        let (followers, reads) = (BTreeMap::new(), Vec::new());
        self.role = Role::Leader(Leading { followers, round: 0, first, heartbeat_at: now, reads });
        self.meet_followers(now);
        self.append(Entry { term: self.term, change: V::NOTHING });
        self.send_to_all(now);
    }

    /// Keeps account of whom it sends the log, and of none that is gone.
    pub(super) fn meet_followers(&mut self, now: Time) {
        let (others, next) = (self.others(), self.log.last() + 1);
        let Role::Leader(leading) = &mut self.role else { return };
        leading.followers.retain(|node, _| others.contains(node) || *node == self.me);
        for node in others.into_iter().chain([self.me]) {
            let new = Progress { matched: 0, next, round: 0, heard_at: now, has_no_log: false };
            leading.followers.entry(node).or_insert(new);
        }
    }
}

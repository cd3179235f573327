//! What a member sees by itself: who does not seem to be there, and whether a majority is.

use super::{Membership, Phase};
use crate::codec::{News, Suspect, Suspicion};
use crate::config::Timing;
use crate::view::MAX_MEMBERS;
use quintet_contract::{Address, DownCause, NodeId, PeerChange, Span, Time};
use quintet_wire::registry::PORT_MEMBERSHIP;
use std::collections::{BTreeMap, BTreeSet};

/// What a member sees.
#[derive(Debug)]
pub(super) struct Sight {
    timing: Timing,
    suspects: BTreeMap<NodeId, (Suspicion, Time)>,
    /// Members whose links are up.
    met: BTreeSet<NodeId>,
    /// Those of them whose systems have said that nobody listens there any more, with when that is over: known once there is a link again. It is
    /// believed once as long as they are met.
    refused: BTreeMap<NodeId, Time>,
    /// Those suspected because they have not answered this member, which leads.
    unanswering: BTreeSet<NodeId>,
    /// When each member was heard last.
    heard: BTreeMap<NodeId, Time>,
    /// Counts the news.
    number: u64,
    is_stale: bool,
    /// Which other member led last. Its silence begins before that of those who never spoke to this one.
    led: Option<NodeId>,
}

impl Sight {
    pub(super) fn new(timing: Timing) -> Sight {
        Sight {
            timing,
            suspects: BTreeMap::new(),
            met: BTreeSet::new(),
            refused: BTreeMap::new(),
            unanswering: BTreeSet::new(),
            heard: BTreeMap::new(),
            number: 1,
            is_stale: false,
            led: None,
        }
    }

    /// A member's message came.
    pub(super) fn hear(&mut self, now: Time, from: NodeId) {
        if self.heard.len() < 2 * MAX_MEMBERS || self.heard.contains_key(&from) {
            self.heard.insert(from, now);
        }
        let is_silent = self.suspects.get(&from).is_some_and(|(cause, _)| *cause == Suspicion::Silent);
        if is_silent || self.refused.contains_key(&from) {
            self.clear(from);
        }
    }

    /// The system of a member whose link is gone says that nobody listens there. Whether that is believed: its process has ended then, in all
    /// likelihood. A firewall may say so in its place, while it lives and comes back over a link of its own. So it is believed once of each
    /// session: the end of a process ends that.
    pub(super) fn refused(&mut self, now: Time, node: NodeId) -> bool {
        let cause = self.suspects.get(&node).map(|(cause, _)| *cause);
        let is_news = matches!(cause, None | Some(Suspicion::Silent));
        let is_believed = is_news && self.met.contains(&node) && !self.refused.contains_key(&node);
        if is_believed {
            self.unanswering.remove(&node);
            self.suspect(now, node, Suspicion::Died);
        }
        if is_believed || self.refused.contains_key(&node) {
            self.refused.insert(node, Time::NEVER);
        }
        is_believed
    }

    /// There is a link to a member again. Another life says so at once, and ends the session; else that goes on.
    pub(super) fn linked(&mut self, now: Time, node: NodeId) {
        if let Some(over) = self.refused.get_mut(&node) {
            *over = now + self.timing.heartbeat;
        }
    }

    /// When a refusal is over that turned out to be false.
    pub(super) fn refusal_over_at(&self) -> Time {
        self.refused.values().copied().min().unwrap_or(Time::NEVER)
    }

    /// Suspects nobody any more for a refusal that is over.
    fn end_refusals(&mut self, now: Time) {
        let over = self.refused.iter().filter(|(_, over)| **over <= now);
        let over: Vec<NodeId> = over.map(|(node, _)| *node).collect();
        for node in over {
            self.refused.insert(node, Time::NEVER);
            self.clear(node);
        }
    }

    /// How many members do not seem to be there.
    pub(super) fn suspected(&self) -> usize {
        self.suspects.len()
    }

    /// Whether no majority is heard.
    pub(super) fn is_stale(&self) -> bool {
        self.is_stale
    }

    /// The members whose links are up, as far as they were met.
    pub(super) fn met(&self) -> &BTreeSet<NodeId> {
        &self.met
    }

    /// A peer came or went.
    pub(super) fn take_change(&mut self, now: Time, peer: Address, change: &PeerChange, me: NodeId) {
        if peer.port != PORT_MEMBERSHIP || peer.node == me {
            return;
        }
        self.refused.remove(&peer.node);
        self.unanswering.remove(&peer.node);
        match change {
            PeerChange::Up { .. } => {
                self.clear(peer.node);
                if self.met.len() < 2 * MAX_MEMBERS {
                    self.met.insert(peer.node);
                }
            }
            PeerChange::Down(cause) => {
                self.met.remove(&peer.node);
                let cause = match cause {
                    DownCause::Closed => Suspicion::Closed,
                    DownCause::Died => Suspicion::Died,
                    DownCause::Silent => Suspicion::Silent,
                    DownCause::Misbehaved => Suspicion::Misbehaved,
                    DownCause::Refused(_) => Suspicion::Refused,
                };
                self.suspect(now, peer.node, cause);
            }
        }
    }

    fn suspect(&mut self, now: Time, node: NodeId, cause: Suspicion) {
        if self.suspects.len() >= 2 * MAX_MEMBERS && !self.suspects.contains_key(&node) {
            return;
        }
        let since = self.suspects.get(&node).map_or(now, |(_, since)| *since);
        if self.suspects.insert(node, (cause, since)) != Some((cause, since)) {
            self.number += 1;
        }
    }

    fn clear(&mut self, node: NodeId) {
        self.unanswering.remove(&node);
        if self.suspects.remove(&node).is_some() {
            self.number += 1;
        }
    }

    /// A member is none any more.
    pub(super) fn forget(&mut self, node: NodeId) {
        self.clear(node);
        self.refused.remove(&node);
        self.heard.remove(&node);
    }

    /// Since when a member is suspected.
    pub(super) fn suspected_since(&self, node: NodeId) -> Option<Time> {
        self.suspects.get(&node).map(|(_, since)| *since)
    }

    /// Those of whom nothing was heard for as long as a majority may be missed.
    pub(super) fn unheard(&self, now: Time, of: BTreeSet<NodeId>) -> impl Iterator<Item = NodeId> {
        let limit = self.patience();
        let is_unheard = move |node: &NodeId| {
            self.heard.get(node).is_none_or(|heard| now.since(*heard) >= limit)
                || self.suspects.contains_key(node)
        };
        of.into_iter().filter(is_unheard)
    }

    /// How long a member goes without a majority before it says so.
    fn patience(&self) -> Span {
        Span(self.timing.election.0.saturating_mul(2))
    }

    /// When it is to be said that no majority is heard; never, if that was said.
    pub(super) fn stale_at(&self, heard_at: Time) -> Time {
        if self.is_stale { Time::NEVER } else { heard_at + self.patience() }
    }

    /// Members that do not seem to be there.
    pub(super) fn suspects(&self) -> Vec<Suspect> {
        let suspects = self.suspects.iter().take(MAX_MEMBERS);
        suspects.map(|(node, (cause, _))| Suspect { node: *node, cause: *cause }).collect()
    }

    /// Whether a follower of this leader was not heard for too long, that answered last at that time, or was to from then on.
    fn is_silent(&self, now: Time, node: NodeId, answered: Time) -> bool {
        // Who led until a moment ago has let itself be heard all the time, or was gone before this member led.
        let led = self.heard.get(&node).filter(|_| self.led == Some(node));
        now.since(led.copied().unwrap_or(answered)) >= self.timing.silence
    }

    /// A follower of this leader has not answered for too long.
    fn miss(&mut self, now: Time, node: NodeId) {
        if self.suspected_since(node).is_none() {
            self.suspect(now, node, Suspicion::Silent);
            self.unanswering.insert(node);
        }
    }

    /// Who does not lead any more is answered by nobody: whom it missed as a leader, the next one will.
    fn follow(&mut self) {
        for node in std::mem::take(&mut self.unanswering) {
            self.clear(node);
        }
    }

    /// What is to be told.
    pub(super) fn news(&self, now: Time, heard_at: Time) -> News {
        News {
            number: self.number,
            is_stale: self.is_stale,
            stale_for: if self.is_stale { now.since(heard_at) } else { Span::ZERO },
            suspects: self.suspects(),
        }
    }
}

impl Membership {
    /// Sees whether a majority is there, and, at a leader, who is silent.
    pub(super) fn look(&mut self, now: Time) {
        self.sight.end_refusals(now);
        let Phase::Open(open) = &self.phase else { return };
        let is_stale = now.since(open.raft.heard_at) >= self.sight.patience();
        if is_stale != self.sight.is_stale {
            self.sight.is_stale = is_stale;
            self.sight.number += 1;
        }
        let me = self.config.node;
        self.sight.led = open.raft.leader.filter(|leader| *leader != me).or(self.sight.led);
        let Some(leading) = open.raft.leading() else { return self.sight.follow() };
        let others = leading.followers.iter().filter(|(node, _)| **node != me);
        for (node, follower) in others {
            if self.sight.is_silent(now, *node, follower.heard_at) {
                self.sight.miss(now, *node);
            }
        }
    }
}

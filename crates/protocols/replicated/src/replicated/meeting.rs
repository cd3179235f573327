//! Who the others are, and how a group is founded.
//!
//! A replica without a log is new, or has lost it. Which of the two it is, it learns from all the others: where none of them has taken part in anything, the
//! one with the lowest number founds the group, and the others do as soon as they hear of it. Where one has, this replica has lost its log (or was never
//! there): it may have voted, and in no term that any other replica knows of by now it votes again. It has no vote at all until a leader has sent it the log: so
//! what it had acknowledged, and what it had voted, is not missing from a majority that counts on it.
//!
//! So a group begins when all its replicas are there, and one that has lost its log comes back when all are there. In between a majority is enough.

use super::{Phase, Replicated};
use crate::codec::{MEET, Meet};
use crate::defect::seeded;
use quintet_contract::{Address, Effects, Input, NodeId, Outbox, Random, Snapshot, Time, Token};
use quintet_durable::{Held, LogNews, State};
use quintet_raft::Restored;
use quintet_wire::{Encode, send};
use std::collections::BTreeMap;

/// What a replica without a log knows of the others.
#[derive(Debug)]
pub(super) struct Meeting {
    heard: BTreeMap<NodeId, Meet>,
    /// When those that were not heard are asked again.
    pub(super) next_at: Time,
}

impl Meeting {
    pub(super) fn new(now: Time) -> Meeting {
        Meeting { heard: BTreeMap::new(), next_at: now }
    }
}

impl<P: Snapshot> Replicated<P>
where
    P::Config: Encode + Clone,
{
    /// What this replica says of itself. Nothing before its life is on its disk: it might end, and whoever believed that it has no group would found another one.
    fn own(&self, asks: bool) -> Option<Meet> {
        let (settings, life) = (self.settings, self.config.incarnation.0);
        Some(match &self.phase {
            Phase::Meeting(_) => Meet { group: 0, settings, life, term: 0, is_fresh: true, asks },
            Phase::Open(open) if open.writer.is_durable(1) => {
                let is_fresh = open.raft.term == 0 && open.raft.last() <= 1;
                Meet {
                    group: open.life.group,
                    settings,
                    life: open.life.number,
                    term: open.raft.term,
                    is_fresh,
                    asks,
                }
            }
            Phase::Opening(_) | Phase::Open(_) | Phase::Closed => return None,
        })
    }

    pub(super) fn say_meet(&self, to: NodeId, asks: bool, out: &mut dyn Outbox) {
        let to = Address { node: to, ..self.config.me };
        if let Some(meet) = self.own(asks) {
            // Who is not linked now is met when it is.
            let _ = send(out, to, MEET, Token(0), &meet);
        }
    }

    pub(super) fn meet_all(&self, asks: bool, out: &mut dyn Outbox) {
        self.config.others().for_each(|node| self.say_meet(node, asks, out));
    }

    /// Another replica says who it is.
    pub(super) fn meet(&mut self, now: Time, from: NodeId, meet: Meet, out: &mut dyn Outbox) {
        if meet.asks {
            self.say_meet(from, false, out);
        }
        let problem = self.strangeness(from, &meet);
        match (&mut self.phase, problem) {
            (Phase::Meeting(_), Some(text)) => self.refuse(text, out),
            // What an earlier life has said is over.
            (Phase::Meeting(meeting), None)
                if meeting.heard.get(&from).is_none_or(|known| known.life <= meet.life) =>
            {
                meeting.heard.insert(from, meet);
                self.decide(now, out);
            }
            // Whoever has met another of its group is not the one who is wrong here.
            (Phase::Open(open), Some(text)) if open.met.is_empty() && meet.group != 0 => {
                self.refuse(text, out)
            }
            (Phase::Open(open), None) if meet.group == open.life.group => {
                let known = open.met.get(&from).copied().unwrap_or(0);
                if meet.life >= known {
                    open.met.insert(from, meet.life);
                }
                if meet.life > known {
                    open.transfers.remove(&from);
                    open.raft.begin_anew_with(from);
                    open.raft.greet(from);
                }
            }
            _ => {}
        }
    }

    /// Why another replica is none of this group, if it is not.
    fn strangeness(&self, from: NodeId, meet: &Meet) -> Option<String> {
        let own = match &self.phase {
            Phase::Open(open) => open.life.group,
            _ => 0,
        };
        if meet.settings != self.settings {
            return Some(format!(
                "replica {} was started with other replicas, other limits, another cluster or by another version of the program: all have to be started alike",
                from.0
            ));
        }
        (own != 0 && meet.group != 0 && own != meet.group).then(|| {
            format!(
                "replica {} keeps another space: its log is of group {:032x}, this one's of group {own:032x}",
                from.0, meet.group
            )
        })
    }

    /// Decides what a replica without a log does, once it knows of all others.
    fn decide(&mut self, now: Time, out: &mut dyn Outbox) {
        let Phase::Meeting(meeting) = &self.phase else { return };
        let heard: Vec<(NodeId, Meet)> = meeting.heard.iter().map(|(node, meet)| (*node, *meet)).collect();
        if heard.len() + 1 < self.config.replicas.len() {
            return;
        }
        let mut groups: Vec<u128> =
            heard.iter().map(|(_, meet)| meet.group).filter(|group| *group != 0).collect();
        groups.sort_unstable();
        groups.dedup();
        let lowest = self.config.all().0[0];
        let begun = heard.iter().find(|(node, _)| *node == lowest).map(|(_, meet)| meet.group);
        match (groups.as_slice(), begun) {
            ([_, _, ..], _) => self.refuse("the other replicas keep different spaces", out),
            (groups, _) if heard.iter().any(|(_, meet)| !meet.is_fresh) => {
                // Who took part has a group: one that says otherwise is not believed.
                if let Some(group) = groups.first() {
                    let term = heard.iter().map(|(_, meet)| meet.term).max().unwrap_or(0);
                    self.follow_without_log(now, *group, term);
                }
            }
            (groups, None) => {
                let new = Random::new(self.config.seed, self.config.incarnation.0);
                let group = groups.first().copied().unwrap_or_else(|| number(new));
                self.found(now, group);
            }
            (_, Some(0)) => {}
            (_, Some(group)) => self.found(now, group),
        }
    }

    /// Begins with the first state, as all others do.
    fn found(&mut self, now: Time, group: u128) {
        let mut state = State::new((self.make)(&self.protocol));
        // What a protocol says at its start goes to nobody: no one is there.
        state.give(self.config.me, Time::ZERO, Input::Started, &mut Held::default(), &mut Effects::default());
        let snapshot = (1, 0, self.config.all());
        let restored = Restored { term: 0, voted_for: None, snapshot, entries: Vec::new() };
        let news = LogNews::Open { life: 1, inputs: 0, torn_bytes: 0 };
        self.open(now, self.life(group), restored, (state, Time::ZERO), news);
    }

    /// Follows without a vote until a leader has sent it the log.
    fn follow_without_log(&mut self, now: Time, group: u128, term: u64) {
        let state = State::new((self.make)(&self.protocol));
        let mut restored = Restored { term, voted_for: Some(self.config.me.node), ..Restored::default() };
        if seeded!(self.config, LostLogVotes) {
            (restored.voted_for, restored.snapshot) = (None, (1, 0, self.config.all()));
        }
        let news = LogNews::Open { life: 1, inputs: 0, torn_bytes: 0 };
        self.open(now, self.life(group), restored, (state, Time::ZERO), news);
    }

    /// Asks those again that were not heard.
    pub(super) fn go_on_meeting(&mut self, now: Time, out: &mut dyn Outbox) {
        let Phase::Meeting(meeting) = &mut self.phase else { return };
        if meeting.next_at > now {
            return;
        }
        meeting.next_at = now + self.config.heartbeat;
        self.meet_all(true, out);
    }
}

/// A number that no other group has.
fn number(mut random: Random) -> u128 {
    (u128::from(random.below(u64::MAX)) << 64 | u128::from(random.below(u64::MAX))).max(1)
}

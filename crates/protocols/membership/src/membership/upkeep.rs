//! What a leader changes by itself: later lives, members that are gone, who votes.

use super::{Membership, Phase};
use crate::change::Change;
use quintet_contract::{NodeId, Span, Time};

impl Membership {
    /// Begins what is to be changed next, if nothing is on its way.
    pub(super) fn keep_up(&mut self, now: Time) {
        let change = self.next_change(now);
        if let (Phase::Open(open), Some(change)) = (&mut self.phase, change) {
            open.raft.propose(now, change);
        }
    }

    fn next_change(&self, now: Time) -> Option<Change> {
        let Phase::Open(open) = &self.phase else { return None };
        if !open.raft.may_propose() {
            return None;
        }
        let changes = [self.later_life(), self.gone_too_long(now), self.change_of_voters()];
        let view = open.raft.latest_view();
        changes.into_iter().flatten().find(|change| view.check(change).is_ok())
    }

    /// A life that the view does not know, its own first.
    fn later_life(&self) -> Option<Change> {
        let Phase::Open(open) = &self.phase else { return None };
        let own = [(self.config.node, open.raft.incarnation)];
        let lives = own.into_iter().chain(self.lives.iter().map(|(node, life)| (*node, *life)));
        let mut later = lives.filter(|(node, life)| {
            open.raft.view.members.get(node).is_some_and(|member| member.incarnation < *life)
        });
        later.next().map(|(node, life)| Change::Revive(node, life))
    }

    /// A member that was suspected for as long as is set.
    fn gone_too_long(&self, now: Time) -> Option<Change> {
        let Phase::Open(open) = &self.phase else { return None };
        let limit = self.config.timing.removal;
        let mut members = open.raft.view.members.keys().copied();
        let is_gone = |node: &NodeId| {
            let since = self.sight.suspected_since(*node);
            limit > Span::ZERO
                && *node != self.config.node
                && since.is_some_and(|since| now.since(since) >= limit)
        };
        members.find(is_gone).map(Change::Remove)
    }

    /// There are as many voters as members, up to the most that are wanted, and an odd number: a second voter of two would make a cluster
    /// that stops when either stops.
    fn change_of_voters(&self) -> Option<Change> {
        let Phase::Open(open) = &self.phase else { return None };
        let view = open.raft.latest_view();
        let wanted = view.members.len().min(self.config.max_voters.max(1).into());
        let wanted = wanted - usize::from(wanted.is_multiple_of(2));
        let (voters, missing) = (view.voters().count(), wanted.saturating_sub(view.voters().count()));
        if voters > wanted {
            let others = || view.voters().filter(|node| *node != self.config.node);
            let suspected = others().find(|node| self.sight.suspected_since(*node).is_some());
            return suspected.or_else(|| others().last()).map(Change::Demote);
        }
        let mut ready = self.ready_to_vote();
        // Two that are needed come together, so that no even number lasts.
        let even = voters.is_multiple_of(2);
        let needed = if even { 1 } else { missing.min(2) };
        let first = ready.next()?;
        (missing > 0 && ready.count() + 1 >= needed).then_some(Change::Promote(first))
    }

    /// Learners that a leader hears, and that have all that is committed.
    pub(super) fn ready_to_vote(&self) -> impl Iterator<Item = NodeId> {
        let open = self.open();
        let progress = open.and_then(|open| open.raft.leading()).map(|leading| &leading.followers);
        let members = open.into_iter().flat_map(|open| &open.raft.view.members);
        let ready = members.filter(move |(node, member)| {
            let matched = progress.and_then(|progress| progress.get(node)).map(|follower| follower.matched);
            let has_all = matched.is_some_and(|matched| matched >= self.committed());
            !member.votes && has_all && self.sight.suspected_since(**node).is_none()
        });
        ready.map(|(node, _)| *node)
    }
}

//! What is asked of the members.

use super::{MOST_MACHINES, Schedule};
use crate::cluster::{join, view_of};
use quintet_contract::NodeId;
use quintet_membership::{NewRights, NewSpace, Replacement, Request};

impl Schedule {
    pub(super) fn request(&mut self) -> Request {
        match self.random.below(10) {
            0..=3 => Request::View { agreed: true },
            4 => self.request_of_space(),
            5..=7 if !self.grows || self.cluster.size < MOST_MACHINES => {
                self.identities += u64::from(!self.random.chance(200_000));
                join(&format!("x{}", self.identities), self.identities)
            }
            8 if self.may_leave() => {
                self.leaves += 1;
                Request::Leave { node: NodeId(self.any()) }
            }
            _ => {
                let extra = self.observer.joined.values().next().copied();
                Request::Leave { node: extra.unwrap_or(NodeId(900)) }
            }
        }
    }

    /// A space comes or goes. While one is kept, who keeps it cannot leave.
    fn request_of_space(&mut self) -> Request {
        let node = self.any();
        let is_removed = self.random.chance(500_000);
        let mut kept = view_of(&self.cluster.run, node).into_iter().flat_map(|view| &view.spaces);
        let kept = kept.next().map(|(name, space)| (name.clone(), space.number, space.allow.is_some()));
        match kept.filter(|_| is_removed) {
            Some((name, number, true)) if self.random.chance(500_000) => {
                let (granted, revoked) = ([NodeId(self.any())].into(), [NodeId(self.any())].into());
                Request::SetRights(NewRights { name, number, granted, revoked })
            }
            Some((name, number, _)) => Request::RemoveSpace { name, number },
            None if self.random.chance(400_000) => self.request_of_replica(node),
            None => {
                self.identities += 1;
                let (name, replicas) = (format!("s{}", self.identities), self.replicas());
                let allow = self.random.chance(300_000).then(|| [NodeId(self.any())].into());
                Request::AddSpace(NewSpace { name, replicas, max_bytes: 0, max_tuples: 0, allow })
            }
        }
    }

    /// One machine or three, each once as far as it goes: others are refused.
    fn replicas(&mut self) -> Vec<NodeId> {
        let first = self.any();
        let count = if self.random.chance(500_000) { 3 } else { 1 };
        (first..first + count).map(|node| NodeId(node % self.cluster.size)).collect()
    }

    /// A replica of a space is replaced, or says that it is ready.
    fn request_of_replica(&mut self, asked: u16) -> Request {
        let (from, to) = (NodeId(self.any()), NodeId(self.any()));
        let spaces = view_of(&self.cluster.run, asked).map(|view| view.spaces.clone()).unwrap_or_default();
        let Some((name, space)) = spaces.into_iter().next_back() else {
            return Request::View { agreed: true };
        };
        match space.awaited() {
            Some(place) if self.random.chance(500_000) => {
                Request::ReplicaReady { name, since: space.since(place) }
            }
            _ => Request::ReplaceReplica(Replacement { name, number: space.number, from, to }),
        }
    }

    /// Whether somebody may leave, so that enough are left.
    fn may_leave(&self) -> bool {
        match self.grows {
            true => self.leaves + 3 < u64::from(self.cluster.size),
            false => self.leaves < 2 && self.cluster.size == 5,
        }
    }
}

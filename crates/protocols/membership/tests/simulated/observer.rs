//! What must hold of every run, looked at after every event.

use crate::cluster::{Cluster, at, view_of};
use quintet_contract::{NodeId, Token};
use quintet_membership::{Answer, Change, Request};
use quintet_simulate::Simulation;
use std::collections::{BTreeMap, BTreeSet};

/// What was seen of a run so far.
#[derive(Default)]
pub struct Observer {
    /// Who led each term.
    leaders: BTreeMap<u64, u16>,
    /// What sums up the log up to each committed index.
    digests: BTreeMap<u64, u64>,
    /// The change that made each view.
    views: BTreeMap<u64, String>,
    /// Up to where each machine was committed when it was looked at last.
    committed: BTreeMap<u16, u64>,
    /// The latest view that some answer has told.
    told: u64,
    /// Requests that are asked, with the view that was told before.
    asked: BTreeMap<Token, (u16, Request, u64)>,
    /// Identities that were told a number.
    pub joined: BTreeMap<u64, NodeId>,
    /// Numbers of which was told that they have left.
    pub left: BTreeSet<NodeId>,
    /// Numbers that some machine has seen go.
    removed: BTreeSet<NodeId>,
    /// Spaces that were told to be kept, and such that are no more; of others that are, nobody was told.
    added: BTreeSet<String>,
    gone: BTreeSet<String>,
    /// Spaces of which some machine has seen that they went.
    unkept: BTreeSet<String>,
    /// What does not hold.
    pub violation: Option<String>,
}

impl Observer {
    pub fn asks(&mut self, token: Token, node: u16, request: Request) {
        self.asked.insert(token, (node, request, self.told));
    }

    /// Whether something does not hold.
    pub fn look(&mut self, run: &Simulation, size: u16) -> bool {
        for node in 0..size {
            self.look_at(run, node);
        }
        self.violation.is_some()
    }

    fn look_at(&mut self, run: &Simulation, node: u16) {
        let Some(member) = at(run, node) else { return };
        let (term, _) = member.term();
        if member.leads() {
            let leader = *self.leaders.entry(term).or_insert(node);
            if leader != node {
                self.violate(format!("machines {leader} and {node} lead term {term}"));
            }
        }
        let Some(view) = member.view() else { return };
        for (name, space) in &view.spaces {
            let awaited = space.replaced.values().filter(|replaced| !replaced.is_ready).count();
            let distinct: BTreeSet<&NodeId> = space.replicas.iter().collect();
            if awaited > 1 || distinct.len() < space.replicas.len() {
                self.violate(format!("machine {node} has the space {name} kept as {space:?}"));
            }
        }
        let (index, digest) = (member.committed(), view.digest);
        if self.committed.insert(node, index) == Some(index) {
            return;
        }
        if *self.digests.entry(index).or_insert(digest) != digest {
            self.violate(format!("machine {node} has another history up to index {index}"));
        }
        let first = view.number.saturating_sub(3).max(1);
        for number in first..=view.number {
            let Some(change) = view.change(number) else { continue };
            if let Change::Remove(node) = change {
                self.removed.insert(*node);
            }
            if let Change::RemoveSpace(name, _) = change {
                self.unkept.insert(name.clone());
            }
            let change = format!("{change:?}");
            let known = self.views.entry(number).or_insert_with(|| change.clone()).clone();
            if known != change {
                self.violate(format!("machine {node} has {change} as view {number}, another {known}"));
            }
        }
    }

    /// Takes the answers that have come.
    pub fn take_answers(&mut self, cluster: &mut Cluster) {
        for node in 0..cluster.size {
            let answers = match cluster.run.get_mut::<crate::parts::Watcher>(crate::cluster::caller(node)) {
                Some(watcher) => std::mem::take(&mut watcher.answers),
                None => continue,
            };
            for (token, answer) in answers {
                if let Some((_, request, before)) = self.asked.remove(&token) {
                    self.take_answer(&request, before, &answer);
                }
            }
            self.check_watch(cluster, node);
        }
    }

    fn take_answer(&mut self, request: &Request, before: u64, answer: &Answer) {
        match (request, answer) {
            (Request::Join { ticket, .. }, Answer::Joined { node, view }) => {
                self.told = self.told.max(*view);
                let other = self.joined.iter().find(|(of, number)| *number == node && *of != ticket);
                if let Some((other, _)) = other {
                    self.violate(format!("number {} was given to {other} and to {ticket}", node.0));
                }
                let earlier = self.joined.insert(*ticket, *node).filter(|earlier| earlier != node);
                if earlier.is_some_and(|earlier| !self.removed.contains(&earlier)) {
                    self.violate(format!("{ticket} was given two numbers"));
                }
            }
            (Request::AddSpace(new), Answer::Done) => drop(self.added.insert(new.name.clone())),
            (Request::RemoveSpace { name, .. }, Answer::Done) => {
                self.gone.insert(name.clone());
            }
            (
                Request::ReplaceReplica(_) | Request::ReplicaReady { .. } | Request::SetRights(_),
                Answer::Done,
            ) => {}
            (Request::Leave { node }, Answer::Done) => drop(self.left.insert(*node)),
            (Request::View { agreed: true }, Answer::Current(view, _)) => {
                if view.number < before {
                    let (told, known) = (view.number, before);
                    self.violate(format!("view {told} was told as agreed after view {known} had been told"));
                }
                self.told = self.told.max(view.number);
                for node in &self.left.clone() {
                    let has_come_back = view.members.contains_key(node) && before > view.number;
                    if has_come_back {
                        self.violate(format!("{} has left and is in", node.0));
                    }
                }
            }
            (_, Answer::Error(_)) => {}
            (request, answer) => self.violate(format!("{request:?} was answered by {answer:?}")),
        }
    }

    /// Views come one after the other, each once.
    fn check_watch(&mut self, cluster: &Cluster, node: u16) {
        let numbers: Vec<u64> = cluster.watcher(node).views.iter().map(|(_, number, _)| *number).collect();
        if !numbers.iter().copied().eq(1..=numbers.len() as u64) {
            self.violate(format!("machine {node} was told of views {numbers:?}"));
        }
    }

    /// What was acknowledged holds in the end.
    pub fn check_end(&mut self, cluster: &Cluster, node: u16) {
        let Some(view) = view_of(&cluster.run, node) else {
            return self.violate(format!("machine {node} knows no view in the end"));
        };
        let lost: Vec<NodeId> = self
            .joined
            .values()
            .copied()
            .filter(|node| !view.members.contains_key(node) && !view.has_lost(*node))
            .collect();
        let back: Vec<NodeId> =
            self.left.iter().copied().filter(|node| view.members.contains_key(node)).collect();
        let is_kept = |name: &&String| view.spaces.contains_key(*name);
        let missing: Vec<&String> =
            self.added.difference(&self.unkept).filter(|name| !is_kept(name)).collect();
        let kept: Vec<&String> = self.gone.iter().filter(is_kept).collect();
        if !missing.is_empty() || !kept.is_empty() {
            let text = format!("of the acknowledged, the spaces {missing:?} are not kept and {kept:?} are");
            return self.violate(text);
        }
        if !lost.is_empty() || !back.is_empty() {
            self.violate(format!("of the acknowledged, {lost:?} are not in and {back:?} are"));
        }
    }

    fn violate(&mut self, what: String) {
        self.violation.get_or_insert(what);
    }
}

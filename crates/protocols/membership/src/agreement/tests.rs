//! The agreement alone, without machines: a random walk through what time, messages, syncs and crashes may do to it. Every step is one of
//! them, so that it comes through far more elections than schedules on simulated machines do.

use super::{Message, Raft, Restored};
use crate::change::{Change, Entry, Joiner};
use crate::config::{MembershipConfig, Start};
use crate::disk::Record;
use crate::view::View;
use quintet_contract::{Identity, Incarnation, NodeId, Random, Span, Time};
use std::collections::{BTreeMap, BTreeSet};

const SIZE: u16 = 3;

/// What a machine has kept, and what it says once more of that is durable.
struct Machine {
    raft: Raft,
    /// Records, and how many of them are durable.
    disk: (Vec<Record>, usize),
    unsaid: Vec<(usize, NodeId, Message)>,
}

struct Walk {
    random: Random,
    config: MembershipConfig,
    now: Time,
    machines: Vec<Machine>,
    /// Messages under way: from, to, what.
    mail: Vec<(NodeId, NodeId, Message)>,
    leaders: BTreeMap<u64, NodeId>,
    committed: BTreeMap<u64, Entry>,
    proposals: u64,
    /// How often what happens: a crash, a deadline, a change, a sync, a loss, a copy, a cut, a delivery. Each walk has its own (Groce and others,
    /// "Swarm Testing", 2012).
    weights: [usize; 8],
}

/// A view with three voters.
fn founded() -> View {
    let mut view = View::founded(Joiner {
        node: NodeId(0),
        name: "0".to_owned(),
        identity: Identity([0; 32]),
        address: String::new(),
        grants: 0,
        ticket: 0,
    });
    for node in 1..SIZE {
        let identity = Identity([u8::try_from(node).expect("a few"); 32]);
        let joiner = Joiner {
            node: NodeId(node),
            name: node.to_string(),
            identity,
            address: "x:1".to_owned(),
            grants: 0,
            ticket: 1,
        };
        view.apply(&Entry { term: 0, change: Change::Join(joiner) });
        view.apply(&Entry { term: 0, change: Change::Promote(NodeId(node)) });
    }
    view
}

/// What a disk holds.
fn restored(records: &[Record]) -> Restored {
    let mut bytes = Vec::new();
    records.iter().for_each(|record| record.write(0, &mut bytes));
    let recovered = crate::disk::recovery::read(&bytes).expect("what was written can be read");
    recovered.state.expect("a view at least")
}

impl Walk {
    fn new(seed: u64, set: impl FnOnce(&mut MembershipConfig)) -> Walk {
        let mut config = MembershipConfig::new(1, NodeId(0), Start::Joined, seed);
        config.entries_at_once = 1;
        // Every other walk comes through views in the place of entries often.
        config.kept_entries = if seed.is_multiple_of(2) { 1 } else { config.kept_entries };
        set(&mut config);
        let mut walk = Walk {
            random: Random::new(seed, 7),
            config,
            now: Time(1),
            machines: Vec::new(),
            mail: Vec::new(),
            leaders: BTreeMap::new(),
            committed: BTreeMap::new(),
            proposals: 0,
            weights: [0; 8],
        };
        for (what, most) in [3, 9, 9, 60, 15, 6, 9, 90].into_iter().enumerate() {
            walk.weights[what] = walk.below(most) + usize::from(most > 10);
        }
        for node in 0..SIZE {
            let first = Record::Snapshot { index: 1, term: 0, view: founded() };
            let raft = walk.start(NodeId(node), std::slice::from_ref(&first));
            walk.machines.push(Machine { raft, disk: (vec![first], 1), unsaid: Vec::new() });
        }
        walk
    }

    fn start(&self, node: NodeId, disk: &[Record]) -> Raft {
        let config = MembershipConfig { node, ..self.config.clone() };
        Raft::new(config.of_raft(), Incarnation(1), restored(disk), self.now)
    }

    fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.random.below(bound as u64)).expect("below an index")
    }

    /// One step; what does not hold then.
    fn step(&mut self) -> Option<String> {
        let at = self.below(SIZE.into());
        let mut left = self.below(self.weights.iter().sum());
        let what = self.weights.iter().position(|weight| {
            let is_here = left < *weight;
            left = left.saturating_sub(*weight);
            is_here
        });
        match what {
            Some(0) => self.crash(at),
            Some(1) => {
                // Its time comes, and nobody else's.
                self.now = self.now.max(self.machines[at].raft.deadline()).min(Time(u64::MAX / 2));
                self.now += self.config.timing.election;
                self.machines[at].raft.tick(self.now, &BTreeSet::new());
            }
            Some(2) if self.machines[at].raft.may_propose() => {
                self.proposals += 1;
                let change = Change::Revive(NodeId(0), Incarnation(1 + self.proposals));
                self.machines[at].raft.propose(self.now, change);
            }
            Some(3) => self.sync(at),
            Some(4) if !self.mail.is_empty() => {
                let lost = self.below(self.mail.len());
                self.mail.swap_remove(lost);
            }
            Some(5) if !self.mail.is_empty() => {
                let doubled = self.below(self.mail.len());
                self.mail.push(self.mail[doubled].clone());
            }
            Some(6) => {
                // A machine is cut off: nothing that it has said arrives.
                let node = self.machines[at].raft.me;
                self.mail.retain(|(from, to, _)| *from != node || *to == node);
            }
            _ if !self.mail.is_empty() => {
                let next = self.below(self.mail.len());
                let (from, to, message) = self.mail.remove(next);
                self.machines[usize::from(to.0)].raft.take(self.now, from, message);
            }
            _ => {}
        }
        (0..SIZE.into()).find_map(|at| self.settle(at))
    }

    /// Takes what a machine has done, and looks at it.
    fn settle(&mut self, at: usize) -> Option<String> {
        let machine = &mut self.machines[at];
        let effects = std::mem::take(&mut machine.raft.effects);
        machine.disk.0.extend(effects.kept.into_iter().map(Record::from));
        for said in effects.said {
            match said.after_sync && machine.disk.1 < machine.disk.0.len() {
                true => machine.unsaid.push((machine.disk.0.len(), said.to, said.message)),
                false => self.mail.push((machine.raft.me, said.to, said.message)),
            }
        }
        let (me, term) = (machine.raft.me, machine.raft.term);
        if machine.raft.leading().is_some() && *self.leaders.entry(term).or_insert(me) != me {
            return Some(format!("two lead term {term}"));
        }
        effects.applied.into_iter().find_map(|(index, entry, _)| {
            let known = self.committed.entry(index).or_insert_with(|| entry.clone());
            (*known != entry).then(|| format!("at index {index} {known:?} was committed and {entry:?}"))
        })
    }

    fn sync(&mut self, at: usize) {
        let machine = &mut self.machines[at];
        machine.disk.1 = machine.disk.0.len();
        for (_, to, message) in machine.unsaid.drain(..) {
            self.mail.push((machine.raft.me, to, message));
        }
    }

    /// It begins anew with what was durable, or a little more of it.
    fn crash(&mut self, at: usize) {
        let (written, durable) = (self.machines[at].disk.0.len(), self.machines[at].disk.1);
        let kept = durable + self.below(written - durable + 1);
        let node = self.machines[at].raft.me;
        let mut disk = std::mem::take(&mut self.machines[at].disk.0);
        disk.truncate(kept);
        let raft = self.start(node, &disk);
        self.machines[at] = Machine { raft, disk: (disk, kept), unsaid: Vec::new() };
        self.mail.retain(|(from, to, _)| *from != node || *to != node);
    }

    /// The number of entries committed and of terms led.
    fn run(mut self, steps: u32) -> Result<(u64, u64), String> {
        for _ in 0..steps {
            if let Some(violation) = self.step() {
                return Err(violation);
            }
        }
        Ok((self.committed.len() as u64, self.leaders.len() as u64))
    }
}

#[test]
fn random_walks_commit_one_history() {
    let (mut committed, mut led) = (0, 0);
    for seed in 0..3_000 {
        let run = Walk::new(seed, |_| {}).run(2_000);
        let (entries, terms) = run.unwrap_or_else(|violation| panic!("seed {seed}: {violation}"));
        (committed, led) = (committed + entries, led + terms);
    }
    assert!(committed > 15_000 && led > 15_000, "walks get somewhere: {committed} entries, {led} terms");
}

/// All that is said arrives, and all that is kept is durable, until nothing is left.
fn calm(walk: &mut Walk) {
    loop {
        (0..SIZE.into()).for_each(|at| assert_eq!(walk.settle(at), None));
        (0..SIZE.into()).for_each(|at| walk.sync(at));
        if walk.mail.is_empty() {
            return;
        }
        let (from, to, message) = walk.mail.remove(0);
        walk.machines[usize::from(to.0)].raft.take(walk.now, from, message);
    }
}

#[test]
fn a_read_waits_for_answers_to_a_round_that_began_after_it() {
    let mut walk = Walk::new(1, |_| {});
    walk.now = walk.machines[0].raft.deadline();
    walk.machines[0].raft.tick(walk.now, &BTreeSet::new());
    calm(&mut walk);
    let leader = &mut walk.machines[0].raft;
    assert!(leader.may_read());
    leader.tick(leader.deadline(), &BTreeSet::new());
    let earlier = std::mem::take(&mut leader.effects).said;
    leader.read(walk.now, 9);
    let later = std::mem::take(&mut leader.effects).said;
    for (said, finished) in [(earlier, vec![]), (later, vec![9])] {
        let one = said.into_iter().find(|said| said.to == NodeId(1)).expect("it speaks to all");
        walk.machines[1].raft.take(walk.now, NodeId(0), one.message);
        let answers = std::mem::take(&mut walk.machines[1].raft.effects).said;
        for said in answers {
            walk.machines[0].raft.take(walk.now, NodeId(1), said.message);
        }
        assert_eq!(walk.machines[0].raft.effects.read, finished);
    }
}

#[test]
fn a_leader_that_is_asked_more_often_than_it_beats_hears_its_majority_all_the_same() {
    let mut walk = Walk::new(1, |_| {});
    walk.now = walk.machines[0].raft.deadline();
    walk.machines[0].raft.tick(walk.now, &BTreeSet::new());
    calm(&mut walk);
    let timing = walk.config.timing;
    let end = walk.now + Span(10 * timing.election.0);
    while walk.now < end {
        walk.now += Span(timing.heartbeat.0 / 2);
        walk.machines[0].raft.tick(walk.now, &BTreeSet::new());
        walk.machines[0].raft.read(walk.now, 9);
        calm(&mut walk);
        let unheard = walk.now.since(walk.machines[0].raft.heard_at);
        assert!(unheard <= timing.heartbeat, "nobody was heard for {unheard:?}");
    }
    // With nobody to hear it, it leads no more, however often it is asked.
    while walk.now < end + Span(3 * timing.election.0) {
        walk.now += Span(timing.heartbeat.0 / 2);
        walk.machines[0].raft.tick(walk.now, &BTreeSet::new());
        if walk.machines[0].raft.may_read() {
            walk.machines[0].raft.read(walk.now, 9);
        }
    }
    assert!(!walk.machines[0].raft.may_read());
}

#[test]
fn the_view_is_kept_now_and_then_and_not_with_each_entry() {
    let mut walk = Walk::new(1, |_| {});
    walk.now = walk.machines[0].raft.deadline();
    walk.machines[0].raft.tick(walk.now, &BTreeSet::new());
    calm(&mut walk);
    let kept = u64::from(walk.config.kept_entries);
    for incarnation in 1..=4 * kept {
        assert!(walk.machines[0].raft.may_propose());
        walk.machines[0].raft.propose(walk.now, Change::Revive(NodeId(0), Incarnation(incarnation)));
        calm(&mut walk);
    }
    for Machine { raft, disk, .. } in &walk.machines {
        let views = disk.0.iter().filter_map(|record| match record {
            Record::Snapshot { index, .. } => Some(*index),
            _ => None,
        });
        // The first is what the machine began with.
        assert_eq!(views.collect::<Vec<_>>(), [1, 129, 193, 257]);
        assert_eq!((raft.base(), raft.commit), (257 - kept, 2 + 4 * kept));
    }
}

#[cfg(feature = "seeded-defects")]
mod defects {
    use super::Walk;
    use crate::Defect;

    /// The first walk that shows it.
    fn found(defect: Defect) -> Option<(u64, String)> {
        (0..5_000).find_map(|seed| {
            let run = Walk::new(seed, |config| config.defect = Some(defect)).run(2_000);
            run.err().map(|violation| (seed, violation))
        })
    }

    #[test]
    fn an_entry_of_an_earlier_term_that_is_counted_is_found() {
        assert!(found(Defect::EarlierTermCounted).is_some());
    }

    #[test]
    fn a_vote_that_is_not_kept_is_found() {
        assert!(found(Defect::VoteNotKept).is_some());
    }

    #[test]
    fn entries_that_contradict_the_leader_and_are_kept_are_found() {
        assert!(found(Defect::ConflictKept).is_some());
    }
}

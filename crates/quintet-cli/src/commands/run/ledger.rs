//! Which task is where, from the event tuples.

use super::happening::{Event, What};
use std::collections::{BTreeMap, BTreeSet};

/// What the events so far say.
#[derive(Default)]
pub(super) struct Ledger {
    submitted: u64,
    done: u64,
    /// The worker that holds a task.
    holders: BTreeMap<i64, Holder>,
    redone: BTreeSet<i64>,
}

/// A worker that holds a task, or held it when it ended.
#[derive(Clone, Copy)]
struct Holder {
    rank: i64,
    attempt: i64,
    ended: bool,
}

/// A task that was begun again.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Redone {
    pub(super) task: i64,
    /// Who held it before, if that was seen: a worker may end between taking a task and saying so.
    pub(super) before: Option<i64>,
    /// Whether that was before it was started again.
    pub(super) earlier: bool,
    /// Who holds it, or did it, now.
    pub(super) by: i64,
    pub(super) attempt: i64,
}

impl Ledger {
    /// Adds an event, and says if it shows that a task was begun again.
    pub(super) fn add(&mut self, event: &Event) -> Option<Redone> {
        let &Event { what, rank, task, attempt } = event;
        match what {
            What::Submitted => self.submitted += 1,
            What::Holding => return self.taken(rank, task, attempt, true),
            What::Done => {
                self.done += 1;
                let redone = self.taken(rank, task, attempt, false);
                self.holders.remove(&task);
                return redone;
            }
            What::Marker | What::End => {}
        }
        None
    }

    fn taken(&mut self, by: i64, task: i64, attempt: i64, still: bool) -> Option<Redone> {
        let before = self.holders.get(&task).copied();
        if still {
            self.holders.insert(task, Holder { rank: by, attempt, ended: false });
        }
        let news = before.is_none_or(|holder| holder.attempt < attempt);
        (attempt > 1 && news).then(|| {
            self.redone.insert(task);
            let earlier = before.is_some_and(|holder| holder.ended);
            Redone { task, before: before.map(|holder| holder.rank), earlier, by, attempt }
        })
    }

    /// What this worker holds is held by nobody: it ended, and another of its rank takes its place.
    pub(super) fn is_replaced(&mut self, rank: i64) {
        self.holders.values_mut().filter(|holder| holder.rank == rank).for_each(|holder| holder.ended = true);
    }

    /// Whether this worker holds a task.
    pub(super) fn is_holding(&self, rank: i64) -> bool {
        self.holders.values().any(|holder| holder.rank == rank && !holder.ended)
    }

    pub(super) fn submitted(&self) -> u64 {
        self.submitted
    }

    pub(super) fn done(&self) -> u64 {
        self.done
    }

    /// Tasks that were begun more than once.
    pub(super) fn redone(&self) -> usize {
        self.redone.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(what: What, rank: i64, task: i64, attempt: i64) -> Event {
        Event { what, rank, task, attempt }
    }

    #[test]
    fn a_task_that_is_held_again_is_redone_once() {
        let mut ledger = Ledger::default();
        assert_eq!(ledger.add(&event(What::Submitted, -1, 17, 0)), None);
        assert_eq!(ledger.add(&event(What::Holding, 2, 17, 1)), None);
        assert!(ledger.is_holding(2));
        let redone = Redone { task: 17, before: Some(2), earlier: false, by: 0, attempt: 2 };
        assert_eq!(ledger.add(&event(What::Holding, 0, 17, 2)), Some(redone));
        assert_eq!(ledger.add(&event(What::Done, 0, 17, 2)), None, "it was told before");
        assert!(!ledger.is_holding(2) && !ledger.is_holding(0));
        assert_eq!((ledger.submitted(), ledger.done(), ledger.redone()), (1, 1, 1));
    }

    #[test]
    fn a_worker_that_is_started_again_holds_nothing() {
        let mut ledger = Ledger::default();
        ledger.add(&event(What::Holding, 2, 17, 1));
        ledger.is_replaced(2);
        assert!(!ledger.is_holding(2));
        ledger.add(&event(What::Holding, 2, 18, 1));
        assert!(ledger.is_holding(2));
        let redone = Redone { task: 17, before: Some(2), earlier: true, by: 2, attempt: 2 };
        assert_eq!(ledger.add(&event(What::Holding, 2, 17, 2)), Some(redone));
    }

    #[test]
    fn a_task_whose_first_holder_said_nothing_is_redone_too() {
        let mut ledger = Ledger::default();
        let redone = Redone { task: 3, before: None, earlier: false, by: 1, attempt: 2 };
        assert_eq!(ledger.add(&event(What::Done, 1, 3, 2)), Some(redone));
        assert_eq!(ledger.add(&event(What::Done, 1, 4, 1)), None);
    }
}

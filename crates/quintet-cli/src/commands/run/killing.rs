//! `--kill-one`: kills a worker that surely holds a task.
//!
//! That a worker held a task is known late, when it may have done it. So the worker is stopped first; whatever it said before
//! comes out of the space before a marker that is put now; and if it holds a task still, it is killed, else it goes on.

use super::child::Child;
use super::happening::{What, put};
use super::ledger::{Ledger, Redone};
use quintet::{Error, Lab};
use rustix::process::Signal;

/// How far it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Killing {
    NotAsked,
    /// For a worker that holds a task.
    Waiting,
    /// This worker is stopped until the marker comes.
    Stopped(i64),
    Killed(i64),
}

impl Killing {
    /// A worker said that it holds a task.
    pub(super) fn held(&mut self, worker: &Child, rank: i64, lab: &Lab) -> Result<(), Error> {
        if *self != Killing::Waiting || worker.ended {
            return Ok(());
        }
        worker.freeze();
        // After one answer, the space's thread has looked at every link since the worker stopped.
        lab.space().status()?;
        put(lab, What::Marker, rank)?;
        *self = Killing::Stopped(rank);
        Ok(())
    }

    /// The marker came: everything that the stopped worker said is in the ledger.
    pub(super) fn marker(&mut self, worker: &Child, rank: i64, ledger: &Ledger) {
        if *self != Killing::Stopped(rank) {
            return;
        }
        if ledger.is_holding(rank) && !worker.ended {
            worker.signal_group(Signal::KILL);
            *self = Killing::Killed(rank);
        } else {
            worker.signal(Signal::CONT);
            *self = Killing::Waiting;
        }
    }

    /// A worker on another machine had done its task. If it was killed meanwhile, since what it said was still on its way when it was
    /// stopped, that shows nothing: another one is killed, as long as two are left.
    pub(super) fn done(&mut self, rank: i64, ledger: &Ledger, others: usize) {
        if *self == Killing::Killed(rank) && !ledger.is_holding(rank) && others > 1 {
            *self = Killing::Waiting;
        }
    }

    /// The worker that is stopped.
    pub(super) fn stopped(self) -> Option<i64> {
        match self {
            Killing::Stopped(rank) => Some(rank),
            _ => None,
        }
    }

    /// The worker that was killed.
    pub(super) fn victim(self) -> Option<i64> {
        match self {
            Killing::Killed(rank) => Some(rank),
            _ => None,
        }
    }

    /// Whether the task was the killed worker's, or may have been: a worker may be lost before it says what it holds.
    pub(super) fn caused(self, redone: &Redone) -> bool {
        let was_held = |victim| redone.before.is_none_or(|before| before == victim);
        !redone.earlier && self.victim().is_some_and(was_held)
    }
}

/// What is said of a task that was begun again.
pub(super) fn in_words(redone: &Redone, killing: Killing) -> String {
    let Redone { task, before, by, attempt, .. } = redone;
    let lost = match (before, killing.victim()) {
        (Some(rank), _) if killing.caused(redone) => format!("held by worker {rank} when it was killed"),
        (Some(rank), _) => format!("held by worker {rank} and lost"),
        (None, Some(victim)) => {
            format!(
                "taken by a worker that was lost before it could say so, perhaps the killed worker {victim}"
            )
        }
        (None, None) => "taken by a worker that was lost before it could say so".to_owned(),
    };
    format!("task {task} was {lost}; redone by worker {by} (attempt {attempt})")
}

#[cfg(test)]
mod tests {
    use super::super::happening::Event;
    use super::*;

    #[test]
    fn a_worker_that_had_done_its_task_is_no_proof_and_another_is_killed() {
        let event = |what| Event { what, rank: 2, task: 17, attempt: 1 };
        let mut ledger = Ledger::default();
        ledger.add(&event(What::Holding));
        let mut killing = Killing::Killed(2);
        killing.done(2, &ledger, 2);
        assert_eq!(killing, Killing::Killed(2), "it held a task");
        ledger.add(&event(What::Done));
        killing.done(2, &ledger, 1);
        assert_eq!(killing, Killing::Killed(2), "the last one is not killed");
        killing.done(1, &ledger, 2);
        assert_eq!(killing, Killing::Killed(2), "another one has done a task");
        killing.done(2, &ledger, 2);
        assert_eq!(killing, Killing::Waiting);
    }

    #[test]
    fn the_words_name_the_task_and_both_workers() {
        let redone = Redone { task: 17, before: Some(2), earlier: false, by: 0, attempt: 2 };
        assert_eq!(
            in_words(&redone, Killing::Killed(2)),
            "task 17 was held by worker 2 when it was killed; redone by worker 0 (attempt 2)"
        );
        assert_eq!(
            in_words(&redone, Killing::Killed(1)),
            "task 17 was held by worker 2 and lost; redone by worker 0 (attempt 2)"
        );
        let unseen = Redone { before: None, ..redone };
        assert_eq!(
            in_words(&unseen, Killing::Killed(2)),
            "task 17 was taken by a worker that was lost before it could say so, perhaps the killed worker 2; redone by worker 0 (attempt 2)"
        );
        assert!(!in_words(&unseen, Killing::NotAsked).contains("perhaps"));
        let lost_before = Redone { earlier: true, ..redone };
        assert_eq!(
            in_words(&lost_before, Killing::Killed(2)),
            "task 17 was held by worker 2 and lost; redone by worker 0 (attempt 2)"
        );
    }
}

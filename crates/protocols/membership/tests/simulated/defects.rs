//! Mistakes that are switched on: random schedules find them. (An entry of an earlier term that is counted needs three elections that go wrong
//! in one way: the walks of `src/raft/tests.rs` find it.)

use crate::schedule::Schedule;
use quintet_membership::Defect;
use std::ops::Range;

/// The first of these schedules that shows a defect, and what it breaks.
fn found(defect: Defect, mut schedules: Range<u64>) -> Option<(u64, String)> {
    schedules.find_map(|seed| {
        let run = Schedule::new(seed, |style| style.defect = Some(defect)).run(40);
        run.err().map(|violation| (seed, violation))
    })
}

fn is_found(defect: Defect) {
    is_found_from(defect, 0);
}

fn is_found_from(defect: Defect, first: u64) {
    assert!(found(defect, first..first + 3_000).is_some(), "{defect:?} is not found");
}

#[test]
fn a_vote_that_is_not_kept_is_found() {
    is_found(Defect::VoteNotKept);
}

#[test]
fn two_changes_at_once_are_found() {
    is_found(Defect::TwoChangesAtOnce);
}

#[test]
fn entries_that_contradict_the_leader_and_are_kept_are_found() {
    is_found(Defect::ConflictKept);
}

#[test]
fn what_is_said_before_it_is_durable_is_found() {
    is_found(Defect::SaidBeforeSync);
}

#[test]
fn a_leader_that_was_replaced_and_still_answers_is_found() {
    // Few schedules show it: one that does is near.
    is_found_from(Defect::StaleLeaderAnswers, 2_200);
}

//! What is built in on purpose is found.

use super::run;
use super::two_spaces::run_of_two_spaces;
use crate::{Defect, SpaceConfig};

#[test]
fn each_built_in_defect_is_found() {
    // Each with a run near which it is found, so that the search is short; any other would find it later.
    let alone = [
        (Defect::TupleLeftBehind, 0),
        (Defect::WaiterLeftBehind, 20),
        (Defect::AnsweredDuringMigration, 850),
        (Defect::AnsweredInOldEpoch, 0),
        (Defect::KeyServedAtOldPlace, 0),
        (Defect::PutNotFenced, 70),
        (Defect::AgeKeptByNewTuple, 40),
        (Defect::AgesNotPassed, 0),
        (Defect::AnsweredBeforeItCame, 350),
    ];
    let together = [
        (Defect::LockNotHeld, 0),
        (Defect::PartDoneAtLock, 3_000),
        (Defect::WitnessGoneAtLock, 32_100),
        (Defect::PartNotGivenUp, 0),
        (Defect::PartsNotFenced, 0),
        (Defect::SoughtBeforeStill, 0),
        (Defect::SelectTakesAll, 0),
        (Defect::RingNotHeard, 0),
    ];
    let alone = alone.map(|(defect, near)| (defect, near, false));
    let together = together.map(|(defect, near)| (defect, near, true));
    for (defect, near, does_together) in alone.into_iter().chain(together) {
        let space = SpaceConfig { defect: Some(defect), ..SpaceConfig::default() };
        let found = (near..near + 3_000).find(|seed| run(*seed, space, does_together).is_err());
        assert!(found.is_some(), "{defect:?} is not found");
    }
    for defect in [Defect::PagesNotAwaited, Defect::CollectedStays] {
        let space = SpaceConfig { defect: Some(defect), ..SpaceConfig::default() };
        let found = (0..3_000).find(|seed| run_of_two_spaces(*seed, space).is_err());
        assert!(found.is_some(), "{defect:?} is not found");
    }
}

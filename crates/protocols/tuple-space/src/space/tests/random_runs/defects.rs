//! Defects that are built in on purpose: the model answers otherwise.

use super::steps::{config, steps};
use super::{Pair, compare};
use crate::Defect::{
    CollectedStays, CreditCountedTwice, ExpiredReturns, ExpiredStays, ExpiresEarly, GroupEndsHalf,
    LeaseNeverReturned, LostBetweenRemovalAndReply, LostWakeUp, MissedEventsNotTold, PageReturnsInPart,
    ReplacedStays, ReplacementNotOffered, ReturnNotWatched, SelectWaitsForFirst, WitnessNotChecked,
};
use crate::SpaceConfig;
use proptest::prelude::ProptestConfig;

/// The comparison finds every defect that is built in on purpose, by the answers alone.
#[test]
fn every_seeded_defect_is_found() {
    for defect in [
        LostWakeUp,
        LeaseNeverReturned,
        CreditCountedTwice,
        LostBetweenRemovalAndReply,
        WitnessNotChecked,
        GroupEndsHalf,
        SelectWaitsForFirst,
        ReplacementNotOffered,
        ReplacedStays,
        CollectedStays,
        PageReturnsInPart,
        ReturnNotWatched,
        MissedEventsNotTold,
        ExpiredStays,
        ExpiredReturns,
        ExpiresEarly,
    ] {
        let settings =
            ProptestConfig { cases: 50_000, failure_persistence: None, ..ProptestConfig::default() };
        let found = proptest::test_runner::TestRunner::new(settings).run(&steps(), |steps| {
            let mut pair = Pair::new(SpaceConfig { defect: Some(defect), ..config() });
            pair.bench.verifies = false;
            compare(&mut pair, &steps)
        });
        assert!(found.is_err(), "{defect:?} was not found");
    }
}

//! The explorer passes the product, finds what is built in on purpose, and gives the same run for the same seed.

use quintet_explore::{Defect, Options, Rule, explore, replay};

#[test]
fn no_rule_is_broken() {
    let report = explore(&Options::of(0..300), &mut |_| {});
    assert!(report.failure.is_none(), "{report}");
    assert_eq!(report.schedules, 300);
    for (count, least) in [
        (report.operations, 300 * 30),
        (report.acknowledged_outs, 1_000),
        (report.takes, 1_000),
        (report.redone_leases, 100),
        (report.crashes, 50),
    ] {
        assert!(count >= least, "the schedules are too tame: {report}");
    }
}

#[test]
fn every_defect_is_found() {
    // Within so many schedules: several times those that it takes.
    let expected = [
        (Defect::LostWakeUp, 100, &[Rule::NoLostWakeUp, Rule::OldestFirst, Rule::SaysWhatIs][..]),
        (Defect::LeaseNeverReturned, 100, &[Rule::CountsReturn, Rule::NothingLost, Rule::SaysWhatIs]),
        (Defect::QuotaCountedTwice, 100, &[Rule::CountsReturn]),
        (Defect::LostBetweenRemovalAndReply, 100, &[Rule::CountsReturn, Rule::NothingLost, Rule::SaysWhatIs]),
        (Defect::CreditCountedTwice, 100, &[Rule::BooksBalance, Rule::NobodyCutOff]),
        (Defect::RenewalSkipsPutOff, 6_000, &[Rule::DeadlinesKept, Rule::NothingTwice]),
        (Defect::WaitingBytesKept, 100, &[Rule::BooksBalance]),
        (Defect::PutPassesAcknowledgement, 6_000, &[Rule::OldestFirst]),
        (Defect::AcknowledgedByAnyone, 100, &[Rule::OnlyItsHolder]),
        (Defect::FailedLeaseGoesToTheEnd, 100, &[Rule::OldestFirst]),
        (Defect::EndlessLeaseKept, 100, &[Rule::CountsReturn]),
        (Defect::WitnessNotChecked, 1_000, &[Rule::AllOrNothing]),
        (Defect::GroupEndsHalf, 300, &[Rule::NothingTwice, Rule::CountsReturn, Rule::OldestFirst]),
        (Defect::ExpiredReturns, 1_000, &[Rule::DeadlinesKept]),
        (Defect::ExpiresEarly, 300, &[Rule::SaysWhatIs, Rule::OldestFirst, Rule::AllOrNothing]),
        (Defect::NumberOfSpaceIgnored, 100, &[Rule::NothingInvented, Rule::SaysWhatIs, Rule::CountsReturn]),
        (Defect::HeldCreditLost, 100, &[Rule::BooksBalance]),
        (Defect::PackOvertaken, 6_000, &[Rule::OldestFirst]),
        (Defect::RefusedPackDropped, 6_000, &[Rule::NoLostWakeUp]),
        (Defect::NotRewound, 200, &[Rule::SessionsOutliveCuts, Rule::NobodyCutOff, Rule::BooksBalance]),
        (Defect::DeliveredAgain, 200, &[Rule::AnsweredOnce, Rule::NobodyCutOff]),
        (Defect::OneTooManyReleased, 200, &[Rule::NobodyCutOff, Rule::SessionsOutliveCuts]),
        (Defect::ArrivedNotTold, 200, &[Rule::NobodyCutOff]),
        (Defect::GivenUpEarly, 1_000, &[Rule::SessionsOutliveCuts]),
        (Defect::NeverGivenUp, 1_000, &[Rule::SessionsOutliveCuts]),
        (Defect::TriesCountedTogether, 1_000, &[Rule::SessionsOutliveCuts]),
    ];
    assert_eq!(expected.map(|(defect, ..)| defect), Defect::ALL);
    for (defect, seeds, rules) in expected {
        let options = Options { defect: Some(defect), ..Options::of(0..seeds) };
        let report = explore(&options, &mut |_| {});
        let failure =
            report.failure.unwrap_or_else(|| panic!("{seeds} schedules do not show {}", defect.name()));
        assert!(rules.contains(&failure.rule), "{} was found as: {failure}", defect.name());
        assert!(!failure.history.is_empty() && failure.history.len() <= options.shown_events);

        let seed = failure.seed.expect("it was explored by seeds");
        let again = replay(seed, &options, &mut |_| {}).failure;
        assert_eq!(again, Some(failure), "the seed alone gives the same failure");
        let sound = explore(&Options::of(seed..seed + 1), &mut |_| {});
        assert!(sound.failure.is_none(), "it is the defect that was found: {sound}");
    }
}

#[test]
fn the_same_seeds_give_the_same_digest() {
    let digest = |seeds| explore(&Options::of(seeds), &mut |_| {}).digest;
    assert_eq!(digest(40..60), digest(40..60));
    assert_ne!(digest(40..60), digest(41..61));
}

#[test]
fn a_replay_shows_the_whole_history() {
    let mut lines = Vec::new();
    let report = replay(5, &Options::of(0..0), &mut |line| lines.push(line.to_owned()));
    assert!(lines.len() as u64 > report.operations, "every request has its line, and there are answers");
    assert!(lines.iter().any(|line| line.contains("the space is emptied")), "{lines:#?}");
    assert_eq!(report.digest, explore(&Options::of(5..6), &mut |_| {}).digest);
}

#[test]
fn a_schedule_that_does_not_come_to_rest_is_a_failure() {
    let options = Options { events_limit: 100, ..Options::of(0..1) };
    let failure = explore(&options, &mut |_| {}).failure.expect("no schedule ends after so few events");
    assert_eq!(failure.rule, Rule::ComesToRest);
}

#[test]
fn progress_is_told_after_each_schedule() {
    let mut seen = Vec::new();
    explore(&Options::of(3..6), &mut |progress| seen.push((progress.seed, progress.schedules)));
    assert_eq!(seen, [(3, 1), (4, 2), (5, 3)]);
}

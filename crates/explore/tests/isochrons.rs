//! Isochrons: the explorer passes them, and finds what is built in on purpose.

use quintet_explore::isochrons::{Defect, Delivery, Isochrons, Isonets};
use quintet_explore::read_sequence;
use quintet_explore::system::{Options, Origin, System, explore, replay};
use std::path::Path;

/// Schedules within which every defect is found.
const BUDGET: u64 = 1_000;

/// Where the search for a defect begins: few schedules show what is not told in a farewell, and the first 1,000 none.
fn first_schedule(defect: Defect) -> u64 {
    match defect.name() {
        "farewell-left-out" => 1_000,
        "farewell-at-home" => 2_500,
        _ => 0,
    }
}

/// Defects of what there is with several switches alone, or where programs say what the next view is.
const OF_OTHERS: [&str; 5] =
    ["token-lost", "token-doubled", "drained-early", "minority-begins", "farewell-at-home"];

/// The same for live members.
fn first_schedule_of_members(defect: Defect) -> u64 {
    match defect.name() {
        "farewell-left-out" | "farewell-forgets-told" => 500,
        _ => 0,
    }
}

/// Defects of what members have alone.
const OF_MEMBERS: [&str; 5] =
    ["farewell-forgets-told", "farewell-lost-inside", "refusal-forgotten", "pulse-not-kept", "one-decides"];

#[test]
fn no_rule_is_broken() {
    for (delivery, faults) in [(Delivery::Safe, 60), (Delivery::Agreed, 20)] {
        let report = explore(&Isochrons::new(delivery), &Options::of(0..60));
        assert!(report.failure.is_none() && report.undecided.is_empty(), "{delivery:?}: {report}");
        for (count, least) in [(report.requests, 60 * 20), (report.answers, 60 * 30), (report.faults, faults)]
        {
            assert!(count >= least, "{delivery:?}: the schedules are too tame: {report}");
        }
    }
}

#[test]
fn live_members_break_no_rule() {
    let report = explore(&Isonets::default(), &Options::of(0..60));
    assert!(report.failure.is_none() && report.undecided.is_empty(), "{report}");
    for (count, least) in [(report.requests, 60 * 20), (report.answers, 60 * 30), (report.faults, 60)] {
        assert!(count >= least, "the schedules are too tame: {report}");
    }
}

/// A node was asked what it knows, for a view that it had not heard of; then came the late question of who was behind, for an earlier one.
#[test]
fn a_late_question_for_a_view_that_was_given_up_changes_nothing() {
    for seed in [8829, 9019, 9344] {
        let report = explore(&Isochrons::default(), &Options::of(seed..seed + 1));
        assert!(report.failure.is_none(), "{report}");
    }
}

/// Schedules of which one thing or another was wrong, in the protocol or in how they were judged ([decision 68](../../../docs/design/0068-exploring-isochrons.md)).
#[test]
fn seeds_that_broke_a_rule_break_none() {
    let far_from_the_farewell = [19924, 47928, 62309, 83491, 90841, 147219];
    let answered_that_a_view_has_begun = [46878, 70525, 126856, 160749];
    let held_for_two_views = [157392, 196453];
    let judged_too_strictly = [44886, 63025, 78656, 79089, 127400, 129105, 138530, 187787];
    let all = [&far_from_the_farewell[..], &answered_that_a_view_has_begun, &held_for_two_views];
    for seed in all.into_iter().flatten().chain(&judged_too_strictly).copied() {
        let report = explore(&Isochrons::default(), &Options::of(seed..seed + 1));
        assert!(report.failure.is_none() && report.undecided.is_empty(), "{report}");
    }
}

/// Whether schedules of a form show a defect, and without it hold.
fn is_found<S: System>(sound: &S, with_defect: &S, defect: Defect, first: u64) -> bool {
    let options = Options::of(first..first + BUDGET);
    let report = explore(with_defect, &options);
    let Some(failure) = report.failure else { return false };
    println!("{}: after {} schedules: {}", defect.name(), report.schedules, failure.rule);
    let report = replay(sound, Origin::Choices(&failure.choices), &options, &mut |_| {});
    assert!(report.failure.is_none(), "it is the defect that was found: {report}");
    true
}

#[test]
fn every_defect_is_found() {
    let sound = Isochrons::default();
    let hidden = |defect: &Defect| {
        let first = first_schedule(*defect);
        !OF_MEMBERS.contains(&defect.name()) && !is_found(&sound, &sound.with_defect(*defect), *defect, first)
    };
    let hidden: Vec<&str> = Defect::all().filter(hidden).map(Defect::name).collect();
    assert!(hidden.is_empty(), "{BUDGET} schedules do not show {hidden:?}");
}

#[test]
fn every_defect_of_live_members_is_found() {
    let sound = Isonets::default();
    let hidden = |defect: &Defect| {
        let first = first_schedule_of_members(*defect);
        !OF_OTHERS.contains(&defect.name()) && !is_found(&sound, &sound.with_defect(*defect), *defect, first)
    };
    let hidden: Vec<&str> = Defect::all().filter(hidden).map(Defect::name).collect();
    assert!(hidden.is_empty(), "{BUDGET} schedules do not show {hidden:?}");
}

/// Schedules that once broke a rule.
#[test]
fn what_was_found_stays_mended() {
    assert_eq!(hold_again(&Isochrons::default(), "corpus-of-isochrons"), 1);
}

/// The same of live members.
#[test]
fn what_was_found_of_live_members_stays_mended() {
    assert_eq!(hold_again(&Isonets::default(), "corpus-of-isonets"), 1);
}

/// A member is stopped, and goes on with what it knew, while it has an answer on its way to its program.
#[test]
fn what_a_member_told_its_program_is_not_lost_as_it_is_stopped() {
    let report = explore(&Isonets::default(), &Options::of(10_391..10_392));
    assert!(report.failure.is_none() && report.undecided.is_empty(), "{report}");
}

/// A member that stands still is stopped late, and goes on at once: the others hear of its end before it is linked again.
#[test]
fn that_a_member_is_stopped_is_heard_before_it_is_linked_again() {
    let report = explore(&Isonets::default(), &Options::of(16_291..16_292));
    assert!(report.failure.is_none() && report.undecided.is_empty(), "{report}");
}

/// Runs the schedules of a folder: how many there are.
fn hold_again(system: &impl System, folder: &str) -> usize {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut found = 0;
    for file in corpus.read_dir().expect("there is a folder") {
        let file = file.expect("it can be listed").path();
        let choices = read_sequence(&std::fs::read_to_string(&file).expect("text")).expect("choices");
        let origin = Origin::Choices(&choices);
        let report = replay(system, origin, &Options::of(0..0), &mut |_| {});
        assert!(report.failure.is_none() && report.requests > 1, "{}: {report}", file.display());
        found += 1;
    }
    found
}

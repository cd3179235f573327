//! Spaces with a log, with replicas and with several managers: the explorer passes them, and finds what is built in on purpose.

use quintet_explore::read_sequence;
use quintet_explore::spaces::{Defect, Placement, Spaces};
use quintet_explore::system::{Options, Origin, explore, replay, shrink};
use std::path::Path;

/// Schedules within which every defect is found.
const BUDGET: u64 = 1_000;
/// Seeds near which a defect is found that few schedules show, so that the search is short; any other would find it later.
const NEAR: [(&str, u64); 7] = [
    ("answered-before-it-came", 26_000),
    ("lost-log-votes", 20_000),
    ("put-not-fenced", 20_000),
    ("lock-not-held", 5_000),
    ("part-done-at-lock", 139_000),
    ("watcher-left-behind", 16_000),
    ("pages-not-awaited", 15_000),
];

fn options(defect: Defect) -> Options {
    let first = NEAR.iter().find(|(name, _)| *name == defect.name()).map_or(0, |(_, seed)| *seed);
    Options::of(first..first + BUDGET)
}

#[test]
fn no_rule_is_broken() {
    for placement in Placement::ALL {
        let report = explore(&Spaces::new(placement), &Options::of(0..150));
        assert!(report.failure.is_none(), "{}: {report}", placement.name());
        for (count, least) in [(report.requests, 150 * 12), (report.answers, 150 * 12), (report.faults, 100)]
        {
            assert!(count >= least, "{}: the schedules are too tame: {report}", placement.name());
        }
    }
}

#[test]
fn every_defect_is_found() {
    let mut hidden = Vec::new();
    for defect in Defect::all() {
        let options = options(defect);
        let report = explore(&Spaces::with_defect(defect), &options);
        let Some(failure) = report.failure else {
            hidden.push(defect.name());
            continue;
        };
        println!("{}: after {} schedules: {}", defect.name(), report.schedules, failure.rule);
        let sound = Spaces::new(defect.placement());
        let sound = replay(&sound, Origin::Choices(&failure.choices), &options, &mut |_| {});
        assert!(sound.failure.is_none(), "it is the defect that was found: {sound}");
    }
    assert!(hidden.is_empty(), "{BUDGET} schedules do not show {hidden:?}");
}

#[test]
fn a_defect_of_each_placement_shrinks_to_a_schedule_that_shows_it_again() {
    for name in ["answered-before-sync", "said-before-sync", "tuple-left-behind"] {
        let defect = Defect::from_name(name).expect("there is one of this name");
        let (options, defect) = (options(defect), Spaces::with_defect(defect));
        let failure = explore(&defect, &options).failure.expect("it is found");
        let small = shrink(&defect, &failure, &options, &mut |attempts| attempts < 400);
        let small = small.expect("its own choices break the rule").failure;
        assert!(small.size.choices < failure.size.choices && small.rule == failure.rule, "{name}: {small}");
        let again = replay(&defect, Origin::Choices(&small.choices), &options, &mut |_| {});
        assert_eq!(again.failure.map(|failure| failure.text), Some(small.text), "{name}");
    }
}

/// Schedules that once broke a rule.
#[test]
fn what_was_found_stays_mended() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus-of-spaces");
    let mut found = 0;
    for file in
        corpus.read_dir().expect("there is a folder").map(|file| file.expect("it can be listed").path())
    {
        let name = file.file_stem().and_then(|name| name.to_str()).expect("a name");
        let placement = Placement::ALL.into_iter().find(|placement| name.starts_with(placement.name()));
        let placement = placement.unwrap_or_else(|| panic!("{name} begins with a placement"));
        let choices = read_sequence(&std::fs::read_to_string(&file).expect("text")).expect("choices");
        let report =
            replay(&Spaces::new(placement), Origin::Choices(&choices), &Options::of(0..0), &mut |_| {});
        assert!(report.failure.is_none() && report.requests > 1, "{name}: {report}");
        found += 1;
    }
    assert_eq!(found, 10);
}

#[test]
fn the_same_seeds_give_the_same_digest() {
    for placement in Placement::ALL {
        let digest = |seeds| explore(&Spaces::new(placement), &Options::of(seeds)).digest;
        assert_eq!(digest(40..50), digest(40..50), "{}", placement.name());
        assert_ne!(digest(40..50), digest(41..51), "{}", placement.name());
    }
}

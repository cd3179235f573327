//! A failing schedule becomes a small one that fails for the same reason, and its choices give it again.

use quintet_explore::{
    Defect, Failure, Options, Rule, Sequence, Shrunk, choices, explore, read_sequence, replay,
    replay_sequence, shrink, write_sequence,
};
use std::path::Path;

/// Enough for every defect.
const SEEDS: u64 = 6_000;
/// Schedules that a search may try.
const ATTEMPTS: u32 = 20_000;

fn with(defect: Defect) -> Options {
    Options { defect: Some(defect), ..Options::of(0..SEEDS) }
}

fn found(options: &Options) -> Failure {
    explore(options, &mut |_| {}).failure.expect("the defect is found")
}

fn failure_of(sequence: &Sequence, options: &Options) -> Option<Failure> {
    replay_sequence(sequence, options, &mut |_| {}).failure
}

#[test]
fn every_defect_shrinks_to_a_small_schedule_that_fails_for_the_same_reason() {
    for defect in Defect::ALL {
        let options = with(*defect);
        let before = found(&options);
        let small = shrink(&before, &options, &mut |attempts| attempts < ATTEMPTS);
        let Shrunk { failure: after, attempts } = small.expect("its own choices give the failure");
        println!("{}: {} -> {} ({attempts} tried)", defect.name(), before.size, after.size);
        assert!(attempts < ATTEMPTS, "nothing next to it is smaller");
        assert_eq!((after.rule, after.seed), (before.rule, before.seed));
        assert!(after.size.operations <= 20, "{after}");
        assert!(after.size.clients <= 3 && after.size.faults <= 2, "{after}");
        assert!(after.size.choices * 8 < before.size.choices, "{after}");
        assert_eq!(failure_of(&after.choices, &Options::of(0..0)), None, "it is the defect that is shown");
    }
}

#[test]
fn a_stored_schedule_is_the_same_schedule() {
    let options = Options { shown_events: usize::MAX, ..with(Defect::QuotaCountedTwice) };
    let failure = found(&options);
    let text = write_sequence(&failure.choices, &failure.to_string());
    let read = read_sequence(&text).expect("it was written before");
    let again = failure_of(&read, &options).expect("it fails again");
    assert_eq!(Failure { seed: failure.seed, ..again }, failure);
}

#[test]
fn the_same_choices_give_the_same_run() {
    let options = Options::of(0..0);
    for seed in 0..40 {
        let drawn = replay(seed, &options, &mut |_| {});
        let made = replay_sequence(&choices(seed, &options), &options, &mut |_| {});
        assert_eq!(made, drawn, "seed {seed}");
    }
    let first = choices(0, &options);
    assert_ne!(
        replay_sequence(&first, &options, &mut |_| {}).digest,
        replay_sequence(&Sequence::new(), &options, &mut |_| {}).digest
    );
}

#[test]
fn a_search_that_may_not_go_on_gives_what_it_has() {
    let options = with(Defect::LostWakeUp);
    let failure = found(&options);
    let small = shrink(&failure, &options, &mut |_| false).expect("it fails");
    assert_eq!((small.attempts, small.failure.choices), (0, failure.choices));
}

#[test]
fn what_breaks_no_rule_is_not_shrunk() {
    let failure = found(&with(Defect::LostWakeUp));
    assert_eq!(shrink(&failure, &Options::of(0..0), &mut |_| true), None);
}

/// Each stored schedule: named after a defect, it shows that; all pass without one.
#[test]
fn stored_schedules_show_what_they_were_stored_for() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    let mut defects = 0;
    for entry in folder.read_dir().expect("the corpus is there") {
        let file = entry.expect("the corpus can be read").path();
        let text = std::fs::read_to_string(&file).expect("a text");
        let sequence = read_sequence(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let sound = failure_of(&sequence, &Options::of(0..0));
        assert!(
            sound.is_none(),
            "{}: {}",
            file.display(),
            sound.map_or_else(String::new, |it| it.to_string())
        );
        let name = file.file_stem().and_then(|name| name.to_str()).expect("plain names");
        if let Some(defect) = Defect::from_name(name) {
            let shown = failure_of(&sequence, &with(defect)).map(|failure| failure.rule);
            assert!(shown.is_some_and(|rule| rule != Rule::ComesToRest), "{name}: {shown:?}");
            defects += 1;
        }
    }
    assert_eq!(defects, Defect::ALL.len());
}

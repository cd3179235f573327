//! Random nodes on random trees of switches, with random delays, full links and programs: whatever happens, isochrons are what they promise.
#![cfg(feature = "seeded-defects")]

#[path = "simulated/by_hand.rs"]
mod by_hand;
#[path = "simulated/found.rs"]
mod found;
#[path = "simulated/line.rs"]
mod line;
#[path = "simulated/lost.rs"]
mod lost;
#[path = "simulated/machine.rs"]
mod machine;
#[path = "simulated/members.rs"]
mod members;
#[path = "simulated/net.rs"]
mod net;
#[path = "simulated/news.rs"]
mod news;
#[path = "simulated/plan.rs"]
mod plan;
#[path = "simulated/program.rs"]
mod program;
#[path = "simulated/record.rs"]
mod record;
#[path = "simulated/rejoin.rs"]
mod rejoin;
#[path = "simulated/run.rs"]
mod run;
#[path = "simulated/state.rs"]
mod state;
#[path = "simulated/trace.rs"]
mod trace;
#[path = "simulated/view_trace.rs"]
mod view_trace;
#[path = "simulated/views.rs"]
mod views;

use found::Found;
use members::{run_with_ends, run_with_parted};
use net::Setting;
use quintet_isotach::{Defect, Delivery, HaltCause};
use rejoin::run_with_rejoins;
use run::{broken_in, run, run_traced, run_with_crash};
use views::run_of_views;

#[test]
fn isochrons_are_in_one_order_atomic_and_sequentially_consistent() {
    all_hold(0..150, |seed| run(seed, None));
}

#[test]
fn survivors_of_a_crash_execute_the_same_up_to_the_cut_and_go_on() {
    all_hold(0..150, |seed| run_with_crash(seed, Delivery::Safe, None));
}

#[test]
fn nodes_agree_by_themselves_on_views_without_who_has_ended() {
    all_hold(0..150, |seed| run_with_ends(seed, Setting::Agreed));
    all_hold(0..150, |seed| run_with_ends(seed, Setting::Members));
}

#[test]
fn of_two_that_cannot_reach_each_other_one_is_left_behind() {
    all_hold(0..100, |seed| run_with_parted(seed, Setting::Agreed));
    all_hold(0..100, |seed| run_with_parted(seed, Setting::Members));
}

#[test]
fn who_has_ended_comes_back_with_the_state_of_those_who_are_left() {
    all_hold(0..150, |seed| run_with_rejoins(seed, None, Setting::Agreed));
    all_hold(0..150, |seed| run_with_rejoins(seed, None, Setting::Members));
}

/// Nodes that said they were too few while what made them enough was on its way, and one that was never told that it is left behind.
#[test]
fn who_reaches_few_waits_for_news_and_who_is_left_behind_is_told() {
    for seed in [975, 2238, 3125, 6980] {
        all_hold(seed..seed + 1, |seed| run_with_ends(seed, Setting::Agreed));
    }
    for seed in [3303, 5352, 17_223] {
        all_hold(seed..seed + 1, |seed| run_with_parted(seed, Setting::Agreed));
    }
}

/// Who is left behind with the pulse has executed the second of two isochrons of one sender by itself, and said so; nobody else has been told the place of the first.
#[test]
fn what_was_answered_says_where_what_is_before_it_was_at_last() {
    for seed in [34_072, 56_776] {
        all_hold(seed..seed + 1, |seed| run_with_parted(seed, Setting::Members));
    }
}

/// What a token manager alone knew is lost with it: who is gone executed isochrons by itself behind one that the others execute elsewhere (7212), gave a place a value that
/// nobody else gives it (11403), and let somebody who is left read what nobody who is left has written (18134).
#[test]
fn what_only_those_knew_who_are_gone_is_lost_with_a_token_manager() {
    for seed in [7212, 11_403, 18_134] {
        all_hold(seed..seed + 1, |seed| run_with_crash(seed, Delivery::Safe, None));
    }
}

#[test]
#[ignore = "takes minutes: make explore"]
fn many_runs_hold() {
    for setting in [Setting::Agreed, Setting::Members] {
        all_hold(150..20_000, |seed| run_with_ends(seed, setting));
        all_hold(100..20_000, |seed| run_with_parted(seed, setting));
        all_hold(150..20_000, |seed| run_with_rejoins(seed, None, setting));
    }
    all_hold(150..20_000, |seed| run(seed, None));
    all_hold(150..20_000, |seed| run_with_crash(seed, Delivery::Safe, None));
}

/// Writes what nodes do in some runs, and in runs with a defect, into the folder that QUINTET_TRACES names: `.ci/specs` checks it against the specification.
#[test]
#[ignore = "needs a folder: make verify"]
fn traces_are_written() {
    for seed in 0..8 {
        write_trace(&format!("holds-pulses-{seed}"), holding(seed, run_traced(seed, None)));
    }
    for seed in 0..8 {
        write_trace(&format!("holds-views-{seed}"), holding(seed, run_of_views(seed, None)));
    }
    for defect in [Defect::TokenLost, Defect::DrainedEarly, Defect::MarkerLost, Defect::IsochronSplit] {
        let broken = (0..200).map(|seed| run_traced(seed, Some(defect))).find(|(_, found)| found.is_err());
        let (lines, _) = broken.unwrap_or_else(|| panic!("{defect:?} was not found"));
        write_trace(&format!("broken-pulses-{defect:?}"), lines);
    }
    for defect in [
        Defect::EntryLeftOut,
        Defect::BegunBeforeHeld,
        Defect::StateOfLater,
        Defect::StateNotAwaited,
        Defect::MarkerLost,
    ] {
        // Most runs come to the same in the end: the first that does something else on its way.
        let mut runs = (0..1000).map(|seed| (run_of_views(seed, None).0, run_of_views(seed, Some(defect)).0));
        let broken = runs.find(|(right, lines)| right != lines);
        let (_, lines) = broken.unwrap_or_else(|| panic!("{defect:?} did nothing"));
        write_trace(&format!("broken-views-{defect:?}"), lines);
    }
}

fn holding(seed: u64, (lines, found): (Vec<String>, Result<(), Found>)) -> Vec<String> {
    found.unwrap_or_else(|found| panic!("seed {seed}: {found}"));
    lines
}

fn write_trace(name: &str, lines: Vec<String>) {
    let folder = std::env::var_os("QUINTET_TRACES").expect("QUINTET_TRACES names a folder");
    let path = std::path::Path::new(&folder).join(format!("{name}.jsonl"));
    std::fs::write(path, lines.join("\n") + "\n").expect("the folder can be written to");
}

fn all_hold(seeds: core::ops::Range<u64>, run: impl Fn(u64) -> Result<(), Found>) {
    for seed in seeds {
        if let Err(found) = run(seed) {
            panic!("seed {seed}: {found}");
        }
    }
}

/// Why isochrons wait until all have their parts: where they do not, a crash tears some, which is told to nodes that lack a part or seen by the checker.
#[test]
fn with_agreed_delivery_a_crash_tears_isochrons() {
    let mut torn = 0;
    for seed in 0..100 {
        match run_with_crash(seed, Delivery::Agreed, None) {
            Err(Found::Other(text)) if text.contains("is not here, and the view executes it") => torn += 1,
            Err(Found::Violation(_) | Found::Halted(_)) => torn += 1,
            Err(found) => panic!("seed {seed}: {found}"),
            Ok(()) => {}
        }
    }
    assert!((1..100).contains(&torn), "{torn} of 100");
}

/// What first comes of a defect.
fn found(defect: Defect, run: impl Fn(u64, Option<Defect>) -> Result<(), Found>) -> Found {
    let found = (0..200).find_map(|seed| run(seed, Some(defect)).err());
    found.unwrap_or_else(|| panic!("{defect:?} was not found"))
}

#[test]
fn a_token_that_is_lost_or_doubled_is_seen() {
    for defect in [Defect::TokenLost, Defect::TokenDoubled] {
        let found = found(defect, run);
        assert!(is_named(&found) || matches!(found, Found::Violation(_)), "{defect:?}: {found}");
    }
}

#[test]
fn a_split_isochron_a_pulse_drained_early_and_a_marker_that_is_lost_are_seen() {
    for defect in [Defect::IsochronSplit, Defect::DrainedEarly, Defect::MarkerLost] {
        let found = found(defect, run);
        assert!(is_named(&found) || matches!(found, Found::Violation(_)), "{defect:?}: {found}");
    }
}

/// Whether a node or a manager saw the defect, and said whose it is.
fn is_named(found: &Found) -> bool {
    matches!(found, Found::Halted(halt) if halt.cause == HaltCause::Misbehaved)
}

#[test]
fn a_local_isochron_that_waits_for_nothing_reads_too_early() {
    assert!(matches!(found(Defect::RunsAhead, run), Found::Violation(_)));
}

#[test]
fn a_read_that_does_not_wait_for_a_reserved_value_is_seen() {
    assert!(matches!(found(Defect::ReadsBefore, run), Found::Violation(_)));
}

/// A machine that looks at itself finds some before anybody else does.
#[test]
fn what_is_always_so_of_a_machine_is_not_so_with_a_defect() {
    for (defect, words) in [
        (Defect::DrainedEarly, "before it has ended"),
        (Defect::IsochronSplit, "in one pulse"),
        (Defect::ReadsBefore, "waits for the value"),
    ] {
        let broken = (0..200).find_map(|seed| broken_in(seed, defect));
        assert!(broken.is_some_and(|broken| broken.contains(words)), "{defect:?}: {broken:?}");
    }
}

#[test]
fn a_frame_of_an_earlier_view_that_is_taken_is_noticed() {
    found(Defect::StaleView, |seed, defect| run_with_crash(seed, Delivery::Safe, defect));
}

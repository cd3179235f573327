//! A space of three replicas on simulated machines: they end at any moment, with their disks or without, are cut off from each other in one direction or
//! both, and hear each other late, twice or not at all. Then all that was acknowledged is there, nothing was given twice, and the replicas are in one state.

mod founding;
mod group;
mod lost_log;

use group::{Group, Style};
use quintet_contract::Span;

/// One schedule, and what is wrong with it.
fn explore(style: Style) -> Result<(), String> {
    let mut group = Group::new(style);
    for _ in 0..style.faults {
        group.go_on(Span::from_millis(50))?;
        group.harm();
    }
    group.mend();
    group.until("somebody was never answered", Group::all_done)?;
    let left = group.empty()?;
    group.until("the replicas do not come to one index", Group::is_level)?;
    group.account(&left)
}

fn explore_all(seeds: core::ops::Range<u64>) {
    for seed in seeds {
        if let Err(problem) = explore(Style::new(seed)) {
            panic!("seed {seed}: {problem}");
        }
    }
}

#[test]
fn three_replicas_agree_on_a_put_and_a_take() {
    let style = Style { faults: 0, ..Style::new(1) };
    let mut group = Group::new(style);
    group.until("somebody was never answered", Group::all_done).expect("they are answered");
    let left = group.empty().expect("it is emptied");
    assert!(!left.is_empty());
    group.account(&left).expect("everything is where it was put");
}

#[test]
fn what_was_acknowledged_is_there_whichever_replica_ends() {
    explore_all(0..60);
}

/// Many more, for `make explore`.
#[test]
#[ignore = "takes minutes"]
fn what_was_acknowledged_is_there_in_many_more_schedules() {
    explore_all(60..10_000);
}

/// Those of the agreement are looked for where it is tested alone, in the membership.
#[cfg(feature = "seeded-defects")]
mod defects {
    use super::{Style, explore};
    use quintet_replicated::Defect;

    /// Looks from a seed on that has found it: where the protocol changes, a later one does.
    fn is_found(defect: Defect, from: u64) {
        let find = |seed| {
            std::panic::catch_unwind(|| explore(Style { defect: Some(defect), ..Style::new(seed) }))
                .unwrap_or_else(|_| Err("a panic".to_owned()))
        };
        let found = (from..from + 3_000).find_map(|seed| find(seed).err().map(|problem| (seed, problem)));
        assert!(found.is_some(), "{defect:?} was not found");
    }

    #[test]
    fn an_answer_of_a_leader_that_asks_nobody_is_found() {
        is_found(Defect::LeaderAnswersAlone, 0);
    }

    #[test]
    fn what_is_said_before_its_sync_is_found() {
        is_found(Defect::SaidBeforeSync, 2_100);
    }

    #[test]
    fn a_snapshot_that_is_installed_without_its_clients_is_found() {
        is_found(Defect::InstalledWithoutClients, 0);
    }

    #[test]
    fn a_replica_that_votes_though_it_has_lost_its_log_is_found() {
        is_found(Defect::LostLogVotes, 150);
    }

    #[test]
    fn an_answer_to_another_leaders_client_is_found() {
        is_found(Defect::AnsweredForAnother, 0);
    }
}

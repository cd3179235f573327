use super::*;
use crate::plan::Plan;
use quintet_simulate::{Choices, Sequence};
use std::collections::BTreeSet;

fn plans() -> impl Iterator<Item = Plan> {
    (0..400).map(|seed| Plan::draw(&Choices::drawn(seed)))
}

#[test]
fn every_sort_befalls_whom_it_can() {
    let mut seen = BTreeSet::new();
    for plan in plans() {
        for (_, fault) in &plan.faults {
            let is_manager = fault.who() == Some(0);
            seen.insert(match fault {
                Fault::Pause { .. } => ("pause", false),
                Fault::Crash { remembers, .. } => (if *remembers { "stop" } else { "crash" }, is_manager),
                Fault::Cut { to_space: true, to_client: true, .. } => ("cut", false),
                Fault::Cut { .. } => ("one-way cut", false),
                Fault::Break { to_space: true, to_client: true, .. } => ("break", false),
                Fault::Break { .. } => ("one-way break", false),
                Fault::Notice { at_space, .. } => ("notice", *at_space),
                Fault::Dial { at_space, .. } => ("dial", *at_space),
                Fault::Partition { .. } => ("partition", false),
                Fault::Slow { .. } => ("slow", is_manager),
                Fault::Freeze { .. } => ("freeze", is_manager),
                Fault::Restart { .. }
                | Fault::Heal { .. }
                | Fault::Replace { .. }
                | Fault::Mend
                | Fault::Thaw { .. } => ("end", false),
            });
        }
        let clocks = plan.clients.iter().map(|client| (client.clock, false)).chain([(plan.clock, true)]);
        for (clock, is_manager) in clocks {
            if clock.offset_nanos != 0 {
                seen.insert(("offset", is_manager));
            }
            if clock.drift_ppb != 0 {
                seen.insert(("drift", is_manager));
            }
        }
    }
    let clients = [
        "pause",
        "stop",
        "crash",
        "cut",
        "one-way cut",
        "break",
        "one-way break",
        "notice",
        "dial",
        "partition",
        "slow",
        "freeze",
        "offset",
        "drift",
    ];
    let manager =
        ["stop", "crash", "slow", "freeze", "notice", "dial", "offset", "drift"].map(|sort| (sort, true));
    let all = clients.map(|sort| (sort, false)).into_iter().chain(manager).chain([("end", false)]);
    assert_eq!(seen, all.collect());
}

#[test]
fn what_goes_wrong_ends_before_it_goes_wrong_again() {
    for plan in plans() {
        let (mut down, mut slow, mut cut) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        let (mut broken, mut noticed) = (BTreeSet::new(), BTreeSet::new());
        for (_, fault) in plan.faults {
            let text = fault.to_string();
            let is_right = match fault {
                Fault::Crash { who, .. } => down.insert(who),
                Fault::Restart { who, .. } => down.remove(&who),
                Fault::Slow { who, per_mille: USUAL } => slow.remove(&who),
                Fault::Slow { who, .. } | Fault::Freeze { who, .. } => broken.is_empty() && slow.insert(who),
                Fault::Thaw { who } => slow.remove(&who),
                Fault::Cut { who, .. } => plan.clients[usize::from(who) - 1].retransmits() && cut.insert(who),
                Fault::Heal { who } => cut.remove(&who),
                Fault::Break { who, .. } => {
                    let may_break = plan.clients[usize::from(who) - 1].retains() && slow.is_empty();
                    may_break && cut.is_disjoint(&BTreeSet::from([who])) && broken.insert(who)
                }
                Fault::Notice { who, at_space } => broken.contains(&who) && noticed.insert((who, at_space)),
                Fault::Dial { who, at_space } => noticed.contains(&(who, at_space)),
                Fault::Replace { who } => {
                    noticed.retain(|(noticing, _)| *noticing != who);
                    broken.remove(&who)
                }
                Fault::Partition { apart } => cut.is_empty() && apart.into_iter().all(|who| cut.insert(who)),
                Fault::Mend => {
                    cut.clear();
                    true
                }
                Fault::Pause { .. } => true,
            };
            assert!(is_right, "{text}");
        }
        assert_eq!(down.len() + slow.len() + cut.len() + broken.len(), 0, "every fault ends");
    }
}

#[test]
fn without_choices_there_is_one_client_and_nothing_goes_wrong() {
    let plan = Plan::draw(&Choices::replayed(Sequence::new()));
    assert!(plan.faults.is_empty());
    assert_eq!((plan.clients.len(), plan.clients[0].is_steady), (1, true));
}

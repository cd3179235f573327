//! What was acknowledged with the help of a replica that has lost its log since, where nobody else knows that it was.

use super::group::{Group, Style};
use quintet_contract::Span;

/// Steps in which it is looked at what a replica does next: shorter than a frame's way.
const STEP: Span = Span::from_micros(20);
/// Within which a group gets so far as a schedule wants it.
const SOON: Span = Span::from_secs(3);

/// A leader and one more, the heir, have acknowledged what the third has not heard of. The leader loses its disk, the heir leads, is not heard by the third, and ends as soon as the
/// one that lost its log votes, if it does: then the two others go on without it.
fn lose_a_leaders_log(style: Style) -> Result<(), String> {
    let mut group = Group::new(style);
    let begun = 8 + style.seed % 40;
    step_until(&mut group, SOON, |group| {
        group.leader().is_some_and(|leader| group.applied(leader) >= begun)
    })?;
    let lost = group.leader().ok_or("nobody leads")?;
    let (heir, third) = ((lost + 1) % 3, (lost + 2) % 3);
    group.cut(lost, third);
    group.cut(third, lost);
    let shared = group.applied(lost) + 4;
    step_until(&mut group, SOON, |group| group.applied(lost).max(shared) > group.applied(heir).max(shared))?;
    group.end(lost);
    group.heal();
    group.start(lost, true);
    step_until(&mut group, SOON, |group| group.leader() == Some(heir))?;
    group.cut(heir, third);
    // It does not where all is well: its leader has no majority that knows what its term began with.
    comes_to(&mut group, Span::from_millis(200), |group| group.votes(lost));
    group.end(heir);
    group.heal();
    group.go_on(Span::from_secs(1))?;
    group.mend();
    group.until("somebody was never answered", Group::all_done)?;
    let left = group.empty()?;
    group.until("the replicas do not come to one index", Group::is_level)?;
    group.account(&left)
}

fn step_until(group: &mut Group, most: Span, is_so: impl Fn(&Group) -> bool) -> Result<(), String> {
    comes_to(group, most, is_so).then_some(()).ok_or_else(|| format!("it takes more than {most}"))
}

/// Lets a while pass until this is so. Whether it is.
fn comes_to(group: &mut Group, most: Span, is_so: impl Fn(&Group) -> bool) -> bool {
    for _ in 0..most.0 / STEP.0 {
        if is_so(group) {
            return true;
        }
        group.simulation.run_for(STEP);
    }
    false
}

fn style(seed: u64) -> Style {
    Style { is_bad: false, lost_disks: 0, takes: false, ..Style::new(seed) }
}

#[test]
fn what_a_leader_has_acknowledged_before_it_lost_its_log_is_there() {
    for seed in 0..10 {
        lose_a_leaders_log(style(seed)).unwrap_or_else(|problem| panic!("seed {seed}: {problem}"));
    }
}

#[cfg(feature = "seeded-defects")]
#[test]
fn a_snapshot_that_is_sent_before_the_term_has_committed_anything_is_found() {
    use quintet_replicated::{AgreementDefect, Defect};
    let defect = Some(Defect::Agreement(AgreementDefect::SnapshotBeforeCommit));
    let lose = |seed| lose_a_leaders_log(Style { defect, ..style(seed) }).err();
    let is_of_items = |problem: &String| problem.contains("missing") || problem.contains("is found");
    assert!((0..10).filter_map(lose).any(|problem| is_of_items(&problem)), "nothing was lost");
}

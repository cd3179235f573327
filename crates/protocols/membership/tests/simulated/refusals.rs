//! What a member makes of it that nobody listens where another one is dialled: true, or said by a firewall in its place.

use crate::cluster::{Cluster, Style, at};
use crate::schedule::{Schedule, seeds};
use quintet_contract::Span;
use quintet_membership::{Answer, Request, Suspect, Suspicion};
use quintet_simulate::Simulation;

const SOON: Span = Span::from_secs(10);
/// As long as a session is kept whose link may have been cut only.
const WINDOW: Span = Span::from_secs(3);
/// Less than any silence that is set.
const AT_ONCE: Span = Span::from_millis(10);

/// Three machines that have been together for a while, and who leads.
fn settled(seed: u64) -> (Cluster, u16) {
    let mut cluster = Cluster::new(Style::new(seed), 3);
    let leads = |run: &Simulation| (0..3).any(|node| at(run, node).is_some_and(|member| member.leads()));
    assert!(cluster.run.run_until(SOON, leads));
    cluster.run.run_for(Span::from_secs(2));
    let leader = cluster.leader().expect("it was waited for");
    (cluster, leader)
}

fn others(of: u16) -> [u16; 2] {
    [(of + 1) % 3, (of + 2) % 3]
}

/// A machine's process ends, and the hosts of the others find it: once all that it has said has come.
fn end(cluster: &mut Cluster, node: u16) {
    cluster.crash_unnoticed(node, WINDOW);
    cluster.run.run_for(Span::from_millis(1));
    for member in others(node) {
        cluster.find(member, node, true);
    }
}

fn suspects(cluster: &Cluster, at: u16) -> Vec<(u16, Suspicion)> {
    cluster.watcher(at).news.suspects.iter().map(|Suspect { node, cause }| (node.0, *cause)).collect()
}

#[test]
fn a_member_whose_system_refuses_is_missed_at_once_by_whoever_is_asked() {
    let (mut cluster, leader) = settled(40);
    let lost = (leader + 1) % 3;
    end(&mut cluster, lost);
    cluster.run.run_for(AT_ONCE);
    for asked in others(lost) {
        assert_eq!(suspects(&cluster, asked), [(lost, Suspicion::Died)]);
        let agreed = cluster.ask_for(asked, &Request::View { agreed: true }, SOON);
        let Some(Answer::Current(view, seen)) = agreed else { panic!("{agreed:?}") };
        assert!(seen.iter().any(|suspect| suspect.node.0 == lost), "{seen:?}");
        assert_eq!(view.members.len(), 3, "it is not removed for that");
    }
    cluster.restart(lost);
    cluster.run.run_for(Span::from_secs(1));
    assert!(others(lost).iter().all(|member| suspects(&cluster, *member).is_empty()), "it is back");
}

#[test]
fn a_leader_whose_system_refuses_is_followed_by_another_before_its_silence_would_be_noticed() {
    for seed in 50..60 {
        let (mut cluster, leader) = settled(seed);
        end(&mut cluster, leader);
        let timing = cluster.style.timing;
        let leads = |run: &Simulation| {
            others(leader).iter().any(|node| at(run, *node).is_some_and(|member| member.leads()))
        };
        assert!(cluster.run.run_until(timing.election, leads), "seed {seed}");
    }
}

#[test]
fn what_one_member_says_of_a_leader_that_others_hear_changes_no_leader() {
    for seed in 60..70 {
        let (mut cluster, leader) = settled(seed);
        let before = cluster.member(leader).term();
        let [one, other] = others(leader);
        cluster.find(one, leader, true);
        cluster.run.run_for(Span::from_secs(5));
        for member in [leader, one, other] {
            assert_eq!(cluster.member(member).term(), before, "seed {seed}");
        }
        assert!(suspects(&cluster, one).is_empty(), "it is heard");
    }
}

#[test]
fn a_refusal_that_was_false_is_forgotten_with_the_next_sign_of_life_and_not_believed_again() {
    let (mut cluster, leader) = settled(70);
    let alive = (leader + 1) % 3;
    cluster.find(leader, alive, true);
    cluster.run.run_for(Span::from_micros(1));
    assert_eq!(suspects(&cluster, leader), [(alive, Suspicion::Died)]);
    cluster.run.run_for(Span::from_millis(500));
    assert!(suspects(&cluster, leader).is_empty(), "it has answered");
    cluster.find(leader, alive, false);
    cluster.find(leader, alive, true);
    cluster.run.run_for(Span::from_micros(1));
    assert!(suspects(&cluster, leader).is_empty(), "a firewall says so, and said so before");
    cluster.crash(alive);
    cluster.restart(alive);
    cluster.run.run_for(Span::from_secs(1));
    cluster.find(leader, alive, true);
    cluster.run.run_for(Span::from_micros(1));
    assert_eq!(suspects(&cluster, leader), [(alive, Suspicion::Died)], "of another life it is");
}

#[test]
fn a_follower_that_hears_nothing_of_another_forgets_a_refusal_once_there_is_a_link() {
    let (mut cluster, leader) = settled(71);
    let [one, other] = others(leader);
    cluster.find(one, other, true);
    cluster.run.run_for(Span::from_secs(1));
    assert_eq!(suspects(&cluster, one), [(other, Suspicion::Died)], "followers say nothing to each other");
    cluster.find(one, other, false);
    cluster.run.run_for(AT_ONCE);
    assert_eq!(
        suspects(&cluster, one),
        [(other, Suspicion::Died)],
        "another life would have to say so first"
    );
    cluster.run.run_for(cluster.style.timing.heartbeat);
    assert!(suspects(&cluster, one).is_empty());
}

#[test]
fn who_ends_again_before_it_has_said_who_it_is_stays_missed() {
    let (mut cluster, leader) = settled(74);
    let lost = (leader + 1) % 3;
    end(&mut cluster, lost);
    for member in others(lost) {
        cluster.find(member, lost, false);
        cluster.find(member, lost, true);
    }
    cluster.run.run_for(Span::from_millis(900));
    for member in others(lost) {
        assert_eq!(suspects(&cluster, member), [(lost, Suspicion::Died)]);
    }
}

#[test]
fn who_has_ended_in_order_is_not_said_to_be_lost_and_strangers_are_said_nothing_of() {
    let (mut cluster, leader) = settled(72);
    let [one, lost] = others(leader);
    cluster.crash(lost);
    cluster.run.run_for(AT_ONCE);
    let before = cluster.watcher(one).news.number;
    for node in [lost, 40, one, leader + 100] {
        cluster.find(one, node, true);
    }
    cluster.run.run_for(AT_ONCE);
    assert_eq!(cluster.watcher(one).news.number, before, "nothing is news");
}

#[test]
fn silence_that_turns_out_to_be_an_end_is_said_to_be_one() {
    let (mut cluster, leader) = settled(73);
    let lost = (leader + 1) % 3;
    cluster.crash_unnoticed(lost, SOON);
    cluster.run.run_for(Span::from_secs(2));
    assert_eq!(suspects(&cluster, leader), [(lost, Suspicion::Silent)], "its machine has lost its power");
    cluster.find(leader, lost, true);
    cluster.run.run_for(AT_ONCE);
    assert_eq!(suspects(&cluster, leader), [(lost, Suspicion::Died)], "and is back without an agent");
}

fn refusals_break_nothing(seeds: std::ops::Range<u64>) {
    for seed in seeds {
        let run = Schedule::of_refusals(seed).run(40);
        assert_eq!(run, Ok(()), "seed {seed}");
    }
}

#[test]
fn random_schedules_in_which_refusals_are_true_or_false_break_nothing() {
    refusals_break_nothing(0..100);
}

#[test]
#[ignore = "takes minutes"]
fn many_more_schedules_of_refusals_break_nothing() {
    refusals_break_nothing(seeds(100..10_000));
}

//! What members promise, one promise a test.

use crate::cluster::{Cluster, Style, at, identity, join, view_of};
use quintet_contract::{Identity, NodeId, Span};
use quintet_membership::{Answer, Reason, Request, Suspect, Suspicion};
use quintet_simulate::{DiskModel, ServiceModel};

const SOON: Span = Span::from_secs(10);

fn reason(answer: Option<Answer>) -> Option<Reason> {
    match answer {
        Some(Answer::Error(refusal)) => Some(refusal.reason),
        _ => None,
    }
}

fn leader(cluster: &mut Cluster) -> u16 {
    assert!(
        cluster
            .run
            .run_until(SOON, |run| (0..3).any(|node| at(run, node).is_some_and(|member| member.leads())))
    );
    cluster.leader().expect("it was waited for")
}

#[test]
fn the_cluster_outlives_the_loss_of_any_one_machine_the_first_included() {
    for lost in 0..3 {
        let mut cluster = Cluster::new(Style::new(u64::from(lost)), 3);
        cluster.crash(lost);
        let asked = (lost + 1) % 3;
        let joined = cluster.ask_for(asked, &join("new", 77), SOON);
        assert!(matches!(joined, Some(Answer::Joined { node: NodeId(3), .. })), "{lost}: {joined:?}");
        cluster.restart(lost);
        let knows = |run: &quintet_simulate::Simulation| {
            view_of(run, lost).is_some_and(|view| view.members.contains_key(&NodeId(3)))
        };
        assert!(cluster.run.run_until(SOON, knows), "a machine that comes back learns what it has missed");
        let revived = cluster.run.run_until(SOON, |run| {
            view_of(run, lost).is_some_and(|view| view.members[&NodeId(lost)].incarnation.0 == 2)
        });
        assert!(revived, "its later life is in the view");
    }
}

#[test]
fn every_member_learns_the_same_views_each_once() {
    let mut cluster = Cluster::new(Style::new(4), 5);
    for number in 0..20 {
        let joined = cluster.ask_for(number % 5, &join(&format!("x{number}"), 100 + u64::from(number)), SOON);
        assert!(matches!(joined, Some(Answer::Joined { .. })), "{joined:?}");
    }
    cluster.run.run_for(Span::from_secs(1));
    let changes = cluster.changes(0);
    assert!(changes.iter().map(|(view, _)| *view).eq(1..=changes.len() as u64) && changes.len() >= 24);
    assert!((1..5).all(|node| cluster.changes(node) == changes));
}

#[test]
fn a_minority_decides_nothing_and_says_who_is_missing() {
    let mut cluster = Cluster::new(Style::new(5), 3);
    let leader = leader(&mut cluster);
    let (one, other) = ((leader + 1) % 3, (leader + 2) % 3);
    cluster.run.partition(&[&[NodeId(leader)], &[NodeId(one), NodeId(other)]]);
    let before = cluster.member(leader).committed();
    let refused = cluster.ask_for(leader, &join("lonely", 50), SOON);
    let Some(Answer::Error(refusal)) = refused else { panic!("{refused:?}") };
    assert_eq!(refusal.reason, Reason::NoMajority);
    let names = format!("{one} (\"m{one}\")");
    assert!(refusal.text.contains(&names) && refusal.text.contains("view"), "{}", refusal.text);
    assert_eq!(cluster.member(leader).committed(), before, "nothing was decided");
    assert!(cluster.watcher(leader).news.is_stale && !cluster.watcher(one).news.is_stale);
    assert!(!cluster.member(leader).leads(), "it has stepped down");
    assert_eq!(
        reason(cluster.ask_for(leader, &Request::View { agreed: true }, SOON)),
        Some(Reason::NoMajority)
    );
    let known = cluster.ask_for(leader, &Request::View { agreed: false }, SOON);
    assert!(matches!(known, Some(Answer::Current(..))), "what it knew it tells");
    let joined = cluster.ask_for(one, &join("new", 51), SOON);
    assert!(matches!(joined, Some(Answer::Joined { .. })), "the majority goes on: {joined:?}");
    cluster.run.partition(&[]);
    cluster.run.run_for(Span::from_secs(3));
    assert_eq!(cluster.changes(leader), cluster.changes(one));
    assert!(!cluster.watcher(leader).news.is_stale);
}

#[test]
fn names_identities_and_clusters_that_do_not_fit_are_refused() {
    let mut cluster = Cluster::new(Style::new(6), 3);
    let ask = |cluster: &mut Cluster, name: &str, identity, number| {
        let request = Request::Join {
            cluster: number,
            name: name.to_owned(),
            identity,
            address: "x:1".to_owned(),
            grants: 0,
            ticket: 500,
        };
        reason(cluster.ask_for(1, &request, SOON))
    };
    assert_eq!(ask(&mut cluster, "m2", identity(60), 7), Some(Reason::NameTaken));
    assert_eq!(ask(&mut cluster, "m9", identity(2), 7), Some(Reason::IdentityTaken));
    assert_eq!(ask(&mut cluster, "m9", identity(60), 8), Some(Reason::WrongCluster));
    assert_eq!(ask(&mut cluster, "", identity(60), 7), Some(Reason::BadName));
    assert_eq!(
        reason(cluster.ask_for(1, &Request::Leave { node: NodeId(40) }, SOON)),
        Some(Reason::UnknownNode)
    );
    assert_eq!(ask(&mut cluster, "m9", Identity([1; 32]), 7), None);
    assert_eq!(ask(&mut cluster, "m9", Identity([1; 32]), 7), None, "asked again, it is answered as before");
}

#[test]
fn who_is_lost_is_suspected_at_once_and_removed_after_the_time_that_is_set() {
    let mut style = Style::new(7);
    style.timing.removal = Span::from_secs(3);
    let mut cluster = Cluster::new(style, 5);
    let leader = leader(&mut cluster);
    let lost = (leader + 1) % 5;
    cluster.crash(lost);
    cluster.run.run_for(Span::from_millis(10));
    let suspect = Suspect { node: NodeId(lost), cause: Suspicion::Died };
    assert!((0..5).filter(|node| *node != lost).all(|node| cluster.watcher(node).news.suspects == [suspect]));
    cluster.run.run_for(Span::from_secs(2));
    let is_in = |cluster: &Cluster| {
        cluster.member(leader).view().is_some_and(|view| view.members.contains_key(&NodeId(lost)))
    };
    assert!(is_in(&cluster), "a short time removes nobody");
    cluster.run.run_for(Span::from_secs(3));
    assert!(!is_in(&cluster));
    let voters = cluster.member(leader).view().map(|view| view.voters().count());
    assert_eq!(voters, Some(3), "of four, an odd number votes");
    cluster.restart(lost);
    cluster.run.run_for(Span::from_secs(5));
    assert_eq!(cluster.member(lost).closed().map(|refusal| refusal.reason), Some(Reason::Removed));
}

#[test]
fn a_short_cut_removes_nobody_and_silence_is_noticed() {
    let mut style = Style::new(8);
    style.timing.removal = Span::from_secs(3);
    let mut cluster = Cluster::new(style, 3);
    let leader = leader(&mut cluster);
    let other = (leader + 1) % 3;
    for (from, to) in [(leader, other), (other, leader)] {
        cluster.run.set_cut(NodeId(from), NodeId(to), true);
    }
    cluster.run.run_for(Span::from_millis(1_500));
    let suspects = &cluster.watcher(cluster.leader().expect("one leads")).news.suspects;
    assert!(suspects.iter().all(|suspect| suspect.cause == Suspicion::Silent), "{suspects:?}");
    cluster.run.partition(&[]);
    cluster.run.run_for(Span::from_secs(5));
    assert!((0..3).all(|node| cluster.member(node).view().is_some_and(|view| view.members.len() == 3)));
    assert!((0..3).all(|node| cluster.watcher(node).news.suspects.is_empty()));
}

/// Whom an agreed view says not to be there, by which it is asked.
fn missing(cluster: &mut Cluster, asked: u16) -> Vec<u16> {
    let answer = cluster.ask_for(asked, &Request::View { agreed: true }, SOON);
    let Some(Answer::Current(_, suspects)) = answer else { panic!("{answer:?}") };
    suspects.iter().map(|suspect| suspect.node.0).collect()
}

#[test]
fn whichever_member_is_asked_an_agreed_view_says_within_a_second_who_is_cut_off() {
    for leads in [false, true] {
        let mut cluster = Cluster::new(Style::new(21 + u64::from(leads)), 3);
        let leader = leader(&mut cluster);
        cluster.run.run_for(Span::from_secs(1));
        let lost = if leads { leader } else { (leader + 1) % 3 };
        let others = [(lost + 1) % 3, (lost + 2) % 3];
        let all = |cluster: &mut Cluster, expected: &[u16]| {
            others.iter().all(|asked| missing(cluster, *asked) == expected)
        };
        assert!(all(&mut cluster, &[]), "nobody is cut off");
        cluster.run.partition(&[&[NodeId(lost)], &others.map(NodeId)]);
        cluster.run.run_for(Span::from_millis(1_500));
        assert!(all(&mut cluster, &[lost]), "its leader {leads}");
        cluster.run.partition(&[]);
        cluster.run.run_for(Span::from_secs(3));
        assert!(all(&mut cluster, &[]), "it is back");
    }
}

#[test]
fn who_leads_no_more_misses_nobody_who_answers_the_next_leader() {
    for seed in 80..90 {
        let mut cluster = Cluster::new(Style::new(seed), 5);
        let leader = leader(&mut cluster);
        let unheard = (leader + 1) % 5;
        for (from, to) in [(leader, unheard), (unheard, leader)] {
            cluster.run.set_cut(NodeId(from), NodeId(to), true);
        }
        cluster.run.run_for(Span::from_secs(2));
        let suspects = |cluster: &Cluster| cluster.watcher(leader).news.suspects.clone();
        assert_eq!(suspects(&cluster), [Suspect { node: NodeId(unheard), cause: Suspicion::Silent }]);
        // It stands still while the others go on with another leader.
        cluster.freeze(leader, 3_000);
        cluster.run.run_for(Span::from_secs(4));
        cluster.run.partition(&[]);
        cluster.run.run_for(Span::from_secs(2));
        assert_ne!(cluster.leader(), Some(leader), "seed {seed}");
        assert!(suspects(&cluster).is_empty(), "seed {seed}: {:?}", suspects(&cluster));
    }
}

#[test]
fn the_leader_itself_can_leave() {
    let mut cluster = Cluster::new(Style::new(9), 5);
    let leader = leader(&mut cluster);
    let other = (leader + 1) % 5;
    assert_eq!(cluster.ask_for(other, &Request::Leave { node: NodeId(leader) }, SOON), Some(Answer::Done));
    cluster.run.run_for(Span::from_secs(3));
    assert_eq!(cluster.member(leader).closed().map(|refusal| refusal.reason), Some(Reason::Removed));
    assert!(matches!(
        cluster.ask_for(other, &join("new", 70), SOON),
        Some(Answer::Joined { node: NodeId(5), .. })
    ));
    assert_eq!(
        cluster.ask_for(other, &Request::Leave { node: NodeId(leader) }, SOON),
        Some(Answer::Done),
        "it has left before"
    );
}

#[test]
fn the_only_voter_hands_its_vote_on_before_it_leaves() {
    let mut cluster = Cluster::new(Style::new(23), 2);
    cluster.run.run_for(Span::from_secs(1));
    let leave = Request::Leave { node: NodeId(0) };
    cluster.run.partition(&[&[NodeId(0)], &[NodeId(1)]]);
    cluster.run.run_for(Span::from_secs(2));
    assert_eq!(
        reason(cluster.ask_for(0, &leave, SOON)),
        Some(Reason::LastVoter),
        "nobody is there to take it"
    );
    cluster.run.partition(&[]);
    cluster.run.run_for(Span::from_secs(3));
    assert_eq!(cluster.ask_for(1, &leave, SOON), Some(Answer::Done));
    cluster.run.run_for(Span::from_secs(3));
    assert_eq!(cluster.member(0).closed().map(|refusal| refusal.reason), Some(Reason::Removed));
    let joined = cluster.ask_for(1, &join("new", 71), SOON);
    assert!(matches!(joined, Some(Answer::Joined { node: NodeId(2), .. })), "{joined:?}");
    cluster.run.run_for(Span::from_secs(1));
    let voters: Vec<NodeId> = view_of(&cluster.run, 1).expect("it takes part").voters().collect();
    assert_eq!(voters, [NodeId(1)]);
}

#[test]
fn a_clock_that_goes_an_hour_back_stops_nobody_else() {
    let mut cluster = Cluster::new(Style::new(10), 3);
    let leader = leader(&mut cluster);
    cluster.run.set_clock(NodeId(leader), -3_600_000_000_000, 0);
    cluster.run.run_for(Span::from_secs(3));
    let other = (leader + 1) % 3;
    let joined = cluster.ask_for(other, &join("new", 80), SOON);
    assert!(matches!(joined, Some(Answer::Joined { .. })), "{joined:?}");
}

#[test]
fn a_full_disk_ends_a_members_part_and_not_the_clusters() {
    let mut cluster = Cluster::new(Style::new(11), 1);
    let disk = Some(DiskModel { failures_per_million: 1_000_000, ..DiskModel::default() });
    cluster.run.set_services(ServiceModel { disk, ..ServiceModel::default() });
    let refused = cluster.ask_for(0, &join("new", 81), SOON);
    assert_eq!(reason(refused), Some(Reason::Damaged));
    assert_eq!(cluster.member(0).closed().map(|refusal| refusal.reason), Some(Reason::Damaged));
}

#[test]
fn a_member_that_the_leader_does_not_reach_learns_from_the_others_what_it_has_missed() {
    let mut cluster = Cluster::new(Style::new(24), 5);
    let leader = leader(&mut cluster);
    let away = (leader + 1) % 5;
    cluster.crash(away);
    let joined = cluster.ask_for(leader, &join("new", 72), SOON);
    assert!(matches!(joined, Some(Answer::Joined { node: NodeId(5), .. })), "{joined:?}");
    for (from, to) in [(leader, away), (away, leader)] {
        cluster.run.set_cut(NodeId(from), NodeId(to), true);
    }
    cluster.restart(away);
    cluster.run.run_for(Span::from_secs(3));
    assert_eq!(cluster.leader(), Some(leader), "it has disturbed nobody");
    assert_eq!(cluster.changes(away), cluster.changes(leader));
    assert_eq!(cluster.member(away).term().1, None, "who told it does not lead");
}

#[test]
fn a_member_that_was_away_for_long_is_sent_the_view() {
    let mut cluster = Cluster::new(Style::new(12), 3);
    cluster.crash(2);
    for number in 0..100u64 {
        let joined = cluster.ask_for(0, &join(&format!("x{number}"), 1_000 + number), SOON);
        let Some(Answer::Joined { node, .. }) = joined else { panic!("{joined:?}") };
        assert_eq!(cluster.ask_for(1, &Request::Leave { node }, SOON), Some(Answer::Done));
    }
    cluster.restart(2);
    cluster.run.run_for(Span::from_secs(3));
    let views = [0, 2].map(|node| cluster.member(node).view().cloned());
    assert_eq!(views[0], views[1]);
    cluster.crash(2);
    cluster.crash(0);
    cluster.crash(1);
    (0..3).for_each(|node| cluster.restart(node));
    cluster.run.run_for(Span::from_secs(3));
    let number = |node| view_of(&cluster.run, node).map_or(0, |view| view.number);
    assert!((0..3).all(|node| number(node) > 200), "what was forgotten in memory is on the disks");
}

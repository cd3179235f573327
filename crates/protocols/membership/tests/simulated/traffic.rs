//! What a change of the view costs, for 3 to 50 members: frames, bytes and time, on modelled links of 50 to 100 us and disks of 0.1 to 1 ms.
//! `cargo test -p quintet-membership --test simulated traffic -- --nocapture` prints it.

use crate::cluster::{Cluster, Style, join, member};
use crate::parts::Counted;
use quintet_contract::Span;
use quintet_membership::Answer;

/// Frames and bytes that all members have sent.
fn sent(cluster: &Cluster) -> (u64, u64) {
    let counted = (0..cluster.size).filter_map(|node| cluster.run.get::<Counted>(member(node)));
    counted.fold((0, 0), |(frames, bytes), one| (frames + one.frames, bytes + one.bytes))
}

#[expect(clippy::disallowed_macros, reason = "it prints what it measures")]
#[test]
fn a_change_costs_a_few_frames_a_member() {
    println!("members  frames  bytes  all know it after  idle frames/s  idle bytes/s");
    for size in [3, 5, 10, 20, 50] {
        let mut style = Style::new(1);
        style.watches = true;
        let mut cluster = Cluster::new(style, size);
        cluster.run.run_for(Span::from_secs(2));
        let (frames, bytes) = sent(&cluster);
        cluster.run.run_for(Span::from_secs(1));
        let (idle_frames, idle_bytes) = (sent(&cluster).0 - frames, sent(&cluster).1 - bytes);
        let (mut changed, mut spent, mut took) = ((0, 0), Span::ZERO, Span::ZERO);
        const CHANGES: u64 = 20;
        for number in 0..CHANGES {
            cluster.run.run_for(Span::from_millis(37));
            let (began, before) = (cluster.run.now(), sent(&cluster));
            let known = cluster.watcher(0).views.len();
            let joined = cluster.ask_for(0, &join(&format!("x{number}"), 9_000 + number), Span::from_secs(5));
            assert!(matches!(joined, Some(Answer::Joined { .. })), "{joined:?}");
            let all = (0..size).map(crate::cluster::caller).collect::<Vec<_>>();
            let all_know = cluster.run.run_until(Span::from_secs(1), |run| {
                all.iter().all(|at| {
                    run.get::<crate::parts::Watcher>(*at).is_some_and(|one| one.views.len() > known)
                })
            });
            assert!(all_know);
            let after = sent(&cluster);
            changed = (changed.0 + after.0 - before.0, changed.1 + after.1 - before.1);
            let passed = cluster.run.now().since(began);
            (spent, took) = (Span(spent.0 + passed.0), took.max(passed));
        }
        let mean = Span(spent.0 / CHANGES);
        println!(
            "{size:7}  {:6}  {:5}  {mean} (longest {took})  {idle_frames:13}  {idle_bytes:12}",
            changed.0 / CHANGES,
            changed.1 / CHANGES
        );
        let members = u64::from(size) + CHANGES;
        assert!(changed.0 / CHANGES < 8 * members, "a few frames a member");
    }
}

//! What a member tells of itself in numbers.

use super::Membership;
use quintet_contract::{Meter, Metric, tell_all};

const MEMBERS: Metric = Metric::gauge("quintet_cluster_members", "Members of the view, by what they are");

static METRICS: [Metric; 10] = [
    Metric::gauge("quintet_cluster_view", "Number of the view of who is in: it grows with each change"),
    MEMBERS.of("role", "voter"),
    MEMBERS.of("role", "learner"),
    Metric::gauge(
        "quintet_cluster_members_suspected",
        "Members that do not seem to be there, as this one sees it",
    ),
    Metric::gauge("quintet_cluster_is_stale", "1 while no majority of the voters is heard, else 0"),
    Metric::gauge("quintet_cluster_is_leader", "1 while this member leads its term, else 0"),
    Metric::gauge("quintet_cluster_has_leader", "1 while this member knows who leads, else 0"),
    Metric::gauge("quintet_cluster_term", "Term, which grows with each election"),
    Metric::gauge("quintet_cluster_log_committed", "Index up to which the log is committed"),
    Metric::gauge(
        "quintet_cluster_takes_part",
        "1 while this member takes part, 0 before its log is read and after it was removed",
    ),
];

impl Membership {
    pub(super) fn tell_metrics(&self, meter: &mut Meter<'_>) {
        let view = self.view();
        let members = view.map_or(0, |view| view.members.len()) as u64;
        let voters = view.map_or(0, |view| view.voters().count()) as u64;
        let (term, leader) = self.term();
        let values = [
            view.map_or(0, |view| view.number),
            voters,
            members - voters,
            self.sight.suspected() as u64,
            u64::from(self.sight.is_stale()),
            u64::from(self.leads()),
            u64::from(self.leads() || leader.is_some()),
            term,
            self.committed(),
            u64::from(self.open().is_some()),
        ];
        tell_all(&METRICS, values, meter);
    }
}

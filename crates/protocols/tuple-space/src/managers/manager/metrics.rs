//! What one manager of several tells of itself in numbers.

use crate::codec::Class;
use quintet_contract::{Meter, Metric, tell_all};

const NAME: &str = "quintet_manager_requests";
const TEXT: &str = "Takes and reads of one manager of several, by the class of their signature";

static METRICS: [Metric; 11] = [
    Metric::counter(NAME, TEXT).of("class", "queue"),
    Metric::counter(NAME, TEXT).of("class", "hash"),
    Metric::counter(NAME, TEXT).of("class", "search"),
    Metric::counter("quintet_manager_moved_answers", "Requests that were sent to another manager"),
    Metric::counter("quintet_manager_migrations", "Signatures that were moved, told by the first manager"),
    Metric::counter(
        "quintet_manager_keys_moved",
        "Keys of hashes that were moved for what was asked of them, told by the first manager",
    ),
    Metric::counter("quintet_manager_tuples_sent", "Tuples that went to other managers"),
    Metric::counter("quintet_manager_tuples_adopted", "Tuples that came from other managers"),
    Metric::counter(
        "quintet_manager_commits",
        "What this manager and others did at one instant, told by the lowest of them",
    ),
    Metric::counter("quintet_manager_held", "Inputs that waited while a manager stood still for that"),
    Metric::counter(
        "quintet_manager_rings",
        "Selects and replacements at several managers that were told of something to look at by another of them",
    ),
];

/// What is counted.
#[derive(Debug, Default)]
pub(super) struct Counts {
    by_class: [u64; 3],
    pub(super) moved_answers: u64,
    pub(super) migrations: u64,
    pub(super) keys_moved: u64,
    pub(super) tuples_sent: u64,
    pub(super) tuples_adopted: u64,
    pub(super) commits: u64,
    pub(super) held: u64,
    pub(super) rings: u64,
}

impl Counts {
    pub(super) fn count(&mut self, class: Class) {
        self.by_class[match class {
            Class::Queue => 0,
            Class::Hash(_) => 1,
            Class::Search => 2,
        }] += 1;
    }

    pub(super) fn tell(&self, meter: &mut Meter<'_>) {
        let [queue, hash, search] = self.by_class;
        let Counts {
            moved_answers,
            migrations,
            keys_moved,
            tuples_sent,
            tuples_adopted,
            commits,
            held,
            rings,
            ..
        } = *self;
        let values = [
            queue,
            hash,
            search,
            moved_answers,
            migrations,
            keys_moved,
            tuples_sent,
            tuples_adopted,
            commits,
            held,
            rings,
        ];
        tell_all(&METRICS, values, meter);
    }
}

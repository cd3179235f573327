//! Jobs on their way out: everybody of them is killed, until nobody is found. One look at all processes of the machine serves all these jobs.

use crate::descendants::{LOOKS, PAUSE, kill_all};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Looks after which they become rarer: a process that does not end when it is killed waits for a device.
const MANY_LOOKS: u32 = 100;
const LONG_PAUSE: Duration = Duration::from_millis(200);

/// The jobs that are being ended.
#[derive(Debug)]
pub(crate) struct Endings<T> {
    jobs: BTreeMap<u128, Ending<T>>,
    /// When to look next who is left of them.
    next: Option<Instant>,
}

/// A job on its way out.
#[derive(Debug)]
struct Ending<T> {
    /// Who asked for it.
    askers: Vec<T>,
    looks: u32,
    /// Looks that have found nobody, one after the other.
    without: u32,
}

/// What a look needs to know of a job.
pub(crate) struct Left {
    /// By which its processes are found.
    pub(crate) name: String,
    /// Whether some of it were not reaped.
    pub(crate) has_children: bool,
}

impl<T> Endings<T> {
    pub(crate) fn new() -> Endings<T> {
        Endings { jobs: BTreeMap::new(), next: None }
    }

    pub(crate) fn contains(&self, job: u128) -> bool {
        self.jobs.contains_key(&job)
    }

    /// When to look next; none if no job is being ended.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.next
    }

    /// Begins to end a job, or adds who waits for that. The first look is the next one of all.
    pub(crate) fn begin(&mut self, job: u128, asker: Option<T>, now: Instant) {
        let ending =
            self.jobs.entry(job).or_insert_with(|| Ending { askers: Vec::new(), looks: 0, without: 0 });
        ending.askers.extend(asker);
        self.next.get_or_insert(now);
    }

    /// Kills those who are left of all jobs, if it is time. The jobs of which nobody was found often enough are over, and who asked is told.
    pub(crate) fn look(&mut self, left: impl Fn(u128) -> Left, now: Instant) -> Vec<(u128, Vec<T>)> {
        if self.next.is_none_or(|next| now < next) {
            return Vec::new();
        }
        let of_jobs: Vec<Left> = self.jobs.keys().map(|job| left(*job)).collect();
        // Where not all could be looked at, somebody may be left of each.
        let found = kill_all(&of_jobs.iter().map(|left| left.name.as_str()).collect::<Vec<_>>()).ok();
        for (at, (ending, left)) in self.jobs.values_mut().zip(&of_jobs).enumerate() {
            let is_nobody_found = found.as_ref().is_some_and(|found| found[at] == 0);
            ending.looks = ending.looks.saturating_add(1);
            ending.without = if is_nobody_found && !left.has_children { ending.without + 1 } else { 0 };
        }
        let over = self.jobs.extract_if(.., |_, ending| ending.without >= LOOKS);
        let over = over.map(|(job, ending)| (job, ending.askers)).collect();
        let is_rare = self.jobs.values().all(|ending| ending.looks >= MANY_LOOKS);
        let pause = if is_rare { LONG_PAUSE } else { PAUSE };
        self.next = (!self.jobs.is_empty()).then(|| now + pause);
        over
    }

    /// Whoever waits for an end.
    pub(crate) fn take_askers(&mut self) -> Vec<T> {
        self.jobs.values_mut().flat_map(|ending| std::mem::take(&mut ending.askers)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_are_looked_after_together_and_none_is_over_before_its_own_looks() {
        let (mut endings, begun) = (Endings::new(), Instant::now());
        let nobody =
            |job| Left { name: format!("a job that nobody has begun, {job}"), has_children: job == 3 };
        endings.begin(1, Some("one"), begun);
        assert!(endings.look(nobody, begun).is_empty());
        for job in [2, 3] {
            endings.begin(job, Some("another"), begun + PAUSE / 2);
        }
        assert!(endings.look(nobody, begun + PAUSE / 2).is_empty());
        assert_eq!(endings.next(), Some(begun + PAUSE), "they wait for the look of the first");
        let over: Vec<_> = (1..=3).map(|look| endings.look(nobody, begun + PAUSE * look)).collect();
        assert_eq!(over, [vec![], vec![(1, vec!["one"])], vec![(2, vec!["another"])]]);
        assert!(endings.contains(3) && endings.next().is_some(), "one of its processes is there");
        assert_eq!(endings.take_askers(), ["another"]);
    }
}

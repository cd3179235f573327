//! Many runs at once: they have nothing to do with each other.

use std::num::NonZero;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Does all jobs, as many at once as there are processors. The results are in the order of the jobs, however many threads
/// did them.
///
/// # Panics
/// If a job does.
pub fn in_parallel<J: Sync, R: Send>(jobs: &[J], run: impl Fn(&J) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        while let Some((index, job)) = {
            let index = next.fetch_add(1, Ordering::Relaxed);
            jobs.get(index).map(|job| (index, job))
        } {
            done.push((index, run(job)));
        }
        done
    };
    let threads = thread::available_parallelism().map_or(1, NonZero::get).min(jobs.len());
    let mut done: Vec<(usize, R)> = thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let joined =
            threads.into_iter().flat_map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)));
        joined.collect()
    });
    done.sort_unstable_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_the_order_of_the_jobs() {
        let jobs: Vec<u64> = (0..1_000).collect();
        let doubled: Vec<u64> = jobs.iter().map(|job| 2 * job).collect();
        assert_eq!(in_parallel(&jobs, |job| 2 * job), doubled);
        assert_eq!(in_parallel(&[], |job: &u64| *job), []);
    }
}

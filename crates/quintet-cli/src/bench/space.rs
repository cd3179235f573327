//! The tuple space: what its operations take, and what a stored tuple takes.
//!
//! | file | holds |
//! | --- | --- |
//! | `space/pair.rs` | a tuple put and taken again, each awaited |
//! | `space/packed.rs` | the same of long data that are packed |
//! | `space/pipelined.rs` | the same with many under way |
//! | `space/logged.rs` | the same where each operation is on the disk before it is answered |
//! | `space/replicated.rs` | the same where it is on the disks of a majority of three servers |
//! | `space/updates.rs` | tuples that are read and changed at one instant; one that many read |
//! | `space/recovery.rs` | how long a log takes to be read back |
//! | `space/managers.rs` | the pairs of four clients where several managers share a space |
//! | `space/routing.rs` | what a router and one of several managers need more |
//! | `space/clients.rs` | the pairs of up to 64 clients at the same time |
//! | `space/matching.rs` | the same among up to a million tuples |
//! | `space/blocked.rs` | the same while up to fifty thousand takers wait |
//! | `space/wakes.rs` | how many of them are woken by one tuple |
//! | `space/farm.rs` | how short the tasks of a worker farm may be |
//! | `space/python.rs`, `space/c.rs` | the pair from Python, from C |
//! | `space/memory.rs` | bytes a tuple |
//! | `space/churn.rs` | a server's memory while what it stores changes |
//! | `space/served.rs` | the space in another process that they use |

mod blocked;
mod c;
mod churn;
mod clients;
mod farm;
mod logged;
mod managers;
mod matching;
mod memory;
mod packed;
pub(super) mod pair;
mod pipelined;
mod python;
mod recovery;
mod replicated;
mod routing;
pub(super) mod served;
mod updates;
mod wakes;

use super::case::Case;
use super::row::median;
use quintet::Error;
use std::time::Instant;

pub(super) use farm::work;
pub(crate) use memory::MemoryArguments;
pub(super) use memory::anonymous_bytes;

/// How the sides of a case wait that has the space in another process, and where they are.
pub(super) const WAITING: &str = "adaptive";
pub(super) const PLACEMENT: &str = "own cores";

pub(super) fn cases() -> Vec<Case> {
    let all = [
        pair::cases(),
        packed::cases(),
        pipelined::cases(),
        clients::cases(),
        logged::cases(),
        replicated::cases(),
        updates::cases(),
        recovery::cases(),
        managers::cases(),
        routing::cases(),
        python::cases(),
        c::cases(),
        matching::cases(),
        blocked::cases(),
        wakes::cases(),
        farm::cases(),
        memory::cases(),
        churn::cases(),
    ];
    all.into_iter().flatten().collect()
}

/// The median of `count` operations in nanoseconds, `group` of them timed together where reading the clock would weigh.
pub(super) fn median_of_groups(
    count: u64,
    group: u64,
    mut operation: impl FnMut() -> Result<(), Error>,
) -> Result<f64, Error> {
    let mut groups = Vec::new();
    for _ in 0..count.div_ceil(group) {
        let started = Instant::now();
        (0..group).try_for_each(|_| operation())?;
        groups.push(started.elapsed().as_nanos() as f64 / group as f64);
    }
    Ok(median(groups).unwrap_or(0.))
}

/// Numbers that jump about, the same in every run: which tuple is asked for next.
struct Jumps(u64);

impl Jumps {
    fn new() -> Jumps {
        Jumps(0)
    }

    /// The next number below `end`. Knuth's linear congruential generator: its upper bits jump well enough to leave the caches.
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 32) % end
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn jumps_reach_everything() {
        let mut jumps = Jumps::new();
        let reached: HashSet<u64> = (0..2000).map(|_| jumps.below(100)).collect();
        assert_eq!((reached.len(), reached.into_iter().max()), (100, Some(99)));
    }

    #[test]
    fn every_operation_is_done_in_whole_groups() {
        let mut done = 0;
        let taken = median_of_groups(10, 4, || {
            done += 1;
            Ok(())
        });
        assert!(taken.is_ok() && done == 12, "{done}");
    }
}

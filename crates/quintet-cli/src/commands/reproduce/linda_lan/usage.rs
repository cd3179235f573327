//! What this process has used of the processors, as Linux tells.

use crate::connection::refused;
use quintet::Error;
use quintet_reproduce::linda_lan::Usage;
use std::fs::{read_dir, read_to_string};
use std::path::Path;

/// A tick of the system's times, in nanoseconds: a hundred a second on every Linux of today, as programs see them.
const TICK_NS: u64 = 10_000_000;

/// What all threads that live have used so far.
///
/// # Errors
/// The system does not tell.
pub(super) fn so_far() -> Result<Usage, Error> {
    let mut sum = Usage::default();
    let tasks = read_dir("/proc/self/task").map_err(refused("look at this process's threads"))?;
    for task in tasks {
        let task = task.map_err(refused("look at this process's threads"))?.path();
        // A thread may end meanwhile.
        sum = sum.plus(&of(&task).unwrap_or_default());
    }
    Ok(sum)
}

fn of(task: &Path) -> Option<Usage> {
    let read = |name: &str| read_to_string(task.join(name)).ok();
    let number = |text: Option<&str>| text?.parse::<u64>().ok();
    let processor_ns = number(read("schedstat")?.split_whitespace().next())?;
    let status = read("status")?;
    let switches = |name: &str| {
        let line = status.lines().find(|line| line.starts_with(name))?;
        number(line.split_whitespace().nth(1))
    };
    let stat = read("stat")?;
    // Behind the name, which may have anything in it: the times are fields 14 and 15 of all.
    let mut times = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    let (user, system) = (number(times.next())?, number(times.next())?);
    Some(Usage {
        processor_ns,
        waits: switches("voluntary_ctxt_switches")?,
        user_ns: user * TICK_NS,
        system_ns: system * TICK_NS,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_loop_uses_is_seen() {
        let before = so_far().expect("Linux tells");
        let mut sum = 0_u64;
        for number in 0..20_000_000_u64 {
            sum = std::hint::black_box(sum ^ number);
        }
        let used = so_far().expect("Linux tells").since(&before);
        assert!(used.processor_ns > 0, "{used:?} {sum}");
    }
}

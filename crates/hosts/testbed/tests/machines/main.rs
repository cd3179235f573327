//! Testbeds: machines, what goes over their lines, and that nothing is left of them.

#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod lifetime;
mod lines;
mod loopback;
mod processes;
mod socket;
mod talk;

use quintet_testbed::{Mode, Plan, Testbed, namespaces_refused};
use std::time::{Duration, Instant};

/// Longer than anything here takes, also on a busy machine.
const LONG: Duration = Duration::from_secs(60);

/// Machines a, b and c in namespaces. `None`, with the reason printed, where there are none.
fn testbed() -> Option<Testbed> {
    if let Some(why) = namespaces_refused() {
        println!("skipped: no network namespaces here: {why}");
        return None;
    }
    let plan = Plan { mode: Some(Mode::Namespaces), seed: 7, ..Plan::unnamed(["a", "b", "c"]) };
    Some(Testbed::up(&plan).expect("it is made"))
}

/// Returns when it is so.
fn wait_until(mut it_is_so: impl FnMut() -> bool) {
    let limit = Instant::now() + LONG;
    while !it_is_so() {
        assert!(Instant::now() < limit, "it is still not so");
        std::thread::yield_now();
    }
}

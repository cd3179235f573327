//! What strangers can do to the ports of agents, spaces and jobs, and what processes with keys leave behind.

mod core_dumps;
mod crowd;
pub(crate) mod ports;
mod secrets;
mod strangers;

use crate::hosts::lab::Machines;
use serde_json::Value;

/// Whether all machines are up, as this one sees it.
fn all_are_up(lab: &Machines, name: &str) -> bool {
    let shown: Value = serde_json::from_str(&lab.does(name, &["status", "--json"])).expect("an object");
    let machines = shown["cluster"]["machines"].as_array().expect("a list");
    machines.iter().all(|machine| machine["state"].as_str().is_some_and(|state| state.starts_with("up")))
}
